"""The systems that other distributions install, found by the entry-point group ``memgraph_rag.systems``.

The module knows the contract of a system, and no system itself. Invariants: a name has one owner. A system that cannot
be loaded, or that offers a name of another system, is left out with a warning; the other systems still work.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, TypeVar, get_args

from memgraph_rag.contracts import System
from memgraph_rag.display import show
from memgraph_rag.errors import MemgraphRagError, MemgraphRagWarning, SettingsError, convert_errors

GROUP = "memgraph_rag.systems"

T = TypeVar("T")

Part = Literal["strategies", "layers", "memory_layers", "modes"]

_PARTS: tuple[Part, ...] = get_args(Part)


@cache
def load_systems() -> tuple[System, ...]:
    """Return the installed systems, in the order of their entry points' names. They are loaded once per process.

    A system is left out, with a warning, if it cannot be loaded, or if it offers a name that an earlier system offers
    for the same kind of part. A system that is installed later is not seen.
    """
    loaded: list[System] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        system = _load_system(point)
        if system is not None and _has_unique_names(system, loaded, point):
            loaded.append(system)
    return tuple(loaded)


def find_parts(part: Part) -> dict[str, Callable[..., Any]]:
    """Return the parts of one kind that the systems of ``load_systems`` offer: a factory by each name.

    The parts of the core are not included. No factory is called.
    """
    return {name: maker for system in load_systems() for name, maker in getattr(system, part).items()}


def make_part(name: str, factory: Callable[..., T], arguments: Mapping[str, Any]) -> T:
    """Call the factory of a part, such as a strategy, with these arguments, and return the part.

    Raises:
        SettingsError: the factory does not take these arguments.
    """
    try:
        inspect.signature(factory).bind(**arguments)
    except TypeError as error:
        known = ", ".join(inspect.signature(factory).parameters) or "none"
        raise SettingsError(
            f"Expected arguments of {name} out of {known}, got {', '.join(map(show, arguments))}.", name=name
        ) from error
    return factory(**arguments)


def _load_system(point: EntryPoint) -> System | None:
    """Return the system of an entry point; None, with a warning, if its code fails or returns something else."""
    try:
        with convert_errors(lambda error: SettingsError(f"Expected a system that can be loaded, got {show(error)}.")):
            system: object = point.load()
    except MemgraphRagError as error:
        cause = error.__cause__ or error
        _warn(point, f"{type(cause).__name__}: {show(cause)}")
        return None
    if not isinstance(system, System):
        _warn(point, f"a {type(system).__name__}")
        return None
    return system


def _has_unique_names(system: System, others: list[System], point: EntryPoint) -> bool:
    """Return whether no other system offers a part with the same name; warn if one does."""
    for part in _PARTS:
        for other in others:
            if both := sorted(getattr(system, part).keys() & getattr(other, part).keys()):
                _warn(point, f"{part} that the system {show(other.name)} offers too: {', '.join(map(show, both))}")
                return False
    return True


def _warn(point: EntryPoint, got: str) -> None:
    distribution = point.dist.name if point.dist else "an unknown distribution"
    warnings.warn(
        f"Expected a system (memgraph_rag.contracts.System) at the entry point {show(point.name)} of {distribution}, "
        f"got {got}. It is left out: update or uninstall that distribution.",
        MemgraphRagWarning,
        stacklevel=4,
    )
