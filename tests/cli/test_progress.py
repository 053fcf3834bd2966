from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from memgraph_rag.cli.progress import Bars


def drawn(bars_work, *, forced: bool = True) -> str:
    screen = StringIO()
    with Bars(Console(file=screen, width=80), forced=forced) as bars:
        bars_work(bars)
    return screen.getvalue()


def test_a_finished_phase_leaves_one_line() -> None:
    def work(bars: Bars) -> None:
        bars("summarising", 0, 2)
        bars("summarising", 2, 2)
        bars("embedding", 3, 3)

    first, second = drawn(work).splitlines()
    assert first.startswith("summarising")
    assert "2/2" in first
    assert second.startswith("embedding")


def test_line_is_printed_word_for_word() -> None:
    assert drawn(lambda bars: bars.print_line("read [bold]:fire:.md")) == "read [bold]:fire:.md\n"


def test_progress_is_drawn_on_terminals_alone() -> None:
    assert drawn(lambda bars: bars("summarising", 1, 2), forced=False) == ""


def test_bar_is_closed_between_phases() -> None:
    def work(bars: Bars) -> None:
        bars("summarising", 0, 1)
        assert bars._live is not None
        bars("summarising", 1, 1)
        assert bars._live is None

    drawn(work)


def test_waiting_pulses_on_a_terminal_until_stopped() -> None:
    seen = []
    bars = Bars(Console(file=StringIO(), force_terminal=True))

    def items():
        for item in "abcd":
            seen.append(bars._live is not None)
            yield item
        seen.append(bars._live is not None)

    for _ in bars.show_waiting(items(), "reading", until=lambda item: item == "b"):
        assert bars._live is None, "others may print now"
    assert seen == [True, True, False, False, False]


def test_waiting_prints_nothing_without_a_terminal() -> None:
    assert drawn(lambda bars: list(bars.show_waiting("abc", "adding"))) == ""


def test_error_while_waiting_closes_the_bar() -> None:
    bars = Bars(Console(file=StringIO(), force_terminal=True))
    with pytest.raises(ZeroDivisionError):
        list(bars.show_waiting((1 // number for number in (1, 0)), "adding"))
    assert bars._live is None


def test_empty_phase_is_finished() -> None:
    assert "0/0" in drawn(lambda bars: bars("embedding", 0, 0))
