"""Whatever is given to a command: an answer, one line of ours, or the usage; never a traceback."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest
from click.testing import Result
from memories import fakes
from typer.models import ArgumentInfo
from typer.testing import CliRunner

from memgraph_rag.cli.app import COMMANDS as LISTED
from memgraph_rag.cli.app import app
from memgraph_rag.memory import Memory

NUMBERS = ("-1", "0", "9223372036854775808", "1" * 5000, "nan", "inf", "1e400", "")
TEXTS = ("", " ", "\x1b]0;x\x07\n\r\x9b31m", "\udcff", "x" * 5000, "~nobody-here/x", "/dev/full")
PLACES = ("", ".", "/", "/etc/passwd/x", "/dev/full", "~nobody-here/x", "x" * 300, "new\n\x1b[2Jline", "\udcff")
ADDRESSES = ("neo4j://[::1", "bolt://localhost:abc", "bolt://", "bolt://localhost:0", "neo4j://a\x1b[2Jb", "bolt+x://a")

COMMANDS = {
    name: getattr(import_module(f"memgraph_rag.cli.{command.module}"), command.function)
    for name, command in LISTED.items()
    if name not in ("mcp", "neo4j", "agent", "hook")
}
LEFT_OUT = ("demo", "doctor", "neo4j", "calibrate", "serve", "ui")  # which load models, or start a server

GIVEN = {
    "add": ["fox.txt"],
    "ask": ["Who?"],
    "search": ["fox"],
    "show": ["fox"],
    "forget": ["nobody"],
    "export": ["all.jsonl"],
    "import": ["all.jsonl"],
    "evaluate": ["--data", "data"],
}
"""What a command needs beside the option that is tried."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small memory, in which the commands run."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "fox.txt").write_text("Ann found a red fox.")
    (folder / "data").mkdir()
    (folder / "data" / "docs.jsonl").write_text('{"doc_id": "fox", "text": "Ann found a red fox."}')
    question = '{"question": "Who found a fox?", "answers": "Ann", "evidence_doc_ids": ["fox"]}'
    (folder / "data" / "questions.jsonl").write_text(question)
    with Memory(folder / "notes.lbug", **fakes(), layers=("entities",)) as memory:
        memory.add(folder / "fox.txt", key="fox")
    return folder


def tries() -> Iterator[tuple[str, str, list[str], tuple[str, ...]]]:
    """Each option and argument of each command that is no flag, with what stands before it and what may break it."""
    for command, run in COMMANDS.items():
        for name, parameter in inspect.signature(run, eval_str=True).parameters.items():
            if command in LEFT_OUT or name == "place":
                continue
            kind, info = get_args(parameter.annotation)
            if kind is bool:
                continue
            values = NUMBERS if {int, float} & {kind, *get_args(kind)} else PLACES if "Path" in str(kind) else TEXTS
            if isinstance(info, ArgumentInfo):
                yield command, name, [command, "--"], values
            else:
                option = next(
                    (declaration for declaration in info.param_decls or () if declaration.startswith("--")), f"--{name}"
                )
                yield command, name, [command, *GIVEN.get(command, []), option.replace("_", "-")], values
    yield "documents", "store", ["documents", "--store"], (*PLACES, *ADDRESSES)
    yield "documents", "namespace", ["documents", "--namespace"], TEXTS


TRIES = list(tries())


def test_every_command_is_tried() -> None:
    assert {command for command, *_ in TRIES} >= {"add", "ask", "search", "show", "export", "import", "evaluate"}
    assert len(TRIES) > 25


@pytest.mark.parametrize("command", sorted({command for command, *_ in TRIES}))
def test_hostile_value_gives_one_line(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(
        "memgraph_rag.Memory", lambda store, **options: Memory(store, **{**options, **fakes(), "layers": ("entities",)})
    )
    monkeypatch.setenv("MEMGRAPH_RAG_STORE", str(folder / "notes.lbug"))
    monkeypatch.setenv("MEMGRAPH_RAG_CACHE_DIR", str(folder / "cache"))
    tries = [(name, begin, values) for tried, name, begin, values in TRIES if tried == command]
    with Memory(folder / "notes.lbug", **fakes(), layers=("entities",)):  # an open file is not opened by each command
        wrong = [
            f"{name}, {value!r:.100}: {fault}"
            for name, begin, values in tries
            for value in values
            if (fault := fault_of(command, CliRunner().invoke(app, [*begin, value], input="")))
        ]
    assert not wrong, "\n".join(wrong)


def fault_of(command: str, result: Result) -> str:
    """Return what is wrong with the answer of a command; nothing of a right one."""
    if result.exit_code not in (0, 1, 2) or not (result.exception is None or isinstance(result.exception, SystemExit)):
        return f"status {result.exit_code}, {result.exception!r:.300}"
    shown = result.stderr
    if set("\x1b\x07\x9b\r") & set(shown):
        return f"control characters in {shown!a:.300}"
    if result.exit_code == 1 and command != "add":
        if shown.count("\n") != 1:
            return f"several lines: {shown!a:.300}"
        if not shown.partition(":")[0].endswith(("Error", "NotFound", "Mismatch", "Unavailable", "Denied")):
            return f"no error of ours: {shown!a:.300}"
    return ""


PROCESS = """
import memgraph_rag
from memgraph_rag.cli import main
from memgraph_rag.testing import FakeEmbedder, FakeLanguageModel, FakeRecognizer
fakes = {"model": FakeLanguageModel(), "embedder": FakeEmbedder(), "recognizer": FakeRecognizer()}
opened = memgraph_rag.Memory
memgraph_rag.Memory = lambda store, **options: opened(store, **{**options, **fakes})
main()
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("documents", "--store", "notes.lbug")])
def test_full_output_gives_one_line(folder: Path, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", PROCESS, *arguments],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=folder,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("OSError: Expected")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of addresses is Linux's")
def test_limit_on_addresses_is_reported_in_our_words(folder: Path) -> None:
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**35, 2**35))\n"
        "from memgraph_rag.errors import StoreError\n"
        "from memgraph_rag.stores import open_store\n"
        "try: open_store('limited.lbug', namespace='n')\n"
        "except StoreError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=folder, check=True)
    assert "ulimit -v" in done.stdout
