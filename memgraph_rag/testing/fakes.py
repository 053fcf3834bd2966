"""Fakes for tests, ours and yours: a language model, an embedder and a recognizer without weights that take no time.

    from memgraph_rag import Memory
    from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel

    with Memory(tmp_path / "notes.lbug", model=FakeLanguageModel(), embedder=FakeEmbedder()) as memory:
        memory.add("Ada Lovelace wrote the first program.")
        assert memory.ask("Who wrote the first program?").text == "Ada Lovelace wrote the first program."

They understand nothing: they only compare the words that texts share. The module knows the contracts, but no weights
    and no store. Invariant: the results depend only on the inputs and on scripted values, and are the same in every
    process.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain, islice
from types import TracebackType
from typing import Any, Literal

import numpy as np
from typing_extensions import Self

from memgraph_rag.contracts import Calibration, Embedder, EntityRecognizer, LanguageModel, Named, Progress
from memgraph_rag.errors import QuestionError, WindowExceeded
from memgraph_rag.lexical.sentences import sentences
from memgraph_rag.types import Generation, Matrix, Prompt, TurnVerdicts, Usage, Vector

_TOKEN = re.compile(r"\w{1,8}|[^\w\s]")
_WRITTEN_TOKEN = re.compile(r"[^\S\n]?(?:\w{1,8}|[^\w\s])|\s")  # with the blank before it, as tokenizers do
_FILLER = re.compile(
    "an?|and|are|as|at|be|but|by|did|do|does|for|from|had|has|have|he|her|him|his|how|in|is|it|its|not|of|on|or|she|"
    "that|the|their|them|they|this|to|was|were|what|when|where|which|who|whom|whose|why|will|with|you"
)
_CAPITAL = rf"(?!(?i:{_FILLER.pattern}|i)\b)[A-Z](?:[\w’'-]*\w)?"
_CAPITALS = re.compile(rf"\b{_CAPITAL}(?: {_CAPITAL})*")

_POINT_WORDS = 12
_EPSILON = 0.01
_ROOM = 32  # tokens that a session reserves for the probe and the answer
_LINE_TOKENS = 2  # the bullet mark and the newline around a node


class FakeLanguageModel:
    """A language model that summarises by copying first words, and pays attention to texts that share words.

    A written token pays most attention to the inputs that hold the same token. A token is up to eight letters or
    digits, or one other character. The model reports a million weights.

    Args:
        replies: the texts that ``generate`` writes, one for each prompt in order. After the last one, or without
            replies, it writes a bullet list: for every two inputs, one point with the first words of both.
        yes: the values that ``probability_of_yes`` returns, in each session from the beginning. After the last one, or
            without values, it returns the share of the question's words (without "the", "who" …) that occur in the
            nodes read.
        answer: the answer of every session, or several answers one after another; the last one is then repeated.
            Without it, the answer is the read sentence that shares most words with the question, or empty if no
            sentence shares one.
        judged: the values that ``judge`` returns, in each session from the beginning. After the last one, or without
            values, it returns the share of the request's words that occur in the nodes read.
        said: the texts that ``reply`` returns, in each session from the beginning. After the last one, or without
            texts, it returns the read sentence that shares most words with the request.
        told: what ``judge_turns`` returns for a turn that contains a text, by that text; 0 for every other turn.
        window: the number of tokens that the model may hold at a time.
        name: the model's name in receipts and documents.
        calibration: the calibration that its sessions report; it changes none of their numbers.
        attends: if False, it is only a ``LanguageModel``, like a model on a server: it returns no attention.

    >>> model = FakeLanguageModel(replies=["* Tom ran."])
    >>> (generation,) = model.generate([Prompt("Summarise.", ("Tom ran home.", "It rained."))], max_tokens=50)
    >>> generation.text
    '* Tom ran.'
    >>> generation.attention.argmax(axis=1)[1:3]  # "Tom" and "ran" attend most to the first input
    array([0, 0])
    """

    def __init__(
        self,
        replies: Iterable[str] = (),
        *,
        yes: Sequence[float] = (),
        answer: str | Sequence[str] | None = None,
        said: Sequence[str] = (),
        judged: Sequence[float] = (),
        told: Mapping[str, float] | None = None,
        window: int = 8192,
        name: str = "fake-language-model",
        calibration: Calibration | None = None,
        attends: bool = True,
    ) -> None:
        self.name = name
        self.calibration = calibration
        self.attends = attends
        self.window = window
        self._replies = deque(replies)
        self._yes = tuple(yes)
        self._answers = (answer,) if isinstance(answer, str) else tuple(answer or ())
        self._said = tuple(said)
        self._judged = tuple(judged)
        self._told = dict(told or {})

    def judge_turns(self, question: str, turns: Sequence[str]) -> TurnVerdicts:  # noqa: ARG002
        """Return the verdict of ``told`` on each turn. Without ``told`` the verdicts are not calibrated."""
        verdicts = (max([p for text, p in self._told.items() if text in turn], default=0.0) for turn in turns)
        return TurnVerdicts(tuple(verdicts), bool(self._told), Usage(0, 0, 1))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text."""
        return [len(_TOKEN.findall(text)) for text in texts]

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        stop: Callable[[Prompt, str], bool] | None = None,
        schema: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """Return a reply to each prompt, cut at ``max_tokens`` or where ``stop`` returns True.

        A scripted reply is written as it is, whatever the ``schema``. Without a scripted reply, the properties of a
        schema are filled from the inputs. A list of strings gets the capitalised names. A list of lists gets, for each
        sentence with two names, these two names and the sentence. An enumeration gets its first capitalised value. See
        ``LanguageModel.generate`` for the arguments.

        Raises:
            WindowExceeded: a prompt and ``max_tokens`` do not fit the window.
        """
        lengths = [sum(self.count_tokens([prompt.instruction, *prompt.inputs, prompt.task])) for prompt in prompts]
        for length in lengths:
            if length + max_tokens > self.window:
                raise WindowExceeded(
                    f"Expected a prompt of at most {self.window - max_tokens} tokens, got {length}. "
                    "Give fewer inputs at once.",
                    tokens=length, window=self.window,
                )  # fmt: skip
        generations = []
        for done, (prompt, length) in enumerate(zip(prompts, lengths, strict=True), 1):
            if self._replies:
                reply = self._replies.popleft()
            else:
                reply = _summarise(prompt.inputs) if schema is None else json.dumps(_fill_schema(schema, prompt.inputs))
            marks = "\n" if schema is None else "]}"
            text, offsets, finish = _cut_reply(reply, max_tokens, partial(stop, prompt) if stop else None, marks)
            usage = Usage(prompt_tokens=length, generated_tokens=len(offsets), model_calls=1)
            attention = _measure_attention(text, offsets, prompt.inputs) if self.attends else None
            generations.append(Generation(text, offsets, attention, finish, usage))
            if progress is not None:
                progress("summarising", done, len(prompts))
        return generations

    def read_written(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> list[Generation]:
        """Return a generation for each text; see ``AttentiveModel.read_written``.

        A token pays most attention to the inputs that hold it, even if another model wrote the text.
        """
        generations = []
        for prompt, text in zip(prompts, texts, strict=True):
            offsets = np.array([match.span() for match in _WRITTEN_TOKEN.finditer(text)], np.int64).reshape(-1, 2)
            read = sum(self.count_tokens([prompt.instruction, *prompt.inputs, prompt.task, text]))
            attention = _measure_attention(text, offsets, prompt.inputs)
            generations.append(Generation(text, offsets, attention, "end", Usage(read, 0, 1)))
        return generations

    def open_session(self, question: str) -> FakeSession:
        """Return a reading session that holds the question and no node.

        Raises:
            QuestionError: the question alone does not fit the window.
        """
        tokens = self.count_tokens([question])[0]
        if tokens + _ROOM > self.window:
            raise QuestionError(
                f"Expected a question that fits the model's window of {self.window} tokens, got {tokens} tokens. "
                "Ask a shorter question.",
                tokens=tokens, window=self.window,
            )  # fmt: skip
        return FakeSession(
            question,
            window=self.window,
            yes=self._yes,
            answers=self._answers,
            said=self._said,
            judged=self._judged,
            calibration=self.calibration,
            attends=self.attends,
        )


class FakeSession:
    """The reading session of a ``FakeLanguageModel``.

    The attention of a node is the share of its tokens that the question also holds, plus 0.01, so that it is never 0.
    It does not fall with distance.

    >>> with FakeLanguageModel().open_session("Who found the fox?") as session:
    ...     session.append(["It rained.", "Ann found a fox."])
    ...     session.probability_of_yes()
    ...     "".join(session.answer(max_tokens=9))
    array([0.01, 0.41], dtype=float32)
    1.0
    'Ann found a fox.'
    """

    is_graded = True

    def __init__(
        self,
        question: str,
        *,
        window: int,
        yes: Sequence[float] = (),
        answers: Sequence[str] = (),
        said: Sequence[str] = (),
        judged: Sequence[float] = (),
        calibration: Calibration | None = None,
        attends: bool = True,
    ) -> None:
        self.calibration = calibration
        self.attends = attends
        self._question = _content_tokens(question)
        self._window = window
        self._yes = deque(yes)
        self._answers = deque(answers)
        self._said = deque(said)
        self._judged = deque(judged)
        self._read: list[str] = []
        self._calls: list[tuple[int, int]] = []
        """The number of texts and of tokens of each call of ``append``."""
        self._token_count = len(_TOKEN.findall(question))
        self.usage = Usage(prompt_tokens=self._token_count, model_calls=1)

    def ignore_calibration(self) -> None:
        """Report no calibration from now on; see ``ReadingSession.ignore_calibration``."""
        self.calibration = None

    @property
    def tokens_left(self) -> int:
        """The number of node tokens that still fit; the session keeps room for the probe and the answer."""
        return self._window - self._token_count - _ROOM

    def append(self, texts: Sequence[str]) -> Vector:
        """Read nodes; return the (n,) attention of each node to the question, all 0 if the model does not attend.

        Raises:
            WindowExceeded: the nodes do not fit; the session has read nothing.
        """
        tokens = [_split_tokens(text) for text in texts]
        cost = sum(len(text_tokens) + _LINE_TOKENS for text_tokens in tokens)
        if cost > self.tokens_left:
            raise WindowExceeded(
                f"Expected at most {self.tokens_left} more tokens in this session, got {cost}.",
                tokens=cost, window=self._window,
            )  # fmt: skip
        self._read += texts
        self._token_count += cost
        self._calls.append((len(texts), cost))
        self.usage += Usage(prompt_tokens=cost, model_calls=1)
        if not self.attends:
            return np.zeros(len(texts), np.float32)
        shares = [sum(token in self._question for token in text) / max(len(text), 1) for text in tokens]
        return np.array(shares, np.float32) + np.float32(_EPSILON)

    def probability_of_yes(self) -> float:
        """Return the next scripted value, else the share of the question's words that occur in the nodes read."""
        self.usage += Usage(prompt_tokens=1, model_calls=1)
        if self._yes:
            return self._yes.popleft()
        return self._measure_share(self._question)

    def judge(self, request: str) -> float:
        """Return the next scripted value, else the share of the request's words that occur in the nodes read."""
        self.usage += Usage(len(_TOKEN.findall(request)), 0, 1)
        return self._judged.popleft() if self._judged else self._measure_share(_content_tokens(request))

    def take_back(self, calls: int) -> None:
        """Remove the nodes of the last ``calls`` calls of ``append``; ``usage`` stays.

        Raises:
            IndexError: there were fewer calls.
        """
        for _ in range(calls):
            texts, cost = self._calls.pop()
            del self._read[len(self._read) - texts :]
            self._token_count -= cost

    def answer(self, *, max_tokens: int, request: str = "") -> Iterator[str]:  # noqa: ARG002
        """Yield the answer token by token, at most ``max_tokens`` tokens.

        It is the scripted answer, else the read sentence that shares most words with the question. Without such a
        sentence nothing is yielded. ``request`` is ignored.
        """
        self.usage += Usage(prompt_tokens=1, model_calls=1)
        if len(self._answers) > 1:
            text = self._answers.popleft()
        else:
            text = self._answers[0] if self._answers else self._find_best_sentence(self._question)
        written = 0
        try:
            for match in islice(_WRITTEN_TOKEN.finditer(text), max_tokens):
                written += 1
                yield match.group()
        finally:
            self.usage += Usage(generated_tokens=written)

    def reply(self, request: str, *, max_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:  # noqa: ARG002
        """Return the next scripted text; without one left, the read sentence that shares most words with the request.

        It is cut at ``max_tokens``, and empty if no sentence shares a word. ``temperature`` and ``seed`` do nothing.
        """
        text = self._said.popleft() if self._said else self._find_best_sentence(_content_tokens(request))
        pieces = [match.group() for match in _WRITTEN_TOKEN.finditer(text)][:max_tokens]
        self.usage += Usage(len(_TOKEN.findall(request)), len(pieces), 1)
        return "".join(pieces)

    def _measure_share(self, wanted: frozenset[str]) -> float:
        seen = {token for text in self._read for token in _split_tokens(text)}
        return len(wanted & seen) / len(wanted) if wanted else 0.0

    def _find_best_sentence(self, wanted: frozenset[str]) -> str:
        """Return the first read sentence that shares most words with ``wanted``; empty if no sentence shares one."""
        read = [text[start:end] for text in self._read for start, end in sentences(text)]
        shared = [len(wanted & set(_split_tokens(sentence))) for sentence in read]
        most = max(shared, default=0)
        return read[shared.index(most)].strip() if most else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class FakeEmbedder:
    """A hashed bag of words: texts that share words have similar vectors.

    Args:
        dimension: length of a vector; with fewer dimensions, more words share one.
        name: the embedder's name in the store.

    >>> fox, same, rain = FakeEmbedder().embed(["A red fox.", "a RED fox", "It rained."])
    >>> round(float(fox @ same), 3), round(float(fox @ rain), 3)
    (1.0, 0.0)
    """

    def __init__(self, dimension: int = 64, *, name: str = "fake-embedder") -> None:
        self.dimension = dimension
        self.name = name

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the (n, d) float32 vectors of texts, rows L2-normalised."""
        vectors = np.zeros((len(texts), self.dimension), np.float64)
        for vector, text in zip(vectors, texts, strict=True):
            for word in re.findall(r"\w+", text.casefold()) or [text]:
                vector[_hash(word) % self.dimension] += 1.0
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of words of each text."""
        return [len(text.split()) for text in texts]


class FakeRecognizer:
    """Finds runs of capitalised words, also at the beginning of a sentence, without "The", "Who" …; or the given names.

    Args:
        names: names to find, as whole words, each with its kind; without them, all capitalised words, with kind NAME.
        name: the recognizer's name in the store.

    >>> FakeRecognizer().recognize(["The fox met Ann Lee."])
    [[Named(start=12, end=19, kind='NAME')]]
    >>> FakeRecognizer({"fox": "ANIMAL"}).recognize(["The fox met Ann Lee."])
    [[Named(start=4, end=7, kind='ANIMAL')]]
    """

    def __init__(self, names: Mapping[str, str] | None = None, *, name: str = "fake-recognizer") -> None:
        self.name = name
        self._kinds = dict(names) if names else None
        longest_first = sorted(names or (), key=lambda word: (-len(word), word))
        alternatives = "|".join(map(re.escape, longest_first))
        self._pattern = re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)") if names else _CAPITALS

    def recognize(self, texts: Sequence[str]) -> list[list[Named]]:
        """Return the names in each text, by start."""
        return [[self._make_named(match) for match in self._pattern.finditer(text)] for text in texts]

    def _make_named(self, match: re.Match[str]) -> Named:
        return Named(*match.span(), self._kinds[match.group()] if self._kinds else "NAME")


@lru_cache(maxsize=65_536)
def _hash(word: str) -> int:
    """Return a number that is the same in every process, unlike ``hash``."""
    return int.from_bytes(hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()[:8], "big")


def _split_tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.casefold())


