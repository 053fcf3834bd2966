"""Each default of ``BaseStore`` gives what the statements of an engine give, of rows of every kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from minimal_store import REQUIRED, minimal_store

from memgraph_rag.contracts import GraphStore
from memgraph_rag.stores import BaseStore, open_store
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, make_question, unit
from memgraph_rag.testing.store_suite.groups import make_all_kinds
from memgraph_rag.testing.store_suite.overviews import edges, overview
from memgraph_rag.testing.store_suite.pools import note
from memgraph_rag.types import OverviewRows, text_hash

FURTHER = {"write", "extend", "mend", "find_kept_index", "keep_index", "namespaces", "bind_namespace", "reembed",
           "purge", "empty_database", "name_scale"}  # fmt: skip
"""Members with a default that reads nothing: the published suite and ``tests/test_minimal_store.py`` look at these."""

ANNOTATED = text_hash("Bob met Carol.Carol saw Eve.")


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[GraphStore]:
    """A Ladybug store with rows of every kind, an overview and a kept question."""
    with closing(open_store(tmp_path / "notes.lbug", namespace="filled")) as store:
        store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
        graphs = make_all_kinds(store)
        graphs += [
            note(store, "titled", "Alice met Bob.", titles=("Alice",)),
            note(store, "untitled", "Bob.", "Alice."),
        ]
        store.write_many(graphs)
        low = overview(store.namespace, "low", graphs[:2])
        store.write_overviews(OverviewRows((low,), edges(low, *graphs[0].segments)), as_of=store.version())
        store.keep(make_question(store.namespace, [*graphs[0].segments, low]))
        yield store


def reads(store: GraphStore) -> dict[str, list[Any]]:
    """What each member with a default gives, of everything that is stored."""
    ids, indexed = [*store.document_ids(), "nobody"], store.list_indexed_segments(since=-1)
    segments = [segment.id for segment in indexed]
    entity_ids = sorted({name for segment in indexed for name in (*segment.entities, *segment.titles)})
    masses, vector = dict.fromkeys(segments[::2], 0.25), unit(1)
    within, named = ids[1:4], {"entity_ids": entity_ids[:2], "title_ids": entity_ids}
    return {
        "document": [store.document(name) for name in (*ids, "related", "empty")],
        "find_documents": [store.find_documents(["related", ids[0], "nobody", "related"])],
        "list_documents_after": [store.list_documents_after("b", k=k) for k in (0, 2, 99)],
        "document_ids": [ids],
        "count_documents": [store.count_documents()],
        "recognizer": [store.recognizer()],
        "find_fingerprints": [
            store.find_fingerprints(sources=["/books/bare", ""]),
            store.find_fingerprints(sources=["/books/bare"], text_hashes=[ANNOTATED], document_ids=ids[:2]),
        ],
        "list_segments_by_document": [store.list_segments_by_document(ids)],
        "list_sections_by_document": [store.list_sections_by_document(ids)],
        "list_mentions_by_document": [store.list_mentions_by_document(ids)],
        "sections": [store.sections(name) for name in ids],
        "mentions": [store.mentions(name) for name in ids],
        "titles": [store.titles(name) for name in ids],
        "list_relations": [store.list_relations(name) for name in ids],
        "annotations": [store.annotations(name) for name in ids],
        "layer_annotations": [store.layer_annotations("own", since=since) for since in (-1, 0, 1)],
        "overviews": [
            *(store.overviews("library", documents=documents) for documents in (None, ids, within)),
            store.overviews("none"),
        ],
        "segments_naming": [
            store.segments_naming(entity_ids[:3], vector=vector, k=k, documents=documents)
            for k in (0, 2, 99)
            for documents in (None, within, [])
        ],
        "find_names": [store.find_names(part, k=k) for part in ("a", "al", "zz") for k in (1, 99)],
        "list_entity_mentions": [store.list_entity_mentions(name, k=k) for name in entity_ids for k in (1, 99)],
        "list_titled_documents": [store.list_titled_documents(name, k=9) for name in entity_ids],
        "list_entity_relations": [store.list_entity_relations(name, k=k) for name in entity_ids for k in (1, 99)],
        "entity_counts": [store.entity_counts(name) for name in (*entity_ids, "nobody")],
        "document_keys": [store.document_keys(head) for head in ("", "a", "nobody")],
        "namings": [sorted(store.namings())],
        "list_indexed_segments": [replace(item, embedding=None) for item in indexed],
        "segments_around": [replace(item, embedding=None) for item in store.segments_around(segments[1::4])],
        "find_linked_segments": [
            store.find_linked_segments(masses, **named, entity_mass=mass, k=9, documents=documents)
            for mass in (0.0, 0.5)
            for documents in (None, within)
        ],
        "count_naming_segments": [store.count_naming_segments([*entity_ids, "nobody"])],
        "list_segment_times": [store.list_segment_times([*segments, "nobody"])],
        "first_segment_ids": [store.first_segment_ids(k=3)],
        "count_by_document": [store.count_by_document(ids)],
        "statistics": [store.statistics()],
        "question_times": [store.question_times()],
        "flaws": [store.flaws()],
    }  # fmt: skip


def test_each_default_gives_what_the_engine_gives(filled: GraphStore) -> None:
    expected = reads(filled)

    given = reads(minimal_store(filled))

    members = {name for name in dir(BaseStore) if not name.startswith("_")}
    assert {*expected} == members - {*REQUIRED} - FURTHER
    for name, values in expected.items():
        assert given[name] == values, name
        assert any(values) or name == "flaws", f"nothing to compare of {name}"


def test_documentation_lists_required_members() -> None:
    page = (Path(__file__).parents[2] / "docs" / "extending.md").read_text("utf-8")
    table = page.partition("| required | what |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == REQUIRED
