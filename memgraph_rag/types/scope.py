"""What a call may see, as one record that passes unchanged through all readers, and what it may spend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import TypedDict

from memgraph_rag.types.documents import MetadataValue


@dataclass(frozen=True, slots=True)
class Scope:
    """The documents, owner, metadata and times that a call may see. None in a field sets no bound.

    Attributes:
        documents: keys, ids or paths of files.
        user: only messages of this user's sessions (``Memory.session``), and documents with this user in their
            metadata. ``session`` works in the same way.
        where: only documents whose metadata contain all these values.
        since: only texts from this time on: ISO 8601, a date or a datetime; UTC without a zone. It is compared with the
            time of a message; for other documents with the time or date in their metadata, else the time of adding.
        until: only texts before this time.
        at: only texts that were said until this moment, or until the end of this day: what was true then.
    """

    documents: Sequence[str | Path] | None = None
    user: str | None = None
    session: str | None = None
    where: Mapping[str, MetadataValue] | None = None
    since: str | date | None = None
    until: str | date | None = None
    at: str | date | None = None


class ScopeFields(TypedDict, total=False):
    """The fields of a ``Scope``, as keyword arguments of a method."""

    documents: Sequence[str | Path] | None
    user: str | None
    session: str | None
    where: Mapping[str, MetadataValue] | None
    since: str | date | None
    until: str | date | None
    at: str | date | None


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


@dataclass(frozen=True, slots=True)
class Extent:
    """A scope that was resolved to documents and times of a store.

    Attributes:
        documents: ids; None allows all documents, an empty sequence allows none.
        since, until: bounds of the time, ``[since, until)``; None sets no bound.
    """

    documents: Sequence[str] | None = None
    since: datetime | None = None
    until: datetime | None = None

    def narrow(self, documents: Sequence[str] | None) -> Extent:
        """Return the part of the extent in these documents (ids; None for all). The bounds of time stay.

        If no document is in both, the result allows none.
        """
        if documents is None or self.documents is None:
            return self if documents is None else replace(self, documents=documents)
        return replace(self, documents=sorted({*documents} & {*self.documents}))

    def holds(self, at: datetime | None) -> bool:
        """Return whether a text of this time is within the bounds of time; ``documents`` does not matter.

        An unknown time, None, is within only if there is no bound.
        """
        if self.since is None and self.until is None:
            return True
        return at is not None and (self.since is None or at >= self.since) and (self.until is None or at < self.until)

    @property
    def has_time(self) -> bool:
        """Whether the extent has a bound of time."""
        return self.since is not None or self.until is not None

    @property
    def is_everything(self) -> bool:
        """Whether the extent has no bound of documents or time."""
        return self.documents is None and not self.has_time
