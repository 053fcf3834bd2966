"""From a question to an answer: strategy → session → citations, under one budget.

It holds no algorithm; it drives the strategy, checks the budget after every forward pass, and records the trace.
Invariants: the trace holds exactly what the session read, in that order (what was let go again is named by the step
before which it went); a question that what was read does not support gets no answer, but what was looked for or who
said it instead.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from memgraph_rag.contracts import Extract, GraphStore, Models, ReadingContext, ReadingSession, Search, Strategy
from memgraph_rag.errors import SearchMemoryExceeded, StoreError
from memgraph_rag.strategies.support import segments_under
from memgraph_rag.text.citations import Quotes
from memgraph_rag.text.echoes import answered
from memgraph_rag.text.injection import addresses_model, unsupported_links
from memgraph_rag.types import (
    Answer,
    AnswerWarning,
    Budget,
    Citation,
    Node,
    Segment,
    Step,
    StopReason,
    Usage,
    WarningKind,
    as_line,
)

__all__ = ["ENOUGH_TO_TELL", "NOTHING_FOUND", "Reading"]

logger = logging.getLogger(__name__)

NOTHING_FOUND = "Nothing in memory bears on this question."

ENOUGH_TO_TELL = 5
"""Nodes: where nothing in them is about the question, no more are read."""

_MOST_SUPPORT = 256  # segments that an answer's sentences are looked for in
_LONGEST_QUOTE = 200  # characters of what another speaker said
_MOST_CITED = 16  # of these, the heaviest: their sentences are embedded


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why no answer is asked for, where that is told without the model, and what is said instead."""

    stop: StopReason
    text: str


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What an answer may rest on: segments, heaviest first, keys and titles by document id, and quotable sentences."""

    segments: list[Segment]
    keys: Mapping[str, str]
    titles: Mapping[str, str]
    quotes: Quotes


class Reading:
    """Answers questions from one store.

    Args:
        checks_speaker: whether what is asked of one speaker of a conversation gets no answer where another said it.
        checks_names: whether a question about what nothing that was read names gets none, where that is not very near.
        extract: what a strategy may have segments searched for relations with; None where nothing may be written.
    """

    def __init__(
        self,
        store: GraphStore,
        models: Models,
        search: Search,
        *,
        answer_tokens: int,
        checks_speaker: bool = True,
        checks_names: bool = True,
        extract: Extract | None = None,
    ) -> None:
        self._store = store
        self._models = models
        self._search = search
        self._answer_tokens = answer_tokens
        self._checks_speaker = checks_speaker
        self._checks_names = checks_names
        self._extract = extract

    def run(
        self, question: str, strategy: Strategy, budget: Budget, documents: Sequence[str] | None
    ) -> Generator[Step | str | Answer, None, None]:
        """Steps as they are taken, then pieces of the answer, then the answer; ``documents`` are ids."""
        if not self._store.count_documents():
            yield _of_nothing(question, strategy, self._store.namespace)
            return
        started = time.perf_counter()
        trace: list[Step] = []
        stop: StopReason | None = None
        refusal: _Refusal | None = None
        was_told = False
        with self._models.language.open_session(question) as session:
            context = ReadingContext(
                graph=self._store,
                search=self._search,
                session=session,
                embedder=self._models.embedder,
                budget=budget,
                documents=documents,
                extract=self._extract,
            )
            for steps in strategy.read(question, context):
                trace += steps
                yield from steps
                stop = steps[-1].stop or _exceeded(budget, trace, session, time.perf_counter() - started)
                if stop is None and not was_told and len(trace) >= ENOUGH_TO_TELL:
                    was_told, refusal = True, self._refusal(question, self._evidence(trace), documents)
                if stop is not None or refusal is not None:
                    break
            text = ""
            if not trace:
                refusal = _Refusal(StopReason.NOTHING_FOUND, NOTHING_FOUND)
            evidence = self._evidence([] if refusal else trace)
            if refusal is None and not was_told:
                refusal = self._refusal(question, evidence, documents)
            if refusal is None and (stop is StopReason.ANSWERABLE or _supports(session, trace)):
                for piece in session.answer(max_tokens=self._answer_tokens):
                    text += piece
                    yield piece
            text = text.strip()
            if text:
                self._remember(text, evidence.segments, trace)
            citations = evidence.quotes.cite(question, text) if text else ()
            yield Answer(
                question=question,
                text=text or (refusal.text if refusal else self._looked_for(question, trace)),
                abstained=not text,
                stop_reason=refusal.stop if refusal else stop or StopReason.EXHAUSTED,
                citations=citations,
                trace=tuple(trace),
                usage=replace(session.usage, seconds=time.perf_counter() - started),
                strategy=strategy.name,
                model=self._models.language.name,
                warnings=tuple(_warnings(text, citations, evidence)),
            )

    def bearing(self, question: str, trace: Sequence[Step]) -> float:
        """How near what was read comes to a question (``Quotes.bearing``); below 0 ``ask`` abstains."""
        return self._bearing(question, self._evidence(trace))[0]

    def _refusal(self, question: str, evidence: _Evidence, documents: Sequence[str] | None) -> _Refusal | None:
        """Why what was read gives no answer, whatever the model's Yes.

        Where nothing is about the question, a Yes is from what the model knew before. Where what was read is about
        another of the same kind, or said by another than who is asked about, text and question are too near to one
        another for it.
        """
        bearing, unnamed = self._bearing(question, evidence)
        if bearing < 0:
            near = self._search.names_meant(unnamed, [one.text for one in evidence.segments]) if unnamed else []
            return _Refusal(StopReason.NOTHING_FOUND, _not_named(unnamed, near) if unnamed else NOTHING_FOUND)
        speakers = {one.speaker for one in evidence.segments}  # none where what was read was forgotten meanwhile
        if not self._checks_speaker or not speakers or "" in speakers:
            return None
        with suppress(SearchMemoryExceeded):
            if found := self._search.said_by_another(question, documents=documents):
                return _Refusal(StopReason.ANOTHER_SPEAKER, _said_instead(*found, evidence.segments))
        return None

    def _bearing(self, question: str, evidence: _Evidence) -> tuple[float, list[str]]:
        """How near the evidence comes to a question, and the question's names that do not stand in it.

        A title counts as read with its document's segments.
        """
        quotes, titles = evidence.quotes, evidence.titles
        if not self._checks_names or not quotes.can_tell:
            return quotes.bearing(question), []
        texts = [f"{titles.get(segment.document_id, '')}\n{segment.text}" for segment in evidence.segments]
        held = self._search.names_held(question, texts)
        unnamed = [name for name, is_held in held.items() if not is_held]
        return quotes.bearing(question, unnamed=len(unnamed) / len(held) if held else 0.0), unnamed

    def _looked_for(self, question: str, trace: Sequence[Step]) -> str:
        """One sentence: what was read about, and what the model looked for next."""
        named: list[str] = []
        with suppress(SearchMemoryExceeded):  # of a namespace too large for a graph search the names are not told
            named = self._search.named_in(question)
        entities = self._store.entities(named) if named else []
        about = f" about {_listed([entity.name for entity in entities])}" if entities else ""
        reasons = list(dict.fromkeys(step.reason.rstrip(".") for step in trace if step.reason))
        further = f"; looked for: {'; '.join(reasons)}" if reasons else ""
        nodes = "node" if len(trace) == 1 else "nodes"
        return f"Nothing in memory answers this: read {len(trace)} {nodes}{about}{further}."

    def _remember(self, text: str, support: Sequence[Segment], trace: Sequence[Step]) -> None:
        """Have the store know the answer's sentences again; an answer is worth telling where it cannot."""
        if self._store.read_only:
            return
        try:
            read = [*support, *self._own(trace)]
            fingerprints = self._store.fingerprints([node.document_id for node in read])
            texts = {one.document_id: one.text_sha256 for one in fingerprints}
            self._store.remember(answered(self._store.namespace, text, read, texts))
        except StoreError as error:
            logger.warning("an answer will not be recognised when it is added: %s", type(error).__name__)

    def _own(self, trace: Sequence[Step]) -> list[Node]:
        """What speaks for itself of what was read: segments, and points that are gone, with all below them.

        A point is the model's words as long as its segments are there to tell whose the sentence is. Of one whose
        document went while it was read nothing else is left that could.
        """
        points = {step.node.id: step.node for step in trace if step.node.level}
        there = {node.id: node for node in self._store.nodes(sorted(points))}
        gone = (node for one, node in points.items() if there.get(one) != node)
        return [*(step.node for step in trace if not step.node.level), *gone]

    def _evidence(self, trace: Sequence[Step]) -> _Evidence:
        """The segments under what was read, and what is told of their documents."""
        support = segments_under(trace, self._store, most=_MOST_SUPPORT) if trace else []
        segments = [segment for segment, _ in support]
        records = self._store.documents(sorted({segment.document_id for segment in segments})) if segments else []
        keys = {record.id: record.key for record in records}
        quotes = Quotes(support[:_MOST_CITED], keys=keys, embedder=self._models.embedder)
        return _Evidence(segments, keys, {record.id: record.title for record in records}, quotes)


