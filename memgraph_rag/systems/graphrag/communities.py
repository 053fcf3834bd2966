"""The layer ``communities``: GraphRAG's hierarchy of communities of entities, with a report on each community.

Where the memory has summaries of extracted elements, communities are those of the extracted entities. Otherwise they
are those of the entities that segments name: the released code's fast variant.

It turns the graph into overviews and does not write to the store itself. Invariants: a community is based on all
documents of its segments and elements; each finding of a report is supported by its spans; a report whose key is
stored is not written again, so a second call writes nothing.

Source: GraphRAG (arXiv 2404.16130), section 3.1. Where the released code differs from the paper, this layer follows the
paper: all components have communities, not only the largest; if the elements under a community do not fit the model's
window, reports of its largest sub-communities replace their elements (section 3.1.5).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal, TypeVar

from memgraph_rag.contracts import LanguageModel, MemoryGraph, Models, Progress
from memgraph_rag.errors import WindowExceeded
from memgraph_rag.layers.batches import find_language
from memgraph_rag.systems.graphrag.community_reports import (
    FORM_TOKENS,
    Report,
    extract_report,
    read_report,
    report_prompt,
    report_schema,
)
from memgraph_rag.systems.graphrag.community_sources import Source, Sources
from memgraph_rag.systems.graphrag.community_statements import Statements, read_segments
from memgraph_rag.systems.graphrag.community_tree import CommunityTree, grow_tree, make_key
from memgraph_rag.systems.graphrag.element_statements import ElementStatements, SummarizedElements
from memgraph_rag.systems.graphrag.element_summaries import ELEMENT_SUMMARIES
from memgraph_rag.systems.graphrag.element_table import gather
from memgraph_rag.systems.graphrag.elements import ELEMENTS
from memgraph_rag.systems.graphrag.entity_graph import MOST_NAMED, EntityGraph
from memgraph_rag.systems.graphrag.hierarchical_leiden import require_leiden
from memgraph_rag.types import (
    Overview,
    OverviewRows,
    Segment,
    Summarizes,
    Usage,
    overview_id,
)

COMMUNITIES = "communities"
"""The layer's name."""

NO_PAIRS = f"no two entities are named together in a segment that names at most {MOST_NAMED}"
"""The note of a receipt if the memory has no communities."""

NO_SUMMARY = "element whose summary is missing or outdated: deepen the layer element_summaries, too"
"""The note of a receipt if element_summaries is not up to date."""

_VERSION = 1  # of the way reports are made; part of their keys
_MADE_AT_ONCE = 1000  # reports that one transaction writes
_WRITTEN_AT_ONCE = 16  # the same for reports by a model: an interruption loses at most so many
_READ_AT_ONCE = 10_000  # nodes and entities that one query fetches

_Item = TypeVar("_Item")


@dataclass(slots=True)
class _Work:
    """The state of one call of ``build``. A community is known by its place in ``tree.communities``.

    Attributes:
        namespace: the namespace, for ids of overviews.
        texts: the hash of each segment's text, by segment id.
        documents: the document ids of each segment and each summary of an element, by its id.
        elements: the summarised elements, where there are any.
        keys: the key of each community, by place.
        overviews: the overviews that exist so far, by place.
    """

    graph: EntityGraph
    tree: CommunityTree
    namespace: str
    texts: Mapping[str, str]
    documents: Mapping[str, Sequence[str]]
    models: Models
    language: LanguageModel | None
    elements: SummarizedElements | None = None
    keys: list[str] = field(default_factory=list[str])
    overviews: dict[int, Overview] = field(default_factory=dict[int, Overview])


