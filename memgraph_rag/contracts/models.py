"""The contracts of models: a language model, its reading session, an embedder, an entity recognizer.

Language models have two levels. ``LanguageModel`` writes, reads, answers and says Yes; its weights may be in this
process or on a server. ``AttentiveModel`` also returns attention, for which the weights must be in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

from memgraph_rag.types import CosineScale, Generation, Matrix, Prompt, TurnVerdicts, Usage, Vector

TokenCounter = Callable[[Sequence[str]], list[int]]
"""Returns the number of tokens of each text."""


UNCALIBRATED_YES = 0.5
"""Threshold for a model without a ``Calibration``: a higher probability of Yes counts as Yes."""


Progress = Callable[[str, int, int], None]
"""Called with (name of the work, number of finished items, number of all items)."""


class TurnJudge(Protocol):
    """Tells which turns of a person state what a question asks."""

    def judge_turns(self, question: str, turns: Sequence[str]) -> TurnVerdicts:
        """Return the probability that each turn states the answer that holds from that turn on, and the cost.

        A plan, a wish, a question, a joke and another person's thing state nothing. The verdict on a turn does not
        depend on the other turns. Which statement holds is decided by the caller, by their times.

        Args:
            turns: the words of one person, without speaker and time, in any order.
        """
        ...


class LanguageModel(Protocol):
    """A model that writes, reads and answers. It loads its weights, or calls its server, at first use.

    A model that is also a ``TurnJudge`` judges turns itself; any other model judges them by ``generate``. A model with
    an attribute ``operations`` (``types.Operations``) has its floating-point operations counted in an evaluation.
    """

    @property
    def name(self) -> str:
        """The name in receipts and answers."""
        ...

    @property
    def window(self) -> int:
        """The context length: the largest number of tokens that the model can hold at a time."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special tokens. It needs neither weights nor a server.

        Without a local tokenizer, the number is an estimate that tends to be too high. Equal texts give equal numbers.
        """
        ...

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        stop: Callable[[Prompt, str], bool] | None = None,
        schema: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """Return one greedy continuation per prompt, in order. An ``AttentiveModel`` adds the attention to each input.

        Args:
            max_tokens: most tokens written per prompt.
            stop: called with the prompt and the text so far, at each line end; under a schema, at each end of a list or
                an object (a model on a server: at line ends only). True ends that continuation.
            schema: a JSON Schema. The text follows it, or is a beginning of such a text when it was cut. A server may
                return another text nevertheless.

        Raises:
            WindowExceeded: a prompt and ``max_tokens`` do not fit the window.
            ModelError: ``schema`` is not a valid schema.
            ModelUnavailable: the server did not answer, or not completely.
        """
        ...

    def open_session(self, question: str) -> ReadingSession:
        """Return a reading session that holds the question and no node yet.

        Raises:
            QuestionError: the question alone does not fit the window.
        """
        ...


class AttentiveModel(LanguageModel, Protocol):
    """A model with its weights in this process. The model and its sessions return attention."""

    def read_written(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> list[Generation]:
        """Return the texts as generations of this model to these prompts, with the attention to each input.

        The model reads each text in one teacher-forced pass over prompt and text, whoever wrote the text.

        Raises:
            WindowExceeded: a prompt and its text do not fit the window.
        """
        ...


class Calibration(Protocol):
    """Thresholds and weights for a language model's signals, measured on labelled questions."""

    @property
    def yes_threshold(self) -> float:
        """The threshold of P(Yes), from 0 to 1; a P(Yes) above it usually means that the model has read enough."""
        ...

    @property
    def attention_weight(self) -> float:
        """How reliably attention ranks nodes: from 0 (not at all) to 1."""
        ...

    @property
    def unsupported_below(self) -> float:
        """The P(Yes) below which the nodes read support no answer; 0 if P(Yes) tells nothing for this model."""
        ...


