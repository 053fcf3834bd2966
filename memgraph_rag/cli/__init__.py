"""The command line: ``memgraph-rag``.

Open ``app.py`` first: it lists the commands and the module of each command. ``options.py`` holds the options that
commands share. This room holds no algorithm. Invariants: standard output receives results, standard error receives
everything else; help appears at once, because no heavy module is imported before a command runs.
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
    "TQDM_DISABLE": "1",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}


def main() -> None:
    """Run the command line and end the process. Progress bars and notices of other libraries are turned off."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a terminal cannot show must not end the program
    from memgraph_rag.cli.app import app

    app(prog_name="memgraph-rag")


def _open_closed_streams() -> None:
    """Connect closed standard streams to the null device.

    Otherwise the next opened file, such as a database, would get the descriptor of a closed stream. Printed text would
    then be written into that file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
