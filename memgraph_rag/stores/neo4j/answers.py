"""What Neo4j's indexes are asked, how their answers come, and when these can be trusted.

It knows no connection and no statement. Invariant: what is trusted is what an exact search would give, ties by id
included, as far as the index found all that is as good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from memgraph_rag.lexical.bm25 import TITLE_WEIGHT
from memgraph_rag.stores.shared import rows
from memgraph_rag.types import Hit, Neighbour

__all__ = ["decode_hits", "lucene_query", "trusted", "width_for"]

Scored = TypeVar("Scored", Hit, Neighbour)


def width_for(k: int) -> int:
    """How many to ask an index for, so that k of them are likely this namespace's and no tie is cut."""
    return max(4 * k, 100)


def trusted(hits: list[Scored], k: int) -> list[Scored]:
    """The first k, where the last of more shows that no tie with the k-th was cut off; else none."""
    return hits[:k] if len(hits) > k and hits[-1].score < hits[k - 1].score else []


def decode_hits(hit_rows: Sequence[Mapping[str, Any]]) -> list[Hit]:
    """The hits of a statement that gives all of them in one row: a row costs the driver 11 microseconds.

    What was deleted while it was read has no id.
    """
    pairs = (pair for row in hit_rows for pair in row["hits"])
    return rows.decode_hits({"id": node_id, "score": score} for node_id, score in pairs if node_id is not None)


def lucene_query(words: Sequence[str], namespace_id: str) -> str:
    """Any of the words and phrases, in the text or title, within the namespace, which adds nothing to the score.

    A word holds no quote and no backslash (``keywords.words``), so that quoted it is no operator.
    """
    any_of = " ".join(f'"{word}"' for word in words)
    return f"+namespace_id:{namespace_id}^0 +(text:({any_of}) title:({any_of})^{TITLE_WEIGHT})"
