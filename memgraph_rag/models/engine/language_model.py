"""A causal language model of transformers whose attention is measured while it writes and reads.

The module does not know documents or questions. ``session.py`` reads, and ``layers`` summarises. Invariants: the rows
of a batch do not see one another; the weights are loaded once, at the first use, and never change afterwards, so that
several threads may use one model.
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
from memgraph_rag.models.calibration.calibration import HeadCalibration, TurnCalibration
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
from memgraph_rag.models.engine.turn_judge import judge_turns
from memgraph_rag.models.engine.weights import count_operations, find_number_format, first_layers, read_weights
from memgraph_rag.models.engine.window import check_prompt, check_window
from memgraph_rag.models.files.journal import Journal, journal_key
from memgraph_rag.models.files.model_files import model_files
from memgraph_rag.types import Generation, Operations, Prompt, TurnVerdicts, Usage, count_attended

_ROUNDED = 16  # tokens: a CPU compiles its products for each length and keeps them, 200 MB after 128 lengths
_MOST_GUESSED = 6  # tokens of a row in a pass: of more guesses, more are wrong


class TransformersModel:
    """A local causal language model.

    Args:
        folder: the folder with weights and tokenizer in the format of transformers, or their name on a hub.
        name: the model's name in receipts and documents.
        window: the largest number of tokens in the cache; the model's own limit if that is smaller.
        device: "auto" takes a GPU if there is one.
        dtype: "int8" lets linear layers compute with 8-bit integers, and "int4" keeps their weights in 4 bits. The
            other layers compute in the format of ``choose_dtype``. "auto" is "int8" on a CPU that is faster with
            integers, else ``choose_dtype``.
        calibration: the heads to measure and the meaning of P(Yes); without it, sessions return the mean of all heads.
        turn_calibration: the weights by which ``judge_turns`` reads the model's states; without it, P(Yes) decides.
        journal: stores finished results of ``generate``; its owner clears it.
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
        turn_calibration: TurnCalibration | None = None,
        journal: Journal | None = None,
    ) -> None:
        self._folder = str(folder)
        self.name = name or Path(folder).name
        self.calibration = calibration
        self.turn_calibration = turn_calibration
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
            self._config = AutoConfig.from_pretrained(self._folder, trust_remote_code=False).get_text_config()
        self.window = min(window, getattr(self._config, "max_position_embeddings", window))
        self._grammars = Grammars(self.tokens, self._config.vocab_size)
        self.device = find_device(device)
        self.dtype = find_dtype(dtype, self.device)
        self._dtype_name = dtype
        is_gpu = self.device.type == "cuda"
        self._decoding = GraphedDecoding(capture_on_gpu) if is_gpu else None
        self._reading = GraphedReading(capture_on_gpu) if is_gpu else None

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special tokens. This loads no weights."""
        return self.tokens.count(texts)

    @cached_property
    def number_format(self) -> str:
        """The format in which the linear layers compute, such as "bfloat16". For "auto" the processor is measured."""
        return find_number_format(self._dtype_name, self.device, self._config)

    @cached_property
    def operations(self) -> Operations:
        """The floating-point operations of a token and of its attention. This loads no weights."""
        return count_operations(self._config)

    def open_session(self, question: str) -> KVSession:
        """Return a reading session that holds the question and no node. The question is read with the first node.

        Raises:
            QuestionError: the question alone does not fit the window.
        """
        return KVSession(self, question)

    def judge_turns(self, question: str, turns: Sequence[str]) -> TurnVerdicts:
        """Return how likely each turn states what the question asks; see ``contracts.TurnJudge``.

        Raises:
            QuestionError: the question does not fit the window.
        """
        return judge_turns(self, question, turns)

    # ── one forward pass ─────────────────────────────────────────────────────────────────────────────────

    @property
    def network(self) -> PreTrainedModel:
        """The network with its weights, loaded at the first use."""
        with self._loading:
            if self._network is None:
                self._network = self._load()
            return self._network

    def _load(self) -> PreTrainedModel:
        expected, advice = f"model weights in {self._folder}", "Unpack or fetch the model again."
        with model_files(expected, advice, name=self.name), memory_errors(self.device, f"weights of {self.name}"):
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
        """Read tokens after the tokens of a cache; return (B, len(logits_of), V) logits.

        Args:
            ids: B rows of t new tokens each.
            past: a cache of B rows; the new tokens are added to it.
            meter: measures the attention of each new token.
            logits_of: the indices of the new tokens whose logits are returned.
        """
        network, new = self.network, len(ids[0])
        positions = torch.tensor(past.lengths)[:, None] + torch.arange(new)
        look = Look(new, Visibility(past.lengths), meter)
        with self._passes.turn:
            logits = self._run(network, ids, past, positions, [look], torch.tensor(logits_of) % new)
        past.advance(new)
        return logits

    def read(self, wanted: Pass) -> Tensor:
        """Read tokens after the tokens of a one-row cache; return (len(logits_of), V) logits.

        Passes that other threads ask for at the same time run together with this pass.
        """
        _ = self.network  # load the weights before the pass waits for its turn
        return self._passes(wanted)

    def _read_together(self, passes: Sequence[Pass]) -> list[Tensor]:
        """Return the logits of each pass. The passes share the linear layers; each pass has its own attention."""
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
                **{cache_argument(type(network)): past},
            )
        return output.logits

    @torch.inference_mode()
    def read_states(self, wanted: Pass, *, layers: int) -> Tensor:
        """Read tokens after the tokens of a one-row cache; return their (len(logits_of), D) states after some layers.

        Only these layers are computed. The states are in float32 on the CPU. The cache cannot be used afterwards.
        """
        decoder, tokens = first_layers(self.network, layers), len(wanted.ids)
        visible = Visibility(wanted.past.lengths, among=wanted.among)
        with self._passes.turn, memory_errors(self.device, f"pass of {self.name} over {tokens} tokens"):
            output = decoder(
                torch.tensor([wanted.ids], device=self.device),
                use_cache=True,
                position_ids=wanted.positions[None].to(self.device),
                looks=[Look(tokens, visible, wanted.meter)],
                **{cache_argument(type(self.network)): wanted.past},
            )
        return output.last_hidden_state[0, list(wanted.logits_of)].float().cpu()

    def read_prefix(self, ids: Sequence[int]) -> RowCache:
        """Return a one-row KV cache that holds these tokens, read now or before. Callers copy it and do not change it.

        Prompts that begin with the same tokens share the cache, so that the model reads these tokens once.
        """
        cache = self.prefixes.find(ids)
        if cache is None:
            cache = RowCache()
            if ids:
                self.forward([ids], cache)
            self.prefixes.keep(ids, cache)
        return cache

    def borrow_cache(self) -> RowCache:
        """Return a cache without rows for a session, maybe with buffers of an earlier session; see ``give_back``."""
        return RowCache(rows=0) if self._reading is None else self._reading.borrow()

    def give_back(self, cache: RowCache) -> None:
        """Take back the cache of a session that has ended, and forget its tokens. Without a GPU, nothing happens."""
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
        """Return a greedy continuation of each prompt, in prompt order, with its attention to each input.

        The model reads the common beginning of all prompts once. If prompts differ only in their ``task``, it also
        reads their common part up to the task once. Each prompt is read alone (without padding). Then the rows write
        together, also with rows of other threads. A finished row leaves at once, and the next prompt takes its place.
        Results that the journal holds are not written again. The arguments are those of ``LanguageModel.generate``.

        Raises:
            WindowExceeded: a prompt and ``max_tokens`` do not fit the window; nothing was written. Prompts that the
                journal holds are not checked.
            ModelError: the schema is invalid, or the memory of a GPU is too small.
        """
        model = f"{self.name} {self._folder} {self.number_format}"
        keys = [journal_key(model, prompt, max_tokens, stop, schema) for prompt in prompts]
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
            check_prompt(len(row.ids), max_tokens, self.window)
        if progress is not None:
            progress("summarising", len(written), len(prompts))
        with closing(self._writing(rows)) as finished:
            for row in finished:
                written[row.place] = self._build_generation(row)
                if self._journal is not None:
                    self._journal.keep(keys[row.place], written[row.place])
                if progress is not None:
                    progress("summarising", len(written), len(prompts))
        return [written[place] for place in range(len(prompts))]

    def padding(self, new: int, total: int) -> int:
        """Return how many padding tokens follow ``new`` tokens: up to a multiple of 16, or to the end of the window.

        Args:
            total: the number of tokens of the row, the new tokens included and padding excluded.
        """
        return min(-new % _ROUNDED, self.window - total)

    @property
    def max_guesses(self) -> int:
        """The largest number of guessed tokens that a pass reads for a row.

        It is 0 on a GPU, because a captured step has a fixed shape.
        """
        return _MOST_GUESSED if self._decoding is None else 0

    def read_common_prefix(self, rows: Sequence[BatchRow]) -> RowCache:
        """Return a one-row cache with the tokens that all prompts begin with, at most up to the first input.

        These are the template and the instruction. If a prompt has no input, the cache is empty.
        """
        before_inputs = (row.ids[: row.spans[0][0]] if row.spans else [] for row in rows)
        equal = takewhile(lambda tokens: len(set(tokens)) == 1, zip(*before_inputs, strict=False))
        return self.read_prefix([tokens[0] for tokens in equal])

    def feed_back(self, fed: Sequence[Sequence[int]], past: RowCache, spans: Spans) -> tuple[Tensor, Tensor]:
        """Read t tokens for each of B rows; return (B, t, V) logits and (B, t, at least S) attention to the spans.

        The tokens are added to the cache. On a GPU, t is 1, and the next call for this cache overwrites both results.
        """
        if self._decoding is None:
            meter = AttentionMeter(spans)
            return self.forward(fed, past, meter=meter, logits_of=range(len(fed[0]))), meter.mean()
        network = self.network
        with self._passes.turn, memory_errors(self.device, f"decoding step of {self.name} with {len(fed)} rows"):
            return self._decoding(network, [token for (token,) in fed], past, spans)

    # ── reading what was written elsewhere ───────────────────────────────────────────────────────────────

    def read_written(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> list[Generation]:
        """Return a generation for each text, as if this model had written the text after the prompt.

        Each generation holds the attention of the text's tokens to each input of the prompt. Its ``finish`` is "end".

        Raises:
            WindowExceeded: a prompt and its text do not fit the window; nothing was read.
        """
        rows = [BatchRow(place, prompt, *self.tokens.prompt(prompt)) for place, prompt in enumerate(prompts)]
        written = [self.tokens.encode(text) for text in texts]
        for row, text in zip(rows, written, strict=True):
            check_window(len(row.ids) + len(text.ids), self.window)
        prefix = self.read_common_prefix(rows)
        return [
            Generation(text, np.array(tokens.offsets, np.int64).reshape(-1, 2), *self._read_text(row, tokens, prefix))
            for row, text, tokens in zip(rows, texts, written, strict=True)
        ]

    def _read_text(self, row: BatchRow, text: Encoded, prefix: RowCache) -> tuple[np.ndarray, Literal["end"], Usage]:
        """Read a prompt and its text in one pass.

        Returns:
            (T, S) attention of the text's tokens to each input, the finish "end", and the cost.
        """
        started = time.perf_counter()
        past = RowCache(rows=0)
        past.add_row(prefix)
        new = [*row.ids[past.lengths[0] :], *text.ids]
        more = self.padding(len(new), len(row.ids) + len(text.ids))
        meter = AttentionMeter(Spans([row.spans], length=len(row.ids), device=self.device))
        self.forward([[*new, *[0] * more]], past, meter=meter)
        measured = meter.mean()[0, len(new) - len(text.ids) : len(new)].cpu().numpy()
        tokens = len(row.ids) + len(text.ids)
        return measured, "end", Usage(tokens, 0, 1, time.perf_counter() - started, count_attended(tokens))

    def _build_generation(self, row: BatchRow) -> Generation:
        text, offsets = self.tokens.decode_with_offsets(row.written)
        measured = np.array(row.attention, np.float32).reshape(len(row.written), len(row.spans))
        attended = count_attended(len(row.ids) + len(row.written))
        usage = Usage(len(row.ids), len(row.written), 1, row.seconds, attended)
        return Generation(text, offsets, measured, row.finish, usage)  # type: ignore[arg-type]
