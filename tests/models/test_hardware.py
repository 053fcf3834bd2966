"""Devices by name, and names of none."""

from __future__ import annotations

import pytest
import torch

from memgraph_rag.errors import SettingsError
from memgraph_rag.models.hardware import find_device


def test_devices_that_are_there() -> None:
    assert find_device("cpu") == torch.device("cpu")
    assert find_device("auto").type in ("cpu", "cuda")


@pytest.mark.parametrize("name", ["cuda:99", "no such device", ""])
def test_a_device_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(SettingsError, match="Expected a device that this machine and its torch have"):
        find_device(name)
