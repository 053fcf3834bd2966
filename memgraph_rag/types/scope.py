"""What a call may see, as its caller names it: one record that goes whole through every reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import TypedDict

from memgraph_rag.types.documents import MetadataValue

__all__ = ["Extent", "Scope", "ScopeFields"]


@dataclass(frozen=True, slots=True)
class Scope:
    """Documents, owner, metadata and time that a call is held to; a field that is None holds it to nothing.

    Attributes:
        documents: keys, ids or paths of files.
        user: only what this user said (``Memory.session``), or was added with it as metadata; so with ``session``.
        where: only documents whose metadata hold all of these.
        since: only what is not older: ISO 8601, a date or a datetime. It is compared with a message's time; for other
            documents with the time or date in their metadata, else with the time of adding. Without a zone it is UTC.
        until: only what is older.
        at: what held then: only what was said until this moment, or until the end of this day.
    """

    documents: Sequence[str | Path] | None = None
    user: str | None = None
    session: str | None = None
    where: Mapping[str, MetadataValue] | None = None
    since: str | date | None = None
    until: str | date | None = None
    at: str | date | None = None


class ScopeFields(TypedDict, total=False):
    """The fields of a ``Scope``, as keywords of a method."""

    documents: Sequence[str | Path] | None
    user: str | None
    session: str | None
    where: Mapping[str, MetadataValue] | None
    since: str | date | None
    until: str | date | None
    at: str | date | None


@dataclass(frozen=True, slots=True)
class Extent:
    """What a scope comes to in a store.

    Attributes:
        documents: ids; None is all, empty is none.
        since, until: said in ``[since, until)``; None is without limit.
    """

    documents: Sequence[str] | None = None
    since: datetime | None = None
    until: datetime | None = None

    def within(self, documents: Sequence[str] | None) -> Extent:
        """Return the part of the extent in these documents (ids; None is all)."""
        if documents is None or self.documents is None:
            return self if documents is None else replace(self, documents=documents)
        return replace(self, documents=sorted({*documents} & {*self.documents}))

    def holds(self, at: datetime | None) -> bool:
        """Whether what was said at that time is in the extent; None is a time that is not known."""
        if self.since is None and self.until is None:
            return True
        return at is not None and (self.since is None or at >= self.since) and (self.until is None or at < self.until)

    @property
    def has_time(self) -> bool:
        """Whether a time bounds it."""
        return self.since is not None or self.until is not None

    @property
    def is_everything(self) -> bool:
        """Whether it leaves nothing out."""
        return self.documents is None and not self.has_time
