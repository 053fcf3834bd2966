"""The limits of a call: time, tokens and nodes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one call; None is no limit. Work ends with the step that reaches a limit.

    Attributes:
        seconds: for a question, the time of reading, without the answer; for ``deepen``, the time after which no
            further document is begun.
        tokens: for a question, the tokens that the model reads (question, nodes, probes); for ``add_many`` and
            ``deepen``, the tokens that it reads and writes.
        nodes: for a question, the number of nodes that are read.
    """

    seconds: float | None = None
    tokens: int | None = None
    nodes: int | None = None
