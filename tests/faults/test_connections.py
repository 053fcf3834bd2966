"""Connections that break, in short; ``make fault-tests`` does it at length, and takes the server away too."""

from __future__ import annotations

import pytest
from fault_connections import breaks
from fault_tally import Tally
from fault_world import Place

pytestmark = pytest.mark.parametrize("engine", ["neo4j-2026"], indirect=True)


def test_a_connection_that_breaks_is_not_noticed(place: Place) -> None:
    assert breaks(place, 8, seed=3) == Tally(tried=8)
