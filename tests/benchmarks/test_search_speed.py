"""The copies that the speed benchmark makes: whole documents with names of their own, which a store takes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import search_speed

from memgraph_rag import Document, Memory
from memgraph_rag.stores import open_store
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel
from memgraph_rag.types import DocumentGraph

TEXT = "We met Ann Lee in Paris. It rained all day, and Ann Lee’s fox slept. Then Tom Ray left for Oak Hill. " * 3


def options() -> dict:
    models = {"model": FakeLanguageModel(), "embedder": FakeEmbedder()}
    return {**models, "recognizer": "rules", "layers": ("entities",), "segment_tokens": 20}


@pytest.fixture
def original() -> DocumentGraph:
    recorder = search_speed.Recorder(open_store(":memory:", namespace="originals"))
    memory = Memory(recorder, **options())  # type: ignore[arg-type]
    memory.add(Document(TEXT, key="walk", title="Ann Lee (walk)"))
    recorder.close()
    return recorder.graphs[0]


def test_a_copy_is_a_whole_document_with_names_of_its_own(original: DocumentGraph):
    copy = search_speed.copied(original, 7, "test", np.random.default_rng(0))
    text = "".join(segment.text for segment in copy.segments)
    assert text.startswith("We met Ann Lee7 in Paris7. It rained all day, and Ann Lee")
    assert copy.document.title == "Ann Lee (walk)7"
    assert [text[segment.start : segment.end] for segment in copy.segments] == [
        segment.text for segment in copy.segments
    ]
    assert [text[mention.start : mention.end] for mention in copy.mentions] == [
        mention.surface for mention in copy.mentions
    ]
    assert len(copy.mentions) == len(original.mentions)
    names = [{mention.normal for mention in (*graph.mentions, *graph.titles)} for graph in (original, copy)]
    assert not names[0] & names[1]
    cosines = (original.segment_embeddings * copy.segment_embeddings).sum(axis=1)
    assert ((cosines > 0.9) & (cosines < 1)).all()


def test_copy_0_is_the_document_itself_in_the_other_namespace(original: DocumentGraph):
    copy = search_speed.copied(original, 0, "test", np.random.default_rng(0))
    assert [segment.text for segment in copy.segments] == [segment.text for segment in original.segments]
    assert [mention.normal for mention in copy.mentions] == [mention.normal for mention in original.mentions]
    assert (copy.segment_embeddings == original.segment_embeddings).all()
    assert copy.document.id != original.document.id


def test_example_fills_a_store_and_searches_it_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    docs = [{"doc_id": f"d{number}", "title": f"Tom Ray {number}", "text": TEXT} for number in range(3)]
    questions = [{"question": "Where did Ann Lee sleep?", "doc_ids": [], "evidence_doc_ids": ["d0"]}]
    for name, rows in (("docs", docs), ("questions", questions)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    arguments = [str(tmp_path), "--segments", "10", "40", "--questions", "5", "--store", str(tmp_path / "kept.lbug")]
    for _ in range(2):
        assert search_speed.main(arguments, **options()) == 0
        *_, small, large = capsys.readouterr().out.splitlines()
        sizes = [int(line.split(" | ")[0].removeprefix("| ")) for line in (small, large)]
        assert 10 <= sizes[0] < 40 <= sizes[1]
