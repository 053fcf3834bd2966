"""Schema migrations of files that are interrupted: killed or failing, at each statement.

It takes the migrations that there are, and knows none by its number. A database of an old schema is made of a memory of
today: the old schema's tables get what they can hold of its rows.

The invariant that is tried: an interrupted migration leaves a database that opens again; the next opening finishes it,
and then schema and rows are those of an undisturbed migration, and the examination finds nothing.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fault_kills import PATIENCE_S, context
from fault_tally import Tally
from fault_world import Place, open_journaled
from memories import FOX, RIVER

from memgraph_rag.contracts import GraphStore
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.ingestion import list_known_layers
from memgraph_rag.stores import open_store
from memgraph_rag.stores.ladybug import file as ladybug_file
from memgraph_rag.stores.ladybug.file import Execute, LadybugFile, open_file
from memgraph_rag.stores.ladybug.store import LadybugStore
from memgraph_rag.stores.shared import queries
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, make_graph

Rows = dict[str, list[dict[str, Any]]]
"""What a database holds and of which schema it is, by table; the rows of each in one order."""

Found = tuple[str, Rows]
"""What the examination of a database says, and its rows."""

NAMESPACE = "n"

FIRST_WITH_DOCUMENTS = "SUMMARIZES"
"""The table that the oldest schema has last."""

TABLE_OF = {
    "points": "InformationPoint",
    "entities": "Entity",
    "relations": "RELATES_TO",
    "outline": "Section",
    "facts": "Annotation",
}
"""In which table a layer keeps what it builds."""

EMBEDDING_TABLES = ("RelationEmbedding", "RELATED_BY")
"""Tables of Ladybug that hold what edges held before."""


class Stopped(BaseException):
    """Ends a migration as Ctrl-C does."""


@dataclass(frozen=True)
class Interruption:
    """Where a migration ends: at a statement, before the engine gets it or after it has done it."""

    statement: int
    is_done: bool


def fill(place: Place) -> None:
    """A memory with rows of nearly every kind."""
    memory, _ = open_journaled(
        place, layers=[name for name in list_known_layers() if name not in ("clusters", "context")]
    )
    with memory:
        memory.add(f"{FOX}\n\nAnn works for Acme. Ann met Tom in Rome.", key="fox")
        memory.add(f"# Part\n\n{RIVER}\n\n## Two\n\nAnn met Bob. Bob left Rome.", key="river")
        memory.session(user="ann", session="one").add([{"role": "user", "content": "I like tea.", "id": "1"}])
        list(memory.deepen(layers=["library"]))
        memory.ask("Who built a wooden box?", keep_trace=True)
        assert not memory.maintenance.examine()


def migrate(store: GraphStore) -> None:
    """What an opening does."""
    store.migrate(embedder=EMBEDDER, dimension=DIMENSION)


def without(rows: Rows, random_columns: set[tuple[str, str]]) -> Rows:
    """The rows without what is another at each migration."""
    return {
        table: [{name: value for name, value in row.items() if (table, name) not in random_columns} for row in listed]
        for table, listed in rows.items()
    }


def differing(first: Rows, second: Rows) -> set[tuple[str, str]]:
    """The columns that are not the same after two undisturbed migrations: a step may draw a random value."""
    return {
        (table, name)
        for table, listed in first.items()
        for row, other in zip(listed, second[table], strict=True)
        for name, value in row.items()
        if value != other.get(name)
    }


@dataclass(frozen=True)
class Expected:
    """What an undisturbed migration makes of an old database."""

    flaws: str
    rows: Rows
    random_columns: set[tuple[str, str]]

    @classmethod
    def of(cls, first: Found, second: Found) -> Expected:
        """From two of them."""
        random_columns = differing(first[1], second[1])
        return cls(first[0], without(first[1], random_columns), random_columns)

    def difference(self, found: Found) -> str:
        """What is another in what was found; empty where nothing is."""
        flaws, rows = found[0], without(found[1], self.random_columns)
        tables = [name for name in {**self.rows, **rows} if self.rows.get(name) != rows.get(name)]
        return " ".join([*([flaws] if flaws != self.flaws else []), *sorted(tables)])


# ── Ladybug ──────────────────────────────────────────────────────────────────────────────────────────────────


def ladybug_rows(file: LadybugFile) -> Rows:
    """All rows of all tables, and the columns of these."""
    rows: Rows = {}
    for table in file.read("CALL show_tables() RETURN name, type", {}):
        name = table["name"]
        rows[f"columns of {name}"] = file.read(f"CALL table_info('{name}') RETURN name, type", {})
        if table["type"] == "NODE":
            rows[name] = [row["of"] for row in file.read(f"MATCH (n:{name}) RETURN n AS of", {})]
        else:
            rows[f"ends of {name}"] = file.read(f"CALL show_connection('{name}') RETURN *", {})
            text = f"MATCH (a)-[r:{name}]->(b) RETURN r AS of, a.id AS source, b.id AS target"
            rows[name] = [row["of"] | {"from": row["source"], "to": row["target"]} for row in file.read(text, {})]
    return {name: ordered(listed) for name, listed in rows.items()}


def ordered(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    kept = [{name: value for name, value in row.items() if name[0] != "_"} for row in rows]
    return sorted(kept, key=lambda row: json.dumps([row.get("id"), row], sort_keys=True, default=str))


def build(store: LadybugStore, execute: Execute, steps: Mapping[int, queries.Statement]) -> None:
    """Make an empty file as an older version made it: step by step."""
    for step in steps.values():
        execute(step.text.replace("$dimension", str(DIMENSION)), {})
    store._build(execute, 0, EMBEDDER, DIMENSION)


def old_file(source: Path, path: Path, version: int) -> None:
    """A file of that version of the schema, with what it can hold of a file of today."""
    steps = {number: step for number, step in queries.migrations("ladybug").items() if number <= version}
    old, new = open_file(str(source)), open_file(str(path))
    try:
        store = LadybugStore(new, namespace=NAMESPACE)
        with patch.object(queries, "migrations", lambda _: steps):
            new.transaction(lambda execute: build(store, execute, steps))
        with_embeddings = "embedding" in _columns(new, "RELATES_TO")
        tables = {row["name"]: row["type"] for row in new.read("CALL show_tables() RETURN name, type", {})}
        apart = {"Schema", *(EMBEDDING_TABLES if with_embeddings else ())}
        for name in sorted(tables.keys() - apart, key=lambda name: tables[name] != "NODE"):
            _copy(old, new, name, is_node=tables[name] == "NODE")
        if with_embeddings:
            _embed_edges(old, new)
        for row in new.read("MATCH (d:Document) RETURN d.id AS id, d.layers AS layers", {}):
            row["layers"] = [layer for layer in row["layers"] if TABLE_OF.get(layer) in tables]
            new.transaction(
                lambda execute, row=row: execute("MATCH (d:Document {id: $id}) SET d.layers = $layers", row)
            )
    finally:
        old.close()
        new.close()


def _columns(file: LadybugFile, table: str) -> list[str]:
    if all(row["name"] != table for row in file.read("CALL show_tables() RETURN name", {})):
        return []
    return [row["name"] for row in file.read(f"CALL table_info('{table}') RETURN name", {})]


def _copy(old: LadybugFile, new: LadybugFile, table: str, *, is_node: bool) -> None:
    """The rows of a table, as far as the other file has their columns and ends."""
    there = _columns(old, table)
    columns = [name for name in _columns(new, table) if name in there]
    returned = [f"n.`{name}` AS `{name}`" for name in columns]
    if is_node:
        _load(old, new, table, columns, f"MATCH (n:{table}) RETURN {', '.join(returned)}", "")
        return
    for ends in new.read(f"CALL show_connection('{table}') RETURN *", {}):
        source, target = ends["source table name"], ends["destination table name"]
        text = f"MATCH (a:{source})-[n:{table}]->(b:{target}) RETURN {', '.join(['a.id AS a', 'b.id AS b', *returned])}"
        _load(old, new, table, columns, text, f"(from='{source}', to='{target}')", ends=["a", "b"])


def _load(
    old: LadybugFile,
    new: LadybugFile,
    table: str,
    columns: list[str],
    text: str,
    between: str,
    ends: Sequence[str] = (),
) -> None:
    rows = old.read_table(text, {})
    if not rows.num_rows:
        return
    into = f"({', '.join(f'`{name}`' for name in columns)})" if columns else ""
    listed = ", ".join(f"`{name}`" for name in (*ends, *columns))
    loaded = f"COPY {table}{into} FROM (LOAD FROM $rows RETURN {listed}) {between}"
    new.transaction(lambda execute: execute(loaded, {"rows": rows}))


SET_EMBEDDING = "MATCH (:Entity)-[r:RELATES_TO]->(:Entity) WHERE r.id = $id SET r.embedding = $embedding"


def _embed_edges(old: LadybugFile, new: LadybugFile) -> None:
    """Give relations their embeddings on the edges, as they had them once."""
    for row in old.read("MATCH (v:RelationEmbedding) RETURN v.id AS id, v.embedding AS embedding", {}):
        new.transaction(lambda execute, row=row: execute(SET_EMBEDDING, row))


def ladybug_versions() -> list[int]:
    """The versions of the schema that can hold documents, and 0, of a file that is empty."""
    steps = queries.migrations("ladybug")
    first = next(number for number, step in steps.items() if f"TABLE {FIRST_WITH_DOCUMENTS} " in step.text)
    return [0, *(number for number in steps if number >= first)][:-1]


@contextmanager
def counted_statements(at: Interruption | None, act: Callable[[], None]) -> Iterator[list[str]]:
    """Count what the engine is given, and act at one of it."""
    texts: list[str] = []
    execute = ladybug_file._execute

    def counted(connection: Any, place: str, text: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        texts.append(text)
        if at == Interruption(len(texts), is_done=False):
            act()
        rows = execute(connection, place, text, parameters)
        if at == Interruption(len(texts), is_done=True):
            act()
        return rows

    with patch.object(ladybug_file, "_execute", counted):
        yield texts


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def stop() -> None:
    raise Stopped


def _migrate_file(path: Path, at: Interruption | None, sender: Connection) -> None:
    """The child: an opening that is killed at a statement, or by the parent."""
    sender.send("begun")
    with counted_statements(at, kill_itself), closing(open_store(path, namespace=NAMESPACE)) as store:
        migrate(store)
        sender.send("migrated")


class OldFiles:
    """Files of old versions of the schema, and what becomes of each when nobody disturbs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._expected: dict[int, Expected] = {}
        self.statements: dict[int, int] = {}
        self.seconds: dict[int, float] = {}
        (folder / "source").mkdir()
        fill(Place({"address": folder / "source" / "notes.lbug"}, NAMESPACE, folder / "cache"))

    def copy(self, version: int) -> Path:
        """A fresh file of that version."""
        kept = self._folder / f"version-{version}.lbug"
        if not kept.exists():
            if version:
                old_file(self._folder / "source" / "notes.lbug", kept, version)
            else:
                open_file(str(kept)).close()
        folder = self._folder / uuid.uuid4().hex
        folder.mkdir()
        return Path(shutil.copy(kept, folder / "notes.lbug"))

    def expected(self, version: int) -> Expected:
        """What an undisturbed migration makes of it."""
        if version not in self._expected:
            self._expected[version] = Expected.of(self._undisturbed(version), self._undisturbed(version))
        return self._expected[version]

    def _undisturbed(self, version: int) -> Found:
        path = self.copy(version)
        began = time.perf_counter()
        with counted_statements(None, stop) as texts, closing(open_store(path, namespace=NAMESPACE)) as store:
            migrate(store)
            self.statements[version] = len(texts)
        self.seconds[version] = time.perf_counter() - began
        return opened_again(path)


