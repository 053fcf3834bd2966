"""Test numbered texts, packed or not, against a plain list."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag.lexical.text_table import TextList, TextTable


@given(st.lists(st.text(max_size=3)), st.sets(st.integers(0, 30)))
def test_texts_keep_their_numbers_when_they_are_packed(texts: list[str], packed_at: set[int]) -> None:
    table, known = TextTable(), list[str]()
    for place, text in enumerate(texts):
        if text not in known:
            known.append(text)
        assert table.add(text) == known.index(text)
        if place in packed_at:
            other = TextTable()
            other.restore(table.pack())
            table = other
    assert [*table] == known
    assert [table.find(text) for text in known] == list(range(len(known)))
    assert table.find_all([*known, "longer than all"]) == {text: number for number, text in enumerate(known)}
    assert table.select(range(len(known))) == known
    assert table.find("longer than all") == -1


def test_texts_with_one_checksum_are_told_apart() -> None:
    table = TextTable()
    numbers = [table.add(text) for text in ("plumless", "buckeroo")]  # their CRC-32 is the same
    table.pack()
    assert [table.find(text) for text in ("plumless", "buckeroo")] == numbers == [0, 1]


def test_replaced_text_is_read_before_and_after_packing() -> None:
    texts = TextList()
    for text in ("houses", "hut", "\udc80", "élan"):
        texts.append(text)
    texts.pack()
    copied = texts.copy()
    texts[0] = "house"
    assert ([*texts], [*copied]) == (["house", "hut", "\udc80", "élan"], ["houses", "hut", "\udc80", "élan"])
    texts.pack()
    assert [texts[number] for number in texts.find_starting("h")] == ["house", "hut", "\udc80", "élan"]
    assert texts.find_starting("x") == [2, 3]
