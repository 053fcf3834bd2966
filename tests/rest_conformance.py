"""Ask schemathesis whether the REST API is what it says of itself: python tests/rest_conformance.py SCHEMATHESIS

SCHEMATHESIS is its command, of an environment of its own (tests/integrations/run.py makes one). It reads
``/openapi.json`` of a real server over fake models, and calls each tool with data that the description allows and
forbids, the same in each run, and so many that it takes about a minute.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from mcp_agents import namespaces_in, run_app
from memories import FOX, options

from memgraph_rag.server.memories import Memories
from memgraph_rag.server.tokens import TokenFolder
from memgraph_rag.server.transports import http_app, token_server

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
        memories = Memories(namespaces_in(Path(folder) / "notes.lbug", **options(layers=("entities",))))
        memories.get("ann").add(FOX, key="fox")
        tokens = TokenFolder(Path(folder) / "tokens")
        header = f"Authorization: Bearer {tokens.make('ann')}"
        with run_app(http_app(token_server(memories, tokens))) as address:
            command = [str(Path(sys.argv[1]).absolute()), "run", f"{address}/openapi.json", "--header", header]
            status = subprocess.run([*command, *ARGUMENTS], check=False, cwd=folder).returncode
        memories.close()
    sys.exit(status)


if __name__ == "__main__":
    main()
