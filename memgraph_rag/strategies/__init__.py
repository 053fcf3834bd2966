"""Ways to search the graph, by name: those of the core, and those that installed systems bring.

Open ``walk.py`` first: the default. Invariant: the rest of the library knows a strategy only through this table and
the contract; users may bring their own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

from memgraph_rag.contracts import Strategy
from memgraph_rag.display import show
from memgraph_rag.errors import StrategyError
from memgraph_rag.plugins import find_parts
from memgraph_rag.strategies.overviews import Overviews
from memgraph_rag.strategies.pecan import Pecan
from memgraph_rag.strategies.qrmem import Qrmem
from memgraph_rag.strategies.top_k import TopK
from memgraph_rag.strategies.walk import Walk

__all__ = ["CORE", "DEFAULT", "ablations_of", "find_strategy", "known_strategies"]

DEFAULT = "walk"

CORE: Mapping[str, Callable[..., Strategy]] = {
    "walk": Walk,
    "pecan": Pecan,
    "qrmem": Qrmem,
    "top_k": TopK,
    "overviews": Overviews,
}
"""The strategies that the core brings."""


def known_strategies() -> dict[str, Callable[..., Strategy]]:
    """Return all strategies by name: a maker each, the core's first."""
    return {**CORE, **{name: maker for name, maker in find_parts("strategies").items() if name not in CORE}}


def find_strategy(wanted: str | Strategy, **arguments: Any) -> Strategy:
    """A strategy by its name, with these arguments; one that is a strategy already is given back.

    Raises:
        StrategyError: no strategy of that name, no strategy, one whose ``read`` takes other arguments, or one that does
            not take these arguments.
    """
    maker = _maker(wanted)
    if maker is not None:
        return _made(str(wanted), maker, arguments)
    if isinstance(getattr(wanted, "name", None), str) and callable(getattr(wanted, "read", None)):
        strategy = cast("Strategy", wanted)
        _check_signature(strategy)
        return strategy
    raise StrategyError(
        f"Expected a strategy out of {', '.join(known_strategies())}, or an object with a name and read(), got "
        f"{show(wanted)}.",
        name=wanted,
    )


def ablations_of(name: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the ablations of a strategy's paper: by name, the arguments that take one part of the strategy away.

    Raises:
        StrategyError: no strategy of that name, or one that has none.
    """
    found: Mapping[str, Mapping[str, Any]] = getattr(_maker(name), "ablations", {})
    if not found:
        able = [each for each, maker in known_strategies().items() if getattr(maker, "ablations", {})]
        raise StrategyError(
            f"Expected a strategy that has ablations, out of {', '.join(able)}, got {show(name)}.", name=name
        )
    return found


def _maker(wanted: object) -> Callable[..., Strategy] | None:
    if not isinstance(wanted, str):
        return None
    return CORE.get(wanted) or known_strategies().get(wanted)  # without the systems, where the core has it


def _made(name: str, maker: Callable[..., Strategy], arguments: Mapping[str, Any]) -> Strategy:
    try:
        inspect.signature(maker).bind(**arguments)
    except TypeError as error:
        known = ", ".join(inspect.signature(maker).parameters)
        raise StrategyError(
            f"Expected arguments of {name} out of {known}, got {', '.join(map(show, arguments))}.", name=name
        ) from error
    return maker(**arguments)


def _check_signature(strategy: Strategy) -> None:
    """Refuse an object whose ``read`` takes something else than a question and a context."""
    try:
        signature = inspect.signature(strategy.read)
    except ValueError:  # a callable that is not written in Python may show none
        return
    try:
        signature.bind("question", "context")
    except TypeError as error:
        raise StrategyError(
            f"Expected a strategy with read(question, context), got {show(strategy.name)} with read{signature}. Take "
            "graph, search, session, embedder, limits, documents and extract from the context "
            "(memgraph_rag.contracts.ReadingContext).",
            name=strategy.name,
        ) from error
