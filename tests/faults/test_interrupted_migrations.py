"""Schema migrations that are interrupted, in short; ``make fault-tests`` tries every version and every statement."""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_migrations import Interruption, OldFiles, file_migrations, interrupt_file, ladybug_versions
from fault_migrations_neo4j import database_migrations
from fault_tally import Tally
from fault_world import Place

pytestmark = pytest.mark.timeout(300)


def test_next_opening_finishes_migration_of_file(tmp_path: Path) -> None:
    oldest = ladybug_versions()[1]
    tally = file_migrations(tmp_path, versions=[oldest], step=20, random_kills=2)
    assert tally.tried > 7
    assert tally.is_clean


def test_same_process_finishes_failed_migration(tmp_path: Path) -> None:
    """The engine's rollback of a new column leaves what ends the process when the table is read later."""
    files, oldest, tally = OldFiles(tmp_path), ladybug_versions()[1], Tally()
    for statement in range(3, 15, 2):
        interrupt_file(files, oldest, Interruption(statement, is_done=True), tally)
    assert tally == Tally(tried=6)


@pytest.mark.parametrize("engine", ["neo4j-2026"], indirect=True)
def test_next_opening_finishes_migration_of_database(place: Place) -> None:
    tally = database_migrations(place, versions=slice(1, 2), step=20, apart=False, random_kills=2, cuts=2)
    assert tally.tried > 7
    assert tally.is_clean
