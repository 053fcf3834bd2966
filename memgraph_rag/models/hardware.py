"""The device on which models compute, and their number format.

It knows no model. Invariant: the hardware computes in the chosen format itself; nothing is emulated.
"""

from __future__ import annotations

import torch

from memgraph_rag.errors import SettingsError

__all__ = ["INT8", "best_dtype", "find_device", "find_dtype"]

INT8 = "int8"
"""The name of 8-bit integers, in which linear layers alone compute (``int8_linear.py``)."""

_FORMATS = ("auto", "float32", "bfloat16", "float16", INT8)


def find_device(name: str) -> torch.device:
    """The device of that name; "auto" is a GPU where there is one.

    Raises:
        SettingsError: there is no such device.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:  # each backend has its own
        raise SettingsError(
            f"Expected a device that this machine and its torch have, such as 'auto', 'cpu', 'cuda' or 'mps', got "
            f"{name!r}: {str(error).splitlines()[0]}",
            device=name,
        ) from error
    return device


def find_dtype(name: str, device: torch.device) -> torch.dtype:
    """The number format of that name; "auto" is ``best_dtype``, and so is what flows between layers under "int8".

    Raises:
        SettingsError: there is no such format, or this device does not multiply 8-bit integers.
    """
    if name not in _FORMATS:
        raise SettingsError(
            f"Expected a dtype of {', '.join(map(repr, _FORMATS))}, got {name!r}. Leave it out for 'auto'.", dtype=name
        )
    if name == INT8 and not (device.type == "cpu" and torch.cpu._is_vnni_supported()):
        raise SettingsError(
            f"Expected a CPU with instructions for 8-bit products (VNNI) for the dtype 'int8', got {device} of a "
            f"machine {'with' if torch.cpu._is_vnni_supported() else 'without'} them. Leave dtype out for 'auto'.",
            dtype=name, device=str(device),
        )  # fmt: skip
    return best_dtype(device) if name in ("auto", INT8) else getattr(torch, name)


def best_dtype(device: torch.device) -> torch.dtype:
    """bfloat16 where the hardware computes in it, else float16 on a GPU and float32 elsewhere."""
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    if device.type == "cpu":
        capable = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
        return torch.bfloat16 if capable else torch.float32
    return torch.float32
