"""On what a benchmark ran, and how much memory it took."""

from __future__ import annotations

import os
import platform
import resource
import sys
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

from memgraph_rag import Memory, __version__
from memgraph_rag.errors import ModelNotFound

__all__ = ["header", "machine_line", "memory_now", "peak_memory"]


def header(memory: Memory) -> str:
    """Versions and date, the machine, the models: three lines."""
    import torch

    try:
        tokens = memory.language_model.name
    except ModelNotFound:
        tokens = memory.embedder.name
    return (
        f"memgraph_rag {__version__}, Python {platform.python_version()}, torch {torch.__version__}, "
        f"{_engine(memory)}; {datetime.now().astimezone():%Y-%m-%d %H:%M %Z}\n"
        f"{machine_line()}\n"
        f"embedder {memory.embedder.name}, recognizer {memory.recognizer.name}, "
        f"segments of {memory.settings.segment_tokens} tokens by {tokens}"
    )


def machine_line() -> str:
    """The processor, and how busy it is."""
    return f"{_processor()}, {os.cpu_count()} CPUs, {platform.system()}, load {os.getloadavg()[0]:.1f} at the start"


def _engine(memory: Memory) -> str:
    connection = getattr(memory._store, "_connection", None)
    return f"Neo4j {connection.version}" if connection is not None else f"Ladybug {version('ladybug')}"


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text().splitlines() if listed.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def peak_memory() -> int:
    """Most bytes that this process has held so far; with what it maps of files."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def memory_now() -> int | None:
    """Bytes that this process holds; None where the system does not tell."""
    told = Path("/proc/self/statm")
    return int(told.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if told.is_file() else None
