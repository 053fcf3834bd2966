"""Read a fixed list of nodes, one after the other. The flat strategies share this module.

The module knows the session by its contract. Invariant: each node that is read was the next one of the list and fits
into the window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.node_lines import NodeLines
from memgraph_rag.strategies.token_budget import fits
from memgraph_rag.types import Node, Step, StopReason


def read_in_order(
    scored: Iterable[tuple[Node, float]],
    context: ReadingContext,
    *,
    ended: StopReason = StopReason.EXHAUSTED,
) -> Iterator[tuple[Step, ...]]:
    """Yield one step a node until the list ends or the next node does not fit the window.

    The last step has the stop reason. If the list is empty or its first node does not fit, there is no step.

    Args:
        scored: the nodes in the order of reading, with their scores.
        ended: the stop reason for the end of the list.
    """
    session, lines, before = context.session, NodeLines(context), None
    remaining = iter(scored)
    following = next(remaining, None)
    while following is not None and fits(following[0], session.tokens_left):
        (node, score), following = following, next(remaining, None)
        (attention,) = session.append(lines.write([node], after=before)).tolist()
        before = node
        stop = None
        if following is None:
            stop = ended
        elif not fits(following[0], session.tokens_left):
            stop = StopReason.WINDOW
        yield (Step(node, score, attention, None, stop, {"entry": score} if score else {}),)
