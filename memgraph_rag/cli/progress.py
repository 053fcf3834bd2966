"""Progress bars on standard error.

It knows nothing of the work. Invariants: where no person looks (no terminal, and not forced by ``FORCE_COLOR``)
nothing is written; while no phase is under way nothing is alive on the screen, so that others may print.
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
    """How many of how many; nothing where that is not known."""

    def render(self, task: Task) -> Text:
        return Text() if task.total is None else super().render(task)


class Bars:
    """A ``Progress`` of the library that draws a bar for each phase, and leaves it there with the time it took.

    Args:
        console: where to draw; standard error by default.
        forced: draw even where no terminal is: then one line for each finished phase.
    """

    def __init__(self, console: Console | None = None, *, forced: bool = False) -> None:
        self._console = console or Console(stderr=True)
        self._shown = forced or self._console.is_terminal
        self._live: Progress | None = None
        self._phases: dict[str, TaskID] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        """Draw how far one phase is; see ``contracts.Progress``."""
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
        """The same items; while the next one is waited for, a terminal shows ``what`` is going on.

        Args:
            until: told each item; after the first one of which it is true, nothing is shown any more.
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
        """Leave on the screen what is there; a later call draws below it."""
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
        """Show a phase of unknown length."""
        if self._shown and self._console.is_terminal:
            self._phases[what] = self._started().add_task(what, total=None)

    def _drop(self, what: str) -> None:
        """Take a phase off the screen, if it is there."""
        task = self._phases.pop(what, None)
        if self._live is not None and task is not None:
            self._live.remove_task(task)
            if not self._phases:
                self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
