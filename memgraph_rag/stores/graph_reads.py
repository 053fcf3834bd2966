"""The reads that both engines answer alike, over one function that runs a named statement.

It knows no engine: ``run`` is given, and has the namespace bound already. The invariant: equal calls on an equal
graph give equal lists, whatever the engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from memgraph_rag.errors import StoreError
from memgraph_rag.stores import overview_rows, question_rows, relation_rows, rows
from memgraph_rag.types import (
    Annotation,
    DocumentRecord,
    Entity,
    Fingerprint,
    Hit,
    Mention,
    Neighbour,
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

__all__ = [
    "NO_LIMIT", "Run", "StoredGraph", "annotations_in", "counts_of", "mentions_in", "nodes", "nowhere", "numbers",
    "relations_in", "score", "sections_in", "titles_in", "within",
]  # fmt: skip

T = TypeVar("T")

NO_LIMIT = 2**31 - 1

_TOP_POINTS: dict[PointLayer, str] = {"points": "read/list_top_points", "clusters": "read/list_root_summaries"}

_MOST_MATCHES = 1_000  # documents with one of some texts: a text may be stored under any number of keys


class Run(Protocol):
    """Runs the statement of that name and gives its rows; the namespace is bound already."""

    def __call__(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        """Rows by column name, in the statement's order."""
        ...


class StoredGraph(ABC):
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

    def document(self, id_or_key: str) -> DocumentRecord | None:
        """The document with that id, or else that key; None where there is none."""
        return self.named_documents([id_or_key])[0]

    def named_documents(self, names: Sequence[str]) -> list[DocumentRecord | None]:
        """For each name the document with that id, or else that key; None where there is none."""
        document_rows = self._run("read/find_named_documents", names=list(dict.fromkeys(names))) if names else []
        records = [rows.decode_document(row) for row in document_rows]
        by_key = {record.key: record for record in records}
        by_id = {record.id: record for record in records}
        return [by_id.get(name) or by_key.get(name) for name in names]

    def fingerprints(self, ids: Sequence[str]) -> list[Fingerprint]:
        """The fingerprints of the documents of these ids that exist, by key."""
        wanted = list(dict.fromkeys(ids))
        return (
            [Fingerprint(**row) for row in self._run("read/find_fingerprints", document_ids=wanted)] if wanted else []
        )

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
        segments = _scored(self._run, "read/score_segments", vector, documents)
        scored_points = _scored(self._run, "read/score_points", vector, documents, layer=layer)
        points = [replace(hit, kind="point") for hit in scored_points]
        return sorted(segments + points, key=lambda hit: (-hit.score, hit.node_id))

    def entities(self, entity_ids: Sequence[str]) -> list[Entity]:
        """The entities of these ids that exist, in the order of ``entity_ids``."""
        wanted = list(dict.fromkeys(entity_ids))
        entity_rows = self._run("read/find_entities", entity_ids=wanted) if wanted else []
        known = {row["id"]: rows.decode_entity(row) for row in entity_rows}
        return [known[entity_id] for entity_id in entity_ids if entity_id in known]

    @abstractmethod
    def expand(
        self, entity_ids: Sequence[str], *, vector: Vector | None, k: int, documents: Sequence[str] | None = None
    ) -> list[Neighbour]:
        """The k relations at these entities and their near-synonyms that are nearest to the vector, or first by id."""

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

    def mentions(self, document_id: str) -> list[Mention]:
        """All mentions of a document, by place."""
        return self.mentions_in([document_id])[document_id]

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

    def sections(self, document_id: str) -> list[Section]:
        """The outline of a document, by index."""
        return self.sections_in([document_id])[document_id]

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

    def kept_index(self) -> Path | None:
        """None: no file lies beside the store."""
        return None

    def keep_index(  # noqa: B027 (some keep none)
        self, write: Callable[[Path], None], *, version: int, nbytes: int
    ) -> None:
        """Nothing: what a namespace holds stays where its server guards it."""

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


def numbers(vector: Vector) -> list[float]:
    """A query's vector as a parameter.

    Raises:
        StoreError: the vector is zero, so that nothing is near it; Neo4j would refuse it, Ladybug answer 0.
    """
    if not np.isfinite(vector).all() or not vector.any():
        raise StoreError(
            f"Expected a vector of finite numbers, not all 0, got one of shape {vector.shape} with norm "
            f"{float(np.linalg.norm(vector))}. Embed a text that says something."
        )
    return vector.tolist()


def within(documents: Sequence[str] | None) -> dict[str, Any]:
    """The parameters by which a statement keeps to some documents, or looks everywhere."""
    return {"everywhere": documents is None, "document_ids": list(documents or ())}


def nowhere(documents: Sequence[str] | None) -> bool:
    """Whether a reader asks for documents, but for none."""
    return documents is not None and not documents


def score(run: Run, vector: Vector, *, documents: Sequence[str], k: int = NO_LIMIT) -> list[Hit]:
    """The k segments of these documents with the largest cosine."""
    return _scored(run, "read/score_segments", vector, documents, k=k)


