"""Test the library over a hand-made graph with given vectors: its shape, its texts, and the cost of a change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memories import WithoutLanguage
from tables import table

from memgraph_rag.contracts import MemoryGraph
from memgraph_rag.layers.balanced_groups import make_balanced_groups
from memgraph_rag.layers.extracts import first_sentence
from memgraph_rag.layers.library.library import LibraryLayer
from memgraph_rag.layers.library.tree import Bounds
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.types import (
    DocumentRecord,
    IndexedSegment,
    InformationPoint,
    Matrix,
    Node,
    Overview,
    OverviewRows,
    Segment,
    Summarizes,
    Vector,
    make_id,
)

BOUNDS = Bounds(least=2, filled=4, most=6)
DIMENSION = 8


def segment(name: str, record: DocumentRecord, place: int, is_echo: bool) -> Segment:
    text = f"{record.sha256} And more, part {place}."
    return Segment(name, record.id, place, text, 0, len(text), 9, echo=is_echo)


class Shelves:
    """The part of a memory that the layer reads. A document is a text or a list of texts; its key is its title."""

    def __init__(self, vectors: Matrix, *, namespace: str = "tests", segments: int = 1) -> None:
        self.namespace = namespace
        self.vectors = dict[str, Matrix]()
        self.contents = dict[str, str]()
        self.echoes = set[str]()
        self.points = dict[str, InformationPoint]()
        self.library = dict[str, tuple[Overview, list[Summarizes]]]()
        self.scans = 0
        for number, vector in enumerate(vectors):
            self.put(f"document {number:04}", np.tile(vector, (segments, 1)))

    def put(self, key: str, vectors: Matrix, content: str = "") -> None:
        """Add or replace a document, and drop the overviews that rest on it."""
        document_id = make_id(self.namespace, "document", key)
        self.vectors[key], self.contents[key] = vectors.astype(np.float32), content or f"This is what {key} says."
        self.library = {name: kept for name, kept in self.library.items() if document_id not in kept[0].documents}

    def forget(self, key: str) -> None:
        self.put(key, self.vectors[key])
        del self.vectors[key], self.contents[key]

    def documents(self) -> list[DocumentRecord]:
        return [
            DocumentRecord(make_id(self.namespace, "document", key), key, key, "", content, "", 0, 1, (), "", {})
            for key, content in sorted(self.contents.items())
        ]

    def document_ids(self) -> list[str]:
        return sorted(record.id for record in self.documents())

    def segments(self) -> list[tuple[Segment, Vector]]:
        return [
            (segment(make_id(record.id, "segment", place), record, place, record.key in self.echoes), vector)
            for record in self.documents()
            for place, vector in enumerate(self.vectors[record.key])
        ]

    def list_indexed_segments(self, *, since: int) -> list[IndexedSegment]:
        assert since == -1
        self.scans += 1
        return [
            IndexedSegment(own.id, own.document_id, own.index, "", own.text, "", "", vector, (), (), own.echo)
            for own, vector in sorted(self.segments(), key=lambda pair: pair[0].document_id)
        ]

    def top_nodes(self, document_ids: Sequence[str]) -> list[Node]:
        wanted = set(document_ids)
        evidence = [own for own, _ in self.segments() if own.document_id in wanted and not own.echo]
        return list(dict.fromkeys(self.points.get(own.document_id, own) for own in evidence))

    def overviews(self, layer: str) -> list[Overview]:
        assert layer == "library"
        kept = [overview for overview, _ in self.library.values()]
        return sorted(kept, key=lambda overview: (-overview.level, overview.key))

    def store(self, rows: OverviewRows) -> None:
        for name in rows.removed:
            del self.library[name]
        for overview in rows.overviews:
            assert overview.id not in self.library
            self.library[overview.id] = overview, [edge for edge in rows.summarizes if edge.source_id == overview.id]


def deepen(
    shelves: Shelves,
    layer: LibraryLayer | None = None,
    *,
    most: int | None = None,
) -> int:
    """Store the layer's rows, at most ``most`` transactions, and return how many overviews were written."""
    models = WithoutLanguage(FakeEmbedder(DIMENSION))
    written = 0
    for rows in islice((layer or LibraryLayer(bounds=BOUNDS)).build(cast("MemoryGraph", shelves), models=models), most):
        shelves.store(rows)
        written += len(rows.overviews)
    return written