class ReadingSession(Protocol):
    """A question and the nodes read so far, in a KV cache or as texts for a server. A context manager."""

    @property
    def attends(self) -> bool:
        """Whether the session returns attention to nodes, as the sessions of an ``AttentiveModel`` do."""
        ...

    @property
    def is_graded(self) -> bool:
        """Whether P(Yes) is a probability. Otherwise it is 1 or 0: the server returns no log-probabilities."""
        ...

    @property
    def calibration(self) -> Calibration | None:
        """The calibration of the model, or None. With one, ``append`` corrects the attention for distance."""
        ...

    def ignore_calibration(self) -> None:
        """Drop the calibration, as if the model had none, for strategies that follow a paper. Call it first."""
        ...

    @property
    def usage(self) -> Usage:
        """The cost of this session so far."""
        ...

    @property
    def tokens_left(self) -> int:
        """How many tokens of nodes still fit, after the space reserved for the probe and the answer."""
        ...

    def append(self, texts: Sequence[str]) -> Vector:
        """Read nodes. Return the mean attention, (n,), of each new node's tokens to the question's tokens.

        With a ``calibration`` the attention is relative to the usual attention at that distance; else it falls with
        distance. A session that does not attend returns 0 for each node. Without texts, nothing is read.

        Raises:
            WindowExceeded: the nodes do not fit the window; no node was read.
        """
        ...

    def probability_of_yes(self) -> float:
        """Return P(Yes) / (P(Yes) + P(No)) that the nodes read answer the question. The cache does not change."""
        ...

    def take_back(self, calls: int) -> None:
        """Remove the nodes of the last ``calls`` calls of ``append``, as if they had never been read.

        A call without texts, or one that raised, does not count. The ``usage`` stays.
        """
        ...

    def judge(self, request: str) -> float:
        """Return P(Yes) / (P(Yes) + P(No)) for another yes-or-no question. The cache does not change.

        Raises:
            WindowExceeded: the request does not fit; nothing was read.
        """
        ...

    def reply(self, request: str, *, max_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:
        """Return the model's reply to a request after the nodes read. The cache does not change.

        In the prompt, the model has just said No to whether the nodes are enough, whatever its own verdict is. The
        reply is cut at ``max_tokens`` or at the end of the window.

        Args:
            temperature: 0 is greedy; above 0, tokens are sampled, the same ones for the same ``seed``.

        Raises:
            WindowExceeded: the request does not fit; nothing was read.
        """
        ...

    def answer(self, *, max_tokens: int, request: str = "") -> Iterator[str]:
        """Yield the answer in pieces, from the nodes read. The cache does not change. Errors are those of ``reply``.

        Args:
            request: asks for the answer, and contains the question; by default it asks for one short sentence.
        """
        ...

    def __enter__(self) -> ReadingSession: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class Embedder(Protocol):
    """Turns texts into vectors.

    An embedder may have further attributes. ``most_tokens``: how many tokens of a text one pass reads; the embedder
    must not cut a longer text silently. ``scale`` (``types.CosineScale``): how its cosines read; without it, a cosine
    is read as it is. ``unrelated_below``: the reading below which a sentence is not about a question; without it, no
    answer is withheld and no citation is dropped as unrelated. ``relevance_curve`` (``types.RelevanceCurve``): the
    relevance of evidence by its reading. ``breadth`` (``types.QuestionBreadth``): tells questions about a whole from
    other questions; without it, their words alone decide. ``calibration``: an object with these four members.
    ``embed_queries``: as ``embed``, for questions (``query_vectors``), if they have a prompt or an encoder of their
    own.
    """

    @property
    def name(self) -> str:
        """The name under which the store records the embedder."""
        ...

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of texts, in order: (n, d) float32, rows L2-normalised; (0, d) without texts."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without special tokens."""
        ...


def query_vectors(embedder: Embedder, questions: Sequence[str]) -> Matrix:
    """Return (n, d) vectors of questions, by the embedder's ``embed_queries`` if it has this method, else ``embed``."""
    return getattr(embedder, "embed_queries", embedder.embed)(questions)


def cosine_scale(embedder: Embedder) -> CosineScale:
    """Return the scale on which an embedder's cosines are read; the identity if the embedder has no scale."""
    return getattr(embedder, "scale", CosineScale())


@dataclass(frozen=True, slots=True, order=True)
class Named:
    """A name in a text: characters ``[start, end)``, and the kind of the named thing, such as PERSON."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun phrase in a text: characters ``[start, end)``, and its head in lower case.

    Attributes:
        has_clause: whether a clause follows the head: "the city where Ann was born".
        has_of: whether "of" follows the head: "the director of Solaris".
    """

    start: int
    end: int
    head: str
    has_clause: bool
    has_of: bool


FindPhrases = Callable[[str], list[NounPhrase]]
"""Returns the noun phrases of a text that name a thing by its owner, by "of" or by a clause, the shortest first."""


class EntityRecognizer(Protocol):
    """Finds names in texts. It loads its model at first use."""

    @property
    def name(self) -> str:
        """The name under which the store records the recognizer. Each version of a model has its own name."""
        ...

    def recognize(self, texts: Sequence[str]) -> list[list[Named]]:
        """Return the names in each text, by start. Names are not empty and do not overlap. Many texts are one batch."""
        ...


class Models(Protocol):
    """The models that layers receive. Each model is located when a layer first reads its property."""

    @property
    def language(self) -> LanguageModel:
        """The language model.

        Raises:
            ModelNotFound: there is no language model on this machine.
        """
        ...

    @property
    def embedder(self) -> Embedder:
        """The embedding model."""
        ...

    @property
    def recognizer(self) -> EntityRecognizer:
        """The entity recognizer."""
        ...

    def settle(self) -> None:
        """Delete model work that was kept for a retry; call it after everything that was built is stored."""
        ...
