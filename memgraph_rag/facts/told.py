"""Find the turns of a person that may answer a question, how likely each turn answers it, and which turn holds now.

The module knows candidates, their times and a judge. Invariants: a plan that was told later does not hide a statement,
because it is unlikely to state anything; code orders the turns in time, no model does; without a judge the cosines of
``likeness`` decide.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.contracts import TurnJudge
from memgraph_rag.facts.likeness import LEAST, estimate_probabilities, find_candidates
from memgraph_rag.search.graph import SegmentMatch
from memgraph_rag.types import Evidence, Usage

LEAST_TOLD = 0.5
"""A judge's largest probability below which nothing was told; see ``benchmarks/fit_turns.py``."""

LEAST_LISTED = 0.3
"""A judge's probability from which a turn counts for a question for several values; chosen on the tuning histories."""

_SHARPNESS = 1.5  # power of a judge's probabilities: a doubtful later turn hides an earlier statement less


@dataclass(frozen=True, slots=True)
class Told:
    """The turns of one person near a question, in the order of time.

    Attributes:
        likely: (n,) the probability that each turn states the answer that holds from that turn on.
        is_judged: whether a judge read the turns; otherwise their cosines decided.
        is_calibrated: whether a low probability of all turns means that no turn has the answer.
        asks_for_several: whether the question asks for all values that hold.
        usage: the cost of the judge.
    """

    turns: Sequence[Evidence]
    likely: NDArray[np.float64]
    is_judged: bool = False
    is_calibrated: bool = False
    asks_for_several: bool = False
    usage: Usage = field(default_factory=Usage)

    @property
    def holding(self) -> NDArray[np.float64]:
        """(n,) how likely each turn states what holds now: the turn states what is asked, and no later turn does."""
        sharp = self.likely**_SHARPNESS if self.is_judged else self.likely
        later = np.cumprod((1 - sharp)[::-1])[::-1]
        return sharp * np.append(later[1:], 1.0)

    @property
    def newest(self) -> Evidence | None:
        """The turn that most likely says what holds now; None if none is likely enough."""
        if not self.turns or (self.is_judged and not self.is_told):
            return None
        holding = self.holding
        best = int(holding.argmax())
        return self.turns[best] if self.is_judged or holding[best] >= LEAST else None

    @property
    def is_told(self) -> bool:
        """Whether a turn states what is asked: its probability by a judge is at least ``LEAST_TOLD``."""
        return bool(self.turns) and float(self.likely.max()) >= LEAST_TOLD

    def list_stating(self) -> list[Evidence]:
        """Return the turns that may state one of several values (``LEAST_LISTED``), in the order of time."""
        return [turn for turn, p in zip(self.turns, self.likely, strict=True) if p >= LEAST_LISTED]

    def mark_certain(self, segment_ids: Collection[str]) -> Told:
        """Return a copy in which the turns with these segment ids have the probability 1."""
        certain = [turn.segment.id in segment_ids for turn in self.turns]
        return replace(self, likely=np.where(certain, 1.0, self.likely)) if any(certain) else self

    def list_earlier(self, turn: Evidence) -> list[Evidence]:
        """Return the turns before a turn with a probability of at least ``LEAST_TOLD``, the newest first."""
        place = self.turns.index(turn)
        return [each for each, p in zip(self.turns[:place], self.likely, strict=False) if p >= LEAST_TOLD][::-1]


def find_told(
    question: str,
    results: Sequence[Evidence],
    found: Mapping[str, SegmentMatch],
    users: Mapping[str, str],
    judge: TurnJudge | None = None,
    *,
    contrast: float = 1.0,
) -> Told | None:
    """Return turns of the person nearest to a question, with their probabilities to answer it; None without a person.

    Args:
        results: best first.
        found: matches by segment id, for vectors and cosines to the question.
        users: the users by document id.
        judge: reads the turns; without one their cosines decide.
        contrast: ``CosineScale.contrast`` of the embedder.
    """
    candidates = find_candidates(question, results, found, users, contrast=contrast)
    if candidates is None:
        return None
    order = sorted(range(len(candidates.results)), key=candidates.moments.__getitem__)
    turns = [candidates.results[place] for place in order]
    if judge is None:
        return Told(turns, estimate_probabilities(candidates)[order])
    verdicts = judge.judge_turns(question, [candidates.texts[place] for place in order])
    return Told(
        turns,
        np.array(verdicts.probabilities, np.float64),
        is_judged=True,
        is_calibrated=verdicts.is_calibrated,
        usage=verdicts.usage,
    )
