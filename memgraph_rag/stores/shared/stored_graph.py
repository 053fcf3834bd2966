"""The reads that both engines answer in the same way, by a function that runs a named statement.

The module knows no engine: ``_run`` is abstract, and has the namespace bound. Invariant: equal calls on equal graphs
return equal lists, on every engine.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from typing_extensions import override

from memgraph_rag.stores.base_store import BaseStore
from memgraph_rag.stores.shared import overview_rows, question_rows, relation_rows, rows
from memgraph_rag.stores.shared.graph_reads import (
    bind_scope,
    count_rows,
    is_empty_scope,
    read_annotations,
    read_layer_annotations,
    read_mentions,
    read_nodes,
    read_relations,
    read_sections,
    read_titles,
    score_nodes,
    vector_parameter,
)
from memgraph_rag.types import (
    Annotation,
    DocumentRecord,
    Entity,
    Fingerprint,
    Hit,
    InformationPoint,
    Mention,
    Naming,
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
    fold_case,
)

_TOP_POINTS: dict[PointLayer, str] = {"points": "read/list_top_points", "clusters": "read/list_root_summaries"}

_MOST_MATCHES = 1_000  # documents with the same texts: a text may be stored under any number of keys


class StoredGraph(BaseStore):
    """The reads that a store answers by statements only. An engine implements ``_run``."""

    def __init__(self, namespace: str, *, read_only: bool = False) -> None:
        self._namespace = namespace
        self._read_only = read_only
        self._bound = {"namespace": namespace, "namespace_id": rows.namespace_id(namespace)}

    @abstractmethod
    def _run(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        """Run the statement with this name, with the namespace bound, and return its rows."""

    @property
    @override
    def namespace(self) -> str:
        return self._namespace

    @property
    @override
    def read_only(self) -> bool:
        return self._read_only

    @override
    def documents(self, ids: Sequence[str] | None = None) -> list[DocumentRecord]:
        if ids is None:
            return [rows.decode_document(row) for row in self._run("read/list_documents")]
        wanted = list(dict.fromkeys(ids))
        document_rows = self._run("read/find_documents", document_ids=wanted) if wanted else []
        return [rows.decode_document(row) for row in document_rows]

    @override
    def list_documents_after(self, key: str, *, k: int, part: str = "") -> list[DocumentRecord]:
        found = self._run("read/list_documents_after", after=key, part=fold_case(part), k=k)
        return [rows.decode_document(row) for row in found]

    @override
    def find_documents(self, names: Sequence[str]) -> list[DocumentRecord | None]:
        document_rows = self._run("read/find_named_documents", names=list(dict.fromkeys(names))) if names else []
        records = [rows.decode_document(row) for row in document_rows]
        by_key = {record.key: record for record in records}
        by_id = {record.id: record for record in records}
        return [by_id.get(name) or by_key.get(name) for name in names]

    @override
    def find_fingerprints(
        self, *, sources: Sequence[str] = (), text_hashes: Sequence[str] = (), document_ids: Sequence[str] = ()
    ) -> list[Fingerprint]:
        files, texts, ids = sorted({*sources} - {""}), sorted({*text_hashes} - {""}), sorted({*document_ids})
        if not files and not texts and not ids:
            return []
        rows_found = self._run(
            "read/match_fingerprints", sources=files, text_hashes=texts, document_ids=ids, k=_MOST_MATCHES
        )
        return sorted(
            {Fingerprint(**row) for row in rows_found},
            key=lambda fingerprint: (fingerprint.key, fingerprint.document_id),
        )

    @override
    def nodes(self, node_ids: Sequence[str]) -> list[Node]:
        return read_nodes(self._run, node_ids)

    @override
    def list_segments(self, document_id: str) -> list[Segment]:
        return self.list_segments_by_document([document_id])[document_id]

    @override
    def list_segments_by_document(self, document_ids: Sequence[str]) -> dict[str, list[Segment]]:
        segments: dict[str, list[Segment]] = {document_id: [] for document_id in document_ids}
        for row in self._run("read/list_segments", document_ids=list(segments)) if segments else ():
            segments[row["document_id"]].append(Segment(**row))
        return segments

    @override
    def top_nodes(self, document_ids: Sequence[str], *, layer: PointLayer = "points") -> list[Node]:
        wanted = list(dict.fromkeys(document_ids))
        if not wanted:
            return []
        top_rows = self._run(_TOP_POINTS[layer], document_ids=wanted)
        tops = _group_by_document(InformationPoint(**row) for row in top_rows)
        flat = [document_id for document_id in wanted if document_id not in tops]
        if flat:
            segments = [Segment(**row) for row in self._run("read/list_segments", document_ids=flat)]
            tops |= _group_by_document(segment for segment in segments if not segment.echo)
        return list(chain.from_iterable(tops.get(document_id, ()) for document_id in wanted))

    @override
    def successors(self, node_ids: Sequence[str]) -> list[Summarizes]:
        wanted = list(dict.fromkeys(node_ids))
        edge_rows = self._run("read/list_successors", node_ids=wanted) if wanted else []
        others = sorted({*wanted} - {row["source_id"] for row in edge_rows})
        edge_rows += self._run("read/list_summarized", node_ids=others) if others else []
        edges = [Summarizes(**row) for row in edge_rows]
        return sorted(edges, key=lambda edge: (edge.source_id, -edge.weight, edge.target_id))

    @override
    def similarities(self, vector: Vector, *, documents: Sequence[str], layer: PointLayer = "points") -> list[Hit]:
        segments = score_nodes(self._run, vector, documents=documents)
        scored_points = score_nodes(self._run, vector, documents=documents, statement="read/score_points", layer=layer)
        points = [replace(hit, kind="point") for hit in scored_points]
        return sorted(segments + points, key=lambda hit: (-hit.score, hit.node_id))

    @override
    def entities(self, entity_ids: Sequence[str]) -> list[Entity]:
        wanted = list(dict.fromkeys(entity_ids))
        entity_rows = self._run("read/find_entities", entity_ids=wanted) if wanted else []
        known = {row["id"]: rows.decode_entity(row) for row in entity_rows}
        return [known[entity_id] for entity_id in entity_ids if entity_id in known]

    @override
    def segments_naming(
        self, entity_ids: Sequence[str], *, vector: Vector, k: int, documents: Sequence[str] | None = None
    ) -> list[Hit]:
        query = vector_parameter(vector)
        if not entity_ids or k < 1 or is_empty_scope(documents):
            return []
        wanted = list(dict.fromkeys(entity_ids))
        return rows.decode_hits(self._score_naming(wanted, vector=query, k=k, **bind_scope(documents)))

    def _score_naming(self, entity_ids: Sequence[str], **parameters: Any) -> list[dict[str, Any]]:
        return self._run("read/score_naming", entity_ids=entity_ids, **parameters)

    @override
    def list_mentioned_entities(self, segment_ids: Sequence[str]) -> dict[str, list[str]]:
        wanted = list(dict.fromkeys(segment_ids))
        mentioned: dict[str, list[str]] = {}
        for row in self._run("read/list_entities_of", segment_ids=wanted) if wanted else []:
            named = mentioned.setdefault(row["segment_id"], [])
            if row["entity_id"]:
                named.append(row["entity_id"])
        return {segment_id: sorted(mentioned[segment_id]) for segment_id in wanted if segment_id in mentioned}

    @override
    def count_naming_segments(self, entity_ids: Sequence[str]) -> list[int]:
        wanted = list(dict.fromkeys(entity_ids))
        numbers = {row["id"]: row["segments"] for row in self._run("read/count_naming", entity_ids=wanted)}
        return [numbers.get(entity_id, 0) for entity_id in entity_ids]

    @override
    def list_segment_times(self, segment_ids: Sequence[str]) -> dict[str, str]:
        wanted = list(dict.fromkeys(segment_ids))
        return {row["id"]: row["time"] for row in self._run("read/list_segment_times", segment_ids=wanted)}

    @override
    def first_segment_ids(self, *, k: int) -> list[str]:
        return [row["id"] for row in self._run("read/list_first_segments", k=k)]

    @override
    def list_similar(self, entity_ids: Sequence[str]) -> list[Similar]:
        wanted = list(dict.fromkeys(entity_ids))
        return relation_rows.decode_similar(self._run("read/list_similar", entity_ids=wanted) if wanted else [])

    @override
    def list_relations(self, document_id: str) -> list[Relation]:
        return read_relations(self._run, [document_id])[document_id]

    @override
    def find_names(self, part: str, *, k: int) -> list[Entity]:
        return [rows.decode_entity(row) for row in self._run("read/find_names", part=part, k=k)]

    @override
    def list_mentions_by_document(self, document_ids: Sequence[str]) -> dict[str, list[Mention]]:
        return read_mentions(self._run, document_ids) if document_ids else {}

    @override
    def titles(self, document_id: str) -> list[Title]:
        return read_titles(self._run, [document_id])[document_id]

    @override
    def list_entity_mentions(self, entity_id: str, *, k: int) -> list[Mention]:
        return [Mention(**row) for row in self._run("read/list_naming", entity_id=entity_id, k=k)]

    @override
    def list_titled_documents(self, entity_id: str, *, k: int) -> list[tuple[str, str]]:
        title_rows = self._run("read/list_titled", entity_id=entity_id, k=k)
        return [(row["document_id"], row["surface"]) for row in title_rows]

    @override
    def list_entity_relations(self, entity_id: str, *, k: int) -> list[Relation]:
        relations = [Relation(**row) for row in self._run("read/list_relations_at", entity_id=entity_id, k=k)]
        return sorted(relations, key=lambda relation: relation.id)[:k]

    @override
    def entity_counts(self, entity_id: str) -> Mapping[str, int]:
        written = self._run("read/find_surfaces", entity_ids=[entity_id])
        related = self._run("read/count_relations", entity_ids=[entity_id]) if written else []
        return rows.edge_counts(written, related)

    @override
    def document_keys(self, head: str = "") -> dict[str, str]:
        return {row["id"]: row["key"] for row in self._run("read/list_document_keys", head=head)}

    @override
    def namings(self) -> list[Naming]:
        counted = self._run("read/count_namings")
        return rows.sum_namings((row["document_id"], row["entity_id"], row["name"], row["number"]) for row in counted)

    @override
    def questions(self, ids: Sequence[str] | None = None) -> list[Question]:
        listed = self._run("read/list_questions") if ids is None else self._question_rows(list(dict.fromkeys(ids)))
        questions = self._decode_questions(listed)
        decoded = {question.id for question in questions}
        missed = [row["id"] for row in listed if row["id"] not in decoded]
        if missed:  # a writer deleted a read node during the reading: these questions are deleted, stale, or damaged
            questions += self._decode_questions(self._question_rows(missed))
        places = {row["id"]: place for place, row in enumerate(listed)}
        return sorted(questions, key=lambda question: places[question.id])

    @override
    def question_times(self) -> Mapping[str, str]:
        return {row["id"]: row["asked_at"] for row in self._run("read/list_question_times")}

    def _question_rows(self, question_ids: Sequence[str]) -> list[dict[str, Any]]:
        return self._run("read/find_questions", question_ids=question_ids) if question_ids else []

    def _decode_questions(self, listed: Sequence[Mapping[str, Any]]) -> list[Question]:
        question_ids = [row["id"] for row in listed]
        reads = self._run("read/list_reads", question_ids=question_ids) if question_ids else []
        read = {node.id: node for node in self.nodes(list(dict.fromkeys(row["node_id"] for row in reads)))}
        return list(question_rows.decode_questions(listed, reads, read))

    @override
    def annotations(self, document_id: str) -> list[Annotation]:
        return read_annotations(self._run, [document_id])[document_id]

    @override
    def list_sections_by_document(self, document_ids: Sequence[str]) -> dict[str, list[Section]]:
        return read_sections(self._run, document_ids) if document_ids else {}

    @override
    def overview_ids(self) -> list[str]:
        return [row["id"] for row in self._run("read/list_overview_ids")]

    @override
    def overviews(self, layer: str, *, documents: Sequence[str] | None = None) -> list[Overview]:
        listed = self._run("read/list_overviews", layer=layer)
        overviews = map(overview_rows.decode_overview, listed)
        if documents is None:
            return list(overviews)
        allowed = frozenset(documents)
        return [overview for overview in overviews if allowed.issuperset(overview.documents)]

    @override
    def layer_annotations(self, layer: str, *, since: int = -1) -> list[Annotation]:
        return read_layer_annotations(self._run, layer, since)

    @override
    def list_written_documents(self, *, since: int = -1) -> list[DocumentRecord]:
        return [rows.decode_document(row) for row in self._run("read/list_written_documents", since=since)]

    @override
    def recognizer(self) -> str:
        return next((row["recognizer"] for row in self._run("read/find_recognizer")), "")

    @override
    def version(self) -> int:
        return next((row["version"] for row in self._run("read/find_namespace_version")), 0)

    @override
    def namespaces(self) -> list[str]:
        return [row["namespace"] for row in self._run("read/list_namespaces")]

    @override
    def document_ids(self) -> list[str]:
        return [row["id"] for row in self._run("read/list_document_ids")]

    @override
    def count_documents(self) -> int:
        return self._run("read/count_documents")[0]["count"]

    @override
    def count_by_document(self, document_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        return count_rows(self._run, document_ids)

    @override
    def statistics(self) -> Mapping[str, int]:
        return dict.fromkeys(rows.COUNTED, 0) | rows.counts(self._run("read/count_namespace"))


def _group_by_document(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    grouped: dict[str, list[Node]] = {}
    for node in nodes:
        grouped.setdefault(node.document_id, []).append(node)
    return grouped
