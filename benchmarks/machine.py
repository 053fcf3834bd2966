"""On what a benchmark ran, and how much memory it took."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

from memgraph_rag import Memory
from memgraph_rag.evaluation.machine import machine_line, model_line, version_line

__all__ = ["header", "machine_line", "memory_now", "peak_memory"]


def header(memory: Memory) -> str:
    """Versions and date, the machine, the models: three lines."""
    connection = getattr(memory._parts.store, "_connection", None)
    engine = f"Neo4j {connection.version}" if connection is not None else "embedded"
    return f"{version_line('torch', 'ladybug')}, {engine}\n{machine_line()}\n{model_line(memory)}"


def peak_memory() -> int:
    """Most bytes that this process has held so far; with what it maps of files."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def memory_now() -> int | None:
    """Bytes that this process holds; None where the system does not tell."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.is_file() else None
