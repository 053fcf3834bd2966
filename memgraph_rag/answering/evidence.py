"""Gather the evidence for an answer (the segments under the nodes that were read), places of citations and warnings.

It knows the graph by its contract. Invariant: only stored segments are quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from memgraph_rag.contracts import Embedder, GraphReader
from memgraph_rag.facts.own_words import extract_pasted_words
from memgraph_rag.strategies.support import find_support
from memgraph_rag.text.citations import Quotes
from memgraph_rag.text.injection import addresses_model
from memgraph_rag.text.links import list_unsupported_links
from memgraph_rag.types import AnswerWarning, Citation, Segment, Step, WarningKind

_MOST_CITED = 16  # segments that can be cited, those with the largest weight: their sentences are embedded
_PLACED = {".pdf", ".pptx", ".xlsx"}
_PAGE_END = "\f"  # as ``text.pdf`` writes it
_HEADING = re.compile(r"^## (Slide \d+[^\n]*|Sheet: [^\n]*)$", re.MULTILINE)  # as ``text.office`` writes it


@dataclass(frozen=True, slots=True)
class ReadEvidence:
    """The segments under the nodes that were read.

    Attributes:
        segments: the largest weight first.
        keys, titles: the key and the title of each document, by its id.
        quotes: the sentences that can be quoted.
    """

    segments: list[Segment]
    keys: Mapping[str, str]
    titles: Mapping[str, str]
    quotes: Quotes


def gather_evidence(trace: Sequence[Step], graph: GraphReader, embedder: Embedder) -> ReadEvidence:
    """Return the segments under the nodes of a trace, with the keys and titles of their documents.

    Only a limited number of segments, those with the largest weight, is returned, and only the first of them can be
    quoted. Documents that were forgotten have no key. Without steps everything is empty.
    """
    weighted = find_support(trace, graph) if trace else []
    segments = [segment for segment, _ in weighted]
    records = graph.documents(sorted({segment.document_id for segment in segments})) if segments else []
    keys = {record.id: record.key for record in records}
    quotes = Quotes(weighted[:_MOST_CITED], keys=keys, embedder=embedder)
    return ReadEvidence(segments, keys, {record.id: record.title for record in records}, quotes)


def find_warnings(text: str, citations: Sequence[Citation], evidence: ReadEvidence) -> Iterator[AnswerWarning]:
    """Yield warnings about an answer: links that no quote of a citation holds, then documents that address the model.

    A document yields at most one warning, with its first line that addresses the model.
    """
    for link in list_unsupported_links(text, [citation.quote for citation in citations]):
        yield AnswerWarning(WarningKind.UNSUPPORTED_LINK, link)
    warned_ids: set[str] = set()
    for segment in evidence.segments:
        if segment.document_id not in evidence.keys.keys() - warned_ids:
            continue
        others = extract_pasted_words(segment) if segment.speaker else None
        if line := addresses_model(segment.text, others=others):
            warned_ids.add(segment.document_id)
            yield AnswerWarning(WarningKind.ADDRESSES_MODEL, line, evidence.keys[segment.document_id])


def add_places(citations: Sequence[Citation], graph: GraphReader) -> tuple[Citation, ...]:
    """Return the citations with their page, slide or sheet. Only documents of a kind that has places are read."""
    cited = graph.documents(list({each.document_id for each in citations})) if citations else []
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
