"""Scores of a search: the share of the evidence that it finds.

It uses the public methods of the memory. Invariant: only the folder's kind of evidence determines the metrics, so every
mode and every method is scored in the same way.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from memgraph_rag.contracts import SearchMode
from memgraph_rag.evaluation.dataset import Folder, Question, Span
from memgraph_rag.evaluation.metrics import coverage, fit_budget, recall
from memgraph_rag.memory import Memory

CUTOFFS = {"turn": (5, 10), "document": (2, 5), "span": (0, 0)}
"""Cutoffs of recall, by the kind of evidence."""

BUDGET_TOKENS = 2_000
"""Only results that fit this many tokens count, if the evidence is spans."""

SEGMENTS = {"turn": 20, "document": 10, "span": 20}
"""Number of segments of the timed search, by the kind of evidence. Further searches for more are not timed."""

Piece = tuple[Span, int]
"""The span of a segment in the results, and its number of tokens."""


def find_pieces(
    memory: Memory, folder: Folder, question: Question, mode: str | SearchMode, cutoffs: Sequence[int]
) -> tuple[list[Piece], float]:
    """Search for a question; return the segments that its metrics need, best first, and the first search's seconds.

    If the first search returns too few segments for the metrics, further searches ask for twice as many each time,
    until they suffice or the search finds no more.
    """
    k = max(SEGMENTS[folder.kind], *cutoffs)
    pieces, seconds = _time_search(memory, question, mode, k)
    while len(pieces) >= k and not _suffices(folder, pieces, max(cutoffs)):
        k *= 2
        pieces = _time_search(memory, question, mode, k)[0]
    return pieces, seconds


def evidence_shares(
    folder: Folder, question: Question, pieces: Sequence[Piece], cutoffs: Sequence[int]
) -> dict[str, float]:
    """Score a search for one question by the share of its evidence that was found: by metric, from 0 to 1.

    Turns and documents give the recall at each cutoff. Documents also give "all@k" for the largest cutoff k: 1 if no
    document of the evidence is missing, else 0. Spans give only the coverage within ``BUDGET_TOKENS``.
    """
    if folder.kind == "span":
        return {f"span coverage@{BUDGET_TOKENS}": coverage(question.spans, fit_budget(pieces, BUDGET_TOKENS))}
    ranked = _rank_units(folder, pieces)
    prefix = "turn " if folder.kind == "turn" else ""
    shares = {f"{prefix}recall@{k}": recall(question.units, ranked, k) for k in sorted(cutoffs)}
    if folder.kind == "document":
        shares[f"all@{max(cutoffs)}"] = float(recall(question.units, ranked, max(cutoffs)) == 1)
    return shares


def _time_search(memory: Memory, question: Question, mode: str | SearchMode, k: int) -> tuple[list[Piece], float]:
    started = time.perf_counter()
    results = memory.search(question.text, k=k, mode=mode, documents=question.documents)  # pyright: ignore[reportArgumentType]
    seconds = time.perf_counter() - started
    return [((item.document_key, item.start, item.end), item.tokens) for item in results], seconds


def _suffices(folder: Folder, pieces: Sequence[Piece], most: int) -> bool:
    """Return whether the segments suffice, so that further segments would not change a score."""
    if folder.kind == "span":
        return sum(tokens for _, tokens in pieces) >= BUDGET_TOKENS
    return len(_rank_units(folder, pieces)) >= most


def _rank_units(folder: Folder, pieces: Sequence[Piece]) -> list[str]:
    return list(dict.fromkeys(folder.find_evidence_unit(key, start) for (key, start, _), _ in pieces))
