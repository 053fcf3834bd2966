"""From a question to an answer: strategy → session → citations, within its limits.

It holds no algorithm; it drives the strategy, checks the limits after every forward pass, and records the trace.
Invariants: the trace holds exactly what the session read, in that order (what was let go again is named by the step
before which it went); a question that what was read does not support gets no answer, but what was looked for or who
said it instead (``refusal``).
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from memgraph_rag.answering.answer_style import Written, write_answer
from memgraph_rag.answering.as_of import GraphAsOf, SearchWithin
from memgraph_rag.answering.evidence import ReadEvidence, gather_evidence, warnings_of
from memgraph_rag.answering.refusal import NOTHING_FOUND, Refusal, RefusalRules, what_was_looked_for
from memgraph_rag.answering.snapshot import GraphSnapshot
from memgraph_rag.contracts import (
    Extract,
    GraphReader,
    GraphStore,
    Models,
    ReadingContext,
    ReadingSession,
    Strategy,
)
from memgraph_rag.display import show
from memgraph_rag.errors import StrategyError
from memgraph_rag.facts.remarks import Remarks
from memgraph_rag.ingestion.given_answers import GivenAnswers
from memgraph_rag.search.segments import SegmentSearch
from memgraph_rag.types import (
    Answer,
    AnswerStyle,
    AnswerWarning,
    Extent,
    Limits,
    Node,
    Step,
    StopReason,
    Usage,
    WarningKind,
)

__all__ = ["ENOUGH_TO_TELL", "Reading"]

ENOUGH_TO_TELL = 5
"""Nodes: where nothing in them is about the question, no more are read."""


class Reading:
    """Answers questions from one store.

    Args:
        answers: takes the sentences of each answer, so that they are known again when they are added.
        checks_speaker: whether what is asked of one speaker of a conversation gets no answer where another said it.
        checks_names: whether a question about what nothing that was read names gets none, where that is not very near.
        extract: what a strategy may have segments searched for relations with; None where nothing may be written.
        remarks: what is read beside segments; None for their text alone.
    """

    def __init__(
        self,
        store: GraphStore,
        models: Models,
        search: SegmentSearch,
        answers: GivenAnswers,
        *,
        answer_tokens: int,
        checks_speaker: bool = True,
        checks_names: bool = True,
        extract: Extract | None = None,
        remarks: Remarks | None = None,
    ) -> None:
        self._store = store
        self._models = models
        self._search = search
        self._answers = answers
        self._answer_tokens = answer_tokens
        self._rules_of = partial(RefusalRules, checks_speaker=checks_speaker, checks_names=checks_names)
        self._extract = extract
        self._remarks = remarks

    def run(
        self,
        question: str,
        strategy: Strategy,
        limits: Limits,
        extent: Extent,
        style: AnswerStyle = "sentence",
        *,
        snapshot: GraphSnapshot,
    ) -> Generator[Step | str | Answer, None, None]:
        """Steps as they are taken, then pieces of the answer, then the answer.

        Args:
            extent: what may be read.
            snapshot: of the store, through which the question is answered.
        """
        if not snapshot.count_documents():
            yield _of_nothing(question, strategy, self._store.namespace)
            return
        started, begun = time.perf_counter(), self._answers.begin()
        search = self._search.reading(snapshot.graph)
        graph = GraphAsOf(snapshot.graph, search.as_of(extent)) if extent.has_time else snapshot.graph
        bounded = SearchWithin(search, extent)
        rules = self._rules_of(bounded)
        trace: list[Step] = []
        stop: StopReason | None = None
        refusal: Refusal | None = None
        was_checked = False
        with self._models.language.open_session(question) as session:
            context = self._context(graph, bounded, extent, session, limits)
            for steps in _passes(strategy, question, context):
                trace += steps
                yield from steps
                stop = steps[-1].stop or _exceeded(limits, trace, session, time.perf_counter() - started)
                if stop is None and not was_checked and len(trace) >= ENOUGH_TO_TELL:
                    was_checked, refusal = True, rules.apply(question, self._evidence(trace, graph))
                if stop is not None or refusal is not None:
                    break
            snapshot.renew()  # nothing is quoted that was forgotten while it was read
            if not trace:
                refusal = Refusal(StopReason.NOTHING_FOUND, NOTHING_FOUND)
            evidence = self._evidence([] if refusal else trace, graph)
            if refusal is None and not was_checked:
                refusal = rules.apply(question, evidence)
            written = Written()
            if refusal is None and (stop is StopReason.ANSWERABLE or _supports(session, trace)):
                written = yield from write_answer(
                    session, question, style, evidence.quotes, max_tokens=self._answer_tokens
                )
            if written.said:
                nodes = [*evidence.segments, *self._nodes_of_own(trace)]
                self._answers.add(written.said, nodes, begun=begun)
            yield Answer(
                question=question,
                text=written.text
                or (refusal.text if refusal else what_was_looked_for(question, trace, graph, bounded)),
                abstained=not written.text,
                stop_reason=refusal.stop if refusal else stop or StopReason.EXHAUSTED,
                citations=written.citations,
                trace=tuple(trace),
                usage=replace(session.usage, seconds=time.perf_counter() - started),
                strategy=strategy.name,
                model=self._models.language.name,
                warnings=(
                    *warnings_of(written.text, written.citations, evidence),
                    *_ungraded(session, trace, self._models.language.name),
                ),
                short=written.short,
            )

    def bearing(self, question: str, trace: Sequence[Step]) -> float:
        """How near what was read comes to a question (``Quotes.bearing``); below 0 ``ask`` abstains."""
        return self._rules_of(SearchWithin(self._search, Extent())).bearing(
            question, self._evidence(trace, self._store)
        )[0]

    def _context(
        self, graph: GraphReader, search: SearchWithin, extent: Extent, session: ReadingSession, limits: Limits
    ) -> ReadingContext:
        """What a strategy reads with."""
        context = ReadingContext(
            graph=graph,
            search=search,
            session=session,
            embedder=self._models.embedder,
            limits=limits,
            documents=extent.documents,
            extract=self._extract,
        )
        if remarks := self._remarks:
            return replace(context, remark=lambda nodes: remarks.of(nodes, extent))
        return context

    def _evidence(self, trace: Sequence[Step], graph: GraphReader) -> ReadEvidence:
        return gather_evidence(trace, graph, self._models.embedder)

    def _nodes_of_own(self, trace: Sequence[Step]) -> list[Node]:
        """The nodes that were read whose words are a source of their own: segments, and points whose segments are gone.

        A point is the model's words; while its segments are there, they tell whose a sentence is. Where its document
        was forgotten during the reading, only the point is left.
        """
        points = {step.node.id: step.node for step in trace if step.node.level}
        stored = {node.id: node for node in self._store.nodes(sorted(points))} if points else {}
        gone = (node for node_id, node in points.items() if stored.get(node_id) != node)
        return [*(step.node for step in trace if not step.node.level), *gone]


def _of_nothing(question: str, strategy: Strategy, namespace: str) -> Answer:
    """What an empty memory says; no model was asked, so none is named."""
    text = (
        f'Namespace {show(namespace)} of this memory is empty. Add documents first: add(…), or "memgraph-rag add FILE".'
    )
    return Answer(question, text, True, StopReason.NOTHING_FOUND, (), (), Usage(), strategy.name, "")


def _passes(strategy: Strategy, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
    """Yield the steps of each pass of a strategy.

    Raises:
        StrategyError: it gave something else than steps, each with a node that was read.
    """
    try:
        passes = strategy.read(question, context)
    except StopIteration as exc:
        raise _no_steps(strategy, "StopIteration") from exc
    if not isinstance(passes, Iterable):
        raise _no_steps(strategy, f"a {type(passes).__name__}")
    for steps in passes:
        if not isinstance(steps, tuple) or not steps:
            raise _no_steps(strategy, show(steps))
        for step in steps:
            if not isinstance(step, Step) or not isinstance(step.node, Node):
                raise _no_steps(strategy, f"{show(step)} among them")
        yield steps


def _no_steps(strategy: Strategy, got: str) -> StrategyError:
    return StrategyError(
        f"Expected tuples of at least one Step with its node from strategy {show(strategy.name)}, got {got}. Mend the "
        "strategy's read, or use another strategy.",
        name=strategy.name,
    )


def _ungraded(session: ReadingSession, trace: Sequence[Step], model: str) -> Iterator[AnswerWarning]:
    """That the trace's P(Yes) are words, where they are."""
    if any(step.p_yes is not None for step in trace) and not session.is_graded:
        yield AnswerWarning(WarningKind.UNGRADED_YES, model)


def _supports(session: ReadingSession, trace: Sequence[Step]) -> bool:
    """Whether what was read may support an answer, as far as the model's Yes can tell.

    The largest of all its answers counts: P(Yes) falls with the number of texts that surround the evidence.
    """
    calibration = session.calibration
    if calibration is None or not calibration.unsupported_below:
        return True
    probabilities = [step.p_yes for step in trace if step.p_yes is not None]
    return max(probabilities or [session.probability_of_yes()]) >= calibration.unsupported_below


def _exceeded(limits: Limits, trace: Sequence[Step], session: ReadingSession, seconds: float) -> StopReason | None:
    """The limit that has been reached, if one has."""
    if limits.nodes is not None and len(trace) >= limits.nodes:
        return StopReason.MAX_NODES
    if limits.tokens is not None and session.usage.prompt_tokens >= limits.tokens:
        return StopReason.MAX_TOKENS
    if limits.seconds is not None and seconds >= limits.seconds:
        return StopReason.MAX_SECONDS
    return None
