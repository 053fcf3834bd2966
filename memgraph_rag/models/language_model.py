"""A causal language model of transformers whose attention is measured while it writes and reads.

It knows neither documents nor questions; ``session.py`` reads, ``layers`` summarise. Invariants: rows of a batch
do not see one another; weights are loaded once, when first needed, and count as read-only from then on, so
that several threads may use one model.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel
from transformers.cache_utils import Cache

from memgraph_rag.contracts import Progress
from memgraph_rag.errors import ModelError, WindowExceeded
from memgraph_rag.models import attention, cache
from memgraph_rag.models.attention import AttentionMeter, span_indicators
from memgraph_rag.models.hardware import best_dtype, find_device
from memgraph_rag.models.session import KVSession
from memgraph_rag.models.tokens import Tokens
from memgraph_rag.types import Generation, Prompt, Usage

__all__ = ["TransformersModel"]

_MOST_ROWS = 16  # decode speed on two cores no longer grows beyond
_MOST_BATCH_TOKENS = 65_536  # of KV cache, padding included: 1.8 GB with the 1.5B model in bf16


@dataclass(eq=False)
class _Row:
    """One prompt on its way through the model."""

    prompt: Prompt
    ids: list[int]
    spans: list[tuple[int, int]]
    cache: Cache
    written: list[int]
    attention: list[np.ndarray] = field(default_factory=list)
    finish: str = ""
    seconds: float = 0.0  # its share of the batch's time


class TransformersModel:
    """A local causal language model.

    Args:
        folder: weights and tokenizer in the format of transformers, or their name on a hub.
        name: what receipts and documents call it.
        window: most tokens held at once; the model's own limit where that is smaller.
        device: "auto" takes a GPU where there is one.
        dtype: "auto" is bfloat16 where the hardware computes in it, else float32.
    """

    def __init__(
        self, folder: str | Path, *, name: str = "", window: int = 8192, device: str = "auto", dtype: str = "auto"
    ) -> None:
        self._folder = str(folder)
        self.name = name or Path(folder).name
        self._loading = threading.Lock()
        self._network: PreTrainedModel | None = None
        try:
            self.tokens = Tokens(folder)
            config = AutoConfig.from_pretrained(self._folder)
        except (OSError, ValueError) as error:
            raise ModelError(
                f"Expected a tokenizer and a config.json in {self._folder}, but they could not be read: {error} "
                "Give a folder that transformers can load, or a name that 'memgraph-rag doctor' lists.",
                model=self.name,
            ) from error
        self.window = min(window, getattr(config.get_text_config(), "max_position_embeddings", window))
        self.device = find_device(device)
        self.dtype = best_dtype(self.device) if dtype == "auto" else getattr(torch, dtype)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens; needs no weights."""
        return self.tokens.count(texts)

    def open_session(self, question: str) -> KVSession:
        """A reading session that holds the question and no node.

        Raises:
            QuestionError: the question alone does not fit the window.
        """
        return KVSession(self, question)

    # ── one forward pass ─────────────────────────────────────────────────────────────────────────────────

    @property
    def network(self) -> PreTrainedModel:
        """The weights, loaded at the first use."""
        with self._loading:
            if self._network is None:
                self._network = self._load()
            return self._network

    def _load(self) -> PreTrainedModel:
        try:
            network = AutoModelForCausalLM.from_pretrained(
                self._folder, dtype=self.dtype, attn_implementation=attention.IMPLEMENTATION
            )
        except (OSError, ValueError) as error:
            raise ModelError(f"Expected model weights in {self._folder}, but: {error}", model=self.name) from error
        attention.require_attention_interface(network)
        torch.nn.Module.to(network, self.device)
        return network.eval().requires_grad_(False)

    @torch.inference_mode()
    def forward(
        self,
        ids: Sequence[Sequence[int]],
        past: Cache,
        *,
        lengths: Tensor | None = None,
        meter: AttentionMeter | None = None,
    ) -> Tensor:
        """Read tokens on top of a cache; (B, V) logits after the last one.

        Args:
            ids: B rows of equally many new tokens.
            past: grows by these tokens.
            lengths: (B,) how many tokens of ``past`` are real in each row; the others, on the left, are padding.
            meter: told what each new token attends to.
        """
        network = self.network
        tokens = torch.tensor(ids, device=self.device)
        extra: dict[str, Tensor] = {}
        if lengths is not None:
            held, new = past.get_seq_length(), tokens.shape[1]
            places = torch.arange(held + new, device=self.device)
            extra["attention_mask"] = (places >= held - lengths[:, None]).long()
            extra["position_ids"] = lengths[:, None] + torch.arange(new, device=self.device)
        keywords = {"meter": meter} if meter is not None else {}
        output = network(tokens, past_key_values=past, use_cache=True, logits_to_keep=1, **extra, **keywords)
        return output.logits[:, -1]

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        stop: Callable[[Prompt, str], bool] | None = None,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """Greedy continuations, in prompt order, with the attention that was paid to each input.

        Each prompt is prefilled alone (no padding, the causal kernel), then the rows decode together; a finished
        row leaves the batch.

        Args:
            max_tokens: most tokens written to one prompt.
            stop: asked with prompt and text so far at each line end; True ends that one.
            progress: told of finished prompts.

        Raises:
            WindowExceeded: a prompt and ``max_tokens`` do not fit the window.
        """
        encoded = [(prompt, *self._encode(prompt)) for prompt in prompts]
        for _, ids, _ in encoded:
            if len(ids) + max_tokens > self.window:
                raise WindowExceeded(
                    f"Expected a prompt of at most {self.window - max_tokens} tokens (window {self.window}, "
                    f"{max_tokens} kept for the output), got {len(ids)}. Give fewer inputs at once.",
                    tokens=len(ids), window=self.window,
                )  # fmt: skip
        done, generations = 0, []
        if progress is not None:
            progress("summarising", 0, len(prompts))
        for group in _groups(encoded, max_tokens):
            rows = [self._prefill(*item) for item in group]
            for _ in self._decode(rows, max_tokens, stop):
                done += 1
                if progress is not None:
                    progress("summarising", done, len(prompts))
            generations += [self._generation(row) for row in rows]
        return generations

    def _encode(self, prompt: Prompt) -> tuple[list[int], list[tuple[int, int]]]:
        """Token ids of a whole prompt, and the token span of each input."""
        text, characters = prompt.instruction + "\n\n", []
        for line in prompt.inputs:
            characters.append((len(text), len(text) + len(line)))
            text += line + "\n"
        content = self.tokens.encode(text)
        before = len(self.tokens.turns.opening)
        spans = [content.span(*span) for span in characters]
        ids = [*self.tokens.turns.opening, *content.ids, *self.tokens.turns.reply]
        return ids, [(before + start, before + end) for start, end in spans]

    def _prefill(self, prompt: Prompt, ids: list[int], spans: list[tuple[int, int]]) -> _Row:
        started = time.perf_counter()
        past = cache.new_cache()
        logits = self.forward([ids], past)
        return _Row(prompt, ids, spans, past, [int(logits[0].argmax())], seconds=time.perf_counter() - started)

    def _decode(self, rows: list[_Row], max_tokens: int, stop: Callable[[Prompt, str], bool] | None) -> Iterator[_Row]:
        """Write all rows to their ends, yielding each row as it finishes."""
        active = list(rows)
        past = cache.join([row.cache for row in rows])
        for row in rows:
            row.cache = past  # the one-row caches are copied; let them go
        longest = past.get_seq_length()
        indicators = self._indicators(rows, longest)
        while active:
            started = time.perf_counter()
            lengths = torch.tensor([len(row.ids) + len(row.written) - 1 for row in active], device=self.device)
            meter = AttentionMeter(indicators)
            logits = self.forward([[row.written[-1]] for row in active], past, lengths=lengths, meter=meter)
            measured = meter.mean()[:, 0].cpu().numpy()
            following = logits.argmax(dim=-1).tolist()
            for row, attended, token in zip(active, measured, following, strict=True):
                row.attention.append(attended[: len(row.spans)])
                row.finish = self._finish(row, token, max_tokens, stop)
                if not row.finish:
                    row.written.append(token)
            share = (time.perf_counter() - started) / len(active)
            for row in active:
                row.seconds += share
            kept = [index for index, row in enumerate(active) if not row.finish]
            if len(kept) < len(active):
                yield from (row for row in active if row.finish)
                active = [active[index] for index in kept]
                if active:
                    cache.select(past, kept)
                    indicators = indicators[kept]

    def _indicators(self, rows: list[_Row], longest: int) -> Tensor:
        shifted = [
            [(start + longest - len(row.ids), end + longest - len(row.ids)) for start, end in row.spans] for row in rows
        ]
        return span_indicators(shifted, length=longest, dtype=self.dtype, device=self.device)

    def _finish(self, row: _Row, token: int, max_tokens: int, stop: Callable[[Prompt, str], bool] | None) -> str:
        if token in self.tokens.ends:
            return "end"
        if len(row.written) >= max_tokens:
            return "length"
        if stop is not None and "\n" in self.tokens.decode(row.written[-1:]):
            return "stopped" if stop(row.prompt, self.tokens.decode(row.written)) else ""
        return ""

    def _generation(self, row: _Row) -> Generation:
        written = list(takewhile(lambda token: token not in self.tokens.ends, row.written))
        text, offsets = self.tokens.decode_with_offsets(written)
        measured = np.array(row.attention[: len(written)], np.float32).reshape(len(written), len(row.spans))
        usage = Usage(len(row.ids), len(row.written), 1, row.seconds)
        return Generation(text, offsets, measured, row.finish or "end", usage)  # type: ignore[arg-type]


def _groups(encoded: list, max_tokens: int) -> Iterator[list]:
    """Consecutive prompts that decode together within the limits on rows and on padded tokens."""
    group: list = []
    for item in encoded:
        longest = max(len(ids) for _, ids, _ in [*group, item]) + max_tokens
        if group and (len(group) == _MOST_ROWS or longest * (len(group) + 1) > _MOST_BATCH_TOKENS):
            yield group
            group = []
        group.append(item)
    if group:
        yield group
