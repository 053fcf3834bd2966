"""The plain twin of ``language_model.py`` and ``session.py``: the papers as written, slow and short.

One prompt at a time, transformers' own greedy decoding, whole attention matrices, and a session that reads
everything again at each step. It knows no batch, no cache and no measuring. Invariant: it gives what the fast engine
gives, up to rounding (the tests compare them); its ``usage`` counts the tokens that the fast engine would read. It
serves any causal model that transformers runs with eager attention.

Source: PECAN, sections 3.1 (attention averaged over all layers and heads) and 3.2 (search loop).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoConfig, GenerationConfig, PreTrainedModel
from typing_extensions import Self

from memgraph_rag.contracts import Progress
from memgraph_rag.errors import WindowExceeded
from memgraph_rag.models.engine import prompts
from memgraph_rag.models.engine.grammar import Form, Grammars, asks_to_stop
from memgraph_rag.models.engine.hardware import find_device, find_dtype
from memgraph_rag.models.engine.sampling import Draw
from memgraph_rag.models.engine.tokens import Tokens
from memgraph_rag.models.engine.weights import read_weights
from memgraph_rag.models.engine.window import ANSWER_ROOM, check_nodes, check_question, check_request, check_window
from memgraph_rag.types import Generation, Prompt, Usage, Vector

__all__ = ["PlainModel", "PlainSession"]


class PlainModel:
    """A local causal language model, with the arguments of ``TransformersModel``."""

    def __init__(
        self, folder: str | Path, *, name: str = "", window: int = 8192, device: str = "auto", dtype: str = "auto"
    ) -> None:
        self._folder = str(folder)
        self.name = name or Path(folder).name
        self.tokens = Tokens(folder)
        config = AutoConfig.from_pretrained(self._folder).get_text_config()
        self.window = min(window, getattr(config, "max_position_embeddings", window))
        self._grammars = Grammars(self.tokens, config.vocab_size)
        self.device = find_device(device)
        self.dtype = find_dtype(dtype, self.device)
        self._number_format = dtype

    @cached_property
    def network(self) -> PreTrainedModel:
        """The weights, loaded at the first use."""
        network = read_weights(self._folder, self._number_format, device=self.device, attention="eager")
        network.generation_config = GenerationConfig()  # the checkpoint's own may sample, or punish repetition
        return network

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens; needs no weights."""
        return self.tokens.count(texts)

    @property
    def parameters(self) -> int:
        """How many weights it has; loads them."""
        return self.network.num_parameters()

    def open_session(self, question: str) -> PlainSession:
        """A reading session that holds the question and no node; QuestionError where that alone does not fit."""
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
        """Greedy continuations, in prompt order, with the attention that was paid to each input.

        Raises:
            WindowExceeded: a prompt and ``max_tokens`` do not fit the window.
            ModelError: the schema is none.
        """
        encoded = [self.tokens.prompt(prompt) for prompt in prompts]
        most = self.window - max_tokens
        for ids, _ in encoded:
            if len(ids) > most:
                raise WindowExceeded(
                    f"Expected a prompt of at most {most} tokens (window {self.window}, {max_tokens} kept for the "
                    f"output), got {len(ids)}. Give fewer inputs at once.", tokens=len(ids), window=self.window,
                )  # fmt: skip
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
        """The texts as if this model had written them behind these prompts, with the attention paid to each input."""
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
        self,
        ids: list[int],
        *,
        max_tokens: int,
        stop: Callable[[str], bool] | None = None,
        form: Form | None = None,
    ) -> tuple[list[int], str]:
        """The tokens that transformers' greedy decoding writes after these, and why it ended."""
        finish = ""

        def allowed(_: int, sequence: Tensor) -> list[int]:
            if len(sequence) > len(ids):
                form.take(int(sequence[-1]))  # type: ignore[union-attr]
            return np.flatnonzero(form.allowed()).tolist()  # type: ignore[union-attr]

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
        most = max_tokens + 1  # one more, to see whether the model would have ended there
        output = network.generate(
            tokens, attention_mask=torch.ones_like(tokens), do_sample=False, max_new_tokens=most,
            stopping_criteria=[is_over], prefix_allowed_tokens_fn=allowed if form is not None else None,
        )  # fmt: skip
        return output[0, len(ids) : -1].tolist(), finish

    def attention(self, ids: list[int]) -> Tensor:
        """(T, T) float32: of each token, as the query, to each; one forward pass, mean over layers and heads."""
        layers = self._forward(ids, output_attentions=True).attentions  # of (1, H, T, T)
        return torch.stack([layer[0].float().mean(dim=0) for layer in layers]).mean(dim=0).cpu()

    def logits(self, ids: list[int]) -> Tensor:
        """(V,): of each token to follow these, from one forward pass."""
        return self._forward(ids).logits[0, -1]

    def probabilities(self, ids: list[int]) -> Tensor:
        """(V,) float32: of each token to follow these."""
        return torch.softmax(self.logits(ids).float(), dim=-1)

    def log_probabilities(self, ids: list[int]) -> Tensor:
        """(T, V) of what follows each token."""
        return torch.log_softmax(self._forward(ids).logits[0].float(), dim=-1)

    @torch.inference_mode()
    def _forward(self, ids: list[int], **wanted: bool) -> Any:
        return self.network(torch.tensor([ids], device=self.device), use_cache=False, **wanted)


