"""Reading a fixed list of segments, one after the other: what the flat strategies share.

It knows the session by its contract only. Invariant: each segment that is read was next in the list, and fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memgraph_rag.contracts import ReadingSession
from memgraph_rag.types import Segment, Step, StopReason, as_line

__all__ = ["read_in_order"]


def read_in_order(scored: Iterable[tuple[Segment, float]], session: ReadingSession) -> Iterator[tuple[Step, ...]]:
    """One step a segment, until the list ends or the next one does not fit the window."""
    waiting = iter(scored)
    following = next(waiting, None)
    while following is not None and _fits(following[0], session):
        (segment, score), following = following, next(waiting, None)
        (attention,) = session.append([as_line(segment.text)]).tolist()
        stop = None
        if following is None:
            stop = StopReason.EXHAUSTED
        elif not _fits(following[0], session):
            stop = StopReason.WINDOW
        yield (Step(segment, score, attention, stop=stop),)


def _fits(segment: Segment, session: ReadingSession) -> bool:
    """With its bullet mark and newline."""
    return segment.tokens + 4 <= session.tokens_left
