"""Programs at once on ``memgraph-rag serve``, over a Neo4j of their own: nothing may be lost."""

from __future__ import annotations

import tempfile
from pathlib import Path

from conftest import PASSWORD
from fault_servers import own_server
from fault_tally import Tally
from serve_load import run

CLIENTS = 50
PAUSE_S = 3.0  # of a client before a call, in the mean


def loaded(line: str, *, seconds: float) -> Tally:
    """Let the programs work for so long; a call that fails, but for 429, counts as lost."""
    with tempfile.TemporaryDirectory() as folder, own_server(Path(folder), line) as server:
        place = {"store": server.bolt_uri, "neo4j": {"user": server.user, "password": PASSWORD}}
        seen = run(place, clients=CLIENTS, seconds=seconds, pause_s=PAUSE_S)
    calls = sum(map(len, seen.calls.values()))
    return Tally(tried=calls, lost=len(seen.lost) + len(seen.errors), leaked=len(seen.crossed))
