"""A bulk import that is killed, on a server: ``tests/stores/test_neo4j_home.py`` tries each step with the files."""

from __future__ import annotations

import sys

import pytest
from fault_bulk import kill_imports
from fault_tally import Tally

pytestmark = [
    pytest.mark.slow,
    pytest.mark.full("starts a server four times; the steps are tried without a server in make test"),
    pytest.mark.timeout(1200),  # servers stop and start
    pytest.mark.skipif(sys.platform == "win32", reason="a local Neo4j runs elsewhere"),
]


def test_killed_import_leaves_nothing_or_all() -> None:
    assert kill_imports("2026", ["while neo4j-admin runs"]) == Tally(tried=1)
