"""A graph in one Ladybug file.

The module knows no model and no other engine. Invariant: every statement has its namespace bound. Every result follows
from the content of the file; the keyword index is a cache that is renewed by the version of the namespace.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from typing_extensions import override

from memgraph_rag.display import show
from memgraph_rag.errors import StoreError
from memgraph_rag.stores.ladybug import rewrite as ladybug_rewrite
from memgraph_rag.stores.ladybug import sidecars as ladybug_sidecars
from memgraph_rag.stores.ladybug.file import IN_MEMORY, Execute, LadybugFile
from memgraph_rag.stores.layer_rows import DocumentWrite
from memgraph_rag.stores.shared import graph_reads, graph_writes, queries, relation_rows, relation_writes, rows, schema
from memgraph_rag.stores.shared.document_languages import save_languages
from memgraph_rag.stores.shared.document_reader import DOCUMENTS_TOGETHER, iterate_graphs
from memgraph_rag.stores.shared.linked_segments import entity_masses, select_linked_hits
from memgraph_rag.stores.shared.segment_words import SegmentWords
from memgraph_rag.types import (
    DocumentGraph,
    DocumentRecord,
    Hit,
    IndexedSegment,
    Matrix,
    Naming,
    Neighbour,
    Similar,
    Vector,
)

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

DIALECT: queries.Dialect = "ladybug"

LANGUAGES_SINCE = 48  # the version of the schema from which documents have a language

SHARED_TABLES = ("Namespace",)
"""Tables of nodes that no document owns."""

RELATION_TABLES = ("RelationEmbedding", "RELATED_BY")
"""Tables for the relations of documents, in addition to ``RELATES_TO``."""

# A list of few rows is stored faster than an arrow table, for which the engine plans the statement each time:
# 8 mentions take 0.3 ms, not 1.4; 80 take 1.3, not 1.5.
FEW_ROWS = 32


class LadybugStore(graph_writes.WrittenGraph):
    """A ``GraphStore`` that keeps the graph of one namespace in a Ladybug file."""

    def __init__(self, file: LadybugFile, *, namespace: str, read_only: bool = False, dimension: int = 0) -> None:
        self._file = file
        super().__init__(namespace, read_only=read_only, dimension=dimension)
        self._words: tuple[int, SegmentWords] | None = None
        self._closed = False
        self._generation = file.generation

    def __repr__(self) -> str:
        return f"LadybugStore({self._file.place!r}, namespace={self._namespace!r})"

    @property
    @override
    def schema(self) -> Mapping[str, Any]:
        if self._file.is_empty:
            return {}
        run = self._runner(self._file.read)  # not _run, which refuses a file that was embedded anew
        if all(row["name"] != "Schema" for row in run("read/list_tables")):
            return {}
        return next(iter(run("read/find_schema", schema_id=schema.SCHEMA_ID)), {})

    @override
    def close(self) -> None:
        if not self._file.process.is_current:
            return
        with self._file.lock:
            closed, self._closed = self._closed, True
        if not closed:
            self._file.close()

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────

    def find_nearest(self, vector: Vector, *, k: int, documents: Sequence[str] | None = None) -> list[Hit]:
        """Return the k segments with the largest cosine, without echoes, by an exact scan; best first, ties by id."""
        if documents is not None:
            return graph_reads.score_nodes(self._run, vector, documents=documents, k=k)
        return rows.decode_hits(self._run("read/score_namespace", vector=graph_reads.vector_parameter(vector), k=k))

    @override
    def find_matching(self, keywords: str, *, k: int, documents: Sequence[str] | None = None) -> list[Hit]:
        return self._segment_words().find(keywords, k=k, documents=documents)

    @override
    def expand(
        self, entity_ids: Sequence[str], *, vector: Vector | None, k: int, documents: Sequence[str] | None = None
    ) -> list[Neighbour]:
        """Return the nearest relations by several statements: as a single one, the engine takes twice as long."""
        if vector is not None:
            graph_reads.vector_parameter(vector)  # refuses a zero vector; the engine takes the array itself
        if not entity_ids or k < 1 or graph_reads.is_empty_scope(documents):
            return []
        run = self._runner(self._file.look_up)
        with self._file.lock:  # no write between the two
            self._require_open()
            near = run("read/find_places", entity_ids=list(dict.fromkeys(entity_ids)))
            places = {value for row in near for value in (row["place"], row["near_place"]) if value is not None}
            if not places:
                return []
            at = sorted(places)
            if vector is None:
                stated = run("read/list_neighbours", places=at, k=2 * k, **graph_reads.bind_scope(documents))
            else:
                stated = _find_nearest(run, at, vector, k, documents)
            best = list({row["id"]: row for row in stated}.values())[:k]
            if not best:
                return []
            joined = {value for row in best for value in (row["source_id"], row["target_id"])}
            names = {row["id"]: row["name"] for row in run("read/find_entities", entity_ids=sorted(joined))}
        named = ({"source": names[row["source_id"]], "target": names[row["target_id"]]} for row in best)
        return relation_rows.decode_neighbours((row | both for row, both in zip(best, named, strict=True)), k)

    @override
    def _score_naming(self, entity_ids: Sequence[str], **parameters: Any) -> list[dict[str, Any]]:
        """Run two statements: from the places of entities the engine reads only the segments that mention them."""
        run = self._runner(self._file.look_up)
        with self._file.lock:  # no write between the two
            self._require_open()
            places = sorted(row["place"] for row in run("read/find_entity_places", entity_ids=entity_ids))
            return run("read/score_naming", places=places, **parameters) if places else []

    @override
    def list_indexed_segments(self, *, since: int) -> list[IndexedSegment]:
        with self._file.lock:  # no write between the statements
            self._require_open()
            document_ids = self._list_written_ids(since)
            changed = {"document_ids": document_ids} if len(document_ids) == 1 else {"since": since}
            names = ("read/list_indexed_segments", "read/list_indexed_entities")
            return _decode_segments(*(self._read_table(name, **changed) for name in names))

    def _list_written_ids(self, since: int) -> list[str]:
        return [row["id"] for row in self._run("read/list_written_ids", since=since)] if since >= 0 else []

    @override
    def list_written_documents(self, *, since: int = -1) -> list[DocumentRecord]:
        return self.documents(self._list_written_ids(since) if since >= 0 else None)

    @override
    def document_ids(self) -> list[str]:
        return sorted(self._run("read/list_document_ids")[0]["ids"])

    @override
    def namings(self) -> list[Naming]:
        with self._file.lock:
            self._require_open()
            table = self._read_table("read/count_namings")
        return rows.sum_namings(zip(*(column.to_pylist() for column in table.columns), strict=True))

    @override
    def segments_around(self, segment_ids: Sequence[str]) -> list[IndexedSegment]:
        if not segment_ids:
            return []
        with self._file.lock:  # no write between the two
            self._require_open()
            neighbours = self._read_table("read/list_neighbouring_segments", segment_ids=list(segment_ids))
            wanted = list(dict.fromkeys([*segment_ids, *neighbours["id"].to_pylist()]))
            table = self._read_table("read/find_indexed_segments", segment_ids=wanted)
            named = self._read_table("read/find_indexed_entities", segment_ids=wanted)
        return _decode_segments(table, named)

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
        run = self._runner(self._file.look_up)
        with self._file.lock:  # no write between the two
            self._require_open()
            left = run("read/list_segment_edges", segment_ids=list(masses), entity_ids=list(entity_ids),
                       title_ids=list(title_ids))  # fmt: skip
            ids = sorted({row["entity_id"] for row in left})
            edges = run("read/list_entity_edges", entity_ids=ids, **graph_reads.bind_scope(documents)) if ids else []
        named = sorted({row["entity_id"] for row in left if not row["segment_id"]})
        on_entities = entity_masses((row for row in left if row["segment_id"]), masses)
        return select_linked_hits(edges, on_entities, named=named, entity_mass=entity_mass, k=k)

    @override
    def find_kept_index(self) -> Path | None:
        """Return the kept index file that the current state continues; None if there is none, or in memory."""
        digest = None if self._file.place == IN_MEMORY else self._make_state_digest()
        return None if digest is None else self._file.kept.find(digest)

    @override
    def keep_index(self, write: Callable[[Path], None], *, version: int, nbytes: int) -> None:
        """Keep an index file next to this file. A write of the namespace that deletes something removes it first.

        Nothing is kept in memory, for a read-only store, or on Windows.
        """
        if self._read_only or self._file.place == IN_MEMORY:
            return

        def digest() -> str | None:
            return self._make_state_digest() if self.version() == version else None

        self._file.kept.keep(write, nbytes=nbytes, digest=digest)

    def _make_state_digest(self) -> str | None:
        """Return a digest of the current state of the namespace, which differs from every other state, even in a copy.

        It follows from the mark of the last write. None if an older version of this library made that write. The first
        half of the digest is that of the namespace.
        """
        mark = next((row["mark"] for row in self._run("read/find_namespace_mark")), "")
        if not mark:
            return None
        return _digest(self._namespace) + _digest(self._namespace, mark, self._dimension)

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────

    def migrate(self, *, embedder: str, dimension: int) -> None:
        """Create or update the schema for an embedder, in one transaction; write nothing if it is current."""
        steps = queries.migrations(DIALECT)
        with self._file.lock:
            stored = self.schema
            version = max(steps)
            schema.check(stored, version=version, embedder=embedder, dimension=dimension, address=self._file.place)
            if self._read_only:
                schema.check_current(stored, version=version, address=self._file.place)
            if stored.get("version", 0) < version:
                if self._file.place != IN_MEMORY:
                    self._file.kept.remove()  # a step may change rows without a write of their namespace
                self._file.change_schema(
                    lambda execute: self._build(execute, stored.get("version", 0), embedder, dimension),
                    row_bytes=self._file.size if stored else 0,  # a step may rewrite a whole table
                    script="" if stored else queries.whole_schema(DIALECT, dimension),
                )
            self._dimension = dimension
            self._generation = self._file.generation

    @override
    def bind_namespace(self, namespace: str) -> LadybugStore:
        store = LadybugStore(self._file, namespace=namespace, read_only=self._read_only, dimension=self._dimension)
        store.name_scale = self.name_scale
        return store

    def reembed(self, *, embedder: str, dimension: int, again: Callable[[DocumentGraph], DocumentGraph]) -> None:
        """Replace this file by one with other embeddings, by one rename; other users of the file wait meanwhile.

        The whole file is written again, as by ``purge``, because the length of a vector is part of a column's type.

        Raises:
            StoreError: the graph is in memory, or a namespace has other counts afterwards: nothing was changed.
        """
        self._require_writable()
        with self._file.lock:
            self._require_open()
            if self._file.place == IN_MEMORY:
                raise StoreError(
                    "Expected a file to embed anew, got a graph in memory. Add its documents to a new memory."
                )
            self._file.kept.remove()
            self._file.rewrite(lambda fresh: self._fill_with_new_embeddings(fresh, embedder, dimension, again))
            self._file.generation += 1

    def _fill_with_new_embeddings(
        self, fresh: LadybugFile, embedder: str, dimension: int, again: Callable[[DocumentGraph], DocumentGraph]
    ) -> None:
        """Write all documents with their new embeddings; copy the tables that no document owns."""
        script = queries.whole_schema(DIALECT, dimension)
        fresh.transaction(lambda execute: self._build(execute, 0, embedder, dimension), script=script)
        tables = [row["name"] for row in self._run("read/list_tables")]
        ladybug_rewrite.copy(self._file, fresh, but=[name for name in tables if name not in SHARED_TABLES])
        for namespace in self.namespaces():
            old, new = self.bind_namespace(namespace), LadybugStore(fresh, namespace=namespace, dimension=dimension)
            new.name_scale = self.name_scale
            graphs = map(again, iterate_graphs(old, old.document_ids()))
            for some in iter(lambda graphs=graphs: list(islice(graphs, DOCUMENTS_TOGETHER)), []):
                new.write_many(some)
            if _count_contributions(new.statistics()) != _count_contributions(old.statistics()):
                raise StoreError(
                    f"Expected all of namespace {show(namespace)}, {dict(old.statistics())}, with its new embeddings, "
                    f"got {dict(new.statistics())}. The graph is damaged: memgraph-rag doctor --repair. Nothing "
                    "was changed.",
                    namespace=namespace,
                )
        own = ["Schema", *SHARED_TABLES, *rows.OF_DOCUMENTS, *RELATION_TABLES]
        ladybug_rewrite.copy(self._file, fresh, but=own, further_sources=["Overview"])

    def purge(self) -> None:
        """Rewrite the file, with all namespaces, so that no forgotten or replaced text remains in it.

        Kept indexes and kept damaged logs are removed. In memory, nothing is rewritten.

        This takes about as long, and as much disk space, as writing the whole file again; other users of the file wait.
        """
        self._require_open()
        self._require_writable()
        with self._file.lock:
            stored = self.schema
            self._file.kept.remove()
            self._file.rewrite(lambda fresh: self._fill(fresh, stored))
            ladybug_sidecars.remove_damaged_logs(self._file.place)

    def _fill(self, fresh: LadybugFile, stored: Mapping[str, Any]) -> None:
        embedder, dimension = stored["embedder"], stored["dimension"]
        script = queries.whole_schema(DIALECT, dimension)
        fresh.transaction(lambda execute: self._build(execute, 0, embedder, dimension), script=script)
        ladybug_rewrite.copy(self._file, fresh, but=["Schema"])

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────

    def _run(self, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
        with self._file.lock:
            self._require_open()
            return self._runner(self._file.read)(name, **parameters)

    def _read_table(self, name: str, /, **parameters: Any) -> pa.Table:
        return self._runner(self._file.read_table)(name, **parameters)

    def _runner(self, execute: Callable[[str, Mapping[str, Any]], T]) -> Callable[..., T]:
        def run(name: str, /, **parameters: Any) -> T:
            statement = queries.statement(name, DIALECT)
            if len(parameters.get("document_ids", ())) == 1 and (keyed := queries.single_document_statement(name)):
                statement, parameters = keyed, parameters | {"document_ids": parameters["document_ids"][0]}
            return execute(statement.text, statement.bind(self._bound, parameters))

        return run

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
        self._require_writable()
        with self._file.lock:  # while this thread waited, another may have closed the file or embedded it anew
            self._require_open()
            kept = self.find_kept_index() if self._file.kept.may_be_there() else None

            def begin_and_work(execute: Execute) -> T:
                def execute_watched(text: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
                    if "DELETE" in text and self._file.place != IN_MEMORY:
                        self._file.kept.remove(_digest(self._namespace))  # before the commit
                    return execute(text, parameters)

                run = self._runner(execute_watched)
                found = graph_writes.begin(run, first, document_ids)
                return work(DocumentWrite(run, self._creator(execute_watched), self._find_near, found))

            result = self._file.transaction(begin_and_work, row_bytes=row_bytes)
            if kept is not None and (digest := self._make_state_digest()):
                self._file.kept.rename(kept, digest)
            return result

    @override
    def _find_near(self, run: graph_reads.Run, columns: rows.Columns) -> list[Similar]:
        """Return near names by an exact scan of the embedded names, once for all rows."""
        scale, stored = self.name_scale(), _to_arrow(columns)
        listed = run("read/find_near_names", rows=stored, least=scale.raw_names(relation_writes.LOWEST_COSINE))
        return relation_writes.read_scores([Similar(**row) for row in listed], scale)

    def _creator(self, execute: Execute) -> rows.Create:
        def create(name: str, columns: rows.Columns, /, **parameters: Any) -> None:
            count = len(columns[next(iter(columns))])
            statement = queries.statement(name, DIALECT)
            is_few = count <= FEW_ROWS and statement.takes_list
            if count:
                stored = rows.as_dicts(columns) if is_few else _to_arrow(columns)
                statement = statement if is_few else queries.table_statement(name)
                execute(statement.text, statement.bind(self._bound, {"rows": stored, **parameters}))

        return create

    def _build(self, execute: Execute, version: int, embedder: str, dimension: int) -> None:
        """Update an older schema; for a new one (``version`` 0), which is complete, only save its version."""
        steps = queries.migrations(DIALECT)
        for number, step in steps.items():
            if 0 < version < number:
                execute(step.text.replace("$dimension", str(int(dimension))), {})
        if 0 < version < LANGUAGES_SINCE:
            for row in self._runner(execute)("read/list_namespaces"):
                save_languages(self.bind_namespace(row["namespace"])._runner(execute))
        self._runner(execute)(
            "write/save_schema", schema_id=schema.SCHEMA_ID, version=max(steps), embedder=embedder, dimension=dimension
        )

    def _segment_words(self) -> SegmentWords:
        """Return the keyword index of all segments; read only the documents written since the last call."""
        with self._file.lock:  # no write between the version and the rows
            version = self.version()
            since, words = self._words or (-1, SegmentWords())
            if since != version:
                self._words = None  # an interrupted renewal must not leave an incomplete index
                words = self._renew_words(words, since)
                self._words = version, words
            return words

    def _renew_words(self, words: SegmentWords, since: int) -> SegmentWords:
        count = self._run("read/count_segments")[0]["count"]
        words.put(self._run("read/list_segment_texts", since=since))
        if len(words) != count:  # some were forgotten
            words.keep(self.document_ids())
        if len(words) != count or words.is_worn:
            words = SegmentWords()
            words.put(self._run("read/list_segment_texts", since=-1))
        return words

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"{show(self)} is closed. Open it again.")
        if self._generation != self._file.generation:
            raise schema.make_replaced_embeddings_error(self._file.place)


def _digest(*facts: str | int) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def _find_nearest(
    run: graph_reads.Run, places: list[int], vector: Vector, k: int, documents: Sequence[str] | None
) -> list[dict[str, Any]]:
    """Return the k relations of the entities in these places that are nearest to the vector; some of them twice."""
    parameters: dict[str, Any] = {"places": places, "vector": vector, "k": 2 * k}  # a relation comes from both ends
    if documents is None:
        scored = run("read/find_neighbours", **parameters)
    else:
        scored = run("read/find_neighbours_of", **parameters, document_ids=list(documents))
    scores = dict(islice({row["id"]: row["score"] for row in scored}.items(), k))
    if not scores:
        return []
    stated = run("read/find_relations_at", places=places, relation_ids=list(scores))
    return [{**row, "score": scores[row["id"]]} for row in stated]


def _count_contributions(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of documents' nodes and edges that do not depend on embeddings."""
    return {name: counts[name] for name in rows.OF_DOCUMENTS if name != "SIMILAR_TO"}


