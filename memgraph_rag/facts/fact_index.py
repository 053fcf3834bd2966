"""The facts of a namespace in memory, and which of them hold: decided here, by when they were said.

It knows the graph through the reader only, no model and no ranking. Invariants: after ``refresh`` it holds what the
store held at some moment since the call began; validity follows from what is stored now, so that what is forgotten
closes nothing; statements of different users or speakers never close one another.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, groupby, islice

from memgraph_rag.contracts import SearchedGraph
from memgraph_rag.facts.grammar.attributes import value_form
from memgraph_rag.facts.grammar.deeds import denies
from memgraph_rag.lexical.timestamps import instant
from memgraph_rag.types import Annotation, DocumentRecord, Extent
from memgraph_rag.types.facts import Rival, Standing

__all__ = ["Fact", "FactIndex", "FactKey", "by_subject", "standings", "user_of", "within"]

_LAYER = "facts"
_DAYS = "days"  # the kind of those annotations that are no statements
_MOST_RIVALS = 8
_MOST_COMPARED = 256  # attributes with a word of the value that is given up

FactKey = tuple[str, str, str]
"""User, speaker (in lower case) and attribute: of these one value holds at a time."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement with its place; ``at`` is when it was said, in seconds since 1970, ``said`` the same as ISO 8601.

    ``former`` is the value that it says to be given up. Then its key may name no attribute.
    """

    key: FactKey
    kind: str
    value: str
    quote: str
    speaker: str
    said: str
    at: float
    document_id: str
    segment_id: str
    index: int
    former: str = ""

    @property
    def form(self) -> str:
        """The value as it is compared."""
        return _form(self.value)

    @property
    def rival(self) -> Rival:
        """The fact as another one's rival."""
        return Rival(self.segment_id, self.value, self.quote, self.said)


@lru_cache(maxsize=4096)
def _form(value: str) -> str:
    return value_form(value) or value  # a search compares each value with all others of its attribute


class FactIndex:
    """All facts of one namespace. May be used from several threads."""

    def __init__(self, graph: SearchedGraph) -> None:
        self._graph = graph
        self._lock = threading.Lock()
        self._version = -1
        self._facts: dict[str, tuple[Fact, ...]] = {}  # by document
        self.users: Mapping[str, str] = {}
        """The user of each document that has one, by id, as of the last refresh; none where nothing is stated."""

    def refresh(self, version: int | None = None) -> tuple[Fact, ...]:
        """All facts as they are stored now, by document.

        Args:
            version: of the namespace, where it was read before; what was written up to it is among the facts.
        """
        with self._lock:
            version = self._graph.version() if version is None else max(version, self._version)
            if version != self._version:
                self._renew(version)
            return tuple(fact for facts in self._facts.values() for fact in facts)

    def _renew(self, version: int) -> None:
        annotations = self._graph.layer_annotations(_LAYER, since=self._version)
        if annotations or self._facts:
            first = self._version if self._facts else -1  # users of those that stated nothing are wanted too
            records = {record.id: record for record in self._graph.written_documents(since=first)}
            facts = dict(self._facts)
            for document_id in records:
                facts.pop(document_id, None)
            said = (item for item in annotations if item.kind != _DAYS)
            for document_id, of_document in groupby(said, key=lambda item: item.document_id):
                if document_id in records:
                    facts[document_id] = tuple(_fact(item, records[document_id]) for item in of_document)
            there = set(self._graph.document_ids())
            self._facts = {document_id: facts[document_id] for document_id in sorted(facts.keys() & there)}
            users = {**self.users, **{document_id: user_of(record) for document_id, record in records.items()}}
            self.users = {document_id: user for document_id, user in users.items() if user and document_id in there}
        self._version = version


def user_of(record: DocumentRecord) -> str:
    """The user whose scope a document is in; empty where it has none."""
    return str(record.metadata.get("user", ""))


