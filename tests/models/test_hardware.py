"""Devices and number formats by name, and names of none."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from architectures import write_checkpoint
from tables import table

from memgraph_rag.errors import ModelError, SettingsError
from memgraph_rag.models.engine import hardware
from memgraph_rag.models.engine.hardware import choose_dtype, find_device, find_dtype, free_bytes, memory_errors
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.engine.reference import PlainModel


def test_available_devices_are_found() -> None:
    assert find_device("cpu") == torch.device("cpu")
    assert find_device("auto").type in ("cpu", "cuda")


@table("name", ["cuda:99", "no such device", ""])
def test_error_names_an_absent_device(name: str) -> None:
    with pytest.raises(SettingsError, match="Expected a device that this machine and its torch have"):
        find_device(name)


def test_unusable_gpu_is_not_chosen(monkeypatch, caplog) -> None:
    """Torch sees a card that it was built without kernels for; its first kernel fails."""

    def fail(*_: object, device: torch.device) -> None:
        raise RuntimeError("CUDA error: no kernel image is available for execution on the device\nCompile with …")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch, "ones", fail)
    assert find_device("auto") == torch.device("cpu")
    assert "no kernel image is available" in caplog.text
    with pytest.raises(SettingsError, match="got 'cuda': CUDA error: no kernel image"):
        find_device("cuda")


def test_error_of_a_full_gpu_says_what_to_do() -> None:
    with (
        pytest.raises(ModelError, match="Expected enough memory on cuda:1 for the weights of m, got none") as caught,
        memory_errors(torch.device("cuda:1"), "weights of m"),
    ):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.\nSee documentation")
    assert caught.value.device == "cuda:1"
    assert "documentation" not in str(caught.value)


def test_free_memory_includes_unused_blocks_of_torch(monkeypatch) -> None:
    assert free_bytes(torch.device("cpu")) is None
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (100, 1000))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _: 70)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _: 50)
    assert free_bytes(torch.device("cuda")) == 120


@table("name", ["int2", "int16", "float64", "Tensor", "bf16", ""])
def test_unsupported_format_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=r"Expected a dtype of 'auto', .*, 'int8', 'int4', got") as caught:
        find_dtype(name, torch.device("cpu"))
    assert caught.value.dtype == name


def test_formats_by_name() -> None:
    device = torch.device("cpu")
    assert find_dtype("auto", device) == choose_dtype(device)
    assert find_dtype("float16", device) == torch.float16


@pytest.mark.parametrize(("name", "device"), [("int8", "cpu"), ("int8", "cuda"), ("int4", "cpu"), ("int4", "cuda")])
def test_integers_leave_the_rest_in_the_best_format(name: str, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    monkeypatch.setattr(hardware, "choose_dtype", lambda _: torch.bfloat16)
    assert find_dtype(name, torch.device(device)) == torch.bfloat16


@table("name", ["int8", "int4"])
def test_integers_are_refused_on_other_devices(name: str) -> None:
    with pytest.raises(SettingsError, match=rf"Expected a CPU or an NVIDIA GPU for the dtype '{name}', got mps"):
        find_dtype(name, torch.device("mps"))


def test_int8_is_refused_on_a_processor_without_byte_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")
    with pytest.raises(
        SettingsError, match=r"Expected a CPU with AVX2 .* got one for which torch uses DEFAULT\. Leave"
    ):
        find_dtype("int8", torch.device("cpu"))


@pytest.mark.parametrize(("name", "device"), [("int8", "cuda"), ("int4", "cuda"), ("int4", "cpu")])
def test_missing_bitsandbytes_is_named(name: str, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "find_spec", lambda _: None)
    with pytest.raises(
        SettingsError, match=r"Expected the package bitsandbytes .* pip install \"memgraph_rag\[quantize"
    ):
        find_dtype(name, torch.device(device))


@pytest.mark.parametrize("kind", [TransformersModel, PlainModel])
def test_models_refuse_an_unsupported_format(kind: type, tmp_path: Path) -> None:
    folder = write_checkpoint("qwen2", tmp_path)
    with pytest.raises(SettingsError, match="got 'int16'"):
        kind(folder, dtype="int16", device="cpu")
