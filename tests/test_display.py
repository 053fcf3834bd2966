"""Values in messages: short and printable, whatever they are and whatever their ``repr`` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tables import table

from memgraph_rag.display import MOST_CHARACTERS, show


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


class Long:
    def __repr__(self) -> str:
        return "\x1b[31m\ud800\u202e\n" * 100_000


def named(name: str, *bases: type) -> Any:
    return type(name, bases or (Unspeakable,), {})()


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)

HOSTILE = [
    *(Unspeakable(), Long(), [Unspeakable()], {"a": Long()}, CIRCLE, object(), lambda: 1),
    *(10**5_000, -(10**5_000), [10**5_000], {10**5_000: 1}, float("nan"), True),
    *(
        "x" * 50_000_000,
        b"x" * 50_000_000,
        bytearray(50_000_000),
        list(range(1_000_000)),
        "\x1b[31m\0\ud800\u202e" * 99,
    ),
    *(
        named("list"),
        named("str"),
        named("int"),
        named("PosixPath"),
        named("x\n\x1b" * 999),
        named("int", Unspeakable),
    ),
    *(Path("\0"), Path("x" * 1_000), OSError(36, "too long", "x" * 1_000_000), ValueError(Unspeakable()), Unspeakable),
]


@table("value", HOSTILE)
def test_hostile_value_is_shown_short_and_printable(value: object) -> None:
    shown = show(value)
    assert 0 < len(shown) <= MOST_CHARACTERS
    assert shown.isprintable()


@settings(max_examples=30)
@given(st.recursive(st.text() | st.binary() | st.integers() | st.floats() | st.none(), st.lists))
def test_any_value_is_shown_short_and_printable(value: object) -> None:
    shown = show(value)
    assert len(shown) <= MOST_CHARACTERS
    assert shown.isprintable()


@given(st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=60) | st.integers(-(10**60), 10**60))
def test_short_value_is_shown_as_repr_writes_it(value: object) -> None:
    assert show(value) == repr(value)


@table(
    ("value", "shown"),
    [
        (10**5_000, "an int of 16,610 bits"),
        (Path("notes/a.md"), "'notes/a.md'"),
        (OSError("no room"), "no room"),
        ("a\x1b[31m", "'a\\x1b[31m'"),
        ([10**5_000], "[an int of 16,610 bits]"),
    ],
)
def test_value_is_shown_in_words(value: object, shown: str) -> None:
    assert show(value) == shown


def test_long_value_is_shown_by_both_ends() -> None:
    shown = show("/home/ann/" + "x" * 1_000 + "/notes.md")
    assert shown.startswith("'/home/ann/")
    assert shown.endswith("/notes.md'")