def random_vectors(count: int, *, topics: int = 5, seed: int = 0) -> Matrix:
    """Return rows of length 1 around some topics."""
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(topics, DIMENSION))
    rows = centres[generator.integers(topics, size=count)] + 0.5 * generator.normal(size=(count, DIMENSION))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def check_shape(shelves: Shelves, bounds: Bounds = BOUNDS) -> None:
    """Check the invariants of every library of two documents or more."""
    by_level: dict[int, list[Overview]] = {}
    for overview in shelves.overviews("library"):
        by_level.setdefault(overview.level, []).append(overview)
    readable = sorted(record.id for record in shelves.documents() if record.key not in shelves.echoes)
    assert sorted(by_level) == list(range(1, len(by_level) + 1))
    for overviews in by_level.values():
        assert sorted(name for overview in overviews for name in overview.documents) == readable, "each under one"
    sizes = [len(readable), *(len(by_level[level]) for level in sorted(by_level))]
    assert sizes[-1] == 1
    assert all(higher <= lower / 2 for lower, higher in pairwise(sizes))
    for overview, edges in shelves.library.values():
        assert sum(edge.weight for edge in edges) == pytest.approx(1)
        assert overview.text
        assert overview.tokens == sum(FakeEmbedder(DIMENSION).count_tokens([overview.text]))
        if overview.level > 1:
            below = [shelves.library[edge.target_id][0] for edge in edges]
            assert {lower.level for lower in below} == {overview.level - 1}
            assert sorted(name for lower in below for name in lower.documents) == list(overview.documents)
        members = len(overview.documents) if overview.level == 1 else len(edges)
        assert 2 <= members <= bounds.most


# ── the shape ────────────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=25)
@given(count=st.integers(2, 70), topics=st.integers(1, 9), seed=st.integers(0, 99), segments=st.integers(1, 3))
def test_library_has_one_root(count: int, topics: int, seed: int, segments: int) -> None:
    shelves = Shelves(random_vectors(count, topics=topics, seed=seed), segments=segments)

    assert deepen(shelves) == len(shelves.library)
    check_shape(shelves)
    assert deepen(shelves) == 0, "nothing lacks"


@settings(max_examples=15)
@given(
    count=st.integers(2, 40),
    seed=st.integers(0, 99),
    steps=st.lists(st.tuples(st.sampled_from(["add", "change", "forget", "kill"]), st.integers(0, 999)), max_size=8),
)
def test_library_holds_after_any_changes(count: int, seed: int, steps: list[tuple[str, int]]) -> None:
    shelves = Shelves(random_vectors(count, seed=seed))
    vectors = random_vectors(1000, seed=seed + 1)
    deepen(shelves, most=1)
    for step, number in steps:
        key = sorted(shelves.vectors)[number % len(shelves.vectors)]
        if step == "add":
            shelves.put(f"new {number}", vectors[[number]])
        elif step == "change":
            shelves.put(key, vectors[[number]], f"Now it says {number}.")
        elif step == "forget" and len(shelves.vectors) > 2:
            shelves.forget(key)
        deepen(shelves, most=1 if step == "kill" else None)
    deepen(shelves)

    check_shape(shelves)
    assert deepen(shelves) == 0


def test_library_needs_two_documents() -> None:
    for count in (0, 1):
        shelves = Shelves(random_vectors(count))
        assert deepen(shelves) == 0
        assert not shelves.scans


def test_overview_covers_two_documents() -> None:
    shelves = Shelves(random_vectors(2))

    assert deepen(shelves) == 1
    check_shape(shelves)
    (root,) = shelves.overviews("library")
    assert root.level == 1
    assert root.title == "document 0000; document 0001"
    assert sorted(root.text.splitlines()) == [
        "document 0000: This is what document 0000 says.",
        "document 0001: This is what document 0001 says.",
    ]


def test_many_equal_documents_are_divided() -> None:
    shelves = Shelves(np.tile(random_vectors(1), (3000, 1)))

    assert deepen(shelves, LibraryLayer()) == len(shelves.library)
    check_shape(shelves, Bounds())
    assert Counter(overview.level for overview in shelves.overviews("library")) == {1: 250, 2: 21, 3: 2, 4: 1}


def test_overview_groups_documents_of_a_topic() -> None:
    topics = np.repeat(np.eye(4, DIMENSION, dtype=np.float32), 4, axis=0)
    shelves = Shelves(topics[np.random.default_rng(1).permutation(16)])
    topic_of = {record.id: int(shelves.vectors[record.key][0].argmax()) for record in shelves.documents()}

    deepen(shelves)

    low = [overview for overview in shelves.overviews("library") if overview.level == 1]
    assert [len({topic_of[name] for name in overview.documents}) for overview in low] == [1] * 4


def test_a_long_document_is_tied_by_its_most_central_nodes() -> None:
    shelves = Shelves(random_vectors(2))
    shelves.put("long", random_vectors(300, seed=3))

    deepen(shelves)

    ((overview, edges),) = shelves.library.values()
    assert len(overview.documents) == 3
    assert len(edges) == 2 + 8
    assert sum(edge.weight for edge in edges) == pytest.approx(1)


def test_tops_of_documents_are_summarized_where_they_have_points() -> None:
    shelves = Shelves(random_vectors(2))
    first, second = shelves.documents()
    shelves.points[first.id] = InformationPoint("p", first.id, 1, 0, "Ann found a fox in the barn.", 8)

    deepen(shelves)

    ((overview, edges),) = shelves.library.values()
    assert {edge.target_id for edge in edges} == {"p", make_id(second.id, "segment", 0)}
    assert f"{first.title}: Ann found a fox in the barn." in overview.text


