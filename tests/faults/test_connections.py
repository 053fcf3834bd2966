"""Connections that break, in short; ``make fault-tests`` does it at length, and stops the server too."""

from __future__ import annotations

import pytest
from fault_connections import breaks, gone
from fault_tally import Tally
from fault_world import Place

pytestmark = pytest.mark.parametrize("engine", ["neo4j-2026"], indirect=True)


def test_a_connection_that_breaks_is_not_noticed(place: Place) -> None:
    assert breaks(place, 15, seed=3) == Tally(tried=15)


def test_a_server_that_is_gone_is_told_of_in_time(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memgraph_rag.stores.neo4j_connection.RETRY_S", 1.0)
    assert gone(place, deadline_s=40.0).is_clean
