"""``Reading``: runs a strategy on a question within its limits, and returns the answer with citations.

It holds no algorithm of its own: it runs the strategy, checks the limits after each forward pass, and records the
trace. Invariants: the trace holds exactly the nodes that the session read, in order; a step names the nodes that were
dropped before it. If the nodes that were read do not support an answer, the answer says what was searched for, or who
else said it (``refusal``); a strategy that follows a paper answers as the paper does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from memgraph_rag.answering.answer_style import WrittenAnswer, write_answer
from memgraph_rag.answering.as_of import GraphAsOf, SearchWithin
from memgraph_rag.answering.asked import Asked
from memgraph_rag.answering.copying import can_copy
from memgraph_rag.answering.days_meant import asks_when, tell_days
from memgraph_rag.answering.evidence import ReadEvidence, add_places, find_warnings, gather_evidence
from memgraph_rag.answering.layer_warnings import find_lacking_layers
from memgraph_rag.answering.question_plans.elapsed import find_elapsed
from memgraph_rag.answering.question_plans.hops import has_name
from memgraph_rag.answering.question_plans.part_reading import PartReading, ask_session, cite_value, finish
from memgraph_rag.answering.question_plans.plan_makers import MakePlans, ModelPlans, RulePlans
from memgraph_rag.answering.question_plans.solving import Solved, follow_hops, solve
from memgraph_rag.answering.question_plans.values import holds, normalise_words
from memgraph_rag.answering.refusal import NOTHING_FOUND, Refusal, RefusalRules, describe_parts, describe_search
from memgraph_rag.answering.snapshot import GraphSnapshot
from memgraph_rag.answering.strategy_passes import read_passes
from memgraph_rag.answering.what_holds import NEVER_TOLD, STRATEGY, answer_from_turns, trace_turns
from memgraph_rag.contracts import (
    Extract,
    FindPhrases,
    GraphReader,
    GraphStore,
    Models,
    ReadingContext,
    ReadingSession,
    Strategy,
    TurnJudge,
)
from memgraph_rag.display import show
from memgraph_rag.errors import QuestionError, WindowExceeded
from memgraph_rag.facts.fact_search import FactSearch
from memgraph_rag.facts.told import Told
from memgraph_rag.ingestion.given_answers import GivenAnswers
from memgraph_rag.lexical.names import ngrams
from memgraph_rag.types import (
    Answer,
    AnswerStyle,
    AnswerWarning,
    Extent,
    Limits,
    Node,
    Overview,
    Part,
    Step,
    StopReason,
    Usage,
    WarningKind,
    entity_id,
)

_TITLES = 8  # titles that a question may name
_MOST_PLANNED = 500  # characters of a question that is taken apart: patterns and parser bear no long text

ENOUGH_TO_TELL = 5
"""Number of nodes after which the reading stops if no node is about the question."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What a strategy read, why it stopped, the evidence in it, and why it gives no answer."""

    trace: list[Step]
    stop: StopReason | None
    evidence: ReadEvidence
    refusal: Refusal | None


