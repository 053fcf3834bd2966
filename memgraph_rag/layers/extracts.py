"""The sentences that say best what some texts have in common: an overview without a language model.

It knows no graph, and embeds nothing: a sentence counts as near as the passage that it begins. Invariants: what is
chosen stands in the texts, word for word (a very long sentence is cut); nothing is chosen twice; what is chosen fits
the tokens that there are, but for the first, which is chosen whatever it takes.

Centroid-based extraction with the redundancy penalty of maximal marginal relevance. Sources: Radev et al., "Centroid-
based summarization of multiple documents" (2004); Carbonell and Goldstein, "The use of MMR" (1998).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from memgraph_rag.lexical.sentences import sentences
from memgraph_rag.types import Vector, as_line

__all__ = ["Line", "central_lines", "cut", "first_sentence"]

_FEWEST_CHARACTERS = 25
_MOST_CHARACTERS = 160
_REDUNDANCY = 0.5  # what the cosine to a sentence that was chosen takes away
_DECIMALS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A sentence that may be chosen.

    Attributes:
        source_id: of the node that says it.
        text: as it is read, with the title of its document before it.
        vector: of the node, of length 1.
    """

    source_id: str
    text: str
    vector: Vector


def first_sentence(text: str) -> str:
    """How a text begins, on one line: its first sentence, with the next where that is very short, cut where very long.

    >>> first_sentence("Dr. Ann Smith found a fox in her barn. It was red and it slept.")
    'Dr. Ann Smith found a fox in her barn.'
    """
    line = as_line(text)[: 2 * _MOST_CHARACTERS]  # what follows is cut anyway
    ends = (end for _, end in sentences(line) if end > _FEWEST_CHARACTERS)
    return cut(line[: next(ends, None)].rstrip())


def cut(text: str, most: int = _MOST_CHARACTERS) -> str:
    """The text, or its beginning up to a blank where it has more characters."""
    return text if len(text) <= most else text[: most - 1].rsplit(maxsplit=1)[0] + "…"


def central_lines(
    lines: Sequence[Line], centre: Vector, *, tokens: int, count_tokens: Callable[[Sequence[str]], list[int]]
) -> list[Line]:
    """The lines whose sources are nearest to the centre and unlike each other, the best first.

    Lines of the same text count as one, the first; empty ones do not count.

    Args:
        tokens: most of the lines together.
    """
    lines = _first_of_each(lines)
    if not lines:
        return []
    vectors = np.stack([line.vector for line in lines])
    lengths = count_tokens([line.text for line in lines])
    relevance = vectors @ centre
    penalty = np.zeros(len(lines), np.float32)
    left = set(range(len(lines)))
    chosen: list[Line] = []
    while left:
        worth = (relevance - _REDUNDANCY * penalty).round(_DECIMALS)
        best = max(left, key=lambda place: (worth[place], -place))
        left.remove(best)
        if lengths[best] <= tokens or not chosen:
            chosen.append(lines[best])
            tokens -= lengths[best]
            penalty = np.maximum(penalty, vectors @ vectors[best])
    return chosen


def _first_of_each(lines: Sequence[Line]) -> list[Line]:
    """Lines of different texts, in order; without those that say nothing."""
    first: dict[str, Line] = {}
    for line in lines:
        if line.text:
            first.setdefault(line.text, line)
    return list(first.values())
