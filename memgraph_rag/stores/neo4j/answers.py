"""Queries of Neo4j's indexes, their hits, and whether these hits can be trusted.

The module knows no connection and no statement. Invariant: trusted hits equal those of an exact search, ties by id
included, if the index found everything with an equal or better score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from memgraph_rag.lexical.bm25 import TITLE_WEIGHT
from memgraph_rag.stores.shared import rows
from memgraph_rag.types import Hit, Neighbour

__all__ = ["decode_hits", "index_width", "lucene_query", "trusted_hits"]

Scored = TypeVar("Scored", Hit, Neighbour)


def index_width(k: int) -> int:
    """Return how many hits to request from an index, so that k of the namespace are likely and no tie is cut."""
    return max(4 * k, 100)


def trusted_hits(hits: list[Scored], k: int) -> list[Scored]:
    """Return the first k hits, if a later, lower score proves that no tie with the k-th hit was cut off.

    Else return an empty list, also if there are only k hits or fewer. ``hits`` are sorted, the best first.
    """
    return hits[:k] if len(hits) > k and hits[-1].score < hits[k - 1].score else []


def decode_hits(hit_rows: Sequence[Mapping[str, Any]]) -> list[Hit]:
    """Return the hits of a statement that returns all of them in one row, as each row costs the driver 11 microseconds.

    The best come first, ties by id. A node that was deleted during the statement has no id and is left out.
    """
    pairs = (pair for row in hit_rows for pair in row["hits"])
    return rows.decode_hits({"id": node_id, "score": score} for node_id, score in pairs if node_id is not None)


def lucene_query(words: Sequence[str], namespace_id: str) -> str:
    """Return a query for any of these words and phrases in text or title. The namespace adds nothing to the score.

    A word contains no quote and no backslash (``keywords.words``), so a quoted word is never an operator.
    """
    any_of = " ".join(f'"{word}"' for word in words)
    return f"+namespace_id:{namespace_id}^0 +(text:({any_of}) title:({any_of})^{TITLE_WEIGHT})"
