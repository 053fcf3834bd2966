"""``Planner``: compares a group of documents with the store, cuts new documents into segments, and marks echoes.

It builds no layer, and writes only metadata. Invariants: the same content is never built twice. A document that cannot
be planned becomes a ``Failure`` and does not stop the others. A group needs a fixed number of queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import groupby

from memgraph_rag.contracts import GraphReader, GraphStore, Layer, Models, SplitDocument, WillingLayer
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, MemgraphRagError
from memgraph_rag.ingestion.given_answers import GivenAnswers
from memgraph_rag.ingestion.segmenting import CutSegments
from memgraph_rag.ingestion.sources import Item, Loaded, hash_changed, is_elsewhere
from memgraph_rag.layers.growth import join_top_points
from memgraph_rag.lexical import timestamps
from memgraph_rag.lexical.language import detect_language
from memgraph_rag.stores.layer_rows import RELATIONS
from memgraph_rag.stores.shared.write_checks import check_owner
from memgraph_rag.text import echoes
from memgraph_rag.types import (
    Action,
    Document,
    DocumentRecord,
    Failure,
    InformationPoint,
    Receipt,
    Section,
    Segment,
    get_owner,
    make_id,
)

ECHO = "echo"
"""The name in a document's metadata that declares all of its text, or none, an earlier answer of the memory."""


@dataclass(frozen=True, slots=True)
class PendingDocument:
    """A document that waits for layers.

    Attributes:
        record: the record to store.
        missing_layers: the layers to build.
        is_new: whether its segments are not stored yet.
        same_as: the keys of other documents with the same text.
        stored_sections: its stored sections, if a missing layer uses them.
        stored_summary: the text of its stored top-level points, if a missing layer uses it.
        stored_names: the normalised names of its stored mentions, by entity id, if relations are missing.
        described: its record with new metadata, to store after its layers; None if its metadata stay.
    """

    record: DocumentRecord
    segments: tuple[Segment, ...]
    missing_layers: tuple[Layer, ...]
    is_new: bool
    same_as: tuple[str, ...] = ()
    stored_sections: tuple[Section, ...] = ()
    stored_summary: str = ""
    stored_names: Mapping[str, str] = field(default_factory=dict[str, str])
    described: DocumentRecord | None = None

    def lacks(self, layer: str) -> bool:
        """Return whether the layer with this name has to be built."""
        return any(missing.name == layer for missing in self.missing_layers)

    @property
    def needs_language(self) -> bool:
        """Whether building the missing layers calls a language model, if the memory has one."""
        return any(
            layer.uses_language(self.evidence) if isinstance(layer, WillingLayer) else layer.needs_language
            for layer in self.missing_layers
        )

    @property
    def evidence(self) -> SplitDocument:
        """The part of the document that layers may see: all segments but echoes, and the title if a segment is left."""
        segments = tuple(segment for segment in self.segments if not segment.echo)
        return SplitDocument(self.record.id, self.record.title if segments else "", segments)

    def replace_segments(self, segments: tuple[Segment, ...]) -> PendingDocument:
        """Return the document with other segments and their number of echoes."""
        record = replace(self.record, echoes=sum(segment.echo for segment in segments))
        return replace(self, record=record, segments=segments)


Plan = PendingDocument | Receipt | Failure
"""The plan for a document: a document to build, or a receipt if there is nothing to do, or a failure."""


