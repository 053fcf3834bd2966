"""What the first opening adds to a database that ``neo4j-admin`` imported, beside the schema.

Files cannot hold everything: the importer takes an empty list for none, and how near two names are is computed by the
engine alone. It knows no connection. Invariants: what is done twice is done once; after it the graph is the one that
ordinary writes make.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from memgraph_rag.errors import StoreError
from memgraph_rag.stores import graph_writes, relation_writes
from memgraph_rag.stores.graph_reads import Run
from memgraph_rag.stores.relation_rows import embedded_columns
from memgraph_rag.stores.relation_writes import FindNear
from memgraph_rag.stores.rows import Columns, Create

if TYPE_CHECKING:
    from memgraph_rag.stores.neo4j import Neo4jStore

__all__ = ["await_indexes", "complete"]

NAMES_AT_ONCE = 500

STALLED_S = 600.0
"""How long no index gets on before it is given up."""

POLL_S = 60


def await_indexes(run: Run) -> None:
    """Wait until all indexes can be used, for as long as one of them gets on: over a million segments it takes minutes.

    Raises:
        StoreError: one failed, or none got on for ``STALLED_S``.
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
                f"Expected the indexes of the database to get ready, got {failed or [row['name'] for row in states]} "
                f"{'failed' if failed else 'standing still'}. Look into the server's log, then open it again.",
                indexes=failed,
            )
        if states != before:
            before, deadline = states, time.monotonic() + STALLED_S
        try:
            run("read/await_indexes", timeout_s=POLL_S)
        except StoreError:  # not ready yet
            continue


def complete(namespaces: Sequence[Neo4jStore]) -> None:
    """Give documents and overviews the lists that are empty, and tie near-synonymous names."""
    for store in namespaces:
        for name in ("write/fill_document_lists", "write/fill_overview_lists"):
            store._transaction("complete", lambda run, _, name=name: run(name), first=graph_writes.HELD)
        last = ""
        while listed := store._run("read/list_embedded_entities", after=last, k=NAMES_AT_ONCE):
            last = listed[-1]["id"]
            columns = embedded_columns([row["id"] for row in listed], [row["embedding"] for row in listed])
            tie = partial(_tie_anew, store._find_near, columns)
            store._transaction("complete", tie, first=graph_writes.HELD)


def _tie_anew(find_near: FindNear, columns: Columns, run: Run, create: Create) -> None:
    """Tie names to their near-synonyms, also those of earlier rows, in place of what ties them."""
    run("write/delete_similar", entity_ids=columns["id"])
    relation_writes.tie_names(run, create, find_near, columns)
