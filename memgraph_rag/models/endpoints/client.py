"""A client for a server that speaks OpenAI's protocol.

The module does not know prompts or sessions. Invariants: no more requests run at a time than allowed. A request that
fails in a way that may pass is repeated until its deadline, with the pause that the server names, if any; then it
raises one error of this library. A reply has a limit in time and in bytes, and is checked. An incomplete text is never
returned as a complete one. Redirects are not followed. The key is read for each request and stored nowhere.
"""

from __future__ import annotations

import json
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from threading import BoundedSemaphore
from typing import Any, Literal, TypeVar

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    stop_before_delay,
    wait_random_exponential,
)

from memgraph_rag.errors import ModelAccessDenied, ModelError, ModelNotFound, ModelUnavailable
from memgraph_rag.models.endpoints.address import Address
from memgraph_rag.models.endpoints.limits import ReplyLimits
from memgraph_rag.models.endpoints.replies import incomplete_reply, read_chunk, read_vectors, wrong_content
from memgraph_rag.models.endpoints.token_estimate import estimate_tokens
from memgraph_rag.types import Matrix, Usage

T = TypeVar("T")

_ATTEMPTS = 5
_CONNECT_SECONDS = 10.0
_PAUSES = wait_random_exponential(multiplier=0.5, max=20.0)
_MAY_BE_REFUSED = ("max_tokens", "temperature", "seed", "response_format", "logprobs", "top_logprobs", "stream_options")
_GUESSED = ("response_format", "logprobs")  # the likely fields if a refusal names no field
_WINDOWS = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length", "n_ctx")
_MOST_CHARACTERS = 64  # of a token, so that max_tokens limits the length of a reply
_FINISHES: Mapping[str, Literal["end", "stopped", "length"]] = {"length": "length", "content_filter": "stopped"}


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for text to a chat model on a server.

    Attributes:
        schema: a JSON Schema for the reply. How strictly the reply follows it depends on the server.
        top: the number of likely first tokens whose log-probabilities the reply should hold.
    """

    messages: Sequence[Mapping[str, str]]
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    schema: Mapping[str, Any] | None = None
    top: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """The text that a server's model wrote for an ``Ask``. It may be cut.

    Attributes:
        finish: "end", "length" if the text was cut at ``max_tokens``, or "stopped" by the caller or a filter of the
            server.
        usage: the server's numbers of tokens; estimated if the server sends none or the reply was cut here.
        top: the likely first tokens with their log-probabilities; empty if the server does not send them.
    """

    text: str
    finish: Literal["end", "stopped", "length"]
    usage: Usage
    top: tuple[tuple[str, float], ...] = ()


class Endpoint:
    """A client for one model on one server that speaks OpenAI's protocol.

    Args:
        key: returns the key, which is sent only to this server; called for each request.
        requests: the largest number of requests at a time.
        seconds: the longest time for a request, with its repetitions.
        body: more fields for each request.

    Raises:
        ModelNotFound: the package ``openai`` is not installed.
        ModelAccessDenied: the server is OpenAI's, and there is no key.
    """

    def __init__(
        self,
        address: Address,
        *,
        key: Callable[[], str] | None = None,
        requests: int = 8,
        seconds: float = 300.0,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        if find_spec("openai") is None:
            raise ModelNotFound(
                "Expected the package openai for a model behind an address, got none. "
                'Install it: pip install "memgraph_rag[endpoints]".',
                name=address.model, package="openai",
            )  # fmt: skip
        if key is None and address.is_openai:
            raise ModelAccessDenied(
                f"Expected a key for {address.url}, got none. Set OPENAI_API_KEY.", url=address.url
            )  # fmt: skip
        self.address = address
        self._key = key or (lambda: "none")  # most local servers need no key, but the client requires one
        self._seconds = seconds
        self._body_fields = dict(body or {})
        self._slots = BoundedSemaphore(requests)
        self._refused: set[str] = {"max_tokens"} if address.is_openai else set()
        self._client = self._open_client()

    def _open_client(self) -> Any:
        import openai

        hooks = ReplyLimits(self.address).hooks
        transport = openai.DefaultHttpxClient(follow_redirects=False, event_hooks=hooks)
        weakref.finalize(self, transport.close)
        client = openai.OpenAI(
            base_url=self.address.url, api_key=self._key, max_retries=0, timeout=self._seconds, http_client=transport
        )
        if not self.address.is_openai:  # the client reads them from the environment; other servers must not see them
            client.organization = client.project = None
        return client

    @property
    def takes_schemas(self) -> bool:
        """Whether the server has not yet refused a JSON Schema; True before the first request."""
        return "response_format" not in self._refused

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────

    def write(self, ask: Ask, *, is_over: Callable[[str], bool] | None = None) -> Reply:
        """Send a request and return the reply; stop reading at a line end at which ``is_over`` returns True.

        ``finish`` of the reply is "length" if the reply was cut at ``max_tokens``. A field that the server refuses,
        such as the seed or the log-probabilities, is left out from then on. A refused schema is described in words.

        Args:
            is_over: called with the text so far after each piece with a line end.

        Raises:
            ModelUnavailable: after all attempts, the server did not answer in time, or its answer was incomplete.
            ModelError: the server refused the request, or sent only reasoning or something else than a reply.
        """
        return self._repeat(lambda deadline: self._collect(ask, deadline, is_over))

    def say(self, ask: Ask) -> Generator[str, None, Reply]:
        """Send a request, yield the reply in pieces, and return the whole. A request is repeated only before a piece.

        Nothing is sent before the first piece is read. An empty reply yields nothing. Refused fields are left out as in
        ``write``.

        Raises:
            ModelUnavailable: the server did not answer in time, or its answer was incomplete, maybe after some pieces.
            ModelError: the server refused the request, or sent only reasoning or something else than a reply.
        """

        def begin(deadline: float) -> tuple[Generator[str, None, Reply], str, Reply | None]:
            pieces = self._pieces(ask, deadline)
            try:
                return pieces, next(pieces), None
            except StopIteration as end:
                return pieces, "", end.value

        pieces, first, reply = self._repeat(begin)
        if reply is not None:
            return reply
        with closing(pieces):
            yield first
            return (yield from pieces)

    def _collect(self, ask: Ask, deadline: float, is_over: Callable[[str], bool] | None) -> Reply:
        started, text = time.perf_counter(), ""
        with closing(self._pieces(ask, deadline)) as pieces:
            while True:
                try:
                    piece = next(pieces)
                except StopIteration as end:
                    return end.value
                text += piece
                if is_over is not None and "\n" in piece and is_over(text):
                    return Reply(text, "stopped", self._estimate_usage(ask, text, started))

    def _pieces(self, ask: Ask, deadline: float) -> Generator[str, None, Reply]:
        """Yield the pieces of a reply from one attempt."""
        text, finish, tokens, top, thought = "", "", None, (), False
        started, most = time.perf_counter(), ask.max_tokens * _MOST_CHARACTERS
        with self._slots, self._convert_errors(), self._send(ask, deadline) as stream:
            kind = stream.response.headers.get("content-type", "")
            if "event-stream" not in kind:
                raise wrong_content(kind, self.address)
            for event in stream:
                chunk = read_chunk(event, self.address)
                tokens, finish, top = chunk.tokens or tokens, chunk.finish or finish, top or chunk.top
                thought |= chunk.thinks
                piece = chunk.text[: most - len(text)]
                text += piece
                if piece:
                    yield piece
                if len(piece) < len(chunk.text):  # the server ignores max_tokens
                    return Reply(text, "length", self._estimate_usage(ask, text, started), top)
        if not finish and tokens is None:
            raise incomplete_reply("an incomplete one", self.address)
        if thought and not text:
            raise ModelError(
                f"Expected text from {self.address.model}, got only reasoning, up to the limit of {ask.max_tokens} "
                'tokens. Turn reasoning off, usually with endpoint={"body": {"reasoning_effort": "none"}}.',
                name=self.address.model,
            )
        usage = self._estimate_usage(ask, text, started)
        if tokens is not None:
            usage = replace(usage, prompt_tokens=tokens[0], generated_tokens=tokens[1])
        return Reply(text, _FINISHES.get(finish, "end"), usage, top)

    def _send(self, ask: Ask, deadline: float) -> Any:
        """Send a request; return the stream of its reply.

        If the server refuses a field, this request and all later ones leave the field out.
        """
        import openai

        while True:
            body = self._body(ask)
            try:
                return self._client.chat.completions.create(
                    **body, timeout=self._timeout(deadline), extra_body=self._body_fields
                )  # fmt: skip
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                refused = _find_refused_fields(error, body)
                if not refused:
                    raise
                self._refused |= refused

    def _body(self, ask: Ask) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.address.model,
            "messages": ask.messages,
            "max_tokens": ask.max_tokens,
            "temperature": ask.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if ask.temperature:
            body["seed"] = ask.seed
        if ask.top:
            body |= {"logprobs": True, "top_logprobs": ask.top}
        if ask.schema is not None and self.takes_schemas:
            schema = {"name": "reply", "schema": _make_portable(ask.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif ask.schema is not None:
            *before, last = ask.messages
            words = f"\n\nReply with JSON alone that follows this JSON Schema:\n{json.dumps(ask.schema)}"
            body["messages"] = [*before, {**last, "content": last["content"] + words}]
        if "max_tokens" in self._refused:
            body["max_completion_tokens"] = ask.max_tokens
        return {name: value for name, value in body.items() if name not in self._refused}

    # ── vectors and the list of models ───────────────────────────────────────────────────────────────────

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the (n, d) float32 vectors of texts, in order, rows L2-normalised, from one request.

        Raises:
            ModelUnavailable: the server did not answer in time.
            ModelError: the server refused the request, or its reply holds no valid vectors.
        """

        def send(deadline: float) -> Matrix:
            with self._slots, self._convert_errors():
                answer = self._client.embeddings.create(
                    model=self.address.model, input=list(texts), encoding_format="float",
                    timeout=self._timeout(deadline),
                )  # fmt: skip
            return read_vectors(getattr(answer, "data", None), len(texts), self.address)

        return self._repeat(send)

    def models(self) -> list[Mapping[str, Any]]:
        """Return the server's description of each of its models, in its order, usually with the name under "id".

        Raises:
            ModelUnavailable: the server did not answer in time.
            ModelError: the server refused the request, or has no list of models.
        """

        def send(deadline: float) -> list[Mapping[str, Any]]:
            with self._slots, self._convert_errors():
                # The raw reply: on an unexpected reply, the parser of the client raises foreign errors.
                answer = self._client.models.with_raw_response.list(timeout=self._timeout(deadline)).http_response
                kind = answer.headers.get("content-type", "")
                page = answer.json() if "json" in kind else None
            listed = page.get("data") if isinstance(page, dict) else None
            if not isinstance(listed, list):
                raise wrong_content(kind if page is None else "no list of models", self.address)
            return [model for model in listed if isinstance(model, dict)]

        return self._repeat(send)

    def window(self) -> int | None:
        """Return the model's context length in tokens, from the server's list; None if the list does not say it.

        If the list holds only one model, it counts even if its name is another. Each call asks, except OpenAI's server.

        Raises:
            ModelUnavailable: the server did not answer in time.
            ModelAccessDenied: the server refused the key.
        """
        if self.address.is_openai:  # the list of OpenAI holds no windows
            return None
        try:
            listed = self.models()
        except (ModelAccessDenied, ModelUnavailable):
            raise
        except ModelError:  # the server has no list
            return None
        matches = [model for model in listed if model.get("id") == self.address.model] or listed
        if len(matches) != 1:
            return None
        meta = matches[0].get("meta")
        fields = {**(meta if isinstance(meta, dict) else {}), **matches[0]}
        sizes = (fields.get(name) for name in _WINDOWS)
        return next((size for size in sizes if isinstance(size, int) and size > 1), None)

    def _repeat(self, send: Callable[[float], T]) -> T:
        """Return the result of a request; repeat the request while its error may pass and time is left."""
        retrying = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, ModelError) and error.retryable),
            wait=_pause,
            stop=stop_after_attempt(_ATTEMPTS) | stop_before_delay(self._seconds),
            reraise=True,
        )
        return retrying(send, time.monotonic() + self._seconds)

    def _timeout(self, deadline: float) -> Any:
        import openai

        left = max(deadline - time.monotonic(), 0.01)
        return openai.Timeout(left, connect=min(left, _CONNECT_SECONDS))

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        from memgraph_rag.models.endpoints.errors import convert_error, foreign_errors

        try:
            yield
        except foreign_errors() as error:
            translated = convert_error(error, self.address)
        else:
            return
        raise translated from translated.__cause__

    def _estimate_usage(self, ask: Ask, text: str, started: float) -> Usage:
        read = sum(estimate_tokens(message["content"]) for message in ask.messages)
        return Usage(read, estimate_tokens(text), 1, time.perf_counter() - started)


def _pause(state: RetryCallState) -> float:
    """Return the seconds before the next attempt: the server's pause, or a random one if the server names none."""
    error = state.outcome.exception() if state.outcome is not None else None
    seconds = getattr(error, "facts", {}).get("retry_after_s")
    return _PAUSES(state) if seconds is None else seconds


def _find_refused_fields(error: Any, body: Mapping[str, Any]) -> set[str]:
    """Return the fields of a request that a server refuses; an empty set if it refused for another reason."""
    from memgraph_rag.models.endpoints.errors import is_window_exceeded

    if is_window_exceeded(error):
        return set()
    words = f"{error.param} {error.message}".casefold()
    named = {name for name in _MAY_BE_REFUSED if name in body and name in words}
    refused = named or set([name for name in _GUESSED if name in body][:1])
    return refused | ({"top_logprobs"} if "logprobs" in refused else set[str]())


def _make_portable(schema: Any) -> Any:
    """Return a schema without ``items: false``: ``maxItems`` says the same, and llama.cpp refuses ``items: false``."""
    if isinstance(schema, Mapping):
        return {name: _make_portable(part) for name, part in schema.items() if (name, part) != ("items", False)}
    return [_make_portable(part) for part in schema] if isinstance(schema, list) else schema
