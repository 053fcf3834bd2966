"""Twice the input takes about twice the time: what was once quadratic, and each scrap for some seconds.

``make fault-tests`` tries pairs and triples of scraps at length.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fault_growth import Work, grows, growths, works

SECONDS = 10.0 if os.environ.get("CI") else 1.0

ONCE_QUADRATIC = [
    ("page", ("<x y='>'",)),
    ("page", ("<p>", "<!--a-->x")),
    ("page", ("<i>", "</b>")),
    ("page", ("<title>",)),
    ("page", ("<!--",)),
    ("html file", ("<meta charset",)),
    ("sentences", ("Use `foo bar` now.\n",)),
    ("sentences", ("'it is' ",)),
    ("splitter", ("安。",)),
]


@pytest.mark.parametrize(("name", "scraps"), ONCE_QUADRATIC)
def test_what_was_quadratic_is_linear(name: str, scraps: tuple[str, ...], tmp_path: Path) -> None:
    assert grows(name, works(tmp_path)[name], scraps) is None


@pytest.mark.parametrize("name", works(Path()))
def test_twice_the_input_takes_twice_the_time(name: str, tmp_path: Path) -> None:
    tried, grown = growths(name, works(tmp_path)[name], seconds=SECONDS)
    assert tried
    assert not grown


def test_quadratic_work_is_found() -> None:
    def compared(text: str) -> int:
        return sum(text[:at].count("x") for at in range(0, len(text), 64))

    growth = grows("compared", Work(compared), ("x",))
    assert growth is not None
    assert growth.seconds_doubled > 3 * growth.seconds
