"""A session's passes that a GPU replays as CUDA graphs, and the caches that they are captured for.

Reading a node, or writing a token of an answer, is some hundreds of kernels that Python launches one by one, which
takes longer than most of them run. It knows no question and no node. Invariants: a pass reads nothing but tensors that
stay where they are, so that what is replayed is what would be run (tested on a CPU, run and replayed from a tape,
against the plain twin); where it cannot be captured it is run; a cache is one session's at a time.
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

__all__ = ["GraphedReading"]

_LONGEST = 256  # tokens: a longer pass takes the card longer than Python needs to launch it
_SHORTEST = 32  # but for a single one, a token of an answer
_FEWEST_SLOTS = 1024
_MOST_KEPT = 4  # caches that are kept when sessions end


class _Shape(NamedTuple):
    """Passes that one graph serves.

    Attributes:
        tokens: new ones, those included that are none.
        slots: of the cache that are looked at.
        logits: after so many tokens.
        spans: that are looked at; 0 where nothing is measured.
    """

    tokens: int
    slots: int
    logits: int
    spans: int
    by_head: bool

    @classmethod
    def of(cls, wanted: Pass) -> _Shape:
        """The smallest that the pass fits."""
        count = len(wanted.ids)
        tokens = 1 if count == 1 else power_of_two(max(count, _SHORTEST))
        slots = power_of_two(max(wanted.past.lengths[0] + tokens, _FEWEST_SLOTS))
        spans, by_head = (wanted.meter.spans.count, wanted.meter.by_head) if wanted.meter is not None else (0, False)
        return cls(tokens, slots, power_of_two(len(wanted.logits_of)), spans, by_head)


class GraphedReading(Graphed):
    """Passes over one row, each shape captured when it comes to a cache for the second time.

    Sessions borrow the caches, one after another: what was captured for one question serves the next. Calls must not
    overlap; borrowing and giving back may.
    """

    def __init__(self, capture: Capture | None) -> None:
        super().__init__(capture)
        self._lendable: list[RowCache] = []
        self._lending = threading.Lock()
        self._steps: WeakKeyDictionary[RowCache, dict[_Shape, tuple[_Step, Run | None]]] = WeakKeyDictionary()

    def borrow(self) -> RowCache:
        """A cache without rows, for one session."""
        with self._lending:
            return self._lendable.pop() if self._lendable else RowCache(rows=0)

    def give_back(self, cache: RowCache) -> None:
        """Lend it to the next session: its one row is forgotten."""
        cache.remove_row(0)
        with self._lending:
            if len(self._lendable) < _MOST_KEPT:
                self._lendable.append(cache)

    def serves(self, wanted: Pass) -> bool:
        """Whether a pass is one of those that are captured."""
        return len(wanted.ids) <= _LONGEST and wanted.past.nbytes > 0

    @torch.inference_mode()
    def __call__(self, network: PreTrainedModel, wanted: Pass) -> Tensor:
        """(len(logits_of), V) logits; the cache has grown by the tokens, and the meter knows what they look at."""
        past, shape = wanted.past, _Shape.of(wanted)
        past.make_room(1, shape.slots)
        steps = self._steps.setdefault(past, {})
        if any(not step.is_part_of(past) for step, _ in steps.values()):
            steps.clear()  # of buffers that larger ones have replaced
        step, run = steps.get(shape) or (_Step(network, past, shape), None)
        step.take(wanted)
        if shape not in steps:
            steps[shape] = step, None
            run = step.run
        elif run is None:
            run = self._captured(step.run, network, step.device, "pass")
            steps[shape] = step, run
        logits, masses = run()
        past.advance(len(wanted.ids))
        if wanted.meter is not None:
            for mass in masses[..., : len(wanted.ids), :].clone():  # the next run overwrites it
                wanted.meter.add(mass)
        return logits[0, : len(wanted.logits_of)].clone()


class _Step:
    """One pass, as a function of ``inputs``, of what is seen and looked at, and of what a cache holds."""

    def __init__(self, network: PreTrainedModel, past: RowCache, shape: _Shape) -> None:
        self.device = network.device
        self._network = network
        self._shape = shape
        self._inputs = torch.zeros(3, shape.tokens, dtype=torch.long, device=self.device)  # token, position, slot
        self._causal = torch.ones(shape.tokens, shape.tokens, dtype=torch.bool, device=self.device).tril_()
        self._among = self._causal.clone()
        self._logits_of = torch.zeros(shape.logits, dtype=torch.long, device=self.device)
        self._spans = Spans([[]], length=shape.slots, device=self.device, room=shape.spans) if shape.spans else None
        self._cache = past.static(self._inputs[2:], slots=shape.slots)

    def is_part_of(self, cache: RowCache) -> bool:
        """Whether the cache still has the buffers that this pass writes to."""
        return self._cache.is_part_of(cache)

    def take(self, wanted: Pass) -> None:
        """Put in place what the next run reads; tokens that are none come last, seen by themselves."""
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
            self._spans.become(wanted.meter.spans)

    def run(self) -> tuple[Tensor, Tensor]:
        """(1, logits, V) logits, and (L, 1, H or 1, tokens, spans) what each layer's heads look at."""
        tokens, positions, slots = self._inputs
        meter = None if self._spans is None else _Layers(self._spans, by_head=self._shape.by_head)
        output = self._network(
            tokens[None],
            use_cache=True,
            position_ids=positions[None],
            logits_to_keep=self._logits_of,
            looks=[Look(self._shape.tokens, StaticVisibility(slots[:1], self._among), meter)],
            **{cache_argument(self._network): self._cache},
        )
        return output.logits, output.logits if meter is None else torch.stack(meter.masses)


class _Layers(AttentionMeter):
    """Keeps the mass of each layer, to be told to a pass's own meter."""

    def __init__(self, spans: Spans, *, by_head: bool) -> None:
        super().__init__(spans, by_head=by_head)
        self.masses: list[Tensor] = []

    def add(self, mass: Tensor) -> None:
        """One layer."""
        self.masses.append(mass)
