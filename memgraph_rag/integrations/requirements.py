"""Convert the failed import of a framework into an error of this library that says what to install.

It knows no framework.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError


@contextmanager
def framework(name: str, *, extra: str, python: tuple[int, int] = (3, 10)) -> Iterator[None]:
    """Turn an ``ImportError`` of this block, which imports a framework, into an error that says what to install.

    Args:
        name: the name of the framework, as its makers write it.
        extra: the extra of this package that installs the framework.
        python: the oldest version of Python that the framework runs on.

    Raises:
        SettingsError: an import fails, or this Python is too old. On an old Python nothing of the block is run.
    """
    if sys.version_info < python:
        ours = ".".join(map(str, sys.version_info[:2]))
        raise SettingsError(
            f"Expected Python {python[0]}.{python[1]} or newer for {name}, got {ours}. Make an environment with one.",
            extra=extra,
        )
    try:
        yield
    except ImportError as exc:
        raise SettingsError(
            f'Expected the package {name}, got {show(exc)}. Install it: pip install "memgraph_rag[{extra}]".',
            extra=extra,
        ) from exc
