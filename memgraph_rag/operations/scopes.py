"""Which documents a call is held to: those with some metadata, of a user, of a session.

A user and a session are what a document's metadata name as such. It changes nothing but by ``forget``. Invariant: a
scope that nothing is in is no document, never all.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memgraph_rag.contracts import GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentNotFound, SettingsError
from memgraph_rag.operations.document_lookup import find_documents
from memgraph_rag.operations.scope_index import SESSION, USER, ScopeIndex
from memgraph_rag.types import MetadataValue, Receipt

__all__ = ["check_named", "forget", "ids_within", "is_outside", "names_of"]


def ids_within(
    store: GraphStore,
    scopes: ScopeIndex,
    ids: list[str] | None,
    where: Mapping[str, MetadataValue] | None = None,
    *,
    user: str | None = None,
    session: str | None = None,
) -> list[str] | None:
    """The ids of those of these documents (None is all) that are in a scope; None where it is held to nothing.

    Args:
        scopes: of the store's documents.
        where: metadata that they hold, all of these.

    Raises:
        SettingsError: ``where`` is no mapping, or names another user or session; or one of them is no name.
    """
    if where is not None and not isinstance(where, Mapping):
        raise SettingsError(f"Expected where as a mapping of metadata, got {show(where)}.", where=where)
    names = names_of(user, session)
    wanted = {**(where or {}), **names}
    if where is not None and not where.items() <= wanted.items():
        raise SettingsError(f"Expected one user and session, got {show(where)} and {show(wanted)}. Name each once.")
    if names:
        within = scopes.documents(names)
        ids = within if ids is None else [document_id for document_id in within if document_id in ids]
    if where is None:
        return ids
    return [record.id for record in store.documents(ids) if where.items() <= record.metadata.items()]


def names_of(user: str | None, session: str | None) -> dict[str, MetadataValue]:
    """The metadata of a document of this user and session, as far as they are given.

    Raises:
        SettingsError: one of them is no name.
    """
    names: dict[str, MetadataValue] = {}
    for name, value in ((USER, user), (SESSION, session)):
        if value is None:
            continue
        if not isinstance(value, str) or not value.strip():
            raise SettingsError(f"Expected {name} as a name, got {show(value)}. Leave it out for all.", setting=name)
        names[name] = value
    return names


def is_outside(store: GraphStore, scopes: ScopeIndex, document: str, *, user: str | None, session: str | None) -> bool:
    """Whether there is such a document, and it is not in the scope; no document is outside of none."""
    try:
        (record,) = find_documents(store, [document])
    except DocumentNotFound:
        return False
    return not ids_within(store, scopes, [record.id], user=user, session=session)


def check_named(document: str | Path | None, *, user: str | None, session: str | None) -> None:
    """Refuse to forget what is not named clearly.

    Raises:
        SettingsError: not just one of a document and a user is named.
    """
    if (document is None) == (user is None) or (document is not None and session is not None):
        raise SettingsError(
            "Expected a document, or user=… and perhaps session=…, to forget, got "
            f"{'both' if document is not None else 'no user'}. Name one of them."
        )


def forget(
    store: GraphStore,
    scopes: ScopeIndex,
    document: str | Path | None,
    *,
    user: str | None = None,
    session: str | None = None,
) -> list[Receipt]:
    """Remove a document, or all of a user or a session, until nothing of it is stored; the receipts.

    Raises:
        DocumentNotFound: there is no such document.
    """
    if document is not None:
        return [store.forget(find_documents(store, [document])[0].id)]
    receipts: list[Receipt] = []
    while ids := ids_within(store, scopes, None, user=user, session=session):  # again: somebody may add meanwhile
        for document_id in ids:
            try:
                receipts.append(store.forget(document_id))
            except DocumentNotFound:  # somebody else was faster
                continue
    return receipts
