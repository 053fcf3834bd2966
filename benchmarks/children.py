"""Work in processes of its own: another engine with its model, or a measurement of memory.

It knows neither models nor engines. Invariant: a child that fails or dies becomes a ``ChildError`` with its last
words; no child outlives its ``with``.
"""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from machine import peak_memory
from typing_extensions import Self

__all__ = ["Child", "ChildError", "in_child", "peak_while", "yielded"]

T = TypeVar("T")
_WORDS = 400  # characters of an error


class ChildError(Exception):
    """What a child was to do failed there."""


class Child:
    """An object that lives in a fresh process, with its methods.

    Args:
        make: makes the object there; a function or class that can be pickled.
        given: what ``make`` is called with.

    Raises:
        ChildError: it could not be made.
    """

    def __init__(self, make: Callable[..., object], *given: object) -> None:
        spawning = multiprocessing.get_context("spawn")
        self._pipe, theirs = spawning.Pipe()
        self._process = spawning.Process(target=_serve, args=(theirs, make, given), daemon=True)
        self._process.start()
        theirs.close()
        try:
            self._answer()
        except ChildError:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self._process.pid is not None
        return self._process.pid

    def call(self, method: str, *given: object) -> Any:
        """What the object's method returns; ``ChildError`` where it raises."""
        self._pipe.send((method, given))
        return self._answer()

    def _answer(self) -> Any:
        try:
            is_good, answer = self._pipe.recv()
        except EOFError:
            self._process.join()
            raise ChildError(f"the process ended with {self._process.exitcode}") from None
        if not is_good:
            raise ChildError(answer)
        return answer

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join(timeout=30)
        if self._process.is_alive():
            self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _serve(pipe: Connection, make: Callable[..., object], given: tuple[object, ...]) -> None:
    """The child's side: make the object, then do what is asked until nobody asks."""
    thing: Any = None
    asked: tuple[str, tuple[object, ...]] = ("", given)
    while True:
        method, given = asked
        try:
            answer = getattr(thing, method)(*given) if method else None
            thing = thing if method else make(*given)
        except Exception as error:  # noqa: BLE001 - whatever an engine raises is told to who asked
            lines = [line for line in str(error).splitlines() if line.strip()]
            pipe.send((False, f"{type(error).__name__}: {lines[-1].strip() if lines else ''}"))
        else:
            pipe.send((True, answer))
        try:
            asked = pipe.recv()
        except EOFError:
            return


class _Call:
    """A function as an object with one method."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function

    def run(self, *given: object) -> object:
        return self._function(*given)


def in_child(function: Callable[..., T], *given: object) -> T:
    """What the function returns, in a fresh process that ends with it."""
    with Child(_Call, function) as child:
        return child.call("run", *given)


def yielded(function: Callable[..., Iterator[T]], *given: object, silence_s: float) -> Iterator[T]:
    """What a generator function yields in a fresh process, as it comes.

    Args:
        silence_s: it is ended where nothing came for so long, whatever it hangs in.

    Raises:
        ChildError: it failed, died, or was silent for too long.
    """
    spawning = multiprocessing.get_context("spawn")
    pipe, theirs = spawning.Pipe(duplex=False)
    process = spawning.Process(target=_tell, args=(theirs, function, given), daemon=True)
    process.start()
    theirs.close()
    try:
        while pipe.poll(silence_s):
            kind, item = _received(pipe, process)
            if kind == "end":
                return
            if kind == "error":
                raise ChildError(item)
            yield item
        raise ChildError(f"nothing came for {silence_s:.0f} s")
    finally:
        pipe.close()
        process.kill()
        process.join(timeout=30)


def _received(pipe: Connection, process: Any) -> tuple[str, Any]:
    try:
        return pipe.recv()
    except EOFError:
        process.join()
        raise ChildError(f"the process ended with {process.exitcode}") from None


def _tell(pipe: Connection, function: Callable[..., Iterator[object]], given: tuple[object, ...]) -> None:
    """The child's side: send each item, then that it is the end, or what went wrong; standard error has all of it."""
    try:
        for item in function(*given):
            pipe.send(("item", item))
    except Exception as error:  # noqa: BLE001 - told to who asked
        traceback.print_exc()
        lines = " ".join(f"{type(error).__name__}: {error}".split())
        pipe.send(("error", lines[:_WORDS] + "…" * (len(lines) > _WORDS)))
    else:
        pipe.send(("end", None))


def peak_while(work: Callable[[], object]) -> int:
    """Most bytes that this process held while it did that; where the system cannot forget, since the process began."""
    forget, status = Path("/proc/self/clear_refs"), Path("/proc/self/status")
    if not forget.exists():
        work()
        return peak_memory()
    forget.write_text("5")  # resets the peak
    work()
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024
