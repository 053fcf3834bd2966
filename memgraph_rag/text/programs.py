"""Find the functions and classes of a program by tree-sitter, where the extra ``code`` is installed.

The module knows syntax trees and no file. Invariants: places are characters of the text; a text that no grammar knows,
and any text without the extra, has no definitions and is cut as other text is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

from memgraph_rag.lexical.code import find_program_language
from memgraph_rag.types import as_line

if TYPE_CHECKING:
    from tree_sitter import Node

_DEFINITION = re.compile(r"(?:definition|declaration|_item|_specifier)$|^(?:class|module|method|impl)\b")
_NAMED = ("definition", "declaration", "value")  # fields that hold a definition within a decorated or exported one
_MOST_DEPTH = 4  # of definitions within definitions
_LONGEST_SIGNATURE = 160


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, class or the like: ``[start, end)`` with the comments above it, and its signature."""

    start: int
    end: int
    signature: str


def definitions(text: str, name: str) -> list[Definition]:
    """Return the definitions of more than one line in a program, in order, the outer before the inner ones.

    Args:
        name: the end of the file's path, which tells the language.
    """
    language = find_program_language(name)
    if not language or find_spec("tree_sitter_language_pack") is None:
        return []
    from tree_sitter_language_pack import get_parser

    encoded = text.encode("utf-8", "surrogatepass")
    try:
        tree = get_parser(cast(Any, language)).parse(encoded)
    except (LookupError, ValueError):  # a release of the pack without this language
        return []
    places = list(accumulate((len(character.encode("utf-8", "surrogatepass")) for character in text), initial=0))
    return [
        Definition(bisect_right(places, start) - 1, bisect_right(places, end) - 1, signature)
        for start, end, signature in _walk(tree.root_node, encoded, 0)
    ]


def scopes(text: str, name: str, starts: Iterable[int]) -> list[str]:
    """Return for each of ``starts`` (characters) the signatures of the definitions around it, joined, outer first."""
    known = definitions(text, name)
    return [
        " ".join(item.signature for item in known if item.start < start < item.end)[:_LONGEST_SIGNATURE]
        for start in starts
    ]


def _walk(node: Node, encoded: bytes, depth: int) -> Iterator[tuple[int, int, str]]:
    above: Node | None = None  # the first of the comments and attributes directly before a child
    for child in node.children:
        if "comment" in child.type or child.type in ("attribute_item", "decorator", "annotation"):
            above = above or child
            continue
        inner = next((found for field in _NAMED if (found := child.child_by_field_name(field))), child)
        body = inner.child_by_field_name("body") or next((part for part in inner.children if "body" in part.type), None)
        if body is not None and _DEFINITION.search(inner.type) and child.end_point[0] > child.start_point[0]:
            signature = encoded[inner.start_byte : body.start_byte].decode("utf-8", "replace")
            yield (above or child).start_byte, child.end_byte, as_line(signature)[:_LONGEST_SIGNATURE]
            if depth < _MOST_DEPTH:
                yield from _walk(body, encoded, depth + 1)
        above = None