def _warnings(text: str, citations: Sequence[Citation], evidence: _Evidence) -> Iterator[AnswerWarning]:
    """What speaks against trusting an answer: links that no source holds, documents that address the model.

    Of each document the first such line is named.
    """
    for link in unsupported_links(text, [cited.quote for cited in citations]):
        yield AnswerWarning(WarningKind.UNSUPPORTED_LINK, link)
    named: set[str] = set()
    for segment in evidence.segments:
        if segment.document_id in evidence.keys.keys() - named and (line := addresses_model(segment.text)):
            named.add(segment.document_id)
            yield AnswerWarning(WarningKind.ADDRESSES_MODEL, line, evidence.keys[segment.document_id])


def _of_nothing(question: str, strategy: Strategy, namespace: str) -> Answer:
    """What an empty memory says; no model was asked, so none is named."""
    text = f'Namespace {namespace!r} of this memory is empty. Add documents first: add(…), or "memgraph-rag add FILE".'
    return Answer(question, text, True, StopReason.NOTHING_FOUND, (), (), Usage(), strategy.name, "")


def _supports(session: ReadingSession, trace: Sequence[Step]) -> bool:
    """Whether what was read may support an answer, as far as the model's Yes can tell.

    The largest of all its answers counts: P(Yes) falls with the number of texts that surround the evidence.
    """
    known = session.calibration
    if known is None or not known.unsupported_below:
        return True
    told = [step.p_yes for step in trace if step.p_yes is not None]
    return max(told or [session.probability_of_yes()]) >= known.unsupported_below


