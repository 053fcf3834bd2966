"""The modules of the package as syntax trees, for the tests of its shape: each worker parses a module once."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import memgraph_rag

__all__ = ["MODULES", "PACKAGE", "parse", "walk"]

PACKAGE = Path(memgraph_rag.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def walk(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a module, in the order of ``ast.walk``."""
    return tuple(ast.walk(parse(path)))
