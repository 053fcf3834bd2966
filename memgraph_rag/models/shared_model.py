"""A language model in one process, used by several others, so that its weights are in memory once.

It knows no memory and no request; it is given a function that makes the model. A session is a connection: passes that
sessions of any process ask for at the same time are joined, as those of threads are. Invariants: results and errors
are the model's own; a client process that dies leaves no session behind; when the model's process dies, it is started
again, and its clients get ModelUnavailable.
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
from memgraph_rag.display import show
from memgraph_rag.errors import ModelError, ModelUnavailable
from memgraph_rag.types import Generation, Prompt, Usage, Vector

__all__ = ["ModelAddress", "ModelProcess", "SharedModel", "end_with_parent"]

logger = logging.getLogger(__name__)
_START_TIMEOUT_S = 60.0
_RESTART_DELAY_S = 1.0
_CONNECTION_LOST = (EOFError, OSError)  # of a connection whose other end has died

Make = Callable[[], LanguageModel]


def end_with_parent() -> None:
    """From now on end this process when the one that started it is gone, however that ended."""
    Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


class ModelAddress(NamedTuple):
    """Where the model's process listens, and the key that a client has to know."""

    path: str
    key: bytes


class _State(NamedTuple):
    """Properties of a session, sent with each reply."""

    attends: bool
    is_graded: bool
    calibration: Calibration | None
    usage: Usage
    tokens_left: int


# ── the process with the model ───────────────────────────────────────────────────────────────────────────────


class ModelProcess:
    """Runs the process while it is entered; a context manager that gives its address.

    Args:
        make: makes the model, there; a function that can be pickled.
        folder: of a socket that only this user may open.
    """

    def __init__(self, make: Make, folder: Path) -> None:
        self._make = make
        self._address = ModelAddress(str(folder / "model"), secrets.token_bytes(32))
        self._stopping = Event()

    def __enter__(self) -> ModelAddress:
        self._process = self._start()
        self._restarter = Thread(target=self._restart, daemon=True)
        self._restarter.start()
        return self._address

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._process.kill()
        self._restarter.join()

    def _start(self) -> Any:
        process = get_context("spawn").Process(target=_serve, args=(self._make, self._address), daemon=True)
        process.start()
        return process

    def _restart(self) -> None:
        """Start the process again whenever it has died."""
        while True:
            self._process.join()
            if self._stopping.wait(_RESTART_DELAY_S):
                return
            logger.warning("The model's process ended with %s; it is started again.", self._process.exitcode)
            self._process = self._start()
            if self._stopping.is_set():  # meanwhile
                self._process.kill()


