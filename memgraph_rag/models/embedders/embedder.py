"""An embedder that uses a sentence-transformers model.

The module does not know the graph. Invariants: rows have length 1, so that a dot product is the cosine; no text is cut:
a text that is longer than a pass is read in windows; the number of threads changes only in the workers of this module.
"""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from typing_extensions import Self

from memgraph_rag.models.embedders.bert_files import group_by_length, is_plain_bert, join_windows
from memgraph_rag.models.embedders.calibration import EmbedderCalibration, find_calibration
from memgraph_rag.models.embedders.numpy_bert import NumpyBert
from memgraph_rag.models.embedders.prompts import NO_PROMPTS, Prompts
from memgraph_rag.models.embedders.unit_vectors import units
from memgraph_rag.models.files.model_files import model_files
from memgraph_rag.models.gpu_driver import has_gpu
from memgraph_rag.types import Matrix, Vector

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer

_LoadedNetwork = TypeVar("_LoadedNetwork", bound="_Embedding")

_LOADING_CHARACTERS = 24_000  # to read them without torch costs what its import and the choice of a format cost
_SPECIAL_TOKENS = 2  # around a text; for a model with fewer, a pass is a little shorter than possible
_TASK_CHARACTERS = 16_000  # of one pass, padding included: about 4,000 tokens


