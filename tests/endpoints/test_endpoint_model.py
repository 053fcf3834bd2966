"""Models behind an address keep the contracts, against a real llama.cpp server with the packaged 0.5B model."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from architectures import write_checkpoint
from endpoint_faults import Fault

from memgraph_rag import Limits, Memory, Settings
from memgraph_rag.answering.question_plans.plan_makers import ModelPlans
from memgraph_rag.contracts import Embedder, LanguageModel, ReadingSession
from memgraph_rag.errors import (
    ModelError,
    ModelNotFound,
    ModelUnavailable,
    QuestionError,
    SettingsError,
    WindowExceeded,
)
from memgraph_rag.models.calibration.calibration import write_calibration
from memgraph_rag.models.embedders.calibration import EmbedderCalibration, calibration_file
from memgraph_rag.models.embedders.endpoint_embedder import EndpointEmbedder
from memgraph_rag.models.endpoints.address import Address, parse_address
from memgraph_rag.models.endpoints.client import Endpoint
from memgraph_rag.models.endpoints.json_check import JsonCheck
from memgraph_rag.models.endpoints.model import EndpointModel
from memgraph_rag.models.endpoints.pen_and_eye import PenAndEye
from memgraph_rag.models.engine.language_model import TransformersModel
from memgraph_rag.models.files.journal import Journal
from memgraph_rag.models.model_loader import open_endpoint
from memgraph_rag.testing import FakeEmbedder, FakeRecognizer
from memgraph_rag.types import Prompt, WarningKind

KEY = "a-key-that-nobody-may-see"
QUESTION = "Who found the fox?"
LIST = 'Say each line again, as a list. Begin each line with "* ".'
PROMPTS = [Prompt(LIST, (f"Number {number} ran home.", "It rained.")) for number in range(3)]
NAMES = {
    "type": "object",
    "properties": {"names": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 2}},
    "required": ["names"],
    "additionalProperties": False,
}
ASKS_NAMES = Prompt("Read.", ("Ann met Tom.",), 'List the names. Answer in this form:\n{"names": ["Mary"]}')
writes_long = pytest.mark.full("the server writes or reads for seconds")
NO_LOGPROBS = Fault(400, {}, '{"error": {"message": "logprobs is not supported"}}')


def streamed(text: str) -> Fault:
    """A reply in place of the server's."""
    chunk = json.dumps({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]})
    return Fault(200, {"content-type": "text/event-stream"}, f"data: {chunk}\n\ndata: [DONE]\n\n")


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────


@writes_long
def test_texts_come_in_the_order_of_their_prompts(open_model, proxy) -> None:
    model: LanguageModel = open_model(requests=2)
    told: list[tuple[str, int, int]] = []
    written = model.generate(PROMPTS, max_tokens=10, progress=lambda *what: told.append(what))
    assert [f"Number {number}" in generation.text for number, generation in enumerate(written)] == [True] * 3
    assert all(generation.attention is None and len(generation.offsets) == 0 for generation in written)
    assert all(generation.usage.prompt_tokens > 20 for generation in written)
    assert all(generation.usage.generated_tokens == 10 for generation in written)
    assert (told[0], told[-1]) == (("summarising", 0, 3), ("summarising", 3, 3))
    assert proxy.most_at_once == 2


def test_concurrent_requests_are_limited(proxy) -> None:
    endpoint = Endpoint(Address(proxy.url, "small"), key=lambda: KEY, requests=1)
    EndpointModel(endpoint, requests=3).generate(PROMPTS, max_tokens=4)
    posts = [body for body in proxy.bodies if body]
    assert len(posts) == 3
    assert proxy.most_at_once == 1


def test_writing_stops_at_the_stop_of_the_caller(model: EndpointModel) -> None:
    (generation,) = model.generate(PROMPTS[:1], max_tokens=40, stop=lambda _, text: text.count("\n") > 0)
    assert generation.finish == "stopped"
    assert generation.text.count("\n") == 1
    assert generation.usage.generated_tokens > 0, "about: the server was left before it told"