class CommunitiesLayer:
    """The layer that finds communities of entities and writes a report on each.

    Args:
        most_members: a community of more entities is divided, if Leiden finds a division.
        source_tokens: most tokens of the statements for one report. The model's window is a further limit. Released:
            8,000.
        report_tokens: most tokens of a report. Released: 2,000 words.
        most_findings: most findings of a report. Released: 5 to 10.
        with_model: whether the model, if there is one, writes the reports. Otherwise they consist of sentences.
        use_lcc: whether only the largest connected component has communities. Released: True; paper: False.

    Raises:
        SettingsError: graspologic-native is not installed.
    """

    name = COMMUNITIES
    spans_documents: Literal[True] = True
    needs_language = False  # it uses one
    requires: Sequence[str] = ("entities",)

    def __init__(
        self,
        *,
        most_members: int = 10,
        source_tokens: int = 3000,
        report_tokens: int = 400,
        most_findings: int = 5,
        with_model: bool = True,
        use_lcc: bool = False,
    ) -> None:
        require_leiden()
        self._most_members = most_members
        self._source_tokens = source_tokens
        self._report_tokens = report_tokens
        self._most_findings = most_findings
        self._use_lcc = use_lcc
        self._with_model = with_model

    def build(self, graph: MemoryGraph, *, models: Models, progress: Progress | None = None) -> Iterator[OverviewRows]:
        """Yield the missing overviews, lower levels first, and remove outdated ones; see ``MemoryLayer.build``.

        All communities are found anew; a report whose inputs are the same stays.
        """
        work = self._begin(graph, models)
        known = {overview.key: overview for overview in graph.overviews(self.name)}
        work.overviews = {place: known[key] for place, key in enumerate(work.keys) if key in known}
        notes = {NO_PAIRS: not work.keys, NO_SUMMARY: work.elements.outdated if work.elements is not None else 0}
        if any(notes.values()):
            yield OverviewRows(notes=dict(+Counter(notes)))
        removed = tuple(sorted(known[key].id for key in known.keys() - set(work.keys)))
        if removed:
            yield OverviewRows(removed=removed)
        lacking = [place for place in range(len(work.keys)) if place not in work.overviews]
        if lacking:
            yield from self._write(work, self._statements(graph, work, lacking), lacking, progress)

    def _begin(self, graph: MemoryGraph, models: Models) -> _Work:
        if summaries := graph.overviews(ELEMENT_SUMMARIES):
            return self._begin_with_elements(graph, summaries, models)
        segments = [segment for segment in graph.list_indexed_segments(since=-1) if not segment.echo]
        entity_ids = sorted({entity_id for segment in segments for entity_id in segment.entities})
        entities = [entity for part in _parts(entity_ids) for entity in graph.entities(part)]
        of_entities = self._component(EntityGraph.from_names(entities, segments))
        tree = grow_tree(of_entities, segments, most_members=self._most_members)
        texts = {segment.id: sha256(segment.text.encode("utf-8", "surrogatepass")).hexdigest() for segment in segments}
        documents = {segment.id: (segment.document_id,) for segment in segments}
        language = find_language(models) if self._with_model else None
        return _add_keys(_Work(of_entities, tree, graph.namespace, texts, documents, models, language))

    def _begin_with_elements(self, graph: MemoryGraph, summaries: Sequence[Overview], models: Models) -> _Work:
        keys = {record.id: record.key for record in graph.documents()}
        elements = SummarizedElements.make(gather(graph.layer_annotations(ELEMENTS), keys), summaries)
        of_entities = self._component(elements.graph)
        tree = grow_tree(of_entities, relations=elements.relations, most_members=self._most_members)
        documents = {key: overview.documents for key, overview in elements.overviews.items()}
        language = find_language(models) if self._with_model else None
        return _add_keys(_Work(of_entities, tree, graph.namespace, {}, documents, models, language, elements))

    def _component(self, graph: EntityGraph) -> EntityGraph:
        return graph.largest_component() if self._use_lcc else graph

    def _statements(self, graph: MemoryGraph, work: _Work, lacking: Sequence[int]) -> Statements | ElementStatements:
        """Return the statements for the reports that are missing."""
        room = self._source_tokens
        if work.language is not None:
            room = max(1, min(room, work.language.window - self._report_tokens - FORM_TOKENS))
        names = [entity.normal for entity in work.graph.entities]
        sources = Sources(_read_segments(graph, work, lacking), names, work.graph.degrees.tolist())
        if work.elements is not None:
            return ElementStatements(work.elements, work.graph, work.tree, sources, room)
        counter = work.language or work.models.embedder
        return Statements(work.graph, work.tree, sources, counter.count_tokens, room)

    def _write(
        self,
        work: _Work,
        statements: Statements | ElementStatements,
        lacking: Sequence[int],
        progress: Progress | None,
    ) -> Iterator[OverviewRows]:
        """Yield the rows of the missing communities, lower levels first. A part has communities of one level only."""
        size = _MADE_AT_ONCE if work.language is None else _WRITTEN_AT_ONCE
        levels: dict[int, list[int]] = {}
        for place in lacking:
            levels.setdefault(work.tree.communities[place].level, []).append(place)
        done = 0
        for level in sorted(levels):
            for part in _parts(levels[level], size):
                yield self._rows(work, statements, part)
                done += len(part)
                if progress is not None:
                    progress("reporting on communities", done, len(lacking))

    def _rows(self, work: _Work, statements: Statements | ElementStatements, places: Sequence[int]) -> OverviewRows:
        """Return the overviews of these communities, which must be of one level, and their edges."""
        notes: Counter[str] = Counter()
        shown = {place: statements.list_sources(place, work.overviews) for place in places}
        reports, usage = self._reports(work, statements.sources, shown, notes)
        texts = [f"{report.title}: {report.text}" for report in reports]
        counts = (work.language or work.models.embedder).count_tokens(texts)
        edges: list[Summarizes] = []
        for place, report, tokens in zip(places, reports, counts, strict=True):
            below = _weigh_parts(work, place)
            total = sum(below.values())
            overview = _overview(work, place, report, tokens)
            edges += [Summarizes(overview.id, target, weight / total) for target, weight in below.items()]
            work.overviews[place] = overview
        return OverviewRows(
            tuple(work.overviews[place] for place in places), tuple(edges), notes=dict(+notes), usage=usage
        )

    def _reports(
        self, work: _Work, sources: Sources, shown: Mapping[int, Sequence[Source]], notes: Counter[str]
    ) -> tuple[list[Report], Usage]:
        """Return a report on each community, made from its shown sources, and the usage of the model."""
        names = {place: _names(work, place) for place in shown}
        made = [extract_report(names[place], shown[place], len(_documents(work, place))) for place in shown]
        if work.language is None:
            notes["report made of sentences"] += len(made)
            return made, Usage()
        prompts = [report_prompt(names[place], shown[place], self._most_findings) for place in shown]
        usage = Usage()
        reports: list[Report] = []
        try:
            generations = work.language.generate(
                prompts, max_tokens=self._report_tokens, schema=report_schema(self._most_findings)
            )
        except WindowExceeded:
            notes["report made of sentences: the model's window is too small"] += len(made)
            return made, usage
        for place, of_sentences, generation in zip(shown, made, generations, strict=True):
            usage += generation.usage
            report, odd = read_report(generation.text, names[place], shown[place], sources, self._most_findings)
            notes.update(odd)
            notes["report made of sentences: the model wrote none that holds"] += report is None
            reports.append(report or of_sentences)
        return reports, usage


