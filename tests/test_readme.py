"""The README tells the truth: its Python runs, with real models, and prints what it says it prints."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_there_are_snippets():
    assert SNIPPETS


@pytest.mark.timeout(900)
@pytest.mark.parametrize("snippet", SNIPPETS)
def test_each_snippet_runs(snippet, tmp_path, monkeypatch, capsys):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    # The model that the tests install, and less to read than the 1.5B model's patience would allow.
    monkeypatch.setenv("MEMGRAPH_RAG_MODEL", "qwen2.5-coder-0.5b-instruct")
    monkeypatch.setenv("MEMGRAPH_RAG_MAX_NODES", "24")
    names: dict[str, object] = {}
    exec(compile(snippet, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert printed.count("examples/peter_rabbit.txt") == len(names["answer"].citations) > 0
    assert "point" in printed
    assert not names["memory"]._store._file.users  # closed


def test_linked_files_exist():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).is_file(), target
