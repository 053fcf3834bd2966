"""A model in another process, against the same model here; and what becomes of those who use it when one dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing.connection import Client
from pathlib import Path

import numpy as np
import pytest
from architectures import write_checkpoint
from twins import PROMPTS

from memgraph_rag.errors import ModelNotFound, ModelUnavailable, QuestionError, WindowExceeded
from memgraph_rag.models.language_model import TransformersModel
from memgraph_rag.models.shared_model import ModelAddress, ModelProcess, SharedModel

QUESTION = "Who ran over the hill?"
NODES = ("A fox ran over the hill.", "A hen sat on a wall.", "It rained.")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> TransformersModel:
    return TransformersModel(
        write_checkpoint("llama", tmp_path_factory.mktemp("shared")), dtype="float32", device="cpu"
    )


@pytest.fixture(scope="module")
def process(here: TransformersModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelProcess]:
    process = ModelProcess(
        partial(TransformersModel, here._folder, dtype="float32", device="cpu"), tmp_path_factory.mktemp("socket")
    )
    with process:
        yield process


@pytest.fixture
def address(process: ModelProcess) -> ModelAddress:
    return process._address


@pytest.fixture
def shared(address: ModelAddress) -> SharedModel:
    return SharedModel(address)


def session_outputs(model: TransformersModel | SharedModel) -> tuple[list[np.ndarray], list[str], list[int]]:
    """Numbers, texts and counts of every method of a session."""
    with model.open_session(QUESTION) as session:
        assert session.attends
        assert session.is_graded
        assert session.calibration is None
        session.ignore_calibration()
        numbers = [np.array([session.probability_of_yes()]), session.append(NODES[:1]), session.append(NODES)]
        session.take_back(1)
        numbers += [np.array([session.probability_of_yes(), session.judge("Is it so?")])]
        numbers += session.surprise("A fox ran.", after="It rained.")
        texts = ["".join(session.answer(max_tokens=8)), session.reply("Again.", max_tokens=4)]
        counts = [session.tokens_left, session.usage.prompt_tokens, session.usage.generated_tokens]
    return numbers, texts, counts


def test_it_says_what_the_model_says(here, shared):
    assert (shared.name, shared.window, shared.parameters) == (here.name, here.window, here.parameters)
    assert shared.count_tokens(NODES) == here.count_tokens(NODES)
    for got, expected in zip(session_outputs(shared), session_outputs(here), strict=True):
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5) if isinstance(one, np.ndarray) else None
            assert isinstance(one, np.ndarray) or one == other


def test_what_it_writes_is_asked_about_and_told_here(here, shared):
    heard: dict[str, list] = {"here": [], "shared": []}
    written = []
    for name, model in (("here", here), ("shared", shared)):
        written.append(
            model.generate(
                PROMPTS,
                max_tokens=12,
                stop=lambda _, text, name=name: heard[name].append(text) or len(text) > 20,
                progress=lambda *how_far, name=name: heard[name].append(how_far),
            )
        )
    assert heard["here"] == heard["shared"]
    for one, other in zip(*written, strict=True):
        assert (one.text, one.finish) == (other.text, other.finish)
        np.testing.assert_allclose(one.attention, other.attention, rtol=1e-5)
    texts = [generation.text for generation in written[0]]
    for one, other in zip(here.read_written(PROMPTS, texts), shared.read_written(PROMPTS, texts), strict=True):
        np.testing.assert_allclose(one.attention, other.attention, rtol=1e-5)


def test_its_errors_are_the_models_own_and_it_goes_on(shared):
    with pytest.raises(QuestionError, match="Expected a question"):
        shared.open_session("word " * 10_000)
    with shared.open_session(QUESTION) as session:
        with pytest.raises(WindowExceeded):
            session.append(["word " * 10_000])
        with pytest.raises(WindowExceeded):
            list(session.answer(max_tokens=4, request="word " * 10_000))
        assert len(session.append(NODES)) == len(NODES)
    with pytest.raises(WindowExceeded):
        shared.generate(PROMPTS, max_tokens=10**6)
    assert shared.count_tokens(["a"])


def test_an_answer_given_up_leaves_the_session_as_it_was(shared):
    with shared.open_session(QUESTION) as session:
        session.append(NODES)
        left = session.tokens_left
        answer = session.answer(max_tokens=50)
        next(answer)
        answer.close()
        assert session.tokens_left == left
        assert session.usage.generated_tokens < 50
        assert len("".join(session.answer(max_tokens=3))) > 0


def test_sessions_at_the_same_time_say_what_one_alone_says(here, shared):
    expected, _, _ = session_outputs(here)
    with ThreadPoolExecutor(6) as threads:
        for numbers, _, _ in threads.map(lambda _: session_outputs(shared), range(6)):
            for one, other in zip(numbers, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-4)


def test_who_knows_no_key_is_not_let_in(address, shared):
    with pytest.raises(Exception, match=r"digest|denied|AuthenticationError"):
        Client(address.path, authkey=b"another")
    assert shared.name


def test_a_process_that_goes_away_leaves_no_session(address, process):
    """It is killed within a session; then the process with the model has as many threads as before."""
    script = (
        "import os, signal, sys\n"
        "from memgraph_rag.models.shared_model import ModelAddress, SharedModel\n"
        f"session = SharedModel(ModelAddress({address.path!r}, {address.key!r})).open_session({QUESTION!r})\n"
        "session.append(['A fox.'])\n"
        "print('reading', flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    count = Path(f"/proc/{process._process.pid}/task")
    before = len(list(count.iterdir())) if count.exists() else 0
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100)
    assert (ended.stdout, ended.returncode) == ("reading\n", -signal.SIGKILL)
    end = time.monotonic() + 20
    while count.exists() and len(list(count.iterdir())) > before:
        assert time.monotonic() < end, "its thread is there still"
        time.sleep(0.05)


def test_a_model_whose_process_died_is_there_again(shared, process):
    session = shared.open_session(QUESTION)
    assert shared.name
    os.kill(process._process.pid, signal.SIGKILL)
    with pytest.raises(ModelUnavailable, match="ask once more"):
        session.append(NODES)
    with session:
        pass
    assert shared.count_tokens(["again"])
    with shared.open_session(QUESTION) as session:
        assert len(session.append(NODES)) == len(NODES)


def test_error_of_a_callback_ends_the_call_alone(shared):
    def fail(*_: object) -> bool:
        raise ZeroDivisionError("here")

    for callback in ("stop", "progress"):
        with pytest.raises(ZeroDivisionError, match="here"):
            shared.generate(PROMPTS, max_tokens=12, **{callback: fail})
    assert len(shared.generate(PROMPTS, max_tokens=2)) == len(PROMPTS)


def _missing() -> TransformersModel:
    raise ModelNotFound("Expected a model, got none. Install one.")


def _unreadable() -> TransformersModel:
    raise PermissionError("Install one elsewhere.")


@pytest.mark.parametrize(("make", "error"), [(_missing, ModelNotFound), (_unreadable, PermissionError)])
def test_where_no_model_can_be_made_each_call_says_so(tmp_path, make, error):
    with ModelProcess(make, tmp_path) as address:
        for _ in range(2):
            with pytest.raises(error, match="Install one"):
                _ = SharedModel(address).name
        with pytest.raises(error):
            SharedModel(address).open_session(QUESTION)