def nodes(run: Run, node_ids: Sequence[str]) -> list[Node]:
    """The nodes of these ids that exist, in the order of ``node_ids``."""
    wanted = list(dict.fromkeys(node_ids))
    segments = run("read/find_segments", node_ids=wanted) if wanted else []
    nodes_by_id: dict[str, Node] = {row["id"]: rows.decode_segment(row) for row in segments}
    missing = [node_id for node_id in wanted if node_id not in nodes_by_id]
    points = run("read/find_points", node_ids=missing) if missing else []
    nodes_by_id |= {row["id"]: rows.decode_point(row) for row in points}
    missing = [node_id for node_id in missing if node_id not in nodes_by_id]
    overviews = run("read/find_overviews", node_ids=missing) if missing else []
    nodes_by_id |= {row["id"]: overview_rows.decode_overview(row) for row in overviews}
    return [nodes_by_id[node_id] for node_id in node_ids if node_id in nodes_by_id]


def mentions_in(run: Run, document_ids: Sequence[str]) -> dict[str, list[Mention]]:
    """All mentions of each of these documents, by place."""
    mentions = _of_documents(run, "read/list_mentions", document_ids, rows.decode_mention)
    for listed in mentions.values():
        listed.sort(key=lambda mention: (mention.start, mention.end, mention.entity_id, mention.kind))
    return mentions


def titles_in(run: Run, document_ids: Sequence[str]) -> dict[str, list[Title]]:
    """What the title of each of these documents names, by entity."""
    return _of_documents(run, "read/list_titles", document_ids, lambda row: Title(**row))


def relations_in(run: Run, document_ids: Sequence[str]) -> dict[str, list[Relation]]:
    """All relations that each of these documents states, by id."""
    return _of_documents(run, "read/list_relations", document_ids, relation_rows.decode_relation)


def annotations_in(run: Run, document_ids: Sequence[str]) -> dict[str, list[Annotation]]:
    """All annotations of each of these documents, by layer and index, the segments of each by their place."""
    annotation_rows = run("read/list_annotations", document_ids=list(document_ids))
    segment_ids: dict[str, list[str]] = {}
    for row in run("read/list_annotated", document_ids=list(document_ids)) if annotation_rows else ():
        segment_ids.setdefault(row["annotation_id"], []).append(row["segment_id"])
    annotations: dict[str, list[Annotation]] = {document_id: [] for document_id in document_ids}
    for row in annotation_rows:
        annotations[row["document_id"]].append(rows.decode_annotation(row, segment_ids.get(row["id"], ())))
    return annotations


def sections_in(run: Run, document_ids: Sequence[str]) -> dict[str, list[Section]]:
    """The outline of each of these documents, by index."""
    sections: dict[str, list[Section]] = {document_id: [] for document_id in document_ids}
    for row in run("read/list_sections", document_ids=list(document_ids)):
        sections[row["document_id"]].append(Section(**row))
    return sections


def _of_documents(
    run: Run, name: str, document_ids: Sequence[str], decode: Callable[[rows.Row], T]
) -> dict[str, list[T]]:
    """What a statement lists of each of these documents; it runs once for all."""
    stored = rows.by_document(run(name, document_ids=list(document_ids)), document_ids)
    return {document_id: list(map(decode, of_document)) for document_id, of_document in stored.items()}


def layer_annotations(run: Run, layer: str, since: int) -> list[Annotation]:
    """What a layer says of segments, by (document id, index), the segments of each by their place."""
    annotation_rows: dict[str, dict[str, Any]] = {}
    targets: dict[str, list[tuple[int, str]]] = {}
    for row in run("read/list_layer_annotations", layer=layer, since=since):
        targets.setdefault(row["id"], []).append((row.pop("place"), row.pop("segment_id")))
        annotation_rows[row["id"]] = row
    annotations = [
        rows.decode_annotation(row, [segment_id for _, segment_id in sorted(targets[key])])
        for key, row in annotation_rows.items()
    ]
    return sorted(annotations, key=lambda item: (item.document_id, item.index))


def counts_of(run: Run, document_ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """What the graph holds of each of these documents, by label and by relationship type; a count of 0 is left out."""
    listed = run("read/count_by_document", document_ids=list(document_ids)) if document_ids else []
    by_document = rows.by_document(listed, document_ids)
    return {document_id: rows.counts_of_document(counted) for document_id, counted in by_document.items()}


def _scored(
    run: Run, name: str, vector: Vector, documents: Sequence[str], *, k: int = NO_LIMIT, **further: str
) -> list[Hit]:
    if not documents:
        return []
    hit_rows = run(name, vector=numbers(vector), document_ids=list(documents), k=k, **further)
    return rows.decode_hits(hit_rows)


def _by_document(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    grouped: dict[str, list[Node]] = {}
    for node in nodes:
        grouped.setdefault(node.document_id, []).append(node)
    return grouped
