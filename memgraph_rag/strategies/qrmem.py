"""QRMeM: from the entities of the question along relations, as far as the model says that something is missing.

The graph is only the guide: what is read are segments. It knows graph, search, session and embedder by their
contracts. Invariants: a segment is read at most once; what was read first, for the question's own entities, is never
let go; an edge is followed at most once.

Three ways to go on, one class each: along the relation nearest to what is missing (``Qrmem``, the paper's KN), to
segments of the names that the model asks for (``EntityTrial``, TE), or along relations nearest to the question, without
reading, to one elaborated query (``GraphExpansion``, GES).

Source: QRMeM (EMNLP Findings 2024), algorithm 1 and appendix E; what it leaves open is decided in
``docs/decisions``. Its code was never released.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from typing_extensions import override

from memgraph_rag.contracts import Extract, ReadingContext, ReadingSession
from memgraph_rag.strategies.flat import read_in_order
from memgraph_rag.strategies.frontier import Found, MentionFrontier, RelationFrontier
from memgraph_rag.strategies.reflection import MISSING_NAMES, GeneratedVerdict, Reflection, ask
from memgraph_rag.strategies.token_budget import START_TOKENS, is_spent, start_set
from memgraph_rag.strategies.working_set import Hand
from memgraph_rag.types import Segment, Step, StopReason

__all__ = ["EntityTrial", "GraphExpansion", "Qrmem"]

_ROUNDS = 8
_NAMED = 32  # segments of the question's entities that are looked at
_MOST_TOKENS = 4096  # of nodes in hand: L of the models that the paper used
_NAMES_TOLD = 12  # of the current entities, the last ones: the embedder reads no long list

_ELABORATE = (
    "These facts are known:\n{facts}\n\nWrite one sentence that says what must be found to answer the question, with "
    "the names that these facts add."
)


class _Guide(Protocol):
    """Where a reading goes next."""

    def find(self, reason: str, read: Collection[str]) -> list[Found]:
        """Unread segments for what is missing, in the order of reading; none where there are none."""
        ...


class _Judge(Protocol):
    """Whether what was read is enough, and what is missing."""

    @property
    def is_enough(self) -> bool: ...

    def hear(self, p_yes: float, /) -> None: ...

    def missing(self) -> str: ...


@dataclass(frozen=True, slots=True)
class _Around:
    """A question, the entities that it names, and where to look for what answers it."""

    question: str
    named: Sequence[str]
    context: ReadingContext


class _Navigated(ABC):
    """What KN and TE have in common: a first hand, and a guide that says what is read next.

    Args:
        rounds: how often it goes on at most.
        start_tokens: most tokens of what is read first; half the window where that is less.
    """

    def __init__(self, *, rounds: int = _ROUNDS, start_tokens: int = START_TOKENS) -> None:
        self._rounds = rounds
        self._start_tokens = start_tokens

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """The question's segments in one pass, then segment after segment; see ``Strategy.read``."""
        around = _Around(question, context.search.named_in(question), context)
        start = start_set(_first(around), context.session, context.limits, most_tokens=self._start_tokens)
        judge = self._judge(context.session)
        yield from _reflecting(self._guide(around, context.extract), start, context, judge, self._rounds)

    @abstractmethod
    def _judge(self, session: ReadingSession) -> _Judge:
        """What says whether that is enough."""

    @abstractmethod
    def _guide(self, around: _Around, extract: Extract | None) -> _Guide:
        """What finds the next segments of this question."""


class Qrmem(_Navigated):
    """Reflection-based navigation (KN), as algorithm 1 has it.

    Args:
        updates: how often at most the segments in hand are searched for relations that bear on the question, where
            ``extract`` is given. Each costs a page of writing. Without, the graph is the paper's initialisation: what
            was built before any question, without a pool of questions unless ``RelationsLayer`` was given one;
            ``memgraph-rag evaluate`` has one built for ``qrmem``.
        open_entities: without, no relation is followed to what only a language model found to be an entity.
        reflects: without, what the model says is missing does not enter the query of the next edge; it still ends the
            reading.
        rounds: as for ``_Navigated``; ``start_tokens`` likewise.
    """

    name = "qrmem"
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
    def _guide(self, around: _Around, extract: Extract | None) -> _Guide:
        frontier = RelationFrontier(
            around.context.graph, around.named, around.context.documents, open_entities=self._open_entities
        )
        return _Navigation(around, frontier, extract, self.updates)


class EntityTrial(_Navigated):
    """The model names what to look up, and segments that name it are read (TE); relations play no part.

    Args:
        yes_threshold: the model's Yes counts above this probability; by default the calibration's, else 0.5.
        rounds: as for ``_Navigated``; ``start_tokens`` likewise.
    """

    name = "qrmem_te"

    def __init__(
        self, *, yes_threshold: float | None = None, rounds: int = _ROUNDS, start_tokens: int = START_TOKENS
    ) -> None:
        super().__init__(rounds=rounds, start_tokens=start_tokens)
        self._yes_threshold = yes_threshold

    @override
    def _judge(self, session: ReadingSession) -> _Judge:
        return Reflection(session, yes_threshold=self._yes_threshold, most_reasons=self._rounds, request=MISSING_NAMES)

    @override
    def _guide(self, around: _Around, extract: Extract | None) -> _Guide:
        return _Trial(around)


