"""QRMeM: follow relations from the question's entities as long as the model says that something is missing.

The graph guides the reading; only segments are read. The module knows graph, search, session and embedder by their
contracts. Invariants: a segment is read at most once; the first segments, those of the question's entities, are never
dropped from the window; a relation is followed at most once.

Three classes continue in three ways: ``Qrmem`` follows the relation nearest to what is missing (the paper's KN);
``EntityTrial`` reads segments that name what the model asks for (TE); ``GraphExpansion`` follows relations nearest to
the question, without reading, and writes one better query from them (GES).

Source: QRMeM (EMNLP Findings 2024), algorithm 1 and appendix E; ``docs/decisions`` decides what it leaves open. Its
code was never released.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from typing_extensions import override

from memgraph_rag.contracts import Extract, ReadingContext, ReadingSession
from memgraph_rag.strategies.flat import read_in_order
from memgraph_rag.strategies.frontier import Finding, MentionFrontier, RelationFrontier
from memgraph_rag.strategies.reflection import MISSING_NAMES, GeneratedVerdict, Reflection, ask
from memgraph_rag.strategies.token_budget import START_TOKENS, is_spent, start_set
from memgraph_rag.strategies.working_set import WorkingSet
from memgraph_rag.types import Segment, Step, StopReason

__all__ = ["EntityTrial", "GraphExpansion", "Qrmem"]

_ROUNDS = 8
_NAMED = 32  # segments of the question's entities at the start
_MOST_TOKENS = 4096  # of the segments in the window: L of the paper's models
_MOST_NAMES = 12  # the last current entities in a query: the embedder reads no long list

_ELABORATE = (
    "These facts are known:\n{facts}\n\nWrite one sentence that says what must be found to answer the question, with "
    "the names that these facts add."
)


class _Guide(Protocol):
    """A guide that finds the next segments of a reading."""

    def find(self, reason: str, read: Collection[str]) -> list[Finding]:
        """Return unread segments about what is missing, in the order of reading; empty if there are none."""
        ...


class _Judge(Protocol):
    """A judge of whether the read segments are enough, and of what is missing."""

    @property
    def is_enough(self) -> bool: ...

    def hear(self, p_yes: float, /) -> None: ...

    def missing(self) -> str: ...


@dataclass(frozen=True, slots=True)
class _Task:
    """A question, the ids of the entities that it names, and the context in which it is answered."""

    question: str
    entity_ids: Sequence[str]
    context: ReadingContext


class _Navigator(ABC):
    """The common part of KN and TE: read first segments, then the segments that a guide finds.

    Args:
        rounds: the largest number of rounds after the first segments.
        start_tokens: most tokens of the first segments, at most half the window.
    """

    def __init__(self, *, rounds: int = _ROUNDS, start_tokens: int = START_TOKENS) -> None:
        self._rounds = rounds
        self._start_tokens = start_tokens

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield the first segments, read in one pass, then the segments of each round; see ``Strategy.read``.

        A round yields one or more segments, each read in its own pass. The first segments name the entities of the
        question, nearest first, at most 32; without such segments they are the results of a search. There is no step
        if no segment is found or fits.
        """
        task = _Task(question, context.search.named_in(question), context)
        start = start_set(_find_first(task), context.session, context.limits, most_tokens=self._start_tokens)
        judge = self._judge(context.session)
        yield from _read_rounds(self._guide(task, context.extract), start, context, judge, self._rounds)

    @abstractmethod
    def _judge(self, session: ReadingSession) -> _Judge:
        """Return the judge for a session."""

    @abstractmethod
    def _guide(self, task: _Task, extract: Extract | None) -> _Guide:
        """Return the guide for a question."""


