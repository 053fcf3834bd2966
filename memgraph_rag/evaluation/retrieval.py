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

__all__ = ["BUDGET_TOKENS", "CUTOFFS", "Piece", "evidence_shares", "find_pieces"]

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
    pieces, seconds = _timed(memory, question, mode, k)
    while len(pieces) >= k and not _suffices(folder, pieces, max(cutoffs)):
        k *= 2
        pieces = _timed(memory, question, mode, k)[0]
    return pieces, seconds


def evidence_shares(
    folder: Folder, question: Question, pieces: Sequence[Piece], cutoffs: Sequence[int]
) -> dict[str, float]:
    """What one question with evidence adds to each metric, between 0 and 1."""
    if folder.kind == "span":
        return {f"span coverage@{BUDGET_TOKENS}": coverage(question.spans, within_budget(pieces, BUDGET_TOKENS))}
    ranked = _ranked(folder, pieces)
    prefix = "turn " if folder.kind == "turn" else ""
    shares = {f"{prefix}recall@{k}": recall(question.units, ranked, k) for k in sorted(cutoffs)}
    if folder.kind == "document":
        shares[f"all@{max(cutoffs)}"] = float(recall(question.units, ranked, max(cutoffs)) == 1)
    return shares


def _timed(memory: Memory, question: Question, mode: str, k: int) -> tuple[list[Piece], float]:
    started = time.perf_counter()
    results = memory.search(question.text, k=k, mode=mode, documents=question.documents)  # pyright: ignore[reportArgumentType]
    seconds = time.perf_counter() - started
    return [((item.document_key, item.start, item.end), item.tokens) for item in results], seconds


def _suffices(folder: Folder, pieces: Sequence[Piece], most: int) -> bool:
    """Whether more segments would change no figure."""
    if folder.kind == "span":
        return sum(tokens for _, tokens in pieces) >= BUDGET_TOKENS
    return len(_ranked(folder, pieces)) >= most


def _ranked(folder: Folder, pieces: Sequence[Piece]) -> list[str]:
    return distinct(folder.unit_of(key, start) for (key, start, _), _ in pieces)
