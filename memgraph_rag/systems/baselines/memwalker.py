"""MeMWalker: the model walks down the tree of summaries, and back up if a text does not answer the question.

It knows graph, search and session by their contracts. Invariants: a node is read at most once; nodes that were read
stay in the session (the paper's working memory); attention and embeddings are not used.

As in the paper: the model sees the child summaries of the present node and chooses one; at a leaf it reads the text,
and says whether the text answers the question. Differences from the paper: the tree is the stored summary graph, so a
node below two summaries is reached from both; if a level has more nodes than the model is shown at once, it chooses
from each group, and then among the chosen nodes; it replies with a number only, because reasons of a small model are
noise; whether a text answers is P(Yes) of the session.

Source: Chen et al., "Walking Down the Memory Maze" (2310.05029), section 3 and appendix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memgraph_rag.contracts import GraphReader, ReadingContext, ReadingSession
from memgraph_rag.lexical.replies import numbers_in
from memgraph_rag.strategies.node_lines import NodeLines
from memgraph_rag.strategies.reflection import Reflection, ask
from memgraph_rag.strategies.scope import documents_to_walk
from memgraph_rag.strategies.token_budget import fits, fitting
from memgraph_rag.types import Node, Segment, Step, StopReason, as_line

__all__ = ["MemWalker"]

_REQUEST_TOKENS = 128  # of the request without the listed nodes
_REPLY_TOKENS = 8
_WHICH = (
    "These parts can be read next:\n{parts}\n\nWhich one is most likely to lead to the answer? Reply with its number "
    "only."
)


class MemWalker:
    """A strategy that reads one node after another, from the top summaries down.

    Args:
        shown: number of nodes that the model chooses from at once, at least two.
        leaves: most segments to read.
        yes_threshold: the model's Yes counts above this probability. The default is the calibration's, or 0.5.
    """

    name = "memwalker"
    requires = ("points",)
    follows_paper = True

    def __init__(self, *, shown: int = 8, leaves: int = 8, yes_threshold: float | None = None) -> None:
        self._shown = max(2, shown)
        self._leaves = leaves
        self._yes_threshold = yes_threshold

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each node that the model chooses, from a top summary down; see ``Strategy.read``.

        A document without points gives its segments as top nodes. Without given documents, at most eight take part.
        Reading ends if the model says Yes to a segment, after ``leaves`` segments, or if no unread node fits.
        """
        reflection = Reflection(context.session, yes_threshold=self._yes_threshold)
        lines, before = NodeLines(context), None
        ways = _Ways(context.graph, context.graph.top_nodes(documents_to_walk(question, context)))
        leaves_left = self._leaves
        nodes = ways.open(context.session.tokens_left)
        while nodes:
            node = self._choose(nodes, context.session)
            (attention,) = context.session.append(lines.of([node], after=before)).tolist()
            ways.take(node)
            before = node
            p_yes = None
            if isinstance(node, Segment):
                leaves_left -= 1
                p_yes = context.session.probability_of_yes()
                reflection.hear(p_yes)
            nodes = ways.open(context.session.tokens_left)
            stop = None
            if reflection.is_enough:
                stop = StopReason.ANSWERABLE
            elif not nodes:
                stop = StopReason.WINDOW if ways else StopReason.EXHAUSTED
            elif not leaves_left:
                stop = StopReason.MAX_ROUNDS
            yield (Step(node, 0.0, attention, p_yes, stop),)
            if stop is not None:
                return

    def _choose(self, nodes: Sequence[Node], session: ReadingSession) -> Node:
        """Let the model choose a node: from each group of ``shown`` nodes, then among the chosen ones."""
        while len(nodes) > 1:
            handfuls = [nodes[start : start + self._shown] for start in range(0, len(nodes), self._shown)]
            nodes = [_ask_for_node(handful, session) for handful in handfuls]
        return nodes[0]


class _Ways:
    """The nodes to read next: children of the last summary, else its unread siblings, else those of its parent.

    An instance is false if every node was read.
    """

    def __init__(self, graph: GraphReader, top: Sequence[Node]) -> None:
        self._graph = graph
        self._levels = [list(top)]
        self._read: set[str] = set()

    def __bool__(self) -> bool:
        return any(self._levels)

    def open(self, tokens: int) -> list[Node]:
        """Return the unread nodes of the lowest level that has some that fit ``tokens``."""
        unread = ([node for node in level if fits(node, tokens)] for level in reversed(self._levels))
        return next(filter(None, unread), [])

    def take(self, node: Node) -> None:
        """Mark a node as read. Its children, by weight, become the lowest level; levels below its own are dropped."""
        self._read.add(node.id)
        while node not in self._levels[-1]:
            self._levels.pop()
        if not isinstance(node, Segment):
            below = [edge.target_id for edge in self._graph.successors([node.id])]
            self._levels.append(self._graph.nodes(below))
        self._levels = [[node for node in level if node.id not in self._read] for level in self._levels]


def _ask_for_node(nodes: Sequence[Node], session: ReadingSession) -> Node:
    """Return the node whose number the model replies with. Without a number, or without room to ask, the first node."""
    listed = fitting(nodes, session.tokens_left - _REQUEST_TOKENS)
    if len(listed) < 2:
        return nodes[0]
    parts = "\n".join(f"{number}. {as_line(node.text)}" for number, node in enumerate(listed, 1))
    reply = ask(
        session,
        _WHICH.format(parts=parts),
        max_tokens=_REPLY_TOKENS,
        is_usable=lambda text: bool(numbers_in(text, len(listed))),
    )
    return listed[next(iter(numbers_in(reply, len(listed)) or ()), 1) - 1]
