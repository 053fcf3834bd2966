"""The registry's entry and the bundle: they start the server of this version, and name its tools."""

from __future__ import annotations

import json
import runpy
import subprocess
import zipfile
from pathlib import Path
from shutil import which

import pytest
import tomlkit

from memgraph_rag.server.tools import TOOLS

ROOT = Path(__file__).parents[2]


def test_bundle_starts_this_version_by_uvx(tmp_path: Path) -> None:
    made = runpy.run_path(str(ROOT / "deploy" / "mcp" / "bundle.py"))
    made["write_bundle"](tmp_path / "memory.mcpb")
    with zipfile.ZipFile(tmp_path / "memory.mcpb") as bundle:
        manifest = json.loads(bundle.read("manifest.json"))
    project = tomlkit.parse((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    entry = json.loads((ROOT / "deploy" / "mcp" / "server.json").read_text("utf-8"))
    assert manifest["version"] == entry["version"] == entry["packages"][0]["version"] == project["version"]
    assert manifest["server"]["mcp_config"]["args"][:4] == [
        "--from", "memgraph_rag[mcp,offline-models]", "memgraph-rag", "mcp"
    ]  # fmt: skip
    assert [tool["name"] for tool in manifest["tools"]] == [entry.function.__name__ for entry in TOOLS]
    assert f"mcp-name: {entry['name']} " in (ROOT / "README.md").read_text("utf-8"), "the registry's proof of ownership"


@pytest.mark.skipif(which("mcpb") is None, reason="needs the program mcpb: npm install -g @anthropic-ai/mcpb")
def test_bundle_is_valid_for_its_own_program(tmp_path: Path) -> None:
    runpy.run_path(str(ROOT / "deploy" / "mcp" / "bundle.py"))["write_bundle"](tmp_path / "memory.mcpb")
    for arguments in (("unpack", "memory.mcpb", "bundle"), ("validate", "bundle")):
        subprocess.run(["mcpb", *arguments], cwd=tmp_path, check=True, capture_output=True)
