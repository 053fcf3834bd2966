"""Decoding steps that a GPU replays as one CUDA graph, instead of hundreds of kernels launched from Python.

A step reads the last token of each row of a cache and measures its attention. The module does not know prompts,
grammars or the end of a text. Invariants: a step reads only tensors at fixed addresses, so that a replay computes what
the step would compute (tested on a CPU: a step writes the same as the plain twin, both run directly and replayed from a
recording of its operations; tested on a GPU by ``benchmarks/gpu.py``). A step that cannot be captured runs from Python.
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

logger = logging.getLogger(__name__)
_WARM_UPS = 2  # runs before the capture, in which libraries initialise and kernels are compiled
_ROUNDED = 8  # numbers of rows and of spans are rounded up to a multiple of this

Outputs = tuple[Tensor, Tensor]
Run = Callable[[], Outputs]
Capture = Callable[[Run, torch.device], Run]


def capture_on_gpu(run: Run, device: torch.device) -> Run:
    """Capture a function whose inputs and outputs stay in the same memory; return a function that replays it.

    The function is run before it is captured. Each replay overwrites the outputs of the one before.

    Raises:
        RuntimeError: a graph cannot hold an operation of the function, or there is too little memory.
    """
    with torch.cuda.device(device):  # otherwise graph, memory pool and waiting use the first GPU
        side = torch.cuda.Stream(device)
        side.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(side):
            for _ in range(_WARM_UPS):
                run()
        graph = torch.cuda.CUDAGraph()
        # Thread-local, because other threads may embed at the same time.
        with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
            outputs = run()

    def replay() -> Outputs:
        graph.replay()
        return outputs

    return replay


class Graphed:
    """Base class for passes that a GPU replays as a CUDA graph if it can capture them, else run from Python.

    Args:
        capture: returns a function that replays its argument. If it is None or fails, the argument itself is run.
    """

    def __init__(self, capture: Capture | None) -> None:
        self._capture = capture

    def _capture_or_run(self, run: Run, network: PreTrainedModel, device: torch.device, what: str) -> Run:
        if self._capture is not None:
            try:
                return self._capture(run, device)
            except torch.OutOfMemoryError as error:  # smaller shapes may still be captured
                logger.warning("There was no memory to capture a %s, so it is run from Python: %s", what, error)
            except RuntimeError as error:
                self._capture = None
                reason, name = str(error).partition("\n")[0], type(network).__name__
                logger.warning("A %s of %s could not be captured, so it is run from Python: %s", what, name, reason)
        return run


class GraphedDecoding(Graphed):
    """Decoding steps for the rows of caches, captured once for each number of rows and slots.

    Each cache has one step at a time, which is deleted with the cache. Calls must not overlap.
    """

    def __init__(self, capture: Capture | None) -> None:
        super().__init__(capture)
        self._steps: WeakKeyDictionary[RowCache, tuple[_Step, Run]] = WeakKeyDictionary()

    @torch.inference_mode()
    def __call__(self, network: PreTrainedModel, tokens: Sequence[int], past: RowCache, spans: Spans) -> Outputs:
        """Read one token after each row of a cache, add it to the cache, and measure its attention.

        The next step of the same cache overwrites both results.

        Args:
            tokens: the new token of each of the B rows.
            spans: the measured spans of the rows; pass the same object as long as the spans do not change.

        Returns:
            (B, 1, V) logits, and (B, 1, at least S) mean attention to the spans.
        """
        rows, room, slots = _round_up(len(tokens)), _round_up(spans.count), max(past.lengths) + 1
        if past in self._steps and not (past.has_room(rows, slots) and self._steps[past][0].serves(past, rows, room)):
            del self._steps[past]  # free its memory and the old buffers before new memory is allocated
        past.make_room(rows, slots)
        if past not in self._steps:
            step = _Step(network, past, rows, room, spans.tokens.device)
            step.take(tokens, past.lengths, spans)
            self._steps[past] = step, self._capture_or_run(step.run, network, step.inputs.device, "decoding step")
        step, run = self._steps[past]
        step.take(tokens, past.lengths, spans)
        logits, attention = run()
        past.advance(1)
        return logits[: len(tokens)], attention[: len(tokens)]


class _Step:
    """One decoding step, as a function of ``inputs``, the spans and the content of a cache."""

    def __init__(self, network: PreTrainedModel, past: RowCache, rows: int, room: int, device: torch.device) -> None:
        self.inputs = torch.zeros(2, rows, dtype=torch.long, device=device)  # for each row: its token, and its length
        self._network = network
        self._cache = past.static(self.inputs[1][:, None])
        self._spans = Spans([[]] * rows, length=self._cache.slots, device=device, room=room)
        self._taken: Spans | None = None

    def serves(self, past: RowCache, rows: int, room: int) -> bool:
        """Return whether this step fits the current buffers of a cache and these numbers of rows and spans."""
        return self._cache.is_part_of(past) and (rows, room) == (self.inputs.shape[1], self._spans.count)

    def take(self, tokens: Sequence[int], lengths: Sequence[int], spans: Spans) -> None:
        """Copy the inputs of the next run into the tensors of the step.

        Rows without a token get token 0, which no other row sees.
        """
        missing = [0] * (self.inputs.shape[1] - len(tokens))
        self.inputs.copy_(torch.tensor([[*tokens, *missing], [*lengths, *missing]]))
        if spans is not self._taken:
            self._spans.copy_from(spans)
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
            **{cache_argument(type(self._network)): self._cache},
        )
        return output.logits, meter.mean()


def _round_up(count: int) -> int:
    """Round up to 1, 2, 4, 8, or a multiple of 8: few shapes, and little wasted computation."""
    step = min(_ROUNDED, power_of_two(count))
    return -(-count // step) * step


def power_of_two(count: int) -> int:
    """Return the smallest power of two that is at least ``count``; 1 for 0."""
    return 1 << max(count - 1, 0).bit_length()
