"""No look for garbage while libraries are imported and tokenizers opened.

It knows Python's collector. Invariant: afterwards it is as the host application had it.

What is made meanwhile stays, some 400,000 objects; the collector goes through all of them again and again as they get
more, which takes a third of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["without_garbage_collection"]


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Collect no garbage in any thread inside the block; where two overlap, until the one that began first ends."""
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()
