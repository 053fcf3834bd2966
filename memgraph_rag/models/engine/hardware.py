"""The device on which models compute, and their number format.

The module does not know a model. Invariant: the hardware itself computes in the chosen format, without emulation.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import torch
from threadpoolctl import threadpool_limits

from memgraph_rag.display import show
from memgraph_rag.errors import ModelError, SettingsError

logger = logging.getLogger(__name__)

INT8 = "int8"
"""The name of the 8-bit integer format of linear layers (``int8_linear.py``; bitsandbytes on a GPU)."""

INT4 = "int4"
"""The name of the format with 4-bit weights in linear layers (bitsandbytes), for models that do not fit otherwise."""

MARGIN = 1.2
"""The factor by which a number format must be faster, so that a trial takes it."""

_TRIED_TIMES = 5
_FORMATS = ("auto", "float32", "bfloat16", "float16", INT8, INT4)


def find_device(name: str) -> torch.device:
    """Return the device with this name; "auto" is a CUDA device on which torch computes, else the CPU.

    Raises:
        SettingsError: the device does not exist, or this torch has no kernels for it; never for "auto".
    """
    if name == "auto":
        if not torch.cuda.is_available():
            return torch.device("cpu")
        try:
            return find_device("cuda")
        except SettingsError as error:
            logger.warning("There is a GPU, but torch does not compute on it, so the CPU is used. %s", error)
            return torch.device("cpu")
    try:
        device = torch.device(name)
        torch.ones(1, device=device).add_(1).item()  # a torch without kernels for this GPU fails here
    except (RuntimeError, AssertionError, NotImplementedError) as error:  # the error depends on the backend
        raise SettingsError(
            f"Expected a device that this machine and its torch have, such as 'auto', 'cpu', 'cuda' or 'mps', got "
            f"{show(name)}: {str(error).splitlines()[0]}",
            device=name,
        ) from error
    return device


def find_dtype(name: str, device: torch.device) -> torch.dtype:
    """Return the torch number format that the setting's value ``name`` means.

    "auto" is ``choose_dtype``. For "int8" and "int4" it is the format between the layers: ``choose_dtype``, too.

    Raises:
        SettingsError: the format does not exist. For "int8" and "int4" also: the device does not support it, or a
            package for it is missing. Other formats are not compared with the device.
    """
    if name not in _FORMATS:
        raise SettingsError(
            f"Expected a dtype of {', '.join(map(repr, _FORMATS))}, got {show(name)}. Leave it out for 'auto'.",
            dtype=name,
        )
    if name in (INT8, INT4):
        _check_integers(name, device)
    return choose_dtype(device) if name in ("auto", INT8, INT4) else getattr(torch, name)


def _check_integers(name: str, device: torch.device) -> None:
    if device.type not in ("cpu", "cuda"):
        raise SettingsError(
            f"Expected a CPU or an NVIDIA GPU for the dtype {show(name)}, got {device}. Leave dtype out for 'auto'.",
            dtype=name, device=str(device),
        )  # fmt: skip
    if (name, device.type) == (INT8, "cpu"):
        if not multiplies_integers():
            raise SettingsError(
                f"Expected a CPU with AVX2 or AVX-512 for the dtype 'int8', got one for which torch uses "
                f"{torch.backends.cpu.get_cpu_capability()}. Leave dtype out for 'auto'.",
                dtype=name, device=str(device),
            )  # fmt: skip
    elif find_spec("bitsandbytes") is None:
        raise SettingsError(
            f"Expected the package bitsandbytes for the dtype {show(name)} on {device}, got none installed. "
            'Install it: pip install "memgraph_rag[quantize]".',
            dtype=name, device=str(device),
        )  # fmt: skip


def multiplies_integers() -> bool:
    """Return whether torch has fast products of 8-bit integers on the CPU of this machine."""
    return torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")


def measure_thread_seconds(run: Callable[[], object], times: int = _TRIED_TIMES) -> float:
    """Call a function several times on one core; return the processor time of its fastest call, in seconds.

    Only the time of the calling thread counts, so that other work on the machine changes the result little.
    """
    seconds = []
    with threadpool_limits(1, user_api="openmp"):  # OpenMP keeps a number for each thread: only this one's changes
        for _ in range(times):
            begun = time.thread_time()
            run()
            seconds.append(time.thread_time() - begun)
    return min(seconds)


def choose_dtype(device: torch.device) -> torch.dtype:
    """Return bfloat16 if the hardware computes in it, else float16 on a GPU and float32 on other devices."""
    if device.type == "cuda":
        with torch.cuda.device(device):
            return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    if device.type == "cpu":
        capable = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
        return torch.bfloat16 if capable else torch.float32
    return torch.float32


def free_bytes(device: torch.device) -> int | None:
    """Return the free memory of a GPU in bytes, including unused blocks that torch holds; None for other devices."""
    if device.type != "cuda":
        return None
    free, _ = torch.cuda.mem_get_info(device)
    return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)


@contextmanager
def memory_errors(device: torch.device, what: str) -> Iterator[None]:
    """Turn torch's out-of-memory error of a GPU into a ModelError; other errors pass through.

    Args:
        what: the noun phrase for the error message, such as "weights of NAME".

    Raises:
        ModelError: the memory of the device was too small for the block.
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise ModelError(
            f"Expected enough memory on {device} for the {what}, got none left: {str(error).splitlines()[0]} Close "
            "other programs that use it, choose a smaller model or window, or set device='cpu'.",
            device=str(device),
        ) from error
