"""Wrappers that check the results of a memory's embedder, recognizer and language model.

A user may give an own embedder, recognizer or model. Only these wrappers check whether it keeps its contract.
Invariant: every result keeps the contract, or there is one error of this library, which names the part. Errors of a
part pass through, except ``StopIteration``, which would end a loop of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, replace
from operator import index
from typing import Any, NoReturn

import numpy as np

from memgraph_rag.contracts import Embedder, EntityRecognizer, Named
from memgraph_rag.display import show
from memgraph_rag.errors import ModelError
from memgraph_rag.models.embedders.unit_vectors import units
from memgraph_rag.models.wrappers.forwarding import ForwardingModel, Wrapper
from memgraph_rag.types import Generation, Matrix, Prompt, Usage, is_storable, make_storable

_LONGEST_KIND = 200  # characters
_MOST_QUERIES = 16  # whose vectors are kept: a question is embedded again by each part that reads for it
_CALIBRATED = frozenset(("breadth", "relevance_curve", "scale", "unrelated_below"))


class CheckedEmbedder(Wrapper):
    """An ``Embedder`` whose vectors are checked and divided by their length. It embeds a repeated query once.

    Optional members of the contract (``unrelated_below`` …) are read from the embedder itself, or else from its
    ``calibration``, if it has one.
    """

    unwrapped: Embedder

    def __init__(self, embedder: Embedder) -> None:
        self.unwrapped = embedder
        self._queries: dict[tuple[str, ...], Matrix] = {}

    @property
    def name(self) -> str:
        """The name of the embedder; see ``Embedder.name``."""
        return self.unwrapped.name

    @property
    def dimension(self) -> int:
        """The length of a vector; see ``Embedder.dimension``.

        Raises:
            ModelError: it is not a whole number of at least 1.
        """
        dimension = self.unwrapped.dimension
        if isinstance(dimension, bool) or not isinstance(dimension, (int, np.integer)) or dimension < 1:
            _refuse(self, "a dimension of at least 1", dimension)
        return int(dimension)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the (n, d) float32 vectors of texts, rows L2-normalised. A row of length 1 stays bit for bit the same.

        Without texts, the matrix is (0, d), and ``embed`` of the embedder is not called.

        Raises:
            ModelError: the result is not such a matrix, or a row is 0 or not finite.
        """
        return self._embed(texts, self.unwrapped.embed)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of questions, by ``embed_queries`` of the embedder if it has that; else as ``embed``."""
        asked = tuple(texts)
        vectors = self._queries.get(asked)
        if vectors is None:
            vectors = self._embed(texts, getattr(self.unwrapped, "embed_queries", self.unwrapped.embed))
            if len(self._queries) >= _MOST_QUERIES:
                self._queries = {}
            self._queries[asked] = vectors
        return vectors.copy()

    def _embed(self, texts: Sequence[str], method: Callable[[Sequence[str]], Matrix]) -> Matrix:
        shape = len(texts), self.dimension
        if not texts:
            return np.zeros(shape, np.float32)
        with _refuse_stop(self, "embed"):
            given = method(texts)
        try:
            rows = np.asarray(given)
            with np.errstate(over="ignore"):
                numbers = rows.astype(np.float32, copy=False) if rows.dtype.kind not in "bcOSUMm" else None
        except (ValueError, TypeError):  # rows that differ in length, a tensor on another device
            rows, numbers = None, None
        if rows is None or numbers is None or numbers.shape != shape:
            _refuse(self, f"vectors of shape {shape} in numbers", given if rows is None else rows)
        lengths = np.linalg.norm(numbers.astype(np.float64), axis=1)
        has_direction = np.isfinite(lengths) & (lengths > 0)
        if not has_direction.all():
            _refuse(self, "vectors of finite numbers, not all 0", numbers[~has_direction][0])
        return units(numbers)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; see ``Embedder.count_tokens``.

        Raises:
            ModelError: the result is not one number of at least 0 for each text.
        """
        return _check_counts(self, texts, self.unwrapped.count_tokens)

    def __getattr__(self, name: str) -> Any:
        if name in _CALIBRATED and not hasattr(self.unwrapped, name):
            return getattr(super().__getattr__("calibration"), name)
        return super().__getattr__(name)


class CheckedRecognizer(Wrapper):
    """An ``EntityRecognizer`` whose names are checked: each must be within its text."""

    unwrapped: EntityRecognizer

    def __init__(self, recognizer: EntityRecognizer) -> None:
        self.unwrapped = recognizer

    @property
    def name(self) -> str:
        """The name of the recognizer; see ``EntityRecognizer.name``."""
        return self.unwrapped.name

    def recognize(self, texts: Sequence[str]) -> list[list[Named]]:
        """Return the names in each text, by start; see ``EntityRecognizer.recognize``.

        Raises:
            ModelError: the number of lists is not the number of texts, or an item is not a name within its text.
        """
        with _refuse_stop(self, "recognize"):
            given = self.unwrapped.recognize(texts)
        try:
            lists = [list(names) for names in given]
        except TypeError:
            _refuse(self, "a list of names for each text", given)
        if len(lists) != len(texts):
            _refuse(self, f"{len(texts)} lists of names", len(lists))
        return [sorted(self._check(name, text) for name in names) for names, text in zip(lists, texts, strict=True)]

    def _check(self, named: object, text: str) -> Named:
        if not isinstance(named, Named) or not _is_kind(named.kind):
            _refuse(self, f"Named with a kind of at most {_LONGEST_KIND} characters", named)
        try:
            start, end = index(named.start), index(named.end)
        except TypeError:
            _refuse(self, "names with whole numbers for places", named)
        if not 0 <= start < end <= len(text):
            _refuse(self, f"names within the {len(text)} characters of a text", named)
        return Named(start, end, named.kind)


