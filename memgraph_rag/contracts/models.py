"""What a model must offer: a language model, its reading session, an embedder, a recognizer of names.

Language models play two roles. ``LanguageModel`` is what every one can do, weights in this process or a server behind
an address: write, read, answer, say Yes. ``AttentiveModel`` adds what needs the weights here: what was attended to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Protocol

from memgraph_rag.types import Generation, Matrix, Prompt, Usage, Vector

__all__ = [
    "UNCALIBRATED_YES",
    "AttentiveModel",
    "Calibration",
    "Embedder",
    "EntityRecognizer",
    "LanguageModel",
    "Models",
    "Named",
    "Parser",
    "Progress",
    "ReadingSession",
    "TokenCounter",
    "Word",
]


TokenCounter = Callable[[Sequence[str]], list[int]]
"""Number of tokens of each text."""


UNCALIBRATED_YES = 0.5
"""A probability of Yes above this one is a Yes of a model without a ``Calibration``."""


Progress = Callable[[str, int, int], None]
"""Called with (what is being done, how many are done, how many in all)."""


class LanguageModel(Protocol):
    """A model that writes, reads and answers. Loads its weights, or asks its server, when first needed."""

    @property
    def name(self) -> str:
        """What receipts and answers call it."""
        ...

    @property
    def window(self) -> int:
        """How many tokens it may hold at once."""
        ...

    @property
    def parameters(self) -> int:
        """How many weights it has; loads them. 0 where a server does not tell."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens; needs neither weights nor a server.

        An estimate that is rather too high where the tokenizer is not here; always the same for the same text.
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
        """Greedy continuations, in prompt order; an ``AttentiveModel`` tells the attention paid to each input too.

        Args:
            max_tokens: most tokens written to one prompt.
            stop: asked with prompt and text so far at each line end, under a schema at each end of a list or an object;
                True ends that one.
            schema: a JSON Schema that what is written is a beginning of, and follows whole unless it is cut. A server
                may have written otherwise all the same.

        Raises:
            WindowExceeded: a prompt and ``max_tokens`` do not fit the window.
            ModelError: the schema is none.
            ModelUnavailable: the server did not answer, or not to the end.
        """
        ...

    def open_session(self, question: str) -> ReadingSession:
        """A reading session that holds the question and no node.

        Raises:
            QuestionError: the question alone does not fit the window.
        """
        ...


