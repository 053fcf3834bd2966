"""Passes of a reading session that a GPU replays as CUDA graphs, and the caches for which they are captured.

Reading a node, or writing a token of an answer, takes hundreds of kernels that Python launches one by one. The launch
takes longer than most kernels run. The module does not know questions or nodes. Invariants: those of a step in
``cuda_graphs.py`` hold for each pass, and only one session uses a cache at a time.
"""

from __future__ import annotations

import threading
from typing import NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from transformers import PreTrainedModel

from memgraph_rag.models.engine.attention import AttentionMeter, Look, Spans, StaticVisibility
from memgraph_rag.models.engine.cuda.cuda_graphs import Capture, Graphed, Run, power_of_two
from memgraph_rag.models.engine.kv_cache import RowCache, cache_argument
from memgraph_rag.models.engine.shared_batches import Pass

_LONGEST = 256  # tokens: the GPU needs longer for a longer pass than Python needs to launch it
_SHORTEST = 32  # tokens; except a single token of an answer
_FEWEST_SLOTS = 1024
_MOST_KEPT = 4  # caches that stay for later sessions


class _Shape(NamedTuple):
    """The passes that one graph serves.

    Attributes:
        tokens: the number of new tokens, padding included.
        slots: the number of slots of the cache that attention reads.
        logits: the number of tokens whose logits are returned.
        spans: the number of measured spans; 0 without a measurement.
    """

    tokens: int
    slots: int
    logits: int
    spans: int
    by_head: bool

    @classmethod
    def make(cls, wanted: Pass) -> _Shape:
        """Return the smallest shape that fits a pass."""
        count = len(wanted.ids)
        tokens = 1 if count == 1 else power_of_two(max(count, _SHORTEST))
        slots = power_of_two(max(wanted.past.lengths[0] + tokens, _FEWEST_SLOTS))
        spans, by_head = (wanted.meter.spans.count, wanted.meter.by_head) if wanted.meter is not None else (0, False)
        return cls(tokens, slots, power_of_two(len(wanted.logits_of)), spans, by_head)


class GraphedReading(Graphed):
    """Runs passes over one-row caches; a GPU replays a pass whose shape comes to a cache for the second time.

    Sessions borrow the caches one after another, so that later questions use the captured passes too. Calls must not
    overlap, but ``borrow`` and ``give_back`` may be called at any time.
    """

    def __init__(self, capture: Capture | None) -> None:
        super().__init__(capture)
        self._lendable: list[RowCache] = []
        self._lending = threading.Lock()
        self._steps: WeakKeyDictionary[RowCache, dict[_Shape, tuple[_Step, Run | None]]] = WeakKeyDictionary()

    def borrow(self) -> RowCache:
        """Return a cache without rows, for one session: one that was given back, else a new one."""
        with self._lending:
            return self._lendable.pop() if self._lendable else RowCache(rows=0)

    def give_back(self, cache: RowCache) -> None:
        """Take back a one-row cache for the next session, and remove its row. If enough caches wait, it is dropped."""
        cache.remove_row(0)
        with self._lending:
            if len(self._lendable) < _MOST_KEPT:
                self._lendable.append(cache)

    def serves(self, wanted: Pass) -> bool:
        """Return whether a pass is short enough to be captured and its cache has buffers."""
        return len(wanted.ids) <= _LONGEST and wanted.past.nbytes > 0

    @torch.inference_mode()
    def __call__(self, network: PreTrainedModel, wanted: Pass) -> Tensor:
        """Read the tokens of a pass; return (len(logits_of), V) logits.

        The tokens are added to the cache of the pass, and their attention to its meter.
        """
        past, shape = wanted.past, _Shape.make(wanted)
        past.make_room(1, shape.slots)
        steps = self._steps.setdefault(past, {})
        if any(not step.cache.is_part_of(past) for step, _ in steps.values()):
            steps.clear()  # their buffers have been replaced by larger ones
        step, run = steps.get(shape) or (_Step(network, past, shape), None)
        step.take(wanted)
        if shape not in steps:
            steps[shape] = step, None
            run = step.run
        elif run is None:
            run = self._capture_or_run(step.run, network, step.device, "pass")
            steps[shape] = step, run
        logits, masses = run()
        past.advance(len(wanted.ids))
        if wanted.meter is not None:
            for mass in masses[..., : len(wanted.ids), :].clone():  # the next run overwrites it
                wanted.meter.add(mass)
        return logits[0, : len(wanted.logits_of)].clone()


class _Step:
    """One pass, as a function of ``inputs``, the visible tokens, the spans and the content of a cache."""

    def __init__(self, network: PreTrainedModel, past: RowCache, shape: _Shape) -> None:
        self.device = network.device
        self._network = network
        self._shape = shape
        self._inputs = torch.zeros(3, shape.tokens, dtype=torch.long, device=self.device)  # token, position, slot
        self._causal = torch.ones(shape.tokens, shape.tokens, dtype=torch.bool, device=self.device).tril_()
        self._among = self._causal.clone()
        self._logits_of = torch.zeros(shape.logits, dtype=torch.long, device=self.device)
        self._spans = Spans([[]], length=shape.slots, device=self.device, room=shape.spans) if shape.spans else None
        self.cache = past.static(self._inputs[2:], slots=shape.slots)

    def take(self, wanted: Pass) -> None:
        """Copy the inputs of the next run into the tensors of the pass.

        Padding follows the tokens and sees only itself.
        """
        count, held = len(wanted.ids), wanted.past.lengths[0]
        missing = self._shape.tokens - count
        positions = torch.cat([wanted.positions, wanted.positions[-1:].expand(missing)])
        slots = torch.arange(held, held + self._shape.tokens)
        self._inputs.copy_(torch.stack([torch.tensor([*wanted.ids, *[0] * missing]), positions, slots]))
        self._among.copy_(self._causal)
        if wanted.among is not None:
            self._among[:count, :count] = wanted.among.to(self.device)
        places = [place % count for place in wanted.logits_of]
        self._logits_of.copy_(torch.tensor([*places, *places[-1:] * (self._shape.logits - len(places))]))
        if self._spans is not None and wanted.meter is not None:
            self._spans.copy_from(wanted.meter.spans)

    def run(self) -> tuple[Tensor, Tensor]:
        """Run the pass.

        Returns:
            (1, logits, V) logits, and the (L, 1, H or 1, tokens, spans) attention of each layer's heads.
        """
        tokens, positions, slots = self._inputs
        meter = None if self._spans is None else _LayerMeter(self._spans, by_head=self._shape.by_head)
        output = self._network(
            tokens[None],
            use_cache=True,
            position_ids=positions[None],
            logits_to_keep=self._logits_of,
            looks=[Look(self._shape.tokens, StaticVisibility(slots[:1], self._among), meter)],
            **{cache_argument(type(self._network)): self.cache},
        )
        return output.logits, output.logits if meter is None else torch.stack(meter.masses)


class _LayerMeter(AttentionMeter):
    """A meter that keeps the mass of each layer, for the meter of a pass."""

    def __init__(self, spans: Spans, *, by_head: bool) -> None:
        super().__init__(spans, by_head=by_head)
        self.masses: list[Tensor] = []

    def add(self, mass: Tensor) -> None:
        """Keep the mass of one layer."""
        self.masses.append(mass)
