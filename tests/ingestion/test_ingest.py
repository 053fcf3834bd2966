"""The messages of a conversation become its segments; other documents are cut as before."""

from __future__ import annotations

import json
from functools import partial
from itertools import pairwise

import numpy as np

from memgraph_rag import Memory
from memgraph_rag.ingestion.segmenting import cut_segments
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer
from memgraph_rag.text.loading import Source, load
from memgraph_rag.types import Document, DocumentGraph, Message, Receipt, Segment, Turn, entity_id


def list_segments(source: Source, *, tokens: int = 20, **arguments: object) -> tuple[Segment, ...]:
    """The segments of a source, after the promises that hold for every document."""
    document = load(source, **arguments)  # type: ignore[arg-type]
    count_tokens = FakeLanguageModel().count_tokens
    segments = cut_segments(document, "d", namespace="test", count_tokens=count_tokens, max_tokens=tokens)
    cuts = [0, *(segment.end for segment in segments)]
    assert [(segment.start, segment.end) for segment in segments] == list(pairwise(cuts))
    assert cuts[-1] == len(document.text)
    assert [segment.index for segment in segments] == list(range(len(segments)))
    assert all(segment.text == document.text[segment.start : segment.end] for segment in segments)
    assert all(segment.tokens <= tokens for segment in segments)
    return segments


def test_each_message_is_a_segment_with_its_speaker_and_time():
    segments = list_segments(
        [Message("Ann", "Rain?", "2024-05-01T10:00Z"), Message("Tom", "No."), Message("Ann", "Good.", "later")]
    )
    assert [(segment.text, segment.speaker, segment.time) for segment in segments] == [
        ("Ann (2024-05-01T10:00Z): Rain?\n\n", "Ann", "2024-05-01T10:00:00+00:00"),
        ("Tom: No.\n\n", "Tom", ""),
        ("Ann (later): Good.", "Ann", ""),
    ]


def test_a_long_message_is_several_segments_of_one_speaker():
    segments = list_segments([Message("Ann", "The fox ran home again. " * 9, "2024-05-01"), Message("Tom", "Why?")])
    assert len(segments) > 2
    assert {(segment.speaker, segment.time) for segment in segments[:-1]} == {("Ann", "2024-05-01")}
    assert all(segment.text.rstrip().endswith("again.") for segment in segments[:-1])
    assert (segments[-1].text, segments[-1].speaker) == ("Tom: Why?", "Tom")


def test_blank_and_empty_turns_do_no_harm():
    turns = (Turn(0, 0, "nobody"), Turn(0, 5, "Ann"), Turn(5, 9, "Tom"), Turn(9, 9, "nobody"), Turn(9, 12, "Ann"))
    segments = list_segments(Document("Why?\n \n\t No.", "talk", turns=turns))
    assert [(segment.text, segment.speaker) for segment in segments] == [
        ("Why?\n", "Ann"),
        (" \n\t ", "Tom"),
        ("No.", "Ann"),
    ]


def test_other_documents_have_the_time_of_their_metadata():
    segments = list_segments("The fox ran home again. " * 9, metadata={"date": "2024-05-01"})
    assert len(segments) > 1
    assert {(segment.speaker, segment.time) for segment in segments} == {("", "2024-05-01")}
    assert {segment.time for segment in list_segments("Rain.", metadata={"date": "in May"})} == {""}


def test_message_without_time_takes_time_of_conversation():
    messages = [Message("Ann", "Rain?", "2024-05-02"), Message("Tom", "No.")]
    segments = list_segments(messages, metadata={"date": "2024-05-01"})
    assert [segment.time for segment in segments] == ["2024-05-02", "2024-05-01"]


# ── relations ────────────────────────────────────────────────────────────────────────────────────────────────

TEXT = "Ann Lee married Tom Ray in the red mill. Later he sailed to Leeds."
REPLY = json.dumps({"names": [], "relations": [["Ann Lee", "red mill", "Ann Lee married in the red mill."]]})
NAMES = {"ann lee", "red mill"}


class Keeping:
    """A store that keeps the graphs that it is to write."""

    def __init__(self, store, monkeypatch) -> None:
        self.graphs: list[DocumentGraph] = []
        for name in ("write_many", "extend_many"):
            monkeypatch.setattr(store, name, partial(self._keep, getattr(store, name)))

    def _keep(self, write, graphs: list[DocumentGraph], **options) -> list[Receipt]:
        self.graphs += graphs
        return write(graphs, **options)


