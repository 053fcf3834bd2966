"""Read a fixed list of nodes, one after the other. The flat strategies share this module.

The module knows the session by its contract. Invariant: each node that is read was the next one of the list and fits
into the window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.node_lines import NodeLines
from memgraph_rag.strategies.reflection import Reflection
from memgraph_rag.strategies.token_budget import fits
from memgraph_rag.types import Node, Step, StopReason

__all__ = ["read_in_order"]


def read_in_order(
    scored: Iterable[tuple[Node, float]],
    context: ReadingContext,
    *,
    reflection: Reflection | None = None,
    ended: StopReason = StopReason.EXHAUSTED,
) -> Iterator[tuple[Step, ...]]:
    """Yield one step a node until the list ends, the next node does not fit the window, or ``reflection`` is satisfied.

    The last step has the stop reason. If the list is empty or its first node does not fit, there is no step.

    Args:
        scored: the nodes in the order of reading, with their scores.
        reflection: the model's judgement after each node; without it the model is not asked.
        ended: the stop reason for the end of the list.
    """
    session, lines, before = context.session, NodeLines(context), None
    remaining = iter(scored)
    following = next(remaining, None)
    while following is not None and fits(following[0], session.tokens_left):
        (node, score), following = following, next(remaining, None)
        (attention,) = session.append(lines.write([node], after=before)).tolist()
        before = node
        p_yes = None
        if reflection is not None:
            p_yes = session.probability_of_yes()
            reflection.hear(p_yes)
        stop = None
        if reflection is not None and reflection.is_enough:
            stop = StopReason.ANSWERABLE
        elif following is None:
            stop = ended
        elif not fits(following[0], session.tokens_left):
            stop = StopReason.WINDOW
        yield (Step(node, score, attention, p_yes, stop, {"entry": score} if score else {}),)
        if stop is not None:
            return
