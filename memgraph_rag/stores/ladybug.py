"""A graph in one Ladybug file.

It knows no model and no other engine. The invariant: every statement it runs has its namespace bound; what it
answers is what the file holds, keywords included, whose index is a cache that goes by the namespace's version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from memgraph_rag.errors import StoreError
from memgraph_rag.stores import queries, reading, rows, schema, writing
from memgraph_rag.stores.keyword_index import KeywordIndex
from memgraph_rag.stores.ladybug_file import Execute, LadybugFile
from memgraph_rag.types import (
    Action,
    DocumentGraph,
    Hit,
    Receipt,
    Vector,
)

__all__ = ["LadybugStore"]

T = TypeVar("T")

DIALECT: queries.Dialect = "ladybug"

# Named, because to guess one pyarrow looks for pandas each time: 0.05 ms a column instead of 0.005.
ARROW_TYPES: dict[type, pa.DataType] = {str: pa.string(), int: pa.int64(), float: pa.float64()}


class LadybugStore(reading.StoredGraph):
    """One namespace of a Ladybug file. Implements ``contracts.GraphStore``."""

    def __init__(self, file: LadybugFile, *, namespace: str) -> None:
        self._file = file
        super().__init__(namespace)
        self._keywords: tuple[int, KeywordIndex] | None = None
        self._dimension = 0
        self._closed = False

    def __repr__(self) -> str:
        return f"LadybugStore({self._file.place!r}, namespace={self._namespace!r})"

    @property
    def schema(self) -> Mapping[str, Any]:
        """``version``, ``embedder`` and ``dimension`` as stored; empty before ``migrate``."""
        if all(row["name"] != "Schema" for row in self._run("read/list_tables")):
            return {}
        return next(iter(self._run("read/find_schema", schema_id=schema.SCHEMA_ID)), {})

    def close(self) -> None:
        """Let go of the file; a second call does nothing."""
        with self._file.lock:
            closed, self._closed = self._closed, True
        if not closed:
            self._file.close()

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────

    def nearest(self, vector: Vector, *, k: int, documents: Sequence[str] | None = None) -> list[Hit]:
        """The k segments of the largest cosine, by an exact scan."""
        if documents is not None:
            return reading.score(self._run, vector, documents=documents, k=k)
        return [rows.decode_hit(row) for row in self._run("read/score_namespace", vector=reading.numbers(vector), k=k)]

    def matching(self, keywords: str, *, k: int, documents: Sequence[str] | None = None) -> list[Hit]:
        """The k segments that match the words best, at least one word each."""
        return self._keyword_index().find(keywords, k=k, documents=documents)

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────

    def migrate(self, *, embedder: str, dimension: int) -> None:
        """Bring the schema up to date, in one transaction; on a new file, create it for this embedder."""
        steps = queries.migrations(DIALECT)
        with self._file.lock:
            stored = self.schema
            version = max(steps)
            schema.check(stored, version=version, embedder=embedder, dimension=dimension, address=self._file.place)
            if stored.get("version", 0) < version:
                self._file.transaction(
                    lambda execute: self._build(execute, stored.get("version", 0), embedder, dimension)
                )
        self._dimension = dimension

    def write(self, graph: DocumentGraph) -> Receipt:
        """Store a document, in place of what was stored under its id, in one transaction."""
        writing.check(graph, self._dimension)
        action = self._transaction(lambda execute: self._replace(execute, graph), row_bytes=_size(graph))
        document = graph.document
        return Receipt(document.id, document.key, action, self.counts(document.id))

    def forget(self, document_id: str) -> Receipt:
        """Remove a document and all that only it supports, in one transaction."""
        key, held = self._transaction(
            lambda execute: writing.remove(self._runner(execute), document_id, namespace=self._namespace)
        )
        return Receipt(document_id, key, Action.FORGOTTEN, writing.gone(held, self.counts(document_id)))

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────

    def _run(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        self._require_open()
        return self._runner(self._file.read)(name, **parameters)

    def _runner(self, execute: Execute) -> reading.Run:
        def run(name: str, /, **parameters: Any) -> list[dict[str, Any]]:
            statement = queries.statement(name, DIALECT)
            return execute(statement.text, statement.bind(self._bound, parameters))

        return run

    def _transaction(self, work: Callable[[Execute], T], *, row_bytes: int = 0) -> T:
        self._require_open()
        return self._file.transaction(work, row_bytes=row_bytes)

    def _replace(self, execute: Execute, graph: DocumentGraph) -> Action:
        run = self._runner(execute)

        def create(name: str, columns: rows.Columns, /, **parameters: Any) -> None:
            if len(columns[next(iter(columns))]):
                run(name, rows=_arrow(columns), **parameters)

        return writing.replace(run, create, graph)

    def _build(self, execute: Execute, version: int, embedder: str, dimension: int) -> None:
        steps = queries.migrations(DIALECT)
        for number, step in steps.items():
            if number > version:
                execute(step.text.replace("$dimension", str(int(dimension))), {})
        self._runner(execute)(
            "write/save_schema", schema_id=schema.SCHEMA_ID, version=max(steps), embedder=embedder, dimension=dimension
        )

    def _keyword_index(self) -> KeywordIndex:
        with self._file.lock:  # no write between the version and the rows
            found = self._run("read/find_namespace_version", namespace_id=self._bound["namespace_id"])
            version = found[0]["version"] if found else 0
            if self._keywords is None or self._keywords[0] != version:
                self._keywords = version, KeywordIndex(self._run("read/list_segment_texts"))
            return self._keywords[1]

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self!r} is closed. Open it again.")


def _arrow(columns: rows.Columns) -> pa.Table:
    """Columns as an arrow table; from one the engine reads ten times faster than from a list of rows."""
    return pa.table({name: _arrow_column(values) for name, values in columns.items()})


def _arrow_column(values: Any) -> pa.Array:
    if isinstance(values, np.ndarray):
        flat = pa.array(np.ascontiguousarray(values, np.float32).reshape(-1))
        return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    return pa.array(values, ARROW_TYPES[type(values[0])])


def _size(graph: DocumentGraph) -> int:
    texts = sum(len(node.text) for node in (*graph.segments, *graph.points))
    return 4 * texts + graph.segment_embeddings.nbytes + graph.point_embeddings.nbytes
