"""The reads that both engines answer alike, over one function that runs a named statement.

It knows no engine: ``_run`` is abstract, and has the namespace bound already. The invariant: equal calls on an equal
graph give equal lists, whatever the engine.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from memgraph_rag.stores.base_store import BaseStore
from memgraph_rag.stores.shared import overview_rows, question_rows, relation_rows, rows
from memgraph_rag.stores.shared.graph_reads import (
    annotations_in,
    counts_of,
    layer_annotations,
    mentions_in,
    nodes,
    nowhere,
    numbers,
    relations_in,
    score,
    sections_in,
    titles_in,
    within,
)
from memgraph_rag.types import (
    Annotation,
    DocumentRecord,
    Entity,
    Fingerprint,
    Hit,
    Mention,
    Node,
    Overview,
    PointLayer,
    Question,
    Relation,
    Section,
    Segment,
    Similar,
    Summarizes,
    Title,
    Vector,
)

__all__ = ["StoredGraph"]

_TOP_POINTS: dict[PointLayer, str] = {"points": "read/list_top_points", "clusters": "read/list_root_summaries"}

_MOST_MATCHES = 1_000  # documents with one of some texts: a text may be stored under any number of keys


class StoredGraph(BaseStore):
    """The reads that a store of one namespace answers by statements alone; the engine is in ``_run``."""

    def __init__(self, namespace: str, *, read_only: bool = False) -> None:
        self._namespace = namespace
        self._read_only = read_only
        self._bound = rows.bound_parameters(namespace)

    @abstractmethod
    def _run(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        """Run the statement of that name; the namespace is bound already."""

    @property
    def namespace(self) -> str:
        """The namespace that this store is bound to."""
        return self._namespace

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written by this store."""
        return self._read_only

    def documents(self, ids: Sequence[str] | None = None) -> list[DocumentRecord]:
        """All documents, or those of these ids that exist; by key."""
        if ids is None:
            return [rows.decode_document(row) for row in self._run("read/list_documents")]
        wanted = list(dict.fromkeys(ids))
        document_rows = self._run("read/find_documents", document_ids=wanted) if wanted else []
        return [rows.decode_document(row) for row in document_rows]

    def documents_after(self, key: str, *, k: int) -> list[DocumentRecord]:
        """The first k documents whose keys stand behind this one, by key."""
        return [rows.decode_document(row) for row in self._run("read/list_documents_after", after=key, k=k)]

    def named_documents(self, names: Sequence[str]) -> list[DocumentRecord | None]:
        """For each name the document with that id, or else that key; None where there is none."""
        document_rows = self._run("read/find_named_documents", names=list(dict.fromkeys(names))) if names else []
        records = [rows.decode_document(row) for row in document_rows]
        by_key = {record.key: record for record in records}
        by_id = {record.id: record for record in records}
        return [by_id.get(name) or by_key.get(name) for name in names]

    def matching_fingerprints(
        self, *, sources: Sequence[str] = (), text_hashes: Sequence[str] = ()
    ) -> list[Fingerprint]:
        """Those of the documents that were read from one of these files, or have one of these texts; by key."""
        files, texts = sorted({*sources} - {""}), sorted({*text_hashes} - {""})
        if not files and not texts:
            return []
        rows_found = self._run("read/match_fingerprints", sources=files, text_hashes=texts, k=_MOST_MATCHES)
        return sorted(
            {Fingerprint(**row) for row in rows_found},
            key=lambda fingerprint: (fingerprint.key, fingerprint.document_id),
        )

    def nodes(self, node_ids: Sequence[str]) -> list[Node]:
        """The nodes of these ids that exist, in the order of ``node_ids``."""
        return nodes(self._run, node_ids)

    def segments_of(self, document_id: str) -> list[Segment]:
        """All segments of a document, by index."""
        return self.segments_in([document_id])[document_id]

    def segments_in(self, document_ids: Sequence[str]) -> dict[str, list[Segment]]:
        """For each of these documents its segments, by index."""
        segments: dict[str, list[Segment]] = {document_id: [] for document_id in document_ids}
        for row in self._run("read/list_segments", document_ids=list(segments)) if segments else ():
            segments[row["document_id"]].append(rows.decode_segment(row))
        return segments

    def top_nodes(self, document_ids: Sequence[str], *, layer: PointLayer = "points") -> list[Node]:
        """The top of one layer in each document, in the order given, the highest level first, by index."""
        wanted = list(dict.fromkeys(document_ids))
        if not wanted:
            return []
        top_rows = self._run(_TOP_POINTS[layer], document_ids=wanted)
        tops = _by_document(map(rows.decode_point, top_rows))
        flat = [document_id for document_id in wanted if document_id not in tops]
        if flat:
            segments = map(rows.decode_segment, self._run("read/list_segments", document_ids=flat))
            tops |= _by_document(segment for segment in segments if not segment.echo)
        return list(chain.from_iterable(tops.get(document_id, ()) for document_id in wanted))

    def successors(self, node_ids: Sequence[str]) -> list[Summarizes]:
        """The SUMMARIZES edges that leave these points and overviews, by (source, weight falling, target)."""
        wanted = list(dict.fromkeys(node_ids))
        edge_rows = self._run("read/list_successors", node_ids=wanted) if wanted else []
        others = sorted({*wanted} - {row["source_id"] for row in edge_rows})
        edge_rows += self._run("read/list_summarized", node_ids=others) if others else []
        edges = map(rows.decode_summarizes, edge_rows)
        return sorted(edges, key=lambda edge: (edge.source_id, -edge.weight, edge.target_id))

    def similarities(self, vector: Vector, *, documents: Sequence[str], layer: PointLayer = "points") -> list[Hit]:
        """The exact cosine of every segment of these documents and every point of one layer, best first."""
        segments = score(self._run, vector, documents=documents)
        scored_points = score(self._run, vector, documents=documents, statement="read/score_points", layer=layer)
        points = [replace(hit, kind="point") for hit in scored_points]
        return sorted(segments + points, key=lambda hit: (-hit.score, hit.node_id))

    def entities(self, entity_ids: Sequence[str]) -> list[Entity]:
        """The entities of these ids that exist, in the order of ``entity_ids``."""
        wanted = list(dict.fromkeys(entity_ids))
        entity_rows = self._run("read/find_entities", entity_ids=wanted) if wanted else []
        known = {row["id"]: rows.decode_entity(row) for row in entity_rows}
        return [known[entity_id] for entity_id in entity_ids if entity_id in known]

    def segments_naming(
        self, entity_ids: Sequence[str], *, vector: Vector, k: int, documents: Sequence[str] | None = None
    ) -> list[Hit]:
        """The k segments of the largest cosine among those that mention one of these entities; ties by id."""
        query = numbers(vector)
        if not entity_ids or k < 1 or nowhere(documents):
            return []
        wanted = list(dict.fromkeys(entity_ids))
        return rows.decode_hits(self._scored_naming(wanted, vector=query, k=k, **within(documents)))

    def _scored_naming(self, entity_ids: Sequence[str], **asked: Any) -> list[dict[str, Any]]:
        return self._run("read/score_naming", entity_ids=entity_ids, **asked)

    def entities_of(self, segment_ids: Sequence[str]) -> dict[str, list[str]]:
        """For each of these segments that exists, the ids of the entities that it mentions, sorted, each once."""
        wanted = list(dict.fromkeys(segment_ids))
        mentioned: dict[str, list[str]] = {}
        for row in self._run("read/list_entities_of", segment_ids=wanted) if wanted else []:
            named = mentioned.setdefault(row["segment_id"], [])
            if row["entity_id"]:
                named.append(row["entity_id"])
        return {segment_id: sorted(mentioned[segment_id]) for segment_id in wanted if segment_id in mentioned}

    def named_by(self, entity_ids: Sequence[str]) -> list[int]:
        """How many segments mention each of these entities."""
        wanted = list(dict.fromkeys(entity_ids))
        numbers = {row["id"]: row["segments"] for row in self._run("read/count_naming", entity_ids=wanted)}
        return [numbers.get(entity_id, 0) for entity_id in entity_ids]

    def times_of(self, segment_ids: Sequence[str]) -> dict[str, str]:
        """For each of these segments that exists its own time, else when its document was added."""
        wanted = list(dict.fromkeys(segment_ids))
        return {row["id"]: row["time"] for row in self._run("read/list_segment_times", segment_ids=wanted)}

    def first_segment_ids(self, *, k: int) -> list[str]:
        """The k smallest ids of segments."""
        return [row["id"] for row in self._run("read/list_first_segments", k=k)]

    def similar(self, entity_ids: Sequence[str]) -> list[Similar]:
        """The SIMILAR_TO edges at these entities, by (source, target)."""
        wanted = list(dict.fromkeys(entity_ids))
        return relation_rows.decode_similar(self._run("read/list_similar", entity_ids=wanted) if wanted else [])

    def relations_of(self, document_id: str) -> list[Relation]:
        """All relations that a document states, by id."""
        return relations_in(self._run, [document_id])[document_id]

    def names_with(self, part: str, *, k: int) -> list[Entity]:
        """The k entities of the shortest normalised names that hold these characters; ties by code point."""
        return [rows.decode_entity(row) for row in self._run("read/find_names", part=part, k=k)]

    def mentions_in(self, document_ids: Sequence[str]) -> dict[str, list[Mention]]:
        """For each of these documents its mentions, by place."""
        return mentions_in(self._run, document_ids) if document_ids else {}

    def titles(self, document_id: str) -> list[Title]:
        """What a document's title names, by entity."""
        return titles_in(self._run, [document_id])[document_id]

    def mentions_of(self, entity_id: str, *, k: int) -> list[Mention]:
        """The first k mentions of an entity, by document and place."""
        return [rows.decode_mention(row) for row in self._run("read/list_naming", entity_id=entity_id, k=k)]

    def titled(self, entity_id: str, *, k: int) -> list[tuple[str, str]]:
        """(document id, surface) of the first k documents whose titles name an entity, by key."""
        title_rows = self._run("read/list_titled", entity_id=entity_id, k=k)
        return [(row["document_id"], row["surface"]) for row in title_rows]

    def relations_at(self, entity_id: str, *, k: int) -> list[Relation]:
        """The first k relations of an entity, by id."""
        relations = map(relation_rows.decode_relation, self._run("read/list_relations_at", entity_id=entity_id, k=k))
        return sorted(relations, key=lambda relation: relation.id)[:k]

    def entity_counts(self, entity_id: str) -> Mapping[str, int]:
        """How many edges of each kind an entity has, but for SIMILAR_TO; empty where there is none."""
        written = self._run("read/find_surfaces", entity_ids=[entity_id])
        related = self._run("read/count_relations", entity_ids=[entity_id]) if written else []
        return rows.edge_counts(written, related)

    def questions(self, ids: Sequence[str] | None = None) -> list[Question]:
        """All kept questions, or those of these ids that exist; the newest first."""
        listed = self._run("read/list_questions") if ids is None else self._question_rows(list(dict.fromkeys(ids)))
        questions = self._decode_questions(listed)
        decoded = {question.id for question in questions}
        missed = [row["id"] for row in listed if row["id"] not in decoded]
        if missed:  # something that they read went while they were read: they are gone, stale, or damaged
            questions += self._decode_questions(self._question_rows(missed))
        places = {row["id"]: place for place, row in enumerate(listed)}
        return sorted(questions, key=lambda question: places[question.id])

    def question_times(self) -> Mapping[str, str]:
        """The ids of all kept questions, each with the time when it was asked."""
        return {row["id"]: row["asked_at"] for row in self._run("read/list_question_times")}

    def _question_rows(self, question_ids: Sequence[str]) -> list[dict[str, Any]]:
        return self._run("read/find_questions", question_ids=question_ids) if question_ids else []

    def _decode_questions(self, listed: Sequence[Mapping[str, Any]]) -> list[Question]:
        question_ids = [row["id"] for row in listed]
        reads = self._run("read/list_reads", question_ids=question_ids) if question_ids else []
        read = {node.id: node for node in self.nodes(list(dict.fromkeys(row["node_id"] for row in reads)))}
        return list(question_rows.decode_questions(listed, reads, read))

    def annotations(self, document_id: str) -> list[Annotation]:
        """What layers of users' own say of a document, by layer and index."""
        return annotations_in(self._run, [document_id])[document_id]

    def sections_in(self, document_ids: Sequence[str]) -> dict[str, list[Section]]:
        """For each of these documents its outline, by index."""
        return sections_in(self._run, document_ids) if document_ids else {}

    def overview_ids(self) -> list[str]:
        """The ids of all overviews, the lowest level first, then by layer and key."""
        return [row["id"] for row in self._run("read/list_overview_ids")]

    def overviews(self, layer: str, *, documents: Sequence[str] | None = None) -> list[Overview]:
        """All overviews of a layer; with documents, those that rest on no others."""
        listed = self._run("read/list_overviews", layer=layer)
        overviews = map(overview_rows.decode_overview, listed)
        if documents is None:
            return list(overviews)
        allowed = frozenset(documents)
        return [overview for overview in overviews if allowed.issuperset(overview.documents)]

    def layer_annotations(self, layer: str, *, since: int = -1) -> list[Annotation]:
        """What a layer says of segments, of documents that were written after a version."""
        return layer_annotations(self._run, layer, since)

    def written_documents(self, *, since: int = -1) -> list[DocumentRecord]:
        """All documents that were written after a version, by key."""
        return [rows.decode_document(row) for row in self._run("read/list_written_documents", since=since)]

    def recognizer(self) -> str:
        """The recognizer that found the entities of this namespace; empty where it holds none."""
        return next((row["recognizer"] for row in self._run("read/find_recognizer")), "")

    def version(self) -> int:
        """How many writes the namespace has seen."""
        return next((row["version"] for row in self._run("read/find_namespace_version")), 0)

    def namespaces(self) -> list[str]:
        """All namespaces of the store."""
        return [row["namespace"] for row in self._run("read/list_namespaces")]

    def document_ids(self) -> list[str]:
        """The ids of all documents, sorted."""
        return [row["id"] for row in self._run("read/list_document_ids")]

    def count_documents(self) -> int:
        """How many documents there are."""
        return self._run("read/count_documents")[0]["count"]

    def counts_of(self, document_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        """For each of these, nodes and edges by label and by relationship type; empty where there is none."""
        return counts_of(self._run, document_ids)

    def statistics(self) -> Mapping[str, int]:
        """Counts of the namespace by label and by relationship type."""
        return dict.fromkeys(rows.COUNTED, 0) | rows.counts(self._run("read/count_namespace"))


def _by_document(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    grouped: dict[str, list[Node]] = {}
    for node in nodes:
        grouped.setdefault(node.document_id, []).append(node)
    return grouped
