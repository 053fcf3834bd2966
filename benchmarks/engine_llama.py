"""llama.cpp compiled on this machine, driven through its C interface: many rows that write together.

The wheels of PyPI leave out AVX-512, which the package ``llama-cpp-python`` uses where it is compiled on the spot. It
knows token ids only. Invariant: a row writes greedily, so many tokens as it is told, whatever they say.
"""

from __future__ import annotations

import ctypes
import os
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path

import llama_cpp as llama
import numpy as np

__all__ = ["Rows"]

_BATCH = 2048  # tokens of one pass


@llama.llama_log_callback
def _keep_quiet(level: int, text: bytes, user_data: ctypes.c_void_p) -> None:
    """Takes llama.cpp's log."""


class Rows:
    """A model with room for so many rows of so many tokens each."""

    def __init__(self, gguf: Path, *, rows: int, row_tokens: int) -> None:
        if row_tokens > _BATCH:
            raise ValueError(f"Expected rows of at most {_BATCH} tokens, got {row_tokens}.")
        llama.llama_log_set(_keep_quiet, ctypes.c_void_p(0))
        llama.llama_backend_init()
        self._model = llama.llama_model_load_from_file(str(gguf).encode(), llama.llama_model_default_params())
        params = llama.llama_context_default_params()
        params.n_ctx, params.n_seq_max, params.n_batch = (rows + 1) * row_tokens, rows + 1, _BATCH
        params.n_threads = params.n_threads_batch = os.cpu_count() or 1
        self._context = llama.llama_init_from_model(self._model, params)
        if not self._context:
            raise ValueError(f"llama.cpp could not open {gguf}.")
        self._memory = llama.llama_get_memory(self._context)
        self._words = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(self._model))
        self._batch = llama.llama_batch_init(_BATCH, 0, 1)
        self._rows = rows

    def write(self, prompts: Sequence[list[int]], lengths: Sequence[int]) -> list[list[int]]:
        """So many tokens to each prompt. What all prompts begin with is read once, into a row of its own."""
        llama.llama_memory_clear(self._memory, True)
        prefix = _common_beginning(prompts) if len(prompts) > 1 else []
        if prefix:
            self._pass([(token, at, self._rows) for at, token in enumerate(prefix)])
        written: list[list[int]] = [[] for _ in prompts]
        waiting, free = deque(range(len(prompts))), deque(range(self._rows))
        active: dict[int, int] = {}  # which prompt each row holds
        while waiting or active:
            while waiting and free:
                number, row = waiting.popleft(), free.popleft()
                prompt = prompts[number]
                if prefix:
                    llama.llama_memory_seq_cp(self._memory, self._rows, row, -1, -1)
                written[number] += self._pass([(prompt[at], at, row) for at in range(len(prefix), len(prompt))])
                active[row] = number
            for row in [row for row, number in active.items() if len(written[number]) >= lengths[number]]:
                llama.llama_memory_seq_rm(self._memory, row, -1, -1)
                free.append(row)
                del active[row]
            if active:
                asked = [
                    (written[number][-1], len(prompts[number]) + len(written[number]) - 1, row)
                    for row, number in active.items()
                ]
                for number, token in zip(active.values(), self._pass(asked, all_follow=True), strict=True):
                    written[number].append(token)
        return written

    def _pass(self, tokens: Iterable[tuple[int, int, int]], *, all_follow: bool = False) -> list[int]:
        """Read (token, position, row) of each; what follows the last, or each."""
        batch, count = self._batch, 0
        for count, (token, position, row) in enumerate(tokens, 1):
            at = count - 1
            batch.token[at], batch.pos[at], batch.n_seq_id[at], batch.seq_id[at][0] = token, position, 1, row
            batch.logits[at] = all_follow
        batch.n_tokens, batch.logits[count - 1] = count, True
        if failure := llama.llama_decode(self._context, batch):
            raise ValueError(f"llama_decode gave {failure} for {count} tokens")
        return [self._likeliest(at) for at in (range(count) if all_follow else [count - 1])]

    def _likeliest(self, at: int) -> int:
        logits = llama.llama_get_logits_ith(self._context, at)
        return int(np.ctypeslib.as_array(logits, (self._words,)).argmax())


def _common_beginning(prompts: Sequence[list[int]]) -> list[int]:
    """What all begin with, and none ends with."""
    together = zip(*(prompt[:-1] for prompt in prompts), strict=False)
    return [tokens[0] for tokens in takewhile(lambda tokens: len(set(tokens)) == 1, together)]