def _fact(annotation: Annotation, record: DocumentRecord) -> Fact:
    properties = {name: str(value) for name, value in annotation.properties.items()}
    said = properties.get("said") or record.added_at
    moment = instant(said)
    speaker, attribute = properties.get("speaker", ""), properties.get("attribute", "")
    return Fact(
        (user_of(record), speaker.casefold(), attribute),
        annotation.kind,
        properties.get("value", ""),
        annotation.text,
        speaker,
        said,
        moment.timestamp() if moment else 0.0,
        annotation.document_id,
        annotation.segment_ids[0],
        annotation.index,
        properties.get("former", ""),
    )


def within(facts: Iterable[Fact], extent: Extent) -> list[Fact]:
    """Return the facts that were said within the documents and the time of an extent."""
    documents = None if extent.documents is None else set(extent.documents)
    begin = extent.since.timestamp() if extent.since else float("-inf")
    end = extent.until.timestamp() if extent.until else float("inf")
    return [fact for fact in facts if begin <= fact.at < end and (documents is None or fact.document_id in documents)]


def by_subject(facts: Iterable[Fact]) -> dict[FactKey, list[Fact]]:
    """The facts about one thing together: the values of an attribute; a deed that is denied with those who deny it.

    A statement that gives up a value tells two, the former first. Left out are values that their speaker takes back
    later; deeds that nobody denies, since nothing supersedes them; instructions and preferences, which name no
    attribute.
    """
    by_key: dict[FactKey, list[Fact]] = {}
    denied: dict[FactKey, list[Fact]] = {}
    done: dict[FactKey, list[Fact]] = {}  # by user, speaker and verb
    known = list(facts)
    for fact in _told_apart(_not_taken_back(known)):
        by_key.setdefault(fact.key, []).append(fact)
    for fact in known:
        if fact.kind == "event" and fact.value == "never":
            denied.setdefault(fact.key, []).append(fact)
        elif fact.kind == "event":
            done.setdefault(_verb_key(fact.key), []).append(fact)
    for key, nevers in denied.items():
        deeds = [fact for fact in done.get(_verb_key(key), ()) if denies(key[2], fact.key[2])]
        if deeds:
            by_key[key] = [*nevers, *deeds]
    return by_key


def _not_taken_back(facts: Sequence[Fact]) -> list[Fact]:
    """The values that their speaker does not deny later."""
    denied: dict[tuple[FactKey, str], float] = {}
    for fact in facts:
        if fact.kind == "denial":
            denied[fact.key, fact.form] = max(fact.at, denied.get((fact.key, fact.form), fact.at))
    return [
        fact for fact in facts if fact.kind == "value" and fact.at >= denied.get((fact.key, fact.form), float("-inf"))
    ]


def _told_apart(values: list[Fact]) -> list[Fact]:
    """Values, of which those that give up another one are of its attribute, behind it.

    The attribute is the only one whose value was the former when it was said, and else the one that the statement
    names. Where people live is named, or moved from: to leave a place for another may be a journey.
    """
    voices = {fact.key[:2] for fact in values if fact.former}
    told = [fact for fact in values if fact.key[:2] not in voices]
    held = _HeldValues()
    others = (fact for fact in values if fact.key[:2] in voices)
    for fact in sorted(others, key=lambda fact: (fact.at, fact.document_id, fact.index)):
        former = frozenset(_form(fact.former).split()) if fact.former else frozenset[str]()
        keys = held.keys_of(fact.key[:2], former)
        key = keys[0] if len(keys) == 1 and (fact.key[2] or keys[0][2] != "home") else fact.key
        if not key[2]:
            continue
        if former and key not in keys:
            told.append(replace(fact, key=key, value=fact.former, former=""))
        told.append(replace(fact, key=key, former=""))
        held.hold(key, frozenset(fact.form.split()))
    return told


