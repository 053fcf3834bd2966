"""A system: the layers, search modes and strategies of one paper, each by its name.

Invariant: a system is data. No part of it is built, opened or loaded before the part is requested by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memgraph_rag.contracts.layers import Layer, MemoryLayer
from memgraph_rag.contracts.search import SearchMode
from memgraph_rag.contracts.strategies import Strategy


def _no_parts() -> Mapping[str, Callable[..., Any]]:
    return {}


@dataclass(frozen=True, slots=True)
class System:
    """The parts of one system. Each mapping holds factories by name; a factory takes keyword arguments.

    A distribution registers its system under the entry-point group ``memgraph_rag.systems`` (docs/extending.md).

    Attributes:
        name: of the system, for messages.
        strategies: strategies for ``ask``.
        layers: layers of documents, in the order in which they are built.
        memory_layers: layers of the memory, in the order in which they are built.
        modes: search modes.
    """

    name: str
    strategies: Mapping[str, Callable[..., Strategy]] = field(default_factory=_no_parts)
    layers: Mapping[str, Callable[..., Layer]] = field(default_factory=_no_parts)
    memory_layers: Mapping[str, Callable[..., MemoryLayer]] = field(default_factory=_no_parts)
    modes: Mapping[str, Callable[..., SearchMode]] = field(default_factory=_no_parts)
