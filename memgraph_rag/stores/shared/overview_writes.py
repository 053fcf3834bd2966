"""Stores overviews, and deletes them together with the documents on which they rest.

Like ``graph_writes``, the module knows no engine and begins no transaction. Invariant: a stored overview has all its
edges, and all its documents are unchanged since it was built; any other overview is deleted.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from memgraph_rag.errors import StoreError
from memgraph_rag.stores.shared import kept_questions, overview_rows
from memgraph_rag.stores.shared.graph_reads import Run
from memgraph_rag.stores.shared.rows import Create, are_distinct, edge_columns, link_columns
from memgraph_rag.types import Overview, OverviewRows, overview_id

_WEIGHTS_TOLERANCE = 1e-3

_LINKS = ("write/link_overviews_to_segments", "write/link_overviews_to_points", "write/link_overviews_to_overviews")


def check_overviews(rows: OverviewRows, *, namespace: str) -> None:
    """Check overviews and their edges before they are stored; a store would lose a part of faulty ones.

    Raises:
        StoreError: an id does not follow from layer and key, a text is empty or cannot be stored, an overview rests on
            no document or is given twice, its documents or entities are not sorted or not unique, an edge starts at
            another node or is given twice, or weights do not sum to 1.
    """
    ids = {overview.id for overview in rows.overviews}
    weights: dict[str, list[float]] = defaultdict(list)
    for edge in rows.summarizes:
        weights[edge.source_id].append(edge.weight)
    sound = {
        "each overview once": len(ids) == len(rows.overviews),
        "ids that are made of namespace, layer and key": all(
            item.id == overview_id(namespace, item.layer, item.key) for item in rows.overviews
        ),
        "overviews that say something": all(item.text.strip() for item in rows.overviews),
        "text that can be stored": all(map(_is_storable, _texts(rows.overviews))),
        "overviews that rest on documents, sorted, each once": all(
            item.documents and list(item.documents) == sorted(set(item.documents)) for item in rows.overviews
        ),
        "each entity of an overview once, sorted": all(
            list(item.entities) == sorted(set(item.entities)) for item in rows.overviews
        ),
        "edges that leave these overviews": ids.issuperset(weights),
        "each edge once": are_distinct((edge.source_id, edge.target_id) for edge in rows.summarizes),
        "weights that sum to 1": all(
            math.isclose(sum(of_source), 1.0, abs_tol=_WEIGHTS_TOLERANCE) for of_source in weights.values()
        ),
    }
    for expected, holds in sound.items():
        if not holds:
            raise StoreError(f"Expected {expected}, got others in {len(rows.overviews)} overviews. Correct the layer.")


def _texts(overviews: Iterable[Overview]) -> Iterable[str]:
    for item in overviews:
        yield from (item.layer, item.key, item.title, item.text)
        yield from (finding.text for finding in item.findings)


def _is_storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def write_overviews(run: Run, create: Create, rows: OverviewRows, *, as_of: int) -> list[str]:
    """Delete ``rows.removed``, and store the overviews whose documents were not written after ``as_of``.

    An overview whose id is stored stays as it is. A new overview that lacks an edge is deleted again, with all
    overviews above it.

    Returns:
        The ids of the given overviews that exist afterwards, sorted.
    """
    if rows.removed:
        remove_overviews(run, create, rows.removed)
    wanted = sorted({document for item in rows.overviews for document in item.documents})
    unchanged = run("read/find_unchanged_documents", document_ids=wanted, as_of=as_of) if wanted else []
    documents = {row["id"] for row in unchanged}
    ids = {item.id for item in rows.overviews}
    there = {row["id"] for row in run("read/find_overview_ids", node_ids=sorted(ids))} if ids else set[str]()
    new = [item for item in rows.overviews if item.id not in there and documents.issuperset(item.documents)]
    new_ids = {item.id for item in new}
    edges = [edge for edge in rows.summarizes if edge.source_id in new_ids]
    create("write/create_overviews", overview_rows.overview_columns(new, edges))
    foundations = [(item.id, document_id) for item in new for document_id in item.documents]
    members = [(item.id, entity_id) for item in new for entity_id in item.entities]
    create("write/link_overviews_to_documents", edge_columns(foundations))
    create("write/link_members", edge_columns(members))
    for link in _LINKS:  # an id is that of one kind of node: each finds its own
        create(link, link_columns(edges))
    return sorted((there | new_ids) - _remove_torn(run, create, new_ids))


def _remove_torn(run: Run, create: Create, ids: set[str]) -> set[str]:
    """Delete the overviews that lack an edge, after another process deleted a node. Return all deleted ids."""
    tied = run("read/count_overview_edges", node_ids=sorted(ids)) if ids else []
    torn = [row["id"] for row in tied if overview_rows.is_torn(row)]
    return remove_overviews(run, create, torn) if torn else set()


def remove_overviews_of_documents(run: Run, create: Create, document_ids: Sequence[str]) -> None:
    """Delete all overviews that rest on these documents; kept questions that read them become stale."""
    listed = run("read/list_overviews_on", document_ids=list(document_ids)) if document_ids else []
    if listed:
        remove_overviews(run, create, [row["id"] for row in listed], changed=document_ids)


def remove_overviews(run: Run, create: Create, ids: Iterable[str], *, changed: Sequence[str] = ()) -> set[str]:
    """Delete overviews and all overviews that summarize them; return the ids of both, also unknown given ids.

    Kept questions that read them become stale. ``changed`` are the ids of the documents that caused the deletion.
    """
    every = above = set(ids)
    while above:
        above = {row["id"] for row in run("read/list_overviews_above", node_ids=sorted(above))} - every
        every = every | above
    gone = sorted(every)
    kept_questions.mark_overviews_deleted(run, create, gone, changed=changed)
    run("write/delete_overviews", node_ids=gone)
    return every