def _parts(items: Sequence[_Item], size: int = _READ_AT_ONCE) -> Iterator[Sequence[_Item]]:
    for at in range(0, len(items), size):
        yield items[at : at + size]


def _add_keys(work: _Work) -> _Work:
    """Add the keys of all communities, those of children before their parents'."""
    for place in range(len(work.tree.communities)):
        work.keys.append(_key(work, place))
    return work


def _key(work: _Work, place: int) -> str:
    """Return the key of a report: a hash of all its inputs. The keys of the communities below must exist already."""
    community = work.tree.communities[place]
    stated = [relation.description for relation in work.tree.relations.get(place, ())]
    if work.elements is not None:
        members = [work.graph.entities[member].id for member in community.members]
        claims = [claim for member in members for claim in work.elements.claims.get(member, ())]
        stated += [item.key for item in (*(work.elements.overviews[member] for member in members), *claims)]
    return make_key(
        _VERSION,
        work.language.name if work.language is not None else "",
        [work.graph.entities[member].normal for member in community.members],
        sorted(work.keys[child] for child in community.children),
        sorted(work.texts[segment_id] for segment_id in work.tree.segments.get(place, ())),
        sorted(stated),
    )


def _read_segments(graph: MemoryGraph, work: _Work, lacking: Sequence[int]) -> dict[str, Segment]:
    """Read the segments that the missing reports are based on, and return them by id."""
    wanted: dict[str, None] = {}
    if work.elements is not None:
        items = work.elements.overviews.values()
        wanted |= dict.fromkeys(span.segment_id for item in items for span in item.findings[0].spans)
    for place in lacking:
        wanted |= dict.fromkeys(read_segments(work.graph, work.tree, place))
        for child in work.tree.communities[place].children:
            if child in work.overviews:
                findings = work.overviews[child].findings
                wanted |= dict.fromkeys(span.segment_id for finding in findings for span in finding.spans)
    nodes = (node for part in _parts(list(wanted)) for node in graph.nodes(part))
    return {node.id: node for node in nodes if isinstance(node, Segment)}


