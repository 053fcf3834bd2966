"""Forward passes that several sessions ask for at the same time, run as one pass.

While a pass runs, other requests gather; the next pass serves all of them. The module does not know weights; the caller
gives the function that runs passes. Invariants: only one pass runs at a time; each caller gets its own logits or its
own error; an interrupted caller does not remove the requests of others.
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

_MOST_TOKENS = 2048  # in a joint pass: a larger one saves no time


@dataclass(frozen=True, eq=False)
class Pass:
    """New tokens to read after the tokens of a one-row cache.

    Attributes:
        past: the cache; the new tokens are added to it.
        meter: measures the attention of each new token.
        among: (t, t) bool, which of the new tokens each of them sees, itself included; by default all up to itself.
            The position of a token is the number of tokens before it that it sees.
        logits_of: the indices of the new tokens whose logits are returned.
    """

    ids: Sequence[int]
    past: RowCache
    meter: AttentionMeter | None = None
    among: Tensor | None = None
    logits_of: Sequence[int] = (-1,)

    @property
    def positions(self) -> Tensor:
        """The (t,) positions of the new tokens, after the tokens of ``past``. With ``among``, several may be equal."""
        depth = torch.arange(len(self.ids)) if self.among is None else self.among.sum(dim=1) - 1
        return self.past.lengths[0] + depth


@dataclass(eq=False)
class _Request:
    wanted: Pass
    logits: Tensor | None = None
    is_alone: bool = False
    """Whether a batch with it was begun: unless that gives its logits, its own thread runs it, and raises its error."""


class SharedPasses:
    """Runs the passes of several threads together.

    Args:
        run: returns the (len(logits_of), V) logits of each pass, in order. If it fails, each pass runs alone.
    """

    def __init__(self, run: Callable[[Sequence[Pass]], Sequence[Tensor]]) -> None:
        self.turn = threading.Lock()
        """The lock of a running pass. Take it for work that must not run at the same time as a pass."""
        self._run = run
        self._gathering = threading.Lock()
        self._gathered: list[_Request] = []

    def __call__(self, wanted: Pass) -> Tensor:
        """Run a pass; return its (len(logits_of), V) logits. Only errors of this pass are raised."""
        waiting = _Request(wanted)
        with self._gathering:
            self._gathered.append(waiting)
        try:
            with self.turn:
                while waiting.logits is None:  # another thread may have run it with its own
                    if waiting.is_alone:
                        self._answer([waiting])
                    else:
                        self._run_next(waiting)
        finally:
            with self._gathering:
                if waiting in self._gathered:
                    self._gathered.remove(waiting)
        return waiting.logits

    def _run_next(self, waiting: _Request) -> None:
        """Run a batch. If it fails or is interrupted, the thread of each request runs its own request alone."""
        some = self._take_next()
        try:
            self._answer(some)
        except (MemgraphRagError, RuntimeError):  # too little memory, or whatever else torch refuses
            if some == [waiting]:
                raise

    def _take_next(self) -> list[_Request]:
        """Take the oldest requests from the queue, as many as fit into one pass."""
        with self._gathering:
            ends = accumulate(len(request.wanted.ids) for request in self._gathered)
            count = max(1, sum(end <= _MOST_TOKENS for end in ends))
            some = self._gathered[:count]
            for request in some:
                request.is_alone = True
            del self._gathered[:count]
            return some

    def _answer(self, some: Sequence[_Request]) -> None:
        for request, logits in zip(some, self._run([request.wanted for request in some]), strict=True):
            request.logits = logits
