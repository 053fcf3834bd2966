"""Lines that describe the machine, the versions and the models of a measurement.

Invariant: no model is loaded; a missing package is reported as not installed.
"""

from __future__ import annotations

import os
import platform
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from memgraph_rag import __version__
from memgraph_rag.errors import ModelNotFound
from memgraph_rag.memory import Memory


def version_line(*packages: str) -> str:
    """Return the versions of this library, Python and the packages (or "not installed"), and the local time."""
    of_packages = ", ".join(f"{name} {_version(name)}" for name in packages)
    now = datetime.now().astimezone()
    return f"memgraph_rag {__version__}, Python {platform.python_version()}, {of_packages}; {now:%Y-%m-%d %H:%M %Z}"


def machine_line() -> str:
    """Return the processor, the number of CPUs, the operating system, and the load of the last minute."""
    return f"{_processor()}, {os.cpu_count()} CPUs, {platform.system()}, load {os.getloadavg()[0]:.1f} at the start"


def model_line(memory: Memory) -> str:
    """Return the memory's embedder and recognizer, the size of its segments, and the model that counts their tokens.

    Without a language model, the embedder is named as the model that counts.
    """
    try:
        tokens_by = memory.language_model.name
    except ModelNotFound:
        tokens_by = memory.embedder.name
    return (
        f"embedder {memory.embedder.name}, recognizer {memory.recognizer.name}, "
        f"segments of {memory.settings.segment_tokens} tokens by {tokens_by}"
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text().splitlines() if listed.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
