"""Many at once, in short; ``make fault-tests`` does it for minutes."""

from __future__ import annotations

from fault_crowd import crowd
from fault_world import Place


def test_a_crowd_loses_nothing_and_sees_documents_whole(place: Place, engine: str) -> None:
    processes = 1 if engine == "ladybug" else 4
    tally = crowd(place, writers=4, readers=4, seconds=3.0, processes=processes)
    assert tally.is_clean
    assert tally.tried > 20
