"""Insert and remove members in JSON with comments, so that nothing else in the text changes.

``json5`` parses the text and gives the places; this module cuts and joins the text. It knows no file. Invariant: the
text outside of the inserted or removed member, and the comma that it needs, stays byte for byte.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import json5
from json5.loader import ModelLoader
from json5.loader import loads as load_model
from json5.model import JSONArray, JSONObject

from memgraph_rag.errors import SettingsError

_UNIT = "  "
_LINE_ENDS = {0x2028: " ", 0x2029: " "}  # which json5 refuses in a text
_REST_OF_LINE = re.compile(r"[ \t]*,?[ \t]*(?://[^\n]*|/\*[^\n]*?\*/[ \t]*)?\r?\n")


@dataclass(frozen=True, slots=True)
class _Container:
    """An object or an array in the text: its brackets are ``[start]`` and ``[end - 1]``.

    Attributes:
        items: the places of its members or items.
    """

    start: int
    end: int
    items: tuple[tuple[int, int], ...]


def parse(text: str) -> Any:
    """Return the value of a text; an empty text counts as an empty object.

    Raises:
        SettingsError: the text is no JSON, even with comments.
    """
    with suppress(ValueError, RecursionError):
        return json.loads(text or "{}")  # much faster, and it takes U+2028 in a text
    try:
        return json5.loads(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"Expected JSON, got another text ({error}). Correct the file.") from error


def get_value(value: Any, keys: Sequence[str]) -> Any:
    """Return the value at a path of keys; None if it is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def set_member(text: str, keys: Sequence[str], value: Any) -> str:
    """Return the text with a member at a path, which must not exist yet; missing objects on the path are made."""
    text = text if text.strip() else "{}\n"
    depth, container = _descend(text, keys)
    for key in reversed(keys[depth + 1 :]):
        value = {key: value}
    return _insert(text, container, json.dumps(keys[depth]) + ": ", value)


def append_item(text: str, keys: Sequence[str], value: Any) -> str:
    """Return the text with an item at the end of the array at a path; a missing array is made."""
    if get_value(parse(text), keys) is None:
        return set_member(text, keys, [value])
    _, container = _descend(text, keys, JSONArray)
    return _insert(text, container, "", value)


def remove_member(text: str, keys: Sequence[str]) -> str:
    """Return the text without the member at a path; unchanged if it is missing."""
    if get_value(parse(text), keys) is None:
        return text
    _, container = _descend(text, keys[:-1])
    names = list(get_value(parse(text), keys[:-1]))
    return _cut(text, container, names.index(keys[-1]))


def remove_item(text: str, keys: Sequence[str], value: Any) -> str:
    """Return the text without the items of the array at a path that equal a value."""
    while value in (items := get_value(parse(text), keys) or []):
        _, container = _descend(text, keys, JSONArray)
        text = _cut(text, container, items.index(value))
    return text


def _descend(text: str, keys: Sequence[str], kind: type[JSONObject | JSONArray] = JSONObject) -> tuple[int, _Container]:
    """Return how many of the keys exist, and the innermost container on the path that exists.

    Raises:
        SettingsError: the value at the end of the path that exists is not of this kind.
    """
    parse(text)
    node: Any = load_model(text.translate(_LINE_ENDS), loader=ModelLoader()).value
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    depth = 0
    while depth < len(keys):
        pairs = node.key_value_pairs if isinstance(node, JSONObject) else []
        found = [pair for pair in pairs if _name(text, pair.key, starts) == keys[depth]]
        if not found:
            break
        node, depth = found[-1].value, depth + 1
    if not isinstance(node, kind):
        wanted, place = "an object" if kind is JSONObject else "an array", ".".join(keys[:depth]) or "the top"
        raise SettingsError(f"Expected {wanted} at {place}, got another value. Correct the file.")
    if isinstance(node, JSONObject):
        items = tuple((_start(pair.key, starts), _end(pair.value, starts)) for pair in node.key_value_pairs)
    else:
        items = tuple((_start(item, starts), _end(item, starts)) for item in node.values)
    return depth, _Container(_start(node, starts), _end(node, starts), items)


def _start(node: Any, starts: Sequence[int]) -> int:
    return starts[node.lineno - 1] + node.col_offset


def _end(node: Any, starts: Sequence[int]) -> int:
    return starts[node.end_lineno - 1] + node.end_col_offset


def _name(text: str, key: Any, starts: Sequence[int]) -> str:
    written = text[_start(key, starts) : _end(key, starts)]
    return json5.loads(written) if written[0] in "\"'" else written


def _insert(text: str, container: _Container, head: str, value: Any) -> str:
    """Return the text with a new last member or item of a container."""
    inside = text[container.start : container.end]
    newline = "\r\n" if "\r\n" in text else "\n"
    if "\n" not in inside and (container.items or text.strip() != inside):
        written = f"{head}{json.dumps(value, ensure_ascii=False)}"
        place = container.items[-1][1] if container.items else container.start + 1
        return f"{text[:place]}{', ' if container.items else ''}{written}{text[place:]}"
    outer = _indentation(text, container.start)
    inner = _indentation(text, container.items[0][0]) if container.items else outer + _UNIT
    lines = json.dumps(value, ensure_ascii=False, indent=inner.removeprefix(outer) or _UNIT).split("\n")
    written = newline.join([f"{inner}{head}{lines[0]}", *(f"{inner}{line}" for line in lines[1:])])
    if not container.items:
        place = text.rindex("\n", container.start, container.end) + 1 if "\n" in inside else container.end - 1
        before = "" if "\n" in inside else newline
        after = newline if "\n" in inside else f"{newline}{outer}"
        return f"{text[:place]}{before}{written}{after}{text[place:]}"
    last = container.items[-1][1]
    rest = _REST_OF_LINE.match(text, last)
    if rest is None or rest.end() >= container.end:
        return f"{text[:last]},{newline}{written}{text[last:]}"
    has_comma = text[last : rest.end()].lstrip().startswith(",")
    comma, trailing = ("", ",") if has_comma else (",", "")
    return f"{text[:last]}{comma}{text[last : rest.end()]}{written}{trailing}{newline}{text[rest.end() :]}"


def _indentation(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip())]


def _cut(text: str, container: _Container, number: int) -> str:
    """Return the text without the member or item with this number, its comma, and its line if it is alone there."""
    start, end = container.items[number]
    comma = re.compile(r"\s*,").match(text, end)
    if comma:
        end = comma.end()
    elif number:
        before = container.items[number - 1][1]
        if text[before : before + 1] == ",":
            text, start, end = text[:before] + text[before + 1 :], start - 1, end - 1
    line_start = text.rfind("\n", 0, start) + 1
    rest = re.compile(r"[ \t]*\r?\n").match(text, end)
    if rest and not text[line_start:start].strip():
        return text[:line_start] + text[rest.end() :]
    return text[:start] + text[end:].lstrip(" " if comma else "")
