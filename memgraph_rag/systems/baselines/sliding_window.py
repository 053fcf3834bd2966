"""Sliding window: read each window of a text separately, and answer from the window with the highest P(Yes).

It knows graph, search and session by their contracts. Invariants: a window consists of consecutive segments of one
document; the session keeps one window; a window is read only if the budget also holds the best window.

The papers whose tables name this baseline do not say how the answers of windows become one. Our decision follows
readers with a short window (BERT, 1810.04805, on SQuAD): the window with the highest confidence answers, and the
confidence is P(Yes) that the window answers the question. Each window begins with the last segment of the window
before.

Source: ours; see docs/decisions/baselines.md. Cost: each segment is read once or twice, the chosen window twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.node_lines import NodeLines
from memgraph_rag.strategies.scope import documents_to_walk
from memgraph_rag.strategies.token_budget import cost
from memgraph_rag.types import Segment, Step, StopReason


class SlidingWindow:
    """A strategy that reads the window that answers best.

    Args:
        window_tokens: most tokens of a window. Half of the budget, and the model's window, are further limits.
    """

    name = "sliding_window"
    follows_paper = True

    def __init__(self, *, window_tokens: int = 1024) -> None:
        self._window_tokens = window_tokens

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield the steps of the best window at once; see ``Strategy.read``. Score: P(Yes) of the window.

        A further window is compared only if the limit of tokens also holds the best window again; otherwise the
        comparison ends. Without given documents, at most eight take part. Without a window nothing is yielded.
        """
        session, lines = context.session, NodeLines(context)
        best: Sequence[Segment] = ()
        best_p_yes, stop = -1.0, StopReason.EXHAUSTED
        for window in self._windows(question, context):
            if best and not _holds(context, [*window, *max(window, best, key=_tokens)]):
                stop = StopReason.MAX_TOKENS
                break
            session.append(lines.write(window))
            p_yes = session.probability_of_yes()
            session.take_back(1)
            if p_yes > best_p_yes:
                best, best_p_yes = window, p_yes
        if best:
            attention = session.append(lines.write(best)).tolist()
            steps = [Step(node, best_p_yes, attended) for node, attended in zip(best, attention, strict=True)]
            yield (*steps[:-1], Step(best[-1], best_p_yes, attention[-1], best_p_yes, stop))

    def _windows(self, question: str, context: ReadingContext) -> Iterator[Sequence[Segment]]:
        """Yield the windows of each document, in order."""
        limits, used = context.limits, context.session.usage.prompt_tokens
        most = min(self._window_tokens, context.session.tokens_left)
        if limits.tokens is not None:
            most = min(most, (limits.tokens - used) // 2)
        for document_id in documents_to_walk(question, context):
            segments = [segment for segment in context.graph.list_segments(document_id) if not segment.echo]
            for window in windows(segments, most):
                yield window[: limits.nodes]


def windows(segments: Sequence[Segment], most_tokens: int) -> Iterator[Sequence[Segment]]:
    """Yield runs of at most ``most_tokens``. A run begins with the last segment of the run before, if it fits.

    A segment of more than ``most_tokens`` is left out.
    """
    run: list[Segment] = []
    for segment in segments:
        if cost(segment) > most_tokens:
            continue
        if run and _tokens([*run, segment]) > most_tokens:
            yield run
            run = run[-1:] if _tokens([run[-1], segment]) <= most_tokens else []
        run = [*run, segment]
    if run:
        yield run


def _tokens(segments: Sequence[Segment]) -> int:
    return sum(map(cost, segments))


def _holds(context: ReadingContext, segments: Sequence[Segment]) -> bool:
    """Return whether the budget also holds these segments."""
    most = context.limits.tokens
    return most is None or context.session.usage.prompt_tokens + _tokens(segments) <= most
