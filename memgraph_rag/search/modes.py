"""The search modes by name: those of the core and those of installed systems.

Invariants: the search reaches a system's mode only through this table and the contract ``SearchMode``; everything that
the context of a mode returns is within the documents and the time span of the call. Users may pass their own mode.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from memgraph_rag.contracts import MODES, Embedder, EntityRecognizer, SearchedGraph, SearchMode
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.plugins import find_parts, make_part
from memgraph_rag.search.segment_index import SegmentIndex, View
from memgraph_rag.types import Evidence


def list_known_modes() -> tuple[str, ...]:
    """Return the names of all modes, each once, those of the core first; installed systems are loaded."""
    return (*MODES, *(name for name in find_parts("modes") if name not in MODES))


def find_mode(mode: object, **arguments: Any) -> SearchMode:
    """Return a search mode that is not part of the core: an installed system's by its name, or ``mode`` itself.

    A system's mode is a new object at each call, built with these arguments. With an object, they are ignored.

    Raises:
        SettingsError: no installed system has a mode of that name (a name of the core included), the mode does not take
            these arguments, or the object has no name or no ``find()``.
    """
    known = find_parts("modes")
    if isinstance(mode, str) and mode in known:
        return make_part(mode, known[mode], arguments)
    if isinstance(getattr(mode, "name", None), str) and callable(getattr(mode, "find", None)):
        return mode  # pyright: ignore[reportReturnType] - it has the members of a mode
    raise SettingsError(
        f"Expected a search mode out of {', '.join(list_known_modes())}, or an object with a name and find(), got "
        f"{show(mode)}.",
        mode=mode,
    )


@dataclass(frozen=True, slots=True)
class ModeContext:
    """What a search mode may use during one search; ``contracts.SearchContext`` documents each attribute."""

    graph: SearchedGraph
    embedder: Embedder
    recognizer: EntityRecognizer
    most_bytes: int
    kept: MutableMapping[str, Any]
    look: Callable[..., AbstractContextManager[tuple[SegmentIndex, View]]]
    rank_segments: Callable[..., list[Evidence]]
    evidence: Callable[..., list[Evidence]]
