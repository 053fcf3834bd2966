"""A graph in a Neo4j server, 5.26 or 2026.

It knows no model and no other engine. The invariant: every statement on documents has its namespace bound; an index is
trusted only where what it answers cannot differ from the exact answer by a tie or by another namespace's nodes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from typing_extensions import override

from memgraph_rag.display import show
from memgraph_rag.errors import StoreError
from memgraph_rag.lexical import dates
from memgraph_rag.lexical.tokenize import keywords as keywords_of
from memgraph_rag.stores.neo4j import first_opening as neo4j_first_opening
from memgraph_rag.stores.neo4j import reembed as neo4j_reembed
from memgraph_rag.stores.neo4j.answers import decode_hits, lucene_query, trusted, width_for
from memgraph_rag.stores.neo4j.connection import Execute, Neo4jConnection
from memgraph_rag.stores.shared import (
    embedding_updates,
    graph_reads,
    graph_writes,
    queries,
    relation_rows,
    relation_writes,
    rows,
    schema,
)
from memgraph_rag.stores.shared.linked_segments import MOST_LINKS
from memgraph_rag.types import (
    DocumentGraph,
    Flaws,
    Hit,
    IndexedName,
    IndexedRelation,
    IndexedSegment,
    Neighbour,
    Similar,
    Vector,
)

__all__ = ["Neo4jStore"]

T = TypeVar("T")

ROWS_PER_STATEMENT = 1000
NAMES_AT_ONCE, WIDENED = 128, 8
TRIES = 5
INDEXES_ONLINE_S = 60
INDEXES = {False: "segment_text", True: "segment_text_stemmed"}
MOST_KEYWORDS = 256  # Lucene refuses more than 1,024 clauses; each word makes two


class Overtaken(Exception):
    """Another writer came between a read and the transaction that rests on it."""


class Neo4jStore(graph_writes.WrittenGraph):
    """One namespace of a Neo4j database. Implements ``contracts.GraphStore``."""

    def __init__(
        self,
        connection: Neo4jConnection,
        *,
        namespace: str,
        read_only: bool = False,
        embedder: str = "",
        dimension: int = 0,
    ) -> None:
        self._connection = connection
        super().__init__(namespace, read_only=read_only, dimension=dimension)
        self._closing = threading.Lock()
        self._closed = False
        self._embedder = embedder
        self._has_written = False
        self._dialect = self._find_dialect()

    def __repr__(self) -> str:
        return f"Neo4jStore({self._connection.address!r}, namespace={self._namespace!r})"

    @property
    def schema(self) -> Mapping[str, Any]:
        """``version``, ``embedder`` and ``dimension`` as stored; empty before ``migrate``."""
        return next(iter(self._run("read/find_schema", schema_id=schema.SCHEMA_ID)), {})

    def close(self) -> None:
        """Let go of the server; a second call does nothing."""
        if not self._connection.process.is_current:  # where another thread may have held the lock
            self._connection.close()
            return
        with self._closing:
            closed, self._closed = self._closed, True
        if not closed:
            self._connection.close()

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────

    def nearest(self, vector: Vector, *, k: int, documents: Sequence[str] | None = None) -> list[Hit]:
        """The k segments of the largest cosine: by the index, or exactly where the index cannot be trusted."""
        if documents is not None:
            return graph_reads.score(self._run, vector, documents=documents, k=k)
        query = graph_reads.numbers(vector)
        hit_rows = self._by_index("read/find_nearest_segments", vector=query, width=width_for(k))
        return trusted(decode_hits(hit_rows or []), k) or self._hits("read/score_namespace", vector=query, k=k)

    def matching(
        self, keywords: str, *, k: int, documents: Sequence[str] | None = None, stemming: bool = False
    ) -> list[Hit]:
        """The k segments that match the words best, at least one word each, by the full-text index."""
        # The index knows words alone, so a day is looked for in each form in which a text may write it.
        words = [*keywords_of(keywords), *dates.forms(keywords)][:MOST_KEYWORDS]
        if not words or graph_reads.nowhere(documents):
            return []
        asked = {"index": INDEXES[stemming], "query": lucene_query(words, self._bound["namespace_id"])}
        if documents is not None:
            return self._hits("read/find_matching_segments_of", **asked, k=k, document_ids=list(documents))
        width = width_for(k)
        while True:
            hits = self._hits("read/find_matching_segments", **asked, width=width)
            if len(hits) < width or trusted(hits, k):
                return hits[:k]
            width *= WIDENED

    @override
    def expand(
        self, entity_ids: Sequence[str], *, vector: Vector | None, k: int, documents: Sequence[str] | None = None
    ) -> list[Neighbour]:
        """The k relations at these entities and their near-synonyms that are nearest to the vector, or first by id.

        By the index, or exactly where documents are named or it cannot be trusted; always exactly in Neo4j 5, whose
        index finds among the relations of all entities only.
        """
        query = None if vector is None else graph_reads.numbers(vector)
        if not entity_ids or k < 1 or graph_reads.nowhere(documents):
            return []
        asked: dict[str, Any] = {"entity_ids": list(dict.fromkeys(entity_ids))}
        if query is not None and documents is None and self._dialect == "neo4j_2026":
            neighbour_rows = self._by_index(
                "read/find_near_neighbours", **asked, vector=query, k=k + 1, width=width_for(k)
            )
            near = relation_rows.decode_neighbours(neighbour_rows or [], k + 1)
            if neighbour_rows is not None and (len(near) <= k or trusted(near, k)):
                return near[:k]
        asked |= {"k": k} | graph_reads.within(documents)
        if query is None:
            neighbour_rows = self._run("read/list_neighbours", **asked)
        else:
            neighbour_rows = self._run("read/find_neighbours", **asked, vector=query)
        return relation_rows.decode_neighbours(neighbour_rows, k)

    def indexed_segments(self, *, since: int) -> list[IndexedSegment]:
        """All segments of the documents that a write later than version ``since`` stored."""
        segments = self._written_since("read/list_indexed_segments", since, self._indexed)
        return sorted(segments, key=lambda segment: (segment.document_id, segment.index))

    def indexed_relations(self, *, since: int) -> list[IndexedRelation]:
        """The relations of the documents that a write later than version ``since`` stored, by id."""
        relations = self._written_since("read/list_indexed_relations", since, relation_rows.decode_indexed)
        return sorted(relations, key=lambda item: item.relation.id)

    def indexed_names(self, *, since: int) -> list[IndexedName]:
        """The entities that these documents mention and that have an embedding, by id."""
        names = self._written_since("read/list_indexed_names", since, relation_rows.decode_name)
        return sorted(names, key=lambda name: name.id)

    def segments_around(self, segment_ids: Sequence[str]) -> list[IndexedSegment]:
        """These segments and the one before and behind each in its document."""
        if not segment_ids:
            return []
        segments = self._streamed(
            "read/list_segments_around", {"segment_ids": list(dict.fromkeys(segment_ids))}, self._indexed
        )
        return sorted(segments, key=lambda segment: (segment.document_id, segment.index))

    def linked_segments(
        self,
        masses: Mapping[str, float],
        *,
        entity_ids: Sequence[str] = (),
        title_ids: Sequence[str] = (),
        entity_mass: float = 0.0,
        k: int,
        documents: Sequence[str] | None = None,
    ) -> list[Hit]:
        """The k segments to which one step of a walk over shared entities brings the most; ties by id."""
        named = {"entity_ids": list(entity_ids), "title_ids": list(title_ids)}
        return self._hits(
            "read/find_linked_segments",
            rows=[{"id": segment_id, "mass": mass} for segment_id, mass in masses.items()],
            entity_mass=entity_mass, most=MOST_LINKS, k=k, **named, **graph_reads.within(documents),
        )  # fmt: skip

    @override
    def named_by(self, entity_ids: Sequence[str]) -> list[int]:
        """How many segments mention each of these entities; of one that many mention how often they do."""
        counted = self._run("read/count_naming", entity_ids=list(dict.fromkeys(entity_ids)))
        numbers = dict(pair for row in counted for pair in row["counts"])
        return [numbers.get(entity_id, 0) for entity_id in entity_ids]

    def _written_since(self, name: str, since: int, decode: Callable[[Mapping[str, Any]], T]) -> list[T]:
        """The rows of a statement over what was written after a version, each decoded as it arrives."""
        return self._streamed(name, {"since": since}, decode)

    def _streamed(self, name: str, parameters: Mapping[str, Any], decode: Callable[[Mapping[str, Any]], T]) -> list[T]:
        self._require_open()
        statement = queries.statement(name, self._dialect)
        bound = statement.bind(self._bound, parameters)
        return self._connection.stream(statement.name, statement.text, bound, decode)

    def _indexed(self, row: Mapping[str, Any]) -> IndexedSegment:
        """An embedding that is missing is 0, so that words still find the segment."""
        return rows.decode_indexed({**row, "embedding": row["embedding"] or [0.0] * self._dimension})

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
        self._dimension, self._embedder = dimension, embedder
        if stored.get("version", 0) < version:
            for number, step in steps.items():
                if number > stored.get("version", 0):
                    self._step(step, dimension)
            neo4j_first_opening.await_indexes(self._run)
            if stored and not stored["version"]:
                for store in map(self.beside, self.namespaces()):
                    hold = partial(store._transaction, "complete", first=graph_writes.HELD)
                    neo4j_first_opening.complete(store._run, hold, store._find_near)
            parameters = {"version": version, "embedder": embedder, "dimension": dimension}
            self._connection.write(
                "migrate",
                lambda execute: self._runner(execute)("write/save_schema", schema_id=schema.SCHEMA_ID, **parameters),
            )
        if not self._read_only:
            self._remake(self._misfits(dimension), dimension)

    def beside(self, namespace: str) -> Neo4jStore:
        """The same database, bound to another namespace."""
        return Neo4jStore(
            self._connection, namespace=namespace, read_only=self._read_only,
            embedder=self._embedder, dimension=self._dimension,
        )  # fmt: skip

    def reembed(self, *, embedder: str, dimension: int, again: Callable[[DocumentGraph], DocumentGraph]) -> None:
        """Put other embeddings in place of all, in one transaction; all new vectors are in memory meanwhile.

        Where their length is another, the indexes of embeddings are made anew after it; until they are ready, vectors
        are searched exactly.
        """
        self._require_open()
        self._require_writable()
        for _ in range(TRIES):
            namespaces = [self.beside(namespace) for namespace in self.namespaces()]
            prepared = [(store, store.version(), neo4j_reembed.vectors_of(store, again)) for store in namespaces]
            try:
                self._connection.write(
                    "reembed", lambda execute, prepared=prepared: self._switch(execute, prepared, embedder, dimension)
                )
            except Overtaken:
                if not self._is_embedded_anew(embedder, dimension):
                    continue
            self._remake(self._misfits(dimension), dimension)
            return
        raise StoreError(
            f"Expected {self._connection.address} to stay as it is while it is embedded anew, got {TRIES} writes "
            "meanwhile. Nothing was changed; try again when there is less to do.",
            address=self._connection.address,
        )

    def _is_embedded_anew(self, embedder: str, dimension: int) -> bool:
        """Whether the switch was made, though the answer to its commit was lost."""
        stored = self.schema["embedder"], self.schema["dimension"]
        return stored == (embedder, dimension) != (self._embedder, self._dimension)

    def _switch(
        self,
        execute: Execute,
        prepared: Sequence[tuple[Neo4jStore, int, embedding_updates.Vectors]],
        embedder: str,
        dimension: int,
    ) -> None:
        for store, version, vectors in prepared:
            run, create = store._runner(execute), store._creator(execute)
            graph_writes.begin(run)
            if run("read/find_namespace_version")[0]["version"] != version + 1:
                raise Overtaken
            embedding_updates.embed(run, create, store._find_among, vectors)
        self._runner(execute)(
            "write/save_schema",
            schema_id=schema.SCHEMA_ID,
            version=max(queries.migrations(self._dialect)),
            embedder=embedder,
            dimension=dimension,
        )
        # After it: a namespace that is just begun holds the schema, see _transaction.
        if sorted(store.namespace for store, *_ in prepared) != self.namespaces():
            raise Overtaken

    @override
    def flaws(self) -> Flaws:
        """What is wrong with the graph, and which indexes of the database cannot be used."""
        self._await_indexes()
        return replace(super().flaws(), indexes=self._unusable())

    @override
    def mend(self, vectors: Mapping[str, Vector]) -> Flaws:
        """Make indexes again, then put right what can be put right of the graph in one transaction; what was wrong."""
        self._require_writable()
        self._await_indexes()
        broken = self._unusable()
        self._remake(broken, self._dimension)
        return replace(super().mend(vectors), indexes=broken)

    @override
    def empty_database(self) -> str:
        """Return the name of the database, if no node is in it."""
        found = self._run("read/find_any_node")
        if found:
            raise StoreError(
                "Expected an empty database for an import in bulk, which replaces all of it, got "
                f"{show(self)} with nodes of {':'.join(found[0]['labels']) or 'no label'}. Import without --bulk, or "
                "into an empty database."
            )
        return self._connection.database or "neo4j"

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────

    def _find_dialect(self) -> queries.Dialect:
        """By the index that is there, for a database may be older than its server; else by the server."""
        statement = queries.statement("read/list_indexes", "neo4j_5")
        index_rows = self._connection.read(statement.name, lambda execute: execute(statement.text, {}))
        if index_rows:
            return "neo4j_2026" if "namespace" in index_rows[0]["properties"] else "neo4j_5"
        return "neo4j_2026" if int(self._connection.version.split(".")[0]) >= 2026 else "neo4j_5"

    def _run(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        self._require_open()
        checked = "vector" in parameters or name == "read/find_namespace_version"

        def work(execute: Execute) -> list[dict[str, Any]]:
            run = self._runner(execute)
            if checked:
                self._check_embedder(run)
            return run(name, **parameters)

        return self._connection.read(name, work)

    def _by_index(self, name: str, /, **parameters: Any) -> list[dict[str, Any]] | None:
        """By an index of embeddings; None where it is not there, or for vectors of another length, at the moment."""
        try:
            return self._run(name, **parameters)
        except StoreError as error:
            if error.retryable or not self._unusable():
                raise
            return None

    def _check_embedder(self, run: graph_reads.Run) -> None:
        """Refuse vectors of an embedder that the store has no more."""
        stored = next(iter(run("read/find_schema", schema_id=schema.SCHEMA_ID)), {})
        if self._embedder and (stored.get("embedder"), stored.get("dimension")) != (self._embedder, self._dimension):
            raise schema.embedded_anew(self._connection.address)

    @override
    def _transaction(
        self,
        operation: str,
        work: Callable[[graph_reads.Run, rows.Create], T],
        *,
        row_bytes: int = 0,
        first: str = graph_writes.COUNTED,
    ) -> T:
        self._require_open()
        self._require_writable()

        def checked(execute: Execute) -> T:
            run = self._runner(execute)
            graph_writes.begin(run, first)
            if not self._has_written and run("read/find_namespace_version")[0]["version"] <= 1:
                # A namespace that is just begun: who embeds all anew does not see it yet, so would not wait for it.
                run("write/hold_schema", schema_id=schema.SCHEMA_ID)
            self._check_embedder(run)  # what it waited for may have been that all is embedded anew
            return work(run, self._creator(execute))

        done = self._connection.write(operation, checked)
        self._has_written = True
        return done

    @override
    def _find_near(self, run: graph_reads.Run, columns: rows.Columns) -> list[Similar]:
        """By the index, which knows what was stored before this transaction, and among the rows themselves.

        A row's names are looked for more and more widely until the last is below the bound, so that none above it is
        cut off; the scores are then computed from the stored vectors, each the same way.
        """
        listed = rows.as_dicts(columns)
        pairs = neo4j_reembed.pairs_among(columns)
        width = NAMES_AT_ONCE
        while listed:
            unfinished: set[str] = set()
            for start in range(0, len(listed), ROWS_PER_STATEMENT):
                some = listed[start : start + ROWS_PER_STATEMENT]
                for row in run("read/find_near_names", rows=some, width=width, least=relation_writes.LOWEST_COSINE):
                    pairs |= {(row["id"], other) for other in row["near"] if other != row["id"]}
                    if row["looked_at"] >= width and row["lowest"] >= relation_writes.LOWEST_COSINE:
                        unfinished.add(row["id"])
            listed = [row for row in listed if row["id"] in unfinished]
            width *= WIDENED
        return self._scored(run, pairs)

    def _find_among(self, run: graph_reads.Run, columns: rows.Columns) -> list[Similar]:
        """Among the rows alone, where they are all embedded names there are."""
        return self._scored(run, neo4j_reembed.pairs_among(columns))

    def _scored(self, run: graph_reads.Run, pairs: set[tuple[str, str]]) -> list[Similar]:
        ends = [{"source_id": min(pair), "target_id": max(pair)} for pair in sorted(pairs)]
        starts = range(0, len(ends), ROWS_PER_STATEMENT)
        scored = (run("read/score_names", rows=ends[start : start + ROWS_PER_STATEMENT]) for start in starts)
        return [Similar(**row) for batch in scored for row in batch]

    def _hits(self, name: str, /, **parameters: Any) -> list[Hit]:
        return decode_hits(self._run(name, **parameters))

    def _runner(self, execute: Execute) -> graph_reads.Run:
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
        """The indexes and constraints of the schema that are missing, failed, not ready, or for other vectors."""
        ready = {row["name"] for row in self._run("read/list_index_states") if row["state"] == "ONLINE"}
        wanted = {step.made for step in queries.migrations(self._dialect).values() if step.made}
        return tuple(sorted(wanted - ready | set(self._misfits(self._dimension))))

    def _await_indexes(self) -> None:
        with suppress(StoreError):  # one of them failed, or takes longer
            self._run("read/await_indexes", timeout_s=INDEXES_ONLINE_S)

    def _misfits(self, dimension: int) -> tuple[str, ...]:
        """The indexes of embeddings that are for vectors of another length, or on other properties."""
        indexed = {step.made: step.indexed for step in queries.migrations(self._dialect).values()}
        index_rows = [row for row in self._run("read/list_vector_indexes") if row["name"] in indexed]
        return tuple(
            row["name"]
            for row in index_rows
            if (row["dimension"], row["properties"]) != (dimension, indexed[row["name"]])
        )

    def _remake(self, broken: Sequence[str], dimension: int) -> None:
        """Make these indexes and constraints anew; over much data they get ready after this only."""
        if not broken:
            return
        for name in broken:
            for drop in ("write/drop_constraint", "write/drop_index"):
                self._connection.write(
                    "mend", lambda execute, drop=drop, name=name: self._runner(execute)(drop, name=name)
                )
        for step in queries.migrations(self._dialect).values():
            if step.made in broken:
                self._step(step, dimension)
        self._await_indexes()

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"{show(self)} is closed. Open it again.")
