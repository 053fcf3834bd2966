"""Keep the facts of a namespace in memory, and decide which of them hold by when they were said.

The module reads the graph through a reader; it knows no model and no ranking. Invariants: after ``refresh`` it holds
what the store held at some moment since the call began; validity follows from the stored facts only, so a forgotten
statement supersedes nothing; statements of different users or speakers never supersede one another.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, groupby, islice

from memgraph_rag.contracts import SearchedGraph
from memgraph_rag.facts.attributes import value_form
from memgraph_rag.facts.deeds import denies
from memgraph_rag.lexical.timestamps import instant
from memgraph_rag.types import Annotation, DocumentRecord, Extent, get_owner
from memgraph_rag.types.facts import DAYS, FACTS, Rival, Standing

_MOST_RIVALS = 8
_MOST_COMPARED = 256  # attributes that share a word with a former value

FactKey = tuple[str, str, str]
"""(user, speaker in lower case, attribute). One value holds at a time for a key."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement of a person, as the layer ``facts`` stores it.

    Attributes:
        kind: that of ``facts.statements.Statement`` or ``facts.plans.Plan``.
        value: the value; "never" for an event that the speaker denies; empty where a statement only ends ``former``.
        quote: the sentence; ``index`` is the number of its annotation in the document.
        said: when it was said, ISO 8601.
        at: when it was said, in seconds since 1970.
        former: the value that the statement says to be given up; the key may then have no attribute.
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
        """The value in the form in which values are compared; the value itself if that form is empty."""
        return _form(self.value)

    @property
    def order(self) -> tuple[float, str, int]:
        """The key by which facts are sorted: the time, then the document, then the place in the document."""
        return self.at, self.document_id, self.index

    @property
    def rival(self) -> Rival:
        """The fact as a ``Rival``: the form in which the standing of another fact names a fact that competes."""
        return Rival(self.segment_id, self.value, self.quote, self.said)

    def is_since(self, other: Fact) -> bool:
        """Return whether this fact was not said before another one; in one document and time the place decides."""
        if (self.document_id, self.at) == (other.document_id, other.at):
            return self.index >= other.index
        return self.at >= other.at


@lru_cache(maxsize=4096)
def _form(value: str) -> str:
    return value_form(value) or value  # cached: a search compares each value with all others of its attribute


class FactIndex:
    """The facts of one namespace. Several threads may use it.

    Args:
        several: nouns of which a person has several at a time; the values of such attributes are left out.
    """

    def __init__(self, graph: SearchedGraph, *, several: Sequence[str] = ()) -> None:
        self._graph = graph
        self._several = frozenset(several)
        self._lock = threading.Lock()
        self._version = -1
        self._facts: dict[str, tuple[Fact, ...]] = {}  # by document
        self.users: Mapping[str, str] = {}
        """The users by document id, as of the last refresh; empty if there are no facts."""

    def refresh(self, version: int | None = None) -> tuple[Fact, ...]:
        """Return all facts as they are stored now, sorted by document id; ``users`` is updated, too.

        Args:
            version: the namespace's version, if the caller has already read it; the facts then include all writes up to
                it.
        """
        with self._lock:
            version = self._graph.version() if version is None else max(version, self._version)
            if version != self._version:
                self._reload(version)
            return tuple(fact for facts in self._facts.values() for fact in facts)

    def _reload(self, version: int) -> None:
        annotations = self._graph.layer_annotations(FACTS, since=self._version)
        if annotations or self._facts:
            first = self._version if self._facts else -1  # documents without facts have users, too
            records = {record.id: record for record in self._graph.list_written_documents(since=first)}
            facts = dict(self._facts)
            for document_id in records:
                facts.pop(document_id, None)
            statements = (item for item in annotations if item.kind != DAYS and not self._may_be_several(item))
            for document_id, document_facts in groupby(statements, key=lambda item: item.document_id):
                if document_id in records:
                    facts[document_id] = tuple(_make_fact(item, records[document_id]) for item in document_facts)
            stored_ids = set(self._graph.document_ids())
            self._facts = {document_id: facts[document_id] for document_id in sorted(facts.keys() & stored_ids)}
            users = {**self.users, **{document_id: find_user(record) for document_id, record in records.items()}}
            self.users = {
                document_id: user for document_id, user in users.items() if user and document_id in stored_ids
            }
        self._version = version

    def _may_be_several(self, annotation: Annotation) -> bool:
        """Return whether an annotation states a value of an attribute that has several at a time."""
        attribute = str(annotation.properties.get("attribute", ""))
        return annotation.kind == "value" and attribute.rpartition(" ")[2] in self._several


