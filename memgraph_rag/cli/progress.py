"""Progress bars on standard error, and lines that tell the cost of long work before it begins.

Invariants: without a terminal, and without ``FORCE_COLOR``, no bar is written; between phases no bar is live, so other
code may print.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text
from typing_extensions import Self

from memgraph_rag.cli.sanitize import line

T = TypeVar("T")


class _Count(MofNCompleteColumn):
    """A column "done/total". It is empty if the total is unknown."""

    def render(self, task: Task) -> Text:
        return Text() if task.total is None else super().render(task)


class Bars:
    """A ``Progress`` callback that draws a bar for each phase. A finished bar stays on the screen with its duration.

    Args:
        console: where to draw; standard error by default.
        forced: draw without a terminal too, one line for each finished phase.
    """

    def __init__(self, console: Console | None = None, *, forced: bool = False) -> None:
        self._console = console or Console(stderr=True)
        self._shown = forced or self._console.is_terminal
        self._live: Progress | None = None
        self._phases: dict[str, TaskID] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        """Draw the progress of one phase; see ``contracts.Progress``."""
        if not self._shown:
            return
        live = self._get_live()
        if what not in self._phases:
            self._phases[what] = live.add_task(what, total=total)
        live.update(self._phases[what], completed=done, total=total)
        if done >= total:
            del self._phases[what]
            if not self._phases:
                self.close()

    def show_waiting(
        self, items: Iterable[T], what: str, *, until: Callable[[T], bool] = lambda _: False
    ) -> Iterator[T]:
        """Yield the items unchanged. While the next item is awaited, a terminal shows a bar of unknown length.

        Args:
            what: name of the phase, shown at the bar.
            until: predicate of an item. After the first item for which it is true, no bar is shown any more.
        """
        iterator, waits = iter(items), True
        while True:
            if waits:
                self._show_pulse(what)
            try:
                item = next(iterator)
            except StopIteration:
                return
            finally:
                self._drop(what)
            waits = waits and not until(item)
            yield item

    def print_line(self, text: str) -> None:
        """Print a line above the bars; without a terminal, too."""
        self._console.print(line(text), markup=False, highlight=False, emoji=False, soft_wrap=True)

    def close(self) -> None:
        """Stop drawing. Finished bars stay on the screen; a later call draws below them."""
        if self._live is not None:
            self._live.stop()
        self._live = None
        self._phases.clear()

    def _get_live(self) -> Progress:
        if self._live is None:
            columns = (TextColumn("{task.description}"), BarColumn(), _Count(), TimeElapsedColumn())
            live = Progress(*columns, console=self._console, redirect_stdout=False)
            live.start()
            self._live = live
        return self._live

    def _show_pulse(self, what: str) -> None:
        """Show a bar of unknown length on a terminal."""
        if self._shown and self._console.is_terminal:
            self._phases[what] = self._get_live().add_task(what, total=None)

    def _drop(self, what: str) -> None:
        """Remove the bar of a phase from the screen, if there is one."""
        task = self._phases.pop(what, None)
        if self._live is not None and task is not None:
            self._live.remove_task(task)
            if not self._phases:
                self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _CostHandler(logging.Handler):
    """Prints each record as a line, which says what Ctrl-C would leave."""

    def __init__(self, bars: Bars) -> None:
        super().__init__(logging.INFO)
        self._bars = bars
        self._left = "leaves the store as it was"

    def emit(self, record: logging.LogRecord) -> None:
        self._bars.print_line(f"{record.getMessage()}; Ctrl-C {self._left}")
        self._left = "keeps the documents that are stored"


@contextmanager
def cost_lines(bars: Bars) -> Iterator[None]:
    """Print what a language model is expected to cost, each time before it begins, as long as the block runs."""
    logger = logging.getLogger("memgraph_rag.cost")
    before, handler = (logger.level, logger.propagate), _CostHandler(bars)
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False  # with --verbose the line would come twice
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]
