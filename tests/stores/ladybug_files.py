"""Ladybug files for tests: opened here, and used by programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from memgraph_rag.stores import open_store
from memgraph_rag.stores.ladybug.store import LadybugStore
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER


def opened(path: Path | str, namespace: str = "n", *, read_only: bool = False) -> LadybugStore:
    """The migrated store of a namespace in a file."""
    store = open_store(path, namespace=namespace, read_only=read_only)
    assert isinstance(store, LadybugStore)
    store.migrate(embedder=EMBEDDER, dimension=DIMENSION)
    return store


def run_python(program: str, *arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """What a program did that imports from where this process does."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-W", "ignore", "-c", program, *map(str, arguments)]
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, env=environment, timeout=300, check=False
    )


def output_of(program: str, *arguments: object) -> str:
    """What a program wrote, first its output and then its errors."""
    done = run_python(program, *arguments)
    return done.stdout + done.stderr[-2000:]