def find_user(record: DocumentRecord) -> str:
    """Return the user of a document, its metadata ``user``, as a text; empty if it has none."""
    return get_owner(record.metadata)[0] or ""


def _make_fact(annotation: Annotation, record: DocumentRecord) -> Fact:
    properties = {name: str(value) for name, value in annotation.properties.items()}
    said = properties.get("said") or record.added_at
    moment = instant(said)
    speaker, attribute = properties.get("speaker", ""), properties.get("attribute", "")
    return Fact(
        (find_user(record), speaker.casefold(), attribute),
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


def select_within(facts: Iterable[Fact], extent: Extent) -> list[Fact]:
    """Return the facts that were said within the documents and the time of an extent, in order.

    The begin of the time counts, its end does not. A fact without a time counts with the time at which its document was
    added.
    """
    documents = None if extent.documents is None else set(extent.documents)
    begin = extent.since.timestamp() if extent.since else float("-inf")
    end = extent.until.timestamp() if extent.until else float("inf")
    return [fact for fact in facts if begin <= fact.at < end and (documents is None or fact.document_id in documents)]


def group_by_subject(facts: Iterable[Fact]) -> dict[FactKey, list[Fact]]:
    """Return the facts by key: the values of an attribute, or a denied deed with statements that it was done.

    A statement that replaces a value counts twice, its former value first; one that only ends it counts once. Left out
    are values that their speaker denies later; deeds that nobody denies, because nothing supersedes them; and
    instructions and preferences, which have no attribute.
    """
    by_key: dict[FactKey, list[Fact]] = {}
    denied: dict[FactKey, list[Fact]] = {}
    done: dict[FactKey, list[Fact]] = {}  # by user, speaker and verb
    known = list(facts)
    for fact in _split_former(_drop_denied(known)):
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


def _drop_denied(facts: Sequence[Fact]) -> list[Fact]:
    """Return the values that their speaker does not deny later."""
    denials: dict[FactKey, list[Fact]] = {}
    for fact in facts:
        if fact.kind == "denial":
            denials.setdefault(fact.key, []).append(fact)
    return [
        fact
        for fact in facts
        if fact.kind == "value"
        and all(fact.is_since(each) for each in denials.get(fact.key, ()) if each.form == fact.form)
    ]


def _split_former(values: list[Fact]) -> list[Fact]:
    """Return the values; a statement that gives up a value becomes two values of one attribute.

    A statement that only ends a value gives "no longer Siemens", if Siemens was the value at that time.
    """
    voices = {fact.key[:2] for fact in values if fact.former}
    values_by_attribute = [fact for fact in values if fact.key[:2] not in voices]
    current = _CurrentValues()
    others = (fact for fact in values if fact.key[:2] in voices)
    for fact in sorted(others, key=lambda fact: fact.order):
        former = frozenset(_form(fact.former).split()) if fact.former else frozenset[str]()
        keys = current.find_keys(fact.key[:2], former)
        key = _find_key(fact, keys)
        if not fact.value and key in keys:
            values_by_attribute.append(replace(fact, key=key, value=f"no longer {fact.former}", former=""))
            current.set_value(key, frozenset())
        elif fact.value and key[2]:
            if former and key not in keys:
                values_by_attribute.append(replace(fact, key=key, value=fact.former, former=""))
            values_by_attribute.append(replace(fact, key=key, former=""))
            current.set_value(key, frozenset(fact.form.split()))
    return values_by_attribute


def _find_key(fact: Fact, keys: Sequence[FactKey]) -> FactKey:
    """Return the key of a statement that gives up a value; its attribute may be empty.

    It is the key whose value was the former at that time, if there is only one, else the key that the statement names.
    A statement that only ends a value ends that of the attribute that it names. A home counts as given up only if the
    statement names an attribute: leaving a place for another may be a journey.

    Args:
        keys: the keys whose value was the former.
    """
    if len(keys) != 1 or (fact.key[2] and not fact.value) or (keys[0][2] == "home" and not fact.key[2]):
        return fact.key
    return keys[0]


class _CurrentValues:
    """The present value of each attribute, indexed by its words."""

    def __init__(self) -> None:
        self._words: dict[FactKey, frozenset[str]] = {}
        self._keys: dict[tuple[str, str, str], dict[FactKey, None]] = {}  # by user, speaker and word

    def set_value(self, key: FactKey, words: frozenset[str]) -> None:
        """Set the value of an attribute."""
        for word in self._words.get(key, ()):
            del self._keys[(*key[:2], word)][key]
        self._words[key] = words
        for word in words:
            self._keys.setdefault((*key[:2], word), {})[key] = None

    def find_keys(self, voice: tuple[str, str], words: frozenset[str]) -> list[FactKey]:
        """Return the attributes of a voice whose present value may be the given one, such as "Dr. Weber" for "Weber".

        A value matches if its words contain all given words, or the given words contain all of its words. At most 256
        attributes that share a word are compared. Empty without words.

        Args:
            voice: (user, speaker in lower case).
            words: the words of the value, in its compared form.
        """
        sharing = chain.from_iterable(self._keys.get((*voice, word), ()) for word in sorted(words))
        keys = dict.fromkeys(islice(sharing, _MOST_COMPARED))
        return [key for key in keys if words <= self._words[key] or self._words[key] <= words]


def _verb_key(key: FactKey) -> FactKey:
    return key[0], key[1], key[2].partition(" ")[0]


def standings(facts: Sequence[Fact]) -> dict[tuple[str, int], Standing]:
    """Return whether each fact of one key holds, is superseded or contradicted, by (segment id, index).

    Values are ordered by when they were said, within a document also by place. If the last values were said at the same
    time in different documents, they contradict each other. A deed and "never" contradict each other, whenever they
    were said. Every other value before the last one is superseded by it. A fact names at most eight rivals.
    """
    ordered = sorted(facts, key=lambda fact: fact.order)
    clashing = _find_clashing(ordered)
    clashing_places = {(fact.segment_id, fact.index) for fact in clashing}
    first_clashing = _take_first(clashing)
    runs = [list(run) for _, run in groupby(ordered, key=lambda fact: fact.form)]
    former = [run[-1] for run in reversed(runs[-1 - _MOST_RIVALS : -1])]
    standing_by_fact: dict[tuple[str, int], Standing] = {}
    for place, run in enumerate(runs):
        is_last = place == len(runs) - 1
        following = runs[place + 1][0].said if not is_last else ""
        for fact in run:
            key = fact.segment_id, fact.index
            rivals = [other for other in first_clashing if other.form != fact.form] if key in clashing_places else []
            if rivals:
                standing_by_fact[key] = _make_standing("contradicted", fact, run, "", rivals)
            elif is_last:
                standing_by_fact[key] = _make_standing("holds", fact, run, "", former)
            else:
                standing_by_fact[key] = _make_standing("superseded", fact, run, following, [runs[-1][-1]])
    return standing_by_fact


def _take_first(facts: Sequence[Fact]) -> list[Fact]:
    """Return the first facts, at most eight of each value and sixteen in all."""
    first: list[Fact] = []
    counts: Counter[str] = Counter()
    for fact in facts:
        counts[fact.form] += 1
        if counts[fact.form] <= _MOST_RIVALS:
            first.append(fact)
        if len(first) == 2 * _MOST_RIVALS:
            break
    return first


def _find_clashing(ordered: Sequence[Fact]) -> list[Fact]:
    """Return the facts of one key that contradict each other, because no order decides which of them holds."""
    if ordered and ordered[0].kind == "event":
        return list(ordered) if len({fact.form for fact in ordered}) > 1 else []
    last = [fact for fact in ordered if fact.at == ordered[-1].at]
    newest = {document_id: list(of)[-1] for document_id, of in groupby(last, key=lambda fact: fact.document_id)}
    return list(newest.values()) if len({fact.form for fact in newest.values()}) > 1 else []


def _make_standing(state: str, fact: Fact, run: Sequence[Fact], until: str, rivals: Sequence[Fact]) -> Standing:
    """Return a fact's standing; ``run`` are the consecutive facts with its value."""
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
