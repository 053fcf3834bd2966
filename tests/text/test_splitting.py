"""Test that the spans cover the text, keep the limit, and end where sentences end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sentencex import get_sentence_boundaries  # pyright: ignore[reportAttributeAccessIssue]
from tables import table

from memgraph_rag.contracts import TokenCounter
from memgraph_rag.errors import SettingsError
from memgraph_rag.lexical import sentences as lexical_sentences
from memgraph_rag.lexical.sentences import sentences
from memgraph_rag.text.splitting import Span, split

PETER = Path(__file__).parents[2] / "examples" / "peter_rabbit.txt"


def words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def characters(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


def subwords(texts: Sequence[str]) -> list[int]:
    """Count like a byte-pair tokenizer, not additively: spaces count with the next word, long words several times."""
    return [sum(-(-len(token) // 4) for token in re.findall(r" ?\w+|\s+(?!\S)|[^\w ]+|\s", text)) for text in texts]


def longer_together(texts: Sequence[str]) -> list[int]:
    """Count more tokens for a text than for its sentences together, worse than any real tokenizer."""
    return [len(text.split()) + len(text) // 50 for text in texts]


COUNTERS = [words, characters, subwords, longer_together]


def assert_holds(text: str, spans: list[Span], count: TokenCounter, limit: int) -> None:
    """Check the promises of ``split``."""
    cuts = [0, *(span.end for span in spans)]
    assert [(span.start, span.end) for span in spans] == list(pairwise(cuts))
    assert cuts[-1] == len(text)
    assert [span.tokens for span in spans] == count([text[span.start : span.end] for span in spans])
    for span in spans:
        assert span.end > span.start
        assert span.tokens <= limit or span.end - span.start == 1
    for earlier, later in pairwise(spans):
        if text[earlier.start : earlier.end].isspace() or text[later.start : later.end].isspace():
            assert count([text[earlier.start : later.end]])[0] > limit


prose = st.lists(
    st.one_of(
        st.sampled_from(
            ["He came. ", "Why? ", "\n\n", "\r\n", " ", "Dr. Potter, ", "e.g. ", "“Yes,” she said. ", "\t"]
        ),
        st.sampled_from(
            ["e\u0301", "👩‍👩‍👧", "👍🏽", "これは文です。", "مرحبا. ", "...", "-", "a" * 30, "\x00", "\u2028"]
        ),
        st.text(st.characters(blacklist_categories=("Cs",)), max_size=5),
    ),
    max_size=60,
).map("".join)


@given(prose, st.integers(1, 40), st.sampled_from(COUNTERS), st.lists(st.integers(-2, 200)))
@example("He came. She left.", 40, words, [4, 9, 9, 0, 18])
@example("one  \n\n  two", 3, characters, [5])
@example("a\n\n\n\nb", 40, words, [1, 5])
def test_text_between_cuts_is_split_alone(text: str, limit: int, count: TokenCounter, cuts: list[int]):
    spans = split(text, count_tokens=count, max_tokens=limit, cuts=cuts)
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(text)}), len(text)]
    assert spans == [
        Span(start + span.start, start + span.end, span.tokens)
        for start, end in pairwise(edges)
        for span in split(text[start:end], count_tokens=count, max_tokens=limit)
    ]
    assert set(edges) <= {0, *(span.end for span in spans)}


@given(prose, st.integers(1, 40), st.sampled_from(COUNTERS))
@example("a" + " " * 50 + "b", 7, characters)
@example("ab  cd", 3, characters)
@example(" \n ", 1, characters)
def test_spans_cover_any_text_within_the_limit(text: str, limit: int, count: TokenCounter):
    assert_holds(text, split(text, count_tokens=count, max_tokens=limit), count, limit)


def test_whole_sentences_fill_the_spans():
    text = PETER.read_text(encoding="utf-8")
    spans = split(text, count_tokens=words, max_tokens=100)
    ends = {end for _, end in sentences(text)}
    assert all(span.end in ends for span in spans)
    assert_holds(text, spans, words, 100)
    assert len(spans) < 958 / 100 * 1.4


def test_short_text_is_one_span():
    assert split("Rain fell.", count_tokens=words) == [Span(0, 10, 2)]
    assert split("", count_tokens=words) == []
    assert split(" \n ", count_tokens=words) == [Span(0, 3, 0)]


def test_white_space_stays_with_preceding_text():
    text = "  One two.\n\n\n\tThree four. \r\n\r\nFive six.\n"
    spans = split(text, count_tokens=words, max_tokens=2)
    assert [text[span.start : span.end] for span in spans] == [
        "  One two.\n\n\n\t",
        "Three four. \r\n\r\n",
        "Five six.\n",
    ]


def test_offsets_are_characters_not_bytes():
    text = "Ça va? “Très bien,” dit-elle. 😀 Bon."
    spans = split(text, count_tokens=words, max_tokens=4)
    assert [text[span.start : span.end] for span in spans] == ["Ça va? ", "“Très bien,” dit-elle. ", "😀 Bon."]


@table(
    ("text", "limit", "parts"),
    [
        ("one two\nthree four\nfive six", 4, ["one two\nthree four\n", "five six"]),
        ("one two three, four five; six seven eight", 5, ["one two three, four five; ", "six seven eight"]),
        ("one two three four five", 2, ["one two ", "three four ", "five"]),
    ],
)
def test_a_long_sentence_is_cut_at_lines_then_clauses_then_words(text: str, limit: int, parts: list[str]):
    spans = split(text, count_tokens=words, max_tokens=limit)
    assert [text[span.start : span.end] for span in spans] == parts


def test_combining_sequences_stay_whole():
    for cluster in ("e\u0301", "👩‍👩‍👧", "👍🏽", "❤\ufe0f"):
        text = cluster * 40
        spans = split(text, count_tokens=characters, max_tokens=11)
        assert all((span.end - span.start) % len(cluster) == 0 for span in spans)
    endless = "e" + "\u0301" * 200  # no edge to be found: the limit comes first
    assert_holds(endless, split(endless, count_tokens=characters, max_tokens=11), characters, 11)


def test_a_blank_run_yields_to_the_limit():
    text = "a" + " " * 25 + "b"
    assert_holds(text, split(text, count_tokens=characters, max_tokens=5), characters, 5)


def test_a_limit_below_one_is_refused():
    with pytest.raises(SettingsError, match="max_tokens"):
        split("x", count_tokens=words, max_tokens=0)


def test_the_counter_is_called_seldom():
    calls = []

    def counting(texts: Sequence[str]) -> list[int]:
        calls.append(len(texts))
        return words(texts)

    split("A dog ran home today. " * 2_000, count_tokens=counting, max_tokens=100)
    assert len(calls) <= 3

    calls.clear()
    split("Yes. \n" * 2_000, count_tokens=counting, max_tokens=100, cuts=range(0, 12_000, 6))
    assert calls == [2_000, 2_000]


def test_a_turn_is_looked_at_once_however_many_there_are(monkeypatch: pytest.MonkeyPatch):
    turn = "user (2024-05-01T10:00): Is it raining? Dr. Smith would like to know. Well, perhaps not.\n\n"
    counted, searched = [], []

    def known(texts: Sequence[str]) -> list[int]:
        counted.extend(map(len, texts))
        return [1] * len(texts)

    def boundaries(language: str, text: str) -> list[dict[str, object]]:
        searched.append(len(text))
        return get_sentence_boundaries(language, text)

    monkeypatch.setattr(lexical_sentences, "get_sentence_boundaries", boundaries)
    spans = split(turn * 3_000, count_tokens=known, max_tokens=100, cuts=range(0, len(turn) * 3_000, len(turn)))
    assert len(spans) == 3_000
    assert sum(counted) <= 2 * len(turn) * 3_000
    assert sum(searched) == len(turn) * 3_000


@table(
    "text",
    [
        "Rain fell on the house, and we stayed in. " * 25_000,
        "and then, " * 10_000,
        "." * 1_000_000,
        "\n" * 1_000_000,
        ")" * 1_000_000,
        "\u0301" * 200_000,
        "a" + " " * 1_000_000 + "b",
    ],
)
def test_long_hostile_text_is_split_whole(text: str):
    spans = split(text, count_tokens=lambda texts: [-(-len(text) // 4) for text in texts], max_tokens=300)
    assert spans[-1].end == len(text)
    assert max(span.tokens for span in spans) <= 300


def test_a_span_ends_before_a_section_that_it_cannot_hold() -> None:
    text = "one two three. four five. six seven eight. nine."
    starts = [text.index("four"), text.index("six")]
    spans = split(text, count_tokens=words, max_tokens=5, sections=starts)
    assert [text[span.start : span.end] for span in spans] == [
        "one two three. four five. ", "six seven eight. nine."
    ]  # fmt: skip
    spans = split(text, count_tokens=words, max_tokens=8, sections=starts)
    assert [span.start for span in spans] == [0, starts[1]]


def test_a_block_is_not_cut_unless_it_is_too_long() -> None:
    text = "One. Two. Three.\na b. c d.\ne f. g h.\nEnd."
    block = (text.index("a b"), text.index("End"))
    spans = split(text, count_tokens=words, max_tokens=8, blocks=[block])
    assert [text[span.start : span.end] for span in spans] == ["One. Two. Three.\n", "a b. c d.\ne f. g h.\n", "End."]
    spans = split(text, count_tokens=words, max_tokens=4, blocks=[block])
    assert "a b. c d.\n" in [text[span.start : span.end] for span in spans]


def test_short_tokens_make_segments_as_long_as_english_ones() -> None:
    english = "The old keeper lit the lamp again. " * 20
    hindi = "बूढ़े चौकीदार ने फिर से दीपक जलाया। " * 20

    def tokens(texts: Sequence[str]) -> list[int]:
        return [len(text.encode()) // (4 if text.isascii() else 2) for text in texts]

    spans = split(hindi, count_tokens=tokens, max_tokens=60, longest=240, language="hi")

    assert split(english, count_tokens=tokens, max_tokens=60, longest=240) == split(
        english, count_tokens=tokens, max_tokens=60
    )
    assert abs(len(spans) - len(split(english, count_tokens=tokens, max_tokens=60))) <= 1
    assert [span.tokens for span in spans] == tokens([hindi[span.start : span.end] for span in spans])
    assert all(60 < span.tokens <= 240 for span in spans)
    assert max(span.tokens for span in split(hindi, count_tokens=tokens, max_tokens=60, longest=90)) <= 90
