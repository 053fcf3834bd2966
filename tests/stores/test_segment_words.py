"""The keyword index beside Ladybug: what it holds after documents came, changed and went."""

from __future__ import annotations

from typing import Any

import pytest

from memgraph_rag.contracts import GraphStore
from memgraph_rag.stores.shared import segment_words
from memgraph_rag.stores.shared.segment_words import SegmentWords
from memgraph_rag.testing.sample_graphs import make_graph


@pytest.fixture
def engine() -> str:
    return "ladybug"


def rows(document_id: str, *texts: str) -> list[dict[str, str]]:
    return [
        {"id": f"{document_id}{index}", "document_id": document_id, "title": "", "text": text, "language": ""}
        for index, text in enumerate(texts)
    ]


def found(words: SegmentWords, query: str, **options: Any) -> list[str]:
    return [hit.node_id for hit in words.find(query, k=9, **options)]


def test_a_document_put_again_is_replaced() -> None:
    words = SegmentWords()
    words.put([*rows("a", "a rabbit", "a hare"), *rows("b", "a rabbit")])
    words.put(rows("a", "a fox"))

    assert len(words) == 2
    assert (found(words, "rabbit"), found(words, "hare"), found(words, "fox")) == (["b0"], [], ["a0"])


def test_dropped_documents_are_not_found() -> None:
    words = SegmentWords()
    words.put([*rows("a", "a rabbit"), *rows("b", "a rabbit")])
    words.keep(["b", "c"])

    assert found(words, "rabbit") == ["b0"]
    assert found(words, "rabbit", documents=["a"]) == []
    words.keep([])
    assert (len(words), found(words, "rabbit")) == (0, [])


def test_renewed_index_scores_like_new_one() -> None:
    aged, new = SegmentWords(), SegmentWords()
    aged.put([*rows("a", "rabbit rabbit", "fox"), *rows("b", "a rabbit and a fox"), *rows("c", "hare")])
    aged.put(rows("a", "rabbit fox fox"))
    aged.keep(["a", "b"])
    new.put([*rows("b", "a rabbit and a fox"), *rows("a", "rabbit fox fox")])

    assert aged.find("rabbit fox", k=9) == new.find("rabbit fox", k=9)


def test_only_changed_documents_are_read_again(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in "abc":
        store.write(make_graph(store.namespace, key))
    read: list[int] = []
    put = SegmentWords.put
    monkeypatch.setattr(SegmentWords, "put", lambda self, listed: (read.append(len(listed)), put(self, listed))[1])

    def keys() -> set[str]:
        hits = store.find_matching("rabbit fox", k=9)
        documents = {document.id: document.key for document in store.documents()}
        return {documents[node.document_id] for node in store.nodes([hit.node_id for hit in hits])}

    assert keys() == {"a", "b", "c"}
    store.write(make_graph(store.namespace, "b", ("A fox.",)))
    assert keys() == {"a", "b", "c"}
    store.forget(make_graph(store.namespace, "a").document.id)
    assert keys() == {"b", "c"}
    store.write(make_graph(store.namespace, "d"))
    store.forget(make_graph(store.namespace, "c").document.id)
    assert keys() == {"b", "d"}
    assert read == [9, 1, 0, 3]
    store.write(make_graph(store.namespace, "d", ()))
    assert keys() == {"b"}


def test_worn_index_is_replaced(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_words, "MOST_DROPPED", 3)
    graph = make_graph(store.namespace)
    for _ in range(9):
        store.write(graph)
        assert [hit.node_id for hit in store.find_matching("rabbit", k=9)] == [graph.segments[1].id]
        assert not store._segment_words().is_worn  # pyright: ignore[reportAttributeAccessIssue]


def test_interrupted_index_is_read_again(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(make_graph(store.namespace, "a"))
    assert len(store.find_matching("rabbit", k=9)) == 1
    late = make_graph(store.namespace, "b", ("A fox.", "A hare."))
    store.write(late)
    append = segment_words.KeywordIndex.append

    def interrupted(self: segment_words.KeywordIndex, texts: Any) -> None:
        append(self, texts)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(segment_words.KeywordIndex, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.find_matching("fox", k=9)
    for word, segment in zip(("fox", "hare"), late.segments, strict=True):
        assert [hit.node_id for hit in store.find_matching(word, k=9)] == [segment.id]
