"""Fuzzers of models' files: whatever bytes their headers hold, they are read, or an error of ours, in little memory."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from architectures import write_checkpoint
from fault_fuzz import SHARES, Fuzzer
from gguf_files import write_gguf
from hypothesis import strategies as st

from memgraph_rag.errors import ModelError
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.files.catalogue import find_language_model

__all__ = ["MODEL_FUZZERS"]

_MOST_KIBIBYTES = 1_000_000  # of one example, and of all libraries that the first loads
_HEADER = 0.25  # of a file, in which most bytes are changed: the lengths are there

SPOTS = st.lists(
    st.tuples(SHARES, st.sampled_from([0, 1, 127, 128, 255]) | st.integers(0, 255)), min_size=1, max_size=6
)


@contextmanager
def _gguf(folder: Path) -> Iterator[Path]:
    path = write_gguf(folder / "whole.gguf")
    find_language_model(str(path), cache_dir=folder / "first")
    yield path


def a_gguf_file_is_converted_or_refused(
    path: Path, spots: list[tuple[float, int]], in_header: bool, cut: float
) -> None:
    lying, cache = path.with_name("lying.gguf"), path.with_name("cache")
    lying.write_bytes(_spoilt(path.read_bytes(), spots, _HEADER if in_header else 1.0, cut))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        find_language_model(str(lying), cache_dir=cache)
    except ModelError as error:
        assert str(error).startswith("Expected ")  # noqa: PT017
        assert not list(cache.rglob("config.json"))
    finally:
        shutil.rmtree(cache, ignore_errors=True)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < _MOST_KIBIBYTES


@contextmanager
def _weights(folder: Path) -> Iterator[Path]:
    checkpoint = write_checkpoint("qwen2", folder / "whole")
    _ = TransformersModel(checkpoint, dtype="float32", device="cpu").network
    yield checkpoint


def weights_are_loaded_or_refused(folder: Path, spots: list[tuple[float, int]], in_header: bool, cut: float) -> None:
    file = folder / "model.safetensors"
    whole = file.read_bytes()
    length = 8 + int.from_bytes(whole[:8], "little")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        file.unlink()  # the former may still be mapped
        file.write_bytes(_spoilt(whole, spots, length / len(whole) if in_header else 1.0, cut))
        _ = TransformersModel(folder, dtype="float32", device="cpu").network
    except ModelError as error:
        assert str(error).startswith("Expected model weights in ")  # noqa: PT017
    finally:
        file.unlink()
        file.write_bytes(whole)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < _MOST_KIBIBYTES


def _spoilt(whole: bytes, spots: list[tuple[float, int]], share: float, cut: float) -> bytes:
    """The beginning of a file, with other bytes at some places of a share of it."""
    changed = bytearray(whole[: max(round(cut * len(whole)), 1)])
    within = max(int(share * len(changed)), 1)
    for at, byte in spots:
        changed[min(int(at * within), len(changed) - 1)] = byte
    return bytes(changed)


_DRAWN = {"spots": SPOTS, "in_header": st.booleans() | st.just(True), "cut": st.just(1.0) | SHARES}

MODEL_FUZZERS: dict[str, Fuzzer] = {
    "gguf": Fuzzer(a_gguf_file_is_converted_or_refused, _DRAWN, _gguf),
    "weights": Fuzzer(weights_are_loaded_or_refused, _DRAWN, _weights),
}
