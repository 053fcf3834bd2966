"""The segments in the window: the first ones stay, later ones may be dropped to make room.

The module knows the session by its contract. Invariant: the session holds the segments that were taken and not dropped,
in the order of reading; each step names the segments that were dropped before it.

Source: QRMeM, algorithm 1, lines 14 to 16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.frontier import Finding
from memgraph_rag.strategies.node_lines import NodeLines
from memgraph_rag.strategies.token_budget import cost, is_spent
from memgraph_rag.types import Segment, Step


@dataclass(frozen=True, slots=True)
class _Added:
    segment: Segment
    line: str
    score: float
    tokens: int


class WorkingSet:
    """The segments that one session holds; segments with lower scores leave it when a better one needs their room.

    Args:
        most_tokens: how many tokens of segments the session holds at most (the paper's L).
    """

    def __init__(self, context: ReadingContext, *, most_tokens: int) -> None:
        self._session = context.session
        self._limits = context.limits
        self._reserved = max(0, context.session.tokens_left - most_tokens)
        self._lines = NodeLines(context)
        self._added: list[_Added] = []
        self.read: dict[str, None] = {}
        """The ids of all segments that were read, in order, including dropped ones."""

    @property
    def is_spent(self) -> bool:
        """Whether a limit of the reading on nodes or tokens is reached."""
        return is_spent(self._limits, len(self.read), self._session)

    def begin(self, segments: Sequence[Segment]) -> list[Step]:
        """Read the segments that are never dropped, at least one, in one pass; return their steps, with the score 0.

        P(Yes) is on the last of the steps.
        """
        attention = self._session.append(self._lines.write(segments)).tolist()
        self.read |= dict.fromkeys(segment.id for segment in segments)
        steps = [Step(segment, 0.0, attended) for segment, attended in zip(segments, attention, strict=True)]
        return [*steps[:-1], replace(steps[-1], p_yes=self._session.probability_of_yes())]

    def can_hold(self, finding: Finding) -> bool:
        """Return whether the finding fits, or fits after segments with lower scores are dropped.

        Nothing is dropped yet. The segments of ``begin`` are never dropped.
        """
        return self._choose_dropped(finding) is not None

    def take(self, finding: Finding) -> Step:
        """Read a finding for which ``can_hold`` is True, and return its step, which names the dropped segments.

        Segments are dropped only as far as the finding needs room: those with the lowest scores first, later ones
        before earlier ones.
        """
        dropped = self._choose_dropped(finding)
        assert dropped is not None
        self._drop(dropped)
        before = self._session.tokens_left
        lines = self._lines.write([finding.segment])
        (attention,) = self._session.append(lines).tolist()
        self._added.append(_Added(finding.segment, lines[0], finding.score, before - self._session.tokens_left))
        self.read[finding.segment.id] = None
        sources = {"relation" if finding.via else "similarity": finding.score}
        p_yes = self._session.probability_of_yes()
        ids = tuple(dropped_item.segment.id for dropped_item in dropped)
        return Step(finding.segment, finding.score, attention, p_yes, None, sources, finding.via, "", ids)

    def _choose_dropped(self, finding: Finding) -> list[_Added] | None:
        """Return the segments to drop for this finding, in the order of reading; None if that makes too little room."""
        missing = cost(finding.segment) - (self._session.tokens_left - self._reserved)
        lowest = sorted(enumerate(self._added), key=lambda placed: (placed[1].score, -placed[0]))
        chosen = []
        for place, item in lowest:
            if missing <= 0 or item.score >= finding.score:
                break
            chosen.append(place)
            missing -= item.tokens
        return None if missing > 0 else [self._added[place] for place in sorted(chosen)]

    def _drop(self, dropped: Sequence[_Added]) -> None:
        """Take back everything from the first dropped segment on, and read the remaining segments again."""
        if not dropped:
            return
        first = self._added.index(dropped[0])
        self._session.take_back(len(self._added) - first)
        remaining = [item for item in self._added[first:] if item not in dropped]
        for item in remaining:  # one call a segment, so that each segment can be taken back alone
            self._session.append([item.line])
        self._added[first:] = remaining
