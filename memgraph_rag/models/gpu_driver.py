"""Whether this machine can have an NVIDIA GPU. torch, whose import takes seconds, is not asked."""

from __future__ import annotations

from pathlib import Path
from shutil import which

_DRIVER = Path("/proc/driver/nvidia/version")


def has_gpu(device: str) -> bool:
    """Return whether the device of the settings can be an NVIDIA GPU.

    Args:
        device: the setting ``device``.
    """
    return device.startswith("cuda") or (device == "auto" and (_DRIVER.exists() or which("nvidia-smi") is not None))
