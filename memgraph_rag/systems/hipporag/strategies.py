"""HippoRAG 1 and 2: read the best segments of their searches, started from what the model says of the question.

They know search and session by their contracts. Invariants: what a model replies is mapped exactly, never by likeness:
a name that the question does not hold and a number of no candidate count for nothing; of a reply that names no
candidate nothing is kept.

Otherwise than the released code: facts are chosen by number, and names by the words of the question, in prompts of
ours without examples. A trace says "relation" where a segment was known by stored relations, "names" where by the
recognizer's names, and "similarity" where it was found by the cosine alone.

Sources: HippoRAG (2405.14831), section 2.3, and HippoRAG 2 (2502.14802), section 3.4, "recognition memory". Cost of a
question: one short reply; none of HippoRAG 2 where no relation is stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from memgraph_rag.contracts import ReadingContext, SearchMode
from memgraph_rag.errors import WindowExceeded
from memgraph_rag.lexical.names import is_name, ngrams, normalise
from memgraph_rag.lexical.replies import parse_numbers, says_none
from memgraph_rag.strategies.flat import Chosen, read_in_order
from memgraph_rag.strategies.reflection import ask
from memgraph_rag.strategies.token_budget import may_ask
from memgraph_rag.systems.hipporag.modes import FactWalk, NameWalk
from memgraph_rag.systems.hipporag.name_graph import Edges, check_edges
from memgraph_rag.types import Relation, Step, as_line

_K = 5  # passages that both papers read
_REPLY_TOKENS = 64
_LONGEST_NAME = 8  # words
_LONGEST_FACT = 300  # characters

_WHICH_NAMES = (
    "Which names of people, places, organizations, works, events and dates does the question hold? Reply with the "
    "names only, spelled as in the question, separated by semicolons, or with the word None."
)
_WHICH_FACTS = (
    "These facts are known:\n{facts}\n\nWhich of them help to answer the question? Reply with their numbers only, "
    "separated by commas, or with the word None."
)
# "Ann Lee was born in 1" repeats a fact, and names no number.
_NUMBERS_ALONE = re.compile(r"\W*(?:facts?\W+)?\d+(?:\W+(?:and\W+)?\d+)*\W*", re.IGNORECASE)


class HippoRag:
    """A strategy that reads the segments to which a walk from the names in the question leads.

    Args:
        k: how many are read.
        edges: how edges among names count: "released" or "once" (``name_graph.Edges``).

    Raises:
        SettingsError: ``edges`` is something else.
    """

    name = "hipporag"
    requires = ("triples",)
    follows_paper = True

    def __init__(self, *, k: int = _K, edges: Edges = "released") -> None:
        self._k = k
        self._edges: Edges = check_edges(edges)

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each of the k best segments, best first, until the window is full; see ``Strategy.read``.

        If the model finds no name in the question, or cannot be asked, the recognizer finds the names.
        """
        mode = NameWalk(_ask_names(question, context) or None, edges=self._edges)
        yield from _read(question, context, mode, self._k)


class HippoRag2:
    """A strategy that reads the segments to which a walk from facts leads that the model calls useful for the question.

    Args:
        k: how many are read.
        filters: whether the model chooses among the five facts nearest to the question; else all five count.
        edges: as for ``HippoRag``.

    Raises:
        SettingsError: ``edges`` is something else.
    """

    name = "hipporag2"
    requires = ("triples",)
    follows_paper = True
    ablations: ClassVar = {"without_filter": {"filters": False}}

    def __init__(self, *, k: int = _K, filters: bool = True, edges: Edges = "released") -> None:
        self._k = k
        self._filters = filters
        self._edges: Edges = check_edges(edges)

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each of the k best segments, best first, until the window is full; see ``Strategy.read``.

        If the model chooses no fact, segments come by the cosine. If it cannot be asked, all five facts count.
        """
        descriptions: dict[str, str] = {}

        def choose(facts: Sequence[Relation]) -> tuple[str, ...] | None:
            kept = _recognize_facts(facts, context) if facts else None
            descriptions.update(
                {fact.segment_id: fact.description for fact in reversed(facts) if fact.id in (kept or ())}
            )
            return kept

        mode = FactWalk(choose if self._filters else None, edges=self._edges)
        for (step,) in _read(question, context, mode, self._k):
            yield (replace(step, via=descriptions.get(step.node.id, "")),)


def _ask_names(question: str, context: ReadingContext) -> tuple[str, ...]:
    """Return the names that the model finds in the question; empty if it finds none, and the recognizer is asked."""
    held = set(ngrams(question, _LONGEST_NAME))

    def parse_names(reply: str) -> list[str]:
        normals = (normalise(part) for part in re.split(r"[;,\n]", reply))
        return [normal for normal in dict.fromkeys(normals) if is_name(normal) and normal in held]

    reply = _ask_model(context, _WHICH_NAMES, lambda text: bool(parse_names(text)) or says_none(text))
    return tuple(parse_names(reply or ""))


def _recognize_facts(facts: Sequence[Relation], context: ReadingContext) -> tuple[str, ...] | None:
    """Return the ids of the facts whose numbers the model replies; None, which means all, if it cannot be asked."""
    lines = (f"{number}. {as_line(fact.description)[:_LONGEST_FACT]}" for number, fact in enumerate(facts, 1))

    def parse_choice(reply: str) -> list[int] | None:
        numbers = parse_numbers(reply, len(facts))
        return list(numbers) if numbers is not None and (not numbers or _NUMBERS_ALONE.fullmatch(reply)) else None

    request = _WHICH_FACTS.format(facts="\n".join(lines))
    reply = _ask_model(context, request, lambda text: parse_choice(text) is not None)
    return None if reply is None else tuple(facts[number - 1].id for number in parse_choice(reply) or ())


def _ask_model(context: ReadingContext, request: str, is_usable: Callable[[str], bool]) -> str | None:
    """Return the first usable reply, or an empty text; None if no budget or no room is left to ask."""
    if not may_ask(context.limits, context.session):
        return None
    try:
        return ask(context.session, request, max_tokens=_REPLY_TOKENS, is_usable=is_usable)
    except WindowExceeded:
        return None


def _read(question: str, context: ReadingContext, mode: SearchMode, k: int) -> Iterator[tuple[Step, ...]]:
    """Yield a step for each segment. Its source says how the search found the segment."""

    def find_source(why: Collection[str]) -> str:
        return "relation" if "relations" in why else "names" if "names" in why else "similarity"

    hits = context.search.find(question, k=k, mode=mode, documents=context.documents)
    return read_in_order([Chosen(hit.segment, hit.score, find_source(hit.why)) for hit in hits], context)