def test_too_long_prompt_is_refused_before_sending(model: EndpointModel, proxy) -> None:
    assert model.window == 2048, "as the server's list tells"
    with pytest.raises(WindowExceeded, match="window 2048"):
        model.generate([Prompt("Say.", ("fox " * 2000,))], max_tokens=20)
    with pytest.raises(QuestionError):
        model.open_session("fox " * 2000)
    assert len(proxy.bodies) == 1, "the list alone"


@pytest.mark.parametrize(
    "fault", [Fault(404), Fault(200, {}, '{"data": []}'), Fault(200, {}, '{"data": [7]}')], ids=["none", "empty", "odd"]
)
def test_window_comes_from_settings_if_server_gives_none(open_model, proxy, fault: Fault) -> None:
    proxy.faults.append(fault)
    assert open_model(window=3000).window == 3000


def test_schema_is_followed(model: EndpointModel, proxy) -> None:
    (generation,) = model.generate([ASKS_NAMES], max_tokens=60, schema=NAMES)
    assert JsonCheck(NAMES).follows(generation.text)
    assert proxy.bodies[-1]["response_format"]["json_schema"]["schema"] == NAMES


def test_refused_schema_is_described_in_words(model: EndpointModel, proxy) -> None:
    _ = model.window
    proxy.faults.append(Fault(400, {}, '{"error": {"message": "cannot make a grammar"}}'))
    (generation,) = model.generate([ASKS_NAMES], max_tokens=60, schema=NAMES)
    assert JsonCheck(NAMES).follows(generation.text)
    assert "response_format" not in proxy.bodies[-1]
    assert json.dumps(NAMES) in proxy.bodies[-1]["messages"][0]["content"]


def test_invalid_json_reply_is_requested_again(model: EndpointModel, proxy) -> None:
    _ = model.window
    proxy.faults += [streamed('The names are ["Ann"]'), streamed('Sorry!\n```json\n{"names": ["Ann"]}\n```')]
    (generation,) = model.generate([ASKS_NAMES], max_tokens=60, schema=NAMES)
    assert generation.text == '{"names": ["Ann"]}'
    assert generation.usage.model_calls == 2
    proxy.faults += [streamed("No."), streamed("Never."), streamed("Nor now.")]
    (lost,) = model.generate([ASKS_NAMES], max_tokens=60, schema=NAMES)
    assert lost.text == "Never."
    assert len(proxy.faults) == 1


def test_invalid_schema_is_refused_before_sending(model: EndpointModel, proxy) -> None:
    with pytest.raises(ModelError, match="JSON Schema"):
        model.generate([ASKS_NAMES], max_tokens=60, schema={"type": "no such type"})
    assert proxy.bodies == []


