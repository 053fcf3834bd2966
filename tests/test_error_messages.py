"""The words of errors: one grammar in the whole package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tables import table

from memgraph_rag import errors

PACKAGE = Path(errors.__file__).parent
NAMES = set(errors.__all__) - {"MemgraphRagWarning"}
GRAMMAR = re.compile(r"Expected .+[, ](got|without) .+|(?!Expected)[A-Z{].+\. [A-Z'{\"].*", re.DOTALL)
"""``Expected …, got …. What to do.``; or what happened, and what to do."""


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def text_of(node: ast.expr) -> str:
    """A literal as a text, with "{}" for what is filled in; empty for what is no literal."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return ""


def messages() -> Iterator[tuple[str, str]]:
    """(place, message) of each error that is made of a literal."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES and node.args:
                text = text_of(node.args[0])
                if text:
                    yield f"{path.relative_to(PACKAGE)}:{node.lineno}", text


MESSAGES = dict(messages())

PATHS = {"path", "_path", "folder", "_folder", "source"}
"""Names of what a caller gives that is longer than anybody reads."""


def filled_in() -> Iterator[tuple[str, ast.FormattedValue]]:
    """(place, what is filled in) of each f-string, but for those in which an object writes its own ``repr``."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = parse(path)
        own = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "__repr__"]
        skipped = {inner for node in own for inner in ast.walk(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.FormattedValue) and node not in skipped:
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", node


def in_errors() -> Iterator[tuple[str, ast.expr]]:
    """(place, expression) of all that stands in the message of an error."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES and node.args:
                for inner in ast.walk(node.args[0]):
                    if isinstance(inner, ast.expr):
                        yield f"{path.relative_to(PACKAGE)}:{inner.lineno}", inner


def test_errors_with_literal_messages_are_found() -> None:
    assert len(MESSAGES) > 100


@table("place", MESSAGES)
def test_message_follows_the_grammar(place: str) -> None:
    text = MESSAGES[place]
    assert GRAMMAR.match(text), text
    assert not re.match(r"expected\b", text, re.IGNORECASE) or text.startswith("Expected")
    assert "; came " not in text
    assert text.rstrip().endswith((".", "}", "?")), text


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
    assert len(list(filled_in())) > 500
