"""A store with the required members alone passes the published suite, and a memory answers the same with it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from memories import FOX, QUESTION, RIVER, options
from minimal_store import minimal_store

from memgraph_rag import Memory
from memgraph_rag.contracts import MODES, GraphStore
from memgraph_rag.errors import StoreError
from memgraph_rag.stores import BaseStore, open_store
from memgraph_rag.testing import FakeEmbedder
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, MakeStore
from memgraph_rag.testing.store_suite import *  # noqa: F403


@pytest.fixture
def make_store(tmp_path: Path) -> Iterator[MakeStore]:
    """Opens stores on one file, each with a fresh namespace unless one is named."""
    with ExitStack() as opened:

        def make(namespace: str | None = None) -> BaseStore:
            file = open_store(tmp_path / "notes.lbug", namespace=namespace or uuid.uuid4().hex)
            store = minimal_store(opened.enter_context(closing(file)))
            store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
            return store

        yield make


@pytest.mark.parametrize("search", ["memory", "database"])
def test_memory_answers_the_same_without_capabilities(tmp_path: Path, search: str) -> None:
    whole = observe(tmp_path / "whole.lbug", lambda store: store, search)
    minimal = observe(tmp_path / "minimal.lbug", minimal_store, search)

    assert minimal == whole


def observe(path: Path, wrap: Callable[[GraphStore], GraphStore], search: str) -> dict[str, Any]:
    """What a memory tells of two documents, without the moments at which they were added."""
    layers = ["entities", "points", "relations", "outline"]
    with (
        closing(open_store(path, namespace="default")) as store,
        Memory(wrap(store), search=search, **options(layers=layers)) as memory,
    ):
        receipts = [memory.add(text, key=key, title=key) for key, text in (("fox", FOX), ("river", RIVER))]
        answer = memory.ask(QUESTION, keep_trace=True)
        assert answer.citations
        seen = {name: memory.around(name) for name in ("fox", "Tom", QUESTION)}
        return {
            "counts": [receipt.counts for receipt in receipts],
            "statistics": store.statistics(),
            "searches": {
                mode: [(hit.segment, round(hit.score, 6)) for hit in memory.search(QUESTION, k=5, mode=mode)]
                for mode in MODES
            },
            "answer": (answer.text, answer.citations, [(step.node, round(step.score, 6)) for step in answer.trace]),
            "seen": {name: (sorted(around.things), around.ties) for name, around in seen.items()},
            "kept": [question.text for question in memory.questions()],
            "damage": memory.examine(),
            "exported": memory.export_to(path.with_suffix(".jsonl")),
            "forgotten": memory.forget("river").counts,
            "left": store.statistics(),
        }


def test_error_names_missing_capability(tmp_path: Path) -> None:
    with closing(open_store(tmp_path / "notes.lbug", namespace="default")) as store:
        minimal = minimal_store(store)
        with Memory(minimal, **options()) as memory:
            memory.add(FOX, key="fox")
            for call, capability in (
                (memory.purge, "purge"),
                (lambda: memory.reembed(FakeEmbedder(9)), "embeddings"),
                (minimal.empty_database, "in bulk"),
            ):
                with pytest.raises(StoreError, match=rf"^Expected a store that can .*{capability}.*, got .*\. .*\.$"):
                    call()
            assert memory.search(QUESTION, k=1)[0].document_key == "fox"


def test_store_without_required_member_is_not_made() -> None:
    class Unfinished(BaseStore):
        """A store that its author has just begun."""

    with pytest.raises(TypeError, match="abstract methods"):
        Unfinished()  # pyright: ignore[reportAbstractUsage]
