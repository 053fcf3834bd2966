"""Code blocks of README and the guides, and how the tests run them."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["blocks", "run_program"]


def blocks(text: str, language: str) -> list[str]:
    """Return the code blocks of a language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def run_program(program: str, name: str, names: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run a program with the names of the programs before it; return all names."""
    names = {} if names is None else names
    exec(compile(program, name, "exec"), names)
    return names
