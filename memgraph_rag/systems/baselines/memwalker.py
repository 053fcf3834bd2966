"""MemWalker: the model walks down a tree of summaries, and back up if a text does not answer the question.

It knows graph, search and session by their contracts. Invariants: a part of a text is read at most once; what was read
stays in the session, and the summaries on the way stay in the request (the paper's working memory); attention and
embeddings are not used.

As in the paper: the tree is MemWalker's own (layer ``memory_tree``); the model compares the summaries below the present
node, and goes to one of them or back to the node above; it reads the whole text of a part, and says in words whether
the text answers the question; a reply in another form is requested again. Differences from the paper: several documents
are walked as if their roots had one node above them; a way that was left is not offered again, so each walk ends. A
document without a tree is walked by the first words of its segments.

Source: Chen et al., "Walking Down the Memory Maze" (2310.05029), section 3 and appendix; the prompts are ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from memgraph_rag.contracts import GraphReader, ReadingContext, ReadingSession
from memgraph_rag.errors import WindowExceeded
from memgraph_rag.strategies.node_lines import NodeLines
from memgraph_rag.strategies.reflection import ask, judge_reading
from memgraph_rag.strategies.scope import documents_to_walk
from memgraph_rag.strategies.token_budget import take_fitting
from memgraph_rag.systems.baselines.memory_tree import MEMORY_TREE, even_groups, first_words
from memgraph_rag.types import Segment, Step, StopReason

_REASON_TOKENS, _NUMBER_TOKENS = 128, 12
_RETRIES = 2  # of a reply in another form, as in the paper
_SHOWN = 8  # parts of a document without a tree that are shown together
_WHICH = (
    "The parts of the text that can be read next are summed up so:\n{parts}\n\nWhich one is most likely to lead to the "
    "answer? {form} If none of them can, the action is -1."
)
_BEFORE = "What is known of the text so far:\n{summaries}\n\n"
_WITH_REASON = 'First compare them in one sentence. Then write "Action: " and the number.'
_NUMBER_ONLY = 'Write "Action: " and the number only.'
_ACTION = re.compile(r"action\W*?(-?\d{1,4})\b|^\W*?(-?\d{1,4})\b", re.IGNORECASE)


@dataclass(slots=True, eq=False)
class _Part:
    """A node of the tree. A node without children is a part of the text."""

    text: str
    children: list[_Part] = field(default_factory=list["_Part"])
    segment_ids: tuple[str, ...] = ()
    is_left: bool = False
    """Whether the walk has read the part or turned back from it."""


class MemWalker:
    """A strategy that walks from the roots of documents down to parts of the text.

    Args:
        leaves: most parts of the text to read.
        tells_reason: whether the model compares the summaries in a sentence before it chooses, as in the paper.
        keeps_summaries: whether the summaries on the way are shown with each choice, as in the paper.
    """

    name = "memwalker"
    requires = (MEMORY_TREE,)
    follows_paper = True
    ablations: ClassVar = {
        "without_reasoning": {"tells_reason": False},
        "without_working_memory": {"keeps_summaries": False},
    }

    def __init__(self, *, leaves: int = 8, tells_reason: bool = True, keeps_summaries: bool = True) -> None:
        self._leaves = leaves
        self._tells_reason = tells_reason
        self._keeps_summaries = keeps_summaries

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield the steps of each part of the text that the walk reaches; see ``Strategy.read``.

        Without given documents, at most eight take part. Reading ends if the model says that the text answers the
        question, after ``leaves`` parts, or if no way is left. The reason of the first step of a part is its summary.
        """
        lines, before, count = NodeLines(context), None, 0
        roots = [_tree(document_id, context.graph) for document_id in documents_to_walk(question, context)]
        for part in self._walk(_Part("", [root for root in roots if root is not None]), context.session):
            nodes = [node for node in context.graph.nodes(part.segment_ids) if isinstance(node, Segment)]
            nodes = take_fitting(nodes, context.session.tokens_left)
            if not nodes:
                continue
            attention = context.session.append(lines.write(nodes, after=before)).tolist()
            p_yes = context.session.probability_of_yes()
            is_enough, _ = judge_reading(context.session)
            before, count = nodes[-1], count + 1
            stop = StopReason.ANSWERABLE if is_enough else None
            if stop is None and count == self._leaves:
                stop = StopReason.MAX_ROUNDS
            steps = [
                Step(node, 0.0, attended, reason="" if place else part.text)
                for place, (node, attended) in enumerate(zip(nodes, attention, strict=True))
            ]
            yield (*steps[:-1], replace(steps[-1], p_yes=p_yes, stop=stop))
            if stop is not None:
                return

    def _walk(self, top: _Part, session: ReadingSession) -> Iterator[_Part]:
        """Yield the parts of the text in the order of the walk. The walk goes on from the node above a part."""
        path = [top]
        while path:
            ways = [child for child in path[-1].children if not child.is_left]
            chosen = self._choose(ways, path, session)
            if chosen is None:
                path.pop().is_left = True
            elif chosen.children:
                path.append(chosen)
            else:
                chosen.is_left = True
                yield chosen

    def _choose(self, ways: Sequence[_Part], path: Sequence[_Part], session: ReadingSession) -> _Part | None:
        """Return the way that the model chooses; None to go back.

        A single way is taken without a question, and so is the first one if no reply has the right form or the ways do
        not fit the window.
        """
        if len(ways) < 2:
            return next(iter(ways), None)
        known = [part.text for part in path if part.text] if self._keeps_summaries else []
        parts = "\n".join(f"{number}. {part.text}" for number, part in enumerate(ways, 1))
        request = _WHICH.format(parts=parts, form=_WITH_REASON if self._tells_reason else _NUMBER_ONLY)
        try:
            reply = ask(
                session,
                _BEFORE.format(summaries="\n".join(known)) + request if known else request,
                max_tokens=_REASON_TOKENS if self._tells_reason else _NUMBER_TOKENS,
                is_usable=lambda text: _action(text, len(ways)) is not None,
                retries=_RETRIES,
            )
        except WindowExceeded:
            return ways[0]
        action = _action(reply, len(ways))
        return None if action == -1 else ways[(action or 1) - 1]


def _action(reply: str, count: int) -> int | None:
    """Return the last action of a reply, -1 or a number from 1 to ``count``; None if it has none."""
    numbers = [int(action or number) for action, number in _ACTION.findall(reply)]
    actions = [number for number in numbers if number == -1 or 1 <= number <= count]
    return actions[-1] if actions else None


def _tree(document_id: str, graph: GraphReader) -> _Part | None:
    """Return the root of a document's tree; None for a document without text."""
    stored = [item for item in graph.annotations(document_id) if item.layer == MEMORY_TREE]
    if stored:
        parts = {item.index: _Part(item.text, segment_ids=item.segment_ids) for item in stored}
        for item in stored:
            if (parent := item.properties["parent"]) in parts:
                parts[int(parent)].children.append(parts[item.index])
        return parts[max(parts)]
    segments = [segment for segment in graph.list_segments(document_id) if not segment.echo]
    level = [_Part(first_words(segment.text), segment_ids=(segment.id,)) for segment in segments]
    while len(level) > 1:
        level = [_Part(group[0].text, group) for group in even_groups(level, _SHOWN)]
    return next(iter(level), None)