class CheckedModel(ForwardingModel):
    """A ``LanguageModel`` that checks the results of another model, and replaces characters that no store can hold.

    A result without the form of the contract (a generation for each prompt, with offsets, attention and cost) raises
    ``ModelError``. Sessions are not checked.
    """

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; see ``LanguageModel.count_tokens``.

        Raises:
            ModelError: the result is not one number of at least 0 for each text.
        """
        return _check_counts(self, texts, super().count_tokens)

    def generate(self, prompts: Sequence[Prompt], **options: Any) -> list[Generation]:
        """Return a generation for each prompt; see ``LanguageModel.generate``.

        Characters of a text that no store takes are replaced.

        Raises:
            ModelError: the result is not one valid generation for each prompt.
        """
        with _refuse_stop(self, "generate"):
            given = super().generate(prompts, **options)
        return self._check(prompts, given)

    def read_written(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> list[Generation]:
        """Return a generation for each text; see ``AttentiveModel.read_written``.

        Characters of a text that no store takes are replaced.

        Raises:
            AttributeError: the model is not an ``AttentiveModel``.
            ModelError: the result is not one valid generation for each prompt.
        """
        with _refuse_stop(self, "read_written"):
            given = super().__getattr__("read_written")(prompts, texts)
        return self._check(prompts, given)

    def _check(self, prompts: Sequence[Prompt], given: object) -> list[Generation]:
        if not isinstance(given, list) or len(given) != len(prompts):
            _refuse(self, f"a list of {len(prompts)} generations", given)
        return [self._check_one(*pair) for pair in zip(prompts, given, strict=True)]

    def _check_one(self, prompt: Prompt, generation: object) -> Generation:
        if not isinstance(generation, Generation) or not isinstance(generation.text, str):
            _refuse(self, "a Generation with a text for each prompt", generation)
        offsets, attention, length = generation.offsets, generation.attention, len(generation.text)
        are_spans = (
            isinstance(offsets, np.ndarray)
            and (offsets.ndim, *offsets.shape[1:]) == (2, 2)
            and offsets.dtype.kind in "iu"
            and bool(((offsets >= 0) & (offsets <= length)).all() and (offsets[:, 0] <= offsets[:, 1]).all())
        )
        if not are_spans:
            _refuse(self, f"(T, 2) offsets within the {length} characters of a text", offsets)
        shape = len(offsets), len(prompt.inputs)
        if attention is not None and not _is_attention(attention, shape):
            _refuse(self, f"attention of shape {shape} in finite numbers that are not below 0", attention)
        if not is_usage(generation.usage):
            _refuse(self, "a Usage in numbers for each generation", generation.usage)
        return generation if is_storable(generation.text) else replace(generation, text=make_storable(generation.text))


_Checked = CheckedEmbedder | CheckedRecognizer | CheckedModel
_KINDS = {CheckedEmbedder: "embedder", CheckedRecognizer: "recognizer", CheckedModel: "language model"}


def is_usage(usage: object) -> bool:
    """Return whether an object is a ``Usage`` whose fields are int or float. Numbers below 0 and NaN pass."""
    return isinstance(usage, Usage) and all(isinstance(number, (int, float)) for number in astuple(usage))


def _is_kind(kind: object) -> bool:
    return isinstance(kind, str) and len(kind) <= _LONGEST_KIND and is_storable(kind)


def _is_attention(attention: Any, shape: tuple[int, int]) -> bool:
    is_matrix = isinstance(attention, np.ndarray) and attention.shape == shape and attention.dtype.kind == "f"
    return is_matrix and bool((np.isfinite(attention) & (attention >= 0)).all())


def _check_counts(part: _Checked, texts: Sequence[str], count: Callable[[Sequence[str]], list[int]]) -> list[int]:
    with _refuse_stop(part, "count_tokens"):
        given = count(texts)
    try:
        counts = [index(number) for number in given]
    except TypeError:
        _refuse(part, "a number of tokens for each text", given)
    if len(counts) != len(texts) or min(counts, default=0) < 0:
        _refuse(part, f"{len(texts)} numbers of tokens, none below 0", given)
    return counts


@contextmanager
def _refuse_stop(part: _Checked, method: str) -> Iterator[None]:
    """Turn a ``StopIteration`` of a part into a ModelError, so that it does not end a loop of the caller."""
    try:
        yield
    except StopIteration as exc:
        raise _make_error(part, f"a result of {method}()", "StopIteration") from exc


def _refuse(part: _Checked, expected: str, got: object) -> NoReturn:
    raise _make_error(part, expected, _describe(got)) from None


def _make_error(part: _Checked, expected: str, got: str) -> ModelError:
    kind = _KINDS[type(part)]
    return ModelError(
        f"Expected {expected} from the {kind} {show(part.name)}, got {got}. Correct the {kind}, or use another one.",
        name=part.name,
    )


def _describe(got: object) -> str:
    if isinstance(got, np.ndarray):
        numbers = f" ({', '.join(map(str, got[:3]))} …)" if got.ndim == 1 else ""
        return f"an array of shape {got.shape} and type {got.dtype}{numbers}"
    return show(got)
