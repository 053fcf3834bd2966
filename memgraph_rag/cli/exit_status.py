"""The end of a command after an error: one line on standard error, and an exit status.

It knows no command. Invariants: an error of this library, a stream that cannot be written, or a lack of memory gives
status 1; an invalid variable or settings file gives status 2; Ctrl-C gives status 130. Each prints one line. Control
characters of a message never reach the terminal.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer

from memgraph_rag.cli.sanitize import line
from memgraph_rag.errors import MemgraphRagError

_UsageError: Any = typer.BadParameter.__base__  # of the click that typer brings, or of the one beside it


@contextmanager
def one_line() -> Iterator[None]:
    """Turn an error of the block into one line on standard error and ``typer.Exit``; flush standard output at its end.

    These are errors of this library, ``OSError``, ``MemoryError`` and Ctrl-C. A pipe that its reader closed, and any
    other exception, are raised unchanged.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # here, because a failure can still be reported
    except MemgraphRagError as error:
        # A wrong variable or settings file is wrong usage, as a wrong option is.
        status = 2 if hasattr(error, "variable") or hasattr(error, "settings_file") else 1
        raise _end(f"{type(error).__name__}: {error}", status=status) from error
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader closed the pipe: click ends the process silently
            raise
        _drop_output()
        raise _end(
            f"OSError: Expected files and streams that can be read and written, got {error}. Make room, or name others."
        ) from error
    except MemoryError as error:
        raise _end(
            "MemoryError: Expected more memory than this process may have. Close other programs, raise its limit "
            "(ulimit -v), or do less at a time."
        ) from error
    except KeyboardInterrupt as interrupt:
        raise _end("Interrupted. Unfinished work is not stored.", status=130) from interrupt


@contextmanager
def plain_usage() -> Iterator[None]:
    """Remove control characters from the message of a usage error, and raise it again."""
    try:
        yield
    except _UsageError as error:
        error.message = line(error.message)
        raise


def _end(message: str, *, status: int = 1) -> typer.Exit:
    """Print a message as one line on standard error, and return the exit for the caller to raise."""
    with suppress(OSError):  # standard error may be what cannot be written
        typer.echo(line(message), err=True)
    return typer.Exit(status)


def _drop_output() -> None:
    """Connect standard output to the null device if it cannot be written.

    Otherwise Python would write the rest of the buffer when it ends, and fail again.
    """
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
