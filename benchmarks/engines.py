"""Engines that only write: the same prompts, the same weights, so many tokens, no attention measured.

Each is made in a process of its own, by name (``ENGINES``), and knows token ids only. Invariant: ``generate`` writes
exactly as many tokens to each prompt as it is told to, whatever they say; loading and a first short run are not in
its seconds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from memgraph_rag.models.files.catalogue import CATALOGUE

__all__ = ["ENGINES", "Engine", "Weights", "find_weights"]

_TOGETHER = 16  # rows at once, where an engine takes several


@dataclass(frozen=True, slots=True)
class Weights:
    """One model as it lies on the disk: the folder for transformers, and the GGUF file that it was made from."""

    name: str
    folder: str
    gguf: Path | None


def find_weights(name: str, folder: str, cache_dir: Path) -> Weights:
    """The model's files; the GGUF file of a packaged one is joined from its parts and kept."""
    model = CATALOGUE.get(name)
    parts = model.part_paths() if model is not None else None
    if model is None or parts is None:
        return Weights(name, folder, None)
    path = cache_dir / "benchmarks" / f"{name}.gguf"
    if not path.is_file() or path.stat().st_size != model.size:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for part in parts:
                file.write(part.read_bytes())
    return Weights(name, folder, path)


class _Timed:
    """What all engines share: seconds of a run."""

    def timed(self, prompts: Sequence[list[int]], lengths: Sequence[int]) -> float:
        """Seconds to write so many tokens to each of these prompts."""
        started = time.perf_counter()
        self.generate(prompts, lengths)
        return time.perf_counter() - started

    def generate(self, prompts: Sequence[list[int]], lengths: Sequence[int]) -> None:
        """Write so many tokens to each of these prompts."""
        raise NotImplementedError


class _Transformers(_Timed):
    """``generate`` of transformers, bfloat16 where the machine computes in it, SDPA."""

    def __init__(self, weights: Weights, most_tokens: int, together: int) -> None:  # noqa: ARG002 - as all engines
        import torch
        from transformers import AutoModelForCausalLM, GenerationConfig

        from memgraph_rag.models.engine.hardware import choose_dtype

        dtype = choose_dtype(torch.device("cpu"))
        self._network: Any = AutoModelForCausalLM.from_pretrained(
            weights.folder, dtype=dtype, attn_implementation="sdpa"
        ).eval()
        self._network.generation_config = GenerationConfig(pad_token_id=0)
        self._together = together

    def generate(self, prompts: Sequence[list[int]], lengths: Sequence[int]) -> None:
        # Padded rows all write as much as the longest of them, so rows of like lengths go together: better than an
        # engine could do that does not know the lengths.
        order = sorted(range(len(prompts)), key=lambda index: lengths[index])
        for start in range(0, len(order), self._together):
            some = order[start : start + self._together]
            self._write([prompts[index] for index in some], max(lengths[index] for index in some))

    def _write(self, prompts: Sequence[list[int]], tokens: int) -> None:
        import torch

        longest = max(map(len, prompts))
        ids = torch.tensor([[0] * (longest - len(prompt)) + prompt for prompt in prompts])
        seen = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])
        with torch.inference_mode():
            self._network.generate(
                ids, attention_mask=seen, do_sample=False, max_new_tokens=tokens, min_new_tokens=tokens
            )


class _LlamaCpp(_Timed):
    """llama.cpp's server, in the process, through ``xllamacpp``: the GGUF file as it is, continuous batching."""

    def __init__(self, weights: Weights, most_tokens: int, together: int) -> None:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(weights.gguf)
        params.n_parallel = together
        params.n_ctx = together * most_tokens
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = os.cpu_count() or 1
        params.verbosity = 0
        self._server = xllamacpp.Server(params)
        self._together = together

    def generate(self, prompts: Sequence[list[int]], lengths: Sequence[int]) -> None:
        with ThreadPoolExecutor(self._together) as pool:
            for written, length in zip(pool.map(self._write, prompts, lengths), lengths, strict=True):
                if written != length:
                    raise ValueError(f"expected {length} tokens, got {written}")

    def _write(self, prompt: list[int], tokens: int) -> int:
        answer = self._server.handle_completions(
            {"prompt": prompt, "n_predict": tokens, "temperature": 0.0, "ignore_eos": True, "cache_prompt": True}
        )
        return answer["usage"]["completion_tokens"]


