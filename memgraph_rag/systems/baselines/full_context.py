"""Full context: read whole documents, cut to the window at the end or at the beginning. The walk is compared with it.

It knows graph and session by their contracts. Invariant: segments are read in the order of the documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Literal

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.flat import Chosen, read_in_order
from memgraph_rag.strategies.token_budget import cost, count_room
from memgraph_rag.types import Segment, Step


class FullContext:
    """A strategy that reads all segments, or the beginning or the end that fits window and budget.

    Args:
        keep: the part that is kept; "end" is the papers' baseline "vanilla", which cuts a long text at its start.
    """

    name = "full_context"
    follows_paper = True

    def __init__(self, *, keep: Literal["beginning", "end"] = "beginning") -> None:
        self._keep = keep

    def read(self, _question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step a segment, in the order of the documents, until the window is full; see ``Strategy.read``.

        Echoes are left out. With ``keep="end"`` only the last segments that window and limits hold are read. The
        question does not matter.
        """
        wanted = (
            context.documents if context.documents is not None else [record.id for record in context.graph.documents()]
        )
        stored = (segment for document_id in wanted for segment in context.graph.list_segments(document_id))
        segments = (segment for segment in stored if not segment.echo)
        kept = segments if self._keep == "beginning" else _take_last(list(segments), context)
        yield from read_in_order((Chosen(segment, source="") for segment in kept), context)


def _take_last(segments: Sequence[Segment], context: ReadingContext) -> Sequence[Segment]:
    """Return the last segments, as many as window and budget hold."""
    limits = context.limits
    room = count_room(context.session, limits, context.session.tokens_left)
    used = accumulate(cost(segment) for segment in reversed(segments))
    fitting = sum(tokens <= room for tokens in used)
    most = fitting if limits.nodes is None else min(fitting, limits.nodes)
    return segments[len(segments) - most :]