def _decode_segments(table: pa.Table, named: pa.Table) -> list[IndexedSegment]:
    """Return segments by (document id, index), with the entities that ``named`` lists for them and their documents."""
    entities: dict[str, list[str]] = {}
    for node_id, entity_id in zip(named["node_id"].to_pylist(), named["entity_id"].to_pylist(), strict=True):
        entities.setdefault(node_id, []).append(entity_id)
    vectors = _to_matrix(table["embedding"]) if table.num_rows else ()
    listed = table.drop_columns("embedding").to_pylist()
    segments = (
        rows.decode_indexed(
            row
            | {"embedding": vector}
            | {"entities": entities.get(row["id"], ()), "titles": entities.get(row["document_id"], ())}
        )
        for row, vector in zip(listed, vectors, strict=True)
    )
    return sorted(segments, key=lambda segment: (segment.document_id, segment.index))


def _to_matrix(column: pa.ChunkedArray) -> Matrix:
    """Return a column of embeddings as (n, d) float32; a missing embedding, which ``flatten`` leaves out, is 0.

    Without DLPack, pyarrow would import pandas where it is installed, for a quarter of a second.
    """
    joined = column.combine_chunks()
    matrix = np.zeros((len(joined), joined.type.list_size), np.float32)
    matrix[joined.is_valid().to_pylist()] = np.from_dlpack(joined.flatten()).reshape(-1, matrix.shape[1])
    return matrix


def _to_arrow(columns: rows.Columns) -> pa.Table:
    """Return columns as an arrow table, which the engine reads ten times faster than a list of rows."""
    import pyarrow as pa

    # To guess a type, pyarrow looks for pandas each time, which takes 0.05 ms a column instead of 0.005.
    types = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), float: pa.float64(), list: pa.list_(pa.string())}

    def convert(values: Any) -> pa.Array:
        if isinstance(values, np.ndarray):
            flat = pa.array(np.ascontiguousarray(values, np.float32).reshape(-1))
            return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
        return pa.array(values, types[type(values[0])])

    return pa.table({name: convert(values) for name, values in columns.items()})
