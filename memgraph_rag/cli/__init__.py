"""The command line: ``memgraph-rag``.

It uses the public API only, and holds no algorithm. Invariants: what a program reads goes to standard output alone,
everything else to standard error; nothing heavy is imported before a command runs, so that help comes at once.
"""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

__all__ = ["main"]

_QUIET = {
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}


def main() -> None:
    """Run the command line, in a process of its own: other libraries' chatter is turned off for all of it."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a terminal cannot show must not end the program
    from memgraph_rag.cli.app import app

    app(prog_name="memgraph-rag")
