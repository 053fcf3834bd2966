"""Prompts of embedding models: from their own files, or by name; and stores whose vectors were written without."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest
from memories import FOX, options
from tables import table

from memgraph_rag import Memory
from memgraph_rag.models.embedders.embedder import SentenceEmbedder
from memgraph_rag.models.embedders.endpoint_embedder import EndpointEmbedder
from memgraph_rag.models.embedders.prompts import NO_PROMPTS, Prompts, find_prompts
from memgraph_rag.models.endpoints.address import parse_address
from memgraph_rag.models.files.catalogue import MINILM, find_embedder
from memgraph_rag.models.model_loader import open_embedder
from memgraph_rag.settings import Settings


@table(
    ("name", "question", "passage"),
    [
        ("multilingual-e5-small", "query: ", "passage: "),
        ("intfloat/e5-base-v2", "query: ", "passage: "),
        ("multilingual-e5-large-instruct", "Instruct: ", ""),
        ("BAAI/bge-small-en-v1.5", "Represent this sentence", ""),
        ("bge-base-zh-v1.5", "为这个句子", ""),
        ("BAAI/bge-m3", "", ""),
        ("thenlper/gte-small", "", ""),
        ("gte-Qwen2-1.5B-instruct", "Instruct: ", ""),
        ("nomic-embed-text", "search_query: ", "search_document: "),
        ("Qwen3-Embedding-0.6B", "Instruct: ", ""),
        ("sentence-transformers/all-MiniLM-L6-v2", "", ""),
        ("some5model", "", ""),
    ],
)
def test_name_gives_prompts(name: str, question: str, passage: str) -> None:
    prompts = find_prompts(name)
    assert prompts.question.startswith(question)
    assert (bool(prompts.question), prompts.passage) == (bool(question), passage)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"prompts": {"query": "q: ", "passage": "p: "}}, Prompts("q: ", "p: ")),
        ({"prompts": {"usual": "u: "}, "default_prompt_name": "usual"}, Prompts("u: ", "u: ")),
        ({"prompts": {"query": "", "document": ""}}, NO_PROMPTS),
        ({"prompts": None}, NO_PROMPTS),
        ([], NO_PROMPTS),
    ],
)
def test_own_files_give_prompts(tmp_path: Path, config: object, expected: Prompts) -> None:
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(config))
    assert find_prompts("model", str(tmp_path)) == expected
    assert find_prompts("e5-model", str(tmp_path)) == (expected or Prompts("query: ", "passage: "))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """MiniLM under the name of an e5."""
    folder = tmp_path / "tiny-e5"
    folder.symlink_to(find_embedder(MINILM, cache_dir=tmp_path)[1])
    return folder


def test_texts_are_embedded_with_their_prompts(folder: Path) -> None:
    embedder = open_embedder(str(folder), Settings.model_validate({}))
    plain = SentenceEmbedder(folder)
    assert isinstance(embedder, SentenceEmbedder)
    np.testing.assert_array_equal(embedder.embed(["a fox"]), plain.embed(["passage: a fox"]))
    np.testing.assert_array_equal(embedder.embed_queries(["a fox"]), plain.embed(["query: a fox"]))
    assert embedder.name == "tiny-e5+prompts"


def test_old_store_is_opened_without_prompts_until_reembed(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = options(embedder=str(folder), layers=())
    with Memory(tmp_path / "a.lbug", **(settings | {"embedder": SentenceEmbedder(folder)})) as memory:
        memory.add(FOX, key="fox")
    with caplog.at_level(logging.WARNING, "memgraph_rag"), Memory(tmp_path / "a.lbug", **settings) as memory:
        assert memory.embedder.name == "tiny-e5"
        assert "memgraph-rag reembed" in caplog.text
        memory.maintenance.reembed(folder)
        assert memory.embedder.name == "tiny-e5+prompts"
    with Memory(tmp_path / "a.lbug", **settings) as memory:
        assert memory.embedder.name == "tiny-e5+prompts"
        assert memory.search("Who built a box?", mode="vector")


class Recorded:
    """A server that keeps the texts it gets."""

    def __init__(self) -> None:
        self.address = parse_address("http://localhost:9/v1#nomic-embed-text")
        self.texts: list[str] = []

    def embed(self, texts: list[str]) -> np.ndarray:
        self.texts += texts
        return np.ones((len(texts), 2), np.float32) / np.sqrt(2)


def test_server_gets_texts_with_their_prompts() -> None:
    server = Recorded()
    prompts = find_prompts(server.address.model)
    embedder = EndpointEmbedder(server, prompts=prompts)  # pyright: ignore[reportArgumentType] - as much as is used
    embedder.embed(["a fox"])
    embedder.embed_queries(["a fox"])
    assert server.texts == ["search_document: a fox", "search_query: a fox"]
    assert (
        open_embedder("http://localhost:9/v1#nomic-embed-text", Settings.model_validate({})).name
        == "nomic-embed-text+prompts"
    )
