"""Ask schemathesis whether the REST API is what it says of itself: python tests/rest_conformance.py SCHEMATHESIS

SCHEMATHESIS is its command, of an environment of its own (tests/integrations/run.py makes one). It reads
``/openapi.json`` of a real server over fake models, and calls each tool with data that the description allows and
forbids, the same in each run, and so many that it takes about a minute.
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
from memgraph_rag.server.connections import BoundedConnection
from memgraph_rag.server.memories import Memories
from memgraph_rag.server.tokens import TokenFolder

CASES = 20
"""Random ones of a tool and phase, beside those that follow from its schema."""

ARGUMENTS = [
    "--generation-deterministic", "--max-examples", str(CASES), "--phases", "examples,coverage,fuzzing",
    # What a schema cannot say is refused as well: an empty text, a time that is none. That is 422, as described.
    "--exclude-checks", "positive_data_acceptance",
    "--no-color", "--request-timeout", "30",
]  # fmt: skip


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:

        def open_namespace(namespace: str, *, progress: Callable[[str, int, int], None]) -> Memory:
            file = Path(folder) / "notes.lbug"
            return Memory(file, namespace=namespace, progress=progress, **options(layers=("entities",)))

        memories, tokens = Memories(open_namespace), TokenFolder(Path(folder) / "tokens")
        memories.get("ann").add(FOX, key="fox")
        listening = transports._listen(0)
        app = transports.http_app(transports.token_server(memories, tokens))
        config = uvicorn.Config(
            app, http=BoundedConnection, log_config=None, log_level="ERROR", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/openapi.json"
        header = f"Authorization: Bearer {tokens.make('ann')}"
        command = [str(Path(sys.argv[1]).absolute()), "run", url, "--header", header, *ARGUMENTS]
        status = subprocess.run(command, check=False, cwd=folder).returncode
        server.should_exit = True
        thread.join(10)
        memories.close()
    sys.exit(status)


if __name__ == "__main__":
    main()
