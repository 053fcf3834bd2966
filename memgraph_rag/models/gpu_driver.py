"""A check whether this machine can have an NVIDIA GPU, without torch, whose import takes seconds."""

from __future__ import annotations

from pathlib import Path
from shutil import which

_DRIVER = Path("/proc/driver/nvidia/version")


def has_gpu(device: str) -> bool:
    """Return whether models may run on an NVIDIA GPU.

    Args:
        device: the setting ``device``. For "auto", this function looks for NVIDIA's driver.
    """
    return device.startswith("cuda") or (device == "auto" and (_DRIVER.exists() or which("nvidia-smi") is not None))
