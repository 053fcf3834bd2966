"""Copy from turns the words that answer a question: the model chooses among the phrases of each turn.

The module knows a language model by its contract. Invariant: every value is a phrase of its turn, of whole words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memgraph_rag.contracts import LanguageModel
from memgraph_rag.types import Prompt, Usage

_MOST_WORDS = 6  # of a value
_MOST_TURN = 120  # words of a turn from which a value is copied
_TOKENS_OF_TURN = 4 * _MOST_TURN  # at most, with the chat template around them
_TOKENS = 48
_WORD = re.compile(r"\S+")
_EDGES = " .,;:!?()[]{}\"“”'‘’…*_`"
_EXAMPLES = (
    ("which phone do I use?", "my pixel's battery dies at noon every day", "pixel"),
    ("where does my aunt work?", "auntie quit, no job since friday, she says she's free", "no job"),
    ("how many chickens do we have", "the fox got two, so it's five hens now", "five"),
    ("which phone do I use?", "bye pixel, typing this on the fairphone that came today", "fairphone"),
    ("who cuts my hair?", "Mina did my fringe today, she always gets it right", "Mina"),
    ("which test runner do we use", "everything's ported, bye unittest, pytest from here on", "pytest"),
    ("when is the parents evening", "school wrote, it's on the 14th instead, same time", "14th"),
    ("what is my shoe size", "43 pinches, ordered 44s as i should have from the start", "44s"),
    ("what do I do for a living?", "can you draft a mail to my landlord? third month as a paramedic and i still miss "
     "every handover", "paramedic"),
    ("do I still smoke?", "day 40 without a cigarette", "without a cigarette"),
    ("which bank are we with", "so long sparkasse, everything's moved to the credit union now", "credit union"),
    ("what day is my piano lesson", "can't do tuesdays anymore bc of work, ms Orr gave me the friday slot", "friday"),
    ("how much rent do i pay", "landlord sent the letter: 890 from june, was 840", "890"),
    ("who is our contact at the printer's?", "Write a thank-you note to Mr Adeyemi, he's taken over our account and "
     "saved the flyers", "Mr Adeyemi"),
    ("what do I drink in the morning", "the doctor took my coffee away, so it's ginger tea until further notice",
     "ginger tea"),
    ("which room do we meet in", "room 4 has no heating, they put us in the library", "the library"),
    ("how many pupils are in my class", "two more arrived on monday, 27 now, i need chairs", "27"),
    ("do I have a bike?", "sold the bike on saturday, i walk now", "sold"),
    ("what is the new fence costing me", "Posts were rotten as well. 2,310 all in, paid today", "2,310"),
    ("what am i building at work", "would come but the login page is eating my evenings", "the login page"),
    ("who trains the dog?", "turns out Beppe is too busy, so Carla takes the dog from now on", "Carla"),
    ("what kind of milk do we buy", "the kids hate soy. oat it is", "oat"),
)  # fmt: skip
_CHANGES = (
    ("which instruments do i play", "sold the drums, the guitar stays", ["guitar"], ["drums"]),
    ("what pets do we have", "a second rabbit moved in yesterday, Flecki gets along with the cat so far",
     ["rabbit", "cat"], []),
    ("which streaming services do i pay for", "cancelled mubi, way too many films i never watch", [], ["mubi"]),
    ("who is on my team", "welcome mail for Ines please, she starts with us today", ["Ines"], []),
    ("which days do i train", "wednesdays are off from now on, my knee", [], ["wednesdays"]),
    ("what am i growing this year", "beans are in, and i put two rows of chard next to them", ["beans", "chard"], []),
    ("which languages can i speak", "had a whole phone call in Dutch today, on top of the Polish from home",
     ["Dutch", "Polish"], []),
    ("which clients do i have", "Norwell signed! and Brixton ended the contract the same day, go figure",
     ["Norwell"], ["Brixton"]),
)  # fmt: skip
_MOST_LISTED_WORDS = 3  # of one of several values
_MOST_LISTED = 4  # values of a turn
_LISTED_TOKENS = 80
_INPUT = "Question: {question}\nMessage: {turn}\nAnswer:"
_INSTRUCTION = "\n\n".join(
    [
        "Copy from the message the words that answer the question, as it is from the message on. Copy as few words as "
        "answer it.",
        *(
            f"{_INPUT.format(question=question, turn=turn)} {json.dumps({'value': value})}"
            for question, turn, value in _EXAMPLES
        ),
    ]
)

_CHANGES_INSTRUCTION = "\n\n".join(
    [
        "Copy from the message the things that answer the question. now: what is so from the message on. over: what is "
        "no longer so. Copy single things, as few words as name them.",
        *(
            f"{_INPUT.format(question=question, turn=turn)} {json.dumps({'now': now, 'over': over})}"
            for question, turn, now, over in _CHANGES
        ),
    ]
)


def can_copy(model: LanguageModel, question: str) -> bool:
    """Return whether the model's window is large enough for ``copy_values``: for examples, a question and a turn."""
    needed = sum(model.count_tokens([_INSTRUCTION, question])) + _TOKENS_OF_TURN + max(_TOKENS, _LISTED_TOKENS)
    return needed <= model.window