class Reading:
    """Answers questions from one store.

    Args:
        answers: stores the sentences of each answer, to recognise them when they are added later.
        checks_speaker: whether to refuse an answer if another speaker than the one in the question said it.
        checks_names: whether to refuse an answer if no node that was read has the names of the question, unless the
            nodes are very similar to the question.
        remark: returns the remarks within an extent that the model reads together with segments.
        find_judge: returns the judge of turns, for questions about the present.
        extract: extracts relations from segments for a strategy; None if nothing may be written.
        find_phrases: finds noun phrases of questions, for the plans of a strategy that ``plans``; None without plans.
    """

    def __init__(
        self,
        store: GraphStore,
        models: Models,
        search: FactSearch,
        answers: GivenAnswers,
        *,
        checks_speaker: bool,
        checks_names: bool,
        remark: Callable[[Sequence[Node], Extent], list[str]],
        find_judge: Callable[[], TurnJudge],
        extract: Extract | None,
        find_phrases: FindPhrases | None,
    ) -> None:
        self._store = store
        self._models = models
        self._search = search
        self._answers = answers
        self._make_rules = partial(RefusalRules, checks_speaker=checks_speaker, checks_names=checks_names)
        self._remark = remark
        self._find_judge = find_judge
        self._extract = extract
        self._find_phrases = find_phrases
        self._trusts_judge = True  # until the judge says that it is not calibrated

    def run(
        self,
        question: str,
        strategy: Strategy,
        limits: Limits,
        extent: Extent,
        style: AnswerStyle = "sentence",
        *,
        snapshot: GraphSnapshot,
        asks_turns: bool = False,
    ) -> Generator[Step | Part | str | Answer, None, None]:
        """Yield each step, then pieces of the answer's text, then the ``Answer``.

        A refusal, or evidence that supports no answer, gives no pieces. In an empty memory the ``Answer`` is the only
        item, and no model is called.

        Args:
            limits, style: as for ``Memory.ask``.
            extent: the documents and the period that may be read.
            snapshot: a snapshot of the store. All reads of the question use it.
            asks_turns: whether a question about the present is answered from the turn that holds (``what_holds``), if a
                person told it, in place of the strategy.
        """
        if not snapshot.count_documents():
            yield _answer_empty_memory(question, strategy, self._store.namespace)
            return
        plans, begun = self._choose_maker(question, strategy), self._answers.begin()
        asked = Asked(question, strategy, limits, extent, style, snapshot, plans, time.perf_counter(), begun)
        search = self._search.reading(snapshot.graph)
        asks_turns = asks_turns and not (plans and find_elapsed(question))
        told = self._find_told(search, question, extent) if asks_turns else None
        if told is not None:
            yield from self._tell(asked, told)
            return
        graph = GraphAsOf(snapshot.graph, search.select_period(extent)) if extent.has_time else snapshot.graph
        bounded = SearchWithin(search, extent)
        parts = PartReading(
            self._models,
            graph,
            make_context=lambda session: self._context(graph, bounded, extent, session, limits),
            is_spent=lambda trace, usage: asked.find_reached_limit(trace, usage) is not None,
            refuses=lambda part, evidence: self._make_rules(bounded).apply(part, evidence) is not None,
            plans=plans,
        )
        solved = yield from self._solve(asked, graph, bounded, parts)
        if solved is None:
            yield from self._read(asked, graph, bounded, parts)
        else:
            yield from self._give(asked, solved, graph, parts)

    def _read(
        self, asked: Asked, graph: GraphReader, search: SearchWithin, parts: PartReading
    ) -> Generator[Step | Part | str | Answer, None, None]:
        """Yield the steps of the strategy, then the text and the ``Answer`` from what was read, or a refusal."""
        question, rules, plan, written = asked.question, self._make_rules(search), "direct", WrittenAnswer()
        with self._models.language.open_session(question) as session:
            context = self._context(graph, search, asked.extent, session, asked.limits)
            read = yield from self._run_strategy(asked, context, rules, parts)
            trace, evidence, refusal = read.trace, read.evidence, read.refusal
            if asked.plans and refusal is None:
                found = _find_titles(asked.question, search, graph) if has_name(asked.question) else []
                titles = [*evidence.titles.values(), *found]
                written, refusal = yield from self._answer_by_hops(asked, session, evidence, titles, parts, rules)
            if written.text:
                evidence, plan = self._evidence(parts.trace, graph), "hop"
            elif refusal is None:
                written = yield from self._write(asked, session, read)
            trace = parts.trace if asked.plans else trace
            asked_parts = tuple(parts.parts) if parts.parts and asked.has_stored(parts.trace) else ()
            if written.unmarked:
                nodes = [*evidence.segments, *self._find_sources(trace)]
                self._answers.add(written.unmarked, nodes, begun=asked.answers_begun)
            usage = session.usage + parts.usage
            is_spent = asked.find_reached_limit(trace, usage) is not None
            stop = refusal.stop if refusal else read.stop or StopReason.EXHAUSTED
            answer = self._make_answer(asked, written, trace, usage, evidence, stop)
            yield replace(
                answer,
                text=written.text
                or describe_parts(asked_parts, is_spent=is_spent)
                or (refusal.text if refusal else describe_search(question, trace, graph, search)),
                warnings=(
                    *answer.warnings,
                    *_warn_ungraded(session, trace, answer.model),
                    *find_lacking_layers(asked.strategy, trace, asked.snapshot.graph, asked.extent),
                ),
                parts=asked_parts,
                plan=plan,
            )

    def _run_strategy(
        self, asked: Asked, context: ReadingContext, rules: RefusalRules, parts: PartReading
    ) -> Generator[Step | Part, None, _Read]:
        """Yield the steps of the strategy until it ends, a limit is reached, or nothing is about the question.

        Return what was read, with the refusal in the last case.
        """
        trace: list[Step] = []
        stop: StopReason | None = None
        refusal: Refusal | None = None
        was_checked = not asked.checks
        for steps in read_passes(asked.strategy, asked.question, context):
            trace += steps
            yield from parts.add(steps) if asked.plans else steps
            stop = steps[-1].stop or asked.find_reached_limit(trace, context.session.usage)
            # A question about a whole names nothing of it, so what was read is not like the question.
            was_checked = was_checked or any(isinstance(step.node, Overview) for step in steps)
            if stop is None and not was_checked and len(trace) >= ENOUGH_TO_TELL:
                was_checked, refusal = True, rules.apply(asked.question, self._evidence(trace, context.graph))
            if stop is not None or refusal is not None:
                break
        asked.snapshot.renew()  # a document that was forgotten during the reading must not be quoted
        if not trace:
            refusal = Refusal(StopReason.NOTHING_FOUND, NOTHING_FOUND)
        evidence = self._evidence([] if refusal else trace, context.graph)
        if refusal is None and not was_checked:
            refusal = rules.apply(asked.question, evidence)
        return _Read(trace, stop, evidence, refusal)

    def _write(self, asked: Asked, session: ReadingSession, read: _Read) -> Generator[str, None, WrittenAnswer]:
        """Yield the pieces of an answer and return it; it is empty if what was read does not support one."""
        if asked.checks and read.stop is not StopReason.ANSWERABLE and not _supports(session, read.trace):
            return WrittenAnswer()
        quotes, segments = read.evidence.quotes, read.evidence.segments
        writing = write_answer(session, asked.question, asked.style, quotes)
        if not (asked.checks and asks_when(asked.question)):
            return (yield from writing)
        if not any(segment.time for segment in segments):
            return tell_days((yield from writing), segments)
        written = tell_days(finish(writing), segments)
        yield written.text
        return written

    def _choose_maker(self, question: str, strategy: Strategy) -> MakePlans | None:
        """Return the maker of a question's plans; None if its strategy does not plan, or if it is longer than usual."""
        if len(question) > _MOST_PLANNED or not getattr(strategy, "plans", False):
            return None
        if planner := getattr(strategy, "planner", None):
            return ModelPlans(planner)
        return RulePlans(self._find_phrases) if self._find_phrases else None

    def _solve(
        self, asked: Asked, graph: GraphReader, search: SearchWithin, parts: PartReading
    ) -> Generator[Step | Part, None, Solved | None]:
        """Yield the steps and the parts of a plan whose values code puts together, and return its answer.

        None if the question has no such plan, if a value is missing, or if the values must not be quoted.
        """
        if asked.plans is None:
            return None
        solving = solve(asked.question, asked.plans, lambda: _find_titles(asked.question, search, graph), parts.ask)
        solved = yield from solving
        if solved is None or not asked.has_stored(parts.trace):
            return None
        refusal = self._make_rules(search).apply(asked.question, self._evidence(parts.trace, graph))
        return solved if refusal is None else None

    def _answer_by_hops(
        self,
        asked: Asked,
        session: ReadingSession,
        evidence: ReadEvidence,
        titles: Sequence[str],
        parts: PartReading,
        rules: RefusalRules,
    ) -> Generator[Step | Part | str, None, tuple[WrittenAnswer, Refusal | None]]:
        """Yield the new steps, the parts and the text of an answer for which phrases of the question were asked first.

        Return the answer, or the refusal if what was read for the last part does not support one. Both are empty if no
        phrase gave a name, if a limit is reached, if the model says Yes or No although the question asks for a thing,
        or if what was read was forgotten meanwhile.
        """
        assert asked.plans is not None
        rewritten, nothing = None, (WrittenAnswer(), None)
        with suppress(WindowExceeded):
            rewritten = yield from follow_hops(
                asked.question,
                titles,
                asked.plans,
                lambda hop: ask_session(session, hop, evidence.quotes),
                "\n".join([*evidence.titles.values(), *(segment.text for segment in evidence.segments)]),
                parts,
                lambda value: bool(
                    asked.snapshot.graph.entities([entity_id(self._store.namespace, name) for name in ngrams(value)])
                ),
            )
        if rewritten is None or asked.find_reached_limit(parts.trace, session.usage + parts.usage) is not None:
            return nothing
        last = yield from parts.answer(rewritten, asked.style)
        short = last.written.short
        if not short or normalise_words(short).partition(" ")[0] in ("yes", "no") or not asked.has_stored(parts.trace):
            return nothing
        refusal = rules.apply(rewritten, last.evidence)
        if refusal is None and (
            holds(asked.question, short) or not last.holds_value(part.value for part in parts.parts)
        ):
            refusal = Refusal(StopReason.NOTHING_FOUND, NOTHING_FOUND)
        if refusal is not None:
            yield parts.keep(Part(rewritten, ""))
            return WrittenAnswer(), refusal
        part = Part(rewritten, short, cite_value(last.evidence.quotes, rewritten, short))
        cited = last.written.citations if asked.style == "detailed" else part.citations
        citations = parts.cite(cited)
        yield parts.keep(part)
        yield last.written.text
        return replace(last.written, citations=citations), None

    def _give(
        self, asked: Asked, solved: Solved, graph: GraphReader, parts: PartReading
    ) -> Generator[str | Answer, None, None]:
        """Yield the text and the ``Answer`` of a comparison."""
        text = solved.short if asked.style == "short" else solved.text
        yield text
        evidence = self._evidence(parts.trace, graph)
        self._answers.add(text, [*evidence.segments], begun=asked.answers_begun)
        written = WrittenAnswer(text, short=solved.short, citations=parts.cite())
        answer = self._make_answer(asked, written, parts.trace, parts.usage, evidence, StopReason.ANSWERABLE)
        yield replace(answer, parts=tuple(parts.parts), plan=solved.plan)

    def _find_told(self, search: FactSearch, question: str, extent: Extent) -> Told | None:
        """Return what a person told of a question; None if the strategy must read.

        The strategy reads if nothing was told, unless all that is near the question are turns of chats. It also reads
        if the judge is not calibrated, or if the model's window is too small to judge turns.
        """
        if not self._trusts_judge:
            return None
        try:
            told, are_turns = search.find_told(question, extent, self._find_judge)
        except (QuestionError, WindowExceeded):
            return None
        if told is None:
            return None
        self._trusts_judge = told.is_calibrated
        is_certain = told.is_calibrated and (told.is_told or are_turns)
        return told if is_certain and can_copy(self._models.language, question) else None

    def _tell(self, asked: Asked, told: Told) -> Generator[Step | Part | str | Answer, None, None]:
        """Yield the steps, the text and the ``Answer`` from the turn that holds, or a refusal if nothing was told."""
        trace = trace_turns(told)
        if not asked.has_stored(trace):  # a turn was forgotten while the judge read
            trace = ()
        yield from trace
        written, usage = WrittenAnswer(), told.usage
        if trace:
            written, cost = yield from answer_from_turns(self._models.language, asked.question, asked.style, told)
            self._answers.add(written.text, [step.node for step in trace], begun=asked.answers_begun)
            usage += cost
        evidence = self._evidence(trace, asked.snapshot.graph)
        stop = StopReason.ANSWERABLE if written.text else StopReason.NOTHING_FOUND
        answer = self._make_answer(asked, written, trace, usage, evidence, stop)
        yield replace(answer, text=answer.text or NEVER_TOLD, strategy=STRATEGY)

    def _make_answer(
        self,
        asked: Asked,
        written: WrittenAnswer,
        trace: Sequence[Step],
        usage: Usage,
        evidence: ReadEvidence,
        stop: StopReason,
    ) -> Answer:
        """Return an answer, with places of citations, and warnings for claims that the evidence does not hold."""
        return Answer(
            question=asked.question,
            text=written.text,
            abstained=not written.text,
            stop_reason=stop,
            citations=add_places(written.citations, asked.snapshot.graph),
            trace=tuple(trace),
            usage=replace(usage, seconds=asked.seconds),
            strategy=asked.strategy.name,
            model=self._models.language.name,
            warnings=tuple(find_warnings(written.text, written.citations, evidence)),
            short=written.short,
        )

    def measure_relevance(self, question: str, trace: Sequence[Step]) -> float:
        """Return how relevant the nodes of a trace are to a question, as ``Quotes.measure_relevance`` does.

        Below 0 ``ask`` abstains. It is infinite if the embedder cannot tell, minus infinity if the nodes have no words.
        """
        return self._make_rules(SearchWithin(self._search, Extent())).measure_relevance(
            question, self._evidence(trace, self._store)
        )[0]

    def _context(
        self, graph: GraphReader, search: SearchWithin, extent: Extent, session: ReadingSession, limits: Limits
    ) -> ReadingContext:
        """Return the graph, search, session and limits that a strategy may use."""
        return ReadingContext(
            graph=graph,
            search=search,
            session=session,
            embedder=self._models.embedder,
            limits=limits,
            documents=extent.documents,
            extract=self._extract,
            remark=lambda nodes: self._remark(nodes, extent),
        )

    def _evidence(self, trace: Sequence[Step], graph: GraphReader) -> ReadEvidence:
        return gather_evidence(trace, graph, self._models.embedder)

    def _find_sources(self, trace: Sequence[Step]) -> list[Node]:
        """Return the nodes of the trace that are sources of sentences: segments, and points that are no longer stored.

        A point is text of the model, so the source of its sentences is its segments. If its document was forgotten
        during the reading, only the point is left.
        """
        points = {step.node.id: step.node for step in trace if step.node.level}
        stored = {node.id: node for node in self._store.nodes(sorted(points))} if points else {}
        gone = (node for node_id, node in points.items() if stored.get(node_id) != node)
        return [*(step.node for step in trace if not step.node.level), *gone]


