"""Every argument of every public method with values that nobody means: short errors of ours, and nothing changes."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from memories import FOX, options

from memgraph_rag import Document, Failure, MemgraphRagError, Memory, Message, Session, Settings
from memgraph_rag.maintenance.maintenance import Maintenance
from memgraph_rag.settings import GROUPS, NAMES
from memgraph_rag.text.loading import load
from memgraph_rag.types import ScopeFields

pytestmark = pytest.mark.slow

LONGEST_MESSAGE = 2_000


class Unspeakable:
    """An object that cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


class Loud:
    """An object that is shown by what drives a terminal, at length."""

    def __repr__(self) -> str:
        return "\x1b[31m\ud800\n" * 100_000


ODD: list[Any] = [
    *("", " ", "\0", "a\0", "\ud800", "\u202eabc", "x" * 100_000, "x" * 300, "e\u0301", "\ufeffa", "a\nb", "\x1b[31m"),
    *("~", "~no_such_user/x", "/dev/zero", "/dev/null", "/proc/self/mem", "/proc/nowhere/x", "\\\\host\\x", "😀" * 300),
    *(
        Path("\0"),
        Path("/dev/zero"),
        Path("/proc/nowhere"),
        Path("/proc/self/mem"),
        Path("~no_such_user/x"),
        Path("x" * 1_000),
    ),
    *(b"x", bytearray(b"x"), 5, 0, -1, None, True, 1.5, float("nan"), float("inf"), 10**5_000, -(10**5_000)),
    *([], ["a"], [["a"]], [None], ("a",), {"a": 1}, {"a": {}}, {5: 5}, set(), object(), lambda: 1, Unspeakable()),
    *(Loud(), [10**5_000], {"a": Unspeakable()}, Document("x", 10**5_000), Message("a", 10**5_000)),  # type: ignore[arg-type]
    *(date.min, date.max, datetime.min, datetime.max, "9999-12-31", "0001-01-01T00:00:00+14:00"),
    *("9999-12-31T23:59:59.999999-14:00", "9999-12-31T23:59:59.999999+14:00"),
]

VALID: dict[str, dict[str, Any]] = {
    "add": {"source": "Tom ran.", "key": "new"},
    "add_many": {"sources": []},
    "session": {"user": "ann"},
    "ask": {"question": "Who found the fox?"},
    "stream": {"question": "Who found the fox?"},
    "search": {"query": "fox"},
    "brief": {},
    "tools": {},
    "get": {"name": "fox"},
    "map": {},
    "documents": {},
    "around": {"name": "fox"},
    "questions": {},
    "forget": {},
    "deepen": {"documents": []},
}
"""What else each method is given."""

VALID_OF_MAINTENANCE: dict[str, dict[str, Any]] = {
    "remove_layer": {"layer": "context", "documents": []},
    "export_to": {"path": "archive.jsonl"},
    "export_files": {"path": "documents.jsonl", "form": "jsonl"},
    "import_from": {"path": "archive.jsonl"},
    "write_bulk_files": {"path": "archive.jsonl", "folder": "files"},
}

NO_VALUES = {"reembed": {"embedder"}, "add_many": {"ray"}, "load": {"read_file"}, "Memory": {"progress"}}
"""Functions of the user's own; and what would load a model or start a cluster."""


def arguments_of(function: Callable[..., object]) -> list[str]:
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return [name for name, each in inspect.signature(function).parameters.items() if each.kind not in kinds]


def methods_of(owner: type) -> dict[str, Callable[..., object]]:
    members = {name: getattr(owner, name) for name in dir(owner) if not name.startswith("_")}
    return {name: member for name, member in members.items() if inspect.isfunction(member)}


def places(owner: type) -> list[tuple[str, str]]:
    """(method, argument) of each that a caller gives."""
    return [
        (name, argument)
        for name, method in methods_of(owner).items()
        for argument in arguments_of(method)[1:]
        if argument not in NO_VALUES.get(name, ())
    ]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """One for all values, in a folder where what they name as files may be made."""
    folder = tmp_path_factory.mktemp("odd")
    with pytest.MonkeyPatch.context() as patch, Memory(folder / "notes.lbug", **options()) as memory:
        patch.chdir(folder)
        memory.add(FOX, key="fox")
        memory.maintenance.export_to("archive.jsonl")
        yield memory


async def taken(items: AsyncIterator[object]) -> list[object]:
    return [item async for item in items]


def outcome_of(call: Callable[[], object]) -> list[object]:
    """What came of a call, an iterator's items too."""
    result = call()
    if inspect.iscoroutine(result):
        result = asyncio.run(result)
    elif isinstance(result, AsyncIterator):
        return asyncio.run(taken(result))
    return list(result) if isinstance(result, Iterator) else [result]


def fault_of(error: MemgraphRagError) -> str:
    """What is wrong with a message; nothing with a good one."""
    text = str(error)
    if len(text) > LONGEST_MESSAGE:
        return f"{len(text):,} characters"
    return "" if text.isprintable() else f"not to be printed: {text!a:.200}"


def faults_of(call: Callable[[Any], object]) -> Iterator[str]:
    """What is wrong with the answers to the odd values."""
    for place, value in enumerate(ODD):
        faults = []
        try:
            outcomes = outcome_of(lambda value=value: call(value))
            faults = [fault_of(outcome.error) for outcome in outcomes if isinstance(outcome, Failure)]
        except MemgraphRagError as error:
            faults = [fault_of(error)]
        except Exception as error:  # noqa: BLE001 - this is what is looked for
            faults = [f"{type(error).__name__}: {error!s:.100}"]
        yield from (f"value {place} ({type(value).__name__}): {fault}" for fault in faults if fault)


