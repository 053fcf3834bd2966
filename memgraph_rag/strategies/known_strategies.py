"""The strategies by name: those of the core and those of installed systems.

Invariant: a name of the core never loads a system.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from memgraph_rag.contracts import Strategy
from memgraph_rag.display import show
from memgraph_rag.errors import StrategyError
from memgraph_rag.plugins import find_parts, make_part
from memgraph_rag.strategies.overviews import Overviews
from memgraph_rag.strategies.pecan import Pecan
from memgraph_rag.strategies.qrmem import Qrmem
from memgraph_rag.strategies.top_k import TopK
from memgraph_rag.strategies.walk import Walk

DEFAULT = "walk"

CORE: Mapping[str, Callable[..., Strategy]] = {
    "walk": Walk,
    "pecan": Pecan,
    "qrmem": Qrmem,
    "top_k": TopK,
    "overviews": Overviews,
}
"""The strategies of the core, by name."""


def list_known_strategies() -> dict[str, Callable[..., Strategy]]:
    """Return a factory for each strategy by name, those of the core first."""
    return {**CORE, **{name: factory for name, factory in find_parts("strategies").items() if name not in CORE}}


def find_strategy(wanted: str | Strategy, **arguments: Any) -> Strategy:
    """Return a new strategy by its name, built with these arguments, or a given strategy object unchanged.

    Raises:
        StrategyError: no strategy has that name; or the object is not a strategy, or its ``read`` does not take a
            question and a context.
        SettingsError: the strategy of that name does not take these arguments.
    """
    factory = _find_factory(wanted)
    if factory is not None:
        return make_part(str(wanted), factory, arguments)
    if isinstance(getattr(wanted, "name", None), str) and callable(getattr(wanted, "read", None)):
        strategy = cast("Strategy", wanted)
        _check_signature(strategy)
        return strategy
    raise StrategyError(
        f"Expected a strategy out of {', '.join(list_known_strategies())}, or an object with a name and read(), got "
        f"{show(wanted)}.",
        name=wanted,
    )


def get_ablations(name: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the ablations of a strategy's paper: for each name the arguments that switch one part of it off.

    Raises:
        StrategyError: no strategy has that name, or the strategy has no ablations.
    """
    ablations: Mapping[str, Mapping[str, Any]] = getattr(_find_factory(name), "ablations", {})
    if not ablations:
        names = [each for each, factory in list_known_strategies().items() if getattr(factory, "ablations", {})]
        raise StrategyError(
            f"Expected a strategy with ablations, out of {', '.join(names)}, got {show(name)}.", name=name
        )
    return ablations


def list_required_layers(reader: object) -> Sequence[str]:
    """Return the names of the layers that a strategy or a search mode reads; empty if it names none."""
    return getattr(reader, "requires", ())


def follows_paper(strategy: Strategy) -> bool:
    """Return whether the strategy alone decides to answer, as in its paper, without the library's rules of refusal."""
    return bool(getattr(strategy, "follows_paper", False))


def _find_factory(wanted: object) -> Callable[..., Strategy] | None:
    if not isinstance(wanted, str):
        return None
    return CORE.get(wanted) or list_known_strategies().get(wanted)  # loads no system for a strategy of the core


def _check_signature(strategy: Strategy) -> None:
    """Raise ``StrategyError`` if ``read`` does not take a question and a context."""
    try:
        signature = inspect.signature(strategy.read)
    except ValueError:  # a callable that is not written in Python may have no signature
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