class Planner:
    """Plans the work for documents.

    Args:
        layers: the layers that each document must have.
        answers: earlier answers of the memory, to mark echoes.
        cut: cuts a document into segments.
    """

    def __init__(
        self,
        store: GraphStore,
        models: Models,
        layers: Sequence[Layer],
        answers: GivenAnswers,
        *,
        cut: CutSegments,
    ) -> None:
        self._store = store
        self._answers = answers
        self._models = models
        self._layers = layers
        self._cut = cut

    def plan(self, group: Sequence[Item]) -> list[Plan]:
        """Return the plan of each document, in order; a ``Failure`` stays one. Changed metadata are stored."""
        stored = self._find_records(group)
        items = self._drop_strangers([self._fill_stored_parts(item, stored) for item in group])
        described, later = self._store_metadata([item for item in items if isinstance(item, Loaded)], stored)
        plans = [self._plan_document(item, stored | described, later) for item in items]
        plans = self._add_counts(
            [
                replace(plan, action=Action.DESCRIBED)
                if isinstance(plan, Receipt) and plan.document_id in described
                else plan
                for plan in plans
            ]
        )
        plans = self._add_stored_rows(plans)
        return self._mark_echoes(plans, stored, group)

    def _document_id(self, key: str) -> str:
        return make_id(self._store.namespace, "document", key)

    def _find_records(self, group: Sequence[Item]) -> dict[str, DocumentRecord]:
        """Return the stored records with the keys of the documents to add, by document id."""
        ids = [self._document_id(item.key) for item in group if isinstance(item, Loaded) and not item.is_new]
        return {record.id: record for record in self._store.documents(ids)}

    def _fill_stored_parts(self, item: Item, stored: Mapping[str, DocumentRecord]) -> Item:
        """Return the document with its stored title and metadata, where the user gave none."""
        if not isinstance(item, Loaded) or (record := stored.get(self._document_id(item.key))) is None:
            return item
        return replace(item, document=item.merge_stored(record))

    def _drop_strangers(self, items: Sequence[Item]) -> list[Item]:
        """Return the documents; one with an owner keeps in ``same_as`` only documents of the same owner.

        The store is queried only if a document with an owner has the same text as another document.
        """
        owned = [item for item in items if isinstance(item, Loaded) and item.same_as and _is_owned(item.document)]
        ids = [self._document_id(key) for item in owned for key in item.same_as]
        owners = {record.key: get_owner(record.metadata) for record in self._store.documents(ids)} if ids else {}

        def keep_own(item: Loaded) -> Loaded:
            owner = get_owner(item.document.metadata)
            return replace(item, same_as=tuple(key for key in item.same_as if owners.get(key) == owner))

        return [keep_own(item) if isinstance(item, Loaded) and _is_owned(item.document) else item for item in items]

    def _store_metadata(
        self, items: Sequence[Loaded], stored: Mapping[str, DocumentRecord]
    ) -> tuple[dict[str, DocumentRecord], dict[str, DocumentRecord]]:
        """Store the metadata of documents that differ in nothing else and lack no layer.

        Returns:
            Their new records by id, and those of documents that lack layers, whose building may fail.
        """
        pairs = [(item, stored[self._document_id(item.key)]) for item in items if self._document_id(item.key) in stored]
        new_records = {
            record.id: replace(record, metadata=item.document.metadata, sha256=item.document.sha256)
            for item, record in pairs
            if _differ_in_metadata_only(item.document, record)
            and get_owner(record.metadata) == get_owner(item.document.metadata)
            and not is_elsewhere(record, item.files)
        }
        later = {key: record for key, record in new_records.items() if self._list_missing(record)}
        now = {key: record for key, record in new_records.items() if key not in later}
        if not now:
            return {}, later
        hashes_before = [stored[document_id].sha256 for document_id in now]
        written_ids = self._store.describe(list(now.values()), before=hashes_before)
        return {document_id: now[document_id] for document_id in written_ids}, later

    def _plan_document(
        self, item: Item, stored: Mapping[str, DocumentRecord], later: Mapping[str, DocumentRecord]
    ) -> Plan:
        if isinstance(item, Failure):
            return item
        try:
            if isinstance(item, DocumentRecord):
                return self._plan_stored(item)
            record = stored.get(self._document_id(item.key))
            if record is not None and (record.sha256 == item.document.sha256 or record.id in later):
                return replace(self._plan_stored(record, later.get(record.id)), same_as=item.same_as)
            if record is not None:
                check_owner(record, item.document.metadata)
                _check_same_source(record, item)
            return replace(self._plan_new(item.document), same_as=item.same_as)
        except MemgraphRagError as error:
            return Failure(item.key, error)

    def _plan_stored(
        self, record: DocumentRecord, described: DocumentRecord | None = None
    ) -> PendingDocument | Receipt:
        """Return the plan for the layers that a stored document lacks. ``_add_stored_rows`` adds its segments."""
        missing = self._list_missing(record)
        if not missing:
            return Receipt(record.id, record.key, Action.UNCHANGED, {}, echoes=record.echoes)
        return PendingDocument(self._add_layers(record, missing), (), missing, is_new=False, described=described)

    def _list_missing(self, record: DocumentRecord) -> tuple[Layer, ...]:
        return tuple(layer for layer in self._layers if layer.name not in record.layers)

    def _add_stored_rows(self, plans: Sequence[Plan]) -> list[Plan]:
        """Return the plans; those of stored documents with the stored rows that their missing layers need."""
        deepened = [plan for plan in plans if isinstance(plan, PendingDocument) and not plan.is_new]
        if not deepened:
            return list(plans)
        segments = self._store.list_segments_by_document([plan.record.id for plan in deepened])
        sections = self._store.list_sections_by_document(
            [plan.record.id for plan in deepened if _needs_stored(plan, "outline")]
        )
        summaries = find_summaries(self._store, [plan.record.id for plan in deepened if _needs_stored(plan, "points")])
        mentions = self._store.list_mentions_by_document(
            [plan.record.id for plan in deepened if plan.lacks(RELATIONS.layer)]
        )
        return _replace_pending(
            plans,
            [
                replace(
                    plan,
                    segments=tuple(segments[plan.record.id]),
                    stored_sections=tuple(sections.get(plan.record.id, ())),
                    stored_summary=summaries.get(plan.record.id, ""),
                    stored_names={mention.entity_id: mention.normal for mention in mentions.get(plan.record.id, ())},
                )
                for plan in deepened
            ],
        )

    def _add_counts(self, plans: Sequence[Plan]) -> list[Plan]:
        """Return the plans; each receipt with the counts of the stored rows of its document."""
        counts = self._store.count_by_document([plan.document_id for plan in plans if isinstance(plan, Receipt)])
        return [replace(plan, counts=counts[plan.document_id]) if isinstance(plan, Receipt) else plan for plan in plans]

    def _plan_new(self, document: Document) -> PendingDocument:
        """Cut a new document into segments, and return it with all layers to build."""
        document_id = self._document_id(document.key)
        language = detect_language(document.text)
        segments = self._cut(document, document_id, language=language)
        record = DocumentRecord(
            id=document_id,
            key=document.key,
            title=document.title,
            source=document.source,
            sha256=document.sha256,
            added_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            characters=len(document.text),
            segments=len(segments),
            layers=(),
            model="",
            metadata=document.metadata,
            language=language,
        )
        pending = PendingDocument(self._add_layers(record, self._layers), segments, tuple(self._layers), is_new=True)
        if document.metadata.get(ECHO) is True:
            return pending.replace_segments(tuple(replace(segment, echo=True) for segment in segments))
        return pending

    def _add_layers(self, record: DocumentRecord, layers: Sequence[Layer]) -> DocumentRecord:
        """Return the record with further layers, and with the model and the recognizer that build them."""
        names = tuple(sorted({*record.layers, *(layer.name for layer in layers)}))  # independent of the build order
        model = self._models.language.name if any(layer.needs_language for layer in layers) else record.model
        names_found = any(layer.needs_recognizer for layer in layers)
        recognizer = self._models.recognizer.name if names_found else record.recognizer
        return replace(record, layers=names, model=model, recognizer=recognizer)

    def _mark_echoes(
        self, plans: list[Plan], stored: Mapping[str, DocumentRecord], group: Sequence[Item]
    ) -> list[Plan]:
        """Return the plans; segments of new documents that repeat an earlier answer are marked as echoes.

        Args:
            group: the documents before planning. Their ``same_as`` still names documents of all owners.
        """
        namespace = self._store.namespace
        new = [plan for plan in plans if isinstance(plan, PendingDocument) and plan.is_new]
        new = [plan for plan in new if ECHO not in plan.record.metadata]
        if not new:
            return plans
        sentence_ids = {plan.record.id: echoes.sentence_ids(namespace, plan.segments) for plan in new}
        origins = self._answers.find(set().union(*sentence_ids.values()))
        echoing = [plan for plan in new if not origins.keys().isdisjoint(sentence_ids[plan.record.id])]
        before = self._store.list_segments_by_document([plan.record.id for plan in echoing if plan.record.id in stored])
        same_text = {item.key: set(map(self._document_id, item.same_as)) for item in group if isinstance(item, Loaded)}
        return _replace_pending(
            plans,
            [
                plan.replace_segments(
                    echoes.mark_segments(
                        namespace,
                        plan.segments,
                        {key: origins[key] for key in sentence_ids[plan.record.id] & origins.keys()},
                        before.get(plan.record.id, ()),
                        same_text=same_text[plan.record.key],
                    )
                )
                for plan in echoing
            ],
        )


