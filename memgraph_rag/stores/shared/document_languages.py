"""Finds the languages of documents that an older version stored without one.

The module knows no engine and begins no transaction. Invariant: a document that has a language keeps it.
"""

from __future__ import annotations

from memgraph_rag.lexical.language import detect_language
from memgraph_rag.stores.shared.graph_reads import Run

_AT_ONCE = 500


def save_languages(run: Run) -> None:
    """Detect and store the language of each document without one, if its first segments make it clear.

    Args:
        run: runs a named statement, with the namespace bound.
    """
    last = ""
    while listed := run("read/list_unknown_languages", after=last, k=_AT_ONCE):
        last = listed[-1]["id"]
        languages = [{"id": row["id"], "language": detect_language("".join(row["texts"]))} for row in listed]
        if known := [row for row in languages if row["language"]]:
            run("write/save_languages", rows=known)
