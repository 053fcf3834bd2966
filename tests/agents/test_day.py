"""A recorded day of three sessions through a real local server: connected, played, imported again, disconnected."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from recorded_day import CLAUDE_SETTINGS, CLAUDE_STATE, DAY, Player

pytestmark = [pytest.mark.slow, pytest.mark.full("a process with models")]

SERVE = """
import sys
from memories import options
from memgraph_rag import Memory
from memgraph_rag.cli import main, serve

class Openings:
    def __init__(self, place, layers, *, shares, **settings):
        self.place, self.settings = place, settings
    def __call__(self, namespace, *, progress):
        given = options(layers=(), embedder="auto", **self.settings)
        return Memory(self.place.store, namespace=namespace, progress=progress, **given)

serve._Openings = Openings
sys.argv[0] = "memgraph-rag"
main()
"""
"""The command line with the small embedder and without a language model."""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    tests = str(Path(__file__).parents[1])
    paths = os.pathsep.join([tests, os.environ.get("PYTHONPATH", str(Path(tests).parent))])
    home = {"HOME": str(tmp_path / "home"), "XDG_DATA_HOME": str(tmp_path / "home" / ".local" / "share")}
    no_model = {"MEMGRAPH_RAG_MODEL": "http://127.0.0.1:9/v1#nobody", "MEMGRAPH_RAG_READER": "none"}
    store = {"MEMGRAPH_RAG_STORE": str(tmp_path / "day.lbug")}
    return {**os.environ, **home, **no_model, **store, "PYTHONPATH": paths}


@pytest.fixture
def player(tmp_path: Path, environment: dict[str, str]) -> Iterator[Player]:
    home, folder = tmp_path / "home", tmp_path / "home" / "src" / "shop"
    for part in (folder / ".git", home / ".claude"):
        part.mkdir(parents=True)
    (home / ".claude.json").write_text(CLAUDE_STATE)
    (home / ".claude" / "settings.json").write_text(CLAUDE_SETTINGS)
    yield Player(home, folder, environment)
    address = home / "agents" / "server.json"
    if address.exists():
        with suppress(ProcessLookupError):
            os.kill(json.loads(address.read_text())["pid"], signal.SIGTERM)


def run(player: Player, *arguments: str) -> str:
    command = [sys.executable, "-c", SERVE, *arguments]
    done = subprocess.run(
        command, env=player.environment, cwd=player.folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_third_session_begins_with_what_the_first_decided(player: Player) -> None:
    folder = str(player.home / "agents")
    before = {path: path.read_bytes() for path in player.home.rglob("*") if path.is_file()}
    assert "notify-send" in run(player, "agent", "connect", "claude-code", "--yes", "--folder", folder)
    command = [sys.executable, "-c", SERVE, "agent", "serve", "--folder", folder]
    with subprocess.Popen(command, env=player.environment) as server:
        while not (player.home / "agents" / "server.json").exists():
            assert server.poll() is None
            time.sleep(0.1)
        try:
            printed = [player.play(number, turns) for number, turns in enumerate(DAY)]
        finally:
            server.send_signal(signal.SIGTERM)
    assert (Path(folder) / "hooks.log").exists() is False, (Path(folder) / "hooks.log").read_text()
    started, recalled = (json.loads(each)["hookSpecificOutput"]["additionalContext"] for each in printed[2])
    assert "Let's use SQLite instead of Postgres." in started
    assert "We decided to cache prices" in started
    assert "- Always run ruff before a commit [" in started
    assert "Let's use SQLite" in recalled
    assert run(player, "import", "claude-code").count("    0 new turns") == len(DAY)
    run(player, "agent", "disconnect", "claude-code", "--yes", "--folder", folder)
    after = {path: path.read_bytes() for path in before}
    assert after == before
