"""A server that speaks OpenAI's protocol: what is asked of it, and what comes back.

It knows neither prompts nor sessions. Invariants: no more requests at a time than allowed; a request that fails in a
way that may pass is repeated, with the server's own pause where it names one, until its deadline, and raises one error
of ours; a reply has a bound in time and in bytes, and is checked; a text that broke off is never taken for a whole one;
a redirect is not followed; the key is read for each request and kept nowhere.
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
from memgraph_rag.models.endpoints.replies import read_chunk, read_vectors
from memgraph_rag.models.endpoints.token_estimate import estimated_tokens
from memgraph_rag.types import Matrix, Usage

__all__ = ["Ask", "Endpoint", "Reply"]

T = TypeVar("T")

_ATTEMPTS = 5
_CONNECT_SECONDS = 10.0
_PAUSES = wait_random_exponential(multiplier=0.5, max=20.0)
_MAY_BE_REFUSED = ("max_tokens", "temperature", "seed", "response_format", "logprobs", "top_logprobs", "stream_options")
_GUESSED = ("response_format", "logprobs")  # what a refusal is about that does not say
_WINDOWS = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length", "n_ctx")
_MOST_CHARACTERS = 64  # of a token; what reads a reply then takes its time from what was asked for
_FINISHES: Mapping[str, Literal["end", "stopped", "length"]] = {"length": "length", "content_filter": "stopped"}


@dataclass(frozen=True, slots=True)
class Ask:
    """One request.

    Attributes:
        schema: a JSON Schema that the reply is to follow; how well the server sees to that is its own.
        top: the log-probabilities of how many first tokens are wanted.
    """

    messages: Sequence[Mapping[str, str]]
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    schema: Mapping[str, Any] | None = None
    top: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, whole.

    Attributes:
        top: log-probabilities of what the first token might have been; empty where the server does not tell.
    """

    text: str
    finish: Literal["end", "stopped", "length"]
    usage: Usage
    top: tuple[tuple[str, float], ...] = ()


