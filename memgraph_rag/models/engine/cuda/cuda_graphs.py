"""Decoding steps that a GPU replays as one CUDA graph, instead of some hundreds of kernels launched from Python.

A step feeds back the last token of each row of a cache and measures what it looks at. It knows no prompt, no grammar
and no end of a text. Invariants: a step reads nothing but tensors that stay where they are, so that what is replayed is
what would be run (tested on a CPU: run, and replayed from a tape of its operations, it writes what the plain twin
writes; on a card by ``benchmarks/gpu.py``); where it cannot be captured it is run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from transformers import PreTrainedModel

from memgraph_rag.models.engine.attention import AttentionMeter, Look, Spans, StaticVisibility
from memgraph_rag.models.engine.kv_cache import RowCache, cache_argument

__all__ = ["Graphed", "GraphedDecoding", "capture_on_gpu", "power_of_two"]

logger = logging.getLogger(__name__)
_WARM_UPS = 2  # passes before the capture: libraries set themselves up, kernels are compiled
_ROUNDED = 8  # rows, and spans: so many make one shape

Outputs = tuple[Tensor, Tensor]
Run = Callable[[], Outputs]
Capture = Callable[[Run, torch.device], Run]


def capture_on_gpu(run: Run, device: torch.device) -> Run:
    """Capture a function whose inputs and outputs stay in the same memory; the result replays it.

    Raises:
        RuntimeError: it does what a graph cannot hold, or memory for it is short.
    """
    with torch.cuda.device(device):  # else what is not of its stream is of the first GPU: graph, pool, waiting
        side = torch.cuda.Stream(device)
        side.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(side):
            for _ in range(_WARM_UPS):
                run()
        graph = torch.cuda.CUDAGraph()
        # Thread-local, because other threads may embed meanwhile.
        with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
            outputs = run()

    def replay() -> Outputs:
        graph.replay()
        return outputs

    return replay


class Graphed:
    """What is captured where that can be done, and else run.

    Args:
        capture: gives a function that replays another; where it fails, and where it is None, what it was given is run.
    """

    def __init__(self, capture: Capture | None) -> None:
        self._capture = capture

    def _captured(self, run: Run, network: PreTrainedModel, device: torch.device, what: str) -> Run:
        if self._capture is not None:
            try:
                return self._capture(run, device)
            except torch.OutOfMemoryError as error:  # of this shape; smaller ones may still be captured
                logger.warning("There was no memory to capture a %s, so it is run from Python: %s", what, error)
            except RuntimeError as error:
                self._capture = None
                reason, name = str(error).partition("\n")[0], type(network).__name__
                logger.warning("A %s of %s could not be captured, so it is run from Python: %s", what, name, reason)
        return run


class GraphedDecoding(Graphed):
    """Decoding steps of the rows of caches, captured once for each number of rows and slots.

    A cache has one step at a time, which lives no longer than it does. Calls must not overlap.
    """

    def __init__(self, capture: Capture | None) -> None:
        super().__init__(capture)
        self._steps: WeakKeyDictionary[RowCache, tuple[_Step, Run]] = WeakKeyDictionary()

    @torch.inference_mode()
    def __call__(self, network: PreTrainedModel, tokens: Sequence[int], past: RowCache, spans: Spans) -> Outputs:
        """Read one token behind each row; (B, 1, V) logits and (B, 1, at least S) mean attention to the spans.

        Both are overwritten by the next step of that cache, which has grown by these tokens.

        Args:
            spans: of B rows; the same object as long as they are the same.
        """
        rows, room, slots = _rounded(len(tokens)), _rounded(spans.count), max(past.lengths) + 1
        if past in self._steps and not (past.has_room(rows, slots) and self._steps[past][0].serves(past, rows, room)):
            del self._steps[past]  # its memory, old buffers included, is given back before more is taken
        past.make_room(rows, slots)
        if past not in self._steps:
            step = _Step(network, past, rows, room, spans.tokens.device)
            step.take(tokens, past.lengths, spans)
            self._steps[past] = step, self._captured(step.run, network, step.inputs.device, "decoding step")
        step, run = self._steps[past]
        step.take(tokens, past.lengths, spans)
        logits, attention = run()
        past.advance(1)
        return logits[: len(tokens)], attention[: len(tokens)]


class _Step:
    """One decoding step, as a function of ``inputs``, of the spans and of what a cache holds."""

    def __init__(self, network: PreTrainedModel, past: RowCache, rows: int, room: int, device: torch.device) -> None:
        self.inputs = torch.zeros(2, rows, dtype=torch.long, device=device)  # each row's token, and the tokens before
        self._network = network
        self._cache = past.static(self.inputs[1][:, None])
        self._spans = Spans([[]] * rows, length=self._cache.slots, device=device, room=room)
        self._taken: Spans | None = None

    def serves(self, past: RowCache, rows: int, room: int) -> bool:
        """Whether it is one of this cache as it is now, of so many rows and spans."""
        return self._cache.is_part_of(past) and (rows, room) == (self.inputs.shape[1], self._spans.count)

    def take(self, tokens: Sequence[int], lengths: Sequence[int], spans: Spans) -> None:
        """Put in place what the next run reads; rows that are none begin with token 0, seen by nobody."""
        missing = [0] * (self.inputs.shape[1] - len(tokens))
        self.inputs.copy_(torch.tensor([[*tokens, *missing], [*lengths, *missing]]))
        if spans is not self._taken:
            self._spans.become(spans)
            self._taken = spans

    def run(self) -> Outputs:
        tokens, lengths = self.inputs
        meter = AttentionMeter(self._spans)
        output = self._network(
            tokens[:, None],
            use_cache=True,
            position_ids=lengths[:, None],
            logits_to_keep=1,
            looks=[Look(1, StaticVisibility(lengths), meter)],
            **{cache_argument(self._network): self._cache},
        )
        return output.logits, meter.mean()


def _rounded(count: int) -> int:
    """1, 2, 4, 8, then multiples of 8: few different shapes, and little that is computed for nothing."""
    step = min(_ROUNDED, power_of_two(count))
    return -(-count // step) * step


def power_of_two(count: int) -> int:
    """The smallest power of two that is not less; 1 for 0."""
    return 1 << max(count - 1, 0).bit_length()
