"""A causal language model of transformers whose attention is measured while it writes and reads.

It knows neither documents nor questions; ``session.py`` reads, ``layers`` summarise. Invariants: rows of a batch
do not see one another; weights are loaded once, when first needed, and count as read-only from then on, so
that several threads may use one model.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from transformers import AutoConfig, PreTrainedModel

from memgraph_rag.contracts import Progress
from memgraph_rag.errors import WindowExceeded
from memgraph_rag.models.calibration.calibration import HeadCalibration
from memgraph_rag.models.engine import attention
from memgraph_rag.models.engine.attention import AttentionMeter, Look, Spans, Visibility
from memgraph_rag.models.engine.batch_row import BatchRow
from memgraph_rag.models.engine.cuda.cuda_graphs import GraphedDecoding, capture_on_gpu
from memgraph_rag.models.engine.cuda.graphed_reading import GraphedReading
from memgraph_rag.models.engine.grammar import Grammars
from memgraph_rag.models.engine.hardware import find_device, find_dtype, memory_errors
from memgraph_rag.models.engine.kv_cache import JoinedCaches, RowCache, cache_argument
from memgraph_rag.models.engine.prefix_cache import Prefixes
from memgraph_rag.models.engine.session import KVSession
from memgraph_rag.models.engine.shared_batches import Pass, SharedPasses
from memgraph_rag.models.engine.shared_writing import SharedWriting
from memgraph_rag.models.engine.tokens import Encoded, Tokens
from memgraph_rag.models.engine.weights import find_number_format, read_weights
from memgraph_rag.models.engine.window import check_window
from memgraph_rag.models.files.journal import Journal, journal_key
from memgraph_rag.models.files.model_files import model_files
from memgraph_rag.types import Generation, Prompt, Usage

__all__ = ["TransformersModel"]

_ROUNDED = 16  # tokens: a CPU's products are compiled for each length and kept, 200 MB after 128 prompts of all lengths
_MOST_GUESSED = 6  # tokens of a row and a pass: the more there are, the more are fed in vain


class TransformersModel:
    """A local causal language model.

    Args:
        folder: weights and tokenizer in the format of transformers, or their name on a hub.
        name: what receipts and documents call it.
        window: the largest number of tokens in the cache; the model's own limit where that is smaller.
        device: "auto" takes a GPU where there is one.
        dtype: "int8" has linear layers compute in 8-bit integers, "int4" keeps their weights in 4 bits; all else is in
            bfloat16 where the hardware computes in it, else in float32. "auto" is "int8" on a CPU that is faster so.
        calibration: what is known of its heads and of its Yes; without it sessions give the mean of all heads.
        journal: keeps what ``generate`` has finished; its owner clears it.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        name: str = "",
        window: int = 8192,
        device: str = "auto",
        dtype: str = "auto",
        calibration: HeadCalibration | None = None,
        journal: Journal | None = None,
    ) -> None:
        self._folder = str(folder)
        self.name = name or Path(folder).name
        self.calibration = calibration
        self._journal = journal
        self._loading = threading.Lock()
        self._network: PreTrainedModel | None = None
        self._passes = SharedPasses(self._read_together)
        self._writing = SharedWriting(self)
        self.prefixes = Prefixes()
        with model_files(
            f"a tokenizer and a config.json in {self._folder}",
            "Give a folder that transformers can load, or a name that 'memgraph-rag doctor' lists.",
            name=self.name,
        ):
            self.tokens = Tokens(folder)
            self._config = AutoConfig.from_pretrained(self._folder).get_text_config()
        self.window = min(window, getattr(self._config, "max_position_embeddings", window))
        self._grammars = Grammars(self.tokens, self._config.vocab_size)
        self.device = find_device(device)
        self.dtype = find_dtype(dtype, self.device)
        self._wanted_format = dtype
        is_gpu = self.device.type == "cuda"
        self._decoding = GraphedDecoding(capture_on_gpu) if is_gpu else None
        self._reading = GraphedReading(capture_on_gpu) if is_gpu else None

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens; needs no weights."""
        return self.tokens.count(texts)

    @cached_property
    def number_format(self) -> str:
        """In which its linear layers compute, such as "bfloat16"; for "auto" that is tried."""
        return find_number_format(self._wanted_format, self.device, self._config)

    @property
    def parameters(self) -> int:
        """How many weights it has; loads them."""
        return self.network.num_parameters()

    def open_session(self, question: str) -> KVSession:
        """A reading session that holds the question and no node; it is read with the first.

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
        expected, advice = f"model weights in {self._folder}", "Unpack or fetch the model again."
        with (
            model_files(expected, advice, name=self.name),
            memory_errors(self.device, f"weights of {self.name}"),
        ):
            network = read_weights(
                self._folder, self.number_format, device=self.device, attention=attention.IMPLEMENTATION
            )
        attention.require_attention_interface(network)
        return network

    def forward(
        self,
        ids: Sequence[Sequence[int]],
        past: RowCache,
        *,
        meter: AttentionMeter | None = None,
        logits_of: Sequence[int] = (-1,),
    ) -> Tensor:
        """Read tokens on top of a cache; (B, len(logits_of), V) logits.

        Args:
            ids: B rows of t new tokens each.
            past: B rows; grows by these tokens.
            meter: told what each new token attends to.
            logits_of: after which of the new tokens, as indices into them.
        """
        network, new = self.network, len(ids[0])
        positions = torch.tensor(past.lengths)[:, None] + torch.arange(new)
        look = Look(new, Visibility(past.lengths), meter)
        with self._passes.turn:
            logits = self._run(network, ids, past, positions, [look], torch.tensor(logits_of) % new)
        past.advance(new)
        return logits

    def read(self, wanted: Pass) -> Tensor:
        """Read tokens on top of a cache of one row, together with what other threads read; (len(logits_of), V)."""
        _ = self.network  # loaded before the turn is taken
        return self._passes(wanted)

    def _read_together(self, passes: Sequence[Pass]) -> list[Tensor]:
        """The logits of each. The large products are one; attention is each one's own."""
        if self._reading is not None and len(passes) == 1 and self._reading.serves(passes[0]):
            with memory_errors(self.device, f"pass of {self.name} over {len(passes[0].ids)} tokens"):
                return [self._reading(self.network, passes[0])]
        counts = [len(each.ids) for each in passes]
        firsts = accumulate(counts, initial=0)
        logits = self._run(
            self.network,
            [[token for each in passes for token in each.ids]],
            JoinedCaches([(each.past, count) for each, count in zip(passes, counts, strict=True)]),
            torch.cat([each.positions for each in passes])[None],
            [Look(len(each.ids), Visibility(each.past.lengths, among=each.among), each.meter) for each in passes],
            torch.cat(
                [f + torch.tensor(each.logits_of) % len(each.ids) for each, f in zip(passes, firsts, strict=False)]
            ),
        )
        for each, count in zip(passes, counts, strict=True):
            each.past.advance(count)
        return list(logits[0].split([len(each.logits_of) for each in passes]))

    @torch.inference_mode()
    def _run(
        self,
        network: PreTrainedModel,
        ids: Sequence[Sequence[int]],
        past: RowCache | JoinedCaches,
        positions: Tensor,
        looks: Sequence[Look],
        logits_of: Tensor,
    ) -> Tensor:
        with memory_errors(self.device, f"pass of {self.name} over {positions.numel()} tokens"):
            output = network(
                torch.tensor(ids, device=self.device),
                use_cache=True,
                position_ids=positions.to(self.device),
                logits_to_keep=logits_of.to(self.device),
                looks=looks,
                **{cache_argument(network): past},
            )
        return output.logits

    def beginning(self, ids: Sequence[int]) -> RowCache:
        """A cache of one row that holds these tokens, to be copied: what many prompts begin with is read once."""
        known = self.prefixes.find(ids)
        if known is None:
            known = RowCache()
            if ids:
                self.forward([ids], known)
            self.prefixes.keep(ids, known)
        return known

    def borrow_cache(self) -> RowCache:
        """A cache without rows, for a session, which gives it back."""
        return RowCache(rows=0) if self._reading is None else self._reading.borrow()

    def give_back(self, cache: RowCache) -> None:
        """A session has ended; what it read is forgotten."""
        if self._reading is not None:
            self._reading.give_back(cache)

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────

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

        What all prompts begin with is read once, and so is what one of the last prompts began with, as far as its
        ``task``. Each prompt is read alone (no padding), then the rows write together, with those of other threads; a
        row that is finished leaves at once, and the next prompt takes its place. What the journal knows is not written
        again.

        Args:
            max_tokens: most tokens written to one prompt.
            stop: asked with prompt and text so far at each line end, under a schema at each end of a list or an object;
                True ends that one.
            schema: a JSON Schema that what is written is a beginning of, and follows whole unless it is cut.
            progress: told of finished prompts.

        Raises:
            WindowExceeded: a prompt and ``max_tokens`` do not fit the window.
            ModelError: the schema is none, or a GPU's memory is too small.
        """
        keys = [self._key(prompt, max_tokens, stop, schema) for prompt in prompts]
        written = self._journal.find_all(keys) if self._journal is not None else {}
        rows = [
            BatchRow(
                place,
                prompt,
                *self.tokens.prompt(prompt),
                form=self._grammars.form(schema) if schema else None,
                max_tokens=max_tokens,
                stop=stop,
            )
            for place, prompt in enumerate(prompts)
            if place not in written
        ]
        for row in rows:
            if len(row.ids) + max_tokens > self.window:
                raise WindowExceeded(
                    f"Expected a prompt of at most {self.window - max_tokens} tokens (window {self.window}, "
                    f"{max_tokens} kept for the output), got {len(row.ids)}. Give fewer inputs at once.",
                    tokens=len(row.ids), window=self.window,
                )  # fmt: skip
        if progress is not None:
            progress("summarising", len(written), len(prompts))
        with closing(self._writing(rows)) as finished:
            for row in finished:
                written[row.place] = self._generation(row)
                if self._journal is not None:
                    self._journal.keep(keys[row.place], written[row.place])
                if progress is not None:
                    progress("summarising", len(written), len(prompts))
        return [written[place] for place in range(len(prompts))]

    def _key(
        self,
        prompt: Prompt,
        max_tokens: int,
        stop: Callable[[Prompt, str], bool] | None,
        schema: Mapping[str, Any] | None,
    ) -> str:
        return journal_key(f"{self.name} {self._folder} {self.number_format}", prompt, max_tokens, stop, schema)

    def padding(self, new: int, total: int) -> int:
        """How many tokens to read behind so many new ones, of which a row then holds ``total``."""
        return min(-new % _ROUNDED, self.window - total)

    @property
    def most_guessed(self) -> int:
        """How many guesses of its next tokens a pass may feed a row; none where a captured step has one shape."""
        return _MOST_GUESSED if self._decoding is None else 0

    def common_beginning(self, rows: Sequence[BatchRow]) -> RowCache:
        """A cache that holds what all prompts begin with: the template and the instruction."""
        before_inputs = (row.ids[: row.spans[0][0]] if row.spans else [] for row in rows)
        equal = takewhile(lambda tokens: len(set(tokens)) == 1, zip(*before_inputs, strict=False))
        return self.beginning([tokens[0] for tokens in equal])

    def feed_back(self, fed: Sequence[Sequence[int]], past: RowCache, spans: Spans) -> tuple[Tensor, Tensor]:
        """(B, t, V) logits after each token of B rows, and the (B, t, at least S) attention it pays to the spans."""
        if self._decoding is None:
            meter = AttentionMeter(spans)
            return self.forward(fed, past, meter=meter, logits_of=range(len(fed[0]))), meter.mean()
        network = self.network
        with self._passes.turn, memory_errors(self.device, f"decoding step of {self.name} with {len(fed)} rows"):
            return self._decoding(network, [token for (token,) in fed], past, spans)

    # ── reading what was written elsewhere ───────────────────────────────────────────────────────────────

    def read_written(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> list[Generation]:
        """The texts as if this model had written them behind these prompts, with the attention paid to each input.

        Raises:
            WindowExceeded: a prompt and its text do not fit the window.
        """
        rows = [BatchRow(place, prompt, *self.tokens.prompt(prompt)) for place, prompt in enumerate(prompts)]
        written = [self.tokens.encode(text) for text in texts]
        for row, text in zip(rows, written, strict=True):
            check_window(len(row.ids) + len(text.ids), self.window)
        beginning = self.common_beginning(rows)
        return [
            Generation(text, np.array(tokens.offsets, np.int64).reshape(-1, 2), *self._forced(row, tokens, beginning))
            for row, text, tokens in zip(rows, texts, written, strict=True)
        ]

    def _forced(self, row: BatchRow, text: Encoded, beginning: RowCache) -> tuple[np.ndarray, Literal["end"], Usage]:
        """(T, S) attention of a text's tokens behind a prompt, from one pass; that the text ends; what it cost."""
        started = time.perf_counter()
        past = RowCache(rows=0)
        past.add_row(beginning)
        new = [*row.ids[past.lengths[0] :], *text.ids]
        more = self.padding(len(new), len(row.ids) + len(text.ids))
        meter = AttentionMeter(Spans([row.spans], length=len(row.ids), device=self.device))
        self.forward([[*new, *[0] * more]], past, meter=meter)
        measured = meter.mean()[0, len(new) - len(text.ids) : len(new)].cpu().numpy()
        usage = Usage(len(row.ids) + len(text.ids), 0, 1, time.perf_counter() - started)
        return measured, "end", usage

    def _generation(self, row: BatchRow) -> Generation:
        text, offsets = self.tokens.decode_with_offsets(row.written)
        measured = np.array(row.attention, np.float32).reshape(len(row.written), len(row.spans))
        usage = Usage(len(row.ids), len(row.written), 1, row.seconds)
        return Generation(text, offsets, measured, row.finish, usage)  # type: ignore[arg-type]
