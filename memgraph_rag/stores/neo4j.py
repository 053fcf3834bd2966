"""A graph in a Neo4j server, 5.26 or 2026.

It knows no model and no other engine. The invariant: every statement it runs has its namespace bound; an index is
trusted only where what it answers cannot differ from the exact answer by a tie or by another namespace's nodes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from typing_extensions import override

from memgraph_rag.errors import StoreError
from memgraph_rag.keywords import TITLE_WEIGHT
from memgraph_rag.keywords import keywords as keywords_of
from memgraph_rag.stores import queries, reading, relating, relation_rows, rows, schema, writing
from memgraph_rag.stores.neo4j_connection import Execute, Neo4jConnection
from memgraph_rag.types import Flaws, Hit, IndexedSegment, Neighbour, Similar, Vector

__all__ = ["Neo4jStore"]

T = TypeVar("T")

ROWS_PER_STATEMENT = 1000
NAMES_AT_ONCE, WIDENED = 128, 8
INDEXES_ONLINE_S = 60
INDEXES = {False: "segment_text", True: "segment_text_stemmed"}
MOST_KEYWORDS = 256  # Lucene refuses more than 1,024 clauses; each word makes two


class Neo4jStore(writing.WrittenGraph):
    """One namespace of a Neo4j database. Implements ``contracts.GraphStore``."""

    def __init__(self, connection: Neo4jConnection, *, namespace: str, read_only: bool = False) -> None:
        self._connection = connection
        super().__init__(namespace, read_only=read_only)
        self._closing = threading.Lock()
        self._closed = False
        self._dialect = self._find_dialect()

    def __repr__(self) -> str:
        return f"Neo4jStore({self._connection.address!r}, namespace={self._namespace!r})"

    @property
    def schema(self) -> Mapping[str, Any]:
        """``version``, ``embedder`` and ``dimension`` as stored; empty before ``migrate``."""
        return next(iter(self._run("read/find_schema", schema_id=schema.SCHEMA_ID)), {})

    def close(self) -> None:
        """Let go of the server; a second call does nothing."""
        with self._closing:
            closed, self._closed = self._closed, True
        if not closed:
            self._connection.close()

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────

    def nearest(self, vector: Vector, *, k: int, documents: Sequence[str] | None = None) -> list[Hit]:
        """The k segments of the largest cosine: by the index, or exactly where the index cannot be trusted."""
        if documents is not None:
            return reading.score(self._run, vector, documents=documents, k=k)
        query = reading.numbers(vector)
        hits = self._hits("read/find_nearest_segments", vector=query, width=_width(k))
        return _trusted(hits, k) or self._hits("read/score_namespace", vector=query, k=k)

    def matching(
        self, keywords: str, *, k: int, documents: Sequence[str] | None = None, stemming: bool = False
    ) -> list[Hit]:
        """The k segments that match the words best, at least one word each, by the full-text index."""
        words = keywords_of(keywords)[:MOST_KEYWORDS]
        if not words or (documents is not None and not documents):
            return []
        asked = {"index": INDEXES[stemming], "query": _lucene(words, self._bound["namespace_id"])}
        if documents is not None:
            return self._hits("read/find_matching_segments_of", **asked, k=k, document_ids=list(documents))
        hits = self._hits("read/find_matching_segments", **asked, width=_width(k))
        if len(hits) < _width(k):
            return hits[:k]
        return _trusted(hits, k) or self._hits("read/find_matching_segments", **asked, width=reading.NO_LIMIT)[:k]

    @override
    def expand(
        self, entity_ids: Sequence[str], *, vector: Vector | None, k: int, documents: Sequence[str] | None = None
    ) -> list[Neighbour]:
        """The k relations at these entities and their near-synonyms that are nearest to the vector, or first by id."""
        query = None if vector is None else reading.numbers(vector)
        if not entity_ids or k < 1 or reading.nowhere(documents):
            return []
        asked = {"entity_ids": list(dict.fromkeys(entity_ids)), "k": k, **reading.within(documents)}
        found = (
            self._run("read/list_neighbours", **asked)
            if query is None
            else self._run("read/find_neighbours", **asked, vector=query)
        )
        return relation_rows.decode_neighbours(found, k)

    def nearest_relations(self, vector: Vector, *, k: int, documents: Sequence[str] | None = None) -> list[Neighbour]:
        """The k relations of the largest cosine: by the index, or exactly where the index cannot be trusted."""
        query = reading.numbers(vector)
        if k < 1 or reading.nowhere(documents):
            return []
        if documents is None:
            width = _width(k)
            hits = relation_rows.decode_neighbours(
                self._run("read/find_nearest_relations", vector=query, width=width), width
            )
            if len(hits) > k and hits[k].score < hits[k - 1].score:
                return hits[:k]
        found = self._run("read/score_relations", vector=query, k=k, **reading.within(documents))
        return relation_rows.decode_neighbours(found, k)

    def indexed_segments(self, *, since: int) -> list[IndexedSegment]:
        """All segments of the documents that a write later than version ``since`` stored."""
        self._require_open()
        statement = queries.statement("read/list_indexed_segments", self._dialect)
        found = self._connection.stream(
            statement.name, statement.text, statement.bind(self._bound, {"since": since}), rows.decode_indexed
        )
        return sorted(found, key=lambda segment: (segment.document_id, segment.index))

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────

    def migrate(self, *, embedder: str, dimension: int) -> None:
        """Bring the schema up to date; on a new database, create it for this embedder.

        Neo4j mixes no schema with data in a transaction, so each step is its own and can be repeated, and the
        version is written last.
        """
        steps = queries.migrations(self._dialect)
        stored, version = self.schema, max(steps)
        schema.check(stored, version=version, embedder=embedder, dimension=dimension, address=self._connection.address)
        if self._read_only:
            schema.check_current(stored, version=version, address=self._connection.address)
        if stored.get("version", 0) < version:
            for number, step in steps.items():
                if number > stored.get("version", 0):
                    self._step(step, dimension)
            self._run("read/await_indexes", timeout_s=INDEXES_ONLINE_S)
            parameters = {"version": version, "embedder": embedder, "dimension": dimension}
            self._connection.write(
                "migrate",
                lambda execute: self._runner(execute)("write/save_schema", schema_id=schema.SCHEMA_ID, **parameters),
            )
        self._dimension = dimension

    @override
    def flaws(self) -> Flaws:
        """What is wrong with the graph, and which indexes of the database cannot be used."""
        return replace(super().flaws(), indexes=self._unusable())

    @override
    def mend(self, vectors: Mapping[str, Vector]) -> Flaws:
        """Make indexes again, then put right what can be put right of the graph in one transaction; what was wrong."""
        self._require_writable()
        broken = self._unusable()
        for name in broken:
            self._connection.write("mend", lambda execute, name=name: self._drop(execute, name))
        for step in queries.migrations(self._dialect).values():
            if step.made in broken:
                self._step(step, self._dimension)
        self._run("read/await_indexes", timeout_s=INDEXES_ONLINE_S)
        return replace(super().mend(vectors), indexes=broken)

    def purge(self) -> None:
        """Refuse: which files a server keeps, and how long, is up to the server.

        Raises:
            StoreError: always.
        """
        raise StoreError(
            f"expected an embedded store to purge; {self._connection.address} is a server, whose files no client can "
            "rewrite. What Neo4j keeps of what was forgotten, and for how long, is in docs/security.md.",
            address=self._connection.address,
        )

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────

    def _find_dialect(self) -> queries.Dialect:
        """By the index that is there, for a database may be older than its server; else by the server."""
        statement = queries.statement("read/list_indexes", "neo4j_5")
        found = self._connection.read(statement.name, lambda execute: execute(statement.text, {}))
        if found:
            return "neo4j_2026" if "namespace" in found[0]["properties"] else "neo4j_5"
        return "neo4j_2026" if int(self._connection.version.split(".")[0]) >= 2026 else "neo4j_5"

    def _run(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        self._require_open()
        return self._connection.read(name, lambda execute: self._runner(execute)(name, **parameters))

    @override
    def _transaction(self, operation: str, work: Callable[[reading.Run, rows.Create], T], *, row_bytes: int = 0) -> T:
        self._require_open()
        self._require_writable()
        return self._connection.write(operation, lambda execute: work(self._runner(execute), self._creator(execute)))

    @override
    def _find_near(self, run: reading.Run, columns: rows.Columns) -> list[Similar]:
        """By the index, which knows what was stored before this transaction, and among the rows themselves.

        A row's names are looked for more and more widely until the last is below the bound, so that none above it is
        cut off; the scores are then computed from the stored vectors, each the same way.
        """
        matrix = np.asarray(columns["embedding"])
        listed = rows.as_dicts(columns)
        cosines = np.triu(matrix @ matrix.T / np.outer(*[np.linalg.norm(matrix, axis=1)] * 2), 1)
        pairs = {
            (listed[one]["id"], listed[other]["id"])
            for one, other in zip(*np.nonzero(cosines >= relating.lowest_cosine), strict=True)
        }
        width = NAMES_AT_ONCE
        while listed:
            unfinished: set[str] = set()
            for start in range(0, len(listed), ROWS_PER_STATEMENT):
                some = listed[start : start + ROWS_PER_STATEMENT]
                for row in run("read/find_near_names", rows=some, width=width, least=relating.lowest_cosine):
                    pairs |= {(row["id"], other) for other in row["near"] if other != row["id"]}
                    if row["looked_at"] >= width and row["lowest"] >= relating.lowest_cosine:
                        unfinished.add(row["id"])
            listed = [row for row in listed if row["id"] in unfinished]
            width *= WIDENED
        ends = [{"source_id": min(pair), "target_id": max(pair)} for pair in sorted(pairs)]
        starts = range(0, len(ends), ROWS_PER_STATEMENT)
        scored = (run("read/score_names", rows=ends[start : start + ROWS_PER_STATEMENT]) for start in starts)
        return [Similar(**row) for found in scored for row in found]

    def _hits(self, name: str, /, **parameters: Any) -> list[Hit]:
        return rows.decode_hits(self._run(name, **parameters))

    def _runner(self, execute: Execute) -> reading.Run:
        def run(name: str, /, **parameters: Any) -> list[dict[str, Any]]:
            statement = queries.statement(name, self._dialect)
            return execute(statement.text, statement.bind(self._bound, parameters))

        return run

    def _creator(self, execute: Execute) -> rows.Create:
        run = self._runner(execute)

        def create(name: str, columns: rows.Columns, /, **parameters: Any) -> None:
            listed = rows.as_dicts(columns)
            for start in range(0, len(listed), ROWS_PER_STATEMENT):
                run(name, rows=listed[start : start + ROWS_PER_STATEMENT], **parameters)

        return create

    def _step(self, step: queries.Statement, dimension: int) -> None:
        parameters = step.bind({"dimension": dimension}, {})
        try:
            self._connection.write(step.name, lambda execute: execute(step.text, parameters))
        except StoreError as error:  # IF NOT EXISTS looks, then makes: another process may do so in between
            if not error.facts.get("code", "").endswith("EquivalentSchemaRuleAlreadyExists"):
                raise

    def _unusable(self) -> tuple[str, ...]:
        """The indexes and constraints of the schema that are missing, failed, or are not ready after a while."""
        self._run("read/await_indexes", timeout_s=INDEXES_ONLINE_S)
        ready = {row["name"] for row in self._run("read/list_index_states") if row["state"] == "ONLINE"}
        return tuple(sorted({step.made for step in queries.migrations(self._dialect).values() if step.made} - ready))

    def _drop(self, execute: Execute, name: str) -> None:
        run = self._runner(execute)
        for statement in ("write/drop_constraint", "write/drop_index"):
            run(statement, name=name)

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"{self!r} is closed. Open it again.")


def _width(k: int) -> int:
    """How many to ask an index for, so that k of them are likely this namespace's and no tie is cut."""
    return max(4 * k, 100)


def _trusted(hits: list[Hit], k: int) -> list[Hit]:
    """The first k, where one more shows that no tie with the last was cut off; else none."""
    return hits[:k] if len(hits) > k and hits[k].score < hits[k - 1].score else []


def _lucene(words: Sequence[str], namespace_id: str) -> str:
    """Any of the words, in the text or the title, within the namespace, which adds nothing to the score.

    A word holds no quote and no backslash (``keywords.words``), so that quoted it is no operator.
    """
    any_of = " ".join(f'"{word}"' for word in words)
    return f"+namespace_id:{namespace_id}^0 +(text:({any_of}) title:({any_of})^{TITLE_WEIGHT})"