def _content_tokens(text: str) -> frozenset[str]:
    """Return the tokens of a text without filler words such as "the" and "who"."""
    words = re.findall(r"\w+", text.casefold())
    return frozenset(token for word in words if not _FILLER.fullmatch(word) for token in _split_tokens(word))


def _summarise(inputs: Sequence[str]) -> str:
    """Return a bullet list of at most half the length of the inputs."""
    points = []
    for place in range(0, len(inputs), 2):
        words = [word for text in inputs[place : place + 2] for word in _first_words(text)]
        points.append(f"* {' '.join(words)}\n")
    return "".join(points)


def _first_words(text: str) -> list[str]:
    words = text.split(maxsplit=2 * _POINT_WORDS)[: 2 * _POINT_WORDS]
    return words[: (len(words) + 1) // 2]


def _fill_schema(schema: Mapping[str, Any], inputs: Sequence[str]) -> dict[str, Any]:
    """Return values for the properties of a schema of lists and enumerations, from the inputs."""
    texts = [text[start:end].strip() for text in inputs for start, end in sentences(text)]
    names = [list(dict.fromkeys(_CAPITALS.findall(sentence))) for sentence in texts]
    pairs = [[*group[:2], sentence] for group, sentence in zip(names, texts, strict=True) if len(group) > 1]
    all_names = list(dict.fromkeys(chain.from_iterable(names)))
    return {
        name: next((value for value in part["enum"] if value[0].isupper()), part["enum"][0])
        if "enum" in part
        else (pairs if part.get("items", {}).get("type") == "array" else all_names)[: part.get("maxItems")]
        for name, part in schema.get("properties", {}).items()
    }


def _cut_reply(
    reply: str, max_tokens: int, stop: Callable[[str], bool] | None, marks: str
) -> tuple[str, np.ndarray, Literal["end", "stopped", "length"]]:
    """Return the written part of a reply, the (T, 2) offsets of its tokens, and the reason why it ended."""
    spans: list[tuple[int, int]] = []
    finish: Literal["end", "stopped", "length"] = "end"
    for match in _WRITTEN_TOKEN.finditer(reply):
        if len(spans) == max_tokens:
            finish = "length"
            break
        spans.append(match.span())
        if stop is not None and match.group().strip(" ") in marks and stop(reply[: match.end()]):
            finish = "stopped"
            break
    return reply[: spans[-1][1] if spans else 0], np.array(spans, np.int64).reshape(-1, 2), finish


def _measure_attention(text: str, offsets: np.ndarray, inputs: Sequence[str]) -> Matrix:
    """Return (T, S) float32 attention of each token to each input.

    A row sums to one half over the tokens of all inputs; the instruction gets the rest.
    """
    tokens = [_split_tokens(text) for text in inputs]
    tokens_by_input = [frozenset(input_tokens) for input_tokens in tokens]
    lengths = np.array([max(len(input_tokens), 1) for input_tokens in tokens], np.float64)
    rows = np.full((len(offsets), len(inputs)), _EPSILON)
    for row, (start, end) in zip(rows, offsets.tolist(), strict=True):
        token = text[start:end].strip().casefold()
        row += [token in input_tokens for input_tokens in tokens_by_input]
    return (rows / (2.0 * (rows @ lengths)[:, None])).astype(np.float32)


@dataclass(frozen=True)
class FakeModels:
    """Fake ``Models`` for tests of a layer: a language model, an embedder and a recognizer."""

    language: LanguageModel = field(default_factory=FakeLanguageModel)
    embedder: Embedder = field(default_factory=FakeEmbedder)
    recognizer: EntityRecognizer = field(default_factory=FakeRecognizer)

    def settle(self) -> None:
        """Do nothing: no work is stored."""
