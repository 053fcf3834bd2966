"""Memories for the tests of adapters: one file, no language model, names by rules; the packaged embedder on demand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

os.environ |= {
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "LANGSMITH_TRACING": "false",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
}

import pytest

from memgraph_rag import Memory
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """For what does not depend on how near two texts are."""
    with Memory(
        tmp_path / "notes.lbug",
        model=FakeLanguageModel(),
        embedder=FakeEmbedder(8, name="fake"),
        recognizer=FakeRecognizer(),
    ) as memory:
        yield memory


@pytest.fixture(scope="module")
def minilm_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """With the packaged embedder; shared by the tests of a module."""
    folder = tmp_path_factory.mktemp("minilm")
    with Memory(folder / "notes.lbug", model=FakeLanguageModel(), recognizer="rules") as memory:
        yield memory
