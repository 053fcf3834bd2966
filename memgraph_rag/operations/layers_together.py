"""Layers of the same documents, built beside one another: their prompts share the passes of the language model.

It knows neither documents nor rows. Invariants: what was built comes in the order of the layers, and the error that is
raised is that of the first layer that has one; progress is told in the caller's thread; when the caller is interrupted,
no layer writes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from queue import SimpleQueue
from threading import Event
from typing import TypeVar

from memgraph_rag.contracts import Layer, Progress
from memgraph_rag.models.interruption import interruption

__all__ = ["build_together", "waves"]

T = TypeVar("T")

Build = Callable[[Layer, Progress | None], T]


def waves(layers: Sequence[Layer]) -> list[list[Layer]]:
    """The layers in order, in groups of which no layer takes anything from another of its group."""
    groups: list[list[Layer]] = []
    for layer in layers:
        takes = {*layer.requires, *getattr(layer, "uses", ())}
        if groups and takes.isdisjoint(other.name for other in groups[-1]):
            groups[-1].append(layer)
        else:
            groups.append([layer])
    return groups


def build_together(layers: Sequence[Layer], build: Build[T], progress: Progress | None) -> list[T]:
    """What each layer builds, in order; each is built in a thread of its own."""
    is_over = Event()
    events: SimpleQueue[tuple[str, int, int] | None] = SimpleQueue()  # None: a layer has ended

    def tell(what: str, done: int, total: int) -> None:
        events.put((what, done, total))

    def begin(layer: Layer) -> T:
        interruption.set(is_over)
        return build(layer, None if progress is None else tell)

    with ThreadPoolExecutor(len(layers), "layer") as pool:
        try:
            building: list[Future[T]] = [pool.submit(copy_context().run, begin, layer) for layer in layers]
            for future in building:
                future.add_done_callback(lambda _: events.put(None))
            ended = 0
            while ended < len(building) and not _fails_first(building):
                event = events.get()
                if event is None:
                    ended += 1
                elif progress is not None:
                    progress(*event)
            return [future.result() for future in building]
        finally:
            is_over.set()


def _fails_first(building: Sequence[Future[T]]) -> bool:
    """Whether one has failed, and none before it is still being built."""
    for future in building:
        if not future.done():
            return False
        if future.exception() is not None:
            return True
    return False
