"""What a segment says, with what it needs to be understood alone: the text that is embedded.

It knows no model. Invariant: the segment itself stands in it whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from memgraph_rag.moments import day_of
from memgraph_rag.types import Segment

__all__ = ["in_context"]


def in_context(title: str, segments: Sequence[Segment]) -> list[str]:
    """A text for each segment of one document, in order.

    A passage stands under its document's title. What is said in a conversation stands between the turns around it,
    under its day: "Yes, last week!" tells nothing alone.
    """
    texts = []
    for place, segment in enumerate(segments):
        if segment.speaker:
            around = (segments[place - 1 : place], [segment], segments[place + 1 : place + 2])
            lines = [day_of(segment.time), *(one.text for part in around for one in part)]
        else:
            lines = [title, segment.text]
        texts.append("\n".join(line for line in lines if line))
    return texts
