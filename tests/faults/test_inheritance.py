"""What a server that outlives us takes with it: nothing that our caller has open.

A lock that a caller held when it started a local server was held for as long as the server ran.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from memgraph_rag.stores.neo4j import server as neo4j_server
from memgraph_rag.stores.neo4j.distribution import Distribution
from memgraph_rag.stores.neo4j.home import Home

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a local Neo4j runs on Linux and macOS")


def test_server_inherits_only_its_lock(tmp_path: Path) -> None:
    program = tmp_path / "java"
    program.write_text("#!/bin/sh\necho started\nexec sleep 60\n")
    program.chmod(0o700)
    home = Home(tmp_path / "home")
    home.make()
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)

    with home.lock() as lock:
        pid = neo4j_server._spawn(home, Distribution("0", program, (), "Main"), lock)

    try:
        os.close(writing)
        assert os.read(reading, 1) == b"", "the pipe ends, because nobody else has it open"
        assert home.is_locked
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reading)
    assert not home.is_locked
