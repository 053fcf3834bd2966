"""Finds and repairs damage to the graph of a namespace.

The module knows no engine and no model. The caller gives functions that run a named statement, and begins and commits.
Invariants: a graph that only this library wrote has no flaws. A repair invents no text, no edge and no number: it
writes only what follows from stored rows, or embeds a stored text. It deletes rows that no stored row supports any
more. A document with missing segments cannot be repaired and keeps its flaw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memgraph_rag.errors import StoreError
from memgraph_rag.stores.layer_rows import NAMES, POINTS, SECTIONS, group_kinds
from memgraph_rag.stores.shared import kept_questions, rows
from memgraph_rag.stores.shared.embedding_updates import Vectors, embed
from memgraph_rag.stores.shared.graph_reads import Run
from memgraph_rag.stores.shared.overview_rows import is_torn
from memgraph_rag.stores.shared.overview_writes import remove_overviews
from memgraph_rag.stores.shared.relation_writes import FindNear
from memgraph_rag.stores.shared.rows import Create, Row
from memgraph_rag.stores.shared.vector_norms import is_unit
from memgraph_rag.types import Action, Flaws, Vector

_TRIES = 5  # surveys of a namespace that other processes write

Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _Survey:
    """The rows of a namespace without their texts: ids and references."""

    documents: Mapping[str, Row]
    segments: Mapping[str, Row]
    owned: frozenset[tuple[str, str]]
    next: Counter[tuple[str, str]]
    points: Sequence[Row]
    annotations: Sequence[Row]
    sections: Sequence[Row]
    overviews: Sequence[Row]
    entities: Mapping[str, Row]
    writings: rows.Writings
    relations: Sequence[Row]
    similar: Pairs
    questions: Sequence[Row]
    squared_lengths: Mapping[str, float]

    def is_embedded(self, row: Row) -> bool:
        """Return whether a node or relation has an embedding that searches can use."""
        return is_unit(self.squared_lengths.get(row["id"]))

    def group_segments(self) -> dict[str, list[Row]]:
        """Return the segments of each document, by index."""
        by_document: dict[str, list[Row]] = {document_id: [] for document_id in self.documents}
        for row in sorted(self.segments.values(), key=lambda row: row["index"]):
            if row["document_id"] in by_document:
                by_document[row["document_id"]].append(row)
        return by_document

    def chain(self, of_document: Sequence[Row]) -> Pairs:
        """Return the NEXT edges that these segments of a document must have."""
        return [
            (row["id"], next_row["id"])
            for row, next_row in pairwise(of_document)
            if next_row["index"] == row["index"] + 1
        ]


def find(run: Run) -> Flaws:
    """Look for damage to a namespace's graph, and return all flaws, empty if there is no damage. Nothing changes."""
    return _find_flaws(_take_survey(run))


def find_beside_writers(run: Run, version: Callable[[], int]) -> Flaws:
    """Return all flaws as ``find`` does, while other processes may write: try again if one wrote during the reading.

    Args:
        version: returns the number of writes that the namespace has seen.

    Raises:
        StoreError: a write happened during each of the surveys.
    """
    for _ in range(_TRIES):
        before = version()
        survey = _take_survey(run)
        if version() == before:
            return _find_flaws(survey)
    raise StoreError(
        f"Expected a graph that stays unchanged while it is examined, got writes during each of {_TRIES} tries. "
        "Wait, or open it without read_only: writers then wait."
    )


def mend(run: Run, create: Create, find_near: FindNear, vectors: Mapping[str, Vector]) -> Flaws:
    """Repair a namespace's graph as far as possible; return the flaws before the repair, also those that remain.

    A damaged layer of a document is removed. Questions and overviews that lack an edge are deleted.

    Args:
        vectors: embeddings of the nodes and relations that lack one, by id. Others stay without embedding.
    """
    survey = _take_survey(run)
    flaws = _find_flaws(survey)
    if flaws:
        _mend_structure(run, create, survey, flaws)
        embed(run, create, find_near, _select_vectors(survey, flaws, vectors))
        _mend_entities(run, create)
        if torn := _list_torn_questions(run("read/survey_questions"), survey.documents):
            run("write/delete_questions", question_ids=list(torn))
    return flaws


