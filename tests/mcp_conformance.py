"""Ask ``@modelcontextprotocol/conformance`` about this server: python tests/mcp_conformance.py

It needs npx; the newer suite, of the protocol without a handshake, runs on npm's own Node 22. Neither knows tokens, so
that the server runs without; whom it must let in is tested in tests/server/test_http.py. What is expected to fail, and
why, is in tests/mcp_conformance.yml.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from mcp_agents import namespaces_in, run_app
from memories import FOX, options

from memgraph_rag.server.memories import Memories
from memgraph_rag.server.server import MemoryServer
from memgraph_rag.server.transports import http_app

SUITE = "@modelcontextprotocol/conformance"
EXPECTED = Path(__file__).with_suffix(".yml")
NEWER = ["-p", "node@22", "-p", f"{SUITE}@0.2.0-alpha.12", "conformance"]
RUNS = (
    ["npx", "-y", f"{SUITE}@0.1.13", "server"],
    ["npx", "-y", *NEWER, "server", "--requirements", "2026-07-28"],
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        memories = Memories(namespaces_in(Path(folder) / "notes.lbug", **options(layers=("entities",))))
        memories.get("ann").add(FOX, key="fox")
        statuses = []
        with run_app(http_app(MemoryServer(memories, caller_namespace=lambda: "ann"))) as address:
            for command in RUNS:
                asked = [*command, "--url", f"{address}/mcp", "--expected-failures", str(EXPECTED)]
                statuses.append(subprocess.run(asked, check=False).returncode)
        memories.close()
    sys.exit(max(statuses))


if __name__ == "__main__":
    main()