def _names(work: _Work, place: int) -> list[str]:
    """Return the names of a community's members, highest degree first."""
    members = sorted(work.tree.communities[place].members, key=lambda member: -int(work.graph.degrees[member]))
    return [work.graph.entities[member].name for member in members]


def _weigh_parts(work: _Work, place: int) -> dict[str, float]:
    """Return the weights of the nodes below a community, by id: communities weigh their number of members, others 1.

    The others are segments, or the summaries of elements.
    """
    community = work.tree.communities[place]
    below = {work.overviews[child].id: float(len(work.tree.communities[child].members)) for child in community.children}
    if work.elements is not None:
        members = () if community.children else (work.graph.entities[member].id for member in community.members)
        relations = (relation.id for relation in work.tree.relations.get(place, ()))
        return below | dict.fromkeys([*members, *relations], 1.0)
    segments = work.tree.segments.get(place, ()) if not community.children else ()
    return below | dict.fromkeys(segments, 1.0)


def _documents(work: _Work, place: int) -> tuple[str, ...]:
    """Return the ids of all documents that a community is based on, sorted."""
    children = work.tree.communities[place].children
    documents = {document_id for child in children for document_id in work.overviews[child].documents}
    documents.update(*(work.documents[node_id] for node_id in _weigh_parts(work, place) if node_id in work.documents))
    return tuple(sorted(documents))


def _entity_ids(work: _Work, members: Sequence[int]) -> set[str]:
    """Return the ids of the members in the graph: extracted entities that no segment mentions have none."""
    ids = {work.graph.entities[member].id for member in members}
    if work.elements is None:
        return ids
    return {entity for key in ids for entity in work.elements.overviews[key].entities}


def _overview(work: _Work, place: int, report: Report, tokens: int) -> Overview:
    community, key = work.tree.communities[place], work.keys[place]
    return Overview(
        id=overview_id(work.namespace, COMMUNITIES, key),
        layer=COMMUNITIES,
        key=key,
        level=community.level + (work.elements is not None),  # summaries of elements have level 1
        title=report.title,
        text=report.text,
        tokens=tokens,
        documents=_documents(work, place),
        entities=tuple(sorted(_entity_ids(work, community.members))),
        findings=report.findings,
        rating=report.rating,
    )
