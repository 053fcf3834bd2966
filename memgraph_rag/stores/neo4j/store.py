"""A graph in a Neo4j server, version 5.26 or 2026.

The module knows no model and no other engine. Invariant: every statement on documents has its namespace bound. The
result of an index is used only if neither a tie nor the nodes of another namespace can make it differ from the exact
result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from typing_extensions import override

from memgraph_rag.display import show
from memgraph_rag.errors import StoreError
from memgraph_rag.lexical import dates
from memgraph_rag.lexical.bm25 import most_frequent
from memgraph_rag.lexical.tokenize import query_terms, stemmer_name
from memgraph_rag.stores.layer_rows import DocumentWrite
from memgraph_rag.stores.neo4j import first_opening as neo4j_first_opening
from memgraph_rag.stores.neo4j import reembed as neo4j_reembed
from memgraph_rag.stores.neo4j.answers import add_words, decode_hits, index_width, lucene_query, select_trusted_hits
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
from memgraph_rag.types import DocumentGraph, Flaws, Hit, IndexedSegment, Neighbour, Similar, Vector

T = TypeVar("T")

ROWS_PER_STATEMENT = 1000
NAMES_AT_ONCE, WIDENED = 128, 8
TRIES = 5
LANGUAGES_SINCE = 46  # the version of the schema from which documents have a language, and segments words
INDEXES_ONLINE_S = 60
MOST_KEYWORDS = 512  # Lucene refuses more than 1,024 clauses


class Overtaken(Exception):
    """An error: another writer committed between a read and the transaction that depends on it."""


class Neo4jStore(graph_writes.WrittenGraph):
    """A ``GraphStore`` that keeps the graph of one namespace in a Neo4j database."""

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
        self._closed = False
        self._embedder = embedder
        self._has_written = False
        self._stemmers: tuple[int, list[str]] = -1, []
        self._dialect = self._find_dialect()

    def __repr__(self) -> str:
        return f"Neo4jStore({self._connection.address!r}, namespace={self._namespace!r})"

    @property
    @override
    def schema(self) -> Mapping[str, Any]:
        return next(iter(self._run("read/find_schema", schema_id=schema.SCHEMA_ID)), {})

    @override
    def close(self) -> None:
        self._closed = True
        self._connection.close()

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────

    @override
    def find_nearest(self, vector: Vector, *, k: int, documents: Sequence[str] | None = None) -> list[Hit]:
        if documents is not None:
            return graph_reads.score_nodes(self._run, vector, documents=documents, k=k)
        query = graph_reads.vector_parameter(vector)
        hit_rows = self._search_index("read/find_nearest_segments", vector=query, width=index_width(k))
        return select_trusted_hits(decode_hits(hit_rows or []), k) or self._get_hits(
            "read/score_namespace", vector=query, k=k
        )

    @override
    def find_matching(self, keywords: str, *, k: int, documents: Sequence[str] | None = None) -> list[Hit]:
        if graph_reads.is_empty_scope(documents):
            return []
        stems = (term for terms in query_terms(keywords, self._find_stemmers()).values() for term in terms)
        words = [*dict.fromkeys((*stems, *dates.list_query_terms(keywords)))][:MOST_KEYWORDS]
        if not words:
            return []
        parameters = {"query": lucene_query(words, self._bound["namespace_id"])}
        if documents is not None:
            return self._get_hits("read/find_matching_segments_of", **parameters, k=k, document_ids=list(documents))
        width = index_width(k)
        while True:
            hits = self._get_hits("read/find_matching_segments", **parameters, width=width)
            if len(hits) < width or select_trusted_hits(hits, k):
                return hits[:k]
            width *= WIDENED

    def _find_stemmers(self) -> list[str]:
        """Return the stemmers of the namespace's most segments; they are counted again after a write."""
        version = self.version()
        if self._stemmers[0] != version:
            counts: Counter[str] = Counter()
            for row in self._run("read/count_languages"):
                counts[stemmer_name(row["language"])] += row["count"]
            self._stemmers = version, most_frequent(counts)
        return self._stemmers[1]

    @override
    def expand(
        self, entity_ids: Sequence[str], *, vector: Vector | None, k: int, documents: Sequence[str] | None = None
    ) -> list[Neighbour]:
        """Return the nearest relations by the index, if its result can be trusted; else by an exact search.

        The search is exact if documents are given, and always in Neo4j 5, whose index cannot filter relations by their
        entities.
        """
        query = None if vector is None else graph_reads.vector_parameter(vector)
        if not entity_ids or k < 1 or graph_reads.is_empty_scope(documents):
            return []
        parameters: dict[str, Any] = {"entity_ids": list(dict.fromkeys(entity_ids))}
        if query is not None and documents is None and self._dialect == "neo4j_2026":
            neighbour_rows = self._search_index(
                "read/find_near_neighbours", **parameters, vector=query, k=k + 1, width=index_width(k)
            )
            near = relation_rows.decode_neighbours(neighbour_rows or [], k + 1)
            if neighbour_rows is not None and (len(near) <= k or select_trusted_hits(near, k)):
                return near[:k]
        parameters |= {"k": k} | graph_reads.bind_scope(documents)
        if query is None:
            neighbour_rows = self._run("read/list_neighbours", **parameters)
        else:
            neighbour_rows = self._run("read/find_neighbours", **parameters, vector=query)
        return relation_rows.decode_neighbours(neighbour_rows, k)

    @override
    def list_indexed_segments(self, *, since: int) -> list[IndexedSegment]:
        segments = self._stream("read/list_indexed_segments", {"since": since}, self._decode_segment)
        return sorted(segments, key=lambda segment: (segment.document_id, segment.index))

    @override
    def segments_around(self, segment_ids: Sequence[str]) -> list[IndexedSegment]:
        if not segment_ids:
            return []
        segments = self._stream(
            "read/list_segments_around", {"segment_ids": list(dict.fromkeys(segment_ids))}, self._decode_segment
        )
        return sorted(segments, key=lambda segment: (segment.document_id, segment.index))

    @override
    def find_linked_segments(
        self,
        masses: Mapping[str, float],
        *,
        entity_ids: Sequence[str] = (),
        title_ids: Sequence[str] = (),
        entity_mass: float = 0.0,
        k: int,
        documents: Sequence[str] | None = None,
    ) -> list[Hit]:
        named = {"entity_ids": list(entity_ids), "title_ids": list(title_ids)}
        return self._get_hits(
            "read/find_linked_segments",
            rows=[{"id": segment_id, "mass": mass} for segment_id, mass in masses.items()],
            entity_mass=entity_mass, most=MOST_LINKS, k=k, **named, **graph_reads.bind_scope(documents),
        )  # fmt: skip

    @override
    def count_naming_segments(self, entity_ids: Sequence[str]) -> list[int]:
        """Return how many segments mention each of these entities; for an entity with many, the number of mentions."""
        counted = self._run("read/count_naming", entity_ids=list(dict.fromkeys(entity_ids)))
        numbers = dict(pair for row in counted for pair in row["counts"])
        return [numbers.get(entity_id, 0) for entity_id in entity_ids]

    def _stream(self, name: str, parameters: Mapping[str, Any], decode: Callable[[Mapping[str, Any]], T]) -> list[T]:
        """Return the rows of a statement, each decoded as it arrives."""
        self._require_open()
        statement = queries.statement(name, self._dialect)
        bound = statement.bind(self._bound, parameters)
        return self._connection.stream(statement.name, statement.text, bound, decode)

    def _decode_segment(self, row: Mapping[str, Any]) -> IndexedSegment:
        """Return a segment of a search index. A missing embedding becomes 0: keywords still find the segment."""
        return rows.decode_indexed({**row, "embedding": row["embedding"] or [0.0] * self._dimension})

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────

    def migrate(self, *, embedder: str, dimension: int) -> None:
        """Create or update the store's schema for an embedder and the length of its vectors.

        Neo4j cannot change schema and data in one transaction. So each step is a transaction of its own that can be
        repeated, and the version is written last. Unless the store is read-only, indexes of vectors of another length
        are created again, also if the schema is current.
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
                    self._apply_step(step, dimension)
            if stored.get("version", 0) < LANGUAGES_SINCE:
                for store in map(self.bind_namespace, self.namespaces()):
                    hold = partial(store._transaction, "migrate", first=graph_writes.HELD)
                    neo4j_first_opening.complete_words(store._run, hold)
            neo4j_first_opening.await_indexes(self._run)
            if stored and not stored["version"]:
                for store in map(self.bind_namespace, self.namespaces()):
                    hold = partial(store._transaction, "complete", first=graph_writes.HELD)
                    neo4j_first_opening.complete(store._run, hold)
            parameters = {"version": version, "embedder": embedder, "dimension": dimension}
            self._connection.write(
                "migrate",
                lambda execute: self._runner(execute)("write/save_schema", schema_id=schema.SCHEMA_ID, **parameters),
            )
        if not self._read_only:
            self._recreate(self._find_misfits(dimension), dimension)

    @override
    def bind_namespace(self, namespace: str) -> Neo4jStore:
        store = Neo4jStore(
            self._connection, namespace=namespace, read_only=self._read_only,
            embedder=self._embedder, dimension=self._dimension,
        )  # fmt: skip
        store.name_scale = self.name_scale
        return store

    def reembed(self, *, embedder: str, dimension: int, again: Callable[[DocumentGraph], DocumentGraph]) -> None:
        """Replace all embeddings in one transaction. All new vectors are in memory during it.

        If their length differs, the indexes of embeddings are created again afterwards; until they are ready, vector
        searches are exact. If other writers come between, all texts are embedded again, up to a number of tries.

        Raises:
            StoreError: a write came between in each try. Nothing was changed.
        """
        self._require_open()
        self._require_writable()
        for _ in range(TRIES):
            namespaces = [self.bind_namespace(namespace) for namespace in self.namespaces()]
            prepared = [(store, store.version(), neo4j_reembed.read_new_vectors(store, again)) for store in namespaces]
            try:
                self._connection.write(
                    "reembed", lambda execute, prepared=prepared: self._switch(execute, prepared, embedder, dimension)
                )
            except Overtaken:
                if not self._has_new_embeddings(embedder, dimension):
                    continue
            self._recreate(self._find_misfits(dimension), dimension)
            return
        raise StoreError(
            f"Expected {self._connection.address} to stay unchanged while its texts are embedded anew, got writes "
            f"during each of {TRIES} tries. Nothing was changed; try again when there are fewer writes.",
            address=self._connection.address,
        )

    def _has_new_embeddings(self, embedder: str, dimension: int) -> bool:
        """Return whether the new embeddings are stored, although the answer to their commit was lost."""
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
        # After the schema was written: the first write of a new namespace locks the schema, see _transaction.
        if sorted(store.namespace for store, *_ in prepared) != self.namespaces():
            raise Overtaken

    @override
    def flaws(self) -> Flaws:
        """Return the flaws of the graph, and the unusable indexes of the database.

        It first waits for indexes that are being built, up to a time limit. An index that is not ready then counts as
        unusable.
        """
        self._await_indexes()
        return replace(super().flaws(), indexes=self._find_unusable())

    @override
    def mend(self, vectors: Mapping[str, Vector]) -> Flaws:
        """Create unusable indexes again, then repair the graph in one transaction; return the earlier flaws.

        An index or constraint is unusable if it is missing, failed, not ready, or made for vectors of another length.
        It is dropped and created before the transaction.
        """
        self._require_writable()
        self._await_indexes()
        broken = self._find_unusable()
        self._recreate(broken, self._dimension)
        return replace(super().mend(vectors), indexes=broken)

    @override
    def empty_database(self) -> str:
        """Return the name of the database, after checking that it contains no node of any program.

        Raises:
            StoreError: the database contains a node.
        """
        node_rows = self._run("read/find_any_node")
        if node_rows:
            raise StoreError(
                "Expected an empty database for a bulk import, which replaces its whole content, got "
                f"{show(self)} with nodes of {':'.join(node_rows[0]['labels']) or 'no label'}. Import without --bulk, "
                "or into an empty database."
            )
        return self._connection.database or "neo4j"

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────

    def _find_dialect(self) -> queries.Dialect:
        """Return the dialect of the existing indexes, else that of the server.

        A database may be older than its server.
        """
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

    def _search_index(self, name: str, /, **parameters: Any) -> list[dict[str, Any]] | None:
        """Run a statement on an index of embeddings; None while the index is missing or has another dimension."""
        try:
            return self._run(name, **parameters)
        except StoreError as error:
            if error.retryable or not self._find_unusable():
                raise
            return None

    def _check_embedder(self, run: graph_reads.Run) -> None:
        """Refuse vectors of an embedder whose vectors the store has replaced."""
        stored = next(iter(run("read/find_schema", schema_id=schema.SCHEMA_ID)), {})
        if self._embedder and (stored.get("embedder"), stored.get("dimension")) != (self._embedder, self._dimension):
            raise schema.make_replaced_embeddings_error(self._connection.address)

    @override
    def _transaction(
        self,
        operation: str,
        work: graph_writes.Work[T],
        document_ids: Sequence[str] = (),
        *,
        row_bytes: int = 0,
        first: str = graph_writes.COUNTED,
    ) -> T:
        self._require_open()
        self._require_writable()

        def check_and_work(execute: Execute) -> T:
            run = self._runner(execute)
            found = graph_writes.begin(run, first, document_ids)
            if not self._has_written and run("read/find_namespace_version")[0]["version"] <= 1:
                # The first write of a namespace locks the schema: reembed does not see this namespace yet.
                run("write/hold_schema", schema_id=schema.SCHEMA_ID)
            self._check_embedder(run)  # while it waited, another process may have replaced all embeddings
            return work(DocumentWrite(run, self._creator(execute), self._find_near, found))

        result = self._connection.write(operation, check_and_work)
        self._has_written = True
        return result

    @override
    def _find_near(self, run: graph_reads.Run, columns: rows.Columns) -> list[Similar]:
        """Return near names from the index, which knows earlier transactions, and from the rows themselves.

        The index is asked for more and more names of a row until the last one is below the bound, so that no near name
        is cut off. The scores are then computed from the stored vectors, all in the same way.
        """
        listed = rows.as_dicts(columns)
        least = self._least_cosine()
        pairs = neo4j_reembed.find_near_pairs(columns, least)
        width = NAMES_AT_ONCE
        while listed:
            unfinished: set[str] = set()
            for start in range(0, len(listed), ROWS_PER_STATEMENT):
                some = listed[start : start + ROWS_PER_STATEMENT]
                for row in run("read/find_near_names", rows=some, width=width, least=least):
                    pairs |= {(row["id"], other) for other in row["near"] if other != row["id"]}
                    if row["looked_at"] >= width and row["lowest"] >= least:
                        unfinished.add(row["id"])
            listed = [row for row in listed if row["id"] in unfinished]
            width *= WIDENED
        return self._score_pairs(run, pairs)

    def _find_among(self, run: graph_reads.Run, columns: rows.Columns) -> list[Similar]:
        """Return near names among these rows only, when they are all embedded names."""
        return self._score_pairs(run, neo4j_reembed.find_near_pairs(columns, self._least_cosine()))

    def _least_cosine(self) -> float:
        return self.name_scale().raw_names(relation_writes.LOWEST_COSINE)

    def _score_pairs(self, run: graph_reads.Run, pairs: set[tuple[str, str]]) -> list[Similar]:
        ends = [{"source_id": min(pair), "target_id": max(pair)} for pair in sorted(pairs)]
        starts = range(0, len(ends), ROWS_PER_STATEMENT)
        scored = (run("read/score_names", rows=ends[start : start + ROWS_PER_STATEMENT]) for start in starts)
        pairs_with_cosines = [Similar(**row) for batch in scored for row in batch]
        return relation_writes.read_scores(pairs_with_cosines, self.name_scale())

    def _get_hits(self, name: str, /, **parameters: Any) -> list[Hit]:
        return decode_hits(self._run(name, **parameters))

    def _runner(self, execute: Execute) -> graph_reads.Run:
        def run(name: str, /, **parameters: Any) -> list[dict[str, Any]]:
            statement = queries.statement(name, self._dialect)
            return execute(statement.text, statement.bind(self._bound, parameters))

        return run

    def _creator(self, execute: Execute) -> rows.Create:
        run = self._runner(execute)

        def create(name: str, columns: rows.Columns, /, **parameters: Any) -> None:
            listed = rows.as_dicts(add_words(columns) if name == "write/create_segments" else columns)
            for start in range(0, len(listed), ROWS_PER_STATEMENT):
                run(name, rows=listed[start : start + ROWS_PER_STATEMENT], **parameters)

        return create

    def _apply_step(self, step: queries.Statement, dimension: int) -> None:
        parameters = step.bind({"dimension": dimension}, {})
        try:
            self._connection.write(step.name, lambda execute: execute(step.text, parameters))
        except StoreError as error:  # despite IF NOT EXISTS, another process may create the index at the same time
            if not error.facts.get("code", "").endswith("EquivalentSchemaRuleAlreadyExists"):
                raise

    def _find_unusable(self) -> tuple[str, ...]:
        """Return the indexes and constraints that are missing, failed, not ready, or for vectors of another length."""
        ready = {row["name"] for row in self._run("read/list_index_states") if row["state"] == "ONLINE"}
        wanted = {step.created_index for step in queries.migrations(self._dialect).values() if step.created_index}
        return tuple(sorted(wanted - ready | set(self._find_misfits(self._dimension))))

    def _await_indexes(self) -> None:
        with suppress(StoreError):  # an index failed, or needs more time
            self._run("read/await_indexes", timeout_s=INDEXES_ONLINE_S)

    def _find_misfits(self, dimension: int) -> tuple[str, ...]:
        """Return the indexes of embeddings that have another dimension or other properties."""
        indexed = {step.created_index: step.indexed_properties for step in queries.migrations(self._dialect).values()}
        index_rows = [row for row in self._run("read/list_vector_indexes") if row["name"] in indexed]
        return tuple(
            row["name"]
            for row in index_rows
            if (row["dimension"], row["properties"]) != (dimension, indexed[row["name"]])
        )

    def _recreate(self, broken: Sequence[str], dimension: int) -> None:
        """Create these indexes and constraints again. With much data they are ready only later."""
        if not broken:
            return
        for name in broken:
            for drop in ("write/drop_constraint", "write/drop_index"):
                self._connection.write(
                    "mend", lambda execute, drop=drop, name=name: self._runner(execute)(drop, name=name)
                )
        for step in queries.migrations(self._dialect).values():
            if step.created_index in broken:
                self._apply_step(step, dimension)
        self._await_indexes()

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"{show(self)} is closed. Open it again.")