class Endpoint:
    """One model of one server.

    Args:
        key: gives what is sent to this server alone; called for each request.
        requests: most at a time.
        seconds: longest that a request may take, with its repetitions.
        body: more fields of each request.

    Raises:
        ModelNotFound: the client is not installed.
        ModelAccessDenied: OpenAI is asked, and there is no key.
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
        self._key = key or _no_key
        self._seconds = seconds
        self._more = dict(body or {})
        self._slots = BoundedSemaphore(requests)
        self._refused: set[str] = {"max_tokens"} if address.is_openai else set()
        self._client = self._open_client()

    def _open_client(self) -> Any:
        import openai

        from memgraph_rag.models.endpoints.limits import ReplyLimits

        hooks = ReplyLimits(self.address).hooks
        transport = openai.DefaultHttpxClient(follow_redirects=False, event_hooks=hooks)
        weakref.finalize(self, transport.close)
        client = openai.OpenAI(
            base_url=self.address.url, api_key=self._key, max_retries=0, timeout=self._seconds, http_client=transport
        )
        if not self.address.is_openai:  # the client reads them from the environment; they are nobody else's business
            client.organization = client.project = None
        return client

    @property
    def takes_schemas(self) -> bool:
        """Whether the server was not yet seen to refuse a JSON Schema."""
        return "response_format" not in self._refused

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────

    def write(self, ask: Ask, *, is_over: Callable[[str], bool] | None = None) -> Reply:
        """The whole reply, or that up to where it is over.

        Args:
            is_over: asked with the text so far at each line end.

        Raises:
            ModelUnavailable: the server did not answer in time, or its answer broke off, again and again.
            ModelError: it refused.
        """
        return self._repeated(lambda deadline: self._collected(ask, deadline, is_over))

    def say(self, ask: Ask) -> Generator[str, None, Reply]:
        """The reply in pieces; repeated only as long as no piece has come.

        Raises:
            ModelUnavailable: the server did not answer in time, or its answer broke off.
            ModelError: it refused.
        """

        def begin(deadline: float) -> tuple[Generator[str, None, Reply], str, Reply | None]:
            pieces = self._pieces(ask, deadline)
            try:
                return pieces, next(pieces), None
            except StopIteration as end:
                return pieces, "", end.value

        pieces, first, reply = self._repeated(begin)
        if reply is not None:
            return reply
        with closing(pieces):
            yield first
            return (yield from pieces)

    def _collected(self, ask: Ask, deadline: float, is_over: Callable[[str], bool] | None) -> Reply:
        started, text = time.perf_counter(), ""
        with closing(self._pieces(ask, deadline)) as pieces:
            while True:
                try:
                    piece = next(pieces)
                except StopIteration as end:
                    return end.value
                text += piece
                if is_over is not None and "\n" in piece and is_over(text):
                    return Reply(text, "stopped", self._estimated(ask, text, started))

    def _pieces(self, ask: Ask, deadline: float) -> Generator[str, None, Reply]:
        """One attempt."""
        text, finish, tokens, top, thought = "", "", None, (), False
        started, most = time.perf_counter(), ask.max_tokens * _MOST_CHARACTERS
        with self._slots, self._errors_as_ours(), self._sent(ask, deadline) as stream:
            kind = stream.response.headers.get("content-type", "")
            if "event-stream" not in kind:
                raise self._wrong_content(kind)
            for event in stream:
                chunk = read_chunk(event, self.address)
                tokens, finish, top = chunk.tokens or tokens, chunk.finish or finish, top or chunk.top
                thought |= chunk.thinks
                piece = chunk.text[: most - len(text)]
                text += piece
                if piece:
                    yield piece
                if len(piece) < len(chunk.text):  # the server does not keep to max_tokens
                    return Reply(text, "length", self._estimated(ask, text, started), top)
        if not finish and tokens is None:
            raise self._cut("one that breaks off")
        if thought and not text:
            raise ModelError(
                f"Expected text from {self.address.model}, got reasoning alone, up to the limit of {ask.max_tokens} "
                'tokens. Turn it off, most often by endpoint={"body": {"reasoning_effort": "none"}}.',
                name=self.address.model,
            )
        usage = self._estimated(ask, text, started)
        if tokens is not None:
            usage = replace(usage, prompt_tokens=tokens[0], generated_tokens=tokens[1])
        return Reply(text, _FINISHES.get(finish, "end"), usage, top)

    def _sent(self, ask: Ask, deadline: float) -> Any:
        """The stream of a reply; what the server refuses to be told is left out from then on."""
        import openai

        while True:
            body = self._body(ask)
            try:
                return self._client.chat.completions.create(
                    **body, timeout=self._timeout(deadline), extra_body=self._more
                )  # fmt: skip
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                refused = _refused_fields(error, body)
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
            schema = {"name": "reply", "schema": _portable(ask.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif ask.schema is not None:
            *before, last = ask.messages
            words = f"\n\nReply with JSON alone that follows this JSON Schema:\n{json.dumps(ask.schema)}"
            body["messages"] = [*before, {**last, "content": last["content"] + words}]
        if "max_tokens" in self._refused:
            body["max_completion_tokens"] = ask.max_tokens
        return {name: value for name, value in body.items() if name not in self._refused}

    # ── all else ─────────────────────────────────────────────────────────────────────────────────────────

    def embed(self, texts: Sequence[str]) -> Matrix:
        """(n, d) float32, rows L2-normalised.

        Raises:
            ModelUnavailable: the server did not answer in time.
            ModelError: it refused, or gave no vectors.
        """

        def send(deadline: float) -> Matrix:
            with self._slots, self._errors_as_ours():
                answer = self._client.embeddings.create(
                    model=self.address.model, input=list(texts), encoding_format="float",
                    timeout=self._timeout(deadline),
                )  # fmt: skip
            return read_vectors(getattr(answer, "data", None), len(texts), self.address)

        return self._repeated(send)

    def models(self) -> list[Mapping[str, Any]]:
        """What the server says of each of its models, under "id" its name.

        Raises:
            ModelUnavailable: the server did not answer in time.
            ModelError: it refused, or keeps no list.
        """

        def send(deadline: float) -> list[Mapping[str, Any]]:
            with self._slots, self._errors_as_ours():
                # As it came: the client fails on what is no page of models with an error that is none of its own.
                answer = self._client.models.with_raw_response.list(timeout=self._timeout(deadline)).http_response
                kind = answer.headers.get("content-type", "")
                page = answer.json() if "json" in kind else None
            listed = page.get("data") if isinstance(page, dict) else None
            if not isinstance(listed, list):
                raise self._wrong_content(kind if page is None else "no list of models")
            return [model for model in listed if isinstance(model, dict)]

        return self._repeated(send)

    def window(self) -> int | None:
        """How many tokens the model holds, where the server's list tells."""
        if self.address.is_openai:  # its list does not
            return None
        try:
            listed = self.models()
        except (ModelAccessDenied, ModelUnavailable):
            raise
        except ModelError:  # it keeps none
            return None
        told = [model for model in listed if model.get("id") == self.address.model] or listed
        if len(told) != 1:
            return None
        meta = told[0].get("meta")
        fields = {**(meta if isinstance(meta, dict) else {}), **told[0]}
        sizes = (fields.get(name) for name in _WINDOWS)
        return next((size for size in sizes if isinstance(size, int) and size > 1), None)

    def _repeated(self, send: Callable[[float], T]) -> T:
        """What a request gives; again where that may help, as long as there is time."""
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
    def _errors_as_ours(self) -> Iterator[None]:
        from memgraph_rag.models.endpoints.errors import as_ours, foreign_errors

        try:
            yield
        except foreign_errors() as error:
            told = as_ours(error, self.address)
        else:
            return
        raise told from told.__cause__

    def _wrong_content(self, kind: str) -> ModelError:
        from memgraph_rag.models.endpoints.errors import wrong_content

        return wrong_content(kind, self.address)

    def _cut(self, got: str) -> ModelUnavailable:
        from memgraph_rag.models.endpoints.errors import breaks_off

        return breaks_off(got, self.address)

    def _estimated(self, ask: Ask, text: str, started: float) -> Usage:
        read = sum(estimated_tokens(message["content"]) for message in ask.messages)
        return Usage(read, estimated_tokens(text), 1, time.perf_counter() - started)


