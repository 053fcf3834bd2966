"""How commands end after an error: with one line on standard error, and an exit status.

It knows no command. Invariants: an error of ours, a stream that cannot be written and a lack of memory are one line and
1, a variable or a file of settings that cannot be used is one line and 2, Ctrl-C is one line and 130; whatever stands
in a message, no control character of it reaches the terminal.
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

__all__ = ["one_line", "plain_usage"]

_UsageError: Any = typer.BadParameter.__base__  # of the click that typer brings, or of the one beside it


@contextmanager
def one_line() -> Iterator[None]:
    """Errors within become a line and ``typer.Exit``."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()  # while it can still be told that this fails
    except MemgraphRagError as error:
        # A wrong variable or file of settings is wrong usage, as a wrong option is.
        status = 2 if hasattr(error, "variable") or hasattr(error, "settings_file") else 1
        raise _end(f"{type(error).__name__}: {error}", status=status) from error
    except OSError as error:
        if error.errno == errno.EPIPE:  # who read the output has enough: ended in silence by click
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
        raise _end("Interrupted. What was not finished is not stored.", status=130) from interrupt


@contextmanager
def plain_usage() -> Iterator[None]:
    """Wrong usage is told without what the words given could do to a terminal."""
    try:
        yield
    except _UsageError as error:
        error.message = line(error.message)
        raise


def _end(message: str, *, status: int = 1) -> typer.Exit:
    with suppress(OSError):  # standard error may be what cannot be written
        typer.echo(line(message), err=True)
    return typer.Exit(status)


def _drop_output() -> None:
    """Let standard output lead nowhere where it cannot be written: Python writes what is left when it ends."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
