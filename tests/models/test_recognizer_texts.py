"""Texts before and after a recognizer: what is cut, cleaned and put together again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.contracts import Named
from memgraph_rag.models.recognizers.texts import clean_names, cut_pieces, make_readable

# ── texts before and after a model ───────────────────────────────────────────────────────────────────────────


@given(st.lists(st.text() | st.sampled_from([" " * 30_000, "ab " * 20_000, "x" * 5_000]), max_size=4))
def test_pieces_are_texts_without_blanks(texts: list[str]) -> None:
    left = [list(make_readable(text)) for text in texts]
    for index, start, piece in cut_pieces(texts):
        assert 0 < len(piece) <= 20_000
        assert max(map(len, piece.split()), default=0) <= 1_000
        assert make_readable(texts[index])[start : start + len(piece)] == piece
        left[index][start : start + len(piece)] = " " * len(piece)
    assert all(not "".join(text).strip() for text in left)


def test_long_texts_are_cut_at_white_space() -> None:
    cut = list(cut_pieces(["Oslo " * 10_000]))
    assert len(cut) == 3
    assert {word for _, _, piece in cut for word in piece.split()} == {"Oslo"}


def test_spans_are_cleaned() -> None:
    text = '  "Ann Lee"  \n\nBob in 1999 *Oslo*'
    spans = [
        Named(0, 18, "PERSON"),
        Named(15, 18, "PERSON"),
        Named(22, 26, "DATE"),
        Named(26, 99, "GPE"),
        Named(0, 2, "ORG"),
    ]
    assert [(text[span.start : span.end], span.kind) for span in clean_names(text, spans)] == [
        ("Ann Lee", "PERSON"),
        ("Bob", "PERSON"),
        ("Oslo", "GPE"),
    ]


@table(
    ("text", "names"),
    [
        ("Hugendubel,28.90", ["Hugendubel"]),
        ("2026-08-27,Hugendubel,28.90,two novels", ["Hugendubel", "two novels"]),
        ("Ole Brandt\tFledhusum\t35 EUR", ["Ole Brandt", "Fledhusum"]),
        ("| Weingut Prüm | 14,50 € |", ["Weingut Prüm"]),
        ("Obi;Husum;17,25", ["Obi", "Husum"]),
        ("Rewe 34.17 EUR", ["Rewe"]),
        ("Rewe €34.17", ["Rewe"]),
        ("Paris, Texas", ["Paris, Texas"]),
        ("Studio 1,000", ["Studio 1,000"]),
        ("The $64,000 Question", ["The $64,000 Question"]),
        ("Apollo 11", ["Apollo 11"]),
        ("12.50 EUR", []),
    ],
)
def test_a_cell_border_and_an_amount_end_a_name(text: str, names: list[str]) -> None:
    assert [text[span.start : span.end] for span in clean_names(text, [Named(0, len(text), "ORG")])] == names


def test_currency_before_a_number_is_no_name() -> None:
    text = "35 EUR, then the EUR rose"
    assert clean_names(text, [Named(3, 6, "ORG"), Named(17, 20, "ORG")]) == [Named(17, 20, "ORG")]
