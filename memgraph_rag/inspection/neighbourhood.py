"""Returns the neighbourhood of a node: of a document, an entity, a kept question or an overview.

It knows the graph by its contract; it draws no picture. Invariants: a neighbourhood has a bounded number of nodes of
each kind at each level, and counts the nodes that are left out. Both ends of each tie are among its nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import Literal, TypeVar

from memgraph_rag.calls.validation import check_count, clean_text
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
    list_leaves,
    question_id,
)

AThing = TypeVar("AThing", bound=Thing)

Centre = DocumentRecord | Entity | Question | Overview
"""A node that can be the centre of a neighbourhood."""

Kind = Literal["document", "entity", "question", "overview"]

KINDS: tuple[Kind, ...] = ("document", "question", "entity", "overview")
"""The kinds of centres, in the order in which a name is tried."""

_MOST_CHARACTERS = 400_000
"""The most text next to a picture; a page with more text is slow to open."""

_LISTED = 8  # names in a message
_MOST_WORDS = 8  # words of the request in which shorter names are searched for
_NEAR = 200  # entities with which a misspelt name is compared
_BEGINNINGS = (3, 2)  # first characters of a name that count as spelt correctly


def look(graph: GraphView, centre: Centre, *, most: int) -> Neighbourhood:
    """Return the neighbourhood of a node, with at most ``most`` nodes of each kind at each level.

    An entity has up to twice as many segments (``most`` by mentions, ``most`` by relations), and three times as many
    documents. A question may have ``most`` cited segments in addition. The passages have at most 400,000 characters.
    """
    if isinstance(centre, DocumentRecord):
        return _document(graph, centre, most)
    if isinstance(centre, Overview):
        return _overview(graph, centre, most)
    return _entity(graph, centre, most) if isinstance(centre, Entity) else _question(graph, centre, most)


# ── by name ──────────────────────────────────────────────────────────────────────────────────────────────────


def look_around(graph: GraphView, name: str, *, kind: Kind | None, most: int) -> Neighbourhood:
    """Return the neighbourhood of the document, question, entity or overview with a name; see ``Memory.around``.

    Raises:
        DocumentNotFound: nothing has this name, or several entities have it as a part. The message lists similar names,
            or the entities.
        SettingsError: the kind does not exist, the name is not a str, or ``most`` is below 1 or above 1,000,000.
    """
    if kind is not None and kind not in KINDS:
        raise SettingsError(f"Expected kind out of {KINDS}, got {show(kind)}. Pass one of them.", kind=kind)
    check_count("most", most)
    if not isinstance(name, str):
        raise SettingsError(f"Expected a name as a str, got {type(name).__name__}. Pass its text.", name=name)
    return look(graph, find(graph, clean_text(name), kind=kind), most=most)


def find(graph: GraphView, name: str, *, kind: Kind | None = None) -> Centre:
    """Return the document with a key, the question with a text, the entity with a name, or any of them with an id.

    A title or the name of a layer also finds an overview: of several, the overview of the most documents. The kinds are
    tried in the order of ``KINDS``. At last, a part of a name finds an entity if no other entity has the same part.

    Raises:
        DocumentNotFound: nothing has this name, or several entities have it as a part. The message lists similar names,
            or the entities.
    """
    for candidate_kind in KINDS if kind is None else (kind,):
        if candidate_kind == "document":
            thing: Centre | None = graph.document(name)
        elif candidate_kind == "question":
            thing = next(iter(graph.questions([question_id(graph.namespace, name.strip()), name])), None)
        elif candidate_kind == "overview":
            thing = _find_widest(graph, name)
        else:
            thing = next(iter(graph.entities([name, entity_id(graph.namespace, normalise(name))])), None)
        if thing is not None:
            return thing
    normal = normalise(name)
    with_part = graph.find_names(normal, k=_LISTED + 1) if normal and kind in (None, "entity") else []
    if len(with_part) == 1:
        return with_part[0]
    raise _make_not_found_error(graph, name, with_part)


def _find_widest(graph: GraphView, name: str) -> Overview | None:
    """Return the overview with an id; or of the overviews of a layer, or with a title, that of the most documents."""
    normal = normalise(name)
    by_id = [node for node in graph.nodes([name]) if isinstance(node, Overview)]
    candidates = (
        by_id
        or graph.overviews(name)
        or [item for item in chain.from_iterable(all_overviews(graph)) if normalise(item.title) == normal]
    )
    return max(candidates, key=lambda item: (len(item.documents), item.level), default=None)


def _make_not_found_error(graph: GraphView, name: str, with_part: Sequence[Entity]) -> DocumentNotFound:
    if with_part:
        more = " and more" if len(with_part) > _LISTED else ""
        advice = (
            f"Several names contain it: {_quote_names(entity.name for entity in with_part[:_LISTED])}{more}. "
            "Name one of them."
        )
        near = [entity.name for entity in with_part]
    else:
        near = _similar_names(graph, name)
        advice = (
            f"Similar names: {_quote_names(near)}."
            if near
            else "'memgraph-rag documents' and 'memgraph-rag questions' list the names."
        )
    return DocumentNotFound(
        f"Expected the key or id of a document, the name of an entity, the text of a kept question, or an id, in "
        f"namespace {show(graph.namespace)}, got {show(name)}. {advice}",
        key=name,
        near=near,
    )


def _similar_names(graph: GraphView, name: str) -> list[str]:
    """Return entity names that are a part of a name, then keys, questions and entity names with a similar spelling."""
    normal = normalise(name)
    entities = [entity for length in _BEGINNINGS if normal for entity in graph.find_names(normal[:length], k=_NEAR)]
    texts = [record.key for record in graph.documents()] + [question.text for question in graph.questions()]
    known = {normalise(text) or text: text for text in texts} | {entity.normal: entity.name for entity in entities}
    alike = [known[entity] for entity in get_close_matches(normal or name, known, n=_LISTED)]
    return list(dict.fromkeys([*(entity.name for entity in _find_contained_entities(graph, normal)), *alike]))[:_LISTED]


def _find_contained_entities(graph: GraphView, normal: str) -> list[Entity]:
    """Return the entities whose whole name is a part of a name, longest first: "McGregor" for "Mr. McGregor"."""
    words = normal.split()[:_MOST_WORDS]
    runs = {" ".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, len(words) + 1)}
    entities = graph.entities([entity_id(graph.namespace, run) for run in sorted(runs)])
    return sorted(entities, key=lambda entity: (-len(entity.normal), entity.normal))


def _quote_names(names: Iterable[str]) -> str:
    return ", ".join(map(show, names))


# ── neighbourhoods by kind ───────────────────────────────────────────────────────────────────────────────────


class _Collector:
    """Collects the nodes and ties of a neighbourhood."""

    def __init__(self, centre: Thing) -> None:
        self._centre = centre
        self._things: dict[str, Thing] = {centre.id: centre}
        self._ties: dict[Tie, None] = {}
        self._left_out: Counter[str] = Counter()

    def add(self, kind: str, things: Sequence[AThing], most: int, *, total: int | None = None) -> list[AThing]:
        """Add the first ``most`` nodes and return them; count the others as left out.

        Args:
            total: the number of all nodes, if ``things`` holds only a part of them.
        """
        self.leave_out(kind, (len(things) if total is None else total) - len(things[:most]))
        self._things.update((thing.id, thing) for thing in things[:most])
        return list(things[:most])

    def leave_out(self, kind: str, number: int) -> None:
        """Count nodes of a kind that the neighbourhood does not show."""
        if number > 0:
            self._left_out[kind] += number

    def tie(self, ties: Iterable[Tie]) -> None:
        """Add the ties whose two ends are both in the neighbourhood."""
        self._ties.update(
            (tie, None) for tie in ties if tie.source_id in self._things and tie.target_id in self._things
        )

    def finish(self, passages: Sequence[Segment], mentions: Iterable[Mention] = ()) -> Neighbourhood:
        """Return the neighbourhood, with the first passages of at most 400,000 characters in all and their mentions."""
        shown = _fit_to_page(passages)
        self.leave_out("passages", len(passages) - len(shown))
        ids = {segment.id for segment in shown}
        here = tuple(mention for mention in mentions if mention.segment_id in ids)
        return Neighbourhood(self._centre, self._things, tuple(self._ties), shown, here, dict(self._left_out))


def _fit_to_page(passages: Sequence[Segment]) -> tuple[Segment, ...]:
    """Return the first passages that have at most 400,000 characters in all."""
    left, shown = _MOST_CHARACTERS, []
    for segment in passages:
        left -= len(segment.text)
        if left < 0:
            break
        shown.append(segment)
    return tuple(shown)


def _document(graph: GraphView, record: DocumentRecord, most: int) -> Neighbourhood:
    """Return a document's segments, points from the top down, entities, relations, annotations and sections."""
    collector = _Collector(record)
    segments, mentions = graph.list_segments(record.id), graph.mentions(record.id)
    collector.add("segments", segments, most)
    ties = [
        *_summaries(graph, record, collector, "points", most),
        *_summaries(graph, record, collector, "clusters", most),
    ]
    named = Counter(mention.entity_id for mention in mentions)
    titled = graph.titles(record.id)
    in_order = list(dict.fromkeys([*(item.entity_id for item in titled), *(item for item, _ in named.most_common())]))
    collector.add("entities", graph.entities(in_order[:most]), most, total=len(in_order))
    relations = graph.list_relations(record.id)
    annotations = graph.annotations(record.id)
    collector.add("annotations", annotations, most)
    ties += [Tie("ANNOTATES", item.id, segment_id) for item in annotations for segment_id in item.segment_ids]
    sections = graph.sections(record.id)
    collector.add("sections", sections, most)
    ties += [Tie("CONTAINS", item.parent_id, item.id) for item in sections if item.parent_id]
    ties += [Tie("CONTAINS", leaf.section_id, leaf.segment_id) for leaf in list_leaves(sections, segments)]
    ties += [Tie("HAS_SEGMENT", record.id, segment.id) for segment in segments]
    ties += [Tie("TITLED", record.id, item.entity_id, text=item.surface) for item in titled]
    ties += _mention_ties(mentions)
    ties += [Tie("RELATES_TO", item.source_id, item.target_id, text=item.description) for item in relations[:most]]
    collector.leave_out("relations", len(relations) - most)
    collector.tie(ties)
    return collector.finish(segments, mentions)


