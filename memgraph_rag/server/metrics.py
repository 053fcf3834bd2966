"""How many calls a server gets, how long they take and how they end, in the form that Prometheus collects.

It knows no tool and no memory. Invariant: a figure names a tool, a way in and an outcome, never a namespace, a token or
a text, so whoever may read the figures learns nothing of what is remembered.

Source: the text format of Prometheus (OpenMetrics).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal

from mcp.server.mcpserver.exceptions import ToolError
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ["Metrics", "Way"]

Way = Literal["mcp", "rest"]
"""How a call came."""

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
"""Bounds of what is counted together: a recall takes some hundredths, an answer on a CPU up to minutes."""


class Metrics:
    """The figures of one server, from its start."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            "memgraph_rag_call_seconds",
            "How long calls of tools took, by how they ended.",
            ("tool", "way", "outcome"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._under_way = Gauge(
            "memgraph_rag_calls_under_way",
            "Calls that have not ended yet.",
            ("tool", "way"),
            registry=self._registry,
        )
        self._sent_back = Counter(
            "memgraph_rag_calls_sent_back", "Calls of a caller who had too many under way.", registry=self._registry
        )

    @contextmanager
    def call(self, tool: str, way: Way) -> Iterator[None]:
        """One call; its outcome is "ok", or the name of the error with which it ended, as the tool raised it."""
        began = time.perf_counter()

        def end(_: object, error: BaseException | None, *__: object) -> None:
            raised = error.__cause__ if isinstance(error, ToolError) else None  # the SDK's, around ours
            outcome = "ok" if error is None else type(raised or error).__name__
            self._under_way.labels(tool, way).dec()
            self._seconds.labels(tool, way, outcome).observe(time.perf_counter() - began)

        with ExitStack() as call:
            self._under_way.labels(tool, way).inc()
            call.push(end)
            yield

    def send_back(self) -> None:
        """A call was sent back before a tool ran."""
        self._sent_back.inc()

    def text(self) -> bytes:
        """Return all figures, as Prometheus reads them."""
        return generate_latest(self._registry)