class Qrmem(_Navigator):
    """The reflection-based navigation (KN) of algorithm 1.

    Args:
        updates: how often relations that matter to the question are extracted from the read segments, if ``extract`` is
            given. Each time costs a page of generated text. With 0 the graph is the paper's initialisation: it was
            built before the question. Its relations come from a pool of questions only if ``RelationsLayer`` got one;
            ``memgraph-rag evaluate`` builds one for ``qrmem``.
        open_entities: whether to follow relations to entities that only a language model found.
        reflects: whether the next relation's query contains what the model says is missing; the model's judgement ends
            the reading in both cases.
        rounds: as for ``_Navigated``; ``start_tokens`` likewise.
    """

    name = "qrmem"
    requires = ("relations",)
    follows_paper = True
    ablations: ClassVar = {
        "without_update": {"updates": 0},
        "without_open_entities": {"open_entities": False},
        "without_reflection": {"reflects": False},
        "without_navigation": {"rounds": 0},
    }

    def __init__(
        self,
        *,
        rounds: int = _ROUNDS,
        start_tokens: int = START_TOKENS,
        reflects: bool = True,
        updates: int = 1,
        open_entities: bool = True,
    ) -> None:
        super().__init__(rounds=rounds, start_tokens=start_tokens)
        self._reflects = reflects
        self.updates = updates
        self._open_entities = open_entities

    @override
    def _judge(self, session: ReadingSession) -> _Judge:
        return GeneratedVerdict(session, tells_reason=self._reflects)

    @override
    def _guide(self, task: _Task, extract: Extract | None) -> _Guide:
        frontier = RelationFrontier(
            task.context.graph, task.entity_ids, task.context.documents, open_entities=self._open_entities
        )
        return _Navigation(task, frontier, extract, self.updates)


class EntityTrial(_Navigator):
    """The entity trial (TE): the model names what to look up, and segments with these names are read; no relations.

    Args:
        yes_threshold: a Yes counts above this probability; by default the calibration's threshold, else 0.5.
        rounds: as for ``_Navigated``; ``start_tokens`` likewise.
    """

    name = "qrmem_te"
    requires = ("entities",)
    follows_paper = True

    def __init__(
        self, *, yes_threshold: float | None = None, rounds: int = _ROUNDS, start_tokens: int = START_TOKENS
    ) -> None:
        super().__init__(rounds=rounds, start_tokens=start_tokens)
        self._yes_threshold = yes_threshold

    @override
    def _judge(self, session: ReadingSession) -> _Judge:
        return Reflection(session, yes_threshold=self._yes_threshold, most_reasons=self._rounds, request=MISSING_NAMES)

    @override
    def _guide(self, task: _Task, extract: Extract | None) -> _Guide:
        return _Trial(task)


class GraphExpansion:
    """The graph expansion (GES): the nearest relations help the model to write a better query, whose results are read.

    Args:
        rounds: how many relations are followed at most.
        threshold: smallest cosine between the question and a relation that is followed.
        k: how many segments are read.
    """

    name = "qrmem_ges"
    requires = ("relations",)
    follows_paper = True
    quotes_unread = True

    def __init__(self, *, rounds: int = _ROUNDS, threshold: float = 0.3, k: int = 5) -> None:
        self._rounds = rounds
        self._threshold = threshold
        self._k = k

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each result of the better query, best first; see ``Strategy.read``.

        The first step's reason is the sentence that the model adds to the question. It is empty, and the question alone
        is searched, if no relation is near enough or the model's reply is not usable. The followed relations make no
        step. Reading ends before the first result that does not fit the window.
        """
        frontier = RelationFrontier(context.graph, context.search.named_in(question), context.documents)
        vector = context.embedder.embed([question])[0]
        facts: list[str] = []
        while len(facts) < self._rounds:
            edge = frontier.follow(vector)
            if edge is None or edge.score < self._threshold:
                break
            facts.append(edge.relation.description)
        wanted = (
            ask(context.session, _ELABORATE.format(facts="\n".join(f"* {fact}" for fact in facts))) if facts else ""
        )
        evidence_list = context.search.find(f"{question} {wanted}".strip(), k=self._k, documents=context.documents)
        steps = read_in_order([(evidence.segment, evidence.score) for evidence in evidence_list], context)
        for place, (step,) in enumerate(steps):
            yield (replace(step, reason=wanted) if place == 0 else step,)


class _Navigation:
    """A guide along the relation nearest to [question; reason; current entities]."""

    def __init__(self, task: _Task, frontier: RelationFrontier, extract: Extract | None, updates: int) -> None:
        self._task = task
        self._frontier = frontier
        self._extract = extract
        self._updates_left = updates
        self._searched: set[str] = set()

    def find(self, reason: str, read: Collection[str]) -> list[Finding]:
        """Return the segments that the nearest relation leads to, after an update of the graph (``_update``)."""
        self._update(reason, read)
        names = [entity.name for entity in self._task.context.graph.entities(self._frontier.entities[-_MOST_NAMES:])]
        wanted = " ".join((self._task.question, reason, ", ".join(names)))
        return self._frontier.next(self._task.context.embedder.embed([wanted])[0], read)

    def _update(self, reason: str, read: Collection[str]) -> None:
        """Extract relations from the newly read segments into the graph, if updates are left."""
        fresh = [segment_id for segment_id in read if segment_id not in self._searched]
        if self._extract is None or not self._updates_left or not fresh:
            return
        self._updates_left -= 1
        self._searched.update(fresh)
        segments = [node for node in self._task.context.graph.nodes(fresh) if isinstance(node, Segment)]
        self._extract(f"{self._task.question} {reason}".strip(), segments)


class _Trial:
    """A guide to segments that name what the model asks for. The model's names replace the current entities."""

    def __init__(self, task: _Task) -> None:
        self._task = task
        self._frontier = MentionFrontier(task.context.graph, task.entity_ids, task.context.documents)

    def find(self, reason: str, read: Collection[str]) -> list[Finding]:
        """Return the nearest segment that names what the model asked for; unknown names keep the current entities."""
        wanted = self._task.context.search.named_in(reason) if reason else []
        if wanted:
            self._frontier.entities = wanted
        vector = self._task.context.embedder.embed([f"{self._task.question} {reason}".strip()])[0]
        nearest = self._frontier.next(vector, read)
        return [nearest] if nearest else []