def test_finished_prompts_are_not_repeated_after_a_failure(open_model, proxy, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("memgraph_rag.models.endpoints.client._PAUSES", lambda _: 0.0)
    model = open_model(journal=Journal(tmp_path), requests=1)
    _ = model.window
    proxy.faults += [Fault(), Fault(), *[Fault(500)] * 5]
    with pytest.raises(ModelUnavailable):
        model.generate(PROMPTS, max_tokens=6)
    asked = len(proxy.bodies)
    written = model.generate(PROMPTS, max_tokens=6)
    assert len(proxy.bodies) == asked + 1
    assert [generation.text for generation in written] == [
        generation.text for generation in open_model().generate(PROMPTS, max_tokens=6)
    ]
    assert KEY.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────


@writes_long
def test_reading_sends_no_request_and_asking_keeps_its_prefix(model: EndpointModel, proxy) -> None:
    _ = model.window
    session: ReadingSession
    with model.open_session(QUESTION) as session:
        left = session.tokens_left
        assert session.append(["It rained.", "The mayor slept."]).tolist() == [0.0, 0.0]
        assert session.tokens_left < left
        assert len(proxy.bodies) == 1
        assert 0 < session.probability_of_yes() < 1
        assert session.probability_of_yes() == session.probability_of_yes()
        assert len(proxy.bodies) == 2
        assert 0 < session.judge("Is it about a fox? Reply Yes or No.") < 1
        assert len(proxy.bodies) == 3
        assert session.append(["Ann found a red fox in the barn."]).tolist() == [0.0]
        assert 0 < session.probability_of_yes() < 1
        assert len(list(session.answer(max_tokens=8))) > 1
        assert session.reply("Name the animal. One word.", max_tokens=4)
        talks = [body["messages"] for body in proxy.bodies if body]
        for before, after in pairwise(talks):
            assert after[0]["content"].startswith(before[0]["content"])
        assert [len(talk) for talk in talks] == [1, 3, 1, 3, 3]
        assert not session.attends
        assert session.usage.model_calls == 5
        session.take_back(2)
        assert session.tokens_left == left
        with pytest.raises(WindowExceeded):
            session.append(["fox " * 2000])
        assert session.tokens_left == left


def test_server_without_log_probabilities_is_asked_for_one_word(model: EndpointModel, proxy) -> None:
    _ = model.window
    proxy.faults.append(NO_LOGPROBS)
    with model.open_session(QUESTION) as session:
        session.append(["Ann found a red fox in the barn."])
        assert session.probability_of_yes() in (0.0, 1.0)
        assert not session.is_graded


@writes_long
def test_remote_pen_works_with_a_local_eye(model: EndpointModel, tmp_path: Path) -> None:
    eye = TransformersModel(write_checkpoint("llama", tmp_path), dtype="float32", device="cpu", name="tiny")
    both = PenAndEye(model, eye)
    (generation,) = both.generate(PROMPTS[:1], max_tokens=16)
    assert generation.text == model.generate(PROMPTS[:1], max_tokens=16)[0].text
    (read,) = eye.read_written(PROMPTS[:1], [generation.text])
    np.testing.assert_array_equal(generation.attention, read.attention)
    with both.open_session(QUESTION) as session:
        assert session.append(["Ann found a red fox."])[0] > 0
        assert 0 < session.probability_of_yes() < 1
        assert "".join(session.answer(max_tokens=8))
    assert both.name == "small + tiny"


# ── embedding ────────────────────────────────────────────────────────────────────────────────────────────────


def test_vectors_are_batched_and_have_length_1(proxy, monkeypatch) -> None:
    monkeypatch.setattr("memgraph_rag.models.embedders.endpoint_embedder._TEXTS", 2)
    embedder: Embedder = EndpointEmbedder(Endpoint(parse_address(f"{proxy.url}#small"), key=lambda: KEY))
    texts = ["Ann found a red fox.", "It rained.", "", "Tom slept.", "The mayor sang."]
    vectors = embedder.embed(texts)
    assert (vectors.shape, vectors.dtype) == ((5, embedder.dimension), np.float32)
    assert np.linalg.norm(vectors, axis=1).tolist() == pytest.approx([1.0] * 5, abs=1e-5)
    again = vectors @ embedder.embed(texts[1::-1])[1]
    assert np.argmax(again) == 0, "each in its place"
    assert again[0] > 0.8, "not the same: what a busy server reads beside it changes a mean over tokens"
    sizes = [len(body["input"]) for body in proxy.bodies]
    assert (sorted(sizes[:3]), sizes[3:]) == ([1, 2, 2], [1, 2]), "the fourth for the dimension"
    assert embedder.dimension == embedder.embed([]).shape[1] == 896
    assert len(proxy.bodies) == 5
    assert embedder.name == "small"


# ── in a memory ──────────────────────────────────────────────────────────────────────────────────────────────

STORY = "Ann Lee found a red fox in the barn of the old mill. It rained for nine days. " * 3
LATER = "Tom Poe went to Leeds by train and slept for a week. The mayor bought his horse in May. " * 7


def open_memory(path: Path, proxy, **options) -> Memory:
    parts = {"recognizer": FakeRecognizer(), "segment_tokens": 60, "batch_tokens": 512}
    address, endpoint = f"{proxy.url}#small", {"key": KEY, **options.pop("endpoint", {})}
    return Memory(path, model=address, endpoint=endpoint, **{"embedder": FakeEmbedder(), **parts, **options})


def test_failing_server_stores_and_loses_no_document(no_file: Path, proxy, monkeypatch) -> None:
    monkeypatch.setattr("memgraph_rag.models.endpoints.client._PAUSES", lambda _: 0.0)
    options = {"layers": ("points",), "cache_dir": no_file.parent / "cache"}
    options["endpoint"] = {"requests": 1, "body": {"max_tokens": 24}}
    with open_memory(no_file, proxy, **options) as memory:
        proxy.faults += [Fault(), Fault(), *[Fault(503)] * 99]
        with pytest.raises(ModelUnavailable):
            memory.add(STORY + LATER, key="story")
        assert memory.documents() == []
        proxy.faults.clear()
        before = [str(body) for body in proxy.bodies]
        receipt = memory.add(STORY + LATER, key="story")
        assert receipt.notes["weights by similarity"] == receipt.counts["InformationPoint"] > 0
        assert before[1] not in [str(body) for body in proxy.bodies[len(before) :]], "it was kept"
        assert len(memory.documents()) == 1
        answer = memory.ask("Who found the fox?", limits=Limits(nodes=2))
        assert answer.model == "small"
        assert answer.text
        assert answer.warnings == ()
    assert not [path for path in no_file.parent.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


@writes_long
def test_answer_without_probability_of_yes_warns(no_file: Path, proxy) -> None:
    with open_memory(no_file, proxy, layers=("entities",)) as memory:
        memory.add(STORY)
        proxy.faults += [Fault(), NO_LOGPROBS]
        (warning,) = memory.ask("Who found the fox?", limits=Limits(nodes=1)).warnings
    assert (warning.kind, warning.quote) == (WarningKind.UNGRADED_YES, "small")
    assert "small says Yes or No without a probability" in str(warning)


def test_memory_embeds_by_an_address(no_file: Path, proxy) -> None:
    cache_dir = no_file.parent / "cache"
    write_calibration(EmbedderCalibration(embedder="small"), calibration_file("small", cache_dir))  # it takes a minute
    with open_memory(no_file, proxy, layers=(), embedder=f"{proxy.url}#small", cache_dir=cache_dir) as memory:
        memory.add("Ann found a red fox.")
        assert memory.search("red fox", mode="vector")[0].text == "Ann found a red fox."
        assert memory.status()["schema"]["embedder"] == "small"


@writes_long
def test_plan_from_an_address_holds_words_of_its_question(open_model) -> None:
    plans = ModelPlans(open_model(seconds=120))
    question = "In which city did the director of Solaris die?"
    hop = plans.find_hop(question, [], values=(), without=())
    assert plans.usage.generated_tokens > 0
    assert hop is None or hop.phrase in question
    assert plans.find_comparison(question, list) is None


# ── addresses ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    [
        "http://localhost:1/v1", "openai:", "http:///v1#m", "http://a:b@host/v1#m", "https://h/v1?key=s#m",
        "http://[::1/v1#m", "http://a:b@[::1", "http://[x]/v1#m", "http://h:port/v1#m", "http://h:99999/v1#m",
        "http://h\x01/v1#m",
    ],
)  # fmt: skip
def test_invalid_address_is_refused_without_its_secrets(name: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_address(name)
    assert "a:b" not in str(caught.value)
    assert "key=s" not in str(caught.value)


def test_key_of_openai_is_sent_to_openai_only(proxy) -> None:
    settings = Settings.load(endpoint={"openai_key": "sk-openai", "key": "other"})
    assert open_endpoint("openai:gpt", settings)._key() == "sk-openai"
    assert open_endpoint(f"{proxy.url}#small", settings)._key() == "other"
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        Endpoint(parse_address("openai:gpt"))


def test_missing_reader_is_reported(no_file: Path, proxy) -> None:
    with (
        open_memory(no_file, proxy, reader="no-such-model", layers=("points",)) as memory,
        pytest.raises(ModelNotFound, match="no-such-model"),
    ):
        memory.add(STORY)
