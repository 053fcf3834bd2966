"""A server's reply, with each value checked.

The client passes on values that it does not know; only this module checks them. Invariant: the results have their
declared types, their texts can be stored, and their numbers are finite. A reply that cannot be read raises one error of
this library, which names the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from memgraph_rag.display import show
from memgraph_rag.errors import ModelError, ModelUnavailable
from memgraph_rag.models.endpoints.address import Address
from memgraph_rag.types import Matrix, make_storable

_REASONING = ("reasoning_content", "reasoning")  # fields for the reasoning before a reply
_MOST_COUNTED = 10**12  # the largest number of tokens that a server may report for one reply
_LEAST_LOGPROB = -1000.0  # practically impossible


@dataclass(frozen=True, slots=True)
class Chunk:
    """One event of a reply that is sent in pieces.

    Attributes:
        text: the next piece, with U+FFFD for characters that no store takes.
        finish: the reason why the reply ended; empty before its end.
        tokens: the numbers of tokens read and written; None if this event does not hold them.
        top: the likely first tokens of this event, with their log-probabilities.
        thinks: whether the event holds reasoning.
    """

    text: str = ""
    finish: str = ""
    tokens: tuple[int, int] | None = None
    top: tuple[tuple[str, float], ...] = ()
    thinks: bool = False


def read_chunk(event: Any, address: Address) -> Chunk:
    """Check an event of the client's stream, and return its content. If it holds several choices, the first one counts.

    An event without choices gives a chunk without text. Invalid counts and log-probabilities are left out.

    Raises:
        ModelError: the event does not follow the protocol.
    """
    tokens = _read_tokens(getattr(event, "usage", None))
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
    return Chunk(make_storable(text or ""), finish or "", tokens, tuple(_read_top(choices[0])), thinks)


def _read_tokens(usage: Any) -> tuple[int, int] | None:
    """Return the numbers of tokens read and written; None if they are missing or no valid counts."""
    counts = [getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")]
    if counts == [None, None]:
        return None
    read, written = (count or 0 for count in counts)
    are_counts = all(isinstance(count, int) and 0 <= count <= _MOST_COUNTED for count in (read, written))
    return (read, written) if are_counts else None


def _read_top(choice: Any) -> Iterable[tuple[str, float]]:
    """Yield the likely first tokens with their log-probabilities; invalid ones are left out."""
    content = getattr(getattr(choice, "logprobs", None), "content", None)
    first = content[0] if isinstance(content, list) and content else None
    listed = getattr(first, "top_logprobs", None)
    for item in listed if isinstance(listed, list) else ():
        token, logprob = getattr(item, "token", None), getattr(item, "logprob", None)
        if isinstance(token, str) and isinstance(logprob, (int, float)) and logprob == logprob:  # not NaN
            yield token, max(min(logprob, 0.0), _LEAST_LOGPROB)


def read_vectors(data: object, texts: int, address: Address) -> Matrix:
    """Return the (texts, d) float32 vectors in ``data``, a server's list of embeddings; each row has length 1.

    The rows are in the order of the indices in the list, or of the list if the indices are not exactly 0, 1, 2 ….

    Raises:
        ModelError: the number of vectors is not ``texts``, they differ in length, a number is not finite, or a vector
            is 0.
    """
    if not isinstance(data, list) or len(data) != texts:
        _refuse(f"a list of {texts} vectors", data, address)
    numbers = [getattr(item, "embedding", None) for item in _sort_by_index(data)]
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


def _sort_by_index(data: Sequence[Any]) -> Sequence[Any]:
    """Return the items sorted by their index; in their given order if the indices are not exactly 0, 1, 2 …."""
    places: list[Any] = [getattr(item, "index", None) for item in data]
    if not all(isinstance(place, int) for place in places) or sorted(places) != list(range(len(data))):
        return data
    return sorted(data, key=lambda item: item.index)


def wrong_content(kind: str, address: Address) -> ModelError:
    """Return the error for a reply that breaks the protocol; ``kind`` is its content type, or a few words, or empty."""
    return ModelError(
        f"Expected an answer of a model server from {address.url}, got {kind or 'something else'}. Check that the "
        "address is that of the API, usually ending in /v1, and that no proxy answers instead.",
        url=address.url,
    )


def incomplete_reply(got: str, address: Address) -> ModelUnavailable:
    """Return the error for an incomplete reply; ``got`` says in words what came instead."""
    return ModelUnavailable(
        f"Expected a complete answer from {address.url}, got {got}. Try again, or raise endpoint.seconds.",
        url=address.url,
    )


def too_long(most: int, address: Address) -> ModelError:
    """Return the error for a reply that is longer than the limit, ``most`` bytes."""
    return ModelError(
        f"Expected an answer of at most {most // 2**20} MiB from {address.url}, got a longer one. Check that the "
        "address is that of a model server.",
        url=address.url,
    )


def _refuse(expected: str, value: object, address: Address) -> NoReturn:
    raise ModelError(
        f"Expected {expected} from the model server at {address.url}, got {show(value)}. Check that the server speaks "
        "OpenAI's protocol, or use another server.",
        url=address.url,
    )