def opened_again(path: Path) -> Found:
    """What the examination says of a file after an opening that nobody disturbs, and its rows; it is writable."""
    with closing(open_store(path, namespace=NAMESPACE)) as store:
        assert isinstance(store, LadybugStore)
        migrate(store)
        flaws, rows = store.flaws(), ladybug_rows(store._file)
        graph = make_graph(NAMESPACE, "new", ("Zoe met Ann.",))
        store.write(graph)
        store.forget(graph.document.id)
        return str(flaws) if flaws else "", rows


def interrupt_file(files: OldFiles, version: int, at: Interruption, tally: Tally) -> None:
    """A migration that fails at a statement, and is done again by the same store."""
    expected, path = files.expected(version), files.copy(version)
    tally.tried += 1
    with closing(open_store(path, namespace=NAMESPACE)) as store:
        opening = Interruption(at.statement, at.is_done)
        try:
            with counted_statements(opening, stop):
                migrate(store)
        except Stopped:
            pass
        try:
            migrate(store)
        except MemgraphRagError as error:
            lose(tally, version, at, f"the same store cannot go on: {error!r}")
    _compare(expected, path, version, at, tally)


def kill_file(files: OldFiles, version: int, at: Interruption | float, tally: Tally) -> None:
    """A process that is killed at a statement of its opening, or so many seconds after its beginning."""
    expected, path = files.expected(version), files.copy(version)
    tally.tried += 1
    made = context()
    listening, sender = made.Pipe(duplex=False)
    child = made.Process(target=_migrate_file, args=(path, None if isinstance(at, float) else at, sender))
    child.start()
    sender.close()
    if isinstance(at, float):
        listening.recv()
        time.sleep(at)
        child.kill()
    child.join(PATIENCE_S)
    if child.exitcode not in ((0, -signal.SIGKILL) if isinstance(at, float) else (-signal.SIGKILL,)):
        lose(tally, version, at, f"the child ended with {child.exitcode}")
        child.kill()
    _compare(expected, path, version, at, tally)


