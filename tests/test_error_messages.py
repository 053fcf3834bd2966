"""The words of errors: one grammar in the whole package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from package_source import MODULES, PACKAGE, walk

from memgraph_rag import errors

NAMES = set(errors.__all__) - {"MemgraphRagWarning"}
GRAMMAR = re.compile(r"Expected .+[, ](got|without) .+|(?!Expected)[A-Z{].+\. [A-Z'{\"].*", re.DOTALL)
"""``Expected …, got …. What to do.``; or what happened, and what to do."""


def text_of(node: ast.expr) -> str:
    """A literal as a text, with "{}" for what is filled in; empty for what is no literal."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


@cache
def list_calls() -> list[tuple[str, ast.Call]]:
    """Return (place, call) of each error of the package that is made with a message."""
    return [
        (f"{path.relative_to(PACKAGE)}:{node.lineno}", node)
        for path in MODULES
        for node in walk(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES and node.args
    ]


def list_messages() -> dict[str, str]:
    """Return the message of each error that is made of a literal, by its place."""
    return {place: text for place, call in list_calls() if (text := text_of(call.args[0]))}


PATHS = {"path", "_path", "folder", "_folder", "source"}
"""Names of what a caller gives that is longer than anybody reads."""


@cache
def filled_in() -> list[tuple[str, ast.FormattedValue]]:
    """Return (place, value) of each value in an f-string, but for those in which an object writes its own ``repr``."""
    values = []
    for path in MODULES:
        nodes = walk(path)
        own = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == "__repr__"]
        skipped = {inner for node in own for inner in ast.walk(node)}
        values += [
            (f"{path.relative_to(PACKAGE)}:{node.lineno}", node)
            for node in nodes
            if isinstance(node, ast.FormattedValue) and node not in skipped
        ]
    return values


def in_errors() -> Iterator[tuple[str, ast.expr]]:
    """Yield (place, expression) of all expressions in the message of an error."""
    for place, call in list_calls():
        for inner in ast.walk(call.args[0]):
            if isinstance(inner, ast.expr):
                yield f"{place.partition(':')[0]}:{inner.lineno}", inner


def test_errors_with_literal_messages_are_found() -> None:
    assert len(list_messages()) > 100


def test_messages_follow_the_grammar() -> None:
    others = {
        place: text
        for place, text in list_messages().items()
        if not GRAMMAR.match(text)
        or (re.match(r"expected\b", text, re.IGNORECASE) and not text.startswith("Expected"))
        or "; came " in text
        or not text.rstrip().endswith((".", "}", "?"))
    }
    assert others == {}


# ── values in messages ───────────────────────────────────────────────────────────────────────────────────────


def test_no_value_is_filled_in_by_bare_repr() -> None:
    """``repr`` of what a caller gives may be endless, or raise; ``display.show`` is neither."""
    bare = [place for place, node in filled_in() if node.conversion == ord("r")]
    assert [place for place in bare if not place.startswith("__init__.py:")] == []  # an AttributeError, as Python's own


def test_no_message_calls_repr_of_a_value() -> None:
    called = [
        (place, node.args[0])
        for place, node in in_errors()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "repr" and node.args
    ]
    assert called == []


def test_paths_in_messages_are_shown_in_short() -> None:
    bare = [
        f"{place} {{{ast.unparse(node.value)}}}"
        for place, node in in_errors()
        if isinstance(node, ast.FormattedValue)
        and isinstance(node.value, (ast.Name, ast.Attribute))
        and (node.value.id if isinstance(node.value, ast.Name) else node.value.attr) in PATHS
    ]
    assert bare == []


def test_checks_of_messages_find_planted_violations() -> None:
    shown = [node for _, node in in_errors() if isinstance(node, ast.Call) and ast.unparse(node.func) == "show"]
    assert len(shown) > 100
    assert len(filled_in()) > 500
