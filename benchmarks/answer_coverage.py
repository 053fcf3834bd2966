"""How much of an answer a text covers, by the cosines of their sentences.

It knows texts and an embedder. Invariants: a sentence counts as covered where its nearest sentence of the text is above
the threshold; the threshold is chosen on other questions than those that are scored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from memgraph_rag.contracts import Embedder
from memgraph_rag.errors import DocumentError
from memgraph_rag.evaluation.dataset import Folder
from memgraph_rag.systems.graphrag.community_sources import sentence_spans
from memgraph_rag.types import Matrix

__all__ = ["Coverage", "Threshold", "best_threshold", "nearest_threshold"]


class Threshold(NamedTuple):
    """A nearness that tells what stands beside its own text from what stands beside another's.

    Attributes:
        value: a cosine, or a share of words; what is nearer counts as covered.
        own: share of what was compared that is nearer to its own text.
        other: the same share beside another's.
        pairs: how many were compared.
    """

    value: float
    own: float
    other: float
    pairs: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """Scores what was read beside references."""

    embedder: Embedder
    threshold: float

    def of(self, references: Sequence[str]) -> Callable[[str], float]:
        """A function of a text: the share of the sentences that it covers, the mean over the references."""
        wanted = [_vectors(reference, self.embedder) for reference in references]

        def share(text: str) -> float:
            read = _vectors(text, self.embedder)
            return float(np.mean([(_nearest(vectors, read) > self.threshold).mean() for vectors in wanted]))

        return share


def nearest_threshold(folder: Folder, embedder: Embedder) -> Threshold:
    """The cosine that best tells answers beside their own evidence from those beside another's, over marked questions.

    Raises:
        DocumentError: fewer than two texts have questions whose evidence is marked.
    """
    texts = {document.key: document.text for document in folder.documents}
    marked = [question for question in folder.questions if question.spans and question.answers]
    evidence = [_vectors("\n".join(texts[key][start:end] for key, start, end in q.spans), embedder) for q in marked]
    own: list[float] = []
    other: list[float] = []
    for place, question in enumerate(marked):
        ahead = (step % len(marked) for step in range(place + 1, place + len(marked)))
        foreign = next((at for at in ahead if marked[at].spans[0][0] != question.spans[0][0]), None)
        if foreign is None:
            raise DocumentError("Expected marked evidence in at least 2 texts, got 1.")
        answer = _vectors(question.answers[0], embedder)
        # As many sentences on both sides: the nearest of many is nearer.
        size = min(len(evidence[place]), len(evidence[foreign]))
        own += _nearest(answer, evidence[place][:size]).tolist()
        other += _nearest(answer, evidence[foreign][:size]).tolist()
    if not own:
        raise DocumentError("Expected questions with evidence_spans and answers, got none.")
    return best_threshold(own, other)


def best_threshold(own: Sequence[float], other: Sequence[float]) -> Threshold:
    """The threshold of the largest difference between the two shares above it (Youden's J).

    Of equally good thresholds it is the middle of the first two values between which they lie.

    Args:
        own: how near each is to its own text; not empty.
        other: how near the same are to another's.
    """
    values = np.unique([*own, *other])
    middles = (values[1:] + values[:-1]) / 2 if len(values) > 1 else values
    shares = [(np.mean(np.array(own) > middle), np.mean(np.array(other) > middle)) for middle in middles]
    best = int(np.argmax([of_own - of_other for of_own, of_other in shares]))
    return Threshold(float(middles[best]), float(shares[best][0]), float(shares[best][1]), len(own))


def _vectors(text: str, embedder: Embedder) -> Matrix:
    """(sentences, dimension) of length 1."""
    sentences = [text[start:end] for start, end in sentence_spans(text)]
    if not sentences:
        return np.zeros((0, embedder.dimension), np.float32)
    rows = embedder.embed(sentences)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def _nearest(wanted: Matrix, read: Matrix) -> np.ndarray:
    """(wanted,) the largest cosine of each to what was read; 0 where nothing was."""
    return (wanted @ read.T).max(axis=1) if len(read) else np.zeros(len(wanted))
