"""A store of a stranger's own: the writes, each of which replaces the state of its namespace at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timezone

import numpy as np
from own_graph import OwnGraph, State

from memgraph_rag.errors import DocumentChanged, DocumentNotFound, QuestionNotFound, StoreError
from memgraph_rag.stores import layer_rows
from memgraph_rag.stores.shared import write_checks
from memgraph_rag.stores.shared.overview_writes import check_overviews
from memgraph_rag.types import (
    OPEN_KIND,
    Action,
    Change,
    DocumentGraph,
    DocumentRecord,
    Mention,
    Overview,
    OverviewRows,
    Question,
    Receipt,
    Relation,
    Segment,
    Vector,
    ends_of,
    question_id,
)


class OwnStore(OwnGraph):
    """Implements ``contracts.GraphStore``: the members that a store must have; all others are inherited."""

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────

    def graphs_of(self, document_ids: Sequence[str]) -> list[DocumentGraph]:
        graphs = self._state.graphs
        return [graphs[document_id] for document_id in document_ids if document_id in graphs]

    def write_many(self, graphs: Sequence[DocumentGraph]) -> list[Receipt]:
        state = self._state
        write_checks.check_group(graphs, self._opened_as["dimension"], namespace=self._namespace)
        if not graphs:
            return []
        with self._database.lock:
            state = self._state
            stored = {graph.document.id for graph in graphs} & state.graphs.keys()
            for graph in graphs:
                if graph.document.id in stored:
                    write_checks.check_owner(state.graphs[graph.document.id].document, graph.document.metadata)
            questions, stale = self._stale(state, stored, Action.REPLACED)
            state = without_overviews(replace(state, questions=questions), stored)
            new = {graph.document.id: in_order(graph) for graph in graphs}
            versions = {**state.versions, **dict.fromkeys(new, state.version + 1)}
            self._put(replace(state, graphs={**state.graphs, **new}, versions=versions))
            return [
                Receipt(
                    name,
                    new[name].document.key,
                    Action.REPLACED if name in stored else Action.ADDED,
                    self.counts_of([name])[name],
                    stale_questions=stale[name],
                )
                for name in (graph.document.id for graph in graphs)
            ]

    def revise(self, graph: DocumentGraph, *, before: str, kept: int = 0) -> Action:
        if kept and not 0 < kept < len(graph.segments):
            raise StoreError(f"Expected more than {kept} segments, got {len(graph.segments)}. Write it whole.")
        with self._database.lock:
            held = self._state.graphs.get(graph.document.id)
            if (held.document.sha256 if held else "") != before:
                raise DocumentChanged("Expected the content that was read, got another. Read it again.")
            return self.write(graph).action

    def extend_many(self, graphs: Sequence[DocumentGraph], *, layers: Collection[str]) -> list[Receipt]:
        write_checks.check_group(graphs, self._opened_as["dimension"], namespace=self._namespace, extending=True)
        for graph in graphs:
            given = layer_rows.layers_in(graph)
            if not given <= {*layers} & {*graph.document.layers}:
                raise StoreError(f"Expected rows of the layers {layers}, got rows of {given}. Name all that are given.")
        if not graphs:
            return []
        with self._database.lock:
            state, stale = self._state, Counter[str]()
            for graph in graphs:
                state, of_document = self._extended(state, graph, layers)
                stale += of_document
            self._put(state)
            return [
                Receipt(
                    item.id,
                    item.key,
                    Action.DEEPENED,
                    self.counts_of([item.id])[item.id],
                    stale_questions=stale[item.id],
                )
                for item in (graph.document for graph in graphs)
            ]

    def _extended(self, state: State, graph: DocumentGraph, layers: Collection[str]) -> tuple[State, Counter[str]]:
        """The state with these layers of a document; how many questions that made stale, by document."""
        held = self._held(graph)
        if [segment.id for segment in graph.segments] != [segment.id for segment in held.segments]:
            raise StoreError("Expected the segments that are stored, got others. Take those of segments_of().")
        pointed = {*layers} & {"points", "clusters"}
        changed = {graph.document.id} if pointed else set[str]()
        questions, stale = self._stale(state, changed, Action.DEEPENED, layers=pointed)
        model = graph.document.model or held.document.model
        recognizer = graph.document.recognizer or held.document.recognizer
        record = replace(held.document, layers=graph.document.layers, model=model, recognizer=recognizer)
        left = replace(held, document=record)
        if len(graph.segment_embeddings):
            left = replace(left, segment_embeddings=graph.segment_embeddings)
        if pointed:
            left = with_points(left, graph, pointed)
        if "outline" in layers:
            left = replace(left, sections=graph.sections)
        if "entities" in layers:
            left = replace(left, mentions=of_kind(left, OPEN_KIND), titles=graph.titles)
        if "relations" in layers:
            left = with_relations(left, [])
            left = replace(left, mentions=tuple(set(left.mentions) - {*of_kind(left, OPEN_KIND)}))
        named = replace(left, mentions=(*left.mentions, *graph.mentions))
        left = with_relations(named, [(left, False), (graph, True)])
        others = tuple(item for item in left.annotations if item.layer not in layers)
        left = replace(left, annotations=(*others, *graph.annotations))
        return with_graph(without_overviews(replace(state, questions=questions), {record.id}), left), stale

    def learn(self, graph: DocumentGraph) -> None:
        write_checks.check(graph, self._opened_as["dimension"], namespace=self._namespace, extending=True)
        with self._database.lock:
            held = self._held(graph)
            mentions = tuple(dict.fromkeys((*held.mentions, *graph.mentions)))
            new = with_relations(replace(held, mentions=mentions), [(held, False), (graph, True)])
            self._put(with_graph(self._state, new))

    def describe(self, records: Sequence[DocumentRecord], *, before: Sequence[str]) -> list[str]:
        for record in records:
            write_checks.check_metadata(record)
        with self._database.lock:
            state = self._state
            changed = {}
            for record, sha256 in zip(records, before, strict=True):
                held = state.graphs.get(record.id)
                if held is not None and held.document.sha256 == sha256:
                    described = replace(held.document, metadata=record.metadata, sha256=record.sha256)
                    changed[record.id] = replace(held, document=described)
            if changed:
                versions = {**state.versions, **dict.fromkeys(changed, state.version + 1)}
                self._put(replace(state, graphs={**state.graphs, **changed}, versions=versions))
            return sorted(changed)

    def forget(self, document_id: str) -> Receipt:
        with self._database.lock:
            state = self._state
            if document_id not in state.graphs:
                raise DocumentNotFound(f"No document {document_id!r} here. documents() lists what is there.")
            record, counts = state.graphs[document_id].document, self.counts_of([document_id])[document_id]
            kept = {name: item for name, item in state.questions.items() if document_id not in rests_on(item)}
            graphs = {name: graph for name, graph in state.graphs.items() if name != document_id}
            forgotten = len(state.questions) - len(kept)
            state = without_overviews(replace(state, questions=kept), {document_id})
            self._put(replace(state, graphs=graphs))
            return Receipt(document_id, record.key, Action.FORGOTTEN, counts, forgotten_questions=forgotten)

    def _held(self, graph: DocumentGraph) -> DocumentGraph:
        held = self._state.graphs.get(graph.document.id)
        if held is None or held.document.sha256 != graph.document.sha256:
            raise DocumentNotFound("Expected a document that is stored with this content, got none. Deepen it again.")
        return held

    def write_overviews(self, rows: OverviewRows, *, as_of: int) -> list[str]:
        check_overviews(rows, namespace=self._namespace)
        with self._database.lock:
            state = self._state
            state = without(state, with_above(state, {name for name in rows.removed if name in state.overviews}), set())
            there = dict(state.overviews)
            targets = [edge.target_id for edge in rows.summarizes]
            nodes = {node.id for node in self.nodes(targets) if not isinstance(node, Overview)}
            for overview in sorted(rows.overviews, key=lambda item: item.level):
                below = tuple(edge for edge in rows.summarizes if edge.source_id == overview.id)
                holds = all(name in state.graphs and state.versions[name] <= as_of for name in overview.documents)
                if holds and {edge.target_id for edge in below} <= there.keys() | nodes:
                    there.setdefault(overview.id, (overview, below))
            self._put(replace(state, overviews=there))
            return sorted({item.id for item in rows.overviews} & there.keys())

    # ── questions ────────────────────────────────────────────────────────────────────────────

    def keep(self, question: Question) -> None:
        write_checks.check_question(question)
        if question.id != question_id(self._namespace, question.text):
            raise StoreError("Expected a question's id to be made of namespace and text, got another.")
        if question.is_stale:
            raise StoreError("Expected a fresh question, got a stale one. Ask it again.")
        with self._database.lock:
            segments = {node.id: node for node in self.nodes([cited.segment_id for cited in question.answer.citations])}
            read = [step.node for step in question.answer.trace]
            is_there = self.nodes([node.id for node in read]) == read and all(
                isinstance(node := segments.get(cited.segment_id), Segment)
                and node.text[cited.start - node.start : cited.end - node.start] == cited.quote
                for cited in question.answer.citations
            )
            if not is_there:
                raise DocumentNotFound(
                    "Expected all that was read, got less: something was replaced. Nothing kept; ask again."
                )
            state = self._state
            self._put(replace(state, questions={**state.questions, question.id: question}))

    def forget_question(self, question_id: str) -> None:
        with self._database.lock:
            state = self._state
            if question_id not in state.questions:
                raise QuestionNotFound(f"No question {question_id!r} here. questions() lists those that are.")
            self._put(replace(state, questions={n: q for n, q in state.questions.items() if n != question_id}))

    def _stale(
        self, state: State, documents: set[str], action: Action, *, layers: Collection[str] = ()
    ) -> tuple[dict[str, Question], Counter[str]]:
        """The questions after these documents changed, and for how many each did."""
        counted: Counter[str] = Counter()
        questions = dict(state.questions)
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        for name in sorted(documents):
            for question in list(questions.values()):
                if name not in rests_on(question):
                    continue
                trace = question.answer.trace
                gone = {
                    step.node.id
                    for step in trace
                    if step.node.document_id == name
                    and (action is Action.REPLACED or getattr(step.node, "layer", "") in layers)
                }
                changes = {change.document_id: change for change in question.changes}
                last = changes.get(name)
                if not gone and (action is Action.DEEPENED or (last and last.action is action)):
                    continue
                reads = len(gone) + (last.reads if last else 0)
                changes[name] = Change(name, state.graphs[name].document.key, action, now, reads)
                answer = replace(question.answer, trace=tuple(step for step in trace if step.node.id not in gone))
                in_order_of_keys = tuple(sorted(changes.values(), key=lambda change: change.document_key))
                questions[question.id] = replace(question, answer=answer, changes=in_order_of_keys)
                counted[name] += 1
        return questions, counted


def with_graph(state: State, graph: DocumentGraph) -> State:
    """The state with this document, as of its next version."""
    versions = {**state.versions, graph.document.id: state.version + 1}
    return replace(state, graphs={**state.graphs, graph.document.id: in_order(graph)}, versions=versions)


def in_order(graph: DocumentGraph) -> DocumentGraph:
    """Embeddings in a form that stays, whatever the caller does with its arrays."""
    mentions = sorted(graph.mentions, key=lambda item: (item.start, item.end, item.entity_id, item.kind))
    annotations = sorted(graph.annotations, key=lambda item: (item.layer, item.index))
    embeddings = graph.segment_embeddings.copy()
    return replace(graph, mentions=tuple(mentions), annotations=tuple(annotations), segment_embeddings=embeddings)


def with_points(graph: DocumentGraph, new: DocumentGraph, layers: Collection[str]) -> DocumentGraph:
    """The document with the new points in place of those of these layers."""
    kept = [place for place, point in enumerate(graph.points) if point.layer not in layers]
    points = [(graph.points[place], graph.point_embeddings[place]) for place in kept]
    points += list(zip(new.points, new.point_embeddings, strict=True))
    points.sort(key=lambda pair: (pair[0].layer != "points", pair[0].level, pair[0].index))
    ids = {graph.points[place].id for place in kept}
    return replace(
        graph,
        points=tuple(point for point, _ in points),
        point_embeddings=np.array([row for _, row in points]),
        summarizes=(*(edge for edge in graph.summarizes if edge.source_id in ids), *new.summarizes),
    )


def of_kind(graph: DocumentGraph, kind: str) -> tuple[Mention, ...]:
    return tuple(mention for mention in graph.mentions if mention.kind == kind)


def with_relations(graph: DocumentGraph, sources: Sequence[tuple[DocumentGraph, bool]]) -> DocumentGraph:
    """The document with the relations of these; of those that are new (True) both ends must be mentioned."""
    named = {(mention.segment_id, mention.entity_id) for mention in graph.mentions}
    rows: dict[str, tuple[Relation, Vector]] = {}
    vectors: dict[str, Vector] = {}
    for source, is_new in sources:
        vectors |= dict(zip(source.ends, source.end_embeddings, strict=False))
        for relation, row in zip(source.relations, source.relation_embeddings, strict=False):
            if {(relation.segment_id, relation.source_id), (relation.segment_id, relation.target_id)} <= named:
                rows.setdefault(relation.id, (relation, row))
            elif is_new:
                raise StoreError("Expected relations of entities that their segment mentions, got another.")
    relations = tuple(relation for relation, _ in rows.values())
    nothing = np.zeros((0, 0), np.float32)
    return replace(
        graph,
        relations=relations,
        relation_embeddings=np.stack([row for _, row in rows.values()]) if rows else nothing,
        end_embeddings=np.stack([vectors[end] for end in ends_of(relations)]) if rows else nothing,
    )


def without_overviews(state: State, documents: set[str]) -> State:
    """The state without the overviews that rest on these documents."""
    gone = {name for name, (item, _) in state.overviews.items() if not documents.isdisjoint(item.documents)}
    return without(state, gone, documents)


def with_above(state: State, gone: set[str]) -> set[str]:
    """These overviews, and all that lies over them."""
    above = {
        name for name, (_, below) in state.overviews.items() if not gone.isdisjoint(edge.target_id for edge in below)
    }
    return gone if above <= gone else with_above(state, gone | above)


def without(state: State, gone: set[str], changed: set[str]) -> State:
    """The state without these overviews; questions for which they were read say so."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    questions = dict(state.questions)
    for question in list(questions.values()):
        changes = {change.document_id: change for change in question.changes}
        for step in question.answer.trace:
            if step.node.id not in gone or not isinstance(step.node, Overview):
                continue
            name = min(step.node.documents, key=lambda item: (item not in changed, item))
            last = changes.get(name, Change(name, state.graphs[name].document.key, Action.DEEPENED, now, 0))
            changes[name] = replace(last, reads=last.reads + 1)
        left = tuple(step for step in question.answer.trace if step.node.id not in gone)
        in_order_of_keys = tuple(sorted(changes.values(), key=lambda change: change.document_key))
        answer = replace(question.answer, trace=left)
        questions[question.id] = replace(question, answer=answer, changes=in_order_of_keys)
    overviews = {name: item for name, item in state.overviews.items() if name not in gone}
    return replace(state, overviews=overviews, questions=questions)


def rests_on(question: Question) -> set[str]:
    answer = question.answer
    cited = {citation.document_id for citation in answer.citations}
    read = {name for step in answer.trace for name in getattr(step.node, "documents", [step.node.document_id])}
    return cited | read | {item.document_id for item in question.changes}
