"""Writes the files from which ``neo4j-admin database import full`` creates the database of one namespace.

A ``BulkWriter`` takes the place of a transaction on an empty database: ``graph_writes.replace`` and
``overview_writes.write_overviews`` run on it, and their rows go into CSV files, one per label or relationship type.
Entities are collected in an SQLite file until the end, because many documents change the same entity. Invariant: after
the import and a first opening (``first_opening.py``) the database equals one that a store wrote, property by
property. Memory does not grow with the number of documents.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv

from memgraph_rag.stores.layer_rows import DocumentWrite
from memgraph_rag.stores.neo4j.answers import add_words
from memgraph_rag.stores.shared import graph_writes, rows, schema
from memgraph_rag.stores.shared.overview_writes import write_overviews
from memgraph_rag.types import DocumentGraph, Matrix, OverviewRows

NODES = {
    "write/create_documents": "Document",
    "write/create_segments": "Segment",
    "write/create_points": "InformationPoint",
    "write/create_sections": "Section",
    "write/create_annotations": "Annotation",
    "write/create_overviews": "Overview",
}
"""Statements that create nodes, and the label of these nodes."""

EDGES = {
    "write/link_points_to_segments": ("SUMMARIZES", "source_id", "target_id"),
    "write/link_points_to_points": ("SUMMARIZES", "source_id", "target_id"),
    "write/link_relations": ("RELATES_TO", "source_id", "target_id"),
    "write/link_sections_to_sections": ("CONTAINS", "source_id", "target_id"),
    "write/link_sections_to_segments": ("CONTAINS", "source_id", "target_id"),
    "write/link_annotations": ("ANNOTATES", "source_id", "target_id"),
    "write/link_overviews_to_documents": ("RESTS_ON", "source_id", "target_id"),
    "write/link_members": ("HAS_MEMBER", "source_id", "target_id"),
    "write/link_overviews_to_segments": ("SUMMARIZES", "source_id", "target_id"),
}
"""Statements that create relationships: the type, and the columns with the ids of both ends."""

LATER = {
    "write/link_similar": "after the import, when the database can compute the cosines",
    "write/link_overviews_to_points": "has the rows of link_overviews_to_segments again, of which each finds its own",
    "write/link_overviews_to_overviews": "likewise",
}
"""Statements whose rows are not written, and why."""

PROPERTIES_TOO = {"RELATES_TO": ("source_id", "target_id")}
"""The id columns of a relationship type that are stored as properties too."""

BETWEEN = "\x1f"
"""The separator of array values. No name and no id contains it, because it is not printable."""

_UTF8_BYTES = 4  # the most bytes of a character; a quote is written twice, and takes two

ROWS_AT_ONCE = 2000  # rows written to a file at once: with 384 dimensions, 10 MB of text

FIRST_VERSION = 1
"""The version of the namespace: the whole import counts as one write."""


@dataclass(frozen=True, slots=True)
class BulkFiles:
    """The folder with files for ``neo4j-admin``, its options, and the number of documents, segments and entities."""

    folder: Path
    database: str
    options: tuple[str, ...]
    documents: int
    segments: int
    entities: int

    @property
    def arguments(self) -> list[str]:
        """The arguments of ``neo4j-admin``. Run it in the folder while the database is stopped.

        The import replaces the whole content of the database.
        """
        return ["database", "import", "full", *self.options, "--overwrite-destination=true", self.database]


class BulkWriter:
    """Writes documents of one namespace into files for a bulk import. A context manager, which closes the files.

    Args:
        folder: an existing folder for the files.
        database: the name of the database that the import will create.
    """

    def __init__(self, folder: Path, *, database: str, namespace: str, embedder: str, dimension: int) -> None:
        self._folder = folder
        self._database = database
        self._namespace = namespace
        self._schema = {"embedder": embedder, "dimension": dimension}
        self._tables: dict[str, _Table] = {}
        self._entities = _Entities(folder / "entities.sqlite")
        self._documents = self._segments = 0

    def __enter__(self) -> BulkWriter:
        return self

    def __exit__(self, *_: object) -> None:
        for table in self._tables.values():
            table.close()
        self._entities.close()

    def write(self, graphs: Sequence[DocumentGraph]) -> None:
        """Add documents. The caller adds each document once (not checked)."""
        # The first opening of the database adds the near-synonyms.
        graph_writes.replace(DocumentWrite(self._run, self._create, lambda _run, _columns: []), graphs)
        self._documents += len(graphs)
        self._segments += sum(len(graph.segments) for graph in graphs)

    def write_overviews(self, overviews: OverviewRows) -> None:
        """Add overviews. Their documents must be added before (not checked), and ``removed`` must be empty."""
        write_overviews(self._run, self._create, overviews, as_of=FIRST_VERSION)

    def finish(self) -> BulkFiles:
        """Write the entities and close the files. Nothing can be added afterwards."""
        entities = 0
        for columns in self._entities.batches():
            entities += len(columns["id"])
            self._node("Entity", columns)
        self._node("Schema", self._schema_columns())
        self._node("Namespace", self._namespace_columns())
        for table in self._tables.values():
            table.close()
        self._entities.remove()
        longest = _UTF8_BYTES * max(table.longest for table in self._tables.values())
        options = [table.option for table in self._tables.values()]
        options += [
            "--multiline-fields=true",
            f"--array-delimiter=U+{ord(BETWEEN):04X}",
            f"--read-buffer-size={max(2**22, longest)}",
        ]
        return BulkFiles(self._folder, self._database, tuple(options), self._documents, self._segments, entities)

    # ── what a transaction gives ─────────────────────────────────────────────────────────────────────────

    def _run(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        """Return the rows of a reading statement over the documents added so far."""
        return self._reads[name](parameters)

    @property
    def _reads(self) -> dict[str, Callable[[dict[str, Any]], list[dict[str, Any]]]]:
        return {
            "read/find_surfaces": lambda given: self._entities.surfaces(given["entity_ids"]),
            "read/count_relations": lambda given: self._entities.list_joined(given["entity_ids"]),
            "read/find_unchanged_documents": lambda given: [{"id": item} for item in given["document_ids"]],
            "read/find_overview_ids": lambda _: [],
            "read/count_overview_edges": lambda _: [],  # no overview is torn: there is no other writer
        }

    def _create(self, name: str, columns: rows.Columns, /, **_: Any) -> None:
        """Store columns as the statement with this name would."""
        if name in LATER or not len(next(iter(columns.values()))):
            return
        if name in NODES:
            self._node(NODES[name], self._add_computed(NODES[name], dict(columns)))
        elif name == "write/link_names":
            self._link_names(columns)
        elif name in EDGES:
            self._edge(*EDGES[name], dict(columns))
        else:
            self._entities.store(name, columns)
        if name == "write/create_segments":
            self._edge("HAS_SEGMENT", "document_id", "id", {name: columns[name] for name in ("document_id", "id")})
            linked = [
                (before, own) for before, own in zip(columns["previous_id"], columns["id"], strict=True) if before
            ]
            self._edge("NEXT", "source_id", "target_id", rows.edge_columns(linked))

    def _link_names(self, columns: rows.Columns) -> None:
        is_title = [kind == rows.TITLE_KIND for kind in columns["kind"]]
        for kind, of_titles, names in (
            ("MENTIONS", False, tuple(columns)),
            ("TITLED", True, ("source_id", "entity_id", "document_id", "surface")),
        ):
            chosen = [place for place, title in enumerate(is_title) if title is of_titles]
            self._edge(
                kind, "source_id", "entity_id", {name: [columns[name][place] for place in chosen] for name in names}
            )

    def _add_computed(self, label: str, columns: rows.Columns) -> rows.Columns:
        """Add the properties that the statement itself computes for nodes with this label."""
        if label == "Document":
            columns["version"] = [FIRST_VERSION] * len(columns["id"])
        if label == "Segment":
            within = rows.namespace_id(self._namespace)
            del columns["previous_id"]
            columns = add_words(columns) | {"namespace_id": ["" if echo else within for echo in columns["echo"]]}
        return columns

    def _node(self, label: str, columns: rows.Columns) -> None:
        ids = columns["id"]
        constant = {} if label == "Schema" else {"namespace": [self._namespace] * len(ids)}
        others = {name: values for name, values in columns.items() if name != "id"}
        self._table(f"--nodes={label}", {"id:ID": ids, **constant, **others})

    def _edge(self, kind: str, source: str, target: str, columns: rows.Columns) -> None:
        if not columns[source]:
            return
        ends = {":START_ID": columns[source], ":END_ID": columns[target]}
        kept = PROPERTIES_TOO.get(kind, ())
        others = {name: values for name, values in columns.items() if name in kept or name not in (source, target)}
        if kind == "RELATES_TO":
            others["namespace"] = [self._namespace] * len(columns["id"])
        self._table(f"--relationships={kind}", ends | others)

    def _table(self, option: str, columns: rows.Columns) -> None:
        if option not in self._tables:
            self._tables[option] = _Table(option, self._folder)
        self._tables[option].append(columns)

    def _schema_columns(self) -> rows.Columns:
        """Return the Schema node with version 0: the next opening creates the schema, for this embedder only."""
        columns: rows.Columns = {"id": [schema.SCHEMA_ID], "version": [0], "name": [self._schema["embedder"]]}
        return columns | {name: [value] for name, value in self._schema.items()}

    def _namespace_columns(self) -> rows.Columns:
        own_id = rows.namespace_id(self._namespace)
        return {"id": [own_id], "name": [self._namespace], "version": [FIRST_VERSION]}


class _Table:
    """One CSV file with its header. Text values are quoted; None is an empty cell."""

    def __init__(self, option: str, folder: Path) -> None:
        kind, _, name = option.removeprefix("--").partition("=")
        self._path = folder / f"{kind}-{name}.csv"
        self._file: BinaryIO | None = None
        self._names: list[str] = []
        self.option = f"{option}=./{self._path.name}"  # 2026 needs a path with a folder
        self.longest = 0

    def append(self, columns: rows.Columns) -> None:
        """Write rows. The first call decides the columns of the file."""
        if self._file is None:
            self._names = list(columns)
            self._file = self._path.open("xb")
            header = ",".join(f"{name}{_header_type(name, values)}" for name, values in columns.items())
            self._file.write(f"{header}\n".encode())
        ordered = [columns[name] for name in self._names]
        for start in range(0, len(ordered[0]), ROWS_AT_ONCE):
            cells = [_format_cells(values[start : start + ROWS_AT_ONCE]) for values in ordered]
            table = pa.table(cells, names=self._names)
            csv.write_csv(table, self._file, csv.WriteOptions(include_header=False))
        lengths = (_count_characters(value) for values in columns.values() for value in values)
        self.longest = max(self.longest, max(lengths, default=0))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _header_type(name: str, values: Sequence[Any] | Matrix) -> str:
    """Return the type of a column for the header, as Neo4j names it; empty for ids, whose name contains the type."""
    if "ID" in name:
        return ""
    if isinstance(values, np.ndarray) or name == "embedding":
        return ":float[]"
    (first, *_) = values
    names = {str: "string", bool: "boolean", int: "long", float: "double", list: "string[]"}
    return f":{names[type(first)]}"


def _count_characters(value: object) -> int:
    """Return the length of a text or of an array of texts; 0 for any other value."""
    if isinstance(value, list):
        return sum(map(len, value)) + len(value)
    return len(value) if isinstance(value, str) else 0


def _format_cells(values: Sequence[Any] | Matrix) -> pa.Array:
    """Return a column as CSV cells: an array as text, float32 in the shortest form that reads back exactly."""
    if isinstance(values, np.ndarray):
        numbers = pa.array(np.ascontiguousarray(values, np.float32).ravel()).cast(pa.string())
        offsets = pa.array(np.arange(len(values) + 1, dtype=np.int32) * values.shape[1])
        rows_of_numbers = pa.ListArray.from_arrays(offsets, numbers)
        return compute.call_function("binary_join", [rows_of_numbers, pa.scalar(BETWEEN)])
    if any(isinstance(value, list) for value in values):
        return pa.array([BETWEEN.join(value) if value else None for value in values], pa.string())
    return pa.array(values)


class _Entities:
    """The entities collected so far: an SQLite table in a file that is removed at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE"):
            self._database.execute(f"PRAGMA {pragma}")
        self._database.execute(
            "CREATE TABLE entities"
            "(id TEXT PRIMARY KEY, normal TEXT, name TEXT, kinds TEXT, surfaces TEXT, embedding BLOB) WITHOUT ROWID"
        )

    def store(self, name: str, columns: rows.Columns) -> None:
        """Change the entities as the statement with this name would."""
        if name in ("write/create_entities", "write/save_entities"):
            encoded = columns | {"kinds": [json.dumps(kinds) for kinds in columns["kinds"]]}
            listed = [encoded[column] for column in ("normal", "name", "kinds", "surfaces", "id")]
            change = "INSERT INTO entities(normal, name, kinds, surfaces, id) VALUES (?, ?, ?, ?, ?)"
            if name == "write/save_entities":
                change = "UPDATE entities SET normal = ?, name = ?, kinds = ?, surfaces = ? WHERE id = ?"
        elif name == "write/embed_entities":
            listed = [[row.tobytes() for row in np.asarray(columns["embedding"], np.float32)], columns["id"]]
            change = "UPDATE entities SET embedding = ? WHERE id = ?"
        else:
            raise KeyError(name)
        self._database.execute("BEGIN")
        self._database.executemany(change, zip(*listed, strict=True))
        self._database.execute("COMMIT")

    def surfaces(self, entity_ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return the names and written forms of these entities; unknown ids are left out."""
        entity_rows = self._find("normal, surfaces", entity_ids)
        return [{"id": entity_id, "normal": row[0], "surfaces": row[1]} for entity_id, row in entity_rows]

    def list_joined(self, entity_ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return whether these entities, which relations join, have an embedding."""
        entity_rows = self._find("embedding IS NOT NULL", entity_ids)
        return [{"id": entity_id, "is_embedded": bool(row[0]), "count": 1} for entity_id, row in entity_rows]

    def _find(self, selected: str, entity_ids: Sequence[str]) -> Iterator[tuple[str, Any]]:
        for entity_id in entity_ids:
            row = self._database.execute(f"SELECT {selected} FROM entities WHERE id = ?", (entity_id,)).fetchone()  # noqa: S608
            if row is not None:
                yield entity_id, row

    def batches(self) -> Iterator[rows.Columns]:
        """Yield all entities as columns, in batches; entities without an embedding come in batches of their own."""
        for has_embedding in ("NULL", "NOT NULL"):
            with closing(self._database.cursor()) as cursor:
                cursor.execute(f"SELECT * FROM entities WHERE embedding IS {has_embedding} ORDER BY id")  # noqa: S608
                while listed := cursor.fetchmany(ROWS_AT_ONCE):
                    ids, normals, names, kinds, surfaces, embeddings = zip(*listed, strict=True)
                    yield {
                        "id": ids,
                        "normal": normals,
                        "name": names,
                        "kinds": [json.loads(of_entity) for of_entity in kinds],
                        "surfaces": surfaces,
                        "embedding": embeddings
                        if embeddings[0] is None
                        else np.frombuffer(b"".join(embeddings), np.float32).reshape(len(ids), -1),
                    }

    def close(self) -> None:
        self._database.close()

    def remove(self) -> None:
        self.close()
        self._path.unlink()
