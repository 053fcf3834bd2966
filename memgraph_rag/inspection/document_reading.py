"""Finds documents and nodes by name, lists the documents of a scope, and tells the places of citations.

It only reads the store. Invariant: the records of a list were in the scope at some moment since the call began.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from memgraph_rag.calls.document_lookup import find_documents, make_name_list
from memgraph_rag.calls.validation import check_count, is_possible_key
from memgraph_rag.contracts import GraphReader, GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.open_memory import OpenMemory
from memgraph_rag.types import Answer, Citation, Document, DocumentRecord, Node, Part, Scope, Step

_PLACED = {".pdf", ".pptx", ".xlsx"}
_PAGE_END = "\f"  # as ``text.pdf`` writes it
_HEADING = re.compile(r"^## (Slide \d+[^\n]*|Sheet: [^\n]*)$", re.MULTILINE)  # as ``text.office`` writes it


def find(store: GraphStore, name: str | Path) -> Document | Node:
    """Return the node with this id, or else the document with this key, id or path, in this order.

    A node is a segment, a point or an overview. The document has its whole text, but no turns.

    Raises:
        DocumentNotFound: nothing has this name, or several documents were read from this path.
    """
    if isinstance(name, str) and is_possible_key(name) and (nodes := store.nodes([name])):
        return nodes[0]
    (record,) = find_documents(store, [name])
    text = "".join(segment.text for segment in store.list_segments(record.id))
    return Document(text, record.key, record.title, record.source, record.metadata)


def add_places(
    items: Iterable[Step | Part | str | Answer], graph: GraphReader
) -> Generator[Step | Part | str | Answer, None, None]:
    """Yield the items of an answer; the citations of the ``Answer`` with their page, slide or sheet."""
    for item in items:
        if isinstance(item, Answer) and item.citations:
            yield replace(item, citations=_add_places(item.citations, graph))
        else:
            yield item


def _add_places(citations: tuple[Citation, ...], graph: GraphReader) -> tuple[Citation, ...]:
    """Return the citations with their places. Only documents of a kind that has places are read."""
    cited = graph.documents(list({each.document_id for each in citations}))
    ids = [record.id for record in cited if PurePath(record.source).suffix.lower() in _PLACED]
    texts = {key: "".join(segment.text for segment in graph.list_segments(key)) for key in ids}
    return tuple(
        replace(each, place=_find_place(texts[each.document_id], each)) if each.document_id in texts else each
        for each in citations
    )


def _find_place(text: str, citation: Citation) -> str:
    """Return the page on which a citation begins, or the slide or sheet in which it ends; empty without any.

    A quote may begin with the heading of its slide, or with the end of the slide before.
    """
    if _PAGE_END in text:
        return f"page {text.count(_PAGE_END, 0, citation.start) + 1}"
    headings = _HEADING.findall(text, 0, citation.end)
    return headings[-1] if headings else ""


def records(parts: OpenMemory, scope: Scope, *, after: str, limit: int | None, contains: str) -> list[DocumentRecord]:
    """Return the first ``limit`` documents of a scope with a key greater than ``after``; see ``Memory.documents``."""
    if limit is not None:
        check_count("limit", limit)
    if not is_possible_key(after):
        raise SettingsError(
            f"Expected after as the key of a document, got {show(after)}. Pass the last key of the previous page.",
            setting="after",
        )
    if not is_possible_key(contains):
        raise SettingsError(
            f"Expected contains as a part of a key or title, got {show(contains)}. Pass a text.", setting="contains"
        )
    if scope.documents is not None and scope == Scope(documents=scope.documents):
        matches = find_documents(parts.store, make_name_list(scope.documents))
        return _choose(matches, after, limit, contains)
    extent = parts.resolve_extent(scope)
    if limit is not None and extent.is_everything:
        return parts.store.list_documents_after(after, k=limit, part=contains)
    matches = parts.store.documents(extent.documents)
    if extent.has_time:
        ids_in_period = parts.search.select_period(extent).documents
        matches = [record for record in matches if record.id in ids_in_period]
    return _choose(matches, after, limit, contains)


def _choose(matches: Sequence[DocumentRecord], after: str, limit: int | None, contains: str) -> list[DocumentRecord]:
    """Return the first ``limit`` records with a key greater than ``after`` whose key or title contains a text."""
    return [record for record in matches if record.key > after and record.is_named_with(contains)][:limit]
