"""Doubles of a GPU.

A tape stands for a CUDA graph: it keeps the operations on tensors of what is run and runs them again in place. The
Python that made them is not run again: what it takes from elsewhere than from tensors is then as old as the tape.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from architectures import ARCHITECTURES
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import AutoConfig

from memgraph_rag.models.engine.cuda.cuda_graphs import Run
from memgraph_rag.models.engine.kv_cache import RowCache

__all__ = ["NOT_IN_A_GRAPH", "OnGpu", "Tape", "Taped", "config_of", "filled"]

aten = torch.ops.aten
NOT_IN_A_GRAPH = {  # a number for Python, a shape that depends on numbers, a tensor from Python's memory
    aten._local_scalar_dense, aten.is_nonzero, aten.equal, aten.nonzero, aten._unique2, aten.masked_select,
    aten.lift_fresh, aten.item,
}  # fmt: skip


class Tape(TorchDispatchMode):
    """The operations on tensors of what is run under it."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[tuple[Any, tuple, dict, Any]] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.overloadpacket in NOT_IN_A_GRAPH:
            raise RuntimeError(f"{function} is not permitted when a stream is capturing")
        result = function(*args, **(kwargs or {}))
        self.operations.append((function, args, kwargs or {}, result))
        return result

    def replay(self) -> None:
        for function, args, kwargs, before in self.operations:
            for old, new in zip(tree_leaves(before), tree_leaves(function(*args, **kwargs)), strict=True):
                if isinstance(old, Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)


class Taped:
    """A ``Capture``; counts its tapes and those replayed."""

    def __init__(self) -> None:
        self.counts = Counter()

    def __call__(self, run: Run, _: torch.device) -> Run:
        self.counts["captured"] += 1
        with Tape() as tape:
            outputs = run()

        def replay() -> tuple[Tensor, Tensor]:
            self.counts["replayed"] += 1
            for output in outputs:
                output.fill_(-1)
            tape.replay()
            return outputs[0].clone(), outputs[1].clone()  # as from another device, where reading them copies them

        return replay


class OnGpu(TorchDispatchMode):
    """A ``Capture`` that lets nothing pass that a real one would refuse; keeps each operation and its shapes."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[tuple[str, list]] = []

    def __call__(self, run: Run, _: torch.device) -> Run:
        with self:
            run()
        return run

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        assert function.overloadpacket not in NOT_IN_A_GRAPH, function
        result = function(*args, **(kwargs or {}))
        tensors = [leaf for leaf in tree_leaves((args, kwargs, result)) if isinstance(leaf, Tensor)]
        assert {tensor.device.type for tensor in tensors} <= {"cuda"}, (function, tensors)
        made = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        self.operations.append((str(function), [(tensor.shape, tensor.dtype) for tensor in made]))
        return result


def config_of(architecture: str) -> Any:
    """The config of a tiny model of that architecture in bfloat16."""
    settings = {"vocab_size": 400, "dtype": "bfloat16", "pad_token_id": None, "eos_token_id": None}
    return AutoConfig.for_model(architecture, **settings, **ARCHITECTURES[architecture])


def filled(config, lengths: list[int]) -> RowCache:
    """A cache of rows of these lengths."""
    past = RowCache(rows=0)
    for length in lengths:
        row = RowCache()
        for layer in range(config.num_hidden_layers):
            states = torch.zeros(1, config.num_key_value_heads, length, config.head_dim, dtype=torch.bfloat16)
            row.update(states, states, layer)
        row.advance(length)
        past.add_row(row)
    return past
