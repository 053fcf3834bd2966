"""Checks of the arguments of ``Memory``, before anything is opened or loaded.

Some checks return the argument in a normal form. The module loads no model and opens no store.
Invariant: a wrong argument raises an error of ``memgraph_rag.errors``; a returned value can be stored and queried.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TypeVar, get_args

from memgraph_rag.contracts import Embedder, GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, QuestionError, SettingsError
from memgraph_rag.lexical import timestamps
from memgraph_rag.types import AnswerStyle, Limits, is_storable, make_storable

T = TypeVar("T")

_MOST_QUESTION_CHARACTERS = 20_000
_MOST_COUNT = 1_000_000
MOST_TOKENS = 1_000_000_000_000


def as_text(value: object) -> str | None:
    """Return a str or a Path as the text of a setting; return None for an object and for None."""
    return str(value) if isinstance(value, (str, Path)) else None


def as_object(part: T | str | Path | None) -> T | None:
    """Return a store or a model that is an object; return None for a name, a path or None."""
    return None if part is None or isinstance(part, (str, Path)) else part


_METHODS = {
    "store": "write",
    "model": "generate",
    "reader": "read_written",
    "embedder": "embed",
    "recognizer": "recognize",
}


def check_parts(parts: Mapping[str, object]) -> None:
    """Check that each store or model is a name, a path, None, or an object with the required method.

    Args:
        parts: arguments of ``Memory`` by name: "store", "model", "reader", "embedder" or "recognizer".

    Raises:
        SettingsError: an object lacks the method.
    """
    for name, part in parts.items():
        method = _METHODS[name]
        if not isinstance(part, (str, Path, type(None))) and not callable(getattr(part, method, None)):
            raise SettingsError(
                f"Expected {name} as a str, a Path or an object that has {method}(), got {show(part)}.", setting=name
            )


def check_count(name: str, count: object, *, most: int = _MOST_COUNT) -> None:
    """Check that a count is a whole number from 1 to ``most``, which each database can handle.

    Raises:
        SettingsError: the count is not such a number.
    """
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= most:
        raise SettingsError(
            f"Expected {name} as a whole number of at least 1 and at most {most:,}, got {show(count)}.", setting=name
        )


def check_path(path: str | Path) -> Path:
    """Return the path of a file. The file need not exist.

    Raises:
        DocumentError: it is neither a str nor a Path, is empty, or holds a character that no path can hold (NUL, half a
            surrogate pair).
    """
    try:
        name = os.fsencode(path)
    except (TypeError, ValueError):  # ValueError: half a surrogate pair
        name = b""
    if not name or b"\0" in name or isinstance(path, bytes):
        raise DocumentError(
            f"Expected the path of a file as a str or a Path, got {show(path)}. Name another file.", path=path
        )
    return Path(path)


def check_namespace(given: str | None, store: GraphStore) -> None:
    """Check that the namespace of a call is None or the namespace of the open store.

    Raises:
        SettingsError: it is another namespace.
    """
    if given is not None and given != store.namespace:
        raise SettingsError(
            f"Expected the namespace of the given store, {show(store.namespace)}, got {show(given)}. "
            "Leave it out, or open the store with the other one.",
            setting="namespace",
        )


def parse_scope_time(name: str, value: str | date | None) -> datetime | None:
    """Return a time of a scope as a datetime with a zone, UTC by default; a day becomes its start, None stays None.

    Raises:
        SettingsError: the value is not a date, a datetime or ISO 8601. The message names the argument ``name``.
    """
    if value is None:
        return None
    text = value.isoformat() if isinstance(value, date) else value
    instant = timestamps.instant(text) if isinstance(text, str) else None
    if instant is None:
        raise SettingsError(
            f"Expected {name} as ISO 8601 (2024-05-01 or 2024-05-01T10:00), a date or a datetime, got {show(value)}.",
            setting=name,
        )
    return instant


def parse_scope_end(until: str | date | None, at: str | date | None) -> datetime | None:
    """Return the exclusive end of a scope's period: ``until``, or the end of the day or moment ``at``.

    The result is None if the period has no end, or ends with Python's calendar.

    Raises:
        SettingsError: an argument is not a time, or both are given.
    """
    moment = parse_scope_time("at", at)
    if moment is None:
        return parse_scope_time("until", until)
    if until is not None:
        raise SettingsError(
            f"Expected until or at, got both, {show(until)} and {show(at)}. Leave one out.", setting="at"
        )
    text = at.isoformat() if isinstance(at, date) else str(at)
    is_day = len(timestamps.read(text)) == len("2024-05-01")
    return timestamps.later(moment, timedelta(days=1) if is_day else timedelta(microseconds=1))


def check_relevance(least: float | None, *, mode: object, embedder: Embedder) -> None:
    """Check the argument ``min_relevance`` of a search, here ``least``; None is always valid.

    Raises:
        SettingsError: ``least`` is not a number from 0 to 1, or the mode or the embedder gives no relevance.
    """
    if least is None:
        return
    if isinstance(least, bool) or not isinstance(least, (int, float)) or not 0 <= least <= 1:
        raise SettingsError(
            f"Expected min_relevance as a number from 0 to 1, got {show(least)}. Leave it out, or try 0.1.",
            setting="min_relevance",
        )
    if mode == "keywords":
        raise SettingsError(
            'Expected mode "graph", "hybrid" or "vector" with min_relevance, got "keywords", which compares words '
            "only. Name another mode, or leave min_relevance out.",
            setting="min_relevance",
        )
    if getattr(embedder, "relevance_curve", None) is None:
        raise SettingsError(
            f"Expected an embedder with a relevance_curve for min_relevance, got {show(embedder.name)}. Leave "
            "min_relevance out, or use the packaged embedder.",
            setting="min_relevance",
        )


def is_possible_key(value: object) -> bool:
    """Return whether the value is a str that a store can look up as an id or key: without NUL and half surrogate pairs.

    The empty string passes. Whether such a node exists is not checked.
    """
    return isinstance(value, str) and is_storable(value)


def check_question(question: str) -> str:
    """Check a question, and return it without outer white space and characters that no store can hold.

    Raises:
        QuestionError: the question is not a str, is empty, or is longer than 20,000 characters.
    """
    if not isinstance(question, str):
        raise QuestionError(f"Expected a question as a str, got {type(question).__name__}. Pass its text.")
    if not question.strip():
        raise QuestionError("Expected a question, got an empty text. Write a question.")
    if len(question) > _MOST_QUESTION_CHARACTERS:
        raise QuestionError(
            f"Expected a question of at most {_MOST_QUESTION_CHARACTERS:,} characters, got {len(question):,}. "
            "Add the long text as a document and ask about it.",
            characters=len(question),
        )
    return clean_text(question)


def clean_text(question: str) -> str:
    """Return a text, perhaps empty, without outer white space, with U+FFFD for characters that no store can hold."""
    return make_storable(question).strip()


def check_limits(limits: object, *, takes: Collection[str] = ("seconds", "tokens", "nodes")) -> Limits:
    """Check the argument ``limits`` of a call, and return it; for None, return ``Limits()``, which limits nothing.

    Args:
        takes: the names of the limits that the call supports.

    Raises:
        SettingsError: ``limits`` is not a ``Limits``, a limit is not a number above 0, or the call does not support it.
    """
    if limits is None:
        return Limits()
    if not isinstance(limits, Limits):
        raise SettingsError(f"Expected limits as Limits(seconds=…, tokens=…), got {show(limits)}.", setting="limits")
    for name in ("seconds", "tokens", "nodes"):
        value = getattr(limits, name)
        if value is None:
            continue
        if name not in takes:
            raise SettingsError(
                f"Expected limits of {' and '.join(takes)} here, got {name}={show(value)}. Leave it out.", setting=name
            )
        kinds, expected = ((int, float), "a number") if name == "seconds" else (int, "a whole number")
        if isinstance(value, bool) or not isinstance(value, kinds) or not value > 0:
            raise SettingsError(f"Expected {name} as {expected} above 0, got {show(value)}.", setting=name)
        if name == "tokens":
            check_count(name, value, most=MOST_TOKENS)
    return limits


def check_style(style: object) -> AnswerStyle:
    """Check the argument ``style`` of a call, and return it as the name of an answer style.

    Raises:
        SettingsError: there is no style with this name.
    """
    known: tuple[AnswerStyle, ...] = get_args(AnswerStyle)
    if style not in known:
        raise SettingsError(
            f"Expected style as one of {', '.join(map(repr, known))}, got {show(style)}.", setting="style"
        )
    return known[known.index(style)]