def find_summaries(graph: GraphReader, document_ids: Sequence[str]) -> dict[str, str]:
    """Return the texts of the top-level points of each document, as one text, by id; nothing without ids."""
    top = graph.top_nodes(document_ids) if document_ids else []
    points = [node for node in top if isinstance(node, InformationPoint)]
    return {key: join_top_points(group) for key, group in groupby(points, key=lambda point: point.document_id)}


def takes(layer: Layer, name: str) -> bool:
    """Return whether a layer requires or uses the layer with this name."""
    return name in {*layer.requires, *getattr(layer, "uses", ())}


def _needs_stored(pending: PendingDocument, name: str) -> bool:
    """Return whether the layer with this name is stored and a missing layer requires or uses it."""
    is_stored = name in pending.record.layers and not pending.lacks(name)
    return is_stored and any(takes(layer, name) for layer in pending.missing_layers)


def _replace_pending(plans: Sequence[Plan], changed: Sequence[PendingDocument]) -> list[Plan]:
    """Return the plans with the changed plans in place of those with the same document id."""
    by_id = {plan.record.id: plan for plan in changed}
    return [by_id.get(plan.record.id, plan) if isinstance(plan, PendingDocument) else plan for plan in plans]


def _differ_in_metadata_only(document: Document, record: DocumentRecord) -> bool:
    """Return whether a document differs from its record only in metadata that do not change its segments."""
    return (
        document.sha256 != record.sha256
        and timestamps.find_metadata_time(document.metadata) == timestamps.find_metadata_time(record.metadata)
        and document.metadata.get(ECHO) == record.metadata.get(ECHO)
        and hash_changed(document, document.title, record.metadata) == record.sha256
    )


def _is_owned(document: Document) -> bool:
    return get_owner(document.metadata) != (None, None)


def _check_same_source(record: DocumentRecord, item: Loaded) -> None:
    """Check that a document does not replace a document that was read from another file.

    Raises:
        DocumentError: the stored document with this key was read from another file.
    """
    if is_elsewhere(record, item.files):
        raise DocumentError(
            f"Expected {show(record.source)} under the key {show(item.key)}, got another file: "
            f"{show(item.document.source)}. Use another key for this file, add(path, key=…) or --key; or forget the "
            "other file first.",
            key=item.key,
        )
