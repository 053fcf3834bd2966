"""Read a fixed list of nodes, one after the other. All strategies share it that choose before they read.

The module knows the session by its contract. Invariant: each node that is read was the next one of the list and fits
into the window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.errors import WindowExceeded
from memgraph_rag.strategies.node_lines import NodeLines
from memgraph_rag.strategies.token_budget import fits
from memgraph_rag.types import Node, Step, StopReason


@dataclass(frozen=True, slots=True)
class Chosen:
    """A node to read.

    Attributes:
        source: the name of the score's source; empty for none.
        via: the name, report or question that led to the node.
        text: the text to read in place of the node's own, not longer than it; None reads the node's own text.
    """

    node: Node
    score: float = 0.0
    source: str = "entry"
    via: str = ""
    text: str | None = None

    def fits(self, tokens: int) -> bool:
        """Return whether the node fits into this many tokens; of a shorter text only reading it can tell."""
        return self.text is not None or fits(self.node, tokens)


def read_in_order(
    chosen: Iterable[Chosen],
    context: ReadingContext,
    *,
    reason: str = "",
    ended: StopReason | None = StopReason.EXHAUSTED,
) -> Iterator[tuple[Step, ...]]:
    """Yield one step a node until the list ends or the next node does not fit the window.

    The last step has the stop reason. If the list is empty or its first node does not fit, there is no step.

    Args:
        chosen: the nodes in the order of reading.
        reason: the reason of the first step.
        ended: the stop reason for the end of the list; None if reading goes on afterwards, so that no step has one.
    """
    session, lines, before = context.session, NodeLines(context), None
    remaining = iter(chosen)
    following = next(remaining, None)
    while following is not None and following.fits(session.tokens_left):
        item, following = following, next(remaining, None)
        texts = None if item.text is None else [item.text]
        try:
            (attention,) = session.append(lines.write([item.node], after=before, texts=texts)).tolist()
        except WindowExceeded:  # of a shorter text
            return
        stop = ended
        if following is not None:
            stop = None if ended is None or following.fits(session.tokens_left) else StopReason.WINDOW
        sources = {item.source: item.score} if item.source else {}
        first = "" if before else reason
        yield (Step(item.node, item.score, attention, stop=stop, sources=sources, via=item.via, reason=first),)
        before = item.node
