"""What a scope comes to in a store: the documents and the time that a call is held to.

Every reader takes the extent of one scope, so that none forgets a part of it. A user and a session are what the
metadata of a document name as such. Invariant: an empty scope matches no document; it never means all documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from memgraph_rag.calls.document_lookup import checked_names, find_documents
from memgraph_rag.calls.scope_index import ScopeIndex
from memgraph_rag.calls.validation import checked_end, checked_time
from memgraph_rag.contracts import GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentNotFound, SettingsError
from memgraph_rag.types import SESSION, USER, Extent, MetadataValue, Receipt, Scope, ScopeFields

__all__ = ["extent_of", "forget", "metadata_in", "narrowed", "require_one"]


def extent_of(scope: Scope, store: GraphStore, scopes: ScopeIndex) -> Extent:
    """Return the ids of the documents and the time that a scope is held to.

    Args:
        scopes: of the store's documents.

    Raises:
        DocumentNotFound: a document is not in this namespace.
        SettingsError: ``where`` is no mapping, or names another user or session; a user, a session or a time is none.
    """
    since, until = checked_time("since", scope.since), checked_end(scope.until, scope.at)
    return Extent(_ids(scope, store, scopes), since, until)


def _ids(scope: Scope, store: GraphStore, scopes: ScopeIndex) -> list[str] | None:
    """The ids of a scope's documents; None where it is held to nothing."""
    metadata_in(scope)
    where, owner = scope.where, _owner_in(scope)
    ids: list[str] | None = None
    if scope.documents is not None:
        ids = list(dict.fromkeys(record.id for record in find_documents(store, checked_names(scope.documents))))
    if owner:
        within = scopes.documents(owner)
        ids = within if ids is None else sorted({*within} & {*ids})
    if where is None:
        return ids
    return [record.id for record in store.documents(ids) if where.items() <= record.metadata.items()]


def metadata_in(scope: Scope) -> dict[str, MetadataValue]:
    """Return the metadata that every document of the scope has: its ``where``, user and session.

    Raises:
        SettingsError: ``where`` is no mapping, or names another user or session; a user or a session is no name.
    """
    where, owner = scope.where, _owner_in(scope)
    if where is not None and not isinstance(where, Mapping):
        raise SettingsError(f"Expected where as a mapping of metadata, got {show(where)}.", where=where)
    wanted = {**(where or {}), **owner}
    if where is not None and not where.items() <= wanted.items():
        raise SettingsError(f"Expected one user and session, got {show(where)} and {show(wanted)}. Name each once.")
    return wanted


def _owner_in(scope: Scope) -> dict[str, MetadataValue]:
    """Return the user and the session of a scope, as the metadata of a document name them."""
    names: dict[str, MetadataValue] = {}
    for name, value in ((USER, scope.user), (SESSION, scope.session)):
        if value is None:
            continue
        if not isinstance(value, str) or not value.strip():
            raise SettingsError(f"Expected {name} as a name, got {show(value)}. Leave it out for all.", setting=name)
        names[name] = value
    return names


def narrowed(scope: Scope, given: ScopeFields) -> ScopeFields:
    """Return the fields of a view's scope and those that a call of the view adds.

    Raises:
        SettingsError: a call names another value for a field that the view holds.
    """
    held: dict[str, Any] = {
        field.name: value for field in fields(Scope) if (value := getattr(scope, field.name)) is not None
    }
    for name, value in given.items():
        if value is not None and name in held and held[name] != value:
            raise SettingsError(
                f"Expected {name} of this view, {show(held[name])}, got {show(value)}. Leave it out, or ask the memory "
                "itself.",
                setting=name,
            )
    return cast("ScopeFields", {**given, **held})


def require_one(*, document: object, user: object, session: object, question: object) -> None:
    """Refuse a call of ``forget`` that does not name just one of these.

    Raises:
        SettingsError: it names none or several, or a session without a user.
    """
    given = {"document": document, "user": user, "question": question}
    named = [name for name, value in given.items() if value is not None]
    if session is not None and user is None:
        named.append("session")
    if len(named) != 1 or named == ["session"]:
        raise SettingsError(
            "Expected a document, or user=… and perhaps session=…, or question=…, to forget, got "
            f"{' and '.join(named) or 'none of them'}. Name one of them."
        )


def forget(
    store: GraphStore,
    scopes: ScopeIndex,
    document: str | Path | None,
    *,
    user: str | None = None,
    session: str | None = None,
) -> list[Receipt]:
    """Remove a document, or all of a user or a session, until nothing of it is stored; return the receipts.

    Raises:
        DocumentNotFound: there is no such document.
    """
    if document is not None:
        return [store.forget(find_documents(store, [document])[0].id)]
    receipts: list[Receipt] = []
    while ids := _ids(Scope(user=user, session=session), store, scopes):  # again: somebody may add meanwhile
        for document_id in ids:
            try:
                receipts.append(store.forget(document_id))
            except DocumentNotFound:  # somebody else was faster
                continue
    return receipts
