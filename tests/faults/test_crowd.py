"""Many at once, in short; ``make fault-tests`` does it for minutes."""

from __future__ import annotations

import pytest
from fault_crowd import crowd, said_together
from fault_tally import Tally
from fault_world import Place


def test_crowd_loses_no_write_and_reads_whole_documents(place: Place, engine: str) -> None:
    processes = 1 if engine == "ladybug" else 4
    tally = crowd(place, writers=4, readers=4, seconds=2.0, processes=processes)
    assert tally.is_clean
    assert tally.tried > 20


@pytest.mark.parametrize("engine", ["neo4j-2026"])  # a Ladybug file is one process's
def test_concurrent_processes_lose_no_turn_of_a_session(place: Place) -> None:
    assert said_together(place) == Tally(tried=2)