def _take_survey(run: Run) -> _Survey:
    return _Survey(
        documents={row["id"]: row for row in run("read/list_documents")},
        segments={row["id"]: row for row in run("read/survey_segments")},
        owned=frozenset((row["document_id"], row["segment_id"]) for row in run("read/survey_ownership")),
        next=Counter((row["source_id"], row["target_id"]) for row in run("read/survey_chains")),
        points=run("read/survey_points"),
        annotations=run("read/survey_annotations"),
        sections=run("read/survey_sections"),
        overviews=run("read/survey_overviews"),
        entities={row["id"]: row for row in run("read/survey_entities")},
        writings=rows.decode_writings(run("read/survey_writings")),
        relations=run("read/survey_relations"),
        similar=[(row["source_id"], row["target_id"]) for row in run("read/survey_similar")],
        questions=run("read/survey_questions"),
        squared_lengths={row["id"]: row["squared_length"] for row in run("read/survey_lengths")},
    )


def _find_flaws(survey: _Survey) -> Flaws:
    segments, documents = survey.segments, survey.documents
    segments_by_document = survey.group_segments()
    chained = {
        document_id: Counter(survey.chain(document_segments))
        for document_id, document_segments in segments_by_document.items()
    }
    links = {document_id: Counter[tuple[str, str]]() for document_id in documents}
    for pair, number in survey.next.items():
        if (owner := segments[pair[0]]["document_id"]) in links:
            links[owner][pair] = number
    lone = survey.entities.keys() - survey.writings.keys()
    kept = {node_id for node_id, row in segments.items() if row["document_id"] in documents}
    lost_relations = {
        row["id"] for row in survey.relations if row["segment_id"] not in kept or not lone.isdisjoint(_list_ends([row]))
    }
    sound = [row for row in survey.relations if row["id"] not in lost_relations]
    joined, embedded = _list_ends(sound), survey.entities.keys() & survey.squared_lengths.keys()
    tied = {node_id for pair in survey.similar for node_id in pair}
    return Flaws(
        lost_segments=_sort(segments.keys() - kept),
        parted_segments=_sort(
            node_id for node_id in kept if (segments[node_id]["document_id"], node_id) not in survey.owned
        ),
        incomplete=_sort(
            document_id
            for document_id, document_segments in segments_by_document.items()
            if [row["index"] for row in document_segments] != list(range(documents[document_id]["segments"]))
        ),
        unchained=_sort(document_id for document_id in documents if links[document_id] != chained[document_id]),
        lost_points=_sort(row["id"] for row in survey.points if row["document_id"] not in documents),
        loose_points=_sort(
            {row["document_id"] for row in survey.points if not row["targets"]} & documents.keys()
        ),
        lost_annotations=_sort(row["id"] for row in survey.annotations if row["document_id"] not in documents),
        loose_annotations=_sort(
            {row["document_id"] for row in survey.annotations if row["targets"] != row["segments"]} & documents.keys()
        ),
        lost_sections=_sort(row["id"] for row in survey.sections if row["document_id"] not in documents),
        loose_sections=_sort(
            {row["document_id"] for row in survey.sections if row["targets"] != row["parts"]} & documents.keys()
        ),
        torn_overviews=_sort(row["id"] for row in survey.overviews if is_torn(row)),
        lost_relations=_sort(lost_relations),
        lone_entities=_sort(lone),
        miswritten=_sort(
            node_id
            for node_id, writing in survey.writings.items()
            if _read_surfaces(survey.entities[node_id]) != writing
        ),
        loose_similar=_sort((tied | embedded) - joined),
        torn_questions=_list_torn_questions(survey.questions, documents),
        unembedded_segments=_sort(node_id for node_id in kept if not survey.is_embedded(segments[node_id])),
        unembedded_points=_sort(
            row["id"] for row in survey.points if row["document_id"] in documents and not survey.is_embedded(row)
        ),
        unembedded_relations=_sort(row["id"] for row in sound if not survey.is_embedded(row)),
        unembedded_entities=_sort(
            node_id
            for node_id in joined
            if node_id not in survey.entities or not survey.is_embedded(survey.entities[node_id])
        ),
    )  # fmt: skip


def _read_surfaces(entity: Row) -> Counter[tuple[str, str]] | None:
    """Return how an entity's node records its surfaces; None if the record is damaged."""
    try:
        return rows.decode_surfaces(entity)
    except StoreError:
        return None


def _list_torn_questions(questions: Iterable[Row], documents: Container[str]) -> tuple[str, ...]:
    return _sort(
        row["id"]
        for row in questions
        if row["reads"] != row["nodes"] or any(document_id not in documents for document_id in row["documents"] or ())
    )


def _list_ends(relations: Iterable[Row]) -> set[str]:
    return {row[end] for row in relations for end in ("source_id", "target_id")}


def _sort(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(ids))


