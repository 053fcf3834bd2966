"""Ways to search the graph, by name.

Invariant: a strategy is known to the rest of the library only through this table and the contract; users may bring
their own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from memgraph_rag.contracts import Strategy
from memgraph_rag.errors import StrategyError
from memgraph_rag.strategies.full_context import FullContext
from memgraph_rag.strategies.longllmlingua import LongLLMLingua
from memgraph_rag.strategies.memwalker import MemWalker
from memgraph_rag.strategies.pecan import Pecan
from memgraph_rag.strategies.qrmem import EntityTrial, GraphExpansion, Qrmem
from memgraph_rag.strategies.reflection import NEVER
from memgraph_rag.strategies.sprag import Sprag
from memgraph_rag.strategies.top_k import TopK
from memgraph_rag.strategies.walk import Walk

__all__ = ["DEFAULT", "QUOTE_UNREAD", "STRATEGIES", "find_strategy"]

DEFAULT = "walk"

_ABLATIONS: dict[Callable[..., Strategy], dict[str, dict[str, Any]]] = {
    Pecan: {
        "pecan_without_graph": {"with_points": False},
        "pecan_without_stop": {"yes_needed": NEVER},
        "pecan_without_attention": {"attention_weight": 0.0},
        "pecan_without_similarity": {"similarity_weight": 0.0},
    },
    Qrmem: {
        "qrmem_without_update": {"updates": 0},
        "qrmem_without_open_entities": {"open_entities": False},
        "qrmem_without_reflection": {"reflects": False},
        "qrmem_without_navigation": {"rounds": 0},
    },
}
"""The papers' systems with one part taken away, as in their ablations: to measure what each is worth."""

STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "walk": Walk,
    "pecan": Pecan,
    "qrmem": Qrmem,
    "qrmem_te": EntityTrial,
    "qrmem_ges": GraphExpansion,
    "top_k": TopK,
    "top_k_graph": lambda: TopK("graph"),
    "top_k_keywords": lambda: TopK("keywords"),
    "top_k_vector": lambda: TopK("vector"),
    "full_context": FullContext,
    "longllmlingua": LongLLMLingua,
    "memwalker": MemWalker,
    "sprag": Sprag,
    "sprag_precision": partial(Sprag, "precision", name="sprag_precision"),
    "sprag_find_all": partial(Sprag, "find_all", name="sprag_find_all"),
    **{
        ablation: partial(whole, name=ablation, **without)
        for whole, ablations in _ABLATIONS.items()
        for ablation, without in ablations.items()
    },
}


QUOTE_UNREAD = frozenset({GraphExpansion.name})
"""Those whose reasons may quote what they did not read: kept, such a trace would outlive the documents it quotes."""


def find_strategy(wanted: str | Strategy) -> Strategy:
    """A strategy by its name, with its defaults; one that is a strategy already is given back.

    Raises:
        StrategyError: no strategy of that name, no strategy, or one whose ``read`` takes other arguments.
    """
    if isinstance(wanted, str) and wanted in STRATEGIES:
        return STRATEGIES[wanted]()
    if isinstance(getattr(wanted, "name", None), str) and callable(getattr(wanted, "read", None)):
        strategy = cast("Strategy", wanted)
        _check_signature(strategy)
        return strategy
    names = [name for name in STRATEGIES if not any(name in ablations for ablations in _ABLATIONS.values())]
    raise StrategyError(
        f"Expected a strategy out of {', '.join(names)}, or an object with a name and read(), got {wanted!r}.",
        name=wanted,
    )


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
            f"Expected a strategy with read(question, context), got {strategy.name!r} with read{signature}. Take "
            "graph, search, session, embedder, budget, documents and extract from the context "
            "(memgraph_rag.contracts.ReadingContext).",
            name=strategy.name,
        ) from error