class _LlamaCppCompiled(_Timed):
    """llama.cpp compiled on this machine, with all that its processor can do."""

    def __init__(self, weights: Weights, most_tokens: int, together: int) -> None:
        from engine_llama import Rows

        assert weights.gguf is not None
        self._rows = Rows(weights.gguf, rows=together, row_tokens=most_tokens)

    def generate(self, prompts: Sequence[list[int]], lengths: Sequence[int]) -> None:
        self._rows.write(prompts, lengths)


class _OpenVino(_Timed):
    """OpenVINO GenAI, which reads the GGUF file itself; continuous batching."""

    def __init__(self, weights: Weights, most_tokens: int, together: int) -> None:
        import openvino_genai

        scheduler = openvino_genai.SchedulerConfig()
        scheduler.max_num_seqs = together
        scheduler.num_kv_blocks = 1 + together * (-(-most_tokens // 32) + 1)
        scheduler.enable_prefix_caching = True
        self._pipeline = openvino_genai.ContinuousBatchingPipeline(str(weights.gguf), scheduler, "CPU", {}, {})

    def generate(self, prompts: Sequence[list[int]], lengths: Sequence[int]) -> None:
        import openvino
        import openvino_genai

        asked = []
        for length in lengths:
            config = openvino_genai.GenerationConfig()
            config.max_new_tokens = length
            config.do_sample = False
            config.ignore_eos = True
            asked.append(config)
        tensors = [openvino.Tensor(np.array([prompt], np.int64)) for prompt in prompts]
        for result, length in zip(self._pipeline.generate(tensors, asked), lengths, strict=True):
            written = len(result.m_generation_ids[0])
            if written != length:
                raise ValueError(f"expected {length} tokens, got {written}")


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine to compare with.

    Attributes:
        make: called with weights, most tokens of a row (prompt and output), rows at once.
        package: on PyPI; where it is not installed, the engine is left out.
        needs_gguf: only packaged models and GGUF files can be run.
        is_sampled: it takes prompts one by one, so part of them tells how long all take.
    """

    name: str
    make: Callable[[Weights, int, int], _Timed]
    package: str
    together: int = _TOGETHER
    needs_gguf: bool = True
    install: str = 'pip install "memgraph_rag[bench]"'
    is_sampled: bool = False

    @property
    def label(self) -> str:
        """Name and version."""
        return f"{self.name} ({self.package} {version(self.package)})"

    def missing(self, weights: Weights) -> str:
        """Why it cannot be run; empty where it can."""
        try:
            version(self.package)
        except PackageNotFoundError:
            return f"{self.package} is not installed: {self.install}"
        if self.needs_gguf and weights.gguf is None:
            return f"there is no GGUF file of {weights.name}"
        return ""


ENGINES = (
    Engine(
        "transformers.generate, one by one", _Transformers, "transformers",
        together=1, needs_gguf=False, is_sampled=True,
    ),
    Engine("transformers.generate, 16 rows padded", _Transformers, "transformers", needs_gguf=False),
    Engine("llama.cpp, 16 rows", _LlamaCpp, "xllamacpp"),
    Engine(
        "llama.cpp compiled here, 16 rows", _LlamaCppCompiled, "llama-cpp-python",
        install="pip install --no-binary llama-cpp-python llama-cpp-python (it compiles for a quarter of an hour)",
    ),
    Engine("OpenVINO GenAI, 16 rows", _OpenVino, "openvino-genai"),
)  # fmt: skip
