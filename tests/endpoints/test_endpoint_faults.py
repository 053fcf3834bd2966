"""What can go wrong between here and a model's server: each ends in a retry, or in one clear error."""

from __future__ import annotations

import logging
import time
import traceback

import pytest
from endpoint_faults import Fault

from memgraph_rag.errors import (
    ModelAccessDenied,
    ModelError,
    ModelNotFound,
    ModelUnavailable,
    WindowExceeded,
)
from memgraph_rag.models.endpoints.address import Address
from memgraph_rag.models.endpoints.client import Ask, Endpoint, Reply
from memgraph_rag.models.endpoints.model import EndpointModel

KEY = "a-key-that-nobody-may-see"
ASK = Ask([{"role": "user", "content": "Count from one to five, in words."}], max_tokens=6)
HTML = {"content-type": "text/html"}
EVENTS = {"content-type": "text/event-stream"}
LAST = "data: [DONE]\n\n"


@pytest.fixture(scope="module")
def whole(server_port: int) -> Reply:
    """What the server says to ``ASK``."""
    return Endpoint(Address(f"http://127.0.0.1:{server_port}/v1", "small"), key=lambda: KEY).write(ASK)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(429, {"retry-after": "0"}, '{"error": {"message": "slow down"}}'),
        Fault(500, {}, '{"error": {"message": "oops"}}'),
        Fault(503, HTML, "<html>busy</html>"),
        Fault(408),
        Fault(events=3),
        Fault(events=3, is_clean=True),
        Fault(events=0),
        Fault(200, EVENTS, 'data: {"choices": [{"delta": {"con'),
        Fault(200, EVENTS, 'data: {"error": {"message": "the worker died"}}\n\n'),
        Fault(200, EVENTS, f'data: {{"choices": [{{"delta": null}}]}}\n\n{LAST}'),
        Fault(200, EVENTS, LAST),
    ],
    ids=lambda fault: f"{fault.status}-{fault.events}-{fault.body[:30]}",
)
def test_passing_errors_are_repeated(proxy, model: EndpointModel, whole: Reply, fault: Fault) -> None:
    proxy.faults.append(fault)
    again = model.endpoint.write(ASK)
    assert (again.text, again.finish) == (whole.text, whole.finish)
    assert len(proxy.bodies) == 2
    assert proxy.bodies[0] == proxy.bodies[1]


def test_retry_waits_as_long_as_the_server_says(proxy, model: EndpointModel) -> None:
    proxy.faults.append(Fault(429, {"retry-after": "1.2"}))
    started = time.monotonic()
    model.endpoint.write(ASK)
    assert time.monotonic() - started > 1.2


def test_retry_does_not_wait_beyond_the_deadline(proxy, open_model) -> None:
    proxy.always = Fault(429, {"retry-after": "60"}, '{"error": {"message": "slow down"}}')
    started = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"status 429: .*slow down.* Try again later"):
        open_model(seconds=5).endpoint.write(ASK)
    assert time.monotonic() - started < 2
    assert len(proxy.bodies) == 1


def test_failing_for_good_ends_after_some_attempts(proxy, model: EndpointModel, monkeypatch) -> None:
    monkeypatch.setattr("memgraph_rag.models.endpoints.client._PAUSES", lambda _: 0.0)
    proxy.always = Fault(events=2)
    with pytest.raises(ModelUnavailable, match=r"no stable connection") as caught:
        model.endpoint.write(ASK)
    assert caught.value.retryable
    assert len(proxy.bodies) == 5


def test_silence_ends_at_the_deadline(proxy, open_model) -> None:
    proxy.always = Fault(silence_s=3)
    started = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"got none in time.* raise endpoint.seconds"):
        open_model(seconds=1).endpoint.write(ASK)
    assert 0.9 < time.monotonic() - started < 2.5


