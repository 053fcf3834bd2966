"""Tests of outlines: stored, replaced, read back, refused, deleted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import DocumentError, StoreError
from memgraph_rag.testing.sample_graphs import make_graph
from memgraph_rag.types import DocumentGraph, Heading, make_sections

TITLE = 'A "title" -- {curly} $dollar `tick` \\back // شكرا'


def make_outlined(namespace: str, *titles: str, key: str = "alice.txt") -> DocumentGraph:
    """Return a document with an abstract of two characters and a section for each title, inside the section before."""
    graph = make_graph(namespace, key)
    document = replace(graph.document, layers=tuple(sorted({*graph.document.layers, "outline"})))
    headings = [Heading(0, 1, "", is_abstract=True)]
    headings += [Heading(2 + 20 * place, place + 1, title) for place, title in enumerate(titles)]
    sections = make_sections(namespace, document.id, headings, length=graph.segments[-1].end)
    return replace(graph, document=document, sections=sections)


def test_outlines_are_read_unchanged(store: GraphStore) -> None:
    graph = make_outlined(store.namespace, TITLE, "Below")

    receipt = store.write(graph)

    assert (receipt.counts["Section"], receipt.counts["CONTAINS"]) == (3, 1 + 5), "one section, five leaves"
    assert store.sections(graph.document.id) == list(graph.sections)
    (read,) = store.read_graphs([graph.document.id])
    assert read.sections == graph.sections
    assert store.sections("0" * 32) == []


def test_outline_replaces_earlier_outline(store: GraphStore) -> None:
    first, second = make_outlined(store.namespace, "A", "B"), make_outlined(store.namespace, "C")
    store.write(first)
    bare = replace(second, mentions=(), titles=())

    counts = store.extend(bare, layers=["outline"]).counts

    assert store.sections(first.document.id) == list(second.sections)
    assert (counts["Section"], counts["Segment"]) == (2, 3)
    assert "Section" not in store.extend(replace(bare, sections=()), layers=["outline"]).counts


def test_deleting_document_deletes_outline(store: GraphStore) -> None:
    kept, gone = make_outlined(store.namespace, "A"), make_outlined(store.namespace, "A", key="gone")
    store.write_many([kept, gone])

    assert store.forget(gone.document.id).counts["Section"] == 2
    assert store.statistics()["Section"] == 2
    store.forget(kept.document.id)
    assert not any(store.statistics().values())


REFUSED: dict[str, dict[str, Any]] = {
    "another id": {"id": "0" * 32},
    "another document": {"document_id": "0" * 32},
    "another place": {"index": 7},
    "another end": {"end": 3},
    "another level": {"level": 3},
    "a parent that is not there": {"parent_id": "0" * 32},
    "a beginning behind the end": {"start": 10_000},
    "a title with half a surrogate pair": {"title": "\ud800"},
}


def test_a_broken_outline_is_refused(store: GraphStore) -> None:
    graph = make_outlined(store.namespace, "A")
    *others, last = graph.sections
    for case, change in REFUSED.items():
        with pytest.raises((StoreError, DocumentError), match=r"[Ee]xpected"):
            store.write(replace(graph, sections=(*others, replace(last, **change))))
        assert not any(store.statistics().values()), case


def test_outline_leaves_hold_no_echoes(store: GraphStore) -> None:
    graph = replace(make_outlined(store.namespace, "A"), mentions=(), titles=())
    first, *others = graph.segments
    echoed = replace(graph, document=replace(graph.document, echoes=1), segments=(replace(first, echo=True), *others))

    assert store.write(echoed).counts["CONTAINS"] == 2, "one for each segment that is evidence"
