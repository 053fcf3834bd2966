"""The words of errors: one grammar in the whole package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memgraph_rag import errors

PACKAGE = Path(errors.__file__).parent
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


def messages() -> Iterator[tuple[str, str]]:
    """(place, message) of each error that is made of a literal."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMES and node.args:
                text = text_of(node.args[0])
                if text:
                    yield f"{path.relative_to(PACKAGE)}:{node.lineno}", text


MESSAGES = dict(messages())


def test_errors_with_literal_messages_are_found() -> None:
    assert len(MESSAGES) > 100


@pytest.mark.parametrize("place", MESSAGES)
def test_message_follows_the_grammar(place: str) -> None:
    text = MESSAGES[place]
    assert GRAMMAR.match(text), text
    assert not re.match(r"expected\b", text, re.IGNORECASE) or text.startswith("Expected")
    assert "; came " not in text
    assert text.rstrip().endswith((".", "}", "?")), text
