"""A disk that fills up, in short."""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_disk import full, limits, may_mount
from fault_tally import Tally
from fault_world import Place

pytestmark = pytest.mark.parametrize("engine", ["ladybug"], indirect=True)


def test_limit_of_file_size_leaves_store_whole(place: Place) -> None:
    assert limits(place, 4, seed=1) == Tally(tried=4)


@pytest.mark.skipif(not may_mount(), reason="only root may make a file system")
def test_a_file_system_without_room(place: Place, tmp_path: Path) -> None:
    assert full(place, tmp_path / "disk", 4, seed=1) == Tally(tried=4)
