"""Packed weights against those that oneDNN packs by itself."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from memgraph_rag.models.engine import packed_weights
from memgraph_rag.models.engine.packed_weights import Packer

pytestmark = pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"), reason="a processor without 8-bit products"
)


def weights(outputs: int, inputs: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-127, 128, (outputs, inputs), dtype=torch.int8, generator=generator)


@pytest.mark.parametrize(("outputs", "inputs"), [(64, 64), (192, 128), (128, 576), (100, 64), (64, 33), (5, 3)])
def test_bytes_are_those_of_onednn(outputs: int, inputs: int):
    pack = Packer()
    for seed in range(3):
        integers = weights(outputs, inputs, seed)
        packed, expected = pack(integers), torch.ops.onednn.qlinear_prepack(integers, None)
        assert torch.equal(packed_weights._bytes(packed), packed_weights._bytes(expected))


def test_each_layer_has_memory_of_its_own():
    pack = Packer()
    first, second, third = (pack(weights(64, 64, seed)) for seed in range(3))
    places = {packed_weights._bytes(packed).data_ptr() for packed in (first, second, third)}
    assert len(places) == 3
    assert not torch.equal(packed_weights._bytes(first), packed_weights._bytes(second))


def test_onednn_packs_all_where_its_layout_is_another(monkeypatch: pytest.MonkeyPatch):
    """What is written is compared with what oneDNN made of the first layer of a shape."""
    monkeypatch.setattr(packed_weights, "_write", lambda _, packed: packed_weights._bytes(packed).fill_(1))
    pack = Packer()
    for seed in range(2):
        integers = weights(64, 64, seed)
        expected = torch.ops.onednn.qlinear_prepack(integers, None)
        assert torch.equal(packed_weights._bytes(pack(integers)), packed_weights._bytes(expected))


def test_onednn_packs_all_where_torch_does_not_say_where_they_lie(monkeypatch: pytest.MonkeyPatch):
    def unknown(_: Tensor) -> Tensor:
        raise AttributeError

    pack, integers = Packer(), weights(64, 64)
    monkeypatch.setattr(packed_weights, "_bytes", unknown)
    packed = [pack(integers), pack(integers)]
    monkeypatch.undo()
    expected = torch.ops.onednn.qlinear_prepack(integers, None)
    for each in packed:
        assert torch.equal(packed_weights._bytes(each), packed_weights._bytes(expected))
