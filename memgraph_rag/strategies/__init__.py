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
from memgraph_rag.display import show
from memgraph_rag.errors import StrategyError
from memgraph_rag.strategies.decom import Decom
from memgraph_rag.strategies.full_context import FullContext
from memgraph_rag.strategies.graphrag_drift import GraphragDrift
from memgraph_rag.strategies.graphrag_global import GraphragGlobal
from memgraph_rag.strategies.graphrag_local import GraphragLocal
from memgraph_rag.strategies.hipporag import HippoRag, HippoRag2
from memgraph_rag.strategies.llmlingua import LLMLingua
from memgraph_rag.strategies.longllmlingua import LongLLMLingua
from memgraph_rag.strategies.longrefiner import LongRefiner
from memgraph_rag.strategies.memwalker import MemWalker
from memgraph_rag.strategies.overviews import Overviews
from memgraph_rag.strategies.pecan import Pecan
from memgraph_rag.strategies.qrmem import EntityTrial, GraphExpansion, Qrmem
from memgraph_rag.strategies.raptor import Raptor, RaptorTraversal
from memgraph_rag.strategies.sliding_window import SlidingWindow
from memgraph_rag.strategies.sprag import Sprag
from memgraph_rag.strategies.summary import Summary
from memgraph_rag.strategies.token_budget import START_TOKENS
from memgraph_rag.strategies.top_k import TopK
from memgraph_rag.strategies.walk import Walk

__all__ = ["DEFAULT", "QUOTE_UNREAD", "STRATEGIES", "find_strategy"]

DEFAULT = "walk"

_AVERAGE_NODES = 33
"""Nodes that PECAN read a question, mean over its four sets (48, 36, 17, 30). ``evaluate --max-nodes`` gives another
number: the mean of ``pecan`` on the questions at hand."""

_ABLATIONS: dict[Callable[..., Strategy], dict[str, dict[str, Any]]] = {
    Pecan: {
        "pecan_without_graph": {"shape": "tree"},
        "pecan_without_stop": {"count": _AVERAGE_NODES},
        "pecan_without_attention": {"attention_weight": 0.0},
        "pecan_without_similarity": {"similarity_weight": 0.0},
    },
    Qrmem: {
        "qrmem_without_update": {"updates": 0},
        "qrmem_without_open_entities": {"open_entities": False},
        "qrmem_without_reflection": {"reflects": False},
        "qrmem_without_navigation": {"rounds": 0},
    },
    HippoRag2: {"hipporag2_without_filter": {"filters": False}},
    LongRefiner: {
        "longrefiner_without_structure": {"with_structure": False},
        "longrefiner_without_query_analysis": {"with_query_analysis": False},
        "longrefiner_without_global_selection": {"with_global_selection": False},
    },
}
"""The papers' systems with one part taken away, as in their ablations: to measure what each is worth."""

STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "walk": Walk,
    "pecan": Pecan,
    "pecan_calibrated": partial(Pecan, calibrated=True, start_tokens=START_TOKENS, name="pecan_calibrated"),
    "qrmem": Qrmem,
    "qrmem_te": EntityTrial,
    "qrmem_ges": GraphExpansion,
    "top_k": TopK,
    "top_k_graph": lambda: TopK("graph"),
    "top_k_keywords": lambda: TopK("keywords"),
    "top_k_vector": lambda: TopK("vector"),
    "raptor": Raptor,
    "raptor_traversal": RaptorTraversal,
    "raptor_top_x": lambda: Raptor(budget_tokens=None, most_nodes=None, name="raptor_top_x"),
    "full_context": FullContext,
    "vanilla": partial(FullContext, keep="end", name="vanilla"),
    "sliding_window": SlidingWindow,
    "summary": Summary,
    "decom": Decom,
    "llmlingua": LLMLingua,
    "longllmlingua": LongLLMLingua,
    "memwalker": MemWalker,
    "longrefiner": LongRefiner,
    "overviews": Overviews,
    "hipporag": HippoRag,
    "hipporag2": HippoRag2,
    "graphrag_local": GraphragLocal,
    "graphrag_global": GraphragGlobal,
    "graphrag_global_dynamic": partial(GraphragGlobal, dynamic=True, name="graphrag_global_dynamic"),
    "graphrag_drift": GraphragDrift,
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
        f"Expected a strategy out of {', '.join(names)}, or an object with a name and read(), got {show(wanted)}.",
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
            f"Expected a strategy with read(question, context), got {show(strategy.name)} with read{signature}. Take "
            "graph, search, session, embedder, budget, documents and extract from the context "
            "(memgraph_rag.contracts.ReadingContext).",
            name=strategy.name,
        ) from error
