"""Every call that writes, killed at a random moment, in short; ``make fault-tests`` does it at length."""

from __future__ import annotations

import pytest
from fault_calls import CALLS, kill_calls
from fault_tally import Tally
from fault_world import Place


@pytest.mark.timeout(300)
def test_killed_call_leaves_graph_of_a_transaction(place: Place) -> None:
    assert kill_calls(place, len(CALLS), seed=1) == Tally(tried=len(CALLS))
