"""A neighbourhood as an HTML page: an interactive graph, and the text with marks on names and citations.

The page is one file and needs no network: it contains Cytoscape.js (MIT), which draws the graph. Invariants: the
template engine escapes every text; the page's content policy allows only its own two scripts, so unescaped text could
not run code.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined

from memgraph_rag.cli.listing import caption_of, facts_of, place_of, text_of
from memgraph_rag.cli.render import change_line, one_line, step_figures
from memgraph_rag.types import (
    Mention,
    Neighbourhood,
    Overview,
    Question,
    Segment,
    Tie,
    type_of,
)

__all__ = ["MARK", "page"]

MARK = b"<!DOCTYPE html>\n<!-- Written by memgraph-rag show. -->"
"""The first bytes of a page of this module. Text in a page cannot contain them, because it is escaped."""

COLOURS = {
    "document": "#c990c0",
    "segment": "#57c7e3",
    "point": "#f16667",
    "overview": "#4c8eda",
    "entity": "#8dcc93",
    "annotation": "#d9c8ae",
    "section": "#f79767",
    "question": "#ffc454",
}
"""Colours of node types, as in docs/browser/graph.grass."""

_LABEL = 40
_WIDEST = 6.0

Piece = tuple[str, str, str]
"""A piece of text, the id of the entity that it names (or ""), and its note (or "" if the piece is not marked)."""


@dataclass(frozen=True, slots=True)
class _Passage:
    """A text of the page's right column.

    Attributes:
        head: the line above the text.
        chapter: a heading above this passage; empty if the chapter continues.
        notes: further lines under the head.
    """

    node_id: str
    kind: str
    head: str
    pieces: list[Piece]
    chapter: str = ""
    notes: tuple[str, ...] = ()


def page(neighbourhood: Neighbourhood) -> str:
    """Return the whole page as HTML: the graph around the centre, and passages with marks.

    For a question these are its answer and what was read for it, in order; then quotes from replaced documents.
    """
    library, script = _cytoscape(), _asset("page.js")
    centre = neighbourhood.centre
    kinds = {type_of(thing) for thing in neighbourhood.things.values()}
    colours = {name: colour for name, colour in COLOURS.items() if name in kinds}
    return _template().render(
        title=caption_of(centre),
        answer=centre.answer.text if isinstance(centre, Question) else "",
        facts=facts_of(centre),
        changes=[change_line(change) for change in centre.changes] if isinstance(centre, Question) else [],
        left_out=", ".join(f"{number:,} {what}" for what, number in neighbourhood.left_out.items()),
        passages=list(
            _question_passages(centre, neighbourhood) if isinstance(centre, Question) else _passages(neighbourhood)
        ),
        colours=colours,
        data={"elements": _elements(neighbourhood), "colours": colours, "ordered": isinstance(centre, Question)},
        hashes=" ".join(f"'sha256-{_hash(source)}'" for source in (library, script)),
        style=_asset("page.css"),
        library=library,
        script=script,
    )


@cache
def _asset(name: str) -> str:
    return (files("memgraph_rag.cli") / "assets" / name).read_text("utf-8")


@cache
def _cytoscape() -> str:
    return (files("memgraph_rag.server") / "assets" / "vendor" / "cytoscape.min.js").read_text("utf-8")


@cache
def _template() -> Any:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_asset("page.html"))


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


# ── the graph ────────────────────────────────────────────────────────────────────────────────────────────────


def _elements(neighbourhood: Neighbourhood) -> list[dict[str, Any]]:
    """Return the nodes and edges of the graph as Cytoscape.js elements.

    The nodes that a question read form a ring around it, clockwise in the order of reading.
    """
    orders = {tie.target_id: tie.order for tie in reversed(neighbourhood.ties) if tie.kind == "READ"}
    nodes = [
        {
            "id": thing.id,
            "kind": type_of(thing),
            "label": (f"{orders[thing.id]}. " if thing.id in orders else "") + one_line(caption_of(thing), _LABEL),
            "text": f"{facts_of(thing)}\n{text_of(thing)}",
            "centre": thing.id == neighbourhood.centre.id,
            "ring": 2 if thing.id == neighbourhood.centre.id else 1 if thing.id in orders else 0,
        }
        for thing in neighbourhood.things.values()
    ]
    edges = [
        {
            "id": f"{place}",
            "kind": tie.kind,
            "source": tie.source_id,
            "target": tie.target_id,
            "label": _tie_label(tie),
            "text": f"{tie.kind}  {_tie_label(tie)}\n{tie.text}",
            "width": _width(tie),
        }
        for place, tie in enumerate(neighbourhood.ties)
    ]
    return [{"data": element} for element in (*nodes, *edges)]


def _tie_label(tie: Tie) -> str:
    if tie.kind == "READ":
        return f"{tie.order}"
    if tie.kind == "RELATES_TO":
        return one_line(tie.text, _LABEL)
    return f"{tie.weight:.2f}" if tie.kind in ("SUMMARIZES", "SIMILAR_TO") else ""


def _width(tie: Tie) -> float:
    return 1.0 + (_WIDEST - 1) * min(max(tie.weight, 0.0), 1.0) if tie.kind == "SUMMARIZES" else 1.5


# ── the text ─────────────────────────────────────────────────────────────────────────────────────────────────


def _passages(neighbourhood: Neighbourhood) -> Iterator[_Passage]:
    """Yield the overview's text, if the centre is one, then the passages with their names marked.

    A new document begins a new chapter.
    """
    centre = neighbourhood.centre
    if isinstance(centre, Overview):
        further = (finding.text for finding in centre.findings if finding.text not in centre.text)
        said = "\n".join([centre.text, *(f"• {text}" for text in further)])
        yield _Passage(centre.id, "overview", facts_of(centre), [(said, "", "")], "What it says")
    named: dict[str, list[tuple[int, int, str, str]]] = {}
    for mention in neighbourhood.mentions:
        named.setdefault(mention.segment_id, []).append((mention.start, mention.end, mention.entity_id, _note(mention)))
    last = ""
    for segment in neighbourhood.passages:
        document = neighbourhood.things.get(segment.document_id)
        chapter = "" if segment.document_id == last or document is None else caption_of(document)
        last = segment.document_id
        yield _Passage(
            segment.id, "segment", place_of(segment), _pieces(segment, named.get(segment.id, ())), chapter
        )  # fmt: skip


def _note(mention: Mention) -> str:
    return f"{mention.normal} ({mention.kind})"


def _question_passages(question: Question, neighbourhood: Neighbourhood) -> Iterator[_Passage]:
    """Yield the nodes that were read, in reading order, then cited segments that were not read themselves.

    Quotes from replaced documents come last.
    """
    answer, keys = question.answer, {thing.id: caption_of(thing) for thing in neighbourhood.things.values()}
    cited = _citations(question)
    steps = [(order, step) for order, step in enumerate(answer.trace, 1) if step.node.id in neighbourhood.things]
    for order, step in steps:
        node = step.node
        spans = cited.get(node.id, ()) if isinstance(node, Segment) else ()
        pieces = _pieces(node, spans) if isinstance(node, Segment) else [(node.text, "", "")]
        notes = (
            step_figures(step),
            f"by “{step.via}”" * bool(step.via),
            f"looks for: {step.reason}" * bool(step.reason),
        )
        head = f"read {order}.  {keys.get(node.document_id, '')} · {place_of(node)}"
        yield _Passage(
            node.id,
            node.kind,
            head,
            pieces,
            "What was read, in order" if order == 1 else "",
            tuple(filter(None, notes)),
        )
    read = {step.node.id for _, step in steps}
    only_cited = [segment for segment in neighbourhood.passages if segment.id not in read]
    for place, segment in enumerate(only_cited):
        head = f"{keys.get(segment.document_id, '')} · {place_of(segment)}"
        chapter = "Cited from under what was read" if place == 0 else ""
        yield _Passage(segment.id, "segment", head, _pieces(segment, cited.get(segment.id, ())), chapter)
    yield from _quotes(question)


def _quotes(question: Question) -> Iterator[_Passage]:
    """Yield the quotes from documents that were replaced since. Only the answer still holds these texts."""
    standing, chapter = question.standing_citations, "Cited from what documents said before"
    for number, citation in enumerate(question.answer.citations, 1):
        if citation not in standing:
            head = f"{citation.document_key} · {citation.start}–{citation.end}"
            yield _Passage(question.id, "segment", head, [(citation.quote, "", f"citation {number}")], chapter)
            chapter = ""


def _citations(question: Question) -> dict[str, list[tuple[int, int, str, str]]]:
    """Return the cited spans by segment id. Spans whose text has changed since are left out."""
    spans: dict[str, list[tuple[int, int, str, str]]] = {}
    standing = question.standing_citations
    for number, citation in enumerate(question.answer.citations, 1):
        if citation in standing:
            spans.setdefault(citation.segment_id, []).append((citation.start, citation.end, "", f"citation {number}"))
    return spans


def _pieces(segment: Segment, spans: Iterable[tuple[int, int, str, str]]) -> list[Piece]:
    """Split the text of a segment at the spans. If spans overlap, only the first is marked; the longest of a start."""
    pieces: list[Piece] = []
    place = segment.start
    for start, end, thing, note in _without_overlaps(sorted(spans, key=lambda span: (span[0], -span[1], span[2]))):
        pieces.append((segment.text[place - segment.start : start - segment.start], "", ""))
        pieces.append((segment.text[start - segment.start : end - segment.start], thing, note))
        place = end
    return [piece for piece in [*pieces, (segment.text[place - segment.start :], "", "")] if piece[0]]


def _without_overlaps(spans: Sequence[tuple[int, int, str, str]]) -> Iterator[tuple[int, int, str, str]]:
    last = -1
    for span in spans:
        if span[0] >= last:
            yield span
            last = span[1]
