"""A first search imports only what it needs: users wait for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memgraph_rag import Memory
from memgraph_rag.models.files.catalogue import MINILM
from memgraph_rag.search import index
from memgraph_rag.testing import FakeLanguageModel

UNNEEDED = {
    *("networkx", "neo4j", "openai", "pandas", "pyarrow", "sentence_transformers", "sklearn", "spacy", "stanza"),
    *("scipy.fft", "scipy.sparse.linalg", "scipy.special", "thinc", "torch", "transformers"),
    *("httpx", "pathspec", "pydantic_settings", "tenacity"),
    *(f"memgraph_rag.{room}" for room in ("answering.answer", "layers", "scoped", "session", "stores.neo4j.store")),
    *("memgraph_rag.ingestion.ingest", "memgraph_rag.inspection.memory_map", "memgraph_rag.models.endpoints.client"),
    *("memgraph_rag.maintenance.maintenance", "memgraph_rag.strategies.known_strategies", "memgraph_rag.text.loading"),
}
"""Modules that together would take seconds. pyarrow is imported where no earlier search kept an index in a file."""
QUESTION = "Where does Ann Lee live?"
PROGRAMS = {
    "library": """
from memgraph_rag import Memory
with Memory(store) as memory:
    print(memory.search(question)[0])
""",
    "command line": """
from memgraph_rag.cli import main
sys.argv = ["memgraph-rag", "search", question, "--store", store]
try:
    main()
except SystemExit as end:
    assert not end.code
""",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("first") / "notes.lbug"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index, "_KEPT_FROM", 1)
        with Memory(path, embedder=MINILM, recognizer="spacy", model=FakeLanguageModel()) as memory:
            memory.add("Ann Lee lives in Leeds, by the mill.", key="ann")
            memory.add("The river rose in spring.", key="river")
            memory.search(QUESTION)
    return path


@pytest.mark.parametrize("way", PROGRAMS)
def test_first_search_imports_only_what_it_needs(way: str, store: Path) -> None:
    given = f"import sys\nstore, question = {str(store)!r}, {QUESTION!r}"
    shown = "\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", given + PROGRAMS[way] + shown], capture_output=True, text=True, check=True
    )
    assert "by the mill" in done.stdout
    assert UNNEEDED & set(done.stderr.split()) == set()
