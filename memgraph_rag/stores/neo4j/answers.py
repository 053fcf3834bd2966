"""Queries of Neo4j's indexes, their hits, and whether these hits can be trusted.

The module knows no connection and no statement. Invariant: trusted hits equal those of an exact search, ties by id
included, if the index found everything with an equal or better score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from memgraph_rag.lexical import dates
from memgraph_rag.lexical.bm25 import TITLE_WEIGHT
from memgraph_rag.lexical.markdown import split_for_search
from memgraph_rag.lexical.tokenize import index_terms, is_lone_letter, stemmer_name
from memgraph_rag.stores.shared import rows
from memgraph_rag.types import Hit, Neighbour

Scored = TypeVar("Scored", Hit, Neighbour)


def index_width(k: int) -> int:
    """Return how many hits to request from an index, so that k of the namespace are likely and no tie is cut."""
    return max(4 * k, 100)


def select_trusted_hits(hits: list[Scored], k: int) -> list[Scored]:
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
    """Return a query for any of these terms. The namespace adds nothing to the score.

    A term contains no quote and no backslash (``lexical.tokenize``), so a quoted term is never an operator. If all
    terms are single letters of a script without spaces, the query is for the terms that contain one of them.
    """
    is_letters = all(map(is_lone_letter, words))
    any_of = " ".join(f"*{word}*" if is_letters else f'"{word}"' for word in words)
    return f"+namespace_id:{namespace_id}^0 +words:({any_of})"


def segment_words(title: str, text: str, language: str) -> str:
    """Return the terms and days of a segment as the full-text index takes them; those of the title count twice."""
    stemmer = stemmer_name(language)
    title, text = split_for_search(title, text)
    in_title = [*index_terms(title, stemmer), *dates.list_day_terms(title)]
    return " ".join((*index_terms(text, stemmer), *dates.list_day_terms(text), *TITLE_WEIGHT * in_title))


def add_words(columns: rows.Columns) -> rows.Columns:
    """Return the columns of segments with their words in place of their language, which their document has."""
    listed = zip(columns["title"], columns["text"], columns["language"], strict=True)
    others = {name: values for name, values in columns.items() if name != "language"}
    return others | {"words": [segment_words(*row) for row in listed]}