def _summaries(
    graph: GraphView, record: DocumentRecord, collector: _Collector, layer: PointLayer, most: int
) -> Iterator[Tie]:
    """Add the points of one layer from the top down, and yield the ties to the nodes that they summarise."""
    below: list[Node] = [node for node in graph.top_nodes([record.id], layer=layer) if node.level]
    while below:
        points = collector.add(layer, below, most)
        edges = graph.successors([point.id for point in points]) if points else []
        yield from (Tie("SUMMARIZES", edge.source_id, edge.target_id, edge.weight) for edge in edges)
        below = [node for node in graph.nodes(list(dict.fromkeys(edge.target_id for edge in edges))) if node.level]


def _overview(graph: GraphView, overview: Overview, most: int) -> Neighbourhood:
    """Return the nodes that an overview summarises, from the top down, and its documents and entities."""
    collector = _Collector(overview)
    segments: list[Segment] = []
    ties: list[Tie] = []
    above: list[Node] = [overview]
    while above:
        edges = graph.successors([node.id for node in above])
        below = graph.nodes(list(dict.fromkeys(edge.target_id for edge in edges)))
        segments += collector.add("segments", [node for node in below if isinstance(node, Segment)], most)
        above = [
            *collector.add("overviews", [node for node in below if isinstance(node, Overview)], most),
            *collector.add("points", [node for node in below if isinstance(node, InformationPoint)], most),
        ]
        ties += [Tie("SUMMARIZES", edge.source_id, edge.target_id, edge.weight) for edge in edges]
    collector.add("documents", graph.documents(overview.documents[:most]), most, total=len(overview.documents))
    collector.add("entities", graph.entities(overview.entities[:most]), most, total=len(overview.entities))
    ties += [Tie("RESTS_ON", overview.id, document_id) for document_id in overview.documents]
    ties += [Tie("HAS_MEMBER", overview.id, entity) for entity in overview.entities]
    ties += [Tie("HAS_SEGMENT", segment.document_id, segment.id) for segment in segments]
    collector.tie(ties)
    return collector.finish(segments)


