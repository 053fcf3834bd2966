"""Twice the input takes about twice the time: what was once quadratic, and each scrap for some seconds.

These tests compare times, so they run in ``make test-all``. ``make fault-tests`` tries pairs and triples of scraps at
length.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_growth import Work, grows, growths, works
from fault_growth_rules import FACTS, RULES

SECONDS = 1.0

ONCE_QUADRATIC = [
    ("page", ("<x y='>'",)),
    ("page", ("<p>", "<!--a-->x")),
    ("page", ("<i>", "</b>")),
    ("page", ("<title>",)),
    ("page", ("<!--",)),
    ("page", ("</a ",)),
    ("page", ("<?",)),
    ("page", ("<![CDATA[",)),
    ("page", ("<div>",)),
    ("page", ("<p ", "a=b ", ">x</p>")),
    ("page", ('<a b="', ">")),
    ("page", ("&#9",)),
    ("page", ("<table><tr><td>",)),
    ("html file", ("<meta charset",)),
    ("sentences", ("Use `foo bar` now.\n",)),
    ("sentences", ("'it is' ",)),
    ("splitter", ("安。",)),
    ("splitter", ("x",)),
    ("splitter", ("ω",)),
    ("splitter", (".",)),
    ("splitter", ("Mr. ",)),
    ("splitter", ("«Ä.» ",)),
    ("reply as prose", ("\n",)),
    ("reply as JSON", ("\t",)),
    ("reply as JSON", ("- ", "x", "\n", "y")),
    ("reply in a walk", ("x",)),
    ("reply as answer", ("\n",)),
    ("reply as answer", ("?! ",)),
]


compares_times = pytest.mark.full("compares times")


@compares_times
@pytest.mark.parametrize(("name", "scraps"), ONCE_QUADRATIC)
def test_formerly_quadratic_texts_take_linear_time(name: str, scraps: tuple[str, ...], tmp_path: Path) -> None:
    assert grows(name, works(tmp_path)[name], scraps) is None


@compares_times
@pytest.mark.parametrize("name", RULES)
def test_rule_takes_linear_time(name: str) -> None:
    assert [scrap for scrap in RULES[name].scraps if grows(name, RULES[name], (scrap,))] == []


@compares_times
@pytest.mark.parametrize("kind", FACTS)
def test_holding_of_many_facts_takes_linear_time(kind: str) -> None:
    assert grows(kind, FACTS[kind], FACTS[kind].scraps) is None


@compares_times
@pytest.mark.parametrize("name", works(Path()))
def test_doubled_input_takes_doubled_time(name: str, tmp_path: Path) -> None:
    tried, grown = growths(name, works(tmp_path)[name], seconds=SECONDS)
    assert tried
    assert not grown


@pytest.mark.parametrize(("power", "slower", "is_found"), [(1, 1, False), (1, 3, False), (2, 1, True), (2, 3, True)])
def test_quadratic_work_is_found(power: int, slower: int, is_found: bool, monkeypatch) -> None:
    """Also on a busy machine, where two of three runs take longer."""
    seconds, runs = 0.0, 0

    def work(text: str) -> None:
        nonlocal seconds, runs
        seconds += (len(text) / 64_000) ** power * (1 if runs % 3 == 0 else slower)
        runs += 1

    monkeypatch.setattr("fault_growth.time.process_time", lambda: seconds)
    growth = grows("work", Work(work), ("x",))
    assert (growth is not None) is is_found
    if growth:
        assert growth.seconds_doubled == pytest.approx(4 * growth.seconds)
