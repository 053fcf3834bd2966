"""Finds stored documents by a key, an id, or any spelling of the path of a file.

It writes nothing. Invariant: a key or an id has precedence over a path. A path from which several documents were read
is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from memgraph_rag.calls.validation import is_possible_key
from memgraph_rag.contracts import GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentNotFound, SettingsError
from memgraph_rag.text.paths import default_key, may_be_path, spellings
from memgraph_rag.types import DocumentRecord, Fingerprint

_MOST_KEYS = 5  # in one message
_PATHS_TOGETHER = 256


def make_name_list(names: Sequence[str | Path]) -> list[str | Path]:
    """Check that an argument is a collection of document names, and return it as a list.

    Raises:
        SettingsError: the argument is a single name, or not iterable.
    """
    if isinstance(names, (str, Path)) or not isinstance(names, Iterable):
        raise SettingsError(
            f"Expected documents as a list of keys or ids, got {show(names)}. Put a single name into a list.",
            documents=names,
        )
    return list(names)


def find_documents(store: GraphStore, names: Sequence[str | Path]) -> list[DocumentRecord]:
    """Return the record of the document that each name means (a key, an id, or a file's path), in the same order.

    Raises:
        DocumentNotFound: a name belongs to no document, or several documents were read from the path.
    """
    keys = [default_key(name) if isinstance(name, Path) else name for name in names]
    possible = [key for key in keys if is_possible_key(key)]
    known = dict(zip(possible, store.find_documents(possible), strict=True))
    records = {key: record for key, record in known.items() if record is not None}
    missing = {key: name for key, name in zip(keys, names, strict=True) if is_possible_key(key) and key not in records}
    paths = iter(missing.items())
    while group := dict(islice(paths, _PATHS_TOGETHER)):
        found = _find_by_paths(store, group)
        records |= found
        if len(found) < len(group):  # the first unknown name is refused, so no further path is looked at
            break
    for key, name in zip(keys, names, strict=True):
        if not is_possible_key(key) or key not in records:
            raise DocumentNotFound(
                f"Expected the key or id of a document in namespace {show(store.namespace)}, or the path of its file, "
                f"got {show(name)}. List the documents with documents(), or 'memgraph-rag documents'.",
                key=name,
            )
    return [records[key] for key in keys]


def _find_by_paths(store: GraphStore, names: dict[str, str | Path]) -> dict[str, DocumentRecord]:
    """Return the documents that were read from these paths, by the key of ``names``; other names are left out."""
    files = {key: spellings(Path(name)) for key, name in names.items() if may_be_path(key)}
    if not files:
        return {}
    stored = store.find_fingerprints(sources=[path for paths in files.values() for path in paths])
    ids = {key: document_id for key, paths in files.items() if (document_id := _find_single(key, paths, stored))}
    records = {record.id: record for record in store.documents(list(ids.values()))}
    return {key: records[document_id] for key, document_id in ids.items() if document_id in records}


def _find_single(name: str, files: Sequence[str], stored: Sequence[Fingerprint]) -> str | None:
    """Return the id of the document that was read from a file, or None.

    Args:
        files: spellings of the path; the first spelling with a stored document decides.

    Raises:
        DocumentNotFound: several documents were read from the file.
    """
    for file in files:
        matches = [fingerprint for fingerprint in stored if fingerprint.source == file]
        if len(matches) > 1:
            raise DocumentNotFound(
                f"Expected the path of one document, got the path of several: {show(name)} is stored as "
                f"{', '.join(show(match.key) for match in matches[:_MOST_KEYS])}. Name one of these keys.",
                key=name,
            )
        if matches:
            return matches[0].document_id
    return None
