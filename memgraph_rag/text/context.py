"""Build the texts that are embedded for segments, and add neighbours' vectors to those of conversation turns.

The module knows no model. Invariants: an embedded text contains the whole segment without markup; the vector
of a segment without a speaker is that of its own text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from memgraph_rag.lexical.code import find_program_language
from memgraph_rag.lexical.markdown import strip_markup
from memgraph_rag.lexical.timestamps import format_day
from memgraph_rag.text.programs import scopes
from memgraph_rag.types import CONTEXT, Annotation, Matrix, Segment

NEIGHBOUR_SHARE = 0.3
"""The weight of each neighbour's vector in a turn's vector; no weight from 0.2 to 0.5 is better on locomo and beam."""

_MOST_OF_A_TITLE = 300  # characters: a longer title would leave no room for the segment in the embedder's window


def write_in_context(title: str, segments: Sequence[Segment], context: Iterable[Annotation] | None = None) -> list[str]:
    """Return the text to embed for each segment of a document: a passage after its title, a turn after its day.

    A turn without a time, and a passage of a document without a title, is embedded alone. A title is cut to 300
    characters. In a program, the signatures of the definitions that a segment continues follow the title. Markup is
    left out.

    Args:
        context: the document's annotations, if the document has the layer ``context``. Each segment then follows the
            annotation of the document, a turn's speaker and day, and the annotation of its section. The title is then
            not used.
    """
    heads = _short_heads(title, segments) if context is None else _whole_heads(segments, context)
    if context is None and find_program_language(title):
        heads = _program_heads(title, segments)
    texts = (strip_markup(segment.text, title) for segment in segments)
    return [f"{head}\n{text}" if head else text for head, text in zip(heads, texts, strict=True)]


def _short_heads(title: str, segments: Sequence[Segment]) -> Iterator[str]:
    for segment in segments:
        yield format_day(segment.time) if segment.speaker else title[:_MOST_OF_A_TITLE]


def _program_heads(title: str, segments: Sequence[Segment]) -> Iterator[str]:
    """Yield the path of a program, and the signatures of the definitions that a segment continues."""
    text = "".join(segment.text for segment in segments)
    first = segments[0].start if segments else 0
    for scope in scopes(text, title, [segment.start - first for segment in segments]):
        yield f"{title[:_MOST_OF_A_TITLE]}\n{scope}".rstrip()


def _whole_heads(segments: Sequence[Segment], context: Iterable[Annotation]) -> Iterator[str]:
    headers = [item for item in context if item.layer == CONTEXT]
    document_texts = [item.text for item in headers if not item.segment_ids]
    texts_by_segment = {segment_id: item.text for item in headers for segment_id in item.segment_ids}
    for segment in segments:
        speaker_and_day = (
            ", ".join(filter(None, [segment.speaker, format_day(segment.time)])) if segment.speaker else ""
        )
        yield "\n".join(filter(None, [*document_texts, speaker_and_day, texts_by_segment.get(segment.id, "")]))


def mix_neighbours(vectors: Matrix, segments: Sequence[Segment]) -> Matrix:
    """Return the (n, d) vectors of a document's segments; a turn's vector includes a share of its neighbours' vectors.

    "Yes, last week!" means nothing alone. The texts themselves are not joined, because a short question would not count
    in the vector of a long answer. Echoes have only echoes as neighbours: they are no context of evidence.

    Args:
        vectors: (n, d) embeddings of the texts from ``write_in_context``, of length 1. The result has other lengths.
    """
    mixed = np.array(vectors, np.float32)
    for echo in (False, True):
        places = [place for place, segment in enumerate(segments) if segment.echo is echo]
        for before, after in pairwise(places):
            for place, neighbour in ((before, after), (after, before)):
                if segments[place].speaker:
                    mixed[place] += NEIGHBOUR_SHARE * vectors[neighbour]
    return mixed
