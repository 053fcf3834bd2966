"""What the first opening adds to a database that ``neo4j-admin`` imported, beside the schema.

Files cannot hold everything: the importer takes an empty list for none, and how near two names are is computed by the
engine alone. It knows no connection. Invariants: what is done twice is done once; after it the graph is the one that
ordinary writes make.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from memgraph_rag.errors import StoreError
from memgraph_rag.stores.shared import relation_writes
from memgraph_rag.stores.shared.graph_reads import Run
from memgraph_rag.stores.shared.relation_rows import embedded_columns
from memgraph_rag.stores.shared.relation_writes import FindNear
from memgraph_rag.stores.shared.rows import Columns, Create

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


def complete(run: Run, hold: Callable[[Callable[[Run, Create], object]], object], find_near: FindNear) -> None:
    """Give documents and overviews of a namespace the lists that are empty, and tie near-synonymous names.

    Args:
        hold: does what it is given in one transaction of the namespace, which counts as no write.
    """
    for name in ("write/fill_document_lists", "write/fill_overview_lists"):
        hold(lambda within, _, name=name: within(name))
    last = ""
    while listed := run("read/list_embedded_entities", after=last, k=NAMES_AT_ONCE):
        last = listed[-1]["id"]
        columns = embedded_columns([row["id"] for row in listed], [row["embedding"] for row in listed])
        hold(partial(_tie_anew, find_near, columns))


def _tie_anew(find_near: FindNear, columns: Columns, run: Run, create: Create) -> None:
    """Tie names to their near-synonyms, also those of earlier rows, in place of what ties them."""
    run("write/delete_similar", entity_ids=columns["id"])
    relation_writes.tie_names(run, create, find_near, columns)
