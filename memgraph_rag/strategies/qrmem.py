"""QRMeM: follow relations from the question's entities as long as the model says that something is missing.

The graph guides the reading; only segments are read. The module knows graph, search, session and embedder by their
contracts. Invariants: a segment is read at most once; the first segments, those of the question's entities, are never
dropped from the window; a relation is followed at most once.

The paper has three variants. KN, the navigation, follows the relation nearest to what is missing. TE, the entity trial,
reads segments that name what the model asks for. GES, the graph expansion search, follows relations nearest to the
question, without reading, and writes one better query from them.

Source: QRMeM (EMNLP Findings 2024), algorithm 1 and appendix E; ``docs/decisions`` decides what it leaves open. Its
code was never released.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import ClassVar, Literal, Protocol, get_args

from memgraph_rag.contracts import ReadingContext, query_vectors
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.lexical.names import normalise
from memgraph_rag.strategies.flat import Chosen, read_in_order
from memgraph_rag.strategies.frontier import MOST_NAMING, Finding, MentionFrontier, RelationFrontier
from memgraph_rag.strategies.reflection import ASKED_NAMES, MISSING_NAMES, ask, judge_reading
from memgraph_rag.strategies.token_budget import start_set
from memgraph_rag.strategies.working_set import WorkingSet
from memgraph_rag.types import Segment, Step, StopReason, entity_id

Variant = Literal["KN", "TE", "GES"]
"""How the reading goes on: navigation, entity trial or graph expansion search."""

_TAKEN_BY: Mapping[str, tuple[Variant, ...]] = {
    **dict.fromkeys(("most_tokens", "start_tokens", "reflects"), ("KN", "TE")),
    **dict.fromkeys(("extracts_first", "updates", "open_entities"), ("KN",)),
}
"""The variants that take an argument; all take the others."""

_LEAST_COSINE = 0.3  # between the question and a relation that the expansion follows
_MOST_EXPANDED = 5  # results of the expansion's query that are read
_MOST_FOUND = 32  # results of a search in place of segments of entities
_MOST_NAMES = 12  # the last current entities in a query: the embedder reads no long list

_ELABORATE = (
    "These facts are known:\n{facts}\n\nWrite one sentence that says what must be found to answer the question, with "
    "the names that these facts add."
)


class _Guide(Protocol):
    """A guide that finds the next segments of a reading."""

    def begin(self, read: Collection[str]) -> None:
        """Prepare for a reading whose first segments, with these ids, were read."""
        ...

    def find(self, reason: str, read: Collection[str]) -> list[Finding]:
        """Return unread segments about what is missing, in the order of reading; empty if there are none."""
        ...


class _Task:
    """A question with the names that the model lists for it, and the context in which it is answered.

    Args:
        asks_names: whether the model lists the names; it costs one reply.
    """

    def __init__(self, question: str, context: ReadingContext, *, asks_names: bool) -> None:
        self.question = question
        self.context = context
        self._names = ask(context.session, ASKED_NAMES, retries=0) if asks_names else ""  # it may have no names

    def find_entities(self) -> list[str]:
        """Return the ids of the stored entities of the question: those that it names, then those of the model's names.

        Source: QRMeM, algorithm 1, the set E_s.
        """
        named = self.context.search.find_named_entities(self.question)
        return list(dict.fromkeys([*named, *_find_listed(self._names, self.context)]))


class Qrmem:
    """QRMeM's reading by one of its three variants.

    KN and TE read all segments that name entities of the question, and then what is missing; GES reads the results of
    one query.

    Args:
        variant: KN is the reflection-based navigation of algorithm 1.
        rounds: the largest number of rounds after the first segments (the trials of figure 4); for GES, of relations.
        most_tokens: most tokens of segments in the window (L of the paper). KN and TE.
        start_tokens: most tokens of the first segments. The default is ``most_tokens``, as in the paper: the first
            segments may fill the window, and then nothing is added. KN and TE.
        asks_names: whether the model lists the names of the question, in addition to those of the recognizer.
        reflects: whether the next relation's query contains what the model says is missing; the model's judgement ends
            the reading in both cases. KN and TE.
        extracts_first: whether entities and relations that bear on the question are extracted from the first segments
            before the model is asked, if ``extract`` is given. It costs a page of generated text. The paper: True, from
            all segments, for each question. KN.
        updates: how often relations that matter to the question are extracted from the read segments, if ``extract`` is
            given. Each time costs a page of generated text. With 0 the graph is the paper's initialisation, built
            before the question, with a pool of questions only if ``RelationsLayer`` got one. KN.
        open_entities: whether to follow relations to entities that only a language model found. KN.

    Attributes:
        requires: the layers that the variant reads.
        quotes_unread: whether a step may quote a relation whose segment is not read.

    Raises:
        SettingsError: no variant has this name, or the variant does not take an argument.
    """

    name = "qrmem"
    follows_paper = True
    ablations: ClassVar = {
        "without_update": {"updates": 0},
        "without_open_entities": {"open_entities": False},
        "without_reflection": {"reflects": False},
        "without_navigation": {"rounds": 0},
    }

    def __init__(
        self,
        variant: Variant = "KN",
        *,
        rounds: int = 8,
        most_tokens: int = 4096,
        start_tokens: int | None = None,
        asks_names: bool = True,
        reflects: bool = True,
        extracts_first: bool = False,
        updates: int = 1,
        open_entities: bool = True,
    ) -> None:
        if variant not in get_args(Variant):
            raise SettingsError(
                f"Expected a variant of qrmem out of {', '.join(get_args(Variant))}, got {show(variant)}."
            )
        given = {"most_tokens": most_tokens, "start_tokens": start_tokens, "reflects": reflects, "updates": updates}
        _refuse_arguments(variant, {**given, "extracts_first": extracts_first, "open_entities": open_entities})
        self.requires = ("entities",) if variant == "TE" else ("relations",)
        self.quotes_unread = variant == "GES"
        self._variant = variant
        self._rounds = rounds
        self._most_tokens = most_tokens
        self._start_tokens = most_tokens if start_tokens is None else min(start_tokens, most_tokens)
        self._asks_names = asks_names
        self._reflects = reflects
        self._extracts_first = extracts_first
        self._updates = updates
        self._open_entities = open_entities

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield the steps of the variant; see ``Strategy.read``.

        KN and TE yield the first segments, read in one pass, then the segments of each round, each read in its own
        pass. The first segments are all segments that name entities of the question (S_imp), nearest first, as far as
        ``start_tokens`` holds them; without such segments they are the results of a search. There is no step if no
        segment is found or fits.
        """
        task = _Task(question, context, asks_names=self._asks_names)
        entity_ids = task.find_entities()
        if self._variant == "GES":
            yield from _read_expansion(task, entity_ids, self._rounds)
            return
        first = _find_first(task, entity_ids)
        start = start_set(first, context.session, context.limits, most_tokens=self._start_tokens, leaves_room=False)
        if start:
            yield from self._read_rounds(self._guide(task, entity_ids), start, context)

    def _read_rounds(
        self, guide: _Guide, start: Sequence[Segment], context: ReadingContext
    ) -> Iterator[tuple[Step, ...]]:
        """Yield the steps of algorithm 1: ask for the verdict, and read what the guide finds until it is enough."""
        working_set = WorkingSet(context, most_tokens=self._most_tokens)
        steps = working_set.begin(start)
        guide.begin(working_set.read)
        for left in range(self._rounds, -1, -1):
            is_enough, missing = judge_reading(context.session)
            if is_enough:
                yield (*steps[:-1], replace(steps[-1], stop=StopReason.ANSWERABLE))
                return
            if working_set.is_spent:
                yield tuple(steps)
                return
            reason = missing if left and self._reflects else ""
            findings = guide.find(reason, working_set.read) if left else []
            stop = None
            if not findings or not working_set.can_hold(findings[0]):
                stop = StopReason.WINDOW if findings else StopReason.EXHAUSTED if left else StopReason.MAX_ROUNDS
            yield (*steps[:-1], replace(steps[-1], reason=reason, stop=stop))
            if stop is not None:
                return
            steps = list(_take_findings(working_set, findings))

    def _guide(self, task: _Task, entity_ids: Sequence[str]) -> _Guide:
        graph, documents = task.context.graph, task.context.documents
        if self._variant == "TE":
            return _Trial(task, MentionFrontier(graph, entity_ids, documents))
        frontier = RelationFrontier(graph, entity_ids, documents, open_entities=self._open_entities)
        return _Navigation(task, frontier, self._updates, extracts_first=self._extracts_first)