def test_unreachable_server_is_unavailable(proxy, open_model) -> None:
    model = open_model(seconds=1)
    proxy.close()
    with pytest.raises(ModelUnavailable, match=r"Expected a model server at http://127.0.0.1"):
        model.endpoint.write(ASK)


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        (Fault(200, HTML, "<html>Sign in</html>"), ModelError, "got text/html. Check that .* /v1"),
        (Fault(200, {}, '{"choices": []}'), ModelError, "got application/json"),
        (Fault(307, {"location": "http://elsewhere.example/v1"}), ModelError, "redirect to http://elsewhere.example"),
        (Fault(404, {}, '{"error": {"message": "no model small"}}'), ModelNotFound, "'small' .*404: .*no model small"),
        (Fault(403, {}, f'{{"error": {{"message": "bad key {KEY}"}}}}'), ModelAccessDenied, "ENDPOINT_KEY"),
        (Fault(429, {}, '{"error": {"code": "insufficient_quota"}}'), ModelAccessDenied, "without"),
        (Fault(418, {}, f'{{"error": {{"message": "teapot {KEY}"}}}}'), ModelError, "status 418: .*teapot …"),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Fault) else "",
)
def test_refusal_raises_one_error_without_retry(
    proxy, model, fault: Fault, error: type[ModelError], message: str
) -> None:
    proxy.always = fault
    with pytest.raises(error, match=message) as caught:
        model.endpoint.write(ASK)
    assert type(caught.value) is error
    assert KEY not in shown(caught.value)
    assert len(proxy.bodies) == 1


def test_wrong_key_is_reported_without_the_key(open_model, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelAccessDenied, match=r"status 401") as caught:
        open_model(key="another-secret").endpoint.write(ASK)
    assert "another-secret" not in shown(caught.value) + caplog.text + repr(open_model().endpoint.__dict__)


def test_key_is_read_for_each_request(open_model, proxy) -> None:
    keys = iter(["wrong", KEY])
    model = open_model(key=None)
    model = type(model)(type(model.endpoint)(model.endpoint.address, key=lambda: next(keys), seconds=9))
    with pytest.raises(ModelAccessDenied):
        model.endpoint.write(ASK)
    assert model.endpoint.write(ASK).text


def test_prompt_beyond_the_window_of_the_server_is_reported(model: EndpointModel) -> None:
    with pytest.raises(WindowExceeded, match=r"status 400: .*context size.* Set window"):
        model.endpoint.write(Ask([{"role": "user", "content": "fox " * 3000}], max_tokens=5))


def test_broken_stream_raises_after_its_pieces(proxy, model: EndpointModel) -> None:
    proxy.faults.append(Fault(events=3))
    pieces = model.endpoint.say(ASK)
    assert next(pieces)
    with pytest.raises(ModelUnavailable):
        list(pieces)
    assert len(proxy.bodies) == 1, "it cannot be asked again: a part was shown"


def test_broken_stream_is_retried_before_its_first_piece(proxy, model: EndpointModel, whole: Reply) -> None:
    proxy.faults += [Fault(500), Fault(events=0)]
    assert "".join(model.endpoint.say(ASK)) == whole.text


@pytest.mark.parametrize("field", ["temperature", "stream_options", "max_tokens"])
def test_refused_field_is_left_out_of_later_requests(proxy, model: EndpointModel, field: str) -> None:
    said = f'{{"error": {{"message": "Unsupported parameter: {field}", "param": "{field}"}}}}'
    proxy.faults.append(Fault(400, {}, said))
    assert model.endpoint.write(ASK).text
    model.endpoint.write(ASK)
    assert [field in body for body in proxy.bodies] == [True, False, False]
    assert ("max_completion_tokens" in proxy.bodies[1]) == (field == "max_tokens")


def test_reasoning_alone_is_reported_with_a_remedy(proxy, model: EndpointModel) -> None:
    chunk = '{"choices": [{"delta": {"reasoning_content": "Hm."}, "finish_reason": "length"}]}'
    proxy.always = Fault(200, EVENTS, f"data: {chunk}\n\n{LAST}")
    with pytest.raises(ModelError, match=r"reasoning_effort"):
        model.endpoint.write(ASK)


def test_extra_fields_are_in_each_request(proxy, open_model) -> None:
    open_model(body={"reasoning_effort": "none"}).endpoint.write(ASK)
    assert proxy.bodies[0]["reasoning_effort"] == "none"


def shown(error: BaseException) -> str:
    """All that a tool could show of an error: messages, causes, and the variables of every frame but the test's."""
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    return "\n".join(part for part in report.format() if __file__ not in part) + repr(vars(error))
