"""A neighbourhood as plain lines for the terminal.

It opens no memory. Invariants: text is never interpreted as markup, and no control character reaches the terminal, as
in ``render``; the last lines count the nodes that were left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.text import Text

from memgraph_rag.cli.render import change_line, plain, pluralise, usage_line
from memgraph_rag.types import (
    Annotation,
    DocumentRecord,
    Entity,
    InformationPoint,
    Neighbourhood,
    Node,
    Overview,
    Question,
    Section,
    Segment,
    Thing,
    Tie,
    get_type,
    shorten_line,
)

_CHARACTERS = 100
"""Most characters of a text on one line."""


def listing(neighbourhood: Neighbourhood) -> Iterator[Text]:
    """Yield lines for the centre, the things around it by type, and the ties between them by kind.

    Ties from documents to their segments are left out. The last lines count what ``left_out`` counts. A question yields
    only its first line and the changed documents. The caller prints its walk as ``ask`` does.
    """
    centre = neighbourhood.centre
    yield _line(centre, indent="")
    if isinstance(centre, Question):
        yield from (Text(plain(f"stale: {change_line(change)}"), style="yellow") for change in centre.changes)
        return
    if isinstance(centre, Overview):
        yield Text(plain(shorten_line(centre.text, 10 * _CHARACTERS)))
        yield from (Text(plain(f"• {shorten_line(finding.text, _CHARACTERS)}")) for finding in centre.findings)
    others = sorted((thing for thing in neighbourhood.things.values() if thing is not centre), key=get_type)
    for kind, things in groupby(others, key=get_type):
        yield _heading(kind)
        yield from map(_line, things)
    for kind, ties in groupby(sorted(neighbourhood.ties, key=lambda tie: tie.kind), key=lambda tie: tie.kind):
        if kind != "HAS_SEGMENT":  # the names of segments say it
            yield _heading(kind)
            yield from _tie_lines(neighbourhood, ties)
    for what, number in neighbourhood.left_out.items():
        yield Text(f"… and {number:,} more {what}", style="yellow")


def _caption(thing: Thing) -> str:
    """Return the caption of a thing: its title, its name or its text; the key of a document without a title."""
    if isinstance(thing, DocumentRecord):
        return thing.title or thing.key
    if isinstance(thing, Overview):
        return thing.title or thing.text
    return thing.name if isinstance(thing, (Entity, Section)) else thing.text


def _facts(thing: Thing) -> str:
    """Return the other facts about a thing on one line: type, size, id, level or span.

    For a question: when it was asked, strategy and model, why reading stopped, and the cost.
    """
    if isinstance(thing, DocumentRecord):
        segments = pluralise(thing.segments, "segment")
        return f"document {thing.key}, {thing.characters:,} characters, {segments}, id {thing.id}"
    if isinstance(thing, Entity):
        return f"entity, {', '.join(thing.kinds)}, id {thing.id}"
    if isinstance(thing, Question):
        return f"asked {thing.asked_at}, {thing.answer.strategy}, {thing.answer.model}; {usage_line(thing.answer)}"
    if isinstance(thing, Section):
        return f"section {thing.index}, level {thing.level} · {thing.start}–{thing.end}"
    if isinstance(thing, Annotation):
        return ", ".join(filter(None, [f"annotation of layer {thing.layer}", thing.kind, *_properties(thing)]))
    return _place(thing)


def _place(node: Node) -> str:
    """Return the place of a node: a segment's number, span, speaker and time; the level and number of a point.

    For an overview: its layer, its level, and the number of its documents.
    """
    if isinstance(node, Overview):
        return f"{node.layer} {node.level} over {len(node.documents)} documents"
    if isinstance(node, InformationPoint):
        return f"{'point' if node.layer == 'points' else 'summary'} {node.level}.{node.index}"
    return " · ".join(filter(None, [f"segment {node.index}", f"{node.start}–{node.end}", node.speaker, node.time]))


def _properties(annotation: Annotation) -> list[str]:
    """Return the properties whose values are not lines of the text. A header's text holds its title and summary."""
    lines = ("", *annotation.text.splitlines())
    return [f"{name}: {value}" for name, value in annotation.properties.items() if value not in lines]


def _heading(kind: str) -> Text:
    return Text(kind, style="dim")


def _line(thing: Thing, *, indent: str = "    ") -> Text:
    caption = shorten_line(_caption(thing), _CHARACTERS)
    return Text.assemble(indent, (plain(caption), "bold"), plain(f"  {shorten_line(_facts(thing), 5 * _CHARACTERS)}"))


def _tie_lines(neighbourhood: Neighbourhood, ties: Iterable[Tie]) -> Iterator[Text]:
    """Yield one line for each source of ties of one kind, with all its targets. Each relation has its own line."""
    things = neighbourhood.things
    several = sum(isinstance(thing, DocumentRecord) for thing in things.values()) > 1

    def name(thing_id: str) -> str:
        thing = things[thing_id]
        if isinstance(thing, (Segment, InformationPoint)):
            document = things.get(thing.document_id) if several else None
            owner = f"{document.key} " if isinstance(document, DocumentRecord) else ""
            return f"{owner}{_place(thing).split(' · ')[0]}"
        return shorten_line(thing.key if isinstance(thing, DocumentRecord) else _caption(thing), _CHARACTERS)

    targets: dict[str, list[str]] = {}
    for tie in ties:
        if tie.kind == "RELATES_TO":
            yield Text(
                plain(f"    {name(tie.source_id)} — {name(tie.target_id)}  {shorten_line(tie.text, _CHARACTERS)}")
            )
        else:
            targets.setdefault(tie.source_id, []).append(name(tie.target_id) + _weight(tie))
    for source_id, names in targets.items():
        yield Text(plain(f"    {name(source_id)} → {', '.join(names)}"))


def _weight(tie: Tie) -> str:
    if tie.kind in ("SUMMARIZES", "SIMILAR_TO"):
        return f" {tie.weight:.2f}"
    return f" × {tie.weight:.0f}" if tie.kind == "MENTIONS" and tie.weight > 1 else ""