class _Navigation:
    """A guide along the relation nearest to [question; reason; current entities]."""

    def __init__(self, task: _Task, frontier: RelationFrontier, updates: int, *, extracts_first: bool) -> None:
        self._task = task
        self._frontier = frontier
        self._updates_left = updates
        self._extracts_first = extracts_first
        self._searched: set[str] = set()

    def begin(self, read: Collection[str]) -> None:
        """Extract relations from the first segments if ``extracts_first`` says so; new entities become current ones."""
        if self._extracts_first:
            self._update("", read)
            self._frontier.add(self._task.find_entities())

    def find(self, reason: str, read: Collection[str]) -> list[Finding]:
        """Return the segments that the nearest relation leads to, after an update of the graph if updates are left."""
        if self._updates_left:
            self._updates_left -= self._update(reason, read)
        names = [entity.name for entity in self._task.context.graph.entities(self._frontier.entities[-_MOST_NAMES:])]
        wanted = " ".join((self._task.question, reason, ", ".join(names)))
        return self._frontier.next(query_vectors(self._task.context.embedder, [wanted])[0], read)

    def _update(self, reason: str, read: Collection[str]) -> bool:
        """Extract relations from the newly read segments into the graph, and return True; False if there are none."""
        extract = self._task.context.extract
        fresh = [segment_id for segment_id in read if segment_id not in self._searched]
        if extract is None or not fresh:
            return False
        self._searched.update(fresh)
        segments = [node for node in self._task.context.graph.nodes(fresh) if isinstance(node, Segment)]
        extract(f"{self._task.question} {reason}".strip(), segments)
        return True


