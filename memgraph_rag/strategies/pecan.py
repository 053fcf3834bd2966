"""PECAN: walk the summary graph by the model's attention until the model says that it has read enough.

It knows the graph, the session and the embedder by their contracts only. Invariant: a node is read at most once,
and the score of an unread node depends only on what was read before.

Source: PECAN / GARLIC, section 3.2; what the paper leaves open is decided in ``docs/decisions.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from memgraph_rag.contracts import Embedder, GraphReader, ReadingSession, Search
from memgraph_rag.types import Budget, Node, Step, StopReason, as_line

__all__ = ["Pecan"]

_MOST_DOCUMENTS = 8
_HITS = 32


class Pecan:
    """The attention-driven walk.

    Args:
        yes_threshold: the model's Yes counts above this probability (t_p).
        yes_needed: reading ends with this many Yes in all (t_n).
        position: attention to the question falls with distance; "linear" multiplies the n-th node's by n + 1.
        similarity_weight: weight of the embedding similarity beside the walk's own score.
        start_tokens: most tokens of the start set; half the window where that is less. The papers' figures give a
            start set of about 1K tokens for a text of 79K.
    """

    name = "pecan"

    def __init__(
        self,
        *,
        yes_threshold: float = 0.5,
        yes_needed: int = 1,
        position: Literal["linear", "none"] = "linear",
        similarity_weight: float = 1.0,
        start_tokens: int = 1024,
    ) -> None:
        self._yes_threshold = yes_threshold
        self._yes_needed = yes_needed
        self._position = position
        self._similarity_weight = similarity_weight
        self._start_tokens = start_tokens

    def read(
        self,
        question: str,
        *,
        graph: GraphReader,
        search: Search,
        session: ReadingSession,
        embedder: Embedder,
        budget: Budget,
        documents: Sequence[str] | None = None,
    ) -> Iterator[tuple[Step, ...]]:
        """Read all top-level nodes, then node after node; see ``Strategy.read``."""
        scope = self._scope(question, graph, search, documents)
        similarity = {
            hit.node_id: hit.score for hit in graph.similarities(embedder.embed([question])[0], documents=scope)
        }
        walk = _Walk(similarity, self._similarity_weight)
        chosen = _start_set(graph.top_nodes(scope), similarity, session, budget, self._start_tokens)
        scores = [0.0] * len(chosen)
        said_yes = 0
        while chosen:
            attention = session.append([as_line(node.text) for node in chosen])
            p_yes = session.probability_of_yes()
            said_yes += p_yes > self._yes_threshold
            self._follow(walk, chosen, attention.tolist(), graph)
            following, score = walk.best()
            next_nodes = graph.nodes([following]) if following else []
            stop = self._stop(said_yes, next_nodes, session)
            yield _steps(chosen, scores, attention.tolist(), p_yes, stop)
            if stop is not None:
                return
            chosen, scores = next_nodes, [score]

    def _scope(
        self, question: str, graph: GraphReader, search: Search, documents: Sequence[str] | None
    ) -> Sequence[str]:
        """The documents to walk: those given, all where they are few, else those that search finds."""
        if documents is not None:
            return documents
        everything = [record.id for record in graph.documents()]
        if len(everything) <= _MOST_DOCUMENTS:
            return everything
        found = search.find(question, k=_HITS)
        return list(dict.fromkeys(evidence.segment.document_id for evidence in found))[:_MOST_DOCUMENTS]

    def _follow(self, walk: _Walk, nodes: Sequence[Node], attention: list[float], graph: GraphReader) -> None:
        """Let what was read raise the score of what it summarises: z += r E (step 3)."""
        carried = {}
        for node, attended in zip(nodes, attention, strict=True):
            walk.read(node.id)
            factor = walk.count + 1 if self._position == "linear" else 1  # the question is 1, the first node 2
            carried[node.id] = attended * factor
        for edge in graph.successors([node.id for node in nodes]):
            walk.raise_score(edge.target_id, carried[edge.source_id] * edge.weight)

    def _stop(self, said_yes: int, following: Sequence[Node], session: ReadingSession) -> StopReason | None:
        if said_yes >= self._yes_needed:
            return StopReason.ANSWERABLE
        if not following:
            return StopReason.EXHAUSTED
        if not _fits(following[0], session.tokens_left):
            return StopReason.WINDOW
        return None


class _Walk:
    """The scores of all nodes that can still be read (steps 3 to 5)."""

    def __init__(self, similarity: dict[str, float], similarity_weight: float) -> None:
        self._similarity = {node_id: max(cosine, 0.0) for node_id, cosine in similarity.items()}
        self._similarity_weight = similarity_weight
        self._z: dict[str, float] = {}
        self.count = 0

    def read(self, node_id: str) -> None:
        """The node is read: it is no candidate any more."""
        self._similarity.pop(node_id, None)
        self._z.pop(node_id, None)
        self.count += 1

    def raise_score(self, node_id: str, amount: float) -> None:
        """Add to an unread node's z."""
        if node_id in self._similarity:
            self._z[node_id] = self._z.get(node_id, 0.0) + amount

    def best(self) -> tuple[str | None, float]:
        """The unread node of the highest score, and the score; ties go to the smaller id.

        z and the similarity are each scaled to sum 1 over the unread nodes, then added.
        """
        z_sum = sum(self._z.values()) or 1.0
        similarity_sum = sum(self._similarity.values()) or 1.0
        best, best_score = None, float("-inf")
        for node_id, similarity in self._similarity.items():
            score = self._z.get(node_id, 0.0) / z_sum + self._similarity_weight * similarity / similarity_sum
            if score > best_score or (score == best_score and best is not None and node_id < best):
                best, best_score = node_id, score
        return best, best_score


def _start_set(
    nodes: Sequence[Node], similarity: dict[str, float], session: ReadingSession, budget: Budget, most_tokens: int
) -> list[Node]:
    """The top-level nodes, in their order; where they exceed the limit, those most similar to the question.

    At least one is read, if the window holds it.
    """
    room = min(session.tokens_left // 2, most_tokens)
    if budget.max_tokens is not None:
        room = min(room, budget.max_tokens - session.usage.prompt_tokens)
    kept: set[str] = set()
    for node in sorted(nodes, key=lambda node: (-similarity.get(node.id, 0.0), node.id)):
        if len(kept) == budget.max_nodes:
            break
        if _cost(node) <= room or (not kept and _fits(node, session.tokens_left)):
            kept.add(node.id)
            room -= _cost(node)
    return [node for node in nodes if node.id in kept]


def _steps(
    nodes: Sequence[Node], scores: Sequence[float], attention: Sequence[float], p_yes: float, stop: StopReason | None
) -> tuple[Step, ...]:
    """One step a node; the model was asked after the last."""
    steps = [Step(node, score, attended) for node, score, attended in zip(nodes[:-1], scores, attention, strict=False)]
    return (*steps, Step(nodes[-1], scores[-1], attention[-1], p_yes, stop))


def _cost(node: Node) -> int:
    """Tokens of the node with its bullet mark and newline; flattening never makes a text longer."""
    return node.tokens + 4


def _fits(node: Node, tokens: int) -> bool:
    return _cost(node) <= tokens
