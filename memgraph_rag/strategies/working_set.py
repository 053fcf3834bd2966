"""The segments in the window: the first ones stay, later ones may be dropped to make room.

It knows the session by its contract. Invariant: the session holds what was taken, in that order, without what was
dropped; each step says what was dropped before it.

Source: QRMeM, algorithm 1, lines 14 to 16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.frontier import Found
from memgraph_rag.strategies.node_lines import NodeLines
from memgraph_rag.strategies.token_budget import cost
from memgraph_rag.types import Segment, Step

__all__ = ["Hand"]


@dataclass(frozen=True, slots=True)
class _Added:
    segment: Segment
    line: str
    score: float
    tokens: int


class Hand:
    """What one session holds.

    Args:
        most_tokens: how many tokens of nodes it holds at most (the paper's L); by default as many as fit the window.
    """

    def __init__(self, context: ReadingContext, *, most_tokens: int | None = None) -> None:
        self._session = context.session
        self._reserved = 0 if most_tokens is None else max(0, context.session.tokens_left - most_tokens)
        self._lines = NodeLines(context)
        self._added: list[_Added] = []
        self.read: dict[str, None] = {}
        """The ids of all that was read, in order, with what was let go."""

    @property
    def count(self) -> int:
        """How many segments were read."""
        return len(self.read)

    def begin(self, segments: Sequence[Segment]) -> list[Step]:
        """Read what stays, in one pass; at least one segment. P(Yes) is on the last step."""
        attention = self._session.append(self._lines.of(segments)).tolist()
        self.read |= dict.fromkeys(segment.id for segment in segments)
        steps = [Step(segment, 0.0, attended) for segment, attended in zip(segments, attention, strict=True)]
        return [*steps[:-1], replace(steps[-1], p_yes=self._session.probability_of_yes())]

    def can_hold(self, finding: Found) -> bool:
        """Whether there is room, or room can be made by letting go of what scores less."""
        return self._too_many(finding) is not None

    def take(self, finding: Found) -> Step:
        """Read a segment that can be held; the lowest scores are let go first, ties the later ones."""
        dropped = self._too_many(finding)
        assert dropped is not None
        self._let_go(dropped)
        before = self._session.tokens_left
        lines = self._lines.of([finding.segment])
        (attention,) = self._session.append(lines).tolist()
        self._added.append(_Added(finding.segment, lines[0], finding.score, before - self._session.tokens_left))
        self.read[finding.segment.id] = None
        sources = {"relation" if finding.via else "similarity": finding.score}
        p_yes = self._session.probability_of_yes()
        ids = tuple(dropped_item.segment.id for dropped_item in dropped)
        return Step(finding.segment, finding.score, attention, p_yes, None, sources, finding.via, "", ids)

    def _too_many(self, finding: Found) -> list[_Added] | None:
        """What must go for this one, in the order of reading; None where that is not enough."""
        missing = cost(finding.segment) - (self._session.tokens_left - self._reserved)
        lowest = sorted(enumerate(self._added), key=lambda placed: (placed[1].score, -placed[0]))
        chosen = []
        for place, item in lowest:
            if missing <= 0 or item.score >= finding.score:
                break
            chosen.append(place)
            missing -= item.tokens
        return None if missing > 0 else [self._added[place] for place in sorted(chosen)]

    def _let_go(self, dropped: Sequence[_Added]) -> None:
        """Take back to the first of these, and read again what came after it and stays."""
        if not dropped:
            return
        first = self._added.index(dropped[0])
        self._session.take_back(len(self._added) - first)
        stay = [item for item in self._added[first:] if item not in dropped]
        for item in stay:  # one call each, so that each can be taken back later
            self._session.append([item.line])
        self._added[first:] = stay
