"""What goes wrong between here and a model's server, as errors of ours.

It is the only place that knows the client's exceptions. Invariants: whether an error may pass by itself is said by its
class (``retryable``); no message, cause or traceback holds the key.
"""

from __future__ import annotations

import math
import re
import sys
import time
from email.utils import parsedate_to_datetime

import openai

from memgraph_rag.display import show
from memgraph_rag.errors import ModelAccessDenied, ModelError, ModelNotFound, ModelUnavailable, WindowExceeded
from memgraph_rag.models.endpoints.address import Address

__all__ = ["as_ours", "breaks_off", "foreign_errors", "is_window_exceeded", "too_long", "wrong_content"]

_WINDOW = re.compile(r"context.{0,12}(length|window|size)|maximum.{0,20}(length|tokens)|too (long|many tokens)", re.I)
_SHOWN = 300  # characters of what a server says
_REFUSED = (400, 413, 422)
_PASSING = (408, 409, 425, 429)
_NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached")


def foreign_errors() -> tuple[type[Exception], ...]:
    """What the client may raise: its own errors, its transport's, and what half a JSON or a bottomless one gives."""
    transports = (sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules)
    return openai.OpenAIError, ValueError, RecursionError, *(transport.TransportError for transport in transports)


def is_window_exceeded(error: openai.APIStatusError) -> bool:
    """Whether a server refused because of the prompt's length."""
    return error.status_code in _REFUSED and bool(_WINDOW.search(f"{error.code} {error.message}"))


def as_ours(error: Exception, address: Address) -> ModelError:
    """The error to raise instead, with its cause, but without the words and frames in which the key may stand."""
    if isinstance(error.__cause__, ModelError):  # ours, which the client passed on
        told, told.__cause__ = error.__cause__.with_traceback(None), None
        return told
    said = _readable(error)
    told = _told(error, address, said)
    error.args = (said,)
    error.__cause__ = error.__context__ = None
    told.__cause__ = error.with_traceback(None)
    return told


def _told(error: Exception, address: Address, said: str) -> ModelError:
    url = address.url
    if isinstance(error, openai.APIStatusError):
        return _of_status(error, address, said)
    if isinstance(error, openai.APITimeoutError) or "Timeout" in type(error).__name__:
        return ModelUnavailable(
            f"Expected an answer from {url}, got silence. Look whether the server works, or raise endpoint.seconds.",
            url=url,
        )
    if isinstance(error, (ValueError, RecursionError)):
        return ModelUnavailable(f"Expected JSON from {url}, got something that breaks off. Try again.", url=url)
    if isinstance(error, openai.APIError) and not isinstance(error, openai.APIConnectionError):
        return ModelUnavailable(
            f"Expected an answer from {url}, got an error in the midst of it: {said}. Try again.", url=url
        )  # fmt: skip
    return ModelUnavailable(
        f"Expected a model's server at {url}, got no connection that holds. Start it, or look at the address.", url=url
    )  # fmt: skip


def _of_status(error: openai.APIStatusError, address: Address, said: str) -> ModelError:
    url, status = address.url, error.status_code
    facts = {"url": url, "status": status}
    variable = "OPENAI_API_KEY" if address.is_openai else "MEMGRAPH_RAG_ENDPOINT_KEY"
    if status in (401, 403):  # what it says may repeat a part of the key
        return ModelAccessDenied(
            f"Expected a key that {url} accepts, got one that it refuses (status {status}). Set {variable}.", **facts
        )
    if error.code in _NO_CREDIT:
        return ModelAccessDenied(
            f"Expected an account with credit at {url}, got one without. Look at it there.", **facts
        )
    if status == 404:
        return ModelNotFound(
            f"Expected a model {show(address.model)} at {url}, got status 404: {said}. Look at its name, and whether "
            "the address ends as the server's does, most often in /v1.",
            name=address.model, **facts,
        )  # fmt: skip
    if is_window_exceeded(error):
        return WindowExceeded(
            f"Expected a prompt that fits the window of {address.model}, got status {status}: {said}. Set window to "
            "what the server holds.",
            **facts,
        )
    if 300 <= status < 400:
        return ModelError(
            f"Expected an answer from {url}, got a redirect to {error.response.headers.get('location', 'nowhere')}, "
            "which is not followed, as it would take the documents there. Give that address where it is the right one.",
            **facts,
        )
    if status in _PASSING or status >= 500:
        return ModelUnavailable(
            f"Expected an answer from {url}, got status {status}: {said}. Try again later.",
            retry_after_s=_retry_after(error), **facts,
        )  # fmt: skip
    return ModelError(f"Expected an answer from {url}, got status {status}: {said}. Look at the settings.", **facts)


def wrong_content(kind: str, address: Address) -> ModelError:
    """The error for an answer that is none of this protocol: a web page, most often."""
    return ModelError(
        f"Expected an answer of a model's server from {address.url}, got {kind or 'something else'}. Look whether the "
        "address is that of the API, most often ending in /v1, and whether a proxy stands before it.",
        url=address.url,
    )


def breaks_off(got: str, address: Address) -> ModelUnavailable:
    """The error for a reply that did not come whole."""
    return ModelUnavailable(
        f"Expected a whole answer from {address.url}, got {got}. Try again, or raise endpoint.seconds.",
        url=address.url,
    )


def too_long(most: int, address: Address) -> ModelError:
    """The error for a reply that has no end."""
    return ModelError(
        f"Expected an answer of at most {most // 2**20} MiB from {address.url}, got a longer one. Look whether the "
        "address is that of a model's server.",
        url=address.url,
    )


def _readable(error: Exception) -> str:
    """The beginning of what the server said, without the key that was sent, on one line."""
    sent = error.request.headers.get("authorization", "") if isinstance(error, openai.APIError) else ""
    key = sent.rpartition(" ")[2]
    body = error.body if isinstance(error, openai.APIError) else None
    said = " ".join(str(body["message"] if isinstance(body, dict) and "message" in body else error).split())
    return (said.replace(key, "…") if key else said)[:_SHOWN].rstrip(".")


def _retry_after(error: openai.APIStatusError) -> float | None:
    """Seconds that the server asks to wait; None where it does not tell."""
    value = error.response.headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None
