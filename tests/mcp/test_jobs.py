"""Documents that are accepted before they are stored: over a real socket, and what survives the end of a server."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp_agents import Served
from memories import FOX, RIVER

from memgraph_rag import Memory
from memgraph_rag.errors import StoreUnavailable
from memgraph_rag.mcp import jobs as jobs_module
from memgraph_rag.mcp.jobs import JobNotFound, JobQueue
from memgraph_rag.mcp.limits import TooManyCalls
from memgraph_rag.mcp.memories import Memories
from memgraph_rag.mcp.tokens import TokenFolder
from memgraph_rag.mcp.transports import http_app, token_server

SOON_S = 20.0
PREFER = {"Prefer": "respond-async"}


@pytest.fixture
def client(served: Served) -> Callable[[str], httpx2.Client]:
    """A program of a namespace."""

    def of(namespace: str) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {served.tokens.make(namespace)}"}
        return httpx2.Client(base_url=served.url.removesuffix("/mcp"), headers=headers, timeout=30)

    return of


def ended(ann: httpx2.Client, job: str) -> dict[str, Any]:
    """The job at its location, when it has ended."""
    end = time.monotonic() + SOON_S
    while (state := ann.get(job).json())["state"] in ("queued", "storing"):
        assert time.monotonic() < end, state
        time.sleep(0.02)
    return state


def test_document_is_accepted_at_once_and_stored_behind(client, served: Served) -> None:
    with client("ann") as ann:
        response = ann.post("/v1/remember", json={"text": FOX, "key": "fox"}, headers=PREFER)
        assert response.status_code == 202
        assert response.headers["preference-applied"] == "respond-async"
        accepted, location = response.json(), response.headers["location"]
        assert location == f"/v1/jobs/{accepted['id']}"
        assert (accepted["state"], accepted.keys()) == ("queued", {"id", "state", "accepted_at"})
        job = ended(ann, location)
        assert (job["id"], job["state"], job["accepted_at"]) == (accepted["id"], "stored", accepted["accepted_at"])
        again = ann.post("/v1/remember", json={"text": FOX, "key": "fox"}).json()
        assert job["result"] == {**again, "action": "added"}
        assert served.memories.get("ann").text("fox") == FOX
        assert 'memgraph_rag_call_seconds_count{outcome="ok",tool="remember",way="job"} 1.0' in ann.get("/metrics").text


def test_without_the_preference_the_answer_waits(client) -> None:
    with client("ann") as ann:
        for headers in ({}, {"Prefer": "wait=5"}, {"Prefer": "respond-asynchronously"}):
            assert ann.post("/v1/remember", json={"text": FOX}, headers=headers).status_code == 200
        assert ann.post("/v1/status", headers={**PREFER, "Content-Type": "application/json"}).status_code == 200
        both = {"Prefer": "wait=5, Respond-Async"}
        assert ann.post("/v1/remember", json={"text": FOX}, headers=both).status_code == 202


def test_job_is_known_to_its_own_namespace_only(client) -> None:
    with client("ann") as ann, client("tom") as tom:
        location = ann.post("/v1/remember", json={"text": FOX}, headers=PREFER).headers["location"]
        ended(ann, location)
        for who, path in ((tom, location), (ann, "/v1/jobs/none"), (ann, f"/v1/jobs/{'0' * 32}")):
            response = who.get(path)
            assert (response.status_code, response.json()["title"]) == (404, "JobNotFound")
        assert httpx2.get(str(ann.base_url.join(location))).status_code == 401
        assert ann.get(location, headers={"Host": "evil.example"}).status_code == 421


@pytest.mark.parametrize(
    ("arguments", "detail"),
    [
        ({}, "Expected text or messages, got neither"),
        ({"text": FOX, "more": 1}, "more: Extra inputs are not permitted"),
        ({"text": FOX, "key": "k" * 513}, "key"),
        ({"text": FOX, "metadata": {"n": "x" * 70_000}}, "metadata"),
        ({"messages": [{"role": "r" * 300, "content": "Hm."}]}, "role"),
        ({"text": "x" * (33 * 2**20)}, "got"),
    ],
)
def test_bad_input_is_refused_at_once(client, served: Served, arguments, detail) -> None:
    with client("ann") as ann:
        response = ann.post("/v1/remember", json=arguments, headers=PREFER)
    assert response.status_code == 422
    assert detail in response.json()["detail"]
    assert served.memories.opened() == ()


def test_what_fails_later_is_told_by_its_job(client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("secret")

    monkeypatch.setattr(Memory, "add", fail)
    with client("ann") as ann:
        job = ended(ann, ann.post("/v1/remember", json={"text": FOX}, headers=PREFER).headers["location"])
    assert (job["state"], job["error"]["status"], job["error"]["title"]) == ("failed", 500, "KeyError")
    assert "secret" not in str(job)


def test_store_that_is_away_is_waited_for(client, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "_RETRY_S", 0.05)
    add, tries = Memory.add, []

    def fail_twice(*arguments: Any, **options: Any) -> Any:
        tries.append(1)
        if len(tries) < 3:
            raise StoreUnavailable("Expected a server, got none. Start it.")
        return add(*arguments, **options)

    monkeypatch.setattr(Memory, "add", fail_twice)
    with client("ann") as ann:
        job = ended(ann, ann.post("/v1/remember", json={"text": FOX, "key": "fox"}, headers=PREFER).headers["location"])
    assert (job["state"], len(tries)) == ("stored", 3)
    assert [record.key for record in served.memories.get("ann").documents()] == ["fox"]


def test_full_queue_sends_back(client, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    add, goes_on = Memory.add, threading.Event()

    def wait(*arguments: Any, **options: Any) -> Any:
        assert goes_on.wait(SOON_S)
        return add(*arguments, **options)

    monkeypatch.setattr(Memory, "add", wait)
    with client("ann") as ann, client("tom") as tom:
        texts = [{"text": f"It is day {day}.", "key": f"day {day}"} for day in range(3)]
        accepted = [ann.post("/v1/remember", json=text, headers=PREFER) for text in texts]
        full = ann.post("/v1/remember", json={"text": FOX}, headers=PREFER)
        other = tom.post("/v1/remember", json={"text": RIVER, "key": "river"}, headers=PREFER)
        too_many = tom.post("/v1/remember", json={"text": FOX}, headers=PREFER)
        goes_on.set()
        assert [ended(ann, response.headers["location"])["state"] for response in accepted] == ["stored"] * 3
        assert ended(tom, other.headers["location"])["state"] == "stored"
    assert (full.status_code, full.headers["retry-after"], full.json()["title"]) == (429, "1", "TooManyCalls")
    assert "at most 3 documents of one caller" in full.json()["detail"]
    assert "at most 4 documents that wait" in too_many.json()["detail"]
    assert len(served.memories.get("ann").documents()) == 3


def test_server_without_a_queue_passes_over_the_preference(memories: Memories, tmp_path: Path) -> None:
    tokens = TokenFolder(tmp_path / "tokens")
    headers = {"Authorization": f"Bearer {tokens.make('ann')}", **PREFER}

    async def calls() -> tuple[httpx2.Response, httpx2.Response]:
        app = http_app(token_server(memories, tokens))
        transport = httpx2.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as http,
        ):
            stored = await http.post("/v1/remember", json={"text": FOX})
            return stored, await http.get(f"/v1/jobs/{'0' * 32}")

    stored, job = asyncio.run(calls())
    assert (stored.status_code, stored.json()["action"]) == (200, "added")
    assert (job.status_code, job.json()["title"]) == (404, "JobNotFound")


# ── the queue itself ─────────────────────────────────────────────────────────────────────────────────────────


class Stored:
    """Stores texts in a list, each when it may."""

    def __init__(self) -> None:
        self.began, self.goes_on = threading.Semaphore(0), threading.Event()
        self.texts: list[tuple[str, str]] = []
        self.at_once: set[str] = set()

    def __call__(self, namespace: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        assert namespace not in self.at_once, "two documents of a namespace at a time"
        self.at_once.add(namespace)
        self.began.release()
        assert self.goes_on.wait(SOON_S)
        self.texts.append((namespace, arguments["text"]))
        self.at_once.remove(namespace)
        return {"error": {"title": "None", "status": 422, "detail": arguments["text"]}}


def wait_for(queue: JobQueue, namespace: str, job_id: str) -> str:
    end = time.monotonic() + SOON_S
    while (job := queue.find(namespace, job_id)).state != "failed":
        assert time.monotonic() < end, job
        time.sleep(0.01)
    assert job.error
    return job.error.detail


def test_queues_of_one_folder_store_in_the_order_of_acceptance(tmp_path: Path) -> None:
    stored = Stored()
    with closing(JobQueue(tmp_path)) as one, closing(JobQueue(tmp_path)) as other:
        accepted = [(one, other)[number % 2].accept("ann", {"text": str(number)}) for number in range(12)]
        accepted_of_tom = other.accept("tom", {"text": "Tom's"})
        for queue in (one, other):
            queue.start(stored)
        assert stored.began.acquire(timeout=SOON_S)
        assert stored.began.acquire(timeout=SOON_S)  # tom's does not wait for ann's
        assert one.find("ann", accepted[0].id).state == "storing"
        assert one.find("ann", accepted[1].id).state == "queued"
        stored.goes_on.set()
        assert [wait_for(one, "ann", job.id) for job in accepted] == [str(number) for number in range(12)]
        assert wait_for(one, "tom", accepted_of_tom.id) == "Tom's"
    assert [text for namespace, text in stored.texts if namespace == "ann"] == [str(number) for number in range(12)]


def test_what_a_server_left_is_stored_by_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "_PATIENCE_S", 0.2)
    stuck, stored = Stored(), Stored()
    former = JobQueue(tmp_path)
    former.start(stuck)
    accepted = [former.accept("ann", {"text": str(number)}) for number in range(2)]
    assert stuck.began.acquire(timeout=SOON_S)
    former.close()
    assert [former.find("ann", job.id).state for job in accepted] == ["storing", "queued"]
    stuck.goes_on.set()
    with closing(JobQueue(tmp_path)) as queue:
        stored.goes_on.set()
        queue.start(stored)
        assert [wait_for(queue, "ann", job.id) for job in accepted] == ["0", "1"]
    assert [text for _, text in stored.texts] == ["0", "1"]


def test_what_waits_is_for_its_user_alone_and_goes_when_it_has_ended(tmp_path: Path) -> None:
    stored = Stored()
    stored.goes_on.set()
    with closing(JobQueue(tmp_path / "jobs")) as queue:
        job = queue.accept("ann", {"text": "a word that nobody else says"})
        (path,) = tmp_path.rglob("*.queued")
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert "ann" not in str(path.relative_to(tmp_path))
        (path.parent / "0.part").write_text("half of a word that nobody else says")
        queue.start(lambda *_: {"error": {"title": "None", "status": 422, "detail": "no"}})
        wait_for(queue, "ann", job.id)
    assert "nobody else says" not in "".join(p.read_text() for p in tmp_path.rglob("*.ended"))
    assert not [*tmp_path.rglob("*.queued"), *tmp_path.rglob("*.storing")]


def test_outcomes_go_after_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = Stored()
    stored.goes_on.set()
    with closing(JobQueue(tmp_path)) as queue:
        queue.start(stored)
        job = queue.accept("ann", {"text": "old"})
        wait_for(queue, "ann", job.id)
    monkeypatch.setattr(jobs_module, "_KEPT_S", 0)
    with closing(JobQueue(tmp_path)) as queue:
        queue.start(stored)
        with pytest.raises(JobNotFound):
            queue.find("ann", job.id)


def test_file_that_cannot_be_read_fails_alone(tmp_path: Path) -> None:
    stored = Stored()
    stored.goes_on.set()
    with closing(JobQueue(tmp_path)) as queue:
        broken, whole = (queue.accept("ann", {"text": text}) for text in ("broken", "whole"))
        next(tmp_path.rglob(f"{broken.id}.queued")).write_text('{"namespace"')
        queue.start(stored)
        assert wait_for(queue, "ann", broken.id).endswith("Send it again.")
        assert wait_for(queue, "ann", whole.id) == "whole"


def test_disk_that_fails_once_ends_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_module, "_RETRY_S", 0.02)
    stored, write, calls = Stored(), jobs_module.write_private, []
    stored.goes_on.set()

    def fail_once(path: Path, form: Mapping[str, Any]) -> None:
        calls.append(path.suffix)
        if calls.count(".ended") == 1 and path.suffix == ".ended":
            raise OSError(28, "No space left on device")
        write(path, form)

    monkeypatch.setattr(jobs_module, "write_private", fail_once)
    with closing(JobQueue(tmp_path)) as queue:
        queue.start(stored)
        assert wait_for(queue, "ann", queue.accept("ann", {"text": "note"}).id) == "note"
    assert len(stored.texts) == 2


def test_bound_of_all_counts_every_namespace(tmp_path: Path) -> None:
    queue = JobQueue(tmp_path, most_waiting=2, most_in_all=3)
    for namespace in ("ann", "ann", "tom"):
        queue.accept(namespace, {"text": "note"})
    for namespace, most in (("ann", "2 documents of one caller"), ("eve", "3 documents that wait")):
        with pytest.raises(TooManyCalls, match=most):
            queue.accept(namespace, {"text": "note"})
