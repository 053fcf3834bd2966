"""Choose the sentences that best say what texts have in common: an overview without a language model.

The module knows no graph and embeds nothing: a sentence gets the vector of the passage that it begins. Invariants:
chosen sentences occur in the texts word for word (very long ones are cut); no sentence is chosen twice; the chosen
sentences fit the token limit, except the first, which is always chosen.

The method is centroid-based extraction with the redundancy penalty of maximal marginal relevance. Sources: Radev et
al., "Centroid-based summarization of multiple documents" (2004); Carbonell and Goldstein, "The use of MMR" (1998).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from memgraph_rag.lexical.sentences import sentences
from memgraph_rag.types import Vector, as_line

_FEWEST_CHARACTERS = 25
_MOST_CHARACTERS = 160
_REDUNDANCY = 0.5  # weight of the largest cosine to a chosen sentence, which is subtracted
_DECIMALS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A sentence that may be chosen.

    Attributes:
        source_id: id of the node that contains the sentence.
        text: the sentence as it is read, after the title of its document.
        vector: the node's embedding, of length 1.
    """

    source_id: str
    text: str
    vector: Vector


def first_sentence(text: str) -> str:
    """Return the first sentence of a text on one line; a very short one with the next one, a very long one cut.

    A cut sentence ends with an ellipsis. Empty for a blank text.

    >>> first_sentence("Dr. Ann Smith found a fox in her barn. It was red and it slept.")
    'Dr. Ann Smith found a fox in her barn.'
    """
    line = as_line(text)[: 2 * _MOST_CHARACTERS]  # the rest would be cut anyway
    ends = (end for _, end in sentences(line) if end > _FEWEST_CHARACTERS)
    return cut(line[: next(ends, None)].rstrip())


def cut(text: str, most: int = _MOST_CHARACTERS) -> str:
    """Return the text; one with more than ``most`` characters is cut at a space and gets an ellipsis.

    A text without a space is cut inside the word. The result has at most ``most`` characters.
    """
    return text if len(text) <= most else text[: most - 1].rsplit(maxsplit=1)[0] + "…"


def central_lines(
    lines: Sequence[Line], centre: Vector, *, tokens: int, count_tokens: Callable[[Sequence[str]], list[int]]
) -> list[Line]:
    """Return the lines whose sources are nearest to the centre and unlike each other, best first.

    A line that does not fit the remaining tokens is skipped, and a shorter one may follow. The first line is chosen
    even if it exceeds the limit. Of lines with the same text only the first counts; empty lines do not count.

    Args:
        centre: (d,) of length 1.
        tokens: the token limit of all lines together.
    """
    lines = _drop_repeated(lines)
    if not lines:
        return []
    vectors = np.stack([line.vector for line in lines])
    lengths = count_tokens([line.text for line in lines])
    relevance = vectors @ centre
    penalty = np.zeros(len(lines), np.float32)
    remaining = set(range(len(lines)))
    chosen: list[Line] = []
    while remaining:
        worth = (relevance - _REDUNDANCY * penalty).round(_DECIMALS)
        best = max(remaining, key=lambda place: (worth[place], -place))
        remaining.remove(best)
        if lengths[best] <= tokens or not chosen:
            chosen.append(lines[best])
            tokens -= lengths[best]
            penalty = np.maximum(penalty, vectors @ vectors[best])
    return chosen


def _drop_repeated(lines: Sequence[Line]) -> list[Line]:
    """Return the first line of each different text, in order, without empty lines."""
    first: dict[str, Line] = {}
    for line in lines:
        if line.text:
            first.setdefault(line.text, line)
    return list(first.values())
