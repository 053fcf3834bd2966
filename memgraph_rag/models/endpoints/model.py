"""A language model behind an address: what ``TransformersModel`` is for weights in this process, without attention.

It knows prompts and schemas, and the server by ``Endpoint`` alone. Invariants: what does not fit is refused before it
is sent; each finished prompt is in the journal before another can fail; texts come in the order of their prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from multiprocessing.pool import ThreadPool
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np

from memgraph_rag.contracts import Progress
from memgraph_rag.errors import MemgraphRagError, WindowExceeded
from memgraph_rag.models.endpoints.client import Ask, Endpoint, Reply
from memgraph_rag.models.endpoints.json_check import JsonCheck, bare_json
from memgraph_rag.models.endpoints.session import EndpointSession
from memgraph_rag.models.endpoints.token_estimate import estimated_tokens
from memgraph_rag.models.endpoints.yes_no import TOP, WORD_TOKENS, verdict
from memgraph_rag.models.engine.prompts import prompt_text
from memgraph_rag.models.files.journal import Journal, journal_key
from memgraph_rag.types import Generation, Prompt

if TYPE_CHECKING:
    from memgraph_rag.models.calibration.calibration import YesCalibration

__all__ = ["EndpointModel"]

_AROUND = 32  # tokens of the chat template
_MEND = "That is not the JSON that was asked for. Reply again, with nothing but JSON in that form."
_TRIAL = "Is this sentence in English? Reply with one word, Yes or No, without explanation."


class EndpointModel:
    """A model of a server that speaks OpenAI's protocol.

    Args:
        window: the largest number of tokens of a prompt and its reply; the server's own limit where it tells a smaller.
        requests: prompts that are sent at a time.
        calibration: what is known of its Yes.
        journal: keeps what ``generate`` has finished; its owner clears it.
    """

    parameters = 0
    """How many weights it has; a server does not tell."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        window: int = 8192,
        requests: int = 8,
        calibration: YesCalibration | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.endpoint = endpoint
        self.name = endpoint.address.model
        self.calibration = calibration
        self._window = window
        self._requests = requests
        self._journal = journal

    @property
    def window(self) -> int:
        """How many tokens it may hold at once; the server is asked once."""
        return self._smaller_window

    @cached_property
    def _smaller_window(self) -> int:
        return min(self._window, self.endpoint.window() or self._window)

    @cached_property
    def is_graded(self) -> bool:
        """Whether the server tells the log-probabilities of Yes and No; it is asked once."""
        reply = self.endpoint.write(Ask([{"role": "user", "content": _TRIAL}], max_tokens=WORD_TOKENS, top=TOP))
        return verdict(reply.text, reply.top).is_graded

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """About how many tokens each text has; neither tokenizer nor server is asked."""
        return [estimated_tokens(text) for text in texts]

    def open_session(self, question: str) -> EndpointSession:
        """A reading session that holds the question and no node; nothing is sent yet.

        Raises:
            QuestionError: the question alone does not fit the window.
        """
        return EndpointSession(self, question)

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        stop: Callable[[Prompt, str], bool] | None = None,
        schema: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """Greedy continuations, in prompt order, several prompts at a time; nobody looks.

        A server that does not take the schema is told of it in words. A reply that does not follow it is asked for once
        more; what then comes is given as it is.

        Args:
            max_tokens: most tokens written to one prompt.
            stop: asked with prompt and text so far at each line end; True ends that one.
            schema: a JSON Schema.
            progress: told of finished prompts.

        Raises:
            WindowExceeded: a prompt and ``max_tokens`` do not fit the window; nothing was sent.
            ModelUnavailable: the server did not answer; what is finished is in the journal.
            ModelError: the schema is none, or the server refused.
        """
        check = None if schema is None else JsonCheck(schema)
        for prompt in prompts:
            self._check_window(prompt, max_tokens)
        known = f"{self.endpoint.address.url} {self.name}"
        keys = [journal_key(known, prompt, max_tokens, stop, schema) for prompt in prompts]
        written = self._journal.find_all(keys) if self._journal is not None else {}

        def write(place: int) -> Generation:
            generation = self._written(prompts[place], max_tokens, stop, schema, check)
            if self._journal is not None:
                self._journal.keep(keys[place], generation)
            return generation

        report: Progress = progress or (lambda *_: None)
        report("summarising", len(written), len(prompts))
        for place, generation in self._all_at_once(write, [n for n in range(len(prompts)) if n not in written]):
            written[place] = generation
            report("summarising", len(written), len(prompts))
        return [written[place] for place in range(len(prompts))]

    def _all_at_once(
        self, write: Callable[[int], Generation], places: Sequence[int]
    ) -> Iterator[tuple[int, Generation]]:
        """What is written to each place, as it is finished; after a failure what was sent is waited for, and kept.

        After Ctrl-C nothing is waited for: the pool's threads are daemons, as those of ``concurrent.futures`` are not.
        """
        pool, has_failed = ThreadPool(self._requests), Event()

        def write_next(place: int) -> tuple[int, Generation] | None:
            return None if has_failed.is_set() else (place, write(place))

        try:
            for written in pool.imap_unordered(write_next, places):
                if written is not None:
                    yield written
        except MemgraphRagError:
            has_failed.set()
            pool.close()
            pool.join()
            raise
        finally:
            pool.terminate()

    def _check_window(self, prompt: Prompt, max_tokens: int) -> None:
        most = self.window - max_tokens
        tokens = estimated_tokens(prompt_text(prompt)[0]) + _AROUND
        if tokens > most:
            raise WindowExceeded(
                f"Expected a prompt of at most {most} tokens (window {self.window}, {max_tokens} kept for the output), "
                f"got about {tokens}. Give fewer inputs at once.",
                tokens=tokens, window=self.window,
            )  # fmt: skip

    def _written(
        self,
        prompt: Prompt,
        max_tokens: int,
        stop: Callable[[Prompt, str], bool] | None,
        schema: Mapping[str, Any] | None,
        check: JsonCheck | None,
    ) -> Generation:
        is_over = None if stop is None else partial(stop, prompt)
        ask = Ask([{"role": "user", "content": prompt_text(prompt)[0]}], max_tokens, schema=schema)
        reply = self.endpoint.write(ask, is_over=is_over)
        if check is not None:
            reply = self._mended(replace(reply, text=bare_json(reply.text)), ask, check, is_over)
        return Generation(reply.text, np.zeros((0, 2), np.int64), None, reply.finish, reply.usage)

    def _mended(self, reply: Reply, ask: Ask, check: JsonCheck, is_over: Callable[[str], bool] | None) -> Reply:
        """The reply, or another where it is whole and does not follow the schema; with the usage of both."""
        if reply.finish != "end" or check.follows(reply.text):
            return reply
        talk = [{"role": "assistant", "content": reply.text}, {"role": "user", "content": _MEND}]
        again = self.endpoint.write(replace(ask, messages=[*ask.messages, *talk]), is_over=is_over)
        return replace(again, text=bare_json(again.text), usage=reply.usage + again.usage)