def _mend_structure(run: Run, create: Create, survey: _Survey, flaws: Flaws) -> None:
    """Delete rows without an owner, and restore the edges of rows that have one."""
    if flaws.torn_overviews:
        remove_overviews(run, create, flaws.torn_overviews)
    _delete_relations(run, survey, flaws)
    if flaws.lost_segments:
        run("write/delete_lost_segments", node_ids=list(flaws.lost_segments))
    if flaws.lost_points:
        run("write/delete_lost_points", node_ids=list(flaws.lost_points))
    if flaws.lost_annotations:
        run("write/delete_lost_annotations", node_ids=list(flaws.lost_annotations))
    if flaws.lost_sections:
        run("write/delete_lost_sections", node_ids=list(flaws.lost_sections))
    owners = [survey.segments[source_id]["document_id"] for source_id in flaws.parted_segments]
    create("write/own_segments", {"document_id": owners, "segment_id": list(flaws.parted_segments)})
    if flaws.unchained:
        run("write/delete_chains", document_ids=list(flaws.unchained))
        segments_by_document = survey.group_segments()
        pairs = [pair for source_id in flaws.unchained for pair in survey.chain(segments_by_document[source_id])]
        create("write/link_segments", rows.edge_columns(pairs))
    for document_id in flaws.loose_points:
        rows_of_document = [row for row in survey.points if row["document_id"] == document_id]
        loose = {row["layer"] for row in rows_of_document if not row["targets"]}
        _remove_layers(run, create, survey.documents[document_id], sorted(loose))
    for document_id in flaws.loose_sections:
        _remove_layers(run, create, survey.documents[document_id], [SECTIONS.layer])
    for document_id in flaws.loose_annotations:
        rows_of_document = [row for row in survey.annotations if row["document_id"] == document_id]
        loose = {row["layer"] for row in rows_of_document if row["targets"] != row["segments"]}
        _remove_layers(run, create, survey.documents[document_id], sorted(loose))


def _delete_relations(run: Run, survey: _Survey, flaws: Flaws) -> None:
    lost = set(flaws.lost_relations)
    document_ids = sorted({row["document_id"] for row in survey.relations if row["id"] in lost})
    if document_ids:
        run("write/delete_relations", document_ids=document_ids, relation_ids=sorted(lost))


def _remove_layers(run: Run, create: Create, document: Row, names: Sequence[str]) -> None:
    """Remove damaged layers from a document. ``deepen`` builds them again."""
    (stored,) = run("read/find_documents", document_ids=[document["id"]])  # an earlier call may have removed a layer
    layers = [name for name in stored["layers"] if name not in names]
    model = stored["model"] if {*layers} - {NAMES.layer} else ""  # any layer except names may be built by the model
    if POINTS in group_kinds(names):
        kept_questions.mark_stale(run, create, {document["id"]: document["key"]}, Action.DEEPENED, layers=names)
        run("write/delete_layer_points", document_ids=[document["id"]], layers=list(names))
    if SECTIONS.layer in names:
        run("write/delete_sections", document_ids=[document["id"]])
    run("write/delete_layer_annotations", document_ids=[document["id"]], layers=list(names))
    create("write/update_documents", rows.make_built_columns({document["id"]: (layers, model, stored["recognizer"])}))


def _select_vectors(survey: _Survey, flaws: Flaws, vectors: Mapping[str, Vector]) -> Vectors:
    """Return the given vectors of nodes and relations that lack one."""

    def pick_vectors(ids: Iterable[str]) -> dict[str, Vector]:
        return {node_id: vectors[node_id] for node_id in ids if node_id in vectors}

    source = {row["id"]: row["source_id"] for row in survey.relations}
    relations = pick_vectors(flaws.unembedded_relations)
    return Vectors(
        documents=sorted(survey.documents),
        segments=pick_vectors(flaws.unembedded_segments),
        points=pick_vectors(flaws.unembedded_points),
        relations={node_id: (source[node_id], vector) for node_id, vector in relations.items()},
        names=pick_vectors(flaws.unembedded_entities),
    )


def _mend_entities(run: Run, create: Create) -> None:
    """Rewrite entities so that they follow from the current mentions, titles and relations."""
    survey = _take_survey(run)
    flaws = _find_flaws(survey)
    _delete_relations(run, survey, flaws)
    if flaws.loose_similar:
        run("write/delete_similar", entity_ids=list(flaws.loose_similar))
        run("write/clear_entities", entity_ids=list(flaws.loose_similar))
    normals = {entity_id: row["normal"] for entity_id, row in survey.entities.items()}
    written = {entity_id: survey.writings[entity_id] for entity_id in flaws.miswritten}
    create("write/save_entities", rows.entity_columns(written, normals))
    if flaws.lone_entities:
        run("write/delete_similar", entity_ids=list(flaws.lone_entities))
        run("write/delete_entities", entity_ids=list(flaws.lone_entities))
