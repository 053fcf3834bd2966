"""A language model on a server. It does the work of ``TransformersModel``, but cannot measure attention.

The module knows prompts and schemas, and reaches the server only through ``Endpoint``. Invariants: a prompt that does
not fit is refused before it is sent; each finished prompt is in the journal before another prompt can fail; texts are
returned in the order of their prompts.
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
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.models.endpoints.client import Ask, Endpoint, Reply
from memgraph_rag.models.endpoints.json_check import JsonCheck, extract_json
from memgraph_rag.models.endpoints.session import EndpointSession
from memgraph_rag.models.endpoints.token_estimate import estimate_tokens
from memgraph_rag.models.endpoints.yes_no import TOP, WORD_TOKENS, read_verdict
from memgraph_rag.models.engine.prompts import prompt_text
from memgraph_rag.models.engine.window import check_prompt
from memgraph_rag.models.files.journal import Journal, journal_key
from memgraph_rag.types import Generation, Prompt

if TYPE_CHECKING:
    from memgraph_rag.models.calibration.calibration import YesCalibration

_AROUND = 32  # tokens of the chat template around a prompt
_MEND = "That is not the JSON that was asked for. Reply again, with nothing but JSON in that form."
_TRIAL = "Is this sentence in English? Reply with one word, Yes or No, without explanation."


class EndpointModel:
    """A model on a server that speaks OpenAI's protocol.

    Args:
        window: the largest number of tokens of a prompt with its reply; the server's own limit if that is smaller.
        requests: the number of prompts that are sent at a time.
        calibration: the meaning of the model's P(Yes).
        journal: stores finished results of ``generate``; its owner clears it.
    """

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
        """The number of tokens that the model may hold at a time. The server is asked once, at the first reading.

        If the server does not say it, it is the ``window`` of the constructor.
        """
        return self._smaller_window

    @cached_property
    def _smaller_window(self) -> int:
        return min(self._window, self.endpoint.window() or self._window)

    @cached_property
    def is_graded(self) -> bool:
        """Whether the server sends the log-probabilities of Yes and No. It is asked once, at the first reading."""
        reply = self.endpoint.write(Ask([{"role": "user", "content": _TRIAL}], max_tokens=WORD_TOKENS, top=TOP))
        return read_verdict(reply.text, reply.top).is_graded

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the estimated number of tokens of each text, without a tokenizer and without a request."""
        return [estimate_tokens(text) for text in texts]

    def open_session(self, question: str) -> EndpointSession:
        """Return a reading session that holds the question and no node. This sends no prompt.

        If ``window`` was not read before, the server is asked for it.

        Raises:
            QuestionError: the question alone does not fit the window.
            ModelUnavailable: the server did not say its window in time.
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
        """Return a greedy continuation of each prompt, in prompt order and without attention.

        Several prompts are sent at a time. Prompts that the journal holds are not sent. If the server does not take the
        schema, the prompt describes the schema in words. Under a schema, the text around the JSON is removed by
        ``extract_json``. If a complete reply does not follow the schema, the model is asked once more, and the second
        reply is returned even if it does not follow it. A reply that was cut at ``max_tokens`` or stopped is returned
        as it is. The arguments are those of ``LanguageModel.generate``.

        Raises:
            WindowExceeded: a prompt and ``max_tokens`` do not fit the window; no prompt was sent.
            ModelUnavailable: the server did not answer; the journal holds the finished prompts.
            ModelError: the schema is invalid, or the server refused a request.
        """
        check = None if schema is None else JsonCheck(schema)
        for prompt in prompts:
            tokens = estimate_tokens(prompt_text(prompt)[0]) + _AROUND
            check_prompt(tokens, max_tokens, self.window, is_estimate=True)
        model = f"{self.endpoint.address.url} {self.name}"
        keys = [journal_key(model, prompt, max_tokens, stop, schema) for prompt in prompts]
        written = self._journal.find_all(keys) if self._journal is not None else {}

        def write(place: int) -> Generation:
            generation = self._write_prompt(prompts[place], max_tokens, stop, schema, check)
            if self._journal is not None:
                self._journal.keep(keys[place], generation)
            return generation

        report: Progress = progress or (lambda *_: None)
        report("summarising", len(written), len(prompts))
        for place, generation in self._write_in_parallel(write, [n for n in range(len(prompts)) if n not in written]):
            written[place] = generation
            report("summarising", len(written), len(prompts))
        return [written[place] for place in range(len(prompts))]

    def _write_in_parallel(
        self, write: Callable[[int], Generation], places: Sequence[int]
    ) -> Iterator[tuple[int, Generation]]:
        """Yield each place with its generation, as soon as it is finished.

        After a failure, requests that are already sent are completed and stored. After Ctrl-C nothing is completed: the
        threads of this pool are daemons, unlike those of ``concurrent.futures``.
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

    def _write_prompt(
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
            reply = self._repair_reply(replace(reply, text=extract_json(reply.text)), ask, check, is_over)
        return Generation(reply.text, np.zeros((0, 2), np.int64), None, reply.finish, reply.usage)

    def _repair_reply(self, reply: Reply, ask: Ask, check: JsonCheck, is_over: Callable[[str], bool] | None) -> Reply:
        """Return the reply, or a second reply if the first is complete but does not follow the schema.

        The usage is that of both requests.
        """
        if reply.finish != "end" or check.follows(reply.text):
            return reply
        talk = [{"role": "assistant", "content": reply.text}, {"role": "user", "content": _MEND}]
        again = self.endpoint.write(replace(ask, messages=[*ask.messages, *talk]), is_over=is_over)
        return replace(again, text=extract_json(again.text), usage=reply.usage + again.usage)