def _entity(graph: GraphView, entity: Entity, most: int) -> Neighbourhood:
    """Return an entity's relations, near-synonyms, segments that mention it, and documents with it in their title."""
    collector = _Collector(entity)
    counts = graph.entity_counts(entity.id)
    titled = graph.list_titled_documents(entity.id, k=most)
    collector.leave_out("titles", counts.get("TITLED", 0) - len(titled))
    mentions = graph.list_entity_mentions(entity.id, k=most)
    collector.leave_out("mentions", counts.get("MENTIONS", 0) - len(mentions))
    relations = graph.list_entity_relations(entity.id, k=most)
    collector.leave_out("relations", counts.get("RELATES_TO", 0) - len(relations))
    similar = sorted(graph.list_similar([entity.id]), key=lambda pair: (-pair.score, pair.source_id, pair.target_id))
    others = [end for item in relations for end in (item.source_id, item.target_id)]
    near = [end for pair in similar for end in (pair.source_id, pair.target_id)]
    collector.add("near-synonyms", _other_entities(graph, near, entity), most)
    collector.add("entities", _other_entities(graph, others, entity), most)
    in_order = list(dict.fromkeys([*(item.segment_id for item in mentions), *(item.segment_id for item in relations)]))
    segments = [node for node in graph.nodes(in_order) if isinstance(node, Segment)]
    collector.add("segments", segments, 2 * most)
    owners = [*(item for item, _ in titled), *(segment.document_id for segment in segments)]
    documents = graph.documents(list(dict.fromkeys(owners)))
    collector.add("documents", documents, 3 * most)
    collector.tie(Tie("TITLED", item, entity.id, text=surface) for item, surface in titled)
    collector.tie(Tie("RELATES_TO", item.source_id, item.target_id, text=item.description) for item in relations)
    collector.tie(Tie("SIMILAR_TO", pair.source_id, pair.target_id, pair.score) for pair in similar)
    collector.tie(Tie("HAS_SEGMENT", segment.document_id, segment.id) for segment in segments)
    collector.tie(_mention_ties(mentions))
    return collector.finish(sorted(segments, key=lambda item: (item.document_id, item.index)), mentions)


