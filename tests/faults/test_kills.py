"""Killed and interrupted at random moments, in short; ``make fault-tests`` does it at length."""

from __future__ import annotations

import signal

import pytest
from fault_kills import kills
from fault_tally import Tally
from fault_world import Place


@pytest.mark.parametrize(("blow", "seed"), [(signal.SIGKILL, 1), (signal.SIGINT, 2)], ids=["kill", "ctrl-c"])
def test_stopped_call_leaves_graph_before_or_after_it(place: Place, blow: signal.Signals, seed: int) -> None:
    assert kills(place, 4, seed=seed, blow=blow) == Tally(tried=4)
