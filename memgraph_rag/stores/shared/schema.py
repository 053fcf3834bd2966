"""Checks whether this library can use a store, by the schema and the embedder that built it.

The module knows no engine. Invariant: a store that passes holds embeddings of the given embedder, in a schema that this
version of the library knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memgraph_rag.errors import SchemaMismatch, StoreReadOnly
from memgraph_rag.types import make_id

SCHEMA_ID = make_id("", "schema")


def check(stored: Mapping[str, Any], *, version: int, embedder: str, dimension: int, address: str) -> None:
    """Check that a store was built with this embedder, and that its schema is not newer than this library's.

    An older schema passes.

    Args:
        stored: the version, embedder and dimension in the store; empty for a new store, which passes.
        version: the newest version of the schema that this library knows.

    Raises:
        SchemaMismatch: the embedder or its dimension differs, or the schema is newer.
    """
    if not stored:
        return
    if stored["version"] > version:
        raise SchemaMismatch(
            f"Expected a store of schema version {version} or lower, got {address} of version {stored['version']}. "
            "Upgrade memgraph_rag, or use another store.",
            expected=version,
            stored=stored["version"],
        )
    if (stored["embedder"], stored["dimension"]) != (embedder, dimension):
        raise SchemaMismatch(
            f"Expected the embedder that {address} was built with, {stored['embedder']} ({stored['dimension']} "
            f"dimensions), got {embedder} ({dimension}). Use that embedder, or add the documents to a new store.",
            expected=stored["embedder"],
            came=embedder,
        )


def check_current(stored: Mapping[str, Any], *, version: int, address: str) -> None:
    """Check that a store's schema has at least this version, so that the store can be read without an update.

    Raises:
        StoreReadOnly: the schema is older, or missing.
    """
    if stored.get("version", 0) < version:
        raise StoreReadOnly(
            f"Expected a store of schema version {version} to read, got {address} with version "
            f"{stored.get('version', 'none')}. Open it once without read_only: that updates it.",
            expected=version,
            stored=stored.get("version"),
        )


def make_replaced_embeddings_error(address: str) -> SchemaMismatch:
    """Return the error of a store whose embeddings were replaced while it was open."""
    return SchemaMismatch(
        f"Expected the embeddings that {address} had when it was opened, got others: all texts were embedded anew. "
        "Open it again, with the new embedder.",
        address=address,
    )
