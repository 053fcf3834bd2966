"""Reading a fixed list of segments, one after the other: what the flat strategies share.

It knows the session by its contract. Invariant: each segment that is read was next in the list, and fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.node_lines import NodeLines
from memgraph_rag.strategies.reflection import Reflection
from memgraph_rag.strategies.token_budget import fits
from memgraph_rag.types import Segment, Step, StopReason

__all__ = ["read_in_order"]


def read_in_order(
    scored: Iterable[tuple[Segment, float]], context: ReadingContext, *, reflection: Reflection | None = None
) -> Iterator[tuple[Step, ...]]:
    """One step a segment, until the list ends, the next one does not fit the window, or ``reflection`` has enough."""
    session, lines, before = context.session, NodeLines(context), None
    waiting = iter(scored)
    following = next(waiting, None)
    while following is not None and fits(following[0], session.tokens_left):
        (segment, score), following = following, next(waiting, None)
        (attention,) = session.append(lines.of([segment], after=before)).tolist()
        before = segment
        p_yes = None
        if reflection is not None:
            p_yes = session.probability_of_yes()
            reflection.hear(p_yes)
        stop = None
        if reflection is not None and reflection.is_enough:
            stop = StopReason.ANSWERABLE
        elif following is None:
            stop = StopReason.EXHAUSTED
        elif not fits(following[0], session.tokens_left):
            stop = StopReason.WINDOW
        yield (Step(segment, score, attention, p_yes, stop, {"entry": score} if score else {}),)
        if stop is not None:
            return
