"""Split nodes into batches: consecutive nodes that one prompt shows to the model.

The module knows no layer. Invariants: layers with the same nodes and limits get the same batches; all prompts for one
batch begin with the same words, so the model can reuse what it has read for another task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memgraph_rag.contracts import LanguageModel, Models, Progress
from memgraph_rag.errors import ModelNotFound
from memgraph_rag.types import Node, Prompt, as_line

HEAD = "Below are consecutive pieces of a text, one on each line."

AROUND_TOKENS = 144
"""Tokens of a head, a short task and a chat template."""

Batch = tuple[Node, ...]


def find_language(models: Models) -> LanguageModel | None:
    """Return the language model, for a layer that also works without one; None if the memory has none."""
    try:
        return models.language
    except ModelNotFound:
        return None


def output_tokens(language: LanguageModel, batch_tokens: int) -> int:
    """Return how many tokens the model may write for a batch: a quarter of ``batch_tokens``, or of a smaller window."""
    return min(batch_tokens, language.window) // 4


def input_tokens(language: LanguageModel, batch_tokens: int, *, around_tokens: int = AROUND_TOKENS) -> int:
    """Return how many tokens of nodes fit into a batch; the arguments are those of ``batches``."""
    return min(batch_tokens, language.window) - output_tokens(language, batch_tokens) - around_tokens


def name_step(progress: Progress | None, step: str) -> Progress | None:
    """Return a callback by which a model reports its progress under this step's name; None without ``progress``."""
    return progress and (lambda _, done, count: progress(step, done, count))


def batches(
    nodes: Sequence[Node],
    language: LanguageModel,
    batch_tokens: int,
    *,
    around_tokens: int = AROUND_TOKENS,
    most_nodes: int | None = None,
) -> Iterator[Batch]:
    """Yield batches of consecutive nodes that fit one prompt; a single longer node is a batch. Blank nodes are skipped.

    Args:
        batch_tokens: limit on prompt, nodes and output together; a smaller window of the model replaces it.
        around_tokens: tokens of the head, the layer's task and the chat template.
        most_nodes: most nodes of one batch; by default as many as fit.
    """
    room = input_tokens(language, batch_tokens, around_tokens=around_tokens)
    gathered: list[Node] = []
    tokens = 0
    for node in nodes:
        if not node.text.strip():
            continue
        if gathered and (tokens + node.tokens + 1 > room or len(gathered) == most_nodes):
            yield tuple(gathered)
            gathered, tokens = [], 0
        gathered.append(node)
        tokens += node.tokens + 1
    if gathered:
        yield tuple(gathered)


def prompt(batch: Batch, task: str = "", *, head: str = HEAD) -> Prompt:
    """Return the prompt of a batch: the head, one line for each node, and the task if the head does not contain it."""
    return Prompt(head, tuple(as_line(node.text) for node in batch), task)
