"""The base class of stores: it implements the members of the store's contract that do not need a certain database.

The module knows no engine. A store implements the abstract members of ``contracts.GraphStore``. Every other member has
a default here, which calls the abstract ones; an engine overrides it if it has a faster way. Invariant: a default
returns exactly what ``memgraph_rag.testing.store_suite`` requires of every store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from typing_extensions import override

from memgraph_rag.contracts import GraphStore
from memgraph_rag.display import show
from memgraph_rag.errors import StoreError
from memgraph_rag.stores.shared.document_reader import count_graph_rows, iterate_graphs
from memgraph_rag.stores.shared.linked_segments import TITLE_WEIGHT, entity_masses, select_linked_hits
from memgraph_rag.stores.shared.rows import COUNTED, Row
from memgraph_rag.types import (
    Annotation,
    CosineScale,
    DocumentGraph,
    DocumentRecord,
    Entity,
    Fingerprint,
    Flaws,
    Hit,
    IndexedSegment,
    Mention,
    Naming,
    Overview,
    Receipt,
    Relation,
    Section,
    Segment,
    Title,
    Vector,
    text_hash,
)

_REEMBED = "Export its documents, and import them into a new store with the other embedder."


class BaseStore(GraphStore):
    """A store with defaults for all members of the contract that are not abstract."""

    name_scale: Callable[[], CosineScale] = CosineScale

    # ── documents and their parts ────────────────────────────────────────────────────────────────────────

    @override
    def document(self, id_or_key: str) -> DocumentRecord | None:
        return self.find_documents([id_or_key])[0]

    @override
    def find_documents(self, names: Sequence[str]) -> list[DocumentRecord | None]:
        by_id = {record.id: record for record in self.documents(names)}
        by_key = {} if by_id.keys() >= {*names} else {record.key: record for record in self.documents()}
        return [by_id.get(name) or by_key.get(name) for name in names]

    @override
    def list_documents_after(self, key: str, *, k: int, part: str = "") -> list[DocumentRecord]:
        return [record for record in self.documents() if record.key > key and record.is_named_with(part)][:k]

    @override
    def document_ids(self) -> list[str]:
        return sorted(record.id for record in self.documents())

    @override
    def count_documents(self) -> int:
        return len(self.documents())

    @override
    def recognizer(self) -> str:
        return next((record.recognizer for record in self.documents() if record.recognizer), "")

    @override
    def find_fingerprints(
        self, *, sources: Sequence[str] = (), text_hashes: Sequence[str] = (), document_ids: Sequence[str] = ()
    ) -> list[Fingerprint]:
        files, hashes, ids = {*sources} - {""}, {*text_hashes} - {""}, {*document_ids}
        records = self.documents() if files or hashes else self.documents(sorted(ids))
        segments = self.list_segments_by_document([record.id for record in records])
        texts = {document_id: "".join(segment.text for segment in listed) for document_id, listed in segments.items()}
        stored = [Fingerprint(item.id, item.key, item.source, text_hash(texts[item.id])) for item in records]
        return [
            item for item in stored if item.source in files or item.text_sha256 in hashes or item.document_id in ids
        ]

    @override
    def list_segments_by_document(self, document_ids: Sequence[str]) -> Mapping[str, list[Segment]]:
        return {document_id: self.list_segments(document_id) for document_id in document_ids}

    @override
    def sections(self, document_id: str) -> list[Section]:
        return self.list_sections_by_document([document_id])[document_id]

    @override
    def list_sections_by_document(self, document_ids: Sequence[str]) -> Mapping[str, list[Section]]:
        stored = {graph.document.id: list(graph.sections) for graph in self.read_graphs(document_ids)}
        return {document_id: stored.get(document_id, []) for document_id in document_ids}

    @override
    def mentions(self, document_id: str) -> list[Mention]:
        return self.list_mentions_by_document([document_id])[document_id]

    @override
    def list_mentions_by_document(self, document_ids: Sequence[str]) -> Mapping[str, list[Mention]]:
        stored = {graph.document.id: sorted(graph.mentions, key=_place) for graph in self.read_graphs(document_ids)}
        return {document_id: stored.get(document_id, []) for document_id in document_ids}

    @override
    def titles(self, document_id: str) -> list[Title]:
        titles = [title for graph in self.read_graphs([document_id]) for title in graph.titles]
        return sorted(titles, key=lambda title: title.entity_id)

    @override
    def list_relations(self, document_id: str) -> list[Relation]:
        relations = [relation for graph in self.read_graphs([document_id]) for relation in graph.relations]
        return sorted(relations, key=lambda relation: relation.id)

    @override
    def annotations(self, document_id: str) -> list[Annotation]:
        annotations = [item for graph in self.read_graphs([document_id]) for item in graph.annotations]
        return sorted(annotations, key=lambda item: (item.layer, item.index))

    @override
    def layer_annotations(self, layer: str, *, since: int = -1) -> list[Annotation]:
        written = [item for graph in self._read_written(since) for item in graph.annotations]
        of_layer = [item for item in written if item.layer == layer and item.segment_ids]
        return sorted(of_layer, key=lambda item: (item.document_id, item.index))

    @override
    def overviews(self, layer: str, *, documents: Sequence[str] | None = None) -> list[Overview]:
        stored = [node for node in self.nodes(self.overview_ids()) if isinstance(node, Overview)]
        of_layer = [overview for overview in stored if overview.layer == layer]
        if documents is not None:
            of_layer = [overview for overview in of_layer if {*overview.documents} <= {*documents}]
        return sorted(of_layer, key=lambda overview: (-overview.level, overview.key))

    # ── entities ─────────────────────────────────────────────────────────────────────────────────────────

    @override
    def segments_naming(
        self, entity_ids: Sequence[str], *, vector: Vector, k: int, documents: Sequence[str] | None = None
    ) -> list[Hit]:
        within = self.document_ids() if documents is None else documents
        hits = [hit for hit in self.similarities(vector, documents=within) if hit.kind == "segment"]
        named = self.list_mentioned_entities([hit.node_id for hit in hits])
        return [hit for hit in hits if not {*entity_ids}.isdisjoint(named.get(hit.node_id, ()))][: max(k, 0)]

    @override
    def find_names(self, part: str, *, k: int) -> list[Entity]:
        named = {item.entity_id for graph in self._read_all() for item in _list_names(graph) if part in item.normal}
        entities = self.entities(sorted(named))
        return sorted(entities, key=lambda entity: (len(entity.normal), entity.normal, entity.id))[:k]

    @override
    def list_entity_mentions(self, entity_id: str, *, k: int) -> list[Mention]:
        mentions = (mention for graph in self._read_all() for mention in sorted(graph.mentions, key=_place))
        return [mention for mention in mentions if mention.entity_id == entity_id][:k]

    @override
    def list_titled_documents(self, entity_id: str, *, k: int) -> list[tuple[str, str]]:
        graphs = sorted(self._read_all(), key=lambda graph: graph.document.key)
        titles = [(graph.document.id, title) for graph in graphs for title in graph.titles]
        return [(document_id, title.surface) for document_id, title in titles if title.entity_id == entity_id][:k]

    @override
    def list_entity_relations(self, entity_id: str, *, k: int) -> list[Relation]:
        relations = [item for graph in self._read_all() for item in graph.relations]
        at_entity = [item for item in relations if entity_id in (item.source_id, item.target_id)]
        return sorted(at_entity, key=lambda relation: relation.id)[:k]

    @override
    def document_keys(self, head: str = "") -> dict[str, str]:
        records = sorted(self.documents(), key=lambda record: record.id)
        return {record.id: record.key for record in records if record.key.startswith(head)}

    @override
    def namings(self) -> list[Naming]:
        counted = Counter(
            (graph.document.id, named.entity_id) for graph in self._read_all() for named in _list_names(graph)
        )
        names = {entity.id: entity.name for entity in self.entities(sorted({entity_id for _, entity_id in counted}))}
        return [Naming(*ends, names[ends[1]], number) for ends, number in counted.items()]

    @override
    def entity_counts(self, entity_id: str) -> Mapping[str, int]:
        counted: Counter[str] = Counter()
        for graph in self._read_all():
            counted["MENTIONS"] += sum(mention.entity_id == entity_id for mention in graph.mentions)
            counted["TITLED"] += sum(title.entity_id == entity_id for title in graph.titles)
            counted["RELATES_TO"] += sum(entity_id in (item.source_id, item.target_id) for item in graph.relations)
        return +counted

    # ── what a search reads ──────────────────────────────────────────────────────────────────────────────

    @override
    def list_indexed_segments(self, *, since: int) -> list[IndexedSegment]:
        return [segment for graph in self._read_written(since) for segment in _index(graph)]

    @override
    def find_kept_index(self) -> Path | None:
        return None

    @override
    def keep_index(self, write: Callable[[Path], None], *, version: int, nbytes: int) -> None:
        """Keep no index file: this store has no place for it."""

    @override
    def segments_around(self, segment_ids: Sequence[str]) -> list[IndexedSegment]:
        segments = [node for node in self.nodes(segment_ids) if isinstance(node, Segment)]
        wanted = {(segment.document_id, segment.index) for segment in segments}
        return [
            replace(segment, siblings=len(graph.segments))
            for graph in self.read_graphs(sorted({document_id for document_id, _ in wanted}))
            for segment in _index(graph)
            if any((segment.document_id, segment.index + step) in wanted for step in (-1, 0, 1))
        ]

    @override
    def find_linked_segments(
        self,
        masses: Mapping[str, float],
        *,
        entity_ids: Sequence[str] = (),
        title_ids: Sequence[str] = (),
        entity_mass: float = 0.0,
        k: int,
        documents: Sequence[str] | None = None,
    ) -> list[Hit]:
        from_masses: list[Row] = []
        to_segments: list[Row] = []
        titled: set[str] = set()
        for segment in (segment for graph in self._read_all() for segment in _index(graph) if not segment.speaker):
            edges = _list_edges(segment)
            titled.update(segment.titles)
            if segment.id in masses:
                from_masses += edges
            if not segment.echo and (documents is None or segment.document_id in documents):
                to_segments += edges
        named = {*entity_ids, *titled.intersection(title_ids)}
        on_entities = entity_masses(from_masses, masses)
        reached = (edge for edge in to_segments if edge["entity_id"] in on_entities or edge["entity_id"] in named)
        return select_linked_hits(reached, on_entities, named=sorted(named), entity_mass=entity_mass, k=k)

    @override
    def count_naming_segments(self, entity_ids: Sequence[str]) -> list[int]:
        pairs = {(mention.segment_id, mention.entity_id) for graph in self._read_all() for mention in graph.mentions}
        numbers = Counter(entity_id for _, entity_id in pairs)
        return [numbers[entity_id] for entity_id in entity_ids]

    @override
    def list_segment_times(self, segment_ids: Sequence[str]) -> dict[str, str]:
        segments = [node for node in self.nodes(segment_ids) if isinstance(node, Segment)]
        records = self.documents([segment.document_id for segment in segments])
        added = {record.id: record.added_at for record in records}
        return {item.id: item.time or added[item.document_id] for item in segments if item.document_id in added}

    @override
    def first_segment_ids(self, *, k: int) -> list[str]:
        listed = self.list_segments_by_document(self.document_ids()).values()
        return sorted(segment.id for segments in listed for segment in segments if not segment.echo)[:k]

    # ── counts ───────────────────────────────────────────────────────────────────────────────────────────

    @override
    def count_by_document(self, document_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        stored = {graph.document.id: count_graph_rows(graph) for graph in self.read_graphs(document_ids)}
        return {document_id: stored.get(document_id, {}) for document_id in document_ids}

    @override
    def statistics(self) -> Mapping[str, int]:
        counted = Counter(dict.fromkeys(COUNTED, 0))
        entities: set[str] = set()
        ends: set[str] = set()
        for graph in self._read_all():
            counted.update(count_graph_rows(graph))
            entities |= {item.entity_id for item in _list_names(graph)}
            ends |= {*graph.ends}
        counted.update({"Entity": len(entities), "SIMILAR_TO": len(self.list_similar(sorted(ends)))})
        for question in self.questions():
            counted.update({"Question": 1, "READ": len(question.answer.trace)})
        for node in self.nodes(self.overview_ids()):
            if isinstance(node, Overview):
                counted.update({"Overview": 1, "RESTS_ON": len(node.documents), "HAS_MEMBER": len(node.entities)})
        return dict(counted)

    @override
    def question_times(self) -> Mapping[str, str]:
        return {question.id: question.asked_at for question in self.questions()}

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────

    @override
    def write(self, graph: DocumentGraph) -> Receipt:
        return self.write_many([graph])[0]

    @override
    def extend(self, graph: DocumentGraph, *, layers: Collection[str]) -> Receipt:
        return self.extend_many([graph], layers=layers)[0]

    # ── upkeep ───────────────────────────────────────────────────────────────────────────────────────────

    @override
    def flaws(self) -> Flaws:
        """Return no flaws: the default cannot examine the database."""
        return Flaws()

    @override
    def mend(self, vectors: Mapping[str, Vector]) -> Flaws:
        """Change nothing, as ``flaws`` returns no flaws."""
        return self.flaws()

    @override
    def namespaces(self) -> list[str]:
        """Return the namespace of this store only. Only ``reembed`` needs all namespaces."""
        return [self.namespace]

    @override
    def bind_namespace(self, namespace: str) -> GraphStore:
        """Raise an error. ``Memory.reembed``, the only caller, then fails before it embeds any text."""
        raise _refusal(self, "can replace all embeddings", _REEMBED)

    @override
    def reembed(self, *, embedder: str, dimension: int, again: Callable[[DocumentGraph], DocumentGraph]) -> None:
        """Raise an error: only a database can replace all embeddings at one moment."""
        raise _refusal(self, "can replace all embeddings", _REEMBED)

    @override
    def purge(self) -> None:
        """Raise an error: only a database knows its files."""
        raise _refusal(self, "can purge its files", "Its database decides what its files keep: see docs/security.md.")

    @override
    def empty_database(self) -> str:
        """Raise an error: the files of a bulk import fit one kind of database only."""
        raise _refusal(self, "can be imported in bulk", "Import without --bulk.")

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────

    def _read_all(self) -> Iterator[DocumentGraph]:
        """Yield the graph of each document, by document id."""
        return iterate_graphs(self, self.document_ids())

    def _read_written(self, since: int) -> Iterator[DocumentGraph]:
        """Yield the graphs of the documents that were written after version ``since``, by document id."""
        return iterate_graphs(self, sorted(record.id for record in self.list_written_documents(since=since)))


def _refusal(store: GraphStore, capability: str, advice: str) -> StoreError:
    return StoreError(f"Expected a store that {capability}, got {show(store)}, which cannot. {advice}")


def _place(mention: Mention) -> tuple[int, int, str, str]:
    return mention.start, mention.end, mention.entity_id, mention.kind


def _list_names(graph: DocumentGraph) -> tuple[Mention | Title, ...]:
    """Return the mentions and titles of a document."""
    return (*graph.mentions, *graph.titles)


def _index(graph: DocumentGraph) -> list[IndexedSegment]:
    """Return the segments of a document as a search holds them in memory."""
    document = graph.document
    named: dict[str, set[str]] = {segment.id: set() for segment in graph.segments}
    for mention in graph.mentions:
        named[mention.segment_id].add(mention.entity_id)
    titles = tuple(sorted({title.entity_id for title in graph.titles}))
    return [
        IndexedSegment(
            id=segment.id,
            document_id=document.id,
            index=segment.index,
            title=document.title or document.key,
            text=segment.text,
            speaker=segment.speaker,
            time=segment.time or document.added_at,
            embedding=vector,
            entities=tuple(sorted(named[segment.id])),
            titles=titles,
            echo=segment.echo,
            language=document.language,
        )
        for segment, vector in zip(graph.segments, graph.segment_embeddings, strict=True)
    ]


def _list_edges(segment: IndexedSegment) -> list[Row]:
    """Return the edges from a segment to the entities that the segment or its document's title names."""
    weights = dict.fromkeys(segment.entities, 1.0) | dict.fromkeys(segment.titles, TITLE_WEIGHT)
    return [
        {"segment_id": segment.id, "entity_id": entity_id, "weight": weight} for entity_id, weight in weights.items()
    ]
