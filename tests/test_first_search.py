"""A first search imports no library that takes seconds: users wait for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memgraph_rag import Memory
from memgraph_rag.models.files.catalogue import MINILM
from memgraph_rag.testing import FakeLanguageModel

HEAVY = {
    "networkx", "neo4j", "openai", "sentence_transformers", "sklearn", "spacy", "stanza", "thinc", "torch",
    "transformers",
}  # fmt: skip
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
    with Memory(path, embedder=MINILM, recognizer="spacy", model=FakeLanguageModel()) as memory:
        memory.add("Ann Lee lives in Leeds, by the mill.", key="ann")
        memory.add("The river rose in spring.", key="river")
    return path


@pytest.mark.parametrize("way", PROGRAMS)
def test_first_search_imports_no_heavy_library(way: str, store: Path) -> None:
    given = f"import sys\nstore, question = {str(store)!r}, {QUESTION!r}"
    shown = "\nprint(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", given + PROGRAMS[way] + shown], capture_output=True, text=True, check=True
    )
    assert "by the mill" in done.stdout
    assert not HEAVY & set(done.stderr.split())
