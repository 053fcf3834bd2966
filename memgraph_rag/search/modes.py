"""The modes of search by name: those of the core, and those that installed systems bring.

Invariant: the search knows a mode of a system only by this table and the contract; users may bring their own.
"""

from __future__ import annotations

from memgraph_rag.contracts import MODES, SearchMode
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.plugins import find_parts

__all__ = ["find_mode", "known_modes"]


def known_modes() -> tuple[str, ...]:
    """Return the names of all modes, the core's first."""
    return (*MODES, *(name for name in find_parts("modes") if name not in MODES))


def find_mode(mode: object) -> SearchMode:
    """Return a mode that the core does not bring: a system's, by its name, or the object itself.

    Raises:
        SettingsError: there is no such mode.
    """
    known = find_parts("modes")
    if isinstance(mode, str) and mode in known:
        return known[mode]()
    if isinstance(getattr(mode, "name", None), str) and callable(getattr(mode, "find", None)):
        return mode  # pyright: ignore[reportReturnType] - it has all that a mode must have
    raise SettingsError(
        f"Expected a search mode out of {', '.join(known_modes())}, or an object with a name and find(), got "
        f"{show(mode)}.",
        mode=mode,
    )
