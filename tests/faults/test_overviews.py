"""Layers of the memory that several build at once, while documents come and go."""

from __future__ import annotations

import pytest
from fault_overviews import built_together
from fault_world import Place


@pytest.mark.parametrize("changing", [False, True], ids=["in peace", "while documents change"])
def test_concurrent_builds_leave_layers_whole(place: Place, engine: str, changing: bool) -> None:
    tally = built_together(place, builders=2, apart=engine != "ladybug", changing=changing)
    assert tally.is_clean