def test_echoes_are_left_out() -> None:
    shelves = Shelves(random_vectors(5))
    shelves.echoes = {"document 0003"}

    deepen(shelves)

    check_shape(shelves)
    assert "0003" not in "".join(overview.text + overview.title for overview in shelves.overviews("library"))
    assert deepen(shelves) == 0


def test_document_without_words_is_named_by_its_key() -> None:
    shelves = Shelves(random_vectors(2))
    for key in list(shelves.vectors):
        shelves.put(key, shelves.vectors[key], "- - -")
    shelves.documents = lambda: [replace(record, title="") for record in Shelves.documents(shelves)]
    shelves.segments = lambda: [(replace(own, text=" \n"), vector) for own, vector in Shelves.segments(shelves)]

    deepen(shelves)

    check_shape(shelves)
    assert [overview.text for overview in shelves.overviews("library")] == ["document 0000"]


# ── the same everywhere, and as little as is needed ──────────────────────────────────────────────────────────


def test_same_documents_give_the_same_library_in_each_namespace() -> None:
    libraries = []
    for namespace in ("one", "another"):
        shelves = Shelves(random_vectors(60), namespace=namespace)
        deepen(shelves)
        libraries.append([(o.key, o.level, o.title, o.text, o.tokens) for o in shelves.overviews("library")])
    assert libraries[0] == libraries[1]


@table("change", ["replaced", "forgotten", "added"])
def test_one_changed_document_rebuilds_few_overviews(change: str) -> None:
    bounds = Bounds()
    written = []
    shelves = Shelves(random_vectors(1000, topics=30))
    total = deepen(shelves, LibraryLayer())
    for number in range(0, 1000, 200):
        key = f"document {number:04}"
        if change == "forgotten":
            shelves.forget(key)
        else:
            shelves.put(key if change == "replaced" else f"new {number}", random_vectors(1, seed=number), "New.")
        written.append(deepen(shelves, LibraryLayer()))
    check_shape(shelves, bounds)
    assert total > 85
    assert max(written) <= 20, "two ways up to the root, and what some neighbours join"


def test_interrupted_build_continues() -> None:
    whole, killed = Shelves(random_vectors(600)), Shelves(random_vectors(600))
    total = deepen(whole, LibraryLayer(bounds=Bounds(2, 4, 6)))
    before = deepen(killed, most=2)
    kept = set(killed.library)

    after = deepen(killed)

    assert before == len(kept) == 64
    assert len(kept & killed.library.keys()) >= 56, "a few are built anew, which what lacked is nearest to"
    assert after <= total - before + 8
    check_shape(killed)


def test_library_of_two_concurrent_builds_is_repaired() -> None:
    shelves, other = Shelves(random_vectors(40)), Shelves(random_vectors(41))
    deepen(shelves)
    deepen(other)
    shelves.library |= other.library  # some rest on one document more
    shelves.put("document 0040", other.vectors["document 0040"])
    assert len([overview for overview in shelves.overviews("library") if overview.level == 1]) > 10

    assert deepen(shelves) > 0

    check_shape(shelves)
    assert deepen(shelves) == 0


def test_new_documents_join_near_groups() -> None:
    topics = np.repeat(np.eye(3, DIMENSION, dtype=np.float32), 4, axis=0)
    shelves = Shelves(topics)
    deepen(shelves)
    low = {overview.id for overview in shelves.overviews("library") if overview.level == 1}

    shelves.put("new", topics[[0]])
    written = deepen(shelves)

    new = next(overview for overview in shelves.overviews("library") if overview.level == 1 and overview.id not in low)
    assert len(new.documents) == 5
    assert written == 2, "its group and the root"
    assert len(low & shelves.library.keys()) == 2


# ── groups and sentences ─────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=40)
@given(count=st.integers(0, 60), most=st.integers(1, 12), topics=st.integers(1, 5), seed=st.integers(0, 50))
def test_groups_are_of_nearly_equal_sizes(count: int, most: int, topics: int, seed: int) -> None:
    groups = make_balanced_groups(random_vectors(count, topics=topics, seed=seed), most=most)

    assert sorted(place for group in groups for place in group) == list(range(count))
    assert len(groups) == -(-count // most)
    sizes = [len(group) for group in groups]
    assert not sizes or (max(sizes) <= most and max(sizes) - min(sizes) <= 2)


@table(
    ("text", "expected"),
    [
        ("Tom ran home through the snow. It rained.", "Tom ran home through the snow."),
        ("She plays for D.C. United of the league. It rained.", "She plays for D.C. United of the league."),
        ("Hm. Well. I baked bread in the old kitchen. Good.", "Hm. Well. I baked bread in the old kitchen."),
        ("The old scarecrow belongs to Mr. McGregor. It rained.", "The old scarecrow belongs to Mr. McGregor."),
        ("A HEADING IN CAPITALS\n\nTom ran home. It rained.", "A HEADING IN CAPITALS Tom ran home."),
        ("\n\n", ""),
        ("word " * 80, ("word " * 31).strip() + "…"),
        ("x" * 300, "x" * 159 + "…"),
    ],
)  # fmt: skip
def test_first_sentence_of_a_text(text: str, expected: str) -> None:
    assert first_sentence(text) == expected