def _serve(make: Make, address: ModelAddress) -> None:
    """The process: a thread for each connection, until its parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a terminal sends to all; the parent ends this one
    end_with_parent()
    Path(address.path).unlink(missing_ok=True)
    model = _LazyModel(make)
    with Listener(address.path, backlog=128, authkey=address.key) as listener:
        while True:
            try:
                connection = listener.accept()
            except Exception as error:  # noqa: BLE001 - one that knew no key, or went away
                logger.info("A connection to the model was not taken: %s", error)
            else:
                Thread(target=_serve_connection, args=(connection, model), daemon=True).start()


class _LazyModel:
    """The model, made at the first use; each caller gets the error where it cannot be made."""

    def __init__(self, make: Make) -> None:
        self._make = make
        self._model: LanguageModel | None = None
        self._lock = Lock()

    def get(self) -> LanguageModel:
        with self._lock:
            if self._model is None:
                self._model = self._make()
            return self._model


def _serve_connection(connection: Connection, model: _LazyModel) -> None:
    """Run the calls of one connection in turn; its session ends with it."""
    session: Any = None
    with connection, suppress(*_CONNECTION_LOST):
        try:
            while True:
                name, given, options = connection.recv()
                try:
                    value = _call_method(connection, session or model.get(), name, given, options)
                    if name == "open_session":
                        session, value = value.__enter__(), None
                    reply = "result", value, session and _state(session)
                except Exception as error:  # noqa: BLE001 - whatever it is, the client raises it
                    reply = "error", error, session and _state(session)
                _send(connection, reply)
        finally:
            if session is not None:
                session.__exit__(None, None, None)


def _call_method(connection: Connection, holder: Any, name: str, given: Sequence[Any], options: dict[str, Any]) -> Any:
    """The result of a method; its callbacks are called by the client."""

    def ask_client(*message: Any) -> Any:
        connection.send(message)
        return connection.recv()

    for callback in ("stop", "progress"):
        if options.get(callback):
            options[callback] = lambda *arguments, callback=callback: ask_client(callback, arguments)
    value: Any = getattr(holder, name)
    value = value(*given, **options) if callable(value) else value
    if name != "answer":
        return value
    for piece in value:
        if not ask_client("piece", piece):
            break
    value.close()
    return None


def _state(session: Any) -> _State:
    return _State(session.attends, session.is_graded, session.calibration, session.usage, session.tokens_left)


def _send(connection: Connection, reply: tuple[str, Any, _State | None]) -> None:
    try:
        connection.send(reply)
    except _CONNECTION_LOST:
        raise
    except Exception as error:  # noqa: BLE001 - of pickle: an error of a library, say
        kind, value, state = reply
        unsent = ModelError(
            f"Expected a {kind} that can be sent to another process, got {show(value)}: {error}. Report it."
        )
        connection.send(("error", unsent, state))


# ── what the other processes have ────────────────────────────────────────────────────────────────────────────


class SharedModel:
    """An ``AttentiveModel`` that another process holds. Raises what it raises, and ModelUnavailable when that died."""

    def __init__(self, address: ModelAddress) -> None:
        self._address = address
        self._idle: deque[Connection] = deque()
        self._constants: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """What receipts and answers call it."""
        return self._constant("name")

    @property
    def window(self) -> int:
        """How many tokens it may hold at once."""
        return self._constant("window")

    @property
    def parameters(self) -> int:
        """How many weights it has; loads them."""
        return self._constant("parameters")

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens."""
        return self._call("count_tokens", list(texts))

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
        return self._call("generate", list(prompts), max_tokens=max_tokens, stop=stop, schema=schema, progress=progress)

    def read_written(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> list[Generation]:
        """As ``AttentiveModel.read_written``."""
        return self._call("read_written", list(prompts), list(texts))

    def open_session(self, question: str) -> SharedSession:
        """A session in the model's process, which lives until it is left."""
        connection = _connect(self._address)
        try:
            return SharedSession(connection, question)
        except BaseException:
            connection.close()
            raise

    def _constant(self, name: str) -> Any:
        """A value that never changes; fetched once."""
        if name not in self._constants:
            self._constants[name] = self._call(name)
        return self._constants[name]

    def _call(self, name: str, *given: Any, **options: Any) -> Any:
        """Call a method of the model over a connection of its own."""
        connection = self._idle_connection() or _connect(self._address)
        try:
            value, _ = _request(connection, name, *given, **options)
        except BaseException:
            connection.close()  # nobody knows what would come over it next
            raise
        self._idle.append(connection)
        return value

    def _idle_connection(self) -> Connection | None:
        """A connection that is still open; one whose process has died is readable: it has an end of file."""
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
        self._call("open_session", question)

    def _call(self, name: str, *given: Any, **options: Any) -> Any:
        value, self._state = _request(self._connection, name, *given, **options)
        return value

    @property
    def _current(self) -> _State:
        assert self._state is not None
        return self._state

    @property
    def attends(self) -> bool:
        """Whether it tells what nodes attend to."""
        return self._current.attends

    @property
    def is_graded(self) -> bool:
        """Whether P(Yes) is a probability."""
        return self._current.is_graded

    @property
    def calibration(self) -> Calibration | None:
        """The model's, if it has one."""
        return self._current.calibration

    @property
    def usage(self) -> Usage:
        """What this session has cost so far."""
        return self._current.usage

    @property
    def tokens_left(self) -> int:
        """How many tokens of nodes still fit."""
        return self._current.tokens_left

    def ignore_calibration(self) -> None:
        """Be as a session of a model without calibration from now on."""
        self._call("ignore_calibration")

    def append(self, texts: Sequence[str]) -> Vector:
        """As ``ReadingSession.append``."""
        return self._call("append", list(texts))

    def probability_of_yes(self) -> float:
        """As ``ReadingSession.probability_of_yes``."""
        return self._call("probability_of_yes")

    def take_back(self, calls: int) -> None:
        """As ``ReadingSession.take_back``."""
        self._call("take_back", calls)

    def judge(self, request: str) -> float:
        """As ``ReadingSession.judge``."""
        return self._call("judge", request)

    def surprise(self, text: str, *, after: str = "") -> tuple[NDArray[np.int64], Vector]:
        """As ``AttentiveSession.surprise``."""
        return self._call("surprise", text, after=after)

    def reply(self, request: str, *, max_tokens: int, temperature: float = 0.0, seed: int = 0) -> str:
        """As ``ReadingSession.reply``."""
        return self._call("reply", request, max_tokens=max_tokens, temperature=temperature, seed=seed)

    def answer(self, *, max_tokens: int, request: str = "") -> Iterator[str]:
        """As ``ReadingSession.answer``: each piece is written when it is asked for."""
        call = ("answer", (), {"max_tokens": max_tokens, "request": request})
        with _end_request():
            self._connection.send(call)
            kind, value, *rest = self._connection.recv()
        while kind == "piece":
            goes_on = False
            try:
                yield value
                goes_on = True
            finally:
                with _end_request():
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


def _request(connection: Connection, name: str, *given: Any, **options: Any) -> tuple[Any, _State | None]:
    """Call a method over a connection: its result and the session's state; callbacks are called here, not sent."""
    callbacks = {which: options[which] for which in ("stop", "progress") if options.get(which)}
    sent: Any = name, given, options | dict.fromkeys(callbacks, True)
    while True:
        with _end_request():
            connection.send(sent)
            kind, value, *rest = connection.recv()
        if kind == "error":
            raise value
        if kind == "result":
            return value, rest[0]
        sent = callbacks[kind](*value)


@contextmanager
def _end_request() -> Iterator[None]:
    """Turn a lost connection into ModelUnavailable."""
    try:
        yield
    except _CONNECTION_LOST as error:
        raise ModelUnavailable(
            "Expected an answer from the process that holds the language model, got its end. It is started again: ask "
            "once more."
        ) from error


def _connect(address: ModelAddress) -> Connection:
    """A new connection, waited for while the process starts."""
    patient = Retrying(
        retry=retry_if_exception_type(_CONNECTION_LOST),
        stop=stop_after_delay(_START_TIMEOUT_S),
        wait=wait_exponential(0.05, max=1),
        reraise=True,
    )
    with _end_request():
        return patient(Client, address.path, authkey=address.key)