def _not_named(names: Sequence[str], near: Sequence[str]) -> str:
    """One sentence, and what may have been meant."""
    told = f"Nothing in memory answers this: nothing that was read names {_listed(names, 'or')}."
    return f"{told} Did you mean {_listed(near, 'or')}?" if near else told


def _said_instead(wanted: str, other: str, segments: Sequence[Segment]) -> str:
    """One sentence; it quotes nothing but what was read, with whose documents a kept question goes."""
    nearest = next((segment.text for segment in segments if segment.speaker == other), "")
    said = as_line(nearest)
    told = f': "{said if len(said) <= _LONGEST_QUOTE else said[: _LONGEST_QUOTE - 1] + "…"}"' if said else "."
    return f"Nothing that {wanted} said answers this; what comes nearest was said by another{told}"


def _listed(names: Sequence[str], last: str = "and") -> str:
    """Names as a list in words."""
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _exceeded(budget: Budget, trace: Sequence[Step], session: ReadingSession, seconds: float) -> StopReason | None:
    """The limit that has been reached, if one has."""
    if budget.max_nodes is not None and len(trace) >= budget.max_nodes:
        return StopReason.MAX_NODES
    if budget.max_tokens is not None and session.usage.prompt_tokens >= budget.max_tokens:
        return StopReason.MAX_TOKENS
    if budget.max_seconds is not None and seconds >= budget.max_seconds:
        return StopReason.MAX_SECONDS
    return None
