"""The search modes by name: those of the core and those of installed systems.

Invariant: the search reaches a system's mode only through this table and the contract ``SearchMode``. Users may pass
their own mode object.
"""

from __future__ import annotations

from typing import Any

from memgraph_rag.contracts import MODES, SearchMode
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.plugins import find_parts, make_part

__all__ = ["find_mode", "known_modes"]


def known_modes() -> tuple[str, ...]:
    """Return the names of all modes, each once, those of the core first; installed systems are loaded."""
    return (*MODES, *(name for name in find_parts("modes") if name not in MODES))


def find_mode(mode: object, **arguments: Any) -> SearchMode:
    """Return a mode that is not part of the core: an installed system's mode by name, or the given object itself.

    A system's mode is a new object at each call, built with these arguments.

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
        f"Expected a search mode out of {', '.join(known_modes())}, or an object with a name and find(), got "
        f"{show(mode)}.",
        mode=mode,
    )
