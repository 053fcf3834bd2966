"""What is embedded of a segment, and how a turn's vector takes in what was said around it.

It knows no model. Invariants: a text that is embedded holds the whole segment; the vector of a segment that nobody says
is that of its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from memgraph_rag.lexical.timestamps import day_of
from memgraph_rag.types import CONTEXT, Annotation, Matrix, Segment

__all__ = ["NEIGHBOUR_SHARE", "in_context", "with_neighbours"]

NEIGHBOUR_SHARE = 0.3
"""Of each neighbour's vector in that of a turn; of 0.2 to 0.5 none is better on both locomo and beam."""

_MOST_OF_A_TITLE = 300  # characters: more of it would leave no room for the segment in the embedder's window


def in_context(title: str, segments: Sequence[Segment], context: Iterable[Annotation] | None = None) -> list[str]:
    """A text for each segment of one document, in order: a passage under its title, a turn under its day.

    Args:
        context: where the document has the layer ``context``: annotations, its own among them. A segment then stands
            under what they say of the document, under its day and speaker, and under its section.
    """
    heads = _short_heads(title, segments) if context is None else _whole_heads(segments, context)
    return [f"{head}\n{segment.text}" if head else segment.text for head, segment in zip(heads, segments, strict=True)]


def _short_heads(title: str, segments: Sequence[Segment]) -> Iterator[str]:
    for segment in segments:
        yield day_of(segment.time) if segment.speaker else title[:_MOST_OF_A_TITLE]


def _whole_heads(segments: Sequence[Segment], context: Iterable[Annotation]) -> Iterator[str]:
    headers = [item for item in context if item.layer == CONTEXT]
    of_document = [item.text for item in headers if not item.segment_ids]
    of_segment = {segment_id: item.text for item in headers for segment_id in item.segment_ids}
    for segment in segments:
        said = ", ".join(filter(None, [segment.speaker, day_of(segment.time)])) if segment.speaker else ""
        yield "\n".join(filter(None, [*of_document, said, of_segment.get(segment.id, "")]))


def with_neighbours(vectors: Matrix, segments: Sequence[Segment]) -> Matrix:
    """(n, d) the vectors of one document's segments, to that of a turn a share of those around it added.

    "Yes, last week!" tells nothing alone. The texts themselves are not joined: a short question would then be lost
    beside the long answer that follows it. Echoes stand between echoes: they are no context of evidence.

    Args:
        vectors: (n, d) of the texts that ``in_context`` gives, of length 1. What comes back has other lengths.
    """
    mixed = np.array(vectors, np.float32)
    for echo in (False, True):
        places = [place for place, segment in enumerate(segments) if segment.echo is echo]
        for before, after in pairwise(places):
            for place, neighbour in ((before, after), (after, before)):
                if segments[place].speaker:
                    mixed[place] += NEIGHBOUR_SHARE * vectors[neighbour]
    return mixed
