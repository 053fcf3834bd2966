"""Count how much of the window nodes take, which nodes still fit, and what a start set may hold.

The module knows nodes by their tokens only. Invariant: a node that is said to fit can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TypeVar

from memgraph_rag.contracts import ReadingSession
from memgraph_rag.types import Limits, Node

START_TOKENS = 1024
"""Most tokens of a start set. The papers' figures give about 1K tokens for a text of 79K."""

AnyNode = TypeVar("AnyNode", bound=Node)


def cost(node: Node) -> int:
    """Return the tokens of the node with its bullet mark and newline; writing it on one line never makes it longer."""
    return node.tokens + 4


def fits(node: Node, tokens: int) -> bool:
    """Return whether the node fits into this many tokens."""
    return cost(node) <= tokens


def count_room(session: ReadingSession, limits: Limits, most_tokens: int) -> int:
    """Return the tokens that may still be read: ``most_tokens``, or less if the window or the limit leaves less."""
    room = min(most_tokens, session.tokens_left)
    return room if limits.tokens is None else min(room, limits.tokens - session.usage.prompt_tokens)


def take_fitting(nodes: Sequence[Node], tokens: int) -> list[Node]:
    """Return the first nodes that together fit this many tokens, in order.

    From the first node that does not fit on, all are left out, also smaller ones.
    """
    before = accumulate((cost(node) for node in nodes), initial=0)
    return [node for node, used in zip(nodes, before, strict=False) if fits(node, tokens - used)]


def start_set(
    preferred: Iterable[AnyNode],
    session: ReadingSession,
    limits: Limits,
    *,
    most_tokens: int = START_TOKENS,
    leaves_room: bool = True,
) -> list[AnyNode]:
    """Return the nodes, in order, that together fit ``most_tokens``, half the remaining window and the limits.

    A node that does not fit is skipped, and a later smaller one may still be kept. At least one node is returned if the
    remaining window holds one, even beyond the tokens of ``most_tokens`` and the limits. A limit on nodes always holds.

    Args:
        preferred: the nodes, best first.
        leaves_room: whether half of the remaining window is left for later nodes; else they may fill it.
    """
    room = count_room(session, limits, min(most_tokens, session.tokens_left // 2) if leaves_room else most_tokens)
    kept: list[AnyNode] = []
    for node in preferred:
        if len(kept) == limits.nodes:
            break
        if cost(node) <= room or (not kept and fits(node, session.tokens_left)):
            kept.append(node)
            room -= cost(node)
    return kept


def is_spent(limits: Limits, nodes: int, session: ReadingSession) -> bool:
    """Return whether a limit on nodes or prompt tokens is reached; False without limits.

    The caller of the strategy then ends the reading.

    Args:
        nodes: how many nodes were read.
    """
    return (limits.nodes is not None and nodes >= limits.nodes) or (
        limits.tokens is not None and session.usage.prompt_tokens >= limits.tokens
    )


def may_ask(limits: Limits, session: ReadingSession) -> bool:
    """Return whether at least half of the token budget is left for reading; True without a limit on tokens."""
    return limits.tokens is None or session.usage.prompt_tokens <= limits.tokens // 2
