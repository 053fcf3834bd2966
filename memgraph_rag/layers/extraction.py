"""Extraction: how a model is asked for names and relations, and how its reply is read.

It knows no segment: whether a text holds what the model says is for ``grounding.py``. Invariants: whatever a reply is,
reading it raises nothing; what is complete in it is kept, what is not is counted.

Source: QRMeM, prompts of entity and relation extraction (intent; the words are ours).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from memgraph_rag.layers.surfaces import words
from memgraph_rag.lexical.names import LONGEST_NAME
from memgraph_rag.types import Prompt, as_line

__all__ = [
    "SCHEMA",
    "Said",
    "Triple",
    "about",
    "clean",
    "directed_task",
    "goes_in_circles",
    "list_of",
    "read_reply",
    "said",
    "strings",
    "task",
]

_MOST_NAMES = 16  # of one batch
_MOST_RELATIONS = 12
_LONGEST_DESCRIPTION = 200
_NAME = {"type": "string", "minLength": 1, "maxLength": 120}

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "names": {"type": "array", "items": _NAME, "maxItems": _MOST_NAMES},
        "relations": {
            "type": "array",
            "items": {
                "type": "array",
                "prefixItems": [_NAME, _NAME, {"type": "string", "minLength": 1, "maxLength": _LONGEST_DESCRIPTION}],
                "items": False,
                "minItems": 3,
                "maxItems": 3,
            },
            "maxItems": _MOST_RELATIONS,
        },
    },
    "required": ["names", "relations"],
    "additionalProperties": False,
}
"""Lists of lists, not of objects: their keys would be written again and again. All lists and strings are bounded."""

_FORM = (
    'Answer in this form:\n{"names": ["Mary Smith", "Leeds"], '
    '"relations": [["Mary Smith", "Leeds", "Mary Smith was born in Leeds."]]}'
)

_TASK = (
    "List the names of people, places, organizations, works, events and dates that stand in the text above, spelled "
    "as there. Then tell how pairs of them are related, each pair with one complete sentence that holds both names. "
    f"{_FORM}"
)
_DIRECTED_TASK = (
    "List the names in the text above that bear on the question below, spelled as in the text. Then tell what the text "
    "says about pairs of them that helps to answer it, each pair with one complete sentence that holds both names. "
    f"{_FORM}\n\nQuestion: "
)

_LONGEST_TITLE = 100
_MOST_USELESS = 3  # relations after one another
_MOST_PAIRS = 2  # of which one sentence may tell
_PRONOUNS = frozenset({"it", "he", "she", "they"})
_UNREADABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


Triple = tuple[str, str, str]
"""A name, another name, and a sentence that holds both."""


@dataclass(frozen=True, slots=True)
class Said:
    """What is usable of a reply."""

    names: tuple[str, ...] = ()
    relations: tuple[Triple, ...] = ()


def task(title: str) -> str:
    """What is asked about any text of that title (perhaps empty)."""
    return about(title) + _TASK


def directed_task(title: str, questions: Sequence[str]) -> str:
    """What is asked where questions have to be answered."""
    return about(title) + _DIRECTED_TASK + " ".join(map(as_line, questions))


def about(title: str) -> str:
    """The background that costs next to nothing: "it" is often what the title names."""
    line = as_line(title)
    return f"The text is from: {line[:_LONGEST_TITLE]}\n" if line else ""


def said(text: str) -> tuple[Said, Counter[str]]:
    """What a reply says, and what is odd about it, counted; of one that was cut, what is complete.

    >>> said('{"names": ["Ann", "Tom"], "relations": [["Ann", "Tom", "She met Tom."], ["Tom", "An')
    (Said(names=('Ann', 'Tom'), relations=(('Ann', 'Tom', 'Ann met Tom.'),)), Counter({'relations cut off': 1}))
    """
    notes: Counter[str] = Counter()
    fields = read_reply(text, "relations", notes)
    names = [clean(name) if isinstance(name, str) else "" for name in list_of(fields.get("names"))]
    usable = [name for name in dict.fromkeys(names) if 0 < len(name) <= LONGEST_NAME]
    notes["no name"] += sum(not 0 < len(name) <= LONGEST_NAME for name in names)
    notes["repeated name"] += len(names) - len(set(names))
    listed = list_of(fields.get("relations"))
    if listed and notes["relations cut off"] and not _is_triple(listed[-1]):
        listed = listed[:-1]
    relations = [relation for relation in _judged(listed, notes) if relation is not None]
    notes["name or relation beyond the limit"] += max(len(usable) - _MOST_NAMES, 0)
    notes["name or relation beyond the limit"] += max(len(relations) - _MOST_RELATIONS, 0)
    return Said(tuple(usable[:_MOST_NAMES]), tuple(relations[:_MOST_RELATIONS])), +notes


def goes_in_circles(prompt: Prompt, text: str) -> bool:  # noqa: ARG001 - what ``generate`` calls it with
    """Whether the last relations of a reply are all of no use, so that more of it would be worthless."""
    notes: Counter[str] = Counter()
    listed = [item for item in list_of(read_reply(text, "relations", notes).get("relations")) if _is_triple(item)]
    last = list(_judged(listed, notes))[-_MOST_USELESS:]
    return len(last) == _MOST_USELESS and not any(last)


def _judged(listed: Sequence[Any], notes: Counter[str]) -> Iterator[Triple | None]:
    """What is usable of each item of a list of relations: a new sentence that holds two names."""
    pairs: set[tuple[frozenset[str], str]] = set()
    times: Counter[str] = Counter()
    for item in listed:
        usable = None
        if not _is_triple(item):
            notes["relation without two names and a sentence"] += 1
        else:
            subject, object_name, description = map(clean, item)
            sentence = _sentence(subject, object_name, description)
            known = description.casefold()
            pair = frozenset((subject.casefold(), object_name.casefold())), known
            times[known] += 1
            if pair in pairs or times[known] > _MOST_PAIRS:
                notes["repeated relation"] += 1
            elif len(description) >= _LONGEST_DESCRIPTION:
                notes["relation too long"] += 1  # or cut in the middle of it
            elif not sentence:
                notes["sentence without the two names"] += 1
            else:
                usable = subject, object_name, sentence
            pairs.add(pair)
        yield usable


def _sentence(subject: str, object_name: str, description: str) -> str:
    """A description that holds both names, the first one put in for its pronoun; empty where that cannot be had."""
    first, _, rest = description.partition(" ")
    if not _holds(description, subject) and first.casefold() in _PRONOUNS and rest:
        description = f"{subject} {rest}"
    elif not _holds(description, subject) and _holds(description, object_name) and description[:1].islower():
        description = f"{subject} {description}"  # "was founded by …"
    if not (_holds(description, subject) and _holds(description, object_name)):
        return ""
    longer, shorter = sorted((subject.casefold(), object_name.casefold()), key=len, reverse=True)
    if shorter != longer and shorter in longer and not _holds(description.casefold().replace(longer, " "), shorter):
        return ""  # "Sims", where only "Sims Museum" is named
    return description


def _holds(description: str, name: str) -> bool:
    """Whether a description says most words of a name."""
    of_name = words(name) - {"the", "a", "an"}
    return 2 * len(of_name & words(description)) >= len(of_name) > 0


def strings(text: str, key: str) -> tuple[list[str], Counter[str]]:
    """The list of strings under a key of a reply, without empty ones, and what was odd about the reply, counted."""
    notes: Counter[str] = Counter()
    listed = (clean(item) for item in list_of(read_reply(text, key, notes).get(key)) if isinstance(item, str))
    return [item for item in listed if item], notes


def read_reply(text: str, what: str, notes: Counter[str]) -> dict[str, Any]:
    """The object that a reply is, or the beginning of one; what is odd is counted under ``what``."""
    encoded = text.encode("utf-8", "replace")
    try:
        parsed = from_json(encoded)
    except ValueError:
        notes[f"{what} cut off"] += 1
        try:
            parsed = from_json(encoded, allow_partial=True)
        except ValueError:
            parsed = None
    if isinstance(parsed, dict):
        return parsed
    del notes[f"{what} cut off"]
    notes["unreadable reply"] += 1
    return {}


def list_of(value: object) -> list[Any]:
    """A list as it is; nothing of anything else."""
    return value if isinstance(value, list) else []


def _is_triple(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(part, str) and part.strip() for part in value)


def clean(text: str) -> str:
    """On one line, without what no store takes."""
    return as_line(_UNREADABLE.sub(" ", text))
