"""Events of clients: what a hook answers and stores, and that it never breaks its client."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import BytesIO, TextIOWrapper
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_agents import Agent, in_loop, namespaces_in, run_app
from memories import options

from memgraph_rag import Memory
from memgraph_rag.agents import hook, hook_service
from memgraph_rag.agents.hook_service import USER, HookService
from memgraph_rag.agents.projects import PERSON
from memgraph_rag.cli import agent
from memgraph_rag.errors import StoreLocked
from memgraph_rag.private_files import try_lock, write_private
from memgraph_rag.server import transports
from memgraph_rag.server.hooks import OwnerTokens, hook_app
from memgraph_rag.server.memories import Memories

EVENT = {"session_id": "1234567890abcdef", "source": "startup"}


@contextmanager
def running(folder: Path) -> Iterator[None]:
    """Hold the lock of a running server."""
    folder.mkdir(exist_ok=True)
    with (folder / hook.LOCK).open("w") as file:
        assert try_lock(file.fileno())
        yield


def write_address(folder: Path, port: int, *, secret: str = "secret") -> None:
    write_private(folder / "server.json", json.dumps({"port": port, "secret": secret, "pid": 0}).encode())


@pytest.fixture
def memories(tmp_path: Path) -> Iterator[Memories]:
    opened = Memories(namespaces_in(tmp_path / "agents.lbug", **options(layers=(), redact="mask")))
    yield opened
    opened.close()


@pytest.fixture
def service(memories: Memories, tmp_path: Path) -> HookService:
    return HookService(memories, tmp_path / "server")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    return folder


def write_log(path: Path, *said: tuple[str, str]) -> Path:
    records = [
        {
            "type": role,
            "uuid": f"{number}",
            "message": {"role": role, "content": words},
            "timestamp": "2026-11-27T08:00",
        }
        for number, (role, words) in enumerate(said)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def context(answer: str) -> str:
    return json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""


def test_next_brief_holds_a_stored_session_once(service: HookService, memories: Memories, shop: Path) -> None:
    log = write_log(shop / "log.jsonl", ("user", "Let's use SQLite."), ("assistant", "SQLite it is."))
    ended = {**EVENT, "cwd": str(shop), "transcript_path": str(log)}
    for event in ("Stop", "PreCompact", "SessionEnd"):
        assert service.answer("claude-code", event, ended) == ""
    service.wait()
    (page,) = memories.get(f"project:{shop}").documents(user=USER)
    assert page.key == "session/me/claude-code-1234567890abc/0"
    assert len(json.loads(page.metadata["turns"])) == 2
    text = context(service.answer("claude-code", "SessionStart", {"session_id": "next", "cwd": str(shop)}))
    assert "Let's use SQLite." in text
    assert "the project shop" in text


@pytest.mark.parametrize("is_new_server", [False, True])
def test_forgotten_turns_stay_forgotten_while_their_session_goes_on(
    service: HookService, memories: Memories, shop: Path, tmp_path: Path, *, is_new_server: bool
) -> None:
    said = [("user", "My password is in the drawer."), ("assistant", "I see."), ("user", "We sell fish.")]
    event = {**EVENT, "cwd": str(shop), "transcript_path": str(shop / "log.jsonl")}
    write_log(shop / "log.jsonl", *said[:2])
    service.answer("claude-code", "Stop", event)
    service.wait()
    memories.get(f"project:{shop}").forget(user=USER)
    later = HookService(memories, tmp_path / "server") if is_new_server else service
    write_log(shop / "log.jsonl", *said)
    for _ in range(2):
        later.answer("claude-code", "Stop", event)
    later.wait()
    (page,) = memories.get(f"project:{shop}").documents(user=USER)
    text = memories.get(f"project:{shop}").get(page.key).text
    assert ("fish" in text, "drawer" in text) == (True, False)


def test_projects_share_the_memory_of_the_person_only(
    service: HookService, memories: Memories, shop: Path, tmp_path: Path
) -> None:
    other = tmp_path / "bank"
    (other / ".git").mkdir(parents=True)
    memories.get(PERSON).session(user=USER).add([{"role": "user", "content": "My name is Ann."}])
    memories.get(f"project:{shop}").session(user=USER).add([{"role": "user", "content": "We decided to sell fish."}])
    texts = [context(service.answer("codex", "SessionStart", {**EVENT, "cwd": str(each)})) for each in (shop, other)]
    assert [("Ann" in text, "fish" in text) for text in texts] == [(True, True), (True, False)]


def test_prompt_gets_passages_once_in_a_session(service: HookService, memories: Memories, shop: Path) -> None:
    memories.get(f"project:{shop}").session(user=USER, session="old").add(
        [{"role": "user", "content": "The database of the shop is SQLite."}]
    )
    asked = {**EVENT, "cwd": str(shop), "prompt": "Which database has the shop?"}
    first, second = (service.answer("claude-code", "UserPromptSubmit", asked) for _ in range(2))
    assert "SQLite" in context(first)
    assert "[session/me/old/0 0-" in context(first)
    assert second == ""
    service.answer("claude-code", "SessionStart", {**asked, "source": "compact"})
    assert "SQLite" in context(service.answer("claude-code", "UserPromptSubmit", asked))


def test_passage_that_does_not_fit_is_given_later(
    service: HookService, memories: Memories, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = ("The database of the shop is SQLite.", "The database of the shop is in the cellar.")
    memories.get(f"project:{shop}").session(user=USER, session="old").add(
        [{"role": "user", "content": sentence} for sentence in sentences]
    )
    asked = {**EVENT, "cwd": str(shop), "prompt": "Which database has the shop?"}
    monkeypatch.setattr(hook_service, "_PROMPT_TOKENS", 18)
    given = [context(service.answer("claude-code", "UserPromptSubmit", asked)) for _ in sentences]
    assert [[sentence in text for text in given].count(True) for sentence in sentences] == [1, 1]
    assert [sum(sentence in text for sentence in sentences) for text in given] == [1, 1]


def test_prompt_gets_no_passage_of_its_session(service: HookService, shop: Path) -> None:
    log = write_log(shop / "log.jsonl", ("user", "The database of the shop is SQLite."))
    own = {**EVENT, "cwd": str(shop), "transcript_path": str(log), "prompt": "Which database has the shop?"}
    service.answer("claude-code", "Stop", own)
    service.wait()
    assert service.answer("claude-code", "UserPromptSubmit", own) == ""


def test_ignored_project_is_neither_stored_nor_briefed(service: HookService, memories: Memories, shop: Path) -> None:
    (shop / ".memgraphragignore").write_text("*\n")
    log = write_log(shop / "log.jsonl", ("user", "Let's use SQLite."))
    for event in ("Stop", "SessionStart", "UserPromptSubmit"):
        given = {**EVENT, "cwd": str(shop), "transcript_path": str(log), "prompt": "SQLite?"}
        assert service.answer("claude-code", event, given) == ""
    service.wait()
    assert memories.list_open() == ()


def test_secret_in_a_turn_is_stored_masked(service: HookService, memories: Memories, shop: Path) -> None:
    key = "ghp_" + "a1B2" * 9
    log = write_log(shop / "log.jsonl", ("user", f"Use {key} for the release."))
    service.answer("claude-code", "Stop", {**EVENT, "cwd": str(shop), "transcript_path": str(log)})
    service.wait()
    stored = memories.get(f"project:{shop}").get("session/me/claude-code-1234567890abc/0").text
    assert f"Use {'*' * len(key)} for the release." in stored


def test_memory_stays_open_while_a_hook_uses_it(
    service: HookService, memories: Memories, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uses, get = [], memories.get
    monkeypatch.setattr(memories, "get", lambda name: (uses.append(memories._uses[name]), get(name))[1])
    log = write_log(shop / "log.jsonl", ("user", "Let's use SQLite."))
    for event in ("Stop", "SessionStart", "UserPromptSubmit"):
        service.answer("claude-code", event, {**EVENT, "cwd": str(shop), "transcript_path": str(log), "prompt": "Hi?"})
    service.wait()
    assert uses == [1] * 5


def test_next_server_stores_turns_of_a_killed_server(memories: Memories, shop: Path, tmp_path: Path) -> None:
    stopped = HookService(memories, tmp_path / "server")
    stopped.wait()
    stopped._calls = Queue()  # nobody looks into the folder any more
    log = write_log(shop / "log.jsonl", ("user", "Let's use SQLite."))
    stopped.answer("claude-code", "Stop", {**EVENT, "cwd": str(shop), "transcript_path": str(log)})
    assert memories.list_open() == ()
    HookService(memories, tmp_path / "server").wait()
    (page,) = memories.get(f"project:{shop}").documents(user=USER)
    assert (len(json.loads(page.metadata["turns"])), [*(tmp_path / "server" / "pending").iterdir()]) == (1, [])


def test_damaged_event_keeps_back_no_other(memories: Memories, shop: Path, tmp_path: Path) -> None:
    pending = tmp_path / "server" / "pending"
    pending.mkdir(parents=True)
    (pending / "0.json").write_text("[]")
    service = HookService(memories, tmp_path / "server")
    log = write_log(shop / "log.jsonl", ("user", "Let's use SQLite."))
    service.answer("claude-code", "Stop", {**EVENT, "cwd": str(shop), "transcript_path": str(log)})
    service.wait(60)
    assert len(memories.get(f"project:{shop}").documents(user=USER)) == 1
    assert [*pending.iterdir()] == []


def test_locked_store_keeps_the_event(
    service: HookService, memories: Memories, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str) -> Memory:
        raise StoreLocked("Expected the file, got a lock. Try again.")

    log = write_log(shop / "log.jsonl", ("user", "Let's use SQLite."))
    with monkeypatch.context() as patch:
        patch.setattr(memories, "get", fail)
        service.answer("claude-code", "Stop", {**EVENT, "cwd": str(shop), "transcript_path": str(log)})
        service.wait()
    assert "SQLite" in context(
        service.answer("claude-code", "SessionStart", {**EVENT, "session_id": "2", "cwd": str(shop)})
    )


def test_memory_that_the_end_of_the_server_closed_keeps_the_event(
    service: HookService, memories: Memories, shop: Path, tmp_path: Path
) -> None:
    said = {"conversation_id": "c1", "workspace_roots": [str(shop)], "prompt": "We decided to sell fish."}
    memories.get(f"project:{shop}").close()
    service.answer("cursor", "beforeSubmitPrompt", said)
    service.wait()
    assert len([*(tmp_path / "server" / "pending").iterdir()]) == 1


def test_events_of_cursor_store_turns(service: HookService, memories: Memories, shop: Path) -> None:
    common = {"conversation_id": "c1", "workspace_roots": [str(shop)], "generation_id": "g1"}
    service.answer("cursor", "beforeSubmitPrompt", {**common, "prompt": "We decided to sell fish."})
    service.answer("cursor", "afterAgentResponse", {**common, "text": "Fish it is."})
    service.wait()
    assert "Fish it is." in memories.get(f"project:{shop}").get("session/me/cursor-c1/0").text
    answer = service.answer("cursor", "sessionStart", {**common, "conversation_id": "c2"})
    assert "sell fish" in json.loads(answer)["additional_context"]


# ── the command ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def served(memories: Memories, service: HookService, tmp_path: Path) -> Iterator[Path]:
    """The folder of a running server."""
    folder = tmp_path / "server"
    app = hook_app(memories, OwnerTokens("secret", PERSON), service.answer, finish=service.wait)
    with run_app(app) as address, running(folder):
        write_address(folder, int(address.rpartition(":")[2]))
        yield folder


def run_hook(folder: Path, event: str, given: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", hook.__file__, str(folder), "claude-code", event]
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=False)


def test_command_prints_the_answer_of_the_server(served: Path, memories: Memories, shop: Path) -> None:
    memories.get(f"project:{shop}").session(user=USER).add([{"role": "user", "content": "We decided to sell fish."}])
    done = run_hook(served, "SessionStart", json.dumps({**EVENT, "cwd": str(shop)}))
    assert (done.returncode, done.stderr) == (0, "")
    assert "sell fish" in context(done.stdout)


def test_error_of_the_server_is_a_line_in_the_log(served: Path) -> None:
    done = run_hook(served, "SessionStart", "{no json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    log = served / "hooks.log"
    assert "claude-code SessionStart: ValueError: Expected an answer, got b'HTTP/1.1 500" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


def test_wrong_secret_is_refused(served: Path) -> None:
    form = json.loads((served / "server.json").read_text())
    write_address(served, form["port"], secret="other")
    assert run_hook(served, "Stop", "{}").stdout == ""
    assert len([*(served / "pending").iterdir()]) == 1
    assert "401" in (served / "hooks.log").read_text()


def test_storing_event_without_a_server_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    monkeypatch.setattr(hook, "start_server", started.append)
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO()))
    for event in ("Stop", "UserPromptSubmit"):
        hook.main([str(tmp_path), "claude-code", event])
    (kept,) = (tmp_path / "pending").iterdir()
    assert json.loads(kept.read_text()) == {"client": "claude-code", "event": "Stop", "input": {}}
    assert kept.stat().st_mode & 0o777 == 0o600
    assert started == [str(tmp_path)] * 2


def test_storing_event_of_a_busy_server_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO()))
    monkeypatch.setattr(hook, "_ANSWER_S", 0.1)
    with closing(transports._listen(0)) as silent, running(tmp_path):
        silent.listen()
        write_address(tmp_path, silent.getsockname()[1])
        hook.main([str(tmp_path), "claude-code", "Stop"])
    assert len([*(tmp_path / "pending").iterdir()]) == 1
    assert "TimeoutError" in (tmp_path / "hooks.log").read_text()


@pytest.mark.parametrize("reply", [b"", b"HTTP/1.1 404 Not Found\r\n\r\n"])
def test_storing_event_that_a_server_refuses_is_kept(reply: bytes, tmp_path: Path) -> None:
    def answer() -> None:
        connection, _ = listening.accept()
        with closing(connection):
            connection.recv(65536)
            connection.sendall(reply)

    with closing(transports._listen(0)) as listening, running(tmp_path):
        threading.Thread(target=answer, daemon=True).start()
        write_address(tmp_path, listening.getsockname()[1])
        run_hook(tmp_path, "Stop", "{}")
    assert len([*(tmp_path / "pending").iterdir()]) == 1
    assert "ValueError: Expected an answer" in (tmp_path / "hooks.log").read_text()


def test_other_program_at_the_port_of_a_killed_server_gets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr(hook, "start_server", started.append)
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(b'{"prompt": "Which database?"}')))
    with closing(transports._listen(0)) as listening:
        listening.setblocking(False)
        write_address(tmp_path, listening.getsockname()[1])
        (tmp_path / hook.LOCK).touch()
        hook.main([str(tmp_path), "claude-code", "UserPromptSubmit"])
        with pytest.raises(BlockingIOError):
            listening.accept()
    assert started == [str(tmp_path)]


def test_hook_by_hand_is_silent_without_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    agent.hook("SessionStart", folder=Path(os.devnull))
    assert capsys.readouterr() == ("", "")


def test_event_waits_for_no_broken_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    program = [sys.executable, "-c", "raise SystemExit('the store is broken')"]
    monkeypatch.setattr(hook, "start_server", lambda _: subprocess.Popen(program, stderr=subprocess.DEVNULL))
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO()))
    monkeypatch.setattr(hook, "_START_S", 600.0)
    hook.main([str(tmp_path), "claude-code", "SessionStart"])
    assert capsys.readouterr() == ("", "")
    assert (
        "SessionStart: ChildProcessError: the server did not start: read server.log"
        in (tmp_path / "hooks.log").read_text()
    )


def test_killed_server_and_a_full_disk_leave_the_client_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    def fail(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with closing(transports._listen(0)) as unused:
        write_address(tmp_path, unused.getsockname()[1])
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO()))
    monkeypatch.setattr(os, "open", fail)
    hook.main([str(tmp_path), "claude-code", "Stop"])
    assert capsys.readouterr() == ("", "")
    assert not (tmp_path / "hooks.log").exists()


def test_event_that_cannot_be_kept_leaves_no_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        hook.keep_event(str(tmp_path), "cursor", "beforeSubmitPrompt", {"prompt": "My secret is fish."})
    assert [*(tmp_path / "pending").iterdir()] == []


def test_broken_store_is_a_line_in_the_log(served: Path, tmp_path: Path, shop: Path) -> None:
    (tmp_path / "agents.lbug").write_bytes(b"no database" * 1000)
    log = write_log(shop / "log.jsonl", ("user", "Let's use SQLite."))
    for event in ("Stop", "SessionStart", "UserPromptSubmit"):
        given = {**EVENT, "cwd": str(shop), "transcript_path": str(log), "prompt": "Which database?"}
        done = run_hook(served, event, json.dumps(given))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (served / "hooks.log").read_text().count("HTTP/1.1 500") == 2


def test_hook_imports_nothing_of_the_package() -> None:
    text = Path(hook.__file__).read_text("utf-8")
    program = f"{text.partition('if __name__')[0]}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded.isdisjoint(
        {"memgraph_rag", "typer", "http", "subprocess", "asyncio", "json", "socket", "enum", "re", "typing"}
    )


@in_loop
async def test_bridge_reaches_the_memory_of_its_project(served: Path, memories: Memories, shop: Path) -> None:
    namespace = f"project:{shop}"
    memories.get(namespace).add("The shop sells fish.", key="shop")
    port, secret = hook.read_address(str(served))
    url, token = f"http://127.0.0.1:{port}/mcp", f"{secret}.{namespace.encode().hex()}"
    program = f"from memgraph_rag.server.bridge import bridge; bridge({url!r}, {token!r})"
    parameters = StdioServerParameters(command=sys.executable, args=["-c", program], env={**os.environ})
    async with Client(stdio_client(parameters)) as client:
        tools = (await client.list_tools()).tools
        listed: dict[str, Any] = await Agent(client)("list_documents")
    assert len(tools) == 7
    assert [document["key"] for document in listed["documents"]] == ["shop"]