class _HeldValues:
    """The value that each attribute has so far, found by its words."""

    def __init__(self) -> None:
        self._words: dict[FactKey, frozenset[str]] = {}
        self._keys: dict[tuple[str, str, str], dict[FactKey, None]] = {}  # by user, speaker and word

    def hold(self, key: FactKey, words: frozenset[str]) -> None:
        """Give an attribute another value."""
        for word in self._words.get(key, ()):
            del self._keys[(*key[:2], word)][key]
        self._words[key] = words
        for word in words:
            self._keys.setdefault((*key[:2], word), {})[key] = None

    def keys_of(self, voice: tuple[str, str], words: frozenset[str]) -> list[FactKey]:
        """The attributes whose value may be the same: "Weber" and "Dr. Weber"."""
        sharing = chain.from_iterable(self._keys.get((*voice, word), ()) for word in sorted(words))
        keys = dict.fromkeys(islice(sharing, _MOST_COMPARED))
        return [key for key in keys if words <= self._words[key] or self._words[key] <= words]


def _verb_key(key: FactKey) -> FactKey:
    return key[0], key[1], key[2].partition(" ")[0]


def standings(facts: Sequence[Fact]) -> dict[tuple[str, int], Standing]:
    """How each of the facts of one key stands, by (segment id, index).

    Values are in the order in which they were said, in one document also by place. Of several values that were said at
    the same moment in different documents none supersedes another, nor is "never" superseded by what was done.
    """
    ordered = sorted(facts, key=lambda fact: (fact.at, fact.document_id, fact.index))
    clashing = _clashing(ordered)
    clashing_places = {(fact.segment_id, fact.index) for fact in clashing}
    first_clashing = _first_of_each_value(clashing)
    runs = [list(run) for _, run in groupby(ordered, key=lambda fact: fact.form)]
    former = [run[-1] for run in reversed(runs[-1 - _MOST_RIVALS : -1])]
    stood: dict[tuple[str, int], Standing] = {}
    for place, run in enumerate(runs):
        is_last = place == len(runs) - 1
        following = runs[place + 1][0].said if not is_last else ""
        for fact in run:
            key = fact.segment_id, fact.index
            rivals = [other for other in first_clashing if other.form != fact.form] if key in clashing_places else []
            if rivals:
                stood[key] = _standing("contradicted", fact, run, "", rivals)
            elif is_last:
                stood[key] = _standing("holds", fact, run, "", former)
            else:
                stood[key] = _standing("superseded", fact, run, following, [runs[-1][-1]])
    return stood


def _first_of_each_value(facts: Sequence[Fact]) -> list[Fact]:
    """The first facts, at most as many of a value as are shown; of another value than any there are as many."""
    first: list[Fact] = []
    counts: Counter[str] = Counter()
    for fact in facts:
        counts[fact.form] += 1
        if counts[fact.form] <= _MOST_RIVALS:
            first.append(fact)
        if len(first) == 2 * _MOST_RIVALS:
            break
    return first


def _clashing(ordered: Sequence[Fact]) -> list[Fact]:
    """Those facts of one key of which no order tells which holds."""
    if ordered and ordered[0].kind == "event":
        return list(ordered) if len({fact.form for fact in ordered}) > 1 else []
    last = [fact for fact in ordered if fact.at == ordered[-1].at]
    newest = {document_id: list(of)[-1] for document_id, of in groupby(last, key=lambda fact: fact.document_id)}
    return list(newest.values()) if len({fact.form for fact in newest.values()}) > 1 else []


def _standing(state: str, fact: Fact, run: Sequence[Fact], until: str, rivals: Sequence[Fact]) -> Standing:
    """How a fact stands; ``run`` are the facts of its value, from the first on, without another one in between."""
    return Standing(
        state,  # pyright: ignore[reportArgumentType] - one of the three
        fact.key[2],
        fact.value,
        fact.speaker,
        run[0].said,
        until,
        tuple(rival.rival for rival in rivals[:_MOST_RIVALS]),
        len(run),
    )