def _question(graph: GraphView, question: Question, most: int) -> Neighbourhood:
    """Return the nodes that were read for a question and still exist, their ties, citations and documents."""
    collector = _Collector(question)
    trace = question.answer.trace
    read: dict[str, Node] = {step.node.id: step.node for step in trace}
    cited = graph.nodes(list(dict.fromkeys(citation.segment_id for citation in question.standing_citations)))[:most]
    cited_ids = {node.id for node in cited}
    shown = [node for place, node in enumerate(read.values()) if place < most or node.id in cited_ids]
    collector.add("nodes read", shown, len(shown), total=len(read))
    collector.add("segments cited", cited, most)
    passages = [node for node in {node.id: node for node in [*shown, *cited]}.values() if isinstance(node, Segment)]
    documents = list(dict.fromkeys(node.document_id for node in [*read.values(), *cited]))
    collector.add("documents", graph.documents(documents), most)
    points = [node.id for node in shown if not isinstance(node, Segment)]
    edges = graph.successors(points) if points else []
    collector.tie(
        Tie("READ", question.id, step.node.id, step.score, order=place) for place, step in enumerate(trace, 1)
    )
    collector.tie(Tie("SUMMARIZES", edge.source_id, edge.target_id, edge.weight) for edge in edges)
    collector.tie(Tie("HAS_SEGMENT", segment.document_id, segment.id) for segment in passages)
    return collector.finish(passages)


def _other_entities(graph: GraphView, entity_ids: Iterable[str], entity: Entity) -> list[Entity]:
    return graph.entities([entity_id for entity_id in dict.fromkeys(entity_ids) if entity_id != entity.id])


def _mention_ties(mentions: Iterable[Mention]) -> list[Tie]:
    """Return one tie for each pair of a segment and an entity, with the number of its mentions as the weight."""
    surfaces: dict[tuple[str, str], list[str]] = {}
    for mention in mentions:
        surfaces.setdefault((mention.segment_id, mention.entity_id), []).append(mention.surface)
    return [
        Tie("MENTIONS", segment, entity, float(len(written)), written[0])
        for (segment, entity), written in surfaces.items()
    ]