def assert_vectors(graph: DocumentGraph, names: dict[str, str]) -> None:
    """One for each description, and one for the normal form of each end, in the order of ``ends``."""
    embedder = FakeEmbedder()
    vectors = embedder.embed([relation.description for relation in graph.relations])
    np.testing.assert_array_equal(graph.relation_embeddings, vectors)
    np.testing.assert_array_equal(graph.end_embeddings, embedder.embed([names[end] for end in graph.ends]))
    assert {names[end] for end in graph.ends} == NAMES


def fakes(*replies: str) -> dict:
    return {"model": FakeLanguageModel(replies), "embedder": FakeEmbedder(), "recognizer": FakeRecognizer()}


NORMAL = {entity_id("default", name): name for name in NAMES}


def test_relations_reach_the_graph_with_their_vectors(tmp_path, monkeypatch):
    with Memory(tmp_path / "a.lbug", layers=("relations",), **fakes(REPLY)) as memory:
        keeping = Keeping(memory._parts.store, monkeypatch)
        receipt = memory.add(TEXT)
        assert memory.documents()[0].layers == ("entities", "relations"), "relations bring the entities"
        assert receipt.usage.model_calls == 1
        (graph,) = keeping.graphs
        assert len(graph.relations) == 1
        assert_vectors(graph, NORMAL)


def test_names_of_ends_stored_earlier_are_read_from_the_graph(tmp_path, monkeypatch):
    with Memory(tmp_path / "a.lbug", layers=("entities",), **fakes(REPLY)) as memory:
        memory.add(TEXT)
        keeping = Keeping(memory._parts.store, monkeypatch)
        list(memory.deepen(layers=["relations"]))
        (graph,) = keeping.graphs
        assert [mention.normal for mention in graph.mentions] == ["red mill"]
        assert_vectors(graph, NORMAL)


MANUAL = """# Foxes { #foxes }

A fox is [an animal](https://example.org/animals/of/the/woods#fox). It is red and quick.

## Food { #food }

| who | what |
|-----|------|
| fox | hens |
| cub | mice |

## Code { #code }

```python
fox = Fox("red")
fox.run()
fox.rest()
```

It runs.
"""


def test_markdown_is_cut_at_sections_and_not_in_fences_and_tables():
    def count_tokens(texts):
        return [len(text.split()) for text in texts]

    document = Document(MANUAL, "foxes.md")
    segments = cut_segments(document, "d", namespace="test", count_tokens=count_tokens, max_tokens=20)
    assert "".join(segment.text for segment in segments) == MANUAL
    assert [segment.text.split("\n")[0] for segment in segments] == [
        "# Foxes { #foxes }", "## Food { #food }", "## Code { #code }"
    ]  # fmt: skip
    assert [segment.tokens for segment in segments] == count_tokens([segment.text for segment in segments])


class Reader(FakeEmbedder):
    """An embedder that remembers what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts):
        self.texts += texts
        return super().embed(texts)


def test_markdown_is_searched_without_markup_and_cited_with_it(tmp_path):
    embedder = Reader()
    with Memory(tmp_path / "m.lbug", embedder=embedder, layers=[]) as memory:
        memory.add(MANUAL, key="foxes.md", title="Foxes")
        assert all("example.org" not in text and "|--" not in text for text in embedder.texts)
        assert memory.search("example.org", mode="keywords") == []
        (found,) = memory.search("hens", mode="keywords")
        assert found.text == MANUAL[found.start : found.end]


def test_file_read_by_an_older_version_is_replaced_once(tmp_path, monkeypatch):
    path = tmp_path / "foxes.md"
    path.write_text("---\nteam: red\n---\n" + MANUAL)
    with Memory(tmp_path / "m.lbug", embedder=FakeEmbedder(), layers=[]) as memory:
        with monkeypatch.context() as older:
            older.setattr("memgraph_rag.text.loading.has_marks", lambda _: False)
            older.setattr("memgraph_rag.text.loading.front_matter", lambda _: {})
            memory.add(path, title="My foxes")
        receipt = memory.add(path)
        assert (receipt.action, len(memory.documents())) == ("replaced", 1)
        record = memory.documents()[0]
        assert (record.title, record.metadata) == ("My foxes", {"team": "red"})
        assert memory.add(path).action == "unchanged"
