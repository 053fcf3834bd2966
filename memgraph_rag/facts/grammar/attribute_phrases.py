"""Find phrases for the speaker's own things: "my favourite colour" in "my favourite colour these days is green".

The module knows English words only. Invariant: a phrase begins with "my", "our" or "new", or is what "I use".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memgraph_rag.facts.grammar.attributes import attribute_form, has_many_values, is_family
from memgraph_rag.lexical.inflection import is_past

__all__ = ["PLACE", "AttributePhrase", "attribute_phrases"]

PLACE = "§"
"""Stands for the phrase in ``AttributePhrase.clause``; "new §" where the phrase says that the thing is new."""


@dataclass(frozen=True, slots=True)
class AttributePhrase:
    """An attribute in its form, its name as written, and the clause with ``PLACE`` where the phrase stood."""

    attribute: str
    name: str
    clause: str


_MOST_ATTRIBUTE = 40  # characters
_MOST_NAME = 5  # words
_MOST_PHRASES = 3  # of a clause
_NEW = r"(?:(?:brand[- ]new|new|newest|latest|current|new favou?rite)\s+)?"
_OWNED = re.compile(
    rf"(?<!one of )(?<!two of )(?<!some of )(?<!any of )(?<!most of )(?<!all of )\b(?:(?:the )?(?P<thing>name|"
    rf"number) of )?(?:(?:my|our)\b(?: own)?|(?:a|an|the)(?= (?:brand[- ])?(?:new|current)\b)"
    rf"|(?<=regarding )the|^(?=new\b)|^the(?=(?: [\w-]+){{1,4}} (?:that |which |who )?(?:i|we)\b)|(?<=\bthe)(?=(?: "
    rf"[\w-]+){{1,3}} (?:that |which |who )?(?:i|we)\b))"
    rf"\s*(?P<new>{_NEW})(?P<name>[\w+#-]+(?:['’]s?)?(?: [\w+#-]+(?:['’]s?)?){{0,{_MOST_NAME - 1}}})",
    re.IGNORECASE,
)
_STOP = frozenset(
    """
        i we you he she they it that which who whom is are am was were be been being has have had do does did to and
        but or if when than my our not with as at by from up out will can just really also never always for in on of
        into over became become becomes remains stays goes got gets go went changed switched now these this those so
        because since after before while where what how why here there then too very used says said reads would
        could should may might must i've i'm we've we're it's that's isn't aren't wasn't called named until about
        like works taking takes took replaced moved still finally currently actually officially already recently
        lately today from through once again
        """.split()  # noqa: SIM905
)


def attribute_phrases(clause: str) -> Iterator[AttributePhrase]:
    """The phrases of a clause that name an attribute that has one value at a time.

    >>> [(phrase.attribute, phrase.clause) for phrase in attribute_phrases("My dog's name is Rex")]
    [('dog name', '§ is Rex')]
    """
    for _, match in zip(range(_MOST_PHRASES), _OWNED.finditer(clause), strict=False):
        words = _attribute_words(match["name"].split())
        if not words:
            continue
        written = " ".join(words)
        name = f"{written} {match['thing']}" if match["thing"] else written
        end = match.start("name") + len(written)
        attribute = attribute_form(name)
        is_mine = re.match(r"(?:the \w+ of )?(?:my|our)\b", match[0], re.IGNORECASE)
        if not attribute or len(attribute) > _MOST_ATTRIBUTE or has_many_values(attribute):
            continue
        if not is_mine and (not is_family(attribute) or attribute == "home"):
            continue  # "connections in a new city"
        place = f"new {PLACE}" if match["new"] else PLACE
        yield AttributePhrase(attribute, name, f"{clause[: match.start()]}{place}{clause[end:]}".strip())


def _attribute_words(words: list[str]) -> list[str]:
    """The words of a name up to a known attribute, else up to a word that belongs to no name."""
    stop = next((n for n, word in enumerate(words) if word.casefold() in _STOP), len(words))
    named = words[:stop]
    for n in range(len(named), 0, -1):
        is_known = is_family(attribute_form(" ".join(named[:n])))
        if is_known and (n == len(named) or named[n][0].isupper() or is_past(named[n].casefold())):
            return named[:n]
    if any(word[0].isupper() for word in named[1:]):  # "my friend Rachel"
        return []
    return named if len(named) <= 3 else []
