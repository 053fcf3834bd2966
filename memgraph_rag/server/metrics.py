"""Counts the calls of a server, their durations and their outcomes, in the format of Prometheus.

It knows no tool and no memory. Invariant: a metric names a tool, a protocol and an outcome, never a namespace, a token
or a text, so a reader of the metrics learns nothing about the content of memories.

Source: the text format of Prometheus (OpenMetrics).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal

from mcp.server.mcpserver.exceptions import ToolError
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

Way = Literal["mcp", "rest"]
"""The protocol of a call."""

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
"""Bounds of the histogram: a recall takes some hundredths of a second, an answer on a CPU up to minutes."""


class Metrics:
    """The metrics of one server since its start."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            "memgraph_rag_call_seconds",
            "Duration of tool calls in seconds, by outcome.",
            ("tool", "way", "outcome"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._under_way = Gauge(
            "memgraph_rag_calls_under_way",
            "Calls that are running.",
            ("tool", "way"),
            registry=self._registry,
        )
        self._sent_back = Counter(
            "memgraph_rag_calls_sent_back", "Calls that were refused by a limit.", registry=self._registry
        )

    @contextmanager
    def call(self, tool: str, way: Way) -> Iterator[None]:
        """Measure the block as one call of a tool over a protocol (``way``)."""
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

    def count_refusal(self) -> None:
        """Count a call that a limit refused before its tool ran; ``call`` does not count it."""
        self._sent_back.inc()

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self._registry)
