"""Check what a strategy yields in each of its passes: the strategy may be written by a user.

Invariant: each pass that is yielded has at least one step, and each step has a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memgraph_rag.contracts import ReadingContext, Strategy
from memgraph_rag.display import show
from memgraph_rag.errors import StrategyError
from memgraph_rag.types import Node, Step


def read_passes(strategy: Strategy, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
    """Yield the steps of each pass of a strategy, as a tuple with at least one step.

    Raises:
        StrategyError: the strategy returned something else than tuples of steps with their nodes.
    """
    try:
        passes = strategy.read(question, context)
    except StopIteration as exc:
        raise _refuse_steps(strategy, "StopIteration") from exc
    if not isinstance(passes, Iterable):
        raise _refuse_steps(strategy, f"a {type(passes).__name__}")
    for steps in passes:
        if not isinstance(steps, tuple) or not steps:
            raise _refuse_steps(strategy, show(steps))
        for step in steps:
            if not isinstance(step, Step) or not isinstance(step.node, Node):
                raise _refuse_steps(strategy, f"{show(step)} among them")
        yield steps


def _refuse_steps(strategy: Strategy, got: str) -> StrategyError:
    return StrategyError(
        f"Expected tuples of at least one Step with its node from strategy {show(strategy.name)}, got {got}. "
        "Correct its method read, or use another strategy.",
        name=strategy.name,
    )
