"""Test which lines are Markdown headings, and where they begin."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.lexical.markdown import headings, plain


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


def test_nested_heading_is_marked_nested() -> None:
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


@table(
    ("text", "read"),
    [
        ("# Class `Fox` { #fox }\n\nSee [the **den**](den.md#top).", "# Class Fox\n\nSee the den."),
        ("---\ntags: [a]\n---\n\nText with `code`.", "\nText with code."),
        ("Run:\n\n```console\n$ pip install *x*\n```\n\nDone.", "Run:\n\n$ pip install *x*\n\nDone."),
        ("| a | `b` |\n|---|---|\n| **1** | [2](x) |\n", "| a | b |\n| 1 | 2 |\n"),
        ("/// note | Two words\n\nRead `it`.\n\n///\n", "Two words\n\nRead it.\n\n"),
        ('!!! warning "Take care"\n\nof `it`', "Take care\n\nof it"),
        ("{* ../docs/a.py hl[4] *}\n\nThe `end`.", "\n\nThe end."),
        ('An <abbr title="x">LLM</abbr>s<br>and **more**', "An LLMs and more"),
        ("<div class=x>\n<b>Bold</b>\n</div>\n\n`text`", " \nBold\n \ntext"),
        (
            "See [the docs][1] or <https://a.b/c> and `x`.\n\n[1]: https://a.b/d\n",
            "See the docs or https://a.b/c and x.\n\n",
        ),
        ("![A *red* fox](fox.png) by `me`", "A *red* fox by me"),
        (
            "- `one`\n  two **three\n  four** five\n\n> *six*\n> `seven`",
            "- one\n  two three\n  four five\n\n> six\n> seven",
        ),
        ("Title `x`\n=====\n\n\\*not\\* `f(*args, **kw)` {.cls}", "Title x\n=====\n\n*not* f(*args, **kw)"),
    ],
)
def test_plain_text_has_no_markup(text: str, read: str) -> None:
    assert plain(text).text == read


@table(
    "text",
    [
        "It`s her tune ``Lonesome Blues ''.\n\n<user> wrote 2 * 3 * 4 = 24 and a_b_c.\n",
        "Hawai`i and O`ahu [1] (see p. 4).",
        "f(x) = $\\sum_{i} x_i$ **",
        "— dash\n- item\n- item",
    ],
)
def test_prose_is_its_own_plain_text(text: str) -> None:
    assert plain(text) == (text, None)


@given(st.text(alphabet=st.sampled_from("ab *_`[]()<>#|-\n{}\\/!&;:\"'.é"), max_size=120))
def test_plain_text_is_part_of_the_text(text: str) -> None:
    read = plain("# `a`\n\n" + text)
    assert read.places is not None
    assert list(read.places) == sorted(set(read.places))
    assert all(
        character in (("# `a`\n\n" + text)[place], " ") for place, character in zip(read.places, read.text, strict=True)
    )


def test_a_span_holds_no_markup() -> None:
    text = "The **Red** [Foxes](fox.md) ran."
    read = plain(text)
    start = read.text.index("Foxes")
    assert text[slice(*read.span(start, start + 5))] == "Foxes"
    assert text[slice(*read.span(read.text.index("Red"), start + 5))] == "Foxes"


@table("unit", ["[", "[a](", "*a", "**a** ", "`", "`a` ", "<a ", "> ", "- ", "|a|\n|-|\n", "{#a}", "![", "\\*", "</p>"])
def test_place_of_each_character_of_hostile_markup_is_known(unit: str) -> None:
    text = "# `a`\n\n" + unit * (5_000 // len(unit))
    read = plain(text)
    assert len(read.places) == len(read.text)
    assert all(0 <= place < len(text) for place in read.places)