def _no_key() -> str:
    """What most servers on one's own machine take: they want no key, and the client wants one."""
    return "none"


def _pause(state: RetryCallState) -> float:
    """Seconds before the next attempt: the server's, where it names some."""
    error = state.outcome.exception() if state.outcome is not None else None
    asked = getattr(error, "facts", {}).get("retry_after_s")
    return _PAUSES(state) if asked is None else asked


def _refused_fields(error: Any, body: Mapping[str, Any]) -> set[str]:
    """The fields of a request that a server does not take; none where it refused for another reason."""
    from memgraph_rag.models.endpoints.errors import is_window_exceeded

    if is_window_exceeded(error):
        return set()
    words = f"{error.param} {error.message}".casefold()
    named = {name for name in _MAY_BE_REFUSED if name in body and name in words}
    refused = named or set([name for name in _GUESSED if name in body][:1])
    return refused | ({"top_logprobs"} if "logprobs" in refused else set[str]())


def _portable(schema: Any) -> Any:
    """The schema without ``items: false``, which says what ``maxItems`` says too, and which llama.cpp refuses."""
    if isinstance(schema, Mapping):
        return {name: _portable(part) for name, part in schema.items() if (name, part) != ("items", False)}
    return [_portable(part) for part in schema] if isinstance(schema, list) else schema
