"""How much of the window a node takes, which nodes still fit, and where a reading may begin.

It knows nodes by their tokens only. Invariant: what is said to fit can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TypeVar

from memgraph_rag.contracts import ReadingSession
from memgraph_rag.types import Limits, Node

__all__ = ["START_TOKENS", "cost", "fits", "fitting", "is_spent", "may_ask", "start_set"]

START_TOKENS = 1024
"""Most tokens of a start set. The papers' figures give about 1K tokens for a text of 79K."""

AnyNode = TypeVar("AnyNode", bound=Node)


def cost(node: Node) -> int:
    """Tokens of the node with its bullet mark and newline; flattening never makes a text longer."""
    return node.tokens + 4


def fits(node: Node, tokens: int) -> bool:
    """Whether so many tokens hold the node."""
    return cost(node) <= tokens


def fitting(nodes: Sequence[Node], tokens: int) -> list[Node]:
    """Those of these nodes that still fit where all before them were read."""
    before = accumulate((cost(node) for node in nodes), initial=0)
    return [node for node, used in zip(nodes, before, strict=False) if fits(node, tokens - used)]


def start_set(
    preferred: Iterable[AnyNode], session: ReadingSession, limits: Limits, *, most_tokens: int = START_TOKENS
) -> list[AnyNode]:
    """Of these nodes, best first, those that together take at most ``most_tokens``, half the window, and the budget.

    At least one is kept, if the window holds it.
    """
    room = min(session.tokens_left // 2, most_tokens)
    if limits.tokens is not None:
        room = min(room, limits.tokens - session.usage.prompt_tokens)
    kept: list[AnyNode] = []
    for node in preferred:
        if len(kept) == limits.nodes:
            break
        if cost(node) <= room or (not kept and fits(node, session.tokens_left)):
            kept.append(node)
            room -= cost(node)
    return kept


def is_spent(limits: Limits, nodes: int, session: ReadingSession) -> bool:
    """Whether a limit that a strategy can see is reached: whoever drives it ends the reading then."""
    return (limits.nodes is not None and nodes >= limits.nodes) or (
        limits.tokens is not None and session.usage.prompt_tokens >= limits.tokens
    )


def may_ask(limits: Limits, session: ReadingSession) -> bool:
    """Whether half of the budget of tokens is left, for what will be read."""
    return limits.tokens is None or session.usage.prompt_tokens <= limits.tokens // 2
