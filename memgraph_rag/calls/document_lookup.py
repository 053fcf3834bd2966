"""Stored documents by what users call them: a key, an id, or any spelling of the path of the file.

It changes nothing. Invariant: a key or an id comes before a path; a path that names several documents names none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from memgraph_rag.calls.validation import may_name
from memgraph_rag.contracts import GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentNotFound, SettingsError
from memgraph_rag.text.paths import default_key, may_be_path, spellings
from memgraph_rag.types import DocumentRecord, Fingerprint

__all__ = ["checked_names", "find_documents"]

_MOST_NAMED = 5


def checked_names(names: Sequence[str | Path]) -> list[str | Path]:
    """The given names of documents, as a list.

    Raises:
        SettingsError: it is a single name, or no list.
    """
    if isinstance(names, (str, Path)) or not isinstance(names, Iterable):
        raise SettingsError(f"Expected documents as a list of keys or ids, got {show(names)}.", documents=names)
    return list(names)


def find_documents(store: GraphStore, names: Sequence[str | Path]) -> list[DocumentRecord]:
    """The document that each of these names calls, in their order.

    Raises:
        DocumentNotFound: there is none, or the path is that of several documents.
    """
    keys = [default_key(name) if isinstance(name, Path) else name for name in names]
    possible = [key for key in keys if may_name(key)]
    known = dict(zip(possible, store.named_documents(possible), strict=True))
    records = {key: record for key, record in known.items() if record is not None}
    missing = {key: name for key, name in zip(keys, names, strict=True) if may_name(key) and key not in records}
    records |= _of_files(store, missing)
    for key, name in zip(keys, names, strict=True):
        if not may_name(key) or key not in records:
            raise DocumentNotFound(
                f"Expected the key or id of a document in namespace {show(store.namespace)}, or the path of its file, "
                f"got {show(name)}. List them with documents(), or "
                "'memgraph-rag documents'.",
                key=name,
            )
    return [records[key] for key in keys]


def _of_files(store: GraphStore, names: dict[str, str | Path]) -> dict[str, DocumentRecord]:
    """The documents that were read from the files of these paths, by key of ``names``."""
    files = {key: spellings(Path(name)) for key, name in names.items() if may_be_path(key)}
    if not files:
        return {}
    stored = store.matching_fingerprints(sources=[file for of_name in files.values() for file in of_name])
    ids = {key: document_id for key, of_name in files.items() if (document_id := _single(key, of_name, stored))}
    records = {record.id: record for record in store.documents(list(ids.values()))}
    return {key: records[document_id] for key, document_id in ids.items() if document_id in records}


def _single(name: str, files: Sequence[str], stored: Sequence[Fingerprint]) -> str | None:
    """The id of the one document of a file; the spelling that it is stored under first counts most."""
    for file in files:
        matches = [fingerprint for fingerprint in stored if fingerprint.source == file]
        if len(matches) > 1:
            raise DocumentNotFound(
                f"Expected the path of one document, got one of several: {show(name)} is stored as "
                f"{', '.join(show(match.key) for match in matches[:_MOST_NAMED])}. Name one of these keys.",
                key=name,
            )
        if matches:
            return matches[0].document_id
    return None