class GraphExpansion:
    """Relations nearest to the question, hop after hop, make the model write a better query; its finds are read (GES).

    Args:
        rounds: how many relations are followed; less, where none is nearer than ``threshold``.
        threshold: least cosine of a relation and the question.
        k: how many segments are read.
    """

    name = "qrmem_ges"
    quotes_unread = True

    def __init__(self, *, rounds: int = _ROUNDS, threshold: float = 0.3, k: int = 5) -> None:
        self._rounds = rounds
        self._threshold = threshold
        self._k = k

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """One step a segment; see ``Strategy.read``."""
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
    """Along the relation nearest to [question; reason; current entities]."""

    def __init__(self, around: _Around, frontier: RelationFrontier, extract: Extract | None, updates: int) -> None:
        self._around = around
        self._frontier = frontier
        self._extract = extract
        self._updates_left = updates
        self._searched: set[str] = set()

    def find(self, reason: str, read: Collection[str]) -> list[Found]:
        """The segments behind the nearest relation; the graph is updated before."""
        self._update(reason, read)
        names = [entity.name for entity in self._around.context.graph.entities(self._frontier.entities[-_NAMES_TOLD:])]
        wanted = " ".join((self._around.question, reason, ", ".join(names)))
        return self._frontier.next(self._around.context.embedder.embed([wanted])[0], read)

    def _update(self, reason: str, read: Collection[str]) -> None:
        """Have the segments in hand searched for what bears on the question: what is found is in the graph then."""
        fresh = [segment_id for segment_id in read if segment_id not in self._searched]
        if self._extract is None or not self._updates_left or not fresh:
            return
        self._updates_left -= 1
        self._searched.update(fresh)
        segments = [node for node in self._around.context.graph.nodes(fresh) if isinstance(node, Segment)]
        self._extract(f"{self._around.question} {reason}".strip(), segments)


class _Trial:
    """To the segments of what the model asks for; it writes the set of entities anew each time."""

    def __init__(self, around: _Around) -> None:
        self._around = around
        self._frontier = MentionFrontier(around.context.graph, around.named, around.context.documents)

    def find(self, reason: str, read: Collection[str]) -> list[Found]:
        """A segment that names what the model asked for; where it named nothing known, what was current."""
        wanted = self._around.context.search.named_in(reason) if reason else []
        if wanted:
            self._frontier.entities = wanted
        vector = self._around.context.embedder.embed([f"{self._around.question} {reason}".strip()])[0]
        nearest = self._frontier.next(vector, read)
        return [nearest] if nearest else []


def _first(around: _Around) -> Iterable[Segment]:
    """The segments of the question's entities, nearest first; where it names none, those that search finds.

    Of an entity in very many segments the nearest 32 are looked at.
    """
    question, graph, documents = around.question, around.context.graph, around.context.documents
    vector = around.context.embedder.embed([question])[0]
    hits = graph.segments_naming(around.named, vector=vector, k=_NAMED, documents=documents)
    segments = [node for node in graph.nodes([hit.node_id for hit in hits]) if isinstance(node, Segment)]
    return segments or [
        evidence.segment for evidence in around.context.search.find(question, k=_NAMED, documents=documents)
    ]


def _reflecting(
    guide: _Guide, start: Sequence[Segment], context: ReadingContext, judge: _Judge, rounds: int
) -> Iterator[tuple[Step, ...]]:
    """Algorithm 1: ask, and while that is not enough, read what the guide finds for what is missing."""
    if not start:
        return
    hand = Hand(context, most_tokens=_MOST_TOKENS)
    steps = hand.begin(start)
    for left in range(rounds, -1, -1):
        p_yes = steps[-1].p_yes
        assert p_yes is not None
        judge.hear(p_yes)
        if judge.is_enough:
            yield (*steps[:-1], replace(steps[-1], stop=StopReason.ANSWERABLE))
            return
        if is_spent(context.limits, hand.count, context.session):
            yield tuple(steps)
            return
        reason = judge.missing() if left else ""
        findings = guide.find(reason, hand.read) if left else []
        stop = None
        if not findings or not hand.can_hold(findings[0]):
            stop = StopReason.WINDOW if findings else StopReason.EXHAUSTED if left else StopReason.MAX_ROUNDS
        yield (*steps[:-1], replace(steps[-1], reason=reason, stop=stop))
        if stop is not None:
            return
        steps = list(_taken(hand, findings, context))


def _taken(hand: Hand, findings: Sequence[Found], context: ReadingContext) -> Iterator[Step]:
    """The first of these, and further ones while they fit and the budget holds."""
    for place, finding in enumerate(findings):
        if place and (is_spent(context.limits, hand.count, context.session) or not hand.can_hold(finding)):
            return
        yield hand.take(finding)
