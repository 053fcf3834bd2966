"""The small sample of the evaluation sets, questions with evidence, and the arguments that name both.

Its README.md says how it was drawn.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from memgraph_rag.errors import DocumentError
from memgraph_rag.evaluation.dataset import Folder

__all__ = ["DATA", "DATA_HELP", "STORE_HELP", "TEXT", "folder_parser", "keep_with_evidence", "kept_or_temporary"]

DATA = Path(__file__).with_name("data")
"""The sample."""

TEXT = DATA / "alice_11.txt"
"""A whole book in the public domain, Alice's Adventures in Wonderland."""

DATA_HELP = "folders of a question set; benchmarks/data has samples of 20 questions, its README.md names the full sets"

STORE_HELP = "a file or a Neo4j address that is kept; by default a temporary file"


def folder_parser(module_doc: str | None) -> argparse.ArgumentParser:
    """Return a parser of folders of questions and of a store. The first line of the docstring describes it."""
    parser = argparse.ArgumentParser(description=(module_doc or "").partition("\n")[0])
    parser.add_argument("directories", type=Path, nargs="+", metavar="DIR", help=DATA_HELP)
    parser.add_argument("--store", help=STORE_HELP)
    return parser


@contextmanager
def kept_or_temporary(store: str | None) -> Iterator[str | Path]:
    """Yield the store that was named, or a file that goes with the block."""
    if store is not None:
        yield store
        return
    with TemporaryDirectory() as folder:
        yield Path(folder) / "benchmark.lbug"


def keep_with_evidence(folder: Folder) -> Folder:
    """Return the folder with only the questions whose evidence is known.

    Raises:
        DocumentError: there is no such question.
    """
    kept = [question for question in folder.questions if question.has_evidence]
    if not kept:
        raise DocumentError(
            f"Expected questions with evidence_doc_ids, evidence_spans, or evidence_turn_ids and turns.jsonl in "
            f"{folder.name}, got {len(folder.questions)} without.",
            name=folder.name,
        )
    return replace(folder, questions=kept)
