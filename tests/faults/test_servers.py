"""A server that is paused, in short; ``make fault-tests`` pauses, stops and kills servers of its own, at length."""

from __future__ import annotations

import pytest
from conftest import Servers
from fault_servers import ACTS, short_pauses
from fault_tally import Tally
from fault_world import Place


@pytest.mark.parametrize("engine", ["neo4j-2026"], indirect=True)
def test_a_short_pause_is_waited_for(place: Place, neo4j_servers: Servers) -> None:
    pid = neo4j_servers["2026"].pid
    if pid is None:
        pytest.skip("the server is no process of ours")
    assert short_pauses(place, pid, seconds=[0.5]) == Tally(tried=len(ACTS))
