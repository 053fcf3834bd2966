"""How much of the evidence one search finds.

It knows the memory by its public methods. Invariant: what is scored is decided by the folder's kind of evidence alone,
so that every mode and every method is scored alike.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from memgraph_rag.evaluation.dataset import Folder, Question, Span
from memgraph_rag.evaluation.metrics import coverage, distinct, recall, within_budget
from memgraph_rag.memory import Memory

__all__ = ["BUDGET_TOKENS", "CUTOFFS", "MODES", "Piece", "evidence_shares", "find_pieces"]

MODES = ("graph", "hybrid", "keywords", "vector")

CUTOFFS = {"turn": (5, 10), "document": (2, 5), "span": (0, 0)}
"""Of recall, by the kind of evidence."""

BUDGET_TOKENS = 2_000
"""Of what was found counts as much as fits, where the evidence is spans."""

SEGMENTS = {"turn": 20, "document": 10, "span": 20}
"""How many a timed search asks for; where these are too few, more are asked for, which is not timed."""

Piece = tuple[Span, int]
"""A segment that was found: where it stands, and its tokens."""


def find_pieces(
    memory: Memory, folder: Folder, question: Question, mode: str, cutoffs: Sequence[int]
) -> tuple[list[Piece], float]:
    """What a search finds, best first, as much as the metrics need, and the seconds of its first form."""
    k = max(SEGMENTS[folder.kind], *cutoffs)
    found, seconds = _timed(memory, question, mode, k)
    while len(found) >= k and not _suffices(folder, found, max(cutoffs)):
        k *= 2
        found = _timed(memory, question, mode, k)[0]
    return found, seconds


def evidence_shares(
    folder: Folder, question: Question, found: Sequence[Piece], cutoffs: Sequence[int]
) -> dict[str, float]:
    """What one question with evidence adds to each metric, between 0 and 1."""
    if folder.kind == "span":
        return {f"span coverage@{BUDGET_TOKENS}": coverage(question.spans, within_budget(found, BUDGET_TOKENS))}
    ranked = _ranked(folder, found)
    prefix = "turn " if folder.kind == "turn" else ""
    shares = {f"{prefix}recall@{k}": recall(question.units, ranked, k) for k in sorted(cutoffs)}
    if folder.kind == "document":
        shares[f"all@{max(cutoffs)}"] = float(recall(question.units, ranked, max(cutoffs)) == 1)
    return shares


def _timed(memory: Memory, question: Question, mode: str, k: int) -> tuple[list[Piece], float]:
    started = time.perf_counter()
    found = memory.search(question.text, k=k, mode=mode, documents=question.documents)  # pyright: ignore[reportArgumentType]
    seconds = time.perf_counter() - started
    return [((one.document_key, one.segment.start, one.segment.end), one.segment.tokens) for one in found], seconds


def _suffices(folder: Folder, found: Sequence[Piece], most: int) -> bool:
    """Whether more segments would change no figure."""
    if folder.kind == "span":
        return sum(tokens for _, tokens in found) >= BUDGET_TOKENS
    return len(_ranked(folder, found)) >= most


def _ranked(folder: Folder, found: Sequence[Piece]) -> list[str]:
    return distinct(folder.unit_of(key, start) for (key, start, _), _ in found)
