"""Documents by key, id or path: many names, of which one is unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from memories import options

from memgraph_rag import Memory
from memgraph_rag.calls import document_lookup
from memgraph_rag.errors import DocumentNotFound


def test_unknown_name_is_refused_before_all_paths_are_resolved(tmp_path: Path, monkeypatch: Any) -> None:
    files = [tmp_path / f"{number}.md" for number in range(300)]
    looked_at: list[Path] = []
    spellings = document_lookup.spellings
    monkeypatch.setattr(document_lookup, "spellings", lambda path: looked_at.append(path) or spellings(path))
    with Memory(tmp_path / "notes.lbug", **options()) as memory:
        for file in files:
            file.write_text(f"Ann found fox {file.stem} in the barn.")
        list(memory.add_many(files))
        monkeypatch.chdir(tmp_path)
        paths = [file.name for file in files]
        assert len(memory.search("fox", documents=paths, k=500)) == len(files)
        looked_at.clear()
        with pytest.raises(DocumentNotFound, match=r"'nowhere 0'"):
            memory.search("fox", documents=[*paths, *(f"nowhere {number}" for number in range(5000))])
    assert len(looked_at) < 1000
