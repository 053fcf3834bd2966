"""Batches: consecutive nodes that one prompt gives the model to read.

It knows no layer. Invariants: layers that are given the same nodes and limits make the same batches; prompts that are
made here begin with the same words, so that what one task has read, the next need not read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memgraph_rag.contracts import LanguageModel
from memgraph_rag.types import Node, Prompt, as_line

__all__ = ["AROUND_TOKENS", "HEAD", "Batch", "batches", "output_tokens", "prompt"]

HEAD = "Below are consecutive pieces of a text, one on each line."

AROUND_TOKENS = 144
"""Of a head, a short task, and a chat template."""

Batch = tuple[Node, ...]


def output_tokens(language: LanguageModel, batch_tokens: int) -> int:
    """How many tokens may be written to one batch: a quarter of what one prompt takes with its output."""
    return min(batch_tokens, language.window) // 4


def batches(
    nodes: Sequence[Node], language: LanguageModel, batch_tokens: int, *, around_tokens: int = AROUND_TOKENS
) -> Iterator[Batch]:
    """Consecutive nodes that fit one prompt together (one node alone may be longer); blank ones say nothing.

    Args:
        batch_tokens: prompt, inputs and output together; the model's window where that is smaller.
        around_tokens: head, a layer's task, chat template.
    """
    room = min(batch_tokens, language.window) - output_tokens(language, batch_tokens) - around_tokens
    gathered: list[Node] = []
    tokens = 0
    for node in nodes:
        if not node.text.strip():
            continue
        if gathered and tokens + node.tokens + 1 > room:
            yield tuple(gathered)
            gathered, tokens = [], 0
        gathered.append(node)
        tokens += node.tokens + 1
    if gathered:
        yield tuple(gathered)


def prompt(batch: Batch, task: str = "", *, head: str = HEAD) -> Prompt:
    """The head, the nodes, and what is to be done with them, where the head does not say that already."""
    return Prompt(head, tuple(as_line(node.text) for node in batch), task)