def _compare(expected: Expected, path: Path, version: int, at: Any, tally: Tally) -> None:
    try:
        found = opened_again(path)
    except Exception as error:  # noqa: BLE001 - whatever it is, the file does not open any more
        lose(tally, version, at, f"the file does not open: {error!r}")
        return
    if other := expected.difference(found):
        lose(tally, version, at, f"it differs in {other}")
    left = sorted(item.name for item in path.parent.iterdir() if item.name not in ("notes.lbug", "notes.lbug.lock"))
    if left:
        print(f"LEFT OVER: version {version}, {at}: {left}")
        tally.left_over += 1
    shutil.rmtree(path.parent)


def lose(tally: Tally, version: int, at: Any, what: str) -> None:
    print(f"LOST: from version {version}, interrupted at {at}: {what}")
    tally.lost += 1


def file_migrations(folder: Path, *, versions: Sequence[int], step: int, random_kills: int, seed: int = 0) -> Tally:
    """Interrupt the migrations of files of these versions, at every ``step``-th statement and at random moments."""
    tally, chance, files = Tally(), random.Random(seed), OldFiles(folder)
    for version in versions:
        files.expected(version)
        places = [
            Interruption(number, is_done)
            for number in range(1, files.statements[version] + 1)
            for is_done in (False, True)
        ]
        for at in places[chance.randrange(step) :: step]:
            interrupt_file(files, version, at, tally)
            kill_file(files, version, at, tally)
        for _ in range(random_kills):
            kill_file(files, version, chance.random() * files.seconds[version], tally)
        print(f"from version {version}, {files.statements[version]} statements: {tally}", flush=True)
    return tally
