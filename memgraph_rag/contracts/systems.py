"""What a system brings: the ways of one paper to build, to search and to read, each by its name.

Invariant: a system is data. Nothing is built, opened or loaded before one of its parts is asked for by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memgraph_rag.contracts.layers import Layer, MemoryLayer
from memgraph_rag.contracts.search import SearchMode
from memgraph_rag.contracts.strategies import Strategy

__all__ = ["System"]


def _none() -> Mapping[str, Callable[..., Any]]:
    return {}


@dataclass(frozen=True, slots=True)
class System:
    """The parts of one system; each value makes the part with its defaults, from keyword arguments.

    A distribution offers its system as an entry point of the group ``memgraph_rag.systems`` (docs/extending.md).

    Attributes:
        name: of the system, for messages.
        strategies: ways to read the graph, for ``ask``.
        layers: of documents, in the order in which they are built.
        memory_layers: layers of the memory, in the order in which they are built.
        modes: of search.
    """

    name: str
    strategies: Mapping[str, Callable[..., Strategy]] = field(default_factory=_none)
    layers: Mapping[str, Callable[..., Layer]] = field(default_factory=_none)
    memory_layers: Mapping[str, Callable[..., MemoryLayer]] = field(default_factory=_none)
    modes: Mapping[str, Callable[..., SearchMode]] = field(default_factory=_none)
