"""The small sample of the evaluation sets, and questions with evidence. Its README.md says how it was drawn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from memgraph_rag.errors import DocumentError
from memgraph_rag.evaluation.dataset import Folder

__all__ = ["DATA", "DATA_HELP", "TEXT", "keep_with_evidence"]

DATA = Path(__file__).with_name("data")
"""The sample."""

TEXT = DATA / "alice_11.txt"
"""A whole book in the public domain, Alice's Adventures in Wonderland."""

DATA_HELP = "folders of a question set; benchmarks/data has samples of 20 questions, its README.md names the full sets"


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