class AttentiveModel(LanguageModel, Protocol):
    """A model with its weights in this process, which tells what it attends to; its sessions do too."""

    def read_written(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> list[Generation]:
        """The texts as if this model had written them behind these prompts, with the attention paid to each input.

        Each is read in one teacher-forced pass, whoever wrote it: what it costs is a pass over prompt and text.

        Raises:
            WindowExceeded: a prompt and its text do not fit the window.
        """
        ...


class Calibration(Protocol):
    """What labelled questions told of a language model's signals."""

    @property
    def yes_threshold(self) -> float:
        """A probability of Yes above this one most often means that what was read is enough."""
        ...

    @property
    def attention_weight(self) -> float:
        """How far attention may be trusted to rank nodes: from 0, not at all, to 1."""
        ...

    @property
    def unsupported_below(self) -> float:
        """A probability of Yes below this one: what was read supports no answer; 0 where Yes says nothing."""
        ...


class ReadingSession(Protocol):
    """A question and the nodes read so far: in a KV cache, or as texts for a server. A context manager."""

    @property
    def attends(self) -> bool:
        """Whether it tells what the nodes attend to; as those of an ``AttentiveModel`` do."""
        ...

    @property
    def is_graded(self) -> bool:
        """Whether P(Yes) is a probability; else it is 1 or 0, as one word says: a server told no log-probabilities."""
        ...

    @property
    def calibration(self) -> Calibration | None:
        """The model's, if it has one: the attention that ``append`` returns then does not fall with distance."""
        ...

    def ignore_calibration(self) -> None:
        """Be as a session of a model without calibration from now on; before the first node is read."""
        ...

    @property
    def usage(self) -> Usage:
        """What this session has cost so far."""
        ...

    @property
    def tokens_left(self) -> int:
        """How many tokens of nodes still fit, with room kept for the probe and the answer."""
        ...

    def append(self, texts: Sequence[str]) -> Vector:
        """Read nodes; (n,) mean attention of each new node's tokens to the question's tokens, 0 where none is told.

        With a ``calibration`` it is relative to what is usual at that distance; else it falls with distance.

        Raises:
            WindowExceeded: they do not fit; nothing was read.
        """
        ...

    def probability_of_yes(self) -> float:
        """P(Yes) / (P(Yes) + P(No)) that what was read answers the question; leaves the cache as it was."""
        ...

    def take_back(self, calls: int) -> None:
        """Forget the nodes of the last calls of ``append``, as if they had never been read."""
        ...

    def judge(self, request: str) -> float:
        """P(Yes) / (P(Yes) + P(No)) to another question of Yes or No, made behind what was read; cache as it was.

        Raises:
            WindowExceeded: the request does not fit; nothing was read.
        """
        ...

    def reply(self, request: str, *, max_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:
        """What the model says to a request made where what was read is not enough; leaves the cache as it was.

        Args:
            temperature: 0 is greedy; above, tokens are drawn, always the same ones for the same ``seed``.

        Raises:
            WindowExceeded: the request does not fit; nothing was read.
        """
        ...

    def answer(self, *, max_tokens: int, request: str = "") -> Iterator[str]:
        """The answer in pieces, from what was read; leaves the cache as it was.

        Args:
            request: how it is asked for, with the question in it; by default, in one short sentence.
        """
        ...

    def __enter__(self) -> ReadingSession: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Embedder(Protocol):
    """Texts to vectors.

    One may also have ``most_tokens``: how many tokens of a text one pass reads; a longer one it must not cut silently.
    ``unrelated_below``: the cosine below which a sentence is not about a question. Where it has none, no answer is held
    back and no citation left out for being about something else. ``relevance_curve`` (``types.RelevanceCurve``), by
    which evidence says how near it is. And ``breadth`` (``types.QuestionBreadth``), which tells questions about a whole
    from others; where it has none, words alone do.
    """

    @property
    def name(self) -> str:
        """What the store remembers it by."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """(n, d) float32, rows L2-normalised."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens."""
        ...


@dataclass(frozen=True, slots=True, order=True)
class Named:
    """A name found in a text: characters ``[start, end)``, and what kind of thing it names, such as PERSON."""

    start: int
    end: int
    kind: str


class EntityRecognizer(Protocol):
    """Finds names in texts. Loads what it needs when first used."""

    @property
    def name(self) -> str:
        """What the store remembers it by; another version of the same model has another name."""
        ...

    def recognize(self, texts: Sequence[str]) -> list[list[Named]]:
        """The names in each text, by start; they do not overlap and are not empty. Batched: give many texts at once."""
        ...


class Word(NamedTuple):
    """A word of a parsed text: characters ``[start, end)``, its lemma, Penn Treebank tag, and what it depends on.

    ``head`` is the place of that word among the text's words, its own at a root; ``relation`` is to it.
    """

    start: int
    end: int
    lemma: str
    tag: str
    relation: str
    head: int


class Parser(Protocol):
    """Finds what each word of a clause depends on. Loads what it needs when first used."""

    def parse(self, texts: Sequence[str]) -> list[list[Word]]:
        """The words of each text, in order."""
        ...


class Models(Protocol):
    """The models that layers receive. Each is found when it is first asked for, so a layer asks for what it needs."""

    @property
    def language(self) -> LanguageModel:
        """The language model.

        Raises:
            ModelNotFound: there is none here.
        """
        ...

    @property
    def embedder(self) -> Embedder:
        """The embedding model."""
        ...

    @property
    def recognizer(self) -> EntityRecognizer:
        """What finds names."""
        ...

    @property
    def parser(self) -> Parser | None:
        """What finds the grammar of a clause; None where none is installed."""
        ...

    def settle(self) -> None:
        """All that was built is stored: work that was kept for a retry is not needed any more."""
        ...
