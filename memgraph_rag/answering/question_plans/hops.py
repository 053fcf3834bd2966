"""Hops: the innermost phrase of a question that describes a thing whose name must be found first.

It knows the words of a question, and its noun phrases by a contract. Invariant: the question contains each phrase
word for word, and the phrase holds the title of a document, or a name that was found before.

In "Who is the wife of the director of Solaris?" the phrase is "the director of Solaris". When its name is known, the
name takes the place of the phrase, and the next phrase is looked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from memgraph_rag.answering.question_plans.values import normalise_words
from memgraph_rag.contracts import FindPhrases, NounPhrase
from memgraph_rag.lexical.tokenize import remove_accents

_KIN = {
    "paternal grandfather": ("father", "father"),
    "paternal grandmother": ("mother", "father"),
    "maternal grandfather": ("father", "mother"),
    "maternal grandmother": ("mother", "mother"),
    "father-in-law": ("father", "spouse"),
    "mother-in-law": ("mother", "spouse"),
}
_KIN_WORDS = re.compile(rf"\b({'|'.join(_KIN)})\b(?P<of> of\b)?", re.IGNORECASE)
_PEOPLE = {
    "actor", "actress", "architect", "artist", "author", "brother", "character", "child", "coach", "composer",
    "creator", "daughter", "director", "discoverer", "editor", "father", "founder", "grandfather", "grandmother",
    "host", "husband", "inventor", "king", "leader", "lyricist", "man", "monarch", "mother", "musician", "owner",
    "painter", "performer", "person", "player", "poet", "politician", "president", "producer", "publisher", "queen",
    "rapper", "ruler", "screenwriter", "sibling", "singer", "sister", "son", "spouse", "star", "voice", "wife",
    "woman", "writer",
}  # fmt: skip
_NO_HEADS = {
    "all", "best", "book", "film", "game", "group", "kind", "member", "members", "most", "movie", "name", "number",
    "one", "part", "percentage", "recording", "series", "show", "signing", "single", "some", "song", "type",
}  # fmt: skip
_NO_HEADS_WITH_OF = {"capital", "city", "country", "county", "date", "island", "place", "state", "town", "village"}
"""In "the city of Bonn" these are part of a name, or the question asks for them."""
_ASKS = re.compile(r"\b(?:who|whom|whose|what|which|where|when|how)\b", re.IGNORECASE)
_VAGUE = re.compile(r"(?:its|his|her|their|this|that|these|an?|some)\b", re.IGNORECASE)
_KINDS = r"(?:film|movie|song|album|book|novel|band|group|series|show|magazine|play|poem|opera)\s+"
_ASKED_BEFORE = re.compile(r"\b(?:which|what)(?: \w+)? of\s*$", re.IGNORECASE)
_BEGINNING = re.compile(r"^\W*(?:who|what|which|where|when)\s+(?:is|was|are|were)\s+(?:the\s+)?", re.IGNORECASE)
_DID = re.compile(r"\W*\w+\s+(?:did|does|do)\b", re.IGNORECASE)
_BRACKETS = re.compile(r"\s*\([^)]*\)\s*$")
_QUOTED = re.compile(r'"([^"]{2,80})"|“([^”]{2,80})”')
_CAPITALISED = re.compile(
    r"(?<!^)\b[A-Z][\w.’'-]*"
    r"(?:\s+(?:of|the|and|de|von|van|la|du|&|in|for|to|a)\s+[A-Z][\w.-]*|\s+[A-Z0-9][\w.-]*)*"
)
_OWNER = re.compile(r"[’']s?$")
_STANDINS = ("Alvara", "Borodin", "Cestria", "Dunmore", "Elvania", "Farnholt", "Gordania", "Halvorsen")
"""Names that a parser takes for names, in place of those of the question, whose words may be of any kind."""


@dataclass(frozen=True, slots=True)
class Hop:
    """A phrase of a question, and the question for the thing that it describes."""

    phrase: str
    question: str


def spell_out_kinship(question: str) -> str:
    """Return a question with two steps of kinship in place of one word.

    >>> spell_out_kinship("Who is the paternal grandfather of Ann?"), spell_out_kinship("Who is Ann's mother-in-law?")
    ('Who is the father of the father of Ann?', "Who is Ann's spouse's mother?")
    """

    def spell(match: re.Match[str]) -> str:
        outer, inner = _KIN[remove_accents(match[1]).lower()]  # to ``re``, ı and ſ are i and s
        return f"{outer} of the {inner} of" if match["of"] else f"{inner}'s {outer}"

    return _KIN_WORDS.sub(spell, question)


def has_name(question: str) -> bool:
    """Return whether a question holds quoted or capitalised words, which may be a title."""
    return bool(_name_places(question, ()))


def find_hop(
    question: str,
    titles: Sequence[str],
    find_phrases: FindPhrases,
    *,
    values: Collection[str] = (),
    without: Collection[str] = (),
) -> Hop | None:
    """Return the shortest phrase around a title or value, with the question for its name; None without one.

    None too if the question is nothing but the phrase, or names no title or value: then, as in a memory of one book,
    no passage about the name could be found.

    Args:
        titles: titles of the documents that a search for the question found: names that the question may write.
        find_phrases: finds noun phrases.
        values: names that took the place of earlier phrases; they count like titles.
        without: phrases that were tried in vain.
    """
    text = _StandIn(question, [*titles, *values])
    if not text.has_known(text.replaced):
        return None
    whole = normalise_words(_BEGINNING.sub("", text.replaced))
    for phrase in _drop_verb_phrases(text.replaced, find_phrases(text.replaced)):
        words = _OWNER.sub("", text.replaced[phrase.start : phrase.end])
        if (
            text.has_known(words)
            and _may_be_asked(phrase, words)
            and _ASKS.search(text.replaced[: phrase.start] + text.replaced[phrase.end :])
            and normalise_words(words) != whole
            and not _ASKED_BEFORE.search(text.replaced[: phrase.start])
            and text.restore(words) not in without
        ):
            return _make_hop(text.restore(words), phrase)
    return None


def _drop_verb_phrases(question: str, phrases: Sequence[NounPhrase]) -> Iterator[NounPhrase]:
    """Yield the phrases, but not the phrase of all words after "Where did …", because it contains the verb.

    A parser may take the last verb of "Where did Ann's father study?" for a noun. Such a phrase is cut before the verb.
    """
    whole, did = question.rstrip("?.! "), _DID.match(question)
    for phrase in phrases:
        if did is None or whole[did.end() :].strip() != whole[phrase.start : phrase.end]:
            yield phrase
            continue
        before, _, verb = whole[phrase.start :].rpartition(" ")
        if verb.lower() == phrase.head and " " in before:
            yield replace(phrase, end=phrase.start + len(before), head=before.rpartition(" ")[2].lower())


def _make_hop(words: str, phrase: NounPhrase) -> Hop:
    has_article = words.lower().startswith("the ")
    article = "the " if has_article or phrase.has_of else ""
    thing = words[len("the ") :] if has_article else words
    return Hop(words, f"{'Who' if phrase.head in _PEOPLE else 'What'} is {article}{thing}?")


def _may_be_asked(phrase: NounPhrase, words: str) -> bool:
    """Return whether a phrase describes one thing that has a name."""
    if phrase.head in _NO_HEADS or (phrase.head in _NO_HEADS_WITH_OF and not phrase.has_clause and phrase.has_of):
        return False
    return not _VAGUE.match(words) and not _ASKS.match(words)


class _StandIn:
    """A question in which stand-ins take the place of names."""

    def __init__(self, question: str, known: Sequence[str]) -> None:
        self._names: dict[str, str] = {}
        forms = list_forms(known)
        self.replaced, last = "", 0
        for (start, end), standin in zip(_name_places(question, forms), _STANDINS, strict=False):
            self._names[standin] = question[start:end]
            self.replaced += question[last:start] + standin
            last = end
        self.replaced += question[last:]
        self._pattern = re.compile("|".join(self._names) or "$^")
        names = ((standin, normalise_words(name)) for standin, name in self._names.items())
        known_words = [f" {normalise_words(form)} " for form in forms]
        self._known = {standin for standin, name in names if any(form in f" {name} " for form in known_words)}

    def has_known(self, words: str) -> bool:
        """Return whether the words hold a stand-in for a known name."""
        return any(match[0] in self._known for match in self._pattern.finditer(words))

    def restore(self, words: str) -> str:
        return self._pattern.sub(lambda match: self._names[match[0]], words)


def list_forms(titles: Iterable[str]) -> set[str]:
    """Return the titles with and without the brackets at their end; forms of one or two letters are left out."""
    return {form for title in titles for form in (title, _BRACKETS.sub("", title)) if len(form) > 2}


def select_longest(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans in order; of spans that overlap only the longest, of equally long ones the first."""
    selected: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
        if not any(start < last and first < end for first, last in selected):
            selected.append((start, end))
    return sorted(selected)


def _name_places(question: str, forms: Collection[str]) -> list[tuple[int, int]]:
    """Return the places of names in a question, in order: known names, quoted words and capitalised words."""
    found = [
        match.span()
        for form in forms
        for match in re.finditer(rf"(?<!\w)(?:{_KINDS})?{re.escape(form)}(?!\w)", question, re.IGNORECASE)
    ]
    found += [match.span(1 if match[1] else 2) for match in _QUOTED.finditer(question)]
    for match in _CAPITALISED.finditer(question):
        found.append((match.start(), match.start() + len(_OWNER.sub("", match[0]))))
    return select_longest(found)
