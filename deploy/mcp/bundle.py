"""Make ``build/memgraph-rag.mcpb``, which a client installs by a click: a manifest that starts the package by ``uvx``.

The bundle holds no package and no model: ``uvx`` fetches them at the first start. Source: MCPB manifest 0.3.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

_TOOLS = ("remember", "recall", "ask", "forget", "list_documents", "look", "status")


def make_manifest() -> dict[str, Any]:
    """Return the manifest, with name, version and description of the registry's entry."""
    entry = json.loads((Path(__file__).parent / "server.json").read_text("utf-8"))
    (package,) = entry["packages"]
    start = [part for each in package["runtimeArguments"] for part in (each.get("name"), each["value"]) if part]
    arguments = [*start, *(each["value"] for each in package["packageArguments"])]
    return {
        "manifest_version": "0.3",
        "name": "memgraph-rag",
        "display_name": entry["title"],
        "version": entry["version"],
        "description": entry["description"],
        "author": {"name": "memgraph_rag"},
        "license": "Apache-2.0",
        "server": {
            "type": "python",
            "entry_point": "README.md",
            "mcp_config": {"command": package["runtimeHint"], "args": [*arguments, "--store", "${user_config.store}"]},
        },
        "user_config": {
            "store": {
                "type": "string",
                "title": "Memory",
                "description": "A file, or an address such as neo4j://localhost:7687.",
                "default": "${HOME}/memory.lbug",
                "required": True,
            }
        },
        "tools": [{"name": name} for name in _TOOLS],
        "compatibility": {"platforms": ["darwin", "linux", "win32"], "runtimes": {"python": ">=3.10"}},
    }


def write_bundle(path: Path) -> None:
    """Write the bundle over any file at this path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("manifest.json", json.dumps(make_manifest(), indent=2))
        bundle.write(ROOT / "README.md", "README.md")


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "memgraph-rag.mcpb"
    write_bundle(target)
    sys.stdout.write(f"{target}\n")