def _find_titles(question: str, search: SearchWithin, graph: GraphReader) -> list[str]:
    """Return the titles of the documents that a search for a question finds first."""
    found = search.find(question, k=_TITLES)
    return [record.title for record in graph.documents(sorted({each.segment.document_id for each in found}))]


def _answer_empty_memory(question: str, strategy: Strategy, namespace: str) -> Answer:
    """Return the answer of an empty memory. It names no model, because no model was called."""
    text = (
        f'Namespace {show(namespace)} of this memory is empty. Add documents first: add(…), or "memgraph-rag add FILE".'
    )
    return Answer(question, text, True, StopReason.NOTHING_FOUND, (), (), Usage(), strategy.name, "")


def _warn_ungraded(session: ReadingSession, trace: Sequence[Step], model: str) -> Iterator[AnswerWarning]:
    """Yield a warning if the P(Yes) values of the trace come from words of the model, not from probabilities."""
    if any(step.p_yes is not None for step in trace) and not session.is_graded:
        yield AnswerWarning(WarningKind.UNGRADED_YES, model)


def _supports(session: ReadingSession, trace: Sequence[Step]) -> bool:
    """Return whether the model's P(Yes) allows an answer from the nodes that were read.

    The largest P(Yes) of all steps counts, because P(Yes) falls with the number of texts around the evidence. Without a
    calibration the result is True.
    """
    calibration = session.calibration
    if calibration is None or not calibration.unsupported_below:
        return True
    probabilities = [step.p_yes for step in trace if step.p_yes is not None]
    return max(probabilities or [session.probability_of_yes()]) >= calibration.unsupported_below
