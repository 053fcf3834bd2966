"""Progress bars on standard error.

Invariants: without a terminal, and without ``FORCE_COLOR``, nothing is written; between phases no bar is live, so other
code may print.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text
from typing_extensions import Self

__all__ = ["Bars"]

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
        live = self._started()
        if what not in self._phases:
            self._phases[what] = live.add_task(what, total=total)
        live.update(self._phases[what], completed=done, total=total)
        if done >= total:
            del self._phases[what]
            if not self._phases:
                self.close()

    def between(self, items: Iterable[T], what: str, *, until: Callable[[T], bool] = lambda _: False) -> Iterator[T]:
        """Yield the items unchanged. While the next item is awaited, a terminal shows a bar of unknown length.

        Args:
            what: name of the phase, shown at the bar.
            until: predicate of an item. After the first item for which it is true, no bar is shown any more.
        """
        iterator, waits = iter(items), True
        while True:
            if waits:
                self._pulse(what)
            try:
                item = next(iterator)
            except StopIteration:
                return
            finally:
                self._drop(what)
            waits = waits and not until(item)
            yield item

    def close(self) -> None:
        """Stop drawing. Finished bars stay on the screen; a later call draws below them."""
        if self._live is not None:
            self._live.stop()
        self._live = None
        self._phases.clear()

    def _started(self) -> Progress:
        if self._live is None:
            columns = (TextColumn("{task.description}"), BarColumn(), _Count(), TimeElapsedColumn())
            live = Progress(*columns, console=self._console, redirect_stdout=False)
            live.start()
            self._live = live
        return self._live

    def _pulse(self, what: str) -> None:
        """Show a bar of unknown length on a terminal."""
        if self._shown and self._console.is_terminal:
            self._phases[what] = self._started().add_task(what, total=None)

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
