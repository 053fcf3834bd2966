"""The command line: ``memgraph-rag``.

Open ``app.py`` first: it lists the commands, a module for each group. ``options.py`` holds the options that commands
share. This room holds no algorithm. Invariants: standard output gets only what a program reads, standard error gets
everything else; help comes at once, because nothing heavy is imported before a command runs.
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
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a terminal cannot show must not end the program
    from memgraph_rag.cli.app import app

    app(prog_name="memgraph-rag")


def _open_what_is_closed() -> None:
    """Have closed standard streams lead nowhere.

    Else the next file that is opened, a database say, has the number of one, and gets what is printed there.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
