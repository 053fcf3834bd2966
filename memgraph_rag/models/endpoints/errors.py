"""Errors of the client for model servers, converted to errors of this library.

No other module knows the exceptions of the client. Invariants: the class of an error says whether it may pass by itself
(``retryable``); no message, cause or traceback holds the key.
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

_WINDOW = re.compile(r"context.{0,12}(length|window|size)|maximum.{0,20}(length|tokens)|too (long|many tokens)", re.I)
_SHOWN = 300  # characters of a server's message
_REFUSED = (400, 413, 422)
_PASSING = (408, 409, 425, 429)
_NO_CREDIT = ("insufficient_quota", "billing_hard_limit_reached")


def foreign_errors() -> tuple[type[Exception], ...]:
    """Return the classes of exceptions that the client of OpenAI may raise, for ``except``.

    They are its own errors, errors of the transports that are imported now, and errors that incomplete or deeply nested
    JSON causes.
    """
    transports = (sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules)
    return openai.OpenAIError, ValueError, RecursionError, *(transport.TransportError for transport in transports)


def is_window_exceeded(error: openai.APIStatusError) -> bool:
    """Return whether a server refused a prompt because of its length, judged by the status and words of its message."""
    return error.status_code in _REFUSED and bool(_WINDOW.search(f"{error.code} {error.message}"))


def convert_error(error: Exception, address: Address) -> ModelError:
    """Return the error of this library to raise instead of an exception of OpenAI's client.

    The client's error becomes the cause, without the texts and frames that may hold the key: it is changed in place. If
    it only passes on an error of this library, that error is returned.
    """
    if isinstance(error.__cause__, ModelError):  # an error of this library, which the client passed on
        translated, translated.__cause__ = error.__cause__.with_traceback(None), None
        return translated
    message = _read_message(error)
    translated = _build_error(error, address, message)
    error.args = (message,)
    error.__cause__ = error.__context__ = None
    translated.__cause__ = error.with_traceback(None)
    return translated


def _build_error(error: Exception, address: Address, message: str) -> ModelError:
    url = address.url
    if isinstance(error, openai.APIStatusError):
        return _build_status_error(error, address, message)
    if isinstance(error, openai.APITimeoutError) or "Timeout" in type(error).__name__:
        return ModelUnavailable(
            f"Expected an answer from {url}, got none in time. Check the server, or raise endpoint.seconds.", url=url
        )
    if isinstance(error, (ValueError, RecursionError)):
        return ModelUnavailable(f"Expected JSON from {url}, got incomplete JSON. Try again.", url=url)
    if isinstance(error, openai.APIError) and not isinstance(error, openai.APIConnectionError):
        return ModelUnavailable(
            f"Expected an answer from {url}, got an error in the middle of it: {message}. Try again.", url=url
        )  # fmt: skip
    return ModelUnavailable(
        f"Expected a model server at {url}, got no stable connection. Start the server, or check the address.", url=url
    )  # fmt: skip


def _build_status_error(error: openai.APIStatusError, address: Address, message: str) -> ModelError:
    url, status = address.url, error.status_code
    facts = {"url": url, "status": status}
    variable = "OPENAI_API_KEY" if address.is_openai else "MEMGRAPH_RAG_ENDPOINT_KEY"
    if status in (401, 403):  # the message of the server may repeat a part of the key
        return ModelAccessDenied(
            f"Expected a key that {url} accepts, got a refusal (status {status}). Set {variable}.", **facts
        )
    if error.code in _NO_CREDIT:
        return ModelAccessDenied(
            f"Expected an account with credit at {url}, got one without. Add credit to the account.", **facts
        )
    if status == 404:
        return ModelNotFound(
            f"Expected a model {show(address.model)} at {url}, got status 404: {message}. Check the model's name, and "
            "the end of the address, which is usually /v1.",
            name=address.model, **facts,
        )  # fmt: skip
    if is_window_exceeded(error):
        return WindowExceeded(
            f"Expected a prompt that fits the window of {address.model}, got status {status}: {message}. Set window to "
            "the server's limit.",
            **facts,
        )
    if 300 <= status < 400:
        return ModelError(
            f"Expected an answer from {url}, got a redirect to {error.response.headers.get('location', 'nowhere')}, "
            "which is not followed, because documents would be sent there. If that address is right, use it.",
            **facts,
        )
    if status in _PASSING or status >= 500:
        return ModelUnavailable(
            f"Expected an answer from {url}, got status {status}: {message}. Try again later.",
            retry_after_s=_parse_retry_after(error), **facts,
        )  # fmt: skip
    return ModelError(f"Expected an answer from {url}, got status {status}: {message}. Check the settings.", **facts)


def _read_message(error: Exception) -> str:
    """Return the beginning of the server's message on one line, without the key that was sent."""
    sent = error.request.headers.get("authorization", "") if isinstance(error, openai.APIError) else ""
    key = sent.rpartition(" ")[2]
    body = error.body if isinstance(error, openai.APIError) else None
    message = " ".join(str(body["message"] if isinstance(body, dict) and "message" in body else error).split())
    return (message.replace(key, "…") if key else message)[:_SHOWN].rstrip(".")


def _parse_retry_after(error: openai.APIStatusError) -> float | None:
    """Return the seconds that the server asks to wait; None if it does not say it."""
    value = error.response.headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None
