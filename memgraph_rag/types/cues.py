"""What a language model says of a question before a HippoRAG search."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Cues"]


@dataclass(frozen=True, slots=True)
class Cues:
    """From where a HippoRAG search starts.

    Attributes:
        names: that the question holds, for mode "hipporag"; None is those that the recognizer finds.
        relations: the ids of those of ``Search.nearest_relations`` that bear on the question, for mode "hipporag2";
            without any the search goes by the cosine alone. None is all.
    """

    names: tuple[str, ...] | None = None
    relations: tuple[str, ...] | None = None