class SentenceEmbedder:
    """An embedder that loads its weights at the first use.

    Args:
        folder: the folder of a sentence-transformers model.
        name: the embedder's name in the store.
        device: "auto" takes a GPU if there is one.
        dtype: the format of the large products. "auto" is the fastest on a CPU by a trial, else ``choose_dtype``. The
            mean cosine to the exact vectors is over 0.9999 with bfloat16 and 0.9996 with 8-bit integers. Questions,
            and the first passages of a process, are always embedded in float32.
        prompts: the texts before questions and before passages.
        cache_dir: keeps the calibrations that were measured on this machine; None keeps none.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        name: str = "",
        device: str = "auto",
        dtype: str = "auto",
        prompts: Prompts = NO_PROMPTS,
        cache_dir: Path | None = None,
    ) -> None:
        self._folder = str(folder)
        self._prompts = prompts
        self._cache_dir = cache_dir
        self.name = name or Path(folder).name
        self._device = device
        self._dtype = dtype
        self._loading = threading.Lock()
        self._network: Network | None = None
        self._small: _Embedding | None = None
        self._fast: Network | None = None
        self._read_characters = 0
        self._dimension = _read_declared_dimension(Path(folder))
        self.most_tokens = _read_declared_length(Path(folder))
        """The number of tokens of a text that one pass reads, without special tokens; 0 if the files do not say it."""

    @cached_property
    def calibration(self) -> EmbedderCalibration:
        """What turns this embedder's cosines into values of thresholds: from a file, else measured at the first use."""
        return find_calibration(self, self._cache_dir)

    @property
    def network(self) -> Network:
        """The network for many texts with its weights, loaded at the first use."""
        with self._loading:
            self._network = self._network or self._check_width(self._load)
            return self._network

    @property
    def small_network(self) -> _Embedding:
        """The network for few texts, loaded at the first use. On a CPU a plain BERT needs no torch."""
        if not self._runs_small:
            return self.network
        with self._loading:
            self._small = self._small or self._check_width(lambda: NumpyBert(Path(self._folder)))
            return self._small

    @cached_property
    def _is_plain(self) -> bool:
        return is_plain_bert(Path(self._folder))

    @cached_property
    def _runs_small(self) -> bool:
        return self._device in ("auto", "cpu") and not has_gpu(self._device) and self._is_plain

    def _load(self) -> Network:
        from memgraph_rag.models.embedders.sentence_bert import SentenceBert
        from memgraph_rag.models.engine.hardware import find_device

        device = find_device(self._device)
        if self._is_plain:
            return SentenceBert(Path(self._folder), device)
        return _LibraryNetwork.load(self._folder, device, adds_prompts=not self._prompts)

    def _check_width(self, load: Callable[[], _LoadedNetwork]) -> _LoadedNetwork:
        """Load a network, and compare its vectors with the model's files.

        Raises:
            ModelError: the files cannot be read, or do not agree.
        """
        expected = f"a sentence-transformers model in {self._folder}"
        with model_files(expected, "Fetch the model again, or name another.", name=self.name):
            network = load()
            width = network.encode(["one"]).shape[1]  # weights with unexpected shapes fail here
            if self._dimension not in (None, width):
                raise ValueError(f"vectors of {width} numbers instead of {self._dimension}, as in its files")
            return network

    @property
    def dimension(self) -> int:
        """The length of a vector, from the model's files. Only if they do not say it, reading it loads the weights."""
        if self._dimension is None:
            self._dimension = self.small_network.encode(["one"]).shape[1]
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the (n, d) float32 vectors of passages, rows L2-normalised.

        A text longer than a pass gets the mean direction of its windows. The first passages of a process are embedded
        in float32, later ones in the format ``dtype``, if torch is installed: a vector may differ a little by call.
        """
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        self._read_characters += sum(map(len, texts))
        is_torch_missing = self._runs_small and find_spec("torch") is None
        is_small = is_torch_missing or self._read_characters < _LOADING_CHARACTERS
        network = self.small_network if is_small else self._fast_network()
        return units(network.encode([self._prompts.passage + text for text in texts]))

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Return the (n, d) float32 vectors of questions, rows L2-normalised, to compare with vectors of ``embed``.

        They differ from those of ``embed`` if the model has another prompt for questions, or an encoder for them: a
        ``Router`` of sentence-transformers with the routes "query" and "document", as for Dragon.
        """
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        network = self.small_network
        queries = network.for_queries() if isinstance(network, _LibraryNetwork) else None
        return units((queries or network).encode([self._prompts.question + text for text in texts]))

    def _fast_network(self) -> Network:
        """Return the network in the number format for many texts, loaded and chosen at the first use."""
        from memgraph_rag.models.embedders.fastest_format import choose_format

        network = self.network
        with self._loading:
            self._fast = self._fast or choose_format(network, self._dtype)
            return self._fast

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each whole text, without special tokens. This loads the weights."""
        return self.small_network.count_tokens(texts) if texts else []


class _Embedding(Protocol):
    """A model that turns texts into vectors. ``encode`` returns (B, D) float32, rows of any length."""

    def encode(self, texts: Sequence[str]) -> Matrix: ...
    def count_tokens(self, texts: Sequence[str]) -> list[int]: ...


class Network(_Embedding, Protocol):
    """A model that turns texts into vectors, and that can be copied in another, faster number format."""

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        ...

    @property
    def has_int8(self) -> bool:
        """Whether ``copy_in_format("int8")`` works: whether the model can compute with 8-bit integers."""
        ...

    def copy_in_format(self, name: str) -> Self:
        """Return a copy that computes in the number format with this name, such as "bfloat16" or "int8"."""
        ...


class _LibraryNetwork:
    """A model that sentence-transformers runs.

    Args:
        task: the route of a model that has several.
    """

    has_int8 = False

    def __init__(self, model: SentenceTransformer, task: str = "document") -> None:
        self._model = model
        self._task: dict[str, Any] = {"task": task} if type(model[0]).__name__ == "Router" else {}

    def for_queries(self) -> _LibraryNetwork | None:
        """Return the network of queries; None if the model embeds queries as it embeds other texts."""
        return _LibraryNetwork(self._model, "query") if self._task else None

    @classmethod
    def load(cls, folder: str, device: torch.device, *, adds_prompts: bool = True) -> _LibraryNetwork:
        """Load a model.

        Args:
            adds_prompts: whether the model adds its own default prompt, if it has one.
        """
        from sentence_transformers import SentenceTransformer

        from memgraph_rag.models.files.loading_bars import hide_loading_bars

        with hide_loading_bars():
            model = SentenceTransformer(folder, device=str(device))
        if not adds_prompts:
            model.default_prompt_name = None
        return cls(model)

    @property
    def device(self) -> torch.device:
        return self._model.device

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return (B, D) vectors. A text that is longer than a pass gets the joined vector of its windows."""
        vectors: dict[int, Vector] = {}
        for group in group_by_length([*map(len, texts)], _TASK_CHARACTERS):
            vectors |= zip(group, self._encode_group([texts[place] for place in group]), strict=True)
        return np.stack([vectors[place] for place in range(len(texts))])

    def _encode_group(self, texts: Sequence[str]) -> Matrix:
        windows = [self._split_into_windows(text) for text in texts]
        every = [window for text_windows in windows for window, _ in text_windows]
        vectors = self._model.encode(
            every, batch_size=len(texts), convert_to_tensor=True, show_progress_bar=False, **self._task
        )
        tokens = [tokens for parts in windows for _, tokens in parts]
        return join_windows(vectors.float().cpu().numpy(), tokens, [len(parts) for parts in windows])

    def _split_into_windows(self, text: str) -> list[tuple[str, int]]:
        """Return the parts of a text that a pass can read, each with its number of tokens.

        The whole text is the only part, with the number 1, if it fits or cannot be cut by tokens.
        """
        most = self._model.max_seq_length
        tokenizer = self._model.tokenizer
        if not most or len(text) <= most or not getattr(tokenizer, "is_fast", False):
            return [(text, 1)]
        inside = most - tokenizer.num_special_tokens_to_add()
        places = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)["offset_mapping"]
        if len(places) <= inside:
            return [(text, 1)]
        blocks = [places[at : at + inside] for at in range(0, len(places), inside)]
        return [(text[block[0][0] : block[-1][1]], len(block)) for block in blocks]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(ids) for ids in self._model.tokenizer(list(texts), add_special_tokens=False)["input_ids"]]

    def copy_in_format(self, name: str) -> Self:
        from memgraph_rag.models.engine.hardware import find_dtype

        return type(self)(copy.deepcopy(self._model).to(find_dtype(name, self.device)))


def _read_declared_length(folder: Path) -> int:
    """Return the number of tokens of a text that one pass reads, from the model's files; 0 if they do not say it."""
    try:
        limit = json.loads((folder / "sentence_bert_config.json").read_text("utf-8"))["max_seq_length"]
        return max(int(limit) - _SPECIAL_TOKENS, 0)
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _read_declared_dimension(folder: Path) -> int | None:
    """Return the length of a vector, from the model's files; None if they do not say it."""
    try:
        modules = json.loads((folder / "modules.json").read_text("utf-8"))
        kinds = {module["type"].rpartition(".")[2] for module in modules}
        if not kinds <= {"Transformer", "Pooling", "Normalize"}:
            return None
        pooling = json.loads((folder / "1_Pooling" / "config.json").read_text("utf-8"))
        return int(pooling["word_embedding_dimension"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
