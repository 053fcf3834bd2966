"""How a model hears that nobody waits any more for what it writes in a thread.

It knows no model and no thread. Invariant: what runs without an interruption is never ended.
"""

from __future__ import annotations

from concurrent.futures import CancelledError
from contextvars import ContextVar
from threading import Event

__all__ = ["check_interruption", "interruption"]

interruption: ContextVar[Event | None] = ContextVar("interruption", default=None)
"""Set by whoever begins work in a thread; the event is set when that work is over."""


def check_interruption() -> None:
    """Called between two steps of long work.

    Raises:
        CancelledError: nobody waits for it any more.
    """
    event = interruption.get()
    if event is not None and event.is_set():
        raise CancelledError
