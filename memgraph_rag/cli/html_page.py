"""A neighbourhood as a page: the graph to move about in, and the text beside it with what is named or cited marked.

One file that needs no network: the graph is drawn by Cytoscape.js (MIT), which lies in the room ``mcp`` (its own page
needs it too) and is written into the page. Invariants: every text is escaped, by the template engine; the page forbids
itself everything but the two scripts that it brings, so that a text which got through could do nothing.
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

from memgraph_rag.cli.render import change_line, one_line, step_figures, usage_line
from memgraph_rag.types import (
    Annotation,
    DocumentRecord,
    Entity,
    InformationPoint,
    Mention,
    Neighbourhood,
    Node,
    Overview,
    Question,
    Section,
    Segment,
    Thing,
    Tie,
    type_of,
)

__all__ = ["MARK", "page"]

MARK = b"<!DOCTYPE html>\n<!-- Written by memgraph-rag show. -->"
"""By which a page is known as one that was written here; a text in it cannot say so, for it is escaped."""

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
"""Those of docs/browser/graph.grass; of a question the nodes stand around it in the order of reading, clockwise."""

_LABEL = 40
_WIDEST = 6.0

Piece = tuple[str, str, str]
"""A text; the id of what it names, or none; what is to be said of it, or nothing where it is not marked."""


@dataclass(frozen=True, slots=True)
class _Passage:
    """A text of the right column."""

    node_id: str
    kind: str
    head: str
    pieces: list[Piece]
    chapter: str = ""
    notes: tuple[str, ...] = ()


def page(neighbourhood: Neighbourhood) -> str:
    """The whole page, as HTML."""
    library, script = _asset("cytoscape.min.js", room="server"), _asset("page.js")
    centre = neighbourhood.centre
    kinds = {type_of(thing) for thing in neighbourhood.things.values()}
    colours = {name: colour for name, colour in COLOURS.items() if name in kinds}
    return _template().render(
        title=_caption(centre),
        answer=centre.answer.text if isinstance(centre, Question) else "",
        facts=_facts(centre),
        changes=[change_line(change) for change in centre.changes] if isinstance(centre, Question) else [],
        left_out=", ".join(f"{number:,} {what}" for what, number in neighbourhood.left_out.items()),
        passages=list(_answered(centre, neighbourhood) if isinstance(centre, Question) else _passages(neighbourhood)),
        colours=colours,
        data={"elements": _elements(neighbourhood), "colours": colours, "ordered": isinstance(centre, Question)},
        hashes=" ".join(f"'sha256-{_hash(source)}'" for source in (library, script)),
        style=_asset("page.css"),
        library=library,
        script=script,
    )


@cache
def _asset(name: str, room: str = "cli") -> str:
    return (files(f"memgraph_rag.{room}") / "assets" / name).read_text("utf-8")


@cache
def _template() -> Any:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_asset("page.html"))


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


# ── the graph ────────────────────────────────────────────────────────────────────────────────────────────────


def _elements(neighbourhood: Neighbourhood) -> list[dict[str, Any]]:
    orders = {tie.target_id: tie.order for tie in reversed(neighbourhood.ties) if tie.kind == "READ"}
    nodes = [
        {
            "id": thing.id,
            "kind": type_of(thing),
            "label": (f"{orders[thing.id]}. " if thing.id in orders else "") + one_line(_caption(thing), _LABEL),
            "text": f"{_facts(thing)}\n{_text(thing)}",
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


def _caption(thing: Thing) -> str:
    if isinstance(thing, DocumentRecord):
        return thing.title or thing.key
    if isinstance(thing, Overview):
        return thing.title or thing.text
    return thing.name if isinstance(thing, (Entity, Section)) else thing.text


def _text(thing: Thing) -> str:
    if isinstance(thing, Question):
        return thing.answer.text
    return thing.text if isinstance(thing, Overview) else _caption(thing)


def _facts(thing: Thing) -> str:
    if isinstance(thing, DocumentRecord):
        return f"document {thing.key}, {thing.characters:,} characters, {thing.segments:,} segments, id {thing.id}"
    if isinstance(thing, Entity):
        return f"entity, {', '.join(thing.kinds)}, id {thing.id}"
    if isinstance(thing, Question):
        return f"asked {thing.asked_at}, {thing.answer.strategy}, {thing.answer.model}; {usage_line(thing.answer)}"
    if isinstance(thing, Section):
        return f"section {thing.index}, level {thing.level} · {thing.start}–{thing.end}"
    if isinstance(thing, Annotation):
        return ", ".join(filter(None, [f"annotation of layer {thing.layer}", thing.kind, *_properties(thing)]))
    return _place(thing)


def _properties(annotation: Annotation) -> list[str]:
    return [f"{name}: {value}" for name, value in annotation.properties.items()]


def _place(node: Node) -> str:
    if isinstance(node, Overview):
        return f"{node.layer} {node.level} over {len(node.documents)} documents"
    if isinstance(node, InformationPoint):
        return f"{'point' if node.layer == 'points' else 'summary'} {node.level}.{node.index}"
    return " · ".join(filter(None, [f"segment {node.index}", f"{node.start}–{node.end}", node.speaker, node.time]))


# ── the text ─────────────────────────────────────────────────────────────────────────────────────────────────


def _passages(neighbourhood: Neighbourhood) -> Iterator[_Passage]:
    """The passages with what they name, behind the words of an overview; a heading where the document changes."""
    centre = neighbourhood.centre
    if isinstance(centre, Overview):
        further = (finding.text for finding in centre.findings if finding.text not in centre.text)
        said = "\n".join([centre.text, *(f"• {text}" for text in further)])
        yield _Passage(centre.id, "overview", _facts(centre), [(said, "", "")], "What it says")
    named: dict[str, list[tuple[int, int, str, str]]] = {}
    for mention in neighbourhood.mentions:
        named.setdefault(mention.segment_id, []).append(
            (mention.start, mention.end, mention.entity_id, _said_of(mention))
        )
    last = ""
    for segment in neighbourhood.passages:
        document = neighbourhood.things.get(segment.document_id)
        chapter = "" if segment.document_id == last or document is None else _caption(document)
        last = segment.document_id
        yield _Passage(
            segment.id, "segment", _place(segment), _pieces(segment, named.get(segment.id, ())), chapter
        )  # fmt: skip


def _said_of(mention: Mention) -> str:
    return f"{mention.normal} ({mention.kind})"


def _answered(question: Question, neighbourhood: Neighbourhood) -> Iterator[_Passage]:
    """What was read, in that order, what was cited but not read itself, and what was cited of replaced documents."""
    answer, keys = question.answer, {thing.id: _caption(thing) for thing in neighbourhood.things.values()}
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
        head = f"read {order}.  {keys.get(node.document_id, '')} · {_place(node)}"
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
        head = f"{keys.get(segment.document_id, '')} · {_place(segment)}"
        chapter = "Cited from under what was read" if place == 0 else ""
        yield _Passage(segment.id, "segment", head, _pieces(segment, cited.get(segment.id, ())), chapter)
    yield from _quotes(question)


def _quotes(question: Question) -> Iterator[_Passage]:
    """What was cited of documents that were replaced since: it stands in the answer alone."""
    standing, chapter = question.standing_citations, "Cited from what documents said before"
    for number, citation in enumerate(question.answer.citations, 1):
        if citation not in standing:
            head = f"{citation.document_key} · {citation.start}–{citation.end}"
            yield _Passage(question.id, "segment", head, [(citation.quote, "", f"citation {number}")], chapter)
            chapter = ""


def _citations(question: Question) -> dict[str, list[tuple[int, int, str, str]]]:
    """The cited spans of each segment; a span whose text has changed since is left out."""
    spans: dict[str, list[tuple[int, int, str, str]]] = {}
    standing = question.standing_citations
    for number, citation in enumerate(question.answer.citations, 1):
        if citation in standing:
            spans.setdefault(citation.segment_id, []).append((citation.start, citation.end, "", f"citation {number}"))
    return spans


def _pieces(segment: Segment, spans: Iterable[tuple[int, int, str, str]]) -> list[Piece]:
    """The text in pieces; of spans that overlap the first and longest is marked."""
    pieces: list[Piece] = []
    place = segment.start
    for start, end, thing, note in _apart(sorted(spans, key=lambda span: (span[0], -span[1], span[2]))):
        pieces.append((segment.text[place - segment.start : start - segment.start], "", ""))
        pieces.append((segment.text[start - segment.start : end - segment.start], thing, note))
        place = end
    return [piece for piece in [*pieces, (segment.text[place - segment.start :], "", "")] if piece[0]]


def _apart(spans: Sequence[tuple[int, int, str, str]]) -> Iterator[tuple[int, int, str, str]]:
    last = -1
    for span in spans:
        if span[0] >= last:
            yield span
            last = span[1]
