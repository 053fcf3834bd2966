"""The most that one question may take of time, of the language model and of nodes.

Invariant: a value that is no limit is refused when the record is made, so whoever has a record need not look again.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one question may take; None is without limit.

    Attributes:
        seconds: of reading, without the answer.
        tokens: that the model reads: question, nodes and probes.
        nodes: that the model reads.

    Raises:
        SettingsError: a value is no number above 0; tokens and nodes are whole numbers.
    """

    seconds: float | None = None
    tokens: int | None = None
    nodes: int | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value: object = getattr(self, field.name)
            kinds, expected = ((int, float), "a number") if field.name == "seconds" else (int, "a whole number")
            if value is not None and (isinstance(value, bool) or not isinstance(value, kinds) or not value > 0):
                raise SettingsError(
                    f"Expected {field.name} of Limits as {expected} above 0, got {show(value)}. Give None for none.",
                    setting=field.name,
                )
