"""``Asked``: a question under way, with its limits and the snapshot that all its reads use.

Invariant: nothing in it changes while the question is answered, except that the snapshot is renewed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from memgraph_rag.answering.question_plans.plan_makers import MakePlans
from memgraph_rag.answering.snapshot import GraphSnapshot
from memgraph_rag.contracts import Strategy
from memgraph_rag.strategies import follows_paper
from memgraph_rag.types import AnswerStyle, Extent, Limits, Step, StopReason, Usage


@dataclass(frozen=True, slots=True)
class Asked:
    """A question under way.

    Attributes:
        plans: the maker of the question's plans; None if the question is not taken apart.
        started: the time by ``time.perf_counter`` at which the question began.
        answers_begun: the number that ``GivenAnswers.begin`` returned for the question.
    """

    question: str
    strategy: Strategy
    limits: Limits
    extent: Extent
    style: AnswerStyle
    snapshot: GraphSnapshot
    plans: MakePlans | None
    started: float
    answers_begun: int

    @property
    def checks(self) -> bool:
        """Whether the library's rules may refuse an answer; a paper's strategy answers as the paper does."""
        return not follows_paper(self.strategy)

    @property
    def seconds(self) -> float:
        """The seconds since the question began."""
        return time.perf_counter() - self.started

    def find_reached_limit(self, trace: Sequence[Step], usage: Usage) -> StopReason | None:
        """Return the stop reason of the limit that is reached, or None."""
        if self.limits.nodes is not None and len(trace) >= self.limits.nodes:
            return StopReason.MAX_NODES
        if self.limits.tokens is not None and usage.prompt_tokens >= self.limits.tokens:
            return StopReason.MAX_TOKENS
        if self.limits.seconds is not None and self.seconds >= self.limits.seconds:
            return StopReason.MAX_SECONDS
        return None

    def has_stored(self, trace: Sequence[Step]) -> bool:
        """Return whether all nodes of a trace, each once in it, are still stored: a forgotten one must not be quoted.

        The snapshot is renewed for it.
        """
        self.snapshot.renew()
        return len(self.snapshot.nodes([step.node.id for step in trace])) == len(trace)
