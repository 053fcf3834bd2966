"""Names in the form in which the graph compares them, and the names and phrases of a question in that form.

The module knows no model; the caller passes the recognizer. Invariant: two spellings of a name have one normal form if
they differ only in case, white space, articles, possessives, surrounding punctuation, or in Unicode's ways to write a
character; the normal form of a normal form is itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from memgraph_rag.contracts import EntityRecognizer
from memgraph_rag.lexical.ruled_names import candidates, names_by_rules

LONGEST_NAME = 200
"""Most characters of a normal form; a longer one is a sentence that was mistaken for a name."""

SAME_CHARACTERS = ("'‘’‚‛ʼʻ`´′＇", "-‐‑‒–—―−﹘﹣－", '"“”„‟«»')
"""Groups of characters that writers use for each other; a normal form uses the first of each group."""

_LONGEST_SURFACE = 1000
_MOST_WORDS = 4096

_UNIFIED = str.maketrans({other: same[0] for same in SAME_CHARACTERS for other in same[1:]})
_ARTICLES = re.compile(r"\A(?:(?:the|an?) +)+(?=\S)")
_BRACKET = re.compile(r"[()\[\]{}]")
_UNCLOSED = re.compile(r"(?<=\S) *[(\[{][^)\]}]*$")
_PARTNERS = {"(": ")", "[": "]", "{": "}"}
_KEPT_AT_THE_END = "+#"  # C++, C#


def normalise(surface: str) -> str:
    """Return the normal form of a name, by which its entity is identified; empty if nothing is left or it is too long.

    Compatibility forms are unified (NFKC), case folded, dashes and apostrophes unified, white space becomes one space;
    leading articles, a possessive ending, surrounding punctuation and an unclosed parenthesis are dropped.

    >>> normalise("  The “Mad Hatter’s” "), normalise("C++"), normalise("Tenderness (film)")
    ('mad hatter', 'c++', 'tenderness (film)')
    """
    return _reduce(surface) if len(surface) <= _LONGEST_SURFACE else ""


def is_name(normal: str) -> bool:
    """Return whether a normal form can be a name: it holds a letter. Numbers alone would join unrelated texts."""
    return any(character.isalpha() for character in normal)


def find_names(question: str, recognizer: EntityRecognizer) -> list[str]:
    """Find the names in a question by a recognizer and by rules; return their normal forms, in order, each once.

    Overlapping names are all returned. In a script without capitals, every other part that may be a name follows. A
    form without a letter is left out.
    """
    (recognized,) = recognizer.recognize([question])
    return _normalise_names(question, ((named.start, named.end) for named in recognized))


def find_names_by_rules(question: str) -> list[str]:
    """Return the names in a question as ``find_names`` does, but by rules alone, which load no model.

    >>> find_names_by_rules("Who is older, Ann Lee or the Mad Hatter?")
    ['ann lee', 'mad hatter']
    """
    return _normalise_names(question, ())


def _normalise_names(question: str, recognized: Iterable[tuple[int, int]]) -> list[str]:
    spans = sorted({*recognized, *names_by_rules(question)})
    surfaces = (*(question[start:end] for start, end in spans), *candidates(question))
    return [name for name in dict.fromkeys(map(normalise, surfaces)) if is_name(name)]


def ngrams(question: str, longest: int = 8) -> list[str]:
    """Return the normal forms of all runs of 1 to ``longest`` words, in order, each once.

    A run whose normal form has no letter or is too long is left out. Only the first 4,096 words of a question are used:
    a longer question is a document, and its names suffice.

    >>> ngrams("Who wrote The Hobbit?", 2)
    ['who', 'who wrote', 'wrote', 'wrote the', 'the', 'hobbit']
    """
    words = question.split(maxsplit=_MOST_WORDS)[:_MOST_WORDS]
    grams = (
        normalise(" ".join(words[start:end]))
        for start in range(len(words))
        for end in range(start + 1, min(start + longest, len(words)) + 1)
    )
    return [gram for gram in dict.fromkeys(grams) if is_name(gram)]


@lru_cache(maxsize=65_536)
def _reduce(surface: str) -> str:
    """Return the normal form by repeating ``_step`` until it changes nothing: one step may enable another."""
    normal = _step(surface)
    while (further := _step(normal)) != normal:
        normal = further
    return normal if len(normal) <= LONGEST_NAME else ""


def _step(text: str) -> str:
    if text.isascii():
        text = text.lower()
    else:
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).translate(_UNIFIED)
    text = " ".join((text if text.isprintable() else _drop_invisible(text)).split())
    text = _strip(text[:-2] if text.endswith("'s") else text)
    text = _UNCLOSED.sub("", text) if _BRACKET.search(text) else text
    return _ARTICLES.sub("", text) if text[:1] in ("t", "a") else text


def _drop_invisible(text: str) -> str:
    """Return the text without invisible characters: controls, formats, surrogates and unassigned characters."""
    return "".join(character if character.isprintable() else " " if character.isspace() else "" for character in text)


def _strip(text: str) -> str:
    """Return the text without punctuation and symbols around it; a bracket with its partner inside the text stays."""
    start, end = 0, len(text)
    while start < end and not text[start].isalnum():
        if text[start] in _PARTNERS:
            partner = _BRACKET.search(text, start + 1, end - 1)
            if partner is not None and partner.group() == _PARTNERS[text[start]]:
                break
        start += 1
    while end > start and not (text[end - 1].isalnum() or unicodedata.category(text[end - 1])[0] == "M"):
        last = text[end - 1]
        if last in _KEPT_AT_THE_END and not text[end - 2 : end - 1].isspace():
            break
        brackets = _BRACKET.findall(text, start + 1, end - 1)
        if brackets and _PARTNERS.get(brackets[-1]) == last:
            break
        end -= 1
    return text[start:end]
