"""The plain twin of ``language_model.py`` and ``session.py``: the algorithms of the papers, slow and short.

It reads one prompt at a time, uses the greedy decoding of transformers and whole attention matrices, and its session
reads everything again at each step. The module does not know batches, caches or meters. Invariant: it gives the same
results as the fast engine, up to rounding (the tests compare them), and its ``usage`` counts the tokens that the fast
engine would read. It serves any causal model that transformers runs with eager attention.

Source: PECAN, sections 3.1 (attention averaged over all layers and heads) and 3.2 (search loop).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoConfig, GenerationConfig, PreTrainedModel
from typing_extensions import Self

from memgraph_rag.contracts import Progress
from memgraph_rag.models.engine import prompts
from memgraph_rag.models.engine.grammar import Form, Grammars, asks_to_stop
from memgraph_rag.models.engine.hardware import find_device, find_dtype
from memgraph_rag.models.engine.sampling import Sampler
from memgraph_rag.models.engine.tokens import Tokens
from memgraph_rag.models.engine.weights import read_weights
from memgraph_rag.models.engine.window import (
    ANSWER_ROOM,
    check_nodes,
    check_prompt,
    check_question,
    check_request,
    check_window,
)
from memgraph_rag.types import Generation, Prompt, Usage, Vector


class PlainModel:
    """A local causal language model, plain and slow, with the first arguments of ``TransformersModel``.

    The model and its sessions raise the errors of their contracts (``contracts/models.py``).
    """

    def __init__(
        self, folder: str | Path, *, name: str = "", window: int = 8192, device: str = "auto", dtype: str = "auto"
    ) -> None:
        self._folder = str(folder)
        self.name = name or Path(folder).name
        self.tokens = Tokens(folder)
        config = AutoConfig.from_pretrained(self._folder, trust_remote_code=False).get_text_config()
        self.window = min(window, getattr(config, "max_position_embeddings", window))
        self._grammars = Grammars(self.tokens, config.vocab_size)
        self.device = find_device(device)
        self.dtype = find_dtype(dtype, self.device)
        self._number_format = dtype

    @cached_property
    def network(self) -> PreTrainedModel:
        """The network with its weights, loaded at the first use."""
        network = read_weights(self._folder, self._number_format, device=self.device, attention="eager")
        network.generation_config = GenerationConfig()  # the checkpoint's own may sample or penalise repetition
        return network

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special tokens. This loads no weights."""
        return self.tokens.count(texts)

    def open_session(self, question: str) -> PlainSession:
        """Return a reading session that holds the question and no node."""
        return PlainSession(self, question)

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        stop: Callable[[Prompt, str], bool] | None = None,
        schema: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """Return a greedy continuation of each prompt, in prompt order, with its attention to each input."""
        encoded = [self.tokens.prompt(prompt) for prompt in prompts]
        for ids, _ in encoded:
            check_prompt(len(ids), max_tokens, self.window)
        report: Progress = progress or (lambda *_: None)
        report("summarising", 0, len(prompts))
        generations: list[Generation] = []
        for done, (prompt, (ids, spans)) in enumerate(zip(prompts, encoded, strict=True), 1):
            started = time.perf_counter()
            form = self._grammars.form(schema) if schema else None
            written, finish = self.write(ids, max_tokens=max_tokens, stop=stop and partial(stop, prompt), form=form)
            rows = self.attention([*ids, *written])[len(ids) :]
            columns = [rows[:, start:end].mean(dim=1).numpy() for start, end in spans]
            measured = np.array(columns, np.float32).reshape(len(spans), len(written)).T
            usage = Usage(len(ids), len(written), 1, time.perf_counter() - started)
            text, offsets = self.tokens.decode_with_offsets(written)
            generations.append(Generation(text, offsets, measured, finish, usage))  # type: ignore[arg-type]
            report("summarising", done, len(prompts))
        return generations

    def read_written(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> list[Generation]:
        """Return a generation for each text, as if this model had written the text after the prompt.

        Each generation holds the attention of the text's tokens to each input of the prompt.
        """
        generations: list[Generation] = []
        for prompt, text in zip(prompts, texts, strict=True):
            started, (ids, spans), written = time.perf_counter(), self.tokens.prompt(prompt), self.tokens.encode(text)
            check_window(len(ids) + len(written.ids), self.window)
            rows = self.attention([*ids, *written.ids])[len(ids) :]
            columns = [rows[:, start:end].mean(dim=1).numpy() for start, end in spans]
            measured = np.array(columns, np.float32).reshape(len(spans), len(written.ids)).T
            usage = Usage(len(ids) + len(written.ids), 0, 1, time.perf_counter() - started)
            offsets = np.array(written.offsets, np.int64).reshape(-1, 2)
            generations.append(Generation(text, offsets, measured, "end", usage))
        return generations

    def write(
        self, ids: list[int], *, max_tokens: int, stop: Callable[[str], bool] | None = None, form: Form | None = None
    ) -> tuple[list[int], str]:
        """Return the tokens that greedy decoding writes after ``ids``, and the reason why it ended.

        The reason is "end", "length" after ``max_tokens``, or "stopped". The token that ends the reply is left out.
        """
        finish = ""

        def list_allowed(_: int, sequence: Tensor) -> list[int]:
            if len(sequence) > len(ids):
                form.take(int(sequence[-1]))  # type: ignore[union-attr]
            return np.flatnonzero(form.mask_allowed()).tolist()  # type: ignore[union-attr]

        def is_over(sequence: Tensor, *_: object, **__: object) -> Tensor:
            nonlocal finish
            *written, following = sequence[0, len(ids) :].tolist()
            if following in self.tokens.ends:
                finish = "end"
            elif len(written) >= max_tokens:
                finish = "length"
            elif stop is not None and written and asks_to_stop(self.tokens.decode(written[-1:]), form):
                finish = "stopped" if stop(self.tokens.decode(written)) else ""
            return torch.tensor([bool(finish)], device=sequence.device)

        network: Any = self.network
        tokens = torch.tensor([ids], device=self.device)
        most = max_tokens + 1  # one more, to see whether the model ends there
        output = network.generate(
            tokens, attention_mask=torch.ones_like(tokens), do_sample=False, max_new_tokens=most,
            stopping_criteria=[is_over], prefix_allowed_tokens_fn=list_allowed if form is not None else None,
        )  # fmt: skip
        return output[0, len(ids) : -1].tolist(), finish

    def attention(self, ids: list[int]) -> Tensor:
        """Return the (T, T) float32 attention of each token, as the query, to each token.

        It comes from one forward pass and is the mean over layers and heads.
        """
        layers = self._forward(ids, output_attentions=True).attentions  # of (1, H, T, T)
        return torch.stack([layer[0].float().mean(dim=0) for layer in layers]).mean(dim=0).cpu()

    def logits(self, ids: list[int]) -> Tensor:
        """Return the (V,) logits of the next token after ``ids``, from one forward pass."""
        return self._forward(ids).logits[0, -1]

    def probabilities(self, ids: list[int]) -> Tensor:
        """Return the (V,) float32 probabilities of the next token after ``ids``."""
        return torch.softmax(self.logits(ids).float(), dim=-1)

    @torch.inference_mode()
    def _forward(self, ids: list[int], **wanted: bool) -> Any:
        return self.network(torch.tensor([ids], device=self.device), use_cache=False, **wanted)


class PlainSession:
    """A reading session that keeps the tokens read so far and reads all of them again at each step."""

    attends = True
    is_graded = True
    calibration = None  # the papers have no calibration

    def __init__(self, model: PlainModel, question: str) -> None:
        self._model, self._tokens = model, model.tokens
        self._question_text = question
        self._p_yes: float | None = None  # for the tokens read so far
        self._ends: list[int] = []  # the number of tokens before each call of append
        self._ids, self._question = self._tokens.question(question)
        self._room = ANSWER_ROOM + len(self._tokens.request_turn(prompts.answer_request(question), says_yes=False))
        self.usage = Usage(len(self._ids), 0, 1)
        check_question(self._question[1] - self._question[0], len(self._ids) + self._room, model.window)

    @property
    def tokens_left(self) -> int:
        """The number of node tokens that still fit; the session keeps room for the probe and the answer."""
        return self._model.window - len(self._ids) - self._room

    def ignore_calibration(self) -> None:
        """Do nothing: the session has no calibration."""

    def append(self, texts: Sequence[str]) -> Vector:
        """Read nodes; return the (n,) mean attention of each new node's tokens to the question's tokens."""
        ids, spans = self._tokens.nodes(texts)
        if not ids:
            return np.zeros(0, np.float32)
        check_nodes(len(ids), self.tokens_left, self._model.window)
        started, length = time.perf_counter(), len(self._ids)
        self._ends.append(length)
        self._ids = [*self._ids, *ids]
        to_question = self._model.attention(self._ids)[length:, slice(*self._question)]
        self._p_yes = self._probe()
        self._count(len(ids) + len(self._tokens.turns.reply), 0, started)
        return np.array([float(to_question[start:end].mean()) for start, end in spans], np.float32)

    def probability_of_yes(self) -> float:
        """Return the probability that the nodes read so far answer the question.

        It is P(Yes) / (P(Yes) + P(No)), each summed over all tokens that spell the word; 0 if both are 0.
        """
        if self._p_yes is None:
            started = time.perf_counter()
            self._p_yes = self._probe()
            self._count(len(self._tokens.turns.reply), 0, started)
        return self._p_yes

    def take_back(self, calls: int) -> None:
        """Remove the nodes of the last ``calls`` calls of ``append``. Calls without nodes do not count."""
        for _ in range(calls):
            self._ids = self._ids[: self._ends.pop()]
            self._p_yes = None

    def _probe(self) -> float:
        return self._share_of_yes([*self._ids, *self._tokens.turns.reply])

    def _share_of_yes(self, ids: list[int]) -> float:
        probabilities = self._model.probabilities(ids)
        yes, no = (float(probabilities[spellings].sum()) for spellings in (self._tokens.yes, self._tokens.no))
        return yes / (yes + no) if yes + no > 0 else 0.0

    def answer(self, *, max_tokens: int, request: str = "") -> Iterator[str]:
        """Yield the answer in one piece, from the nodes read so far; nothing if the model writes nothing.

        The request follows the turn of the probe, in which the assistant answers Yes.
        """
        request = request or prompts.answer_request(self._question_text)
        turn = self._tokens.request_turn(request, says_yes=True)
        started = time.perf_counter()
        max_tokens = min(max_tokens, self._model.window - len(self._ids) - len(turn))
        written, _ = self._model.write([*self._ids, *turn], max_tokens=max_tokens)
        self._count(len(turn), len(written), started)
        if written:
            yield self._tokens.decode_with_offsets(written)[0]

    def judge(self, request: str) -> float:
        """Return P(Yes) for another question that the model answers with Yes or No, after the nodes read so far."""
        turn = self._tokens.request_turn(request, says_yes=False)
        check_request(len(turn), self._model.window - len(self._ids), self._model.window)
        started = time.perf_counter()
        p_yes = self._share_of_yes([*self._ids, *turn])
        self._count(len(turn), 0, started)
        return p_yes

    def reply(self, request: str, *, max_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:
        """Return the model's reply to a request after the nodes read so far, greedy or sampled."""
        turn = self._tokens.request_turn(request, says_yes=False)
        room = self._model.window - len(self._ids)
        check_request(len(turn), room, self._model.window)
        started, draw = time.perf_counter(), Sampler(temperature, seed)
        ids = [*self._ids, *turn]
        written: list[int] = []
        while len(written) < min(max_tokens, room - len(turn)):
            token = draw(self._model.logits([*ids, *written]))
            if token in self._tokens.ends:
                break
            written.append(token)
        self._count(len(turn), len(written), started)
        return self._tokens.decode_with_offsets(written)[0]

    def _count(self, read: int, written: int, started: float) -> None:
        self.usage += Usage(read, written, 1 + written, time.perf_counter() - started)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ids = []