class _Trial:
    """A guide to the segments that name what the model asks for. The model's names replace the current entities."""

    def __init__(self, task: _Task, frontier: MentionFrontier) -> None:
        self._task = task
        self._frontier = frontier

    def begin(self, read: Collection[str]) -> None:
        """Do nothing: the graph of the trial has no relations."""

    def find(self, reason: str, read: Collection[str]) -> list[Finding]:
        """Return all segments that name what the model wants to look up, nearest first.

        Names without a stored entity keep the current entities.
        """
        context = self._task.context
        self._frontier.entities = _find_listed(ask(context.session, MISSING_NAMES), context) or self._frontier.entities
        vector = query_vectors(self._task.context.embedder, [f"{self._task.question} {reason}".strip()])[0]
        return self._frontier.find_all(vector, read)


def _refuse_arguments(variant: Variant, given: Mapping[str, object]) -> None:
    """Raise ``SettingsError`` for an argument that differs from its default and that the variant does not take."""
    for name, value in given.items():
        if variant not in _TAKEN_BY[name] and value != signature(Qrmem).parameters[name].default:
            raise SettingsError(
                f"Expected {name} for the variant {' or '.join(_TAKEN_BY[name])} of qrmem, got {name}={show(value)} "
                f"for {variant}. Leave it out, or choose another variant."
            )


def _find_listed(names: str, context: ReadingContext) -> list[str]:
    """Return the ids of the stored entities that a list of names holds, with commas between them, in its order.

    An item in lower case is a name, too; the recognizer alone would not find it.
    """
    if not names:
        return []
    ids = [entity_id(context.graph.namespace, normalise(name)) for name in names.split(",")]
    stored = {entity.id for entity in context.graph.entities(sorted(set(ids)))}
    return list(dict.fromkeys([*(each for each in ids if each in stored), *context.search.find_named_entities(names)]))


def _find_first(task: _Task, entity_ids: Sequence[str]) -> Iterable[Segment]:
    """Return the segments of these entities, nearest to the question first; without any the results of a search."""
    question, graph, documents = task.question, task.context.graph, task.context.documents
    vector = query_vectors(task.context.embedder, [question])[0]
    hits = graph.segments_naming(entity_ids, vector=vector, k=MOST_NAMING, documents=documents)
    segments = [node for node in graph.nodes([hit.node_id for hit in hits]) if isinstance(node, Segment)]
    return segments or [
        evidence.segment for evidence in task.context.search.find(question, k=_MOST_FOUND, documents=documents)
    ]


def _read_expansion(task: _Task, entity_ids: Sequence[str], rounds: int) -> Iterator[tuple[Step, ...]]:
    """Yield one step for each result of the expansion's query, best first.

    The first step's reason is the sentence that the model adds to the question. It is empty, and the question alone is
    searched, if no relation is near enough or the model's reply is not usable. The followed relations make no step.
    Reading ends before the first result that does not fit the window.
    """
    question, context = task.question, task.context
    frontier = RelationFrontier(context.graph, entity_ids, context.documents)
    vector = query_vectors(context.embedder, [question])[0]
    facts: list[str] = []
    while len(facts) < rounds:
        edge = frontier.follow(vector)
        if edge is None or edge.score < _LEAST_COSINE:
            break
        facts.append(edge.relation.description)
    listed = "\n".join(f"* {fact}" for fact in facts)
    wanted = ask(context.session, _ELABORATE.format(facts=listed)) if facts else ""
    query = f"{question} {wanted}".strip()
    evidence_list = context.search.find(query, k=_MOST_EXPANDED, documents=context.documents)
    chosen = [Chosen(evidence.segment, evidence.score) for evidence in evidence_list]
    yield from read_in_order(chosen, context, reason=wanted)


def _take_findings(working_set: WorkingSet, findings: Sequence[Finding]) -> Iterator[Step]:
    """Yield the step of the first finding, and of further findings while they fit and the budget is not spent."""
    for place, finding in enumerate(findings):
        if place and (working_set.is_spent or not working_set.can_hold(finding)):
            return
        yield working_set.take(finding)
