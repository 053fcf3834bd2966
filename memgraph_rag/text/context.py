"""The text that is embedded for a segment: its own, and what is needed to understand it alone.

It knows no model. Invariant: it holds the whole segment.
"""

from __future__ import annotations

from collections.abc import Sequence

from memgraph_rag.lexical.timestamps import day_of
from memgraph_rag.types import Segment

__all__ = ["in_context"]

_MOST_OF_A_TITLE = 300  # characters: more of it would leave no room for the segment in the embedder's window


def in_context(title: str, segments: Sequence[Segment]) -> list[str]:
    """A text for each segment of one document, in order.

    A passage stands under its document's title. What is said in a conversation stands between the turns around it,
    under its day: "Yes, last week!" tells nothing alone. Echoes stand between echoes: they are no context of evidence.
    """
    texts: dict[int, str] = {}
    for echo in (False, True):
        places = [place for place, segment in enumerate(segments) if segment.echo is echo]
        for number, place in enumerate(places):
            segment = segments[place]
            if segment.speaker:
                around = (segments[near].text for near in places[max(number - 1, 0) : number + 2])
                lines = [day_of(segment.time), *around]
            else:
                lines = [title[:_MOST_OF_A_TITLE], segment.text]
            texts[place] = "\n".join(line for line in lines if line)
    return [texts[place] for place in range(len(segments))]
