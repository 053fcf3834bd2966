"""Test which lines are Markdown headings, and where they begin."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.lexical.markdown import headings


def read(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in headings(text)]


@table(
    ("text", "found"),
    [
        ("# A\n\ntext\n\n## B\n", [(1, "A"), (2, "B")]),
        ("A\n=\n\nB\n---\ntext", [(1, "A"), (2, "B")]),
        ("```\n# code\n```\n\n    # code\n\n~~~python\n# code\n~~~\n", []),
        ("<div>\n# no\n</div>\n", []),
        ("---\ntitle: x\n---\n# A\n", [(1, "A")]),
        ("## *A* `b` [c](d) ##\n", [(2, "A b c")]),
        ("##\n\n#no\n\n####### seven\n", [(2, "")]),
        ("第一章\n===\n\n文\n\n## 第二章\n", [(1, "第一章"), (2, "第二章")]),
        ("# A\r\ntext\r\n## B\r\n", [(1, "A"), (2, "B")]),
    ],
)
def test_headings(text: str, found: list[tuple[int, str]]) -> None:
    assert read(text) == found


def test_nested_headings_say_so() -> None:
    found = headings("> # quoted\n\n- # listed\n\n# A\n")

    assert [(heading.title, heading.is_nested) for heading in found] == [
        ("quoted", True),
        ("listed", True),
        ("A", False),
    ]


@given(st.text(alphabet="# \n\r\tab`-=>*\x00\x85\u2028第", max_size=200))
def test_a_heading_begins_a_line(text: str) -> None:
    for heading in headings(text):
        assert heading.start == 0 or text[heading.start - 1] in "\n\r"


def test_a_long_text_is_read_quickly() -> None:
    started = time.process_time()
    headings("> - # a\n" * 20_000)
    assert time.process_time() - started < 10
