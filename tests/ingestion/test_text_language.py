"""One line in the log if documents are in languages that the embedder does not know."""

from __future__ import annotations

import logging

import pytest
from memories import options

from memgraph_rag import Memory
from memgraph_rag.ingestion import graph_building
from memgraph_rag.models.files.catalogue import MINILM
from memgraph_rag.testing import FakeEmbedder


@pytest.mark.parametrize(("embedder", "lines"), [(MINILM, 1), ("another", 0)])
def test_other_language_is_logged_once(embedder: str, lines: int, caplog: pytest.LogCaptureFixture) -> None:
    graph_building._warn_of_unknown_language.cache_clear()
    with Memory(":memory:", **options(embedder=FakeEmbedder(8, name=embedder), layers=())) as memory:
        memory.add("The fox built a box.", key="english")
        assert not caplog.records
        with caplog.at_level(logging.WARNING, "memgraph_rag"):
            memory.add("Die Füchse bauten im Wald eine Kiste.", key="german")
            memory.add("狐狸在森林里造了一个箱子。", key="chinese")
    told = [record.message for record in caplog.records if "not in English" in record.message]
    assert len(told) == lines
    assert all("reembed --embedder multilingual-e5-small-q4" in line for line in told)