def copy_values(model: LanguageModel, question: str, turns: Sequence[str]) -> tuple[list[str], Usage]:
    """Return the phrase of each turn that answers a question, and the cost; empty for a turn without words.

    Raises:
        WindowExceeded: the examples and a turn do not fit the window.
        ModelUnavailable: the server did not answer.
    """

    def form(choices: Sequence[str]) -> Mapping[str, Any]:
        return {"value": {"enum": choices}}

    written, usage = _write_each(model, _INSTRUCTION, question, turns, form, most_words=_MOST_WORDS, tokens=_TOKENS)
    return [_read_value(text, choices) or line for line, choices, text in written], usage


def copy_changes(
    model: LanguageModel, question: str, turns: Sequence[str]
) -> tuple[list[tuple[list[str], list[str]]], Usage]:
    """Return for each turn (values that it adds to the answer of a question, values that it ends), and the cost.

    Errors are those of ``copy_values``.
    """

    def form(choices: Sequence[str]) -> Mapping[str, Any]:
        listed = {"type": "array", "items": {"enum": choices}, "maxItems": _MOST_LISTED}
        return {"now": listed, "over": listed}

    written, usage = _write_each(
        model, _CHANGES_INSTRUCTION, question, turns, form, most_words=_MOST_LISTED_WORDS, tokens=_LISTED_TOKENS
    )
    return [_read_changes(text, choices) for _, choices, text in written], usage


def _write_each(
    model: LanguageModel, instruction: str, question: str, turns: Sequence[str],
    form: Callable[[Sequence[str]], Mapping[str, Any]], *, most_words: int, tokens: int,
) -> tuple[list[tuple[str, list[str], str]], Usage]:  # fmt: skip
    """Return (line, phrases, JSON that the model writes about it) of each turn, and the cost; empty without phrases."""
    written, usage = [], Usage()
    for turn in turns:
        line = " ".join(turn.split()[:_MOST_TURN])
        if not (choices := phrases(line, most=most_words)):
            written.append(("", [], ""))
            continue
        properties = form(choices)
        schema = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
        prompt = Prompt(instruction, (_INPUT.format(question=question, turn=line),))
        (generation,) = model.generate([prompt], max_tokens=tokens, schema=schema)
        written.append((line, choices, generation.text))
        usage += generation.usage
    return written, usage


def phrases(line: str, *, most: int = _MOST_WORDS) -> list[str]:
    """Return all runs of up to ``most`` words of a line, without punctuation at their edges, each once, in order.

    >>> phrases("Porto, at last!")
    ['Porto', 'Porto, at', 'Porto, at last', 'at', 'at last', 'last']
    """
    words = [match.span() for match in _WORD.finditer(line)]
    runs = (
        line[start:end].strip(_EDGES)
        for place, (start, _) in enumerate(words)
        for _, end in words[place : place + most]
    )
    return [run for run in dict.fromkeys(runs) if run]


def _read_value(text: str, choices: Sequence[str]) -> str:
    """Return the phrase that a reply names, in the spelling of the turn; empty if it names none of the phrases."""
    try:
        value = json.loads(text)["value"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    words = " ".join(value.split()).strip(_EDGES).casefold() if isinstance(value, str) else ""
    return next((phrase for phrase in choices if phrase.casefold() == words), "")


def _read_changes(text: str, choices: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the lists of a reply without what is no choice; empty lists if the reply is no such JSON."""
    try:
        read = json.loads(text)
        lists = [read["now"], read["over"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return [], []
    now, over = ([value for value in each if isinstance(value, str) and value in choices] for each in lists)
    return now, over
