"""What surrounds one thing in the graph: a document, an entity, a kept question, an overview.

It knows the graph by its contract; it draws nothing. Invariants: whatever is looked at, what comes is bounded by
``most`` of each kind, and says how many more there are; both ends of each tie are among the things.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import Literal, TypeVar

from memgraph_rag.calls.validation import check_count, readable
from memgraph_rag.contracts import GraphView
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentNotFound, SettingsError
from memgraph_rag.ingestion.all_overviews import all_overviews
from memgraph_rag.lexical.names import normalise
from memgraph_rag.types import (
    DocumentRecord,
    Entity,
    InformationPoint,
    Mention,
    Neighbourhood,
    Node,
    Overview,
    PointLayer,
    Question,
    Segment,
    Thing,
    Tie,
    entity_id,
    leaves_of,
    question_id,
)

__all__ = ["KINDS", "Centre", "Kind", "around", "find", "look"]

AThing = TypeVar("AThing", bound=Thing)

Centre = DocumentRecord | Entity | Question | Overview
"""What can be looked at."""

Kind = Literal["document", "entity", "question", "overview"]

KINDS: tuple[Kind, ...] = ("document", "question", "entity", "overview")
"""What can be looked at, in the order in which a name is looked for."""

_MOST_CHARACTERS = 400_000
"""Of the text beside a picture; a page of more is slow to open."""

_LISTED = 8
_MOST_WORDS = 8  # of a name that is looked for within what was asked
_NEAR = 200  # entities that a misspelt name is compared with
_BEGINNINGS = (3, 2)  # characters that are taken to be spelt right


def look(graph: GraphView, centre: Centre, *, most: int) -> Neighbourhood:
    """What surrounds a thing, at most ``most`` of each kind."""
    if isinstance(centre, DocumentRecord):
        return _document(graph, centre, most)
    if isinstance(centre, Overview):
        return _overview(graph, centre, most)
    return _entity(graph, centre, most) if isinstance(centre, Entity) else _question(graph, centre, most)


# ── by name ──────────────────────────────────────────────────────────────────────────────────────────────────


def around(graph: GraphView, name: str, *, kind: Kind | None, most: int) -> Neighbourhood:
    """What surrounds the document, question, entity or overview of that name; see ``Memory.around``.

    Raises:
        DocumentNotFound: nothing of that name; the message says what is near, or lists the several that it may be.
        SettingsError: no such kind, no name, or ``most`` below 1 or above 1,000,000.
    """
    if kind is not None and kind not in KINDS:
        raise SettingsError(f"Expected kind out of {KINDS}, got {show(kind)}.", kind=kind)
    check_count("most", most)
    if not isinstance(name, str):
        raise SettingsError(f"Expected a name as a str, got {type(name).__name__}.", name=name)
    return look(graph, find(graph, readable(name), kind=kind), most=most)


def find(graph: GraphView, name: str, *, kind: Kind | None = None) -> Centre:
    """The document of that key, the question of that text, the entity of that name, or any by its id.

    An overview is found by its title too, and the widest one by the name of its layer. An entity is found by a part of
    its name, where it is the only one with that part.

    Raises:
        DocumentNotFound: nothing has that name; the message lists similar names, or the candidates where there are
                several.
    """
    for wanted_kind in KINDS if kind is None else (kind,):
        if wanted_kind == "document":
            thing: Centre | None = graph.document(name)
        elif wanted_kind == "question":
            thing = next(iter(graph.questions([question_id(graph.namespace, name.strip()), name])), None)
        elif wanted_kind == "overview":
            thing = _widest(graph, name)
        else:
            thing = next(iter(graph.entities([name, entity_id(graph.namespace, normalise(name))])), None)
        if thing is not None:
            return thing
    normal = normalise(name)
    with_part = graph.names_with(normal, k=_LISTED + 1) if normal and kind in (None, "entity") else []
    if len(with_part) == 1:
        return with_part[0]
    raise _not_found(graph, name, with_part)


def _widest(graph: GraphView, name: str) -> Overview | None:
    """The overview of that id; of those of that title, or of the layer of that name, the one over most documents."""
    normal = normalise(name)
    by_id = [node for node in graph.nodes([name]) if isinstance(node, Overview)]
    named = (
        by_id
        or graph.overviews(name)
        or [item for item in chain.from_iterable(all_overviews(graph)) if normalise(item.title) == normal]
    )
    return max(named, key=lambda item: (len(item.documents), item.level), default=None)


def _not_found(graph: GraphView, name: str, with_part: Sequence[Entity]) -> DocumentNotFound:
    if with_part:
        more = " and more" if len(with_part) > _LISTED else ""
        advice = (
            f"Several names hold it: {_quoted(entity.name for entity in with_part[:_LISTED])}{more}. Name one of them."
        )
        near = [entity.name for entity in with_part]
    else:
        near = _near(graph, name)
        advice = f"Near to it: {_quoted(near)}." if near else "'memgraph-rag documents' and 'questions' list what is."
    return DocumentNotFound(
        f"Expected the key or id of a document, the name of an entity, the text of a kept question, or an id, in "
        f"namespace {show(graph.namespace)}, got {show(name)}. {advice}",
        key=name,
        near=near,
    )


def _near(graph: GraphView, name: str) -> list[str]:
    """Names that stand in it; keys, questions and names that are spelt nearly so."""
    normal = normalise(name)
    entities = [entity for length in _BEGINNINGS if normal for entity in graph.names_with(normal[:length], k=_NEAR)]
    texts = [record.key for record in graph.documents()] + [question.text for question in graph.questions()]
    known = {normalise(text) or text: text for text in texts} | {entity.normal: entity.name for entity in entities}
    alike = [known[entity] for entity in get_close_matches(normal or name, known, n=_LISTED)]
    return list(dict.fromkeys([*(entity.name for entity in _within(graph, normal)), *alike]))[:_LISTED]


def _within(graph: GraphView, normal: str) -> list[Entity]:
    """The entities whose whole names stand in this one, the longest first: "McGregor" in "Mr. McGregor"."""
    words = normal.split()[:_MOST_WORDS]
    runs = {" ".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, len(words) + 1)}
    entities = graph.entities([entity_id(graph.namespace, run) for run in sorted(runs)])
    return sorted(entities, key=lambda entity: (-len(entity.normal), entity.normal))


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(show, names))


# ── what surrounds it ────────────────────────────────────────────────────────────────────────────────────────


class _Drawn:
    """A neighbourhood in the making."""

    def __init__(self, centre: Thing) -> None:
        self._centre = centre
        self._things: dict[str, Thing] = {centre.id: centre}
        self._ties: dict[Tie, None] = {}
        self._left_out: Counter[str] = Counter()

    def some(self, kind: str, things: Sequence[AThing], most: int, *, total: int | None = None) -> list[AThing]:
        """The first of these; how many there are beyond is left out."""
        self.leave_out(kind, (len(things) if total is None else total) - len(things[:most]))
        self._things.update((thing.id, thing) for thing in things[:most])
        return list(things[:most])

    def leave_out(self, kind: str, number: int) -> None:
        """There are so many more."""
        if number > 0:
            self._left_out[kind] += number

    def tie(self, ties: Iterable[Tie]) -> None:
        """The ties whose two ends are both in this neighbourhood."""
        self._ties.update(
            (tie, None) for tie in ties if tie.source_id in self._things and tie.target_id in self._things
        )

    def done(self, passages: Sequence[Segment], mentions: Iterable[Mention] = ()) -> Neighbourhood:
        shown = _fitting(passages)
        self.leave_out("passages", len(passages) - len(shown))
        ids = {segment.id for segment in shown}
        here = tuple(mention for mention in mentions if mention.segment_id in ids)
        return Neighbourhood(self._centre, self._things, tuple(self._ties), shown, here, dict(self._left_out))


def _fitting(passages: Sequence[Segment]) -> tuple[Segment, ...]:
    """The first passages of which all characters together are no more than a page takes."""
    left, shown = _MOST_CHARACTERS, []
    for segment in passages:
        left -= len(segment.text)
        if left < 0:
            break
        shown.append(segment)
    return tuple(shown)


def _document(graph: GraphView, record: DocumentRecord, most: int) -> Neighbourhood:
    """Its points from the top down, segments, sections, what these name and state, and what layers say of them."""
    drawn = _Drawn(record)
    segments, mentions = graph.segments_of(record.id), graph.mentions(record.id)
    drawn.some("segments", segments, most)
    ties = [*_summaries(graph, record, drawn, "points", most), *_summaries(graph, record, drawn, "clusters", most)]
    named = Counter(mention.entity_id for mention in mentions)
    titled = graph.titles(record.id)
    in_order = list(dict.fromkeys([*(item.entity_id for item in titled), *(item for item, _ in named.most_common())]))
    drawn.some("entities", graph.entities(in_order[:most]), most, total=len(in_order))
    relations = graph.relations_of(record.id)
    annotations = graph.annotations(record.id)
    drawn.some("annotations", annotations, most)
    ties += [Tie("ANNOTATES", item.id, segment_id) for item in annotations for segment_id in item.segment_ids]
    sections = graph.sections(record.id)
    drawn.some("sections", sections, most)
    ties += [Tie("CONTAINS", item.parent_id, item.id) for item in sections if item.parent_id]
    ties += [Tie("CONTAINS", leaf.section_id, leaf.segment_id) for leaf in leaves_of(sections, segments)]
    ties += [Tie("HAS_SEGMENT", record.id, segment.id) for segment in segments]
    ties += [Tie("TITLED", record.id, item.entity_id, text=item.surface) for item in titled]
    ties += _mentioned(mentions)
    ties += [Tie("RELATES_TO", item.source_id, item.target_id, text=item.description) for item in relations[:most]]
    drawn.leave_out("relations", len(relations) - most)
    drawn.tie(ties)
    return drawn.done(segments, mentions)


def _summaries(graph: GraphView, record: DocumentRecord, drawn: _Drawn, layer: PointLayer, most: int) -> Iterator[Tie]:
    """Draw the points of one layer from the top down; the edges to what they sum up."""
    below: list[Node] = [node for node in graph.top_nodes([record.id], layer=layer) if node.level]
    while below:
        points = drawn.some(layer, below, most)
        edges = graph.successors([point.id for point in points]) if points else []
        yield from (Tie("SUMMARIZES", edge.source_id, edge.target_id, edge.weight) for edge in edges)
        below = [node for node in graph.nodes(list(dict.fromkeys(edge.target_id for edge in edges))) if node.level]


def _overview(graph: GraphView, overview: Overview, most: int) -> Neighbourhood:
    """All that it sums up from the top down, the documents on which it rests, and what it is about."""
    drawn = _Drawn(overview)
    segments: list[Segment] = []
    ties: list[Tie] = []
    above: list[Node] = [overview]
    while above:
        edges = graph.successors([node.id for node in above])
        below = graph.nodes(list(dict.fromkeys(edge.target_id for edge in edges)))
        segments += drawn.some("segments", [node for node in below if isinstance(node, Segment)], most)
        above = [
            *drawn.some("overviews", [node for node in below if isinstance(node, Overview)], most),
            *drawn.some("points", [node for node in below if isinstance(node, InformationPoint)], most),
        ]
        ties += [Tie("SUMMARIZES", edge.source_id, edge.target_id, edge.weight) for edge in edges]
    drawn.some("documents", graph.documents(overview.documents[:most]), most, total=len(overview.documents))
    drawn.some("entities", graph.entities(overview.entities[:most]), most, total=len(overview.entities))
    ties += [Tie("RESTS_ON", overview.id, document_id) for document_id in overview.documents]
    ties += [Tie("HAS_MEMBER", overview.id, entity) for entity in overview.entities]
    ties += [Tie("HAS_SEGMENT", segment.document_id, segment.id) for segment in segments]
    drawn.tie(ties)
    return drawn.done(segments)


def _entity(graph: GraphView, entity: Entity, most: int) -> Neighbourhood:
    """What it is related to, near-synonyms, documents named after it, and the segments that mention it with theirs."""
    drawn = _Drawn(entity)
    counts = graph.entity_counts(entity.id)
    titled = graph.titled(entity.id, k=most)
    drawn.leave_out("titles", counts.get("TITLED", 0) - len(titled))
    mentions = graph.mentions_of(entity.id, k=most)
    drawn.leave_out("mentions", counts.get("MENTIONS", 0) - len(mentions))
    relations = graph.relations_at(entity.id, k=most)
    drawn.leave_out("relations", counts.get("RELATES_TO", 0) - len(relations))
    similar = sorted(graph.similar([entity.id]), key=lambda pair: (-pair.score, pair.source_id, pair.target_id))
    others = [end for item in relations for end in (item.source_id, item.target_id)]
    near = [end for pair in similar for end in (pair.source_id, pair.target_id)]
    drawn.some("near-synonyms", _others(graph, near, entity), most)
    drawn.some("entities", _others(graph, others, entity), most)
    in_order = list(dict.fromkeys([*(item.segment_id for item in mentions), *(item.segment_id for item in relations)]))
    segments = [node for node in graph.nodes(in_order) if isinstance(node, Segment)]
    drawn.some("segments", segments, 2 * most)
    owners = [*(item for item, _ in titled), *(segment.document_id for segment in segments)]
    documents = graph.documents(list(dict.fromkeys(owners)))
    drawn.some("documents", documents, 3 * most)
    drawn.tie(Tie("TITLED", item, entity.id, text=surface) for item, surface in titled)
    drawn.tie(Tie("RELATES_TO", item.source_id, item.target_id, text=item.description) for item in relations)
    drawn.tie(Tie("SIMILAR_TO", pair.source_id, pair.target_id, pair.score) for pair in similar)
    drawn.tie(Tie("HAS_SEGMENT", segment.document_id, segment.id) for segment in segments)
    drawn.tie(_mentioned(mentions))
    return drawn.done(sorted(segments, key=lambda item: (item.document_id, item.index)), mentions)


def _question(graph: GraphView, question: Question, most: int) -> Neighbourhood:
    """What was read for it and is still there, in order, how that hangs together, and the documents that it lies in."""
    drawn = _Drawn(question)
    trace = question.answer.trace
    read: dict[str, Node] = {step.node.id: step.node for step in trace}
    cited = graph.nodes(list(dict.fromkeys(citation.segment_id for citation in question.standing_citations)))[:most]
    cited_ids = {node.id for node in cited}
    shown = [node for place, node in enumerate(read.values()) if place < most or node.id in cited_ids]
    drawn.some("nodes read", shown, len(shown), total=len(read))
    drawn.some("segments cited", cited, most)
    passages = [node for node in {node.id: node for node in [*shown, *cited]}.values() if isinstance(node, Segment)]
    documents = list(dict.fromkeys(node.document_id for node in [*read.values(), *cited]))
    drawn.some("documents", graph.documents(documents), most)
    points = [node.id for node in shown if not isinstance(node, Segment)]
    edges = graph.successors(points) if points else []
    drawn.tie(Tie("READ", question.id, step.node.id, step.score, order=place) for place, step in enumerate(trace, 1))
    drawn.tie(Tie("SUMMARIZES", edge.source_id, edge.target_id, edge.weight) for edge in edges)
    drawn.tie(Tie("HAS_SEGMENT", segment.document_id, segment.id) for segment in passages)
    return drawn.done(passages)


def _others(graph: GraphView, entity_ids: Iterable[str], entity: Entity) -> list[Entity]:
    return graph.entities([entity_id for entity_id in dict.fromkeys(entity_ids) if entity_id != entity.id])


def _mentioned(mentions: Iterable[Mention]) -> list[Tie]:
    """One tie for each segment and entity."""
    surfaces: dict[tuple[str, str], list[str]] = {}
    for mention in mentions:
        surfaces.setdefault((mention.segment_id, mention.entity_id), []).append(mention.surface)
    return [
        Tie("MENTIONS", segment, entity, float(len(written)), written[0])
        for (segment, entity), written in surfaces.items()
    ]
