"""Names as the graph compares them: one normal form, and the names and phrases of a question in that form.

It knows no room and no model; what finds names is given. Invariant: two writings of one name that differ only in
case, white space, articles, possessives, punctuation around them or in Unicode's ways to write a character have one
normal form, and a normal form is its own.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from memgraph_rag.contracts import EntityRecognizer
from memgraph_rag.lexical.capitalised_names import capitalised

__all__ = ["LONGEST_NAME", "SAME_CHARACTERS", "is_name", "names_in", "ngrams", "normalise"]

LONGEST_NAME = 200
"""A longer normal form, in characters, is no name but a sentence that was taken for one."""

SAME_CHARACTERS = ("'‘’‚‛ʼʻ`´′＇", "-‐‑‒–—―−﹘﹣－", '"“”„‟«»')
"""Characters that writers take for each other, behind the one that stands for them in a normal form."""

_LONGEST_SURFACE = 1000
_MOST_WORDS = 4096

_UNIFIED = str.maketrans({other: same[0] for same in SAME_CHARACTERS for other in same[1:]})
_ARTICLES = re.compile(r"\A(?:(?:the|an?) +)+(?=\S)")
_BRACKET = re.compile(r"[()\[\]{}]")
_UNCLOSED = re.compile(r"(?<=\S) *[(\[{][^)\]}]*$")
_PARTNERS = {"(": ")", "[": "]", "{": "}"}
_KEPT_AT_THE_END = "+#"  # C++, C#


def normalise(surface: str) -> str:
    """The normal form of a name: what its entity is known by. Empty where nothing is left, or far too much.

    Compatibility forms are unified (NFKC), case folded, dashes and apostrophes unified, white space made one blank;
    leading articles, a possessive ending, punctuation around the name and a parenthesis that is cut off are dropped.

    >>> normalise("  The “Mad\N{NO-BREAK SPACE}Hatter’s” "), normalise("C++"), normalise("Tenderness (film)")
    ('mad hatter', 'c++', 'tenderness (film)')
    """
    return _normal(surface) if len(surface) <= _LONGEST_SURFACE else ""


def is_name(normal: str) -> bool:
    """Whether a normal form can name something: it holds a letter. A number alone would join what has no relation."""
    return any(character.isalpha() for character in normal)


def names_in(question: str, recognizer: EntityRecognizer) -> list[str]:
    """The normal forms of what a question names, by the recognizer or by its capitals, in order, each once."""
    (recognized,) = recognizer.recognize([question])
    spans = sorted({(named.start, named.end) for named in recognized} | set(capitalised(question)))
    return [name for name in dict.fromkeys(normalise(question[start:end]) for start, end in spans) if is_name(name)]


def ngrams(question: str, longest: int = 8) -> list[str]:
    """The normal forms of all runs of 1 to ``longest`` words, in order, each once.

    Of a question of more than 4,096 words the first ones: it is a document, and its names say enough.

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
def _normal(surface: str) -> str:
    """The normal form, by steps until one more changes nothing: dropping one thing can bare another."""
    normal = _step(surface)
    while (further := _step(normal)) != normal:
        normal = further
    return normal if len(normal) <= LONGEST_NAME else ""


def _step(text: str) -> str:
    if text.isascii():
        text = text.lower()
    else:
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).translate(_UNIFIED)
    text = " ".join((text if text.isprintable() else _printable(text)).split())
    text = _stripped(text[:-2] if text.endswith("'s") else text)
    text = _UNCLOSED.sub("", text) if _BRACKET.search(text) else text
    return _ARTICLES.sub("", text) if text[:1] in ("t", "a") else text


def _printable(text: str) -> str:
    """Without what cannot be seen: controls, formats, surrogates, and what Unicode has not assigned."""
    return "".join(character if character.isprintable() else " " if character.isspace() else "" for character in text)


def _stripped(text: str) -> str:
    """Without punctuation and symbols around it; a bracket whose partner stands inside stays."""
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
