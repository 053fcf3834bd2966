"""The device on which models compute, and their number format.

It knows no model. Invariant: the hardware computes in the chosen format itself; nothing is emulated.
"""

from __future__ import annotations

import torch

from memgraph_rag.errors import SettingsError

__all__ = ["best_dtype", "find_device"]


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


def best_dtype(device: torch.device) -> torch.dtype:
    """bfloat16 where the hardware computes in it, else float16 on a GPU and float32 elsewhere."""
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    if device.type == "cpu":
        capable = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
        return torch.bfloat16 if capable else torch.float32
    return torch.float32
