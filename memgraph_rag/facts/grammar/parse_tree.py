"""A parsed clause as a tree: the subject, whether the clause asserts something, and the noun phrase around a word.

The module knows spaCy's labels of English dependencies (ClearNLP's), and no attribute. Invariants: a phrase is a span
of the text; a denied, supposed, wished or planned clause is not asserted.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from memgraph_rag.contracts import Word

__all__ = ["Tree"]

_FIRST = frozenset({"i", "we"})
_BEGIN = frozenset({"start", "begin", "continue", "get", "come", "happen", "keep"})
_END = frozenset({"stop", "quit", "give", "finish", "leave", "cancel", "drop"})
_DENIALS = frozenset({"never", "longer", "anymore", "hardly", "neither", "nor"})
_REASONS = frozenset({"because", "since", "as", "so", "that"})
_FINITE = frozenset({"VBP", "VBZ", "VBD"})
_MODIFIERS = frozenset({"det", "amod", "compound", "nummod", "nmod", "poss", "punct", "quantmod", "npadvmod", "case"})
_PLACES_OF = frozenset({"university", "bank", "city", "college", "school", "institute", "academy", "town"})
_FURTHER = re.compile(r"(?:,| &| and| or) (?!I\b)[A-Z0-9]")  # "Flask and SQLite"; "CS, Dota"
_OPENING = "([{\"“‘'*,:;/"
_STUCK = re.compile(r"[:/+#.@-]?\w[\w:/+#.@-]*\w|\w")  # what a tokenizer took apart: "CS:GO"
_LINKS = frozenset({"prep", "advmod", "prt", "agent", "dative"})


class Tree:
    """The words of one clause. Words are named by their places."""

    def __init__(self, text: str, words: Sequence[Word]) -> None:
        self.text = text
        self.words = words
        self.surfaces = [text[word.start : word.end].lower() for word in words]
        self._below: defaultdict[int, list[int]] = defaultdict(list)
        for place, word in enumerate(words):
            if word.head != place:
                self._below[word.head].append(place)

    def children(self, place: int, *relations: str) -> list[int]:
        """The words directly below, of these relations or all, in order."""
        return [child for child in self._below[place] if not relations or self.words[child].relation in relations]

    def verbs(self) -> Iterator[int]:
        """The verbs that the speaker is the subject of and that are asserted."""
        for place, word in enumerate(self.words):
            if word.tag.startswith("VB") and self.is_own(place) and self.is_asserted(place):
                yield place

    def subject(self, place: int) -> int | None:
        """The subject of a verb, its own or that of the verb that it goes with; None where there is none."""
        own = self.children(place, "nsubj", "nsubjpass")
        if own:
            return own[0]
        word = self.words[place]
        goes_with = word.relation in ("conj", "xcomp", "advcl", "pcomp", "prep") and word.head != place
        return self.subject(word.head) if goes_with and word.head < place else None

    def is_own(self, place: int) -> bool:
        """Whether the subject of a verb is the speaker, alone or with others, or is left out in front."""
        subject = self.subject(place)
        if subject is None:
            is_first = not any(word.tag.startswith(("NN", "PRP", "VB", "W")) for word in self.words[:place])
            return is_first and self.words[place].tag in ("VBD", "VBG", "VBN")
        return any(self.surfaces[each] in _FIRST for each in (subject, *self.joined(subject)))

    def joined(self, place: int) -> list[int]:
        """What is joined to a word by "and"."""
        direct = self.children(place, "conj")
        return [*direct, *(further for child in direct for further in self.joined(child))]

    def is_asserted(self, place: int) -> bool:
        """Whether a verb says that something is so."""
        word = self.words[place]
        below = self.children(place, "aux", "mark")
        if self.is_denied(place):
            return False
        if any(self.words[child].tag == "MD" for child in below):
            return False
        marks = {self.surfaces[child] for child in below if self.words[child].relation == "mark"}
        head = self.words[word.head]
        if marks - _REASONS:
            return False
        if word.relation in ("xcomp", "pcomp", "relcl", "csubj"):
            return word.relation == "xcomp" and head.lemma in _BEGIN and self.is_asserted(word.head)
        if any(self.surfaces[child] == "to" for child in below):
            return word.relation == "conj" and self.is_asserted(word.head)
        if word.relation == "conj" and word.head != place:
            is_finite = word.tag in _FINITE and head.tag not in _FINITE  # "I gave up singing and play the cello"
            return is_finite or head.lemma in _END or self.is_asserted(word.head)
        return True

    def is_denied(self, place: int) -> bool:
        """Whether a verb stands with "not", or a word that means as much."""
        below = self.children(place)
        return any(self.words[child].relation == "neg" or self.surfaces[child] in _DENIALS for child in below)

    def governor(self, place: int) -> int | None:
        """The nearest verb above a word."""
        while self.words[place].head != place:
            place = self.words[place].head
            if self.words[place].tag.startswith("VB"):
                return place
        return None

    def is_past(self, place: int) -> bool:
        """Whether a verb tells of what was."""
        word = self.words[place]
        tags = {self.surfaces[child] for child in self.children(place, "aux", "auxpass")}
        if word.tag in ("VBG", "VBN") and not tags and word.relation in ("conj", "xcomp") and word.head != place:
            return word.relation == "conj" and self.is_past(word.head)
        return word.tag == "VBD" or bool(tags & {"was", "were", "had", "did"})

    def objects(self, place: int, names: Collection[str] = ()) -> list[int]:
        """The nouns behind these prepositions of a verb, also through particles and the verb's object."""
        found: list[int] = []
        open_places = [place, *self.children(place, "dobj", "attr")]
        while open_places:
            current = open_places.pop(0)
            for child in self.children(current):
                if self.words[child].relation not in _LINKS or child < place:
                    continue
                if self.surfaces[child] in names:
                    found += self.children(child, "pobj")
                open_places.append(child)
        return found

    def span(self, place: int) -> tuple[int, int]:
        """(first, last) of the noun phrase of a word: its modifiers, and "of …" where that is part of a name."""
        first = place
        while first > 0 and self._is_within(first - 1, place):
            first -= 1
        while first < place and self.words[first].relation == "punct":
            first += 1
        last = place
        for of in self.children(place, "prep"):
            is_name = self._is_capital(place) or self.surfaces[place] in _PLACES_OF
            for name in self.children(of, "pobj"):
                if self.surfaces[of] == "of" and is_name and self._is_capital(name):
                    last = name
        while last + 1 < len(self.words) and self._goes_on(last + 1, place):
            last += 1
        return first, last

    def _is_within(self, place: int, noun: int) -> bool:
        current = place
        while current != noun:
            if self.words[current].relation not in _MODIFIERS or self.words[current].head == current:
                return False
            if self.words[current].relation == "punct" and self.surfaces[current] not in "-–'’":
                return False
            current = self.words[current].head
        return True

    def _goes_on(self, place: int, noun: int) -> bool:
        """Whether a number or a name behind a noun belongs to it: "Model 3"."""
        word = self.words[place]
        is_beside = place > 0 and word.start - self.words[place - 1].end <= 1
        return is_beside and self.text[word.start].isdigit() and self._is_capital(noun)

    def _is_capital(self, place: int) -> bool:
        return self.text[self.words[place].start].isupper()

    def phrase(self, place: int) -> str:
        """The noun phrase of a word as it is written; empty where several are joined."""
        first, last = self.span(place)
        end = self.words[last].end
        rest = self.text[end:]
        if any(self.surfaces[other] not in _FIRST for other in self.joined(place)) or _FURTHER.match(rest):
            return ""
        stuck = _STUCK.match(rest)
        start = self.words[first].start
        while start and not self.text[start - 1].isspace() and self.text[start - 1] not in _OPENING:
            start -= 1
        return self.text[start : end + (stuck.end() if stuck else 0)]
