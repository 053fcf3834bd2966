"""One process that holds a language model for several others, so that its weights are in memory once.

It knows no memory and no request; what the model is, it is given. A session lives in that process as long as its
connection: passes that sessions of any process ask for at the same time are then joined as those of threads are.
Invariants: what is said here is what the model says there; a process that goes away leaves no session behind; one that
holds the model and dies is started again, and who waited for it gets an error.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_exponential
from typing_extensions import Self

from memgraph_rag.contracts import Calibration, LanguageModel, Progress
from memgraph_rag.errors import ModelError, ModelUnavailable
from memgraph_rag.types import Generation, Prompt, Usage, Vector

__all__ = ["ModelPlace", "ModelProcess", "SharedModel"]

logger = logging.getLogger(__name__)
_STARTS_WITHIN_S = 60.0
_AGAIN_AFTER_S = 1.0
_GONE = (EOFError, OSError)  # of a connection whose other end has died

Make = Callable[[], LanguageModel]


class ModelPlace(NamedTuple):
    """Where the process listens, and what lets one in."""

    address: str
    key: bytes


class _State(NamedTuple):
    """What a session is, after each thing that it is asked."""

    attends: bool
    is_graded: bool
    calibration: Calibration | None
    usage: Usage
    tokens_left: int


# ── the process with the model ───────────────────────────────────────────────────────────────────────────────


class ModelProcess:
    """Runs the process while it is entered; a context manager that gives the place.

    Args:
        make: makes the model, there; a function that can be pickled.
        folder: of a socket that only this user may open.
    """

    def __init__(self, make: Make, folder: Path) -> None:
        self._make = make
        self._place = ModelPlace(str(folder / "model"), secrets.token_bytes(32))
        self._is_over = Event()

    def __enter__(self) -> ModelPlace:
        self._process = self._started()
        self._keeper = Thread(target=self._keep, daemon=True)
        self._keeper.start()
        return self._place

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._process.kill()
        self._keeper.join()

    def _started(self) -> Any:
        process = get_context("spawn").Process(target=_serve, args=(self._make, self._place), daemon=True)
        process.start()
        return process

    def _keep(self) -> None:
        """Start it again whenever it has died."""
        while True:
            self._process.join()
            if self._is_over.wait(_AGAIN_AFTER_S):
                return
            logger.warning("The model's process ended with %s; it is started again.", self._process.exitcode)
            self._process = self._started()
            if self._is_over.is_set():  # meanwhile
                self._process.kill()


def _serve(make: Make, place: ModelPlace) -> None:
    """The process: a thread for each connection, until its parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a terminal sends to all; the parent ends this one
    Thread(target=_end_with_parent, daemon=True).start()
    Path(place.address).unlink(missing_ok=True)
    model = _Once(make)
    with Listener(place.address, backlog=128, authkey=place.key) as listener:
        while True:
            try:
                connection = listener.accept()
            except Exception as error:  # noqa: BLE001 - one that knew no key, or went away
                logger.info("A connection to the model was not taken: %s", error)
            else:
                Thread(target=_answer_all, args=(connection, model), daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(0)


class _Once:
    """The model, made at the first use; what making it raises is told to each that asks."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._made: LanguageModel | None = None
        self._making = Lock()

    @property
    def model(self) -> LanguageModel:
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made


def _answer_all(connection: Connection, once: _Once) -> None:
    """Do what one connection asks for, one thing after another; its session ends with it."""
    session: Any = None
    with connection, suppress(*_GONE):
        try:
            while True:
                name, given, options = connection.recv()
                try:
                    value = _asked(connection, session or once.model, name, given, options)
                    if name == "open_session":
                        session, value = value.__enter__(), None
                    reply = "result", value, session and _state(session)
                except _GONE:
                    raise
                except Exception as error:  # noqa: BLE001 - whatever it is, it is told to who asked
                    reply = "error", error, session and _state(session)
                _send(connection, reply)
        finally:
            if session is not None:
                session.__exit__(None, None, None)


def _asked(connection: Connection, holder: Any, name: str, given: Sequence[Any], options: dict[str, Any]) -> Any:
    """What a method gives; what it asks for meanwhile is asked of the other end."""

    def ask(*question: Any) -> Any:
        connection.send(question)
        return connection.recv()

    for callback in ("stop", "progress"):
        if options.get(callback):
            options[callback] = lambda *told, callback=callback: ask(callback, told)
    value: Any = getattr(holder, name)
    value = value(*given, **options) if callable(value) else value
    if name != "answer":
        return value
    for piece in value:
        if not ask("piece", piece):
            break
    value.close()
    return None


def _state(session: Any) -> _State:
    return _State(session.attends, session.is_graded, session.calibration, session.usage, session.tokens_left)


def _send(connection: Connection, reply: tuple[str, Any, _State | None]) -> None:
    try:
        connection.send(reply)
    except _GONE:
        raise
    except Exception as error:  # noqa: BLE001 - of pickle: an error of a library, say
        kind, value, state = reply
        told = ModelError(f"Expected a {kind} that can be sent to another process, got {value!r}: {error}. Report it.")
        connection.send(("error", told, state))


# ── what the other processes have ────────────────────────────────────────────────────────────────────────────


class SharedModel:
    """An ``AttentiveModel`` that another process holds. Raises what it raises, and ModelUnavailable when that died."""

    def __init__(self, place: ModelPlace) -> None:
        self._place = place
        self._idle: deque[Connection] = deque()
        self._facts: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """What receipts and answers call it."""
        return self._known("name")

    @property
    def window(self) -> int:
        """How many tokens it may hold at once."""
        return self._known("window")

    @property
    def parameters(self) -> int:
        """How many weights it has; loads them."""
        return self._known("parameters")

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens."""
        return self._asked("count_tokens", list(texts))

    def generate(
        self,
        prompts: Sequence[Prompt],
        *,
        max_tokens: int,
        stop: Callable[[Prompt, str], bool] | None = None,
        schema: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """As ``LanguageModel.generate``; ``stop`` and ``progress`` are called here."""
        return self._asked(
            "generate", list(prompts), max_tokens=max_tokens, stop=stop, schema=schema, progress=progress
        )

    def read_written(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> list[Generation]:
        """As ``AttentiveModel.read_written``."""
        return self._asked("read_written", list(prompts), list(texts))

    def open_session(self, question: str) -> SharedSession:
        """A session in the model's process, which lives until it is left."""
        connection = _connected(self._place)
        try:
            return SharedSession(connection, question)
        except BaseException:
            connection.close()
            raise

    def _known(self, name: str) -> Any:
        """What never changes is asked once."""
        if name not in self._facts:
            self._facts[name] = self._asked(name)
        return self._facts[name]

    def _asked(self, name: str, *given: Any, **options: Any) -> Any:
        """What it gives, over a connection that nobody else uses meanwhile."""
        connection = self._idle_one() or _connected(self._place)
        value, _ = _told(connection, name, *given, **options)  # after an error of the connection it is not used again
        self._idle.append(connection)
        return value

    def _idle_one(self) -> Connection | None:
        """One that is open still; of a process that has died there is something to read: its end."""
        while self._idle:
            with suppress(IndexError):  # another thread took the last
                connection = self._idle.pop()
                if not connection.poll():
                    return connection
                connection.close()
        return None


class SharedSession:
    """An ``AttentiveSession`` over a connection of its own."""

    def __init__(self, connection: Connection, question: str) -> None:
        self._connection = connection
        self._state: _State | None = None
        self._ask("open_session", question)

    def _ask(self, name: str, *given: Any) -> Any:
        value, self._state = _told(self._connection, name, *given)
        return value

    @property
    def _now(self) -> _State:
        assert self._state is not None
        return self._state

    @property
    def attends(self) -> bool:
        """Whether it tells what nodes attend to."""
        return self._now.attends

    @property
    def is_graded(self) -> bool:
        """Whether P(Yes) is a probability."""
        return self._now.is_graded

    @property
    def calibration(self) -> Calibration | None:
        """The model's, if it has one."""
        return self._now.calibration

    @property
    def usage(self) -> Usage:
        """What this session has cost so far."""
        return self._now.usage

    @property
    def tokens_left(self) -> int:
        """How many tokens of nodes still fit."""
        return self._now.tokens_left

    def ignore_calibration(self) -> None:
        """Be as a session of a model without calibration from now on."""
        self._ask("ignore_calibration")

    def append(self, texts: Sequence[str]) -> Vector:
        """As ``ReadingSession.append``."""
        return self._ask("append", list(texts))

    def probability_of_yes(self) -> float:
        """As ``ReadingSession.probability_of_yes``."""
        return self._ask("probability_of_yes")

    def read_ahead(self, texts: Sequence[str]) -> tuple[Vector, Vector]:
        """As ``ReadingSession.read_ahead``."""
        return self._ask("read_ahead", list(texts))

    def take_back(self, nodes: int) -> None:
        """As ``ReadingSession.take_back``."""
        self._ask("take_back", nodes)

    def judge(self, request: str) -> float:
        """As ``ReadingSession.judge``."""
        return self._ask("judge", request)

    def surprise(self, text: str, *, after: str = "") -> tuple[NDArray[np.int64], Vector]:
        """As ``AttentiveSession.surprise``."""
        value, self._state = _told(self._connection, "surprise", text, after=after)
        return value

    def reply(self, request: str, *, max_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:
        """As ``ReadingSession.reply``."""
        options = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
        value, self._state = _told(self._connection, "reply", request, **options)
        return value

    def answer(self, *, max_tokens: int, request: str = "") -> Iterator[str]:
        """As ``ReadingSession.answer``: each piece is written when it is asked for."""
        asked = ("answer", (), {"max_tokens": max_tokens, "request": request})
        with _end_told():
            self._connection.send(asked)
            kind, value, *rest = self._connection.recv()
        while kind == "piece":
            goes_on = False
            try:
                yield value
                goes_on = True
            finally:
                with _end_told():
                    self._connection.send(goes_on)
                    kind, value, *rest = self._connection.recv()
                if not goes_on:
                    self._state = rest[0]
        self._state = rest[0]
        if kind == "error":
            raise value

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()


def _told(connection: Connection, name: str, *given: Any, **options: Any) -> tuple[Any, _State | None]:
    """What a method gives, or raises; callbacks are called on the way, and not sent."""
    callbacks = {which: options[which] for which in ("stop", "progress") if options.get(which)}
    sent: Any = name, given, options | dict.fromkeys(callbacks, True)
    while True:
        with _end_told():
            connection.send(sent)
            kind, value, *rest = connection.recv()
        if kind == "error":
            raise value
        if kind == "result":
            return value, rest[0]
        sent = callbacks[kind](*value)


@contextmanager
def _end_told() -> Iterator[None]:
    """Within, the end of a connection is ModelUnavailable."""
    try:
        yield
    except _GONE as error:
        raise ModelUnavailable(
            "Expected an answer from the process that holds the language model, got its end. It is started again: ask "
            "once more."
        ) from error


def _connected(place: ModelPlace) -> Connection:
    """A new connection; the process may still be starting, also again."""
    patient = Retrying(
        retry=retry_if_exception_type(_GONE),
        stop=stop_after_delay(_STARTS_WITHIN_S),
        wait=wait_exponential(0.05, max=1),
        reraise=True,
    )
    with _end_told():
        return patient(Client, place.address, authkey=place.key)
