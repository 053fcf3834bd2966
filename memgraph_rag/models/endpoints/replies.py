"""A server's reply as this library takes it: each value checked, whatever was sent in its place.

The client hands on what it does not know; this is the only place that looks at it. Invariant: what comes out has the
types that it says, its texts can be stored and its numbers are finite; what cannot be read so is one error of ours that
names the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from memgraph_rag.display import show
from memgraph_rag.errors import ModelError
from memgraph_rag.models.endpoints.address import Address
from memgraph_rag.types import Matrix, storable

__all__ = ["Chunk", "read_chunk", "read_vectors"]

_REASONING = ("reasoning_content", "reasoning")  # fields of what is thought before anything is said
_MOST_COUNTED = 10**12  # tokens that a server may report for one reply
_LEAST_LOGPROB = -1000.0  # as good as impossible


@dataclass(frozen=True, slots=True)
class Chunk:
    """One event of a reply that comes in pieces.

    Attributes:
        text: the next piece; with U+FFFD for what no store takes.
        finish: why the reply ended; empty before its end.
        tokens: read and written, where this event tells.
        top: log-probabilities of what the first token of this event might have been.
        thinks: whether it holds reasoning.
    """

    text: str = ""
    finish: str = ""
    tokens: tuple[int, int] | None = None
    top: tuple[tuple[str, float], ...] = ()
    thinks: bool = False


def read_chunk(event: Any, address: Address) -> Chunk:
    """Read an event of the client's stream; of several choices the first.

    Raises:
        ModelError: it is none of the protocol.
    """
    tokens = _tokens(getattr(event, "usage", None))
    choices = getattr(event, "choices", None)
    if not choices:
        return Chunk(tokens=tokens)
    if not isinstance(choices, list):
        _refuse("a list of choices", choices, address)
    delta = getattr(choices[0], "delta", None)
    text = getattr(delta, "content", None)
    finish = getattr(choices[0], "finish_reason", None)
    for name, value in (("a text", text), ("a reason why it ended", finish)):
        if value is not None and not isinstance(value, str):
            _refuse(name, value, address)
    thinks = any(getattr(delta, name, None) for name in _REASONING)
    return Chunk(storable(text or ""), finish or "", tokens, tuple(_top(choices[0])), thinks)


def _tokens(usage: Any) -> tuple[int, int] | None:
    """The tokens read and written; None where they are no such numbers."""
    told = [getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")]
    if told == [None, None]:
        return None
    read, written = (count or 0 for count in told)
    are_counts = all(isinstance(count, int) and 0 <= count <= _MOST_COUNTED for count in (read, written))
    return (read, written) if are_counts else None


def _top(choice: Any) -> Iterable[tuple[str, float]]:
    """Yield the log-probabilities that can be read; none of them is as if the server told none."""
    content = getattr(getattr(choice, "logprobs", None), "content", None)
    first = content[0] if isinstance(content, list) and content else None
    listed = getattr(first, "top_logprobs", None)
    for item in listed if isinstance(listed, list) else ():
        token, logprob = getattr(item, "token", None), getattr(item, "logprob", None)
        if isinstance(token, str) and isinstance(logprob, (int, float)) and logprob == logprob:  # no NaN
            yield token, max(min(logprob, 0.0), _LEAST_LOGPROB)


def read_vectors(data: object, texts: int, address: Address) -> Matrix:
    """Read (texts, d) float32 with rows of length 1 out of a list of embeddings.

    Raises:
        ModelError: they are not as many as the texts, not of one length, not finite numbers, or without a direction.
    """
    if not isinstance(data, list) or len(data) != texts:
        _refuse(f"a list of {texts} vectors", data, address)
    numbers = [getattr(item, "embedding", None) for item in _in_order(data)]
    try:
        rows = np.array(numbers, np.float64)
    except (ValueError, TypeError, OverflowError):
        _refuse("vectors of numbers, all of one length", numbers[0], address)
    if rows.ndim != 2 or not rows.shape[1]:
        _refuse("vectors of numbers, all of one length", numbers[0], address)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    has_direction = np.isfinite(largest) & (largest > 0)
    if not has_direction.all():
        _refuse("vectors of finite numbers, not all 0", rows[~has_direction[:, 0]][0].tolist(), address)
    rows /= largest  # so that no square overflows
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def _in_order(data: Sequence[Any]) -> Sequence[Any]:
    """The items by their numbers; as they came where these number them otherwise than 0, 1, 2 …, or not at all."""
    places: list[Any] = [getattr(item, "index", None) for item in data]
    if not all(isinstance(place, int) for place in places) or sorted(places) != list(range(len(data))):
        return data
    return sorted(data, key=lambda item: item.index)


def _refuse(expected: str, value: object, address: Address) -> NoReturn:
    raise ModelError(
        f"Expected {expected} from the model's server at {address.url}, got {show(value)}. Look whether it speaks "
        "OpenAI's protocol, or use another server.",
        url=address.url,
    )