def _find_first(task: _Task) -> Iterable[Segment]:
    """Return the segments of the question's entities, nearest first; without entities the results of a search.

    At most 32 segments are looked at.
    """
    question, graph, documents = task.question, task.context.graph, task.context.documents
    vector = task.context.embedder.embed([question])[0]
    hits = graph.segments_naming(task.entity_ids, vector=vector, k=_NAMED, documents=documents)
    segments = [node for node in graph.nodes([hit.node_id for hit in hits]) if isinstance(node, Segment)]
    return segments or [
        evidence.segment for evidence in task.context.search.find(question, k=_NAMED, documents=documents)
    ]


def _read_rounds(
    guide: _Guide, start: Sequence[Segment], context: ReadingContext, judge: _Judge, rounds: int
) -> Iterator[tuple[Step, ...]]:
    """Yield the steps of algorithm 1: ask the judge, and read what the guide finds until the judge has enough."""
    if not start:
        return
    working_set = WorkingSet(context, most_tokens=_MOST_TOKENS)
    steps = working_set.begin(start)
    for left in range(rounds, -1, -1):
        p_yes = steps[-1].p_yes
        assert p_yes is not None
        judge.hear(p_yes)
        if judge.is_enough:
            yield (*steps[:-1], replace(steps[-1], stop=StopReason.ANSWERABLE))
            return
        if is_spent(context.limits, working_set.count, context.session):
            yield tuple(steps)
            return
        reason = judge.missing() if left else ""
        findings = guide.find(reason, working_set.read) if left else []
        stop = None
        if not findings or not working_set.can_hold(findings[0]):
            stop = StopReason.WINDOW if findings else StopReason.EXHAUSTED if left else StopReason.MAX_ROUNDS
        yield (*steps[:-1], replace(steps[-1], reason=reason, stop=stop))
        if stop is not None:
            return
        steps = list(_take_findings(working_set, findings, context))


def _take_findings(working_set: WorkingSet, findings: Sequence[Finding], context: ReadingContext) -> Iterator[Step]:
    """Yield the step of the first finding, and of further findings while they fit and the budget is not spent."""
    for place, finding in enumerate(findings):
        if place and (
            is_spent(context.limits, working_set.count, context.session) or not working_set.can_hold(finding)
        ):
            return
        yield working_set.take(finding)