class PlainSession:
    """A reading session that keeps the tokens read, and reads them all again at each step."""

    attends = True
    is_graded = True
    calibration = None  # the papers know none

    def __init__(self, model: PlainModel, question: str) -> None:
        self._model, self._tokens = model, model.tokens
        self._asked = question
        self._p_yes: float | None = None  # of what is read now
        self._ends: list[int] = []  # tokens held before each call of append
        self._ids, self._question = self._tokens.question(question)
        self._room = ANSWER_ROOM + len(self._tokens.answer_turn(question, says_yes=False))
        self.usage = Usage(len(self._ids), 0, 1)
        check_question(self._question[1] - self._question[0], len(self._ids) + self._room, model.window)

    @property
    def tokens_left(self) -> int:
        """How many tokens of nodes still fit, with room kept for the probe and the answer."""
        return self._model.window - len(self._ids) - self._room

    def ignore_calibration(self) -> None:
        """There is none."""

    def append(self, texts: Sequence[str]) -> Vector:
        """Read nodes; (n,) mean attention of each new node's tokens to the question's tokens.

        Raises:
            WindowExceeded: they do not fit; nothing was read.
        """
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
        """P(Yes) / (P(Yes) + P(No)) over all token spellings, that what was read answers the question."""
        if self._p_yes is None:
            started = time.perf_counter()
            self._p_yes = self._probe()
            self._count(len(self._tokens.turns.reply), 0, started)
        return self._p_yes

    def take_back(self, calls: int) -> None:
        """Forget the nodes of the last calls of ``append``."""
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
        """The answer, in one piece, from what was read; the probe's own turn, answered Yes, stands before it."""
        request = request or prompts.answer_request(self._asked)
        turn = self._tokens.request_turn(request, says_yes=True)
        started = time.perf_counter()
        max_tokens = min(max_tokens, self._model.window - len(self._ids) - len(turn))
        written, _ = self._model.write([*self._ids, *turn], max_tokens=max_tokens)
        self._count(len(turn), len(written), started)
        if written:
            yield self._tokens.decode_with_offsets(written)[0]

    def judge(self, request: str) -> float:
        """P(Yes) to another question of Yes or No, behind what was read.

        Raises:
            WindowExceeded: the request does not fit; nothing was read.
        """
        turn = self._tokens.request_turn(request, says_yes=False)
        check_request(len(turn), self._model.window - len(self._ids), self._model.window)
        started = time.perf_counter()
        p_yes = self._share_of_yes([*self._ids, *turn])
        self._count(len(turn), 0, started)
        return p_yes

    def reply(self, request: str, *, max_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:
        """What the model says to a request made behind what was read, greedy or drawn.

        Raises:
            WindowExceeded: the request does not fit; nothing was read.
        """
        turn = self._tokens.request_turn(request, says_yes=False)
        room = self._model.window - len(self._ids)
        check_request(len(turn), room, self._model.window)
        started, draw = time.perf_counter(), Draw(temperature, seed)
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ids = []
