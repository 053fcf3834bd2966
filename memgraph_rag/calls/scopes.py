"""Resolves a scope: returns the ids of the documents and the period that it selects in a store.

Each reader receives the result as one ``Extent``, so that no reader can forget a part of the scope. The metadata of a
document name its user and its session. Invariant: a scope that matches no document selects no document, never all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

from memgraph_rag.calls.document_lookup import find_documents, make_name_list
from memgraph_rag.calls.scope_index import ScopeIndex
from memgraph_rag.calls.validation import parse_scope_end, parse_scope_time
from memgraph_rag.contracts import GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentNotFound, SettingsError
from memgraph_rag.types import SESSION, USER, Extent, MetadataValue, Receipt, Scope, ScopeFields


def resolve_extent(scope: Scope, store: GraphStore, scopes: ScopeIndex) -> Extent:
    """Return the ids of the documents and the period that a scope selects; the ids are None if it selects all.

    Args:
        scopes: the owners of the store's documents.

    Raises:
        DocumentNotFound: a document is not in this namespace.
        SettingsError: ``where`` is not a mapping, or names another user or session; or a user, a session or a time is
            invalid.
    """
    since, until = parse_scope_time("since", scope.since), parse_scope_end(scope.until, scope.at)
    return Extent(_ids(scope, store, scopes), since, until)


def _ids(scope: Scope, store: GraphStore, scopes: ScopeIndex) -> list[str] | None:
    """Return the ids of the documents that match all fields of a scope except times; None means all documents."""
    read_metadata(scope)
    where, owner = scope.where, _make_owner(scope)
    ids: list[str] | None = None
    if scope.documents is not None:
        ids = list(dict.fromkeys(record.id for record in find_documents(store, make_name_list(scope.documents))))
    if owner:
        within = scopes.documents(owner)
        ids = within if ids is None else sorted({*within} & {*ids})
    if where is None:
        return ids
    return [record.id for record in store.documents(ids) if where.items() <= record.metadata.items()]


def read_metadata(scope: Scope) -> dict[str, MetadataValue]:
    """Check a scope's filters; return the metadata that each of its documents has: ``where``, user and session.

    Raises:
        SettingsError: ``where`` is not a mapping, or names another user or session; or a user or a session is not a
            name.
    """
    where, owner = scope.where, _make_owner(scope)
    if where is not None and not isinstance(where, Mapping):
        raise SettingsError(
            f"Expected where as a mapping of metadata, got {show(where)}. Pass a dict such as {{'topic': 'x'}}.",
            where=where,
        )
    metadata = {**(where or {}), **owner}
    if where is not None and not where.items() <= metadata.items():
        raise SettingsError(f"Expected one user and session, got {show(where)} and {show(metadata)}. Name each once.")
    return metadata


def _make_owner(scope: Scope) -> dict[str, MetadataValue]:
    """Return the user and the session of a scope in the form of a document's metadata; a field with None is absent."""
    names: dict[str, MetadataValue] = {}
    for name, value in ((USER, scope.user), (SESSION, scope.session)):
        if value is None:
            continue
        if not isinstance(value, str) or not value.strip():
            raise SettingsError(f"Expected {name} as a name, got {show(value)}. Leave it out for all.", setting=name)
        names[name] = value
    return names


def narrow_scope(scope: Scope, given: ScopeFields) -> ScopeFields:
    """Join the scope of a view of the memory with the scope fields ``given`` in a call; return the joint fields.

    Raises:
        SettingsError: a call gives another value for a field that the view has.
    """
    view_fields: dict[str, Any] = {
        field.name: value for field in fields(Scope) if (value := getattr(scope, field.name)) is not None
    }
    for name, value in given.items():
        if value is not None and name in view_fields and view_fields[name] != value:
            raise SettingsError(
                f"Expected {name} of this view, {show(view_fields[name])}, got {show(value)}. Leave it out, or call "
                "the memory itself.",
                setting=name,
            )
    return cast("ScopeFields", {**given, **view_fields})


def require_one(*, document: object, user: object, session: object, question: object) -> None:
    """Check that the arguments of ``forget`` name exactly one target: a document, a user (or session), or a question.

    Raises:
        SettingsError: they name no target or several, or a session without a user.
    """
    targets = {"document": document, "user": user, "question": question}
    names = [name for name, value in targets.items() if value is not None]
    if session is not None and user is None:
        names.append("session")
    if len(names) != 1 or names == ["session"]:
        raise SettingsError(
            "Expected a document, or user=… and perhaps session=…, or question=…, to forget, got "
            f"{' and '.join(names) or 'none of them'}. Name one of them."
        )


def forget(
    store: GraphStore,
    scopes: ScopeIndex,
    document: str | Path | None,
    *,
    user: str | None = None,
    session: str | None = None,
) -> list[Receipt]:
    """Remove a document, or all documents of a user or of a user's session; return a receipt for each.

    Documents that others add to the user or the session during the call are removed too. A document that others removed
    first has no receipt. A user without documents gives an empty list.

    Raises:
        DocumentNotFound: the document does not exist, or several documents were read from the path.
    """
    if document is not None:
        return [store.forget(find_documents(store, [document])[0].id)]
    receipts: list[Receipt] = []
    while ids := _ids(Scope(user=user, session=session), store, scopes):  # others may add documents meanwhile
        for document_id in ids:
            try:
                receipts.append(store.forget(document_id))
            except DocumentNotFound:  # another caller removed it first
                continue
    return receipts
