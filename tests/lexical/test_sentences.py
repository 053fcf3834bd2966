"""Test that sentences cover the text, begin with a word, and do not end after abbreviations."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.lexical.sentences import sentences

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


@given(prose)
@example("\n" * 30_000)
@example("x. A" + "\n\n" * 6_000 + "B. C")
def test_sentences_tile_the_text_and_begin_with_a_word(text: str):
    ranges = sentences(text)
    cuts = [0, *(end for _, end in ranges)]
    assert ranges == list(pairwise(cuts))
    assert cuts[-1] == len(text)
    assert all(text[start:end].strip() for start, end in ranges) or len(ranges) == 1
    assert not any(text[start].isspace() for start, _ in ranges[1:])


@table(
    ("text", "parts"),
    [
        ("Dr. Smith met J. R. Ray, e.g. at No. 5. He left.", ["Dr. Smith met J. R. Ray, e.g. at No. 5. ", "He left."]),
        ('"Go." Then he went.', ['"Go." ', "Then he went."]),
        ("汤姆跑了。安坐！", ["汤姆跑了。", "安坐！"]),
        ("The mill\n\nIt burnt.\nNobody knew.", ["The mill\n\n", "It burnt.\n", "Nobody knew."]),
    ],
)
def test_sentence_ends_are_found(text: str, parts: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == parts


def test_language_decides_where_sentence_ends() -> None:
    text = "Er kam am 3. Mai. Dann ging er."

    assert [text[start:end].strip() for start, end in sentences(text, "de")] == ["Er kam am 3. Mai.", "Dann ging er."]
    assert len(sentences(text)) == 3
