"""Ask ``@modelcontextprotocol/conformance`` about this server: python tests/mcp_conformance.py

It needs npx; the newer suite, of the protocol without a handshake, runs on npm's own Node 22. Neither knows tokens, so
that the server runs without; whom it must let in is tested in tests/mcp/test_http.py. What is expected to fail, and
why, is in tests/mcp_conformance.yml.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import uvicorn
from memories import FOX, options

from memgraph_rag import Memory
from memgraph_rag.server import transports
from memgraph_rag.server.memories import Memories
from memgraph_rag.server.server import MemoryServer

SUITE = "@modelcontextprotocol/conformance"
EXPECTED = Path(__file__).with_suffix(".yml")
NEWER = ["-p", "node@22", "-p", f"{SUITE}@0.2.0-alpha.12", "conformance"]
RUNS = (
    ["npx", "-y", f"{SUITE}@0.1.13", "server"],
    ["npx", "-y", *NEWER, "server", "--requirements", "2026-07-28"],
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:

        def open_namespace(namespace: str, *, progress: Callable[[str, int, int], None]) -> Memory:
            file = Path(folder) / "notes.lbug"
            return Memory(file, namespace=namespace, progress=progress, **options(layers=("entities",)))

        memories = Memories(open_namespace)
        memories.get("ann").add(FOX, key="fox")
        listening = transports._listen(0)
        app = transports.http_app(MemoryServer(memories, caller_namespace=lambda: "ann"))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        statuses = []
        for command in RUNS:
            done = subprocess.run([*command, "--url", url, "--expected-failures", str(EXPECTED)], check=False)
            statuses.append(done.returncode)
        server.should_exit = True
        thread.join(10)
        memories.close()
    sys.exit(max(statuses))


if __name__ == "__main__":
    main()
