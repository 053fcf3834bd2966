"""Forward passes that several sessions ask for at the same time, run as one.

While a pass runs, others gather; the next one takes all of them. It knows no weights: what runs passes is given.
Invariants: one pass at a time; each asker gets its own logits or its own error; who is interrupted leaves the others'
passes to be run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.models.engine.attention import AttentionMeter
from memgraph_rag.models.engine.kv_cache import RowCache

__all__ = ["Pass", "SharedPasses"]

_MOST_TOKENS = 2048  # of passes that are run as one: from here on it would save nothing


@dataclass(frozen=True, eq=False)
class Pass:
    """New tokens on top of a cache of one row.

    Attributes:
        past: grows by these tokens.
        meter: told what each new token attends to.
        among: (t, t) bool, which of the new tokens each of them sees, itself included; all up to itself by default.
            A token's position is the number of tokens that it sees.
        logits_of: after which of the new tokens, as indices into them.
    """

    ids: Sequence[int]
    past: RowCache
    meter: AttentionMeter | None = None
    among: Tensor | None = None
    logits_of: Sequence[int] = (-1,)

    @property
    def positions(self) -> Tensor:
        """(t,) the position of each new token."""
        depth = torch.arange(len(self.ids)) if self.among is None else self.among.sum(dim=1) - 1
        return self.past.lengths[0] + depth


@dataclass(eq=False)
class _Waiting:
    wanted: Pass
    logits: Tensor | None = None
    is_alone: bool = False
    """Whether a batch with it was begun: unless that gives its logits, its own thread runs it, and raises its error."""


class SharedPasses:
    """Runs passes of several threads together.

    Args:
        run: the logits of each of some passes, (len(logits_of), V), in order; where it fails, each is run alone.
    """

    def __init__(self, run: Callable[[Sequence[Pass]], Sequence[Tensor]]) -> None:
        self.turn = threading.Lock()
        """Held while a pass runs; hold it for what must not run beside one."""
        self._run = run
        self._gathering = threading.Lock()
        self._gathered: list[_Waiting] = []

    def __call__(self, wanted: Pass) -> Tensor:
        """(len(logits_of), V) logits of a pass; whatever it raises itself."""
        waiting = _Waiting(wanted)
        with self._gathering:
            self._gathered.append(waiting)
        try:
            with self.turn:
                while waiting.logits is None:  # else one before took it along
                    if waiting.is_alone:
                        self._answer([waiting])
                    else:
                        self._run_next(waiting)
        finally:
            with self._gathering:
                if waiting in self._gathered:
                    self._gathered.remove(waiting)
        return waiting.logits

    def _run_next(self, waiting: _Waiting) -> None:
        """Run a batch; where it fails or is interrupted, the thread of each request in it runs that one alone."""
        some = self._next()
        try:
            self._answer(some)
        except (MemgraphRagError, RuntimeError):  # too little memory, or whatever else torch refuses
            if some == [waiting]:
                raise

    def _next(self) -> list[_Waiting]:
        """As many as fit, those that came first."""
        with self._gathering:
            ends = accumulate(len(request.wanted.ids) for request in self._gathered)
            count = max(1, sum(end <= _MOST_TOKENS for end in ends))
            some = self._gathered[:count]
            for request in some:
                request.is_alone = True
            del self._gathered[:count]
            return some

    def _answer(self, some: Sequence[_Waiting]) -> None:
        for request, logits in zip(some, self._run([request.wanted for request in some]), strict=True):
            request.logits = logits
