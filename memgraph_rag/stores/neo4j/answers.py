"""Builds queries for Neo4j's indexes, reads their hits, and tells whether these hits can be trusted.

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
    """Return how many hits to request from an index of all namespaces, so that it likely finds k of one namespace."""
    return max(4 * k, 100)


def select_trusted_hits(hits: list[Scored], k: int) -> list[Scored]:
    """Return the first k hits if a later hit has a lower score, so that no hit with the k-th score is missing.

    Else return an empty list, also if there are only k hits or fewer. ``hits`` are sorted, the best first.
    """
    return hits[:k] if len(hits) > k and hits[-1].score < hits[k - 1].score else []


def decode_hits(hit_rows: Sequence[Mapping[str, Any]]) -> list[Hit]:
    """Return search hits from rows that each hold a list ``hits`` of (node id, score), best first, ties by id.

    A node that was deleted during the statement has no id and is left out. One row holds many hits, because each row
    costs the driver 11 microseconds.
    """
    pairs = (pair for row in hit_rows for pair in row["hits"])
    return rows.decode_hits({"id": node_id, "score": score} for node_id, score in pairs if node_id is not None)


def lucene_query(words: Sequence[str], namespace_id: str) -> str:
    """Return a full-text query of Lucene for the segments of a namespace that contain any of these terms.

    A term contains no quote and no backslash (``lexical.tokenize``), so a quoted term is never an operator. If all
    terms are single letters of a script without spaces, the query is for the terms that contain one of them.
    """
    is_letters = all(map(is_lone_letter, words))
    any_of = " ".join(f"*{word}*" if is_letters else f'"{word}"' for word in words)
    return f"+namespace_id:{namespace_id}^0 +words:({any_of})"


def segment_words(title: str, text: str, language: str) -> str:
    """Return the stemmed terms and the days in a segment and its document's title, as text for the full-text index."""
    stemmer = stemmer_name(language)
    title, text = split_for_search(title, text)
    in_title = [*index_terms(title, stemmer), *dates.list_day_terms(title)]
    return " ".join((*index_terms(text, stemmer), *dates.list_day_terms(text), *TITLE_WEIGHT * in_title))


def add_words(columns: rows.Columns) -> rows.Columns:
    """Return columns of segments with the column ``words`` (see ``segment_words``) in place of ``language``."""
    listed = zip(columns["title"], columns["text"], columns["language"], strict=True)
    others = {name: values for name, values in columns.items() if name != "language"}
    return others | {"words": [segment_words(*row) for row in listed]}
