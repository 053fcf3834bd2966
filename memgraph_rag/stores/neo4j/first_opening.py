"""Completes a database that ``neo4j-admin`` imported, at its first opening.

The importer stores no empty list, and it cannot find similar names: this module writes the empty lists and links the
names. It knows no connection. Invariants: repeating the completion changes nothing. Afterwards the graph equals one
that ordinary writes make.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from memgraph_rag.errors import StoreError
from memgraph_rag.stores.layer_rows import DocumentWrite
from memgraph_rag.stores.neo4j.answers import segment_words
from memgraph_rag.stores.shared import relation_writes
from memgraph_rag.stores.shared.document_languages import save_languages
from memgraph_rag.stores.shared.graph_reads import Run
from memgraph_rag.stores.shared.relation_rows import make_embedding_columns
from memgraph_rag.stores.shared.rows import Columns

NAMES_AT_ONCE = 500
SEGMENTS_AT_ONCE = 1000

STALLED_S = 600.0
"""The time without progress of any index after which the waiting ends."""

POLL_S = 60


def await_indexes(run: Run) -> None:
    """Wait until all indexes of the database are usable; a million segments take minutes.

    Raises:
        StoreError: an index failed, or no index made progress for ``STALLED_S`` seconds.
    """
    before: list[dict[str, Any]] = []
    deadline = time.monotonic() + STALLED_S
    while True:
        states = run("read/list_index_progress")
        if not states:
            return
        failed = [row["name"] for row in states if row["state"] == "FAILED"]
        if failed or (states == before and time.monotonic() > deadline):
            raise StoreError(
                f"Expected usable indexes in the database, got {failed or [row['name'] for row in states]} "
                f"{'failed' if failed else 'without progress'}. Read the server's log, then open it again.",
                indexes=failed,
            )
        if states != before:
            before, deadline = states, time.monotonic() + STALLED_S
        try:
            run("read/await_indexes", timeout_s=POLL_S)
        except StoreError:  # not ready yet
            continue


def complete(run: Run, hold: Callable[[Callable[[DocumentWrite], object]], object]) -> None:
    """Complete an imported namespace: add empty lists that the importer left out, and link near-synonymous names.

    Args:
        run: runs a reading statement of the namespace.
        hold: runs its argument in one transaction of the namespace, which does not count as a write.
    """
    for name in ("write/fill_document_lists", "write/fill_overview_lists"):
        hold(lambda write, name=name: write.run(name))
    last = ""
    while listed := run("read/list_embedded_entities", after=last, k=NAMES_AT_ONCE):
        last = listed[-1]["id"]
        columns = make_embedding_columns([row["id"] for row in listed], [row["embedding"] for row in listed])
        hold(partial(_relink_names, columns))


def complete_words(run: Run, hold: Callable[[Callable[[DocumentWrite], object]], object]) -> None:
    """Store the languages of a namespace's documents and the words of its segments for the full-text index, if missing.

    Args:
        hold: as for ``complete``.
    """
    hold(lambda write: save_languages(write.run))
    while listed := run("read/list_segments_without_words", k=SEGMENTS_AT_ONCE):
        changes = [
            {"id": row["id"], "words": segment_words(row["title"], row["text"], row["language"])} for row in listed
        ]
        hold(lambda write, changes=changes: write.run("write/save_words", rows=changes))


def _relink_names(columns: Columns, write: DocumentWrite) -> None:
    """Replace the links of these names to their near-synonyms, also those to names of earlier calls."""
    write.run("write/delete_similar", entity_ids=columns["id"])
    relation_writes.link_names(write.run, write.create, write.find_near, columns)
