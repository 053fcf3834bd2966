"""How long a call may work, and for how much."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one call; None is no limit.

    Attributes:
        seconds: of a question the time of reading without the answer; of ``deepen`` the time after which no further
            document is begun.
        tokens: of a question the tokens that the model reads (question, nodes, probes); of ``add_many`` and ``deepen``
            those that it reads and writes.
        nodes: of a question the nodes that are read.

    Work ends with the step that reaches a limit.
    """

    seconds: float | None = None
    tokens: int | None = None
    nodes: int | None = None
