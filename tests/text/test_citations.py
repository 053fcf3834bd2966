"""Test that citations occur verbatim in the document, support the answer, and do not repeat one another."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.lexical.sentences import MAX_QUOTE
from memgraph_rag.text.citations import Quotes
from memgraph_rag.text.splitting import split
from memgraph_rag.types import Citation, Matrix, Segment

PETER = (Path(__file__).parents[2] / "examples" / "peter_rabbit.txt").read_text(encoding="utf-8")


class WordVectors:
    """An embedder that knows only which words a text holds, by a hash."""

    name = "words"
    dimension = 256

    def __init__(self) -> None:
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.texts += len(texts)
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            for word in text.casefold().split():
                vectors[row, zlib.crc32(word.strip('.,;:!?"').encode()) % self.dimension] += 1
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def cite(question: str, answer: str, segments, *, keys, embedder, limit: int = 3) -> tuple[Citation, ...]:
    return Quotes(segments, keys=keys, embedder=embedder).cite(question, answer, limit=limit)


def list_segments(
    text: str, document_id: str = "d", weight: float = 1.0, size: int = 80
) -> list[tuple[Segment, float]]:
    spans = split(text, count_tokens=lambda texts: [len(each.split()) for each in texts], max_tokens=size)
    return [
        (Segment(f"{document_id}{i}", document_id, i, text[s.start : s.end], s.start, s.end, s.tokens), weight)
        for i, s in enumerate(spans)
    ]


def test_the_sentence_that_supports_comes_first():
    citations = cite(
        "What did Peter's mother give him?",
        "A dose of camomile tea.",
        list_segments(PETER),
        keys={"d": "peter.txt"},
        embedder=WordVectors(),
    )
    assert (
        citations[0].quote
        == "His mother put him to bed, and made some camomile tea; and she gave a dose of it to Peter!"
    )
    assert citations[0].document_key == "peter.txt"
    assert [c.score for c in citations] == sorted((c.score for c in citations), reverse=True)
    for citation in citations:
        assert citation.quote == PETER[citation.start : citation.end] == citation.quote.strip()
        assert citation.segment_id in {segment.id for segment, _ in list_segments(PETER)}


def test_the_weight_of_reading_decides_between_equals():
    same = [
        *list_segments("The gate was locked today.", "a", 0.1),
        *list_segments("The gate was locked tonight.", "b", 0.9),
    ]
    citations = cite("Was it open?", "It was locked.", same, keys={"a": "a", "b": "b"}, embedder=WordVectors())
    assert citations[0].document_id == "b"


def test_ties_go_by_document_and_start():
    pair = [*list_segments("Rain fell in the night.", "b"), *list_segments("In the night fell rain.", "a")]
    citations = cite("When did it rain?", "In the night.", pair, keys={"a": "a", "b": "b"}, embedder=WordVectors())
    assert [citation.document_id for citation in citations] == ["a", "b"]


def test_the_same_words_are_quoted_once():
    twice = [*list_segments("Rain fell in the night.", "a"), *list_segments("Rain  fell\nin the night.", "b")]
    assert len(cite("When?", "In the night.", twice, keys={"a": "a", "b": "b"}, embedder=WordVectors())) == 1


def test_answer_without_support_has_no_citation():
    assert cite("Why?", "So.", [], keys={}, embedder=WordVectors()) == ()
    assert cite("Why?", "So.", list_segments(PETER), keys={}, embedder=WordVectors()) == ()
    assert cite("Why?", "So.", list_segments(PETER), keys={"d": "p"}, embedder=WordVectors(), limit=0) == ()


def test_the_sentences_are_embedded_once():
    embedder = WordVectors()
    quotes = Quotes(list_segments(PETER), keys={"d": "p"}, embedder=embedder)
    assert embedder.texts == 0
    quotes.measure_relevance("Who?")
    quotes.cite("Who?", "Peter")
    first = embedder.texts
    quotes.cite("Who?", "Peter Rabbit")
    assert embedder.texts == first + 1


class KnownVectors(WordVectors):
    """An embedder with a cosine below which texts are unrelated."""

    dimension = 2**16  # so that no two words share a place
    unrelated_below = 0.2


def test_an_embedder_that_knows_when_texts_are_unrelated_rules_them_out():
    asked = {"keys": {"d": "p"}, "embedder": KnownVectors()}
    quotes = Quotes(list_segments(PETER), **asked)
    assert quotes.measure_relevance("What did Peter's mother give him?") >= 0
    assert quotes.measure_relevance("Capital France?") < 0
    assert quotes.measure_relevance("What did Peter's mother give him?", unnamed=1.0) < 0
    assert quotes.cite("Capital France?", "Paris.") == ()
    assert all("camomile" in citation.quote for citation in quotes.cite("Camomile tea?", "A dose of camomile tea."))
    assert Quotes([], **asked).measure_relevance("Peter?") < 0
    unknown = Quotes(list_segments(PETER), keys={"d": "p"}, embedder=WordVectors())
    assert unknown.measure_relevance("Capital France?", unnamed=1.0) >= 0
    assert unknown.cite("Capital France?", "Paris.")


@table("weights", [[0.0, 0.0], [0.2, 0.8]])
def test_short_sentences_are_quoted_with_a_neighbour(weights: list[float]):
    text = "“Why?” He would not say. Nobody knew where the old key was hidden. Under the mat. Yes."
    segments = [(segment, weight) for weight, (segment, _) in zip(weights, list_segments(text), strict=False)]
    for citation in cite("Where was the key?", "Under the mat", segments, keys={"d": "p"}, embedder=WordVectors()):
        assert len(citation.quote.split()) >= 4


def test_a_document_of_one_word_can_be_cited():
    (citation,) = cite("Which city?", "Paris", list_segments(" Paris.\n"), keys={"d": "p"}, embedder=WordVectors())
    assert (citation.quote, citation.start, citation.end) == ("Paris.", 1, 7)


def test_a_long_sentence_is_quoted_in_part():
    text = "and on it went, " * 60 + "until the fox found the golden egg, " + "and on it went, " * 60
    citations = cite(
        "What was found?", "The golden egg", list_segments(text, size=9999), keys={"d": "p"}, embedder=WordVectors()
    )
    assert "golden egg" in citations[0].quote
    assert all(len(citation.quote) <= MAX_QUOTE for citation in citations)
    assert all(text[citation.start - 1 : citation.start] in ("", " ") for citation in citations)


def test_unbroken_text_is_cut_where_it_must():
    text = "x" * 1000
    assert all(
        len(citation.quote) <= MAX_QUOTE
        for citation in cite("What?", "xx", list_segments(text), keys={"d": "p"}, embedder=WordVectors())
    )


@given(st.text(max_size=300), st.text(max_size=30), st.integers(1, 30), st.integers(1, 5))
def test_citation_quotes_its_document_verbatim(text: str, answer: str, size: int, limit: int):
    segments = list_segments(text, size=size)
    first = cite("What?", answer, segments, keys={"d": "p"}, embedder=WordVectors(), limit=limit)
    assert first == cite("What?", answer, segments[::-1], keys={"d": "p"}, embedder=WordVectors(), limit=limit)
    assert len(first) <= limit
    for citation in first:
        assert citation.quote == text[citation.start : citation.end] == citation.quote.strip() != ""
    ordered = sorted(first, key=lambda citation: citation.start)
    assert all(earlier.end <= later.start for earlier, later in pairwise(ordered))
