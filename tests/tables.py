"""Tables of cases in one test: the test runs for each row, and its failure lists every row that fails.

A table is for cases that need no fixture of their own: rows share the fixtures of the test. Where a case needs a
store or a folder of its own, ``pytest.mark.parametrize`` makes a test of each.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

__all__ = ["table"]


def table(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for each row; ``names`` and ``rows`` are those of ``pytest.mark.parametrize``.

    Tables above one another make the product of their rows.
    """
    columns = tuple(name.strip() for name in names.split(",")) if isinstance(names, str) else tuple(names)
    single = isinstance(names, str) and len(columns) == 1
    cases = [dict(zip(columns, (row,) if single else row, strict=True)) for row in rows]
    assert cases, "Expected rows, got none: the table would test nothing."

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def whole(*drawn: Any, **fixtures: Any) -> None:
            fixtures |= zip(names_kept, drawn, strict=False)  # hypothesis gives its values in order
            failures: list[str] = []
            for case in cases:
                try:
                    test(**fixtures, **case)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - the other rows are run, too
                    shown = ", ".join(f"{name}={value!r:.300}" for name, value in case.items())
                    failures.append(f"{shown}\n    {type(error).__name__}: {error}")
            if failures:
                pytest.fail(f"{len(failures)} of {len(cases)} rows fail:\n" + "\n".join(failures), pytrace=False)

        signature = inspect.signature(test)
        kept = [parameter for name, parameter in signature.parameters.items() if name not in columns]
        names_kept = [parameter.name for parameter in kept]
        whole.__signature__ = signature.replace(parameters=kept)  # pyright: ignore[reportAttributeAccessIssue]
        return whole

    return decorate