@pytest.mark.parametrize(("method", "argument"), places(Memory))
@pytest.mark.filterwarnings("ignore::memgraph_rag.errors.MemgraphRagWarning")
def test_odd_argument_of_memory_ends_in_short_error(memory: Memory, method: str, argument: str) -> None:
    assert list(faults_of(lambda value: getattr(memory, method)(**{**VALID[method], argument: value}))) == []
    assert memory.documents(documents=["fox"])
    assert memory.maintenance.examine() == []


@pytest.mark.parametrize(("method", "argument"), places(Maintenance))
def test_odd_argument_of_maintenance_ends_in_short_error(memory: Memory, method: str, argument: str) -> None:
    valid = VALID_OF_MAINTENANCE[method]
    assert list(faults_of(lambda value: getattr(memory.maintenance, method)(**{**valid, argument: value}))) == []
    assert memory.documents(documents=["fox"])
    assert memory.maintenance.examine() == []


@pytest.mark.parametrize("field", ScopeFields.__annotations__)
@pytest.mark.parametrize("reader", ["search", "wishes", "documents", "export_to", "forget"])
def test_odd_scope_ends_in_short_error(memory: Memory, field: str, reader: str) -> None:
    arguments = {"search": ["fox"], "wishes": ["fox"], "export_to": ["archive.jsonl"], "forget": ["none"]}
    assert (
        list(faults_of(lambda value: getattr(memory.scoped(**{field: value}), reader)(*arguments.get(reader, []))))
        == []
    )
    assert memory.documents(documents=["fox"])


@pytest.mark.parametrize(("method", "argument"), places(Session))
def test_odd_argument_of_session_ends_in_short_error(memory: Memory, method: str, argument: str) -> None:
    valid = {"add": {}, "recall": {"query": "fox"}, "ask": {"question": "Who found the fox?"}}[method]
    session = memory.session(user="ann")
    assert list(faults_of(lambda value: getattr(session, method)(**{**valid, argument: value}))) == []
    assert memory.maintenance.examine() == []


@pytest.mark.parametrize("field", ["role", "content", "time", "id"])
def test_odd_field_of_turn_ends_in_short_error(memory: Memory, field: str) -> None:
    session, turn = memory.session(user="ann"), {"role": "Ann", "content": "I ran."}
    assert list(faults_of(lambda value: session.add([{**turn, field: value}]))) == []
    assert list(faults_of(lambda value: memory.add([{**turn, field: value}], key="turn"))) == []
    assert memory.maintenance.examine() == []


@pytest.mark.filterwarnings("ignore::memgraph_rag.errors.MemgraphRagWarning")
@pytest.mark.parametrize(
    "call",
    [
        lambda memory, value: memory.add("Tom ran.", key="new", metadata={"a": value}),
        lambda memory, value: memory.add("Tom ran.", key="new", metadata={"user": value}),
        lambda memory, value: memory.add(Document("Tom ran.", value)),
        lambda memory, value: memory.add(Document("Tom ran.", "new", source=value)),
        lambda memory, value: memory.add_many([value]),
        lambda memory, value: memory.documents(documents=[value]),
        lambda memory, value: memory.search("fox", where={"a": value}),
        lambda memory, value: memory.ask("Who?", documents=[value]),
        lambda memory, value: memory.deepen(layers=[value]),
        lambda memory, value: memory.tools([value]),
        lambda memory, value: [tool.to_text(value) for tool in memory.tools()],
        lambda memory, value: [tool.to_text({"query": value}) for tool in memory.tools()],
    ],
)
def test_odd_part_of_argument_ends_in_short_error(memory: Memory, call: Callable[[Memory, Any], object]) -> None:
    assert list(faults_of(lambda value: call(memory, value))) == []
    assert memory.maintenance.examine() == []


def test_refused_argument_leaves_documents_as_they_were(memory: Memory) -> None:
    before = memory.documents()
    for value in ODD:
        with pytest.raises(MemgraphRagError):
            memory.add("Tom ran.", key="refused", metadata={"a": value, "b": object()})  # type: ignore[dict-item]
    assert memory.documents() == before


@pytest.mark.filterwarnings("ignore::memgraph_rag.errors.MemgraphRagWarning")
@pytest.mark.parametrize("argument", [name for name in arguments_of(load) if name not in NO_VALUES["load"]])
def test_odd_argument_of_load_ends_in_short_error(argument: str) -> None:
    assert list(faults_of(lambda value: load(**{"source": "Tom ran.", argument: value}))) == []


@pytest.mark.parametrize("name", [*NAMES, *GROUPS, "no_setting", "neo4j.no_setting"])
def test_odd_setting_ends_in_short_error(name: str) -> None:
    group, _, field = name.partition(".")
    assert list(faults_of(lambda value: Settings.load(**{group: {field: value} if field else value}))) == []


@pytest.mark.parametrize(
    "argument",
    [
        *(name for name in arguments_of(Memory) if name not in NO_VALUES["Memory"]),
        *("cache_dir", "calibration", "neo4j", "endpoint"),
    ],
)
def test_odd_argument_of_new_memory_ends_in_short_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argument: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):  # of what is None, the default is there
        monkeypatch.setenv(variable, str(tmp_path))

    def opened(value: object) -> None:
        with Memory(**{"store": ":memory:", **options(), argument: value}) as memory:
            assert memory.documents() == []

    assert list(faults_of(opened)) == []


def test_every_public_method_is_tried() -> None:
    assert {method for method, _ in places(Memory)} == {*VALID}
    assert {method for method, _ in places(Maintenance)} == {*VALID_OF_MAINTENANCE}
