"""``ScopedMemory``: a view of a memory that is limited to a scope.

It calls the memory and its parts. Invariants: no method reads, returns or forgets anything outside of the scope.
``add`` replaces only a document of the view's user and session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, overload

from typing_extensions import Unpack

from memgraph_rag.calls import validation
from memgraph_rag.calls.document_lookup import find_documents, make_name_list
from memgraph_rag.calls.record_list import RecordList
from memgraph_rag.calls.scopes import narrow_scope, read_metadata
from memgraph_rag.contracts import SearchMode, Strategy
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentNotFound, SettingsError
from memgraph_rag.open_memory import OpenMemory
from memgraph_rag.session import Session
from memgraph_rag.text.loading import Source
from memgraph_rag.text.session_pages import Conversation
from memgraph_rag.tools import TOOLS, ToolName, make_tools
from memgraph_rag.types import (
    Answer,
    AnswerStyle,
    DocumentRecord,
    Evidence,
    Limits,
    MetadataValue,
    Part,
    Receipt,
    Scope,
    ScopeFields,
    Statement,
    Step,
    Tool,
)
from memgraph_rag.types.brief import Brief

if TYPE_CHECKING:
    from memgraph_rag.memory import Memory


class ScopedMemory:
    """A memory that is limited to a scope. ``Memory.scoped`` returns it.

    Methods also take the fields of ``Scope``, to narrow the scope further. A field that the view has already may be
    repeated with the same value only. Other arguments, results and errors are those of the methods of ``Memory``.

    Attributes:
        scope: the limits of the view.

    Raises:
        SettingsError: a user, a session, ``where`` or a time is invalid.
    """

    def __init__(self, memory: Memory, parts: OpenMemory, scope: Scope) -> None:
        if scope.documents is not None:
            scope = replace(scope, documents=make_name_list(scope.documents))  # each call reads them
        self.scope = scope
        self._memory, self._parts = memory, parts
        self._metadata = read_metadata(scope)
        validation.parse_scope_time("since", scope.since)
        validation.parse_scope_end(scope.until, scope.at)

    def add(
        self,
        source: Source,
        *,
        key: str | None = None,
        title: str | None = None,
        metadata: Mapping[str, MetadataValue | date] | None = None,
    ) -> Receipt:
        """Store one document with the view's user, session and ``where`` among its metadata; see ``Memory.add``.

        The fields ``documents``, ``since``, ``until`` and ``at`` of the view do not limit it.

        Raises:
            SettingsError: the metadata contradict the view.
        """
        own, given = self._metadata, metadata or {}
        if any(name in given and given[name] != value for name, value in own.items()):
            raise SettingsError(f"Expected metadata of this view, {show(own)}, got {show(given)}. Leave these out.")
        return self._memory.add(source, key=key, title=title, metadata={**given, **own} if own else metadata)

    def search(
        self,
        query: str,
        *,
        k: int = 10,
        mode: str | SearchMode = "graph",
        min_relevance: float | None = None,
        judge: bool = False,
        **scope: Unpack[ScopeFields],
    ) -> RecordList[Evidence]:
        """Return the k segments of the scope that are most relevant to a query, best first; see ``Memory.search``."""
        return self._memory.search(
            query, k=k, mode=mode, min_relevance=min_relevance, judge=judge, **narrow_scope(self.scope, scope)
        )

    def brief(self, *, max_tokens: int = 600, about: str | None = None, **scope: Unpack[ScopeFields]) -> Brief:
        """Return what an agent should know of the scope before a conversation; see ``Memory.brief``."""
        return self._memory.brief(max_tokens=max_tokens, about=about, **narrow_scope(self.scope, scope))

    def wishes(self, query: str, **scope: Unpack[ScopeFields]) -> list[Evidence]:
        """Return the segments of at most three relevant instructions and preferences of users, newest first.

        An instruction without a condition counts as relevant to every query. A wish that a newer wish supersedes is
        left out. ``Evidence.why`` names the kind ("instruction", "preference"), ``Evidence.standing`` the words. The
        layer ``facts`` extracts wishes; without the layer the list is empty.
        """
        query = validation.check_question(query)
        return self._parts.wishes.find_relevant_wishes(
            query, self._parts.resolve_extent(Scope(**narrow_scope(self.scope, scope)))
        )

    def statements(self, **scope: Unpack[ScopeFields]) -> list[Statement]:
        """Return the statements of people about themselves in the scope, each with whether it still holds.

        The order is by user, speaker and attribute, then the oldest statement first; instructions and preferences come
        last, the newest first. The layer ``facts`` extracts statements; without the layer the list is empty.
        """
        return self._parts.statements(self._parts.resolve_extent(Scope(**narrow_scope(self.scope, scope))))

    def ask(
        self,
        question: str,
        *,
        strategy: str | Strategy | None = None,
        style: AnswerStyle = "sentence",
        limits: Limits | None = None,
        keep_trace: bool = False,
        **scope: Unpack[ScopeFields],
    ) -> Answer:
        """Answer a question from the segments of the scope, with citations of exact spans; see ``Memory.ask``."""
        return self._memory.ask(
            question, strategy=strategy, style=style, limits=limits, keep_trace=keep_trace,
            **narrow_scope(self.scope, scope),
        )  # fmt: skip

    def stream(
        self,
        question: str,
        *,
        strategy: str | Strategy | None = None,
        style: AnswerStyle = "sentence",
        limits: Limits | None = None,
        keep_trace: bool = False,
        **scope: Unpack[ScopeFields],
    ) -> Iterator[Step | Part | str | Answer]:
        """Yield the steps and parts, then pieces of the answer's text, then the ``Answer``; see ``Memory.stream``."""
        return self._memory.stream(
            question, strategy=strategy, style=style, limits=limits, keep_trace=keep_trace,
            **narrow_scope(self.scope, scope),
        )  # fmt: skip

    def session(self, session: str | None = None) -> Session:
        """Return a conversation of the view's user. Its searches and answers stay in the scope.

        Args:
            session: the name of the conversation. The default is the session of the view, or "default".

        Raises:
            SettingsError: the view has no user, or has another session.
        """
        if self.scope.user is None:
            raise SettingsError("Expected a view of one user, got all users. Use scoped(user=…).", setting="user")
        name = narrow_scope(self.scope, {"session": session}).get("session")
        return Session(
            Conversation(self._memory.namespace, self.scope.user, "default" if name is None else name),
            self._parts,
            search=self.search,
            wishes=self.wishes,
            ask=self.ask,
        )

    def tools(self, names: Sequence[ToolName] = TOOLS) -> list[Tool]:
        """Return tools for a model that calls functions. They call the methods of this view; see ``Memory.tools``."""
        return make_tools(names, search=self.search, wishes=self.wishes, ask=self.ask, add=self.add, forget=self.forget)

    def documents(
        self, *, after: str = "", limit: int | None = None, contains: str = "", **scope: Unpack[ScopeFields]
    ) -> RecordList[DocumentRecord]:
        """Return the documents of the scope, in the order and with the arguments of ``Memory.documents``."""
        return self._memory.documents(after=after, limit=limit, contains=contains, **narrow_scope(self.scope, scope))

    @overload
    def forget(self, document: str | Path) -> Receipt: ...
    @overload
    def forget(self) -> list[Receipt]: ...
    def forget(self, document: str | Path | None = None) -> Receipt | list[Receipt]:
        """Remove one document of the scope. Without ``document``, remove all documents of the view's user or session.

        With ``document``, return a receipt; without it a list of receipts, which is empty if there are no documents.

        Raises:
            DocumentNotFound: the scope holds no such document, or holds only a part of it.
            SettingsError: ``document`` is missing, and the scope is not exactly a user, or a user and a session.
        """
        if document is not None:
            self._require_in_scope(document)
            return self._memory.forget(document)
        if self.scope.user is None or self.scope != Scope(user=self.scope.user, session=self.scope.session):
            raise SettingsError(
                f"Expected a view with a user and at most a session, to forget all of it, got {show(self.scope)}. "
                "Name a document."
            )
        return self._memory.forget(user=self.scope.user, session=self.scope.session)

    def _require_in_scope(self, document: str | Path) -> None:
        """Raise ``DocumentNotFound`` unless the scope holds the whole document.

        The message does not reveal whether the document exists outside of the scope.
        """
        extent = self._parts.resolve_extent(self.scope)
        try:
            (record,) = find_documents(self._parts.store, [document])
            is_within = extent.documents is None or record.id in extent.documents
            if is_within and extent.has_time:
                is_within = record.id in self._parts.search.select_period(extent).whole
        except DocumentNotFound:
            is_within = False
        if not is_within:
            raise DocumentNotFound(f"Expected a document of this view, got {show(document)}. Search for it.")

    def export_to(self, path: str | Path) -> int:
        """Write the documents of the scope into one file, and return their number; see ``Maintenance.export_to``.

        Raises:
            SettingsError: the view limits the time.
        """
        return self._memory.maintenance.export_to(path, **narrow_scope(self.scope, {}))
