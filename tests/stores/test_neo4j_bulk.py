"""The files for neo4j-admin: what they say of documents, and that they hold little of them in memory."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memgraph_rag.stores.neo4j import bulk as neo4j_bulk
from memgraph_rag.stores.neo4j.bulk import BETWEEN, EDGES, LATER, NODES, BulkFiles, BulkWriter
from memgraph_rag.stores.shared import queries
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER, make_graph, make_relations, random_units
from memgraph_rag.types import DocumentGraph

NAMESPACE = "bulk"


def written(folder: Path, *graphs: DocumentGraph) -> BulkFiles:
    """Files of these documents, each written for itself."""
    with BulkWriter(
        folder, database="neo4j", namespace=NAMESPACE, embedder=EMBEDDER, dimension=DIMENSION
    ) as writer:  # fmt: skip
        for graph in graphs:
            writer.write([graph])
        return writer.finish()


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_each_statement_that_stores_documents_has_a_file_or_a_reason() -> None:
    names = {path.stem for path in queries.folder().rglob("write/**/*.cypher")}
    stored = {f"write/{name}" for name in names if name.startswith(("create_", "link_"))}
    of_questions = {name for name in stored if "question" in name or "reads" in name}
    elsewhere = {"write/create_entities", "write/link_names"}  # gathered until the end, and edges in two files
    elsewhere |= {"write/link_segments"}  # only an examination runs it: create_segments links segments
    assert stored - of_questions - elsewhere == {*NODES, *EDGES, *LATER}


def test_embeddings_are_read_back_bit_for_bit(tmp_path: Path) -> None:
    numbers = np.concatenate(
        [random_units(300, seed=7), np.float32([[1e-38, -1e-45, 3.4028235e38, 0.1, -0.0, 1, 0, 7]])]
    )
    written(tmp_path, make_graph(NAMESPACE, "one", ("A.",) * len(numbers), embeddings=numbers))
    rows = table(tmp_path, "nodes-Segment")
    again = np.array([row["embedding:float[]"].split(BETWEEN) for row in rows], np.float32)
    assert again.tobytes() == numbers.tobytes()


def test_entity_of_many_documents_is_written_once(tmp_path: Path) -> None:
    first = make_relations(NAMESPACE, make_graph(NAMESPACE, "one", ("Ann met Bob.", "Ann slept.")))
    second = make_relations(NAMESPACE, make_graph(NAMESPACE, "two", ("ANN met Eve.",)))
    files = written(tmp_path, first, second)
    rows = {row["normal:string"]: row for row in table(tmp_path, "nodes-Entity")}
    assert files.entities == len(rows) == 3
    assert rows["ann"]["surfaces:string"] == '[["ANN", "NAME", 1], ["Ann", "NAME", 2]]'
    assert rows["ann"]["name:string"] == "Ann"
    assert all(row["embedding:float[]"] for row in rows.values())
    assert (files.documents, files.segments) == (2, 3)


def test_echo_is_in_no_namespace_of_the_word_index(tmp_path: Path) -> None:
    graph = make_graph(NAMESPACE, named=False)
    echo = replace(graph, segments=(replace(graph.segments[0], echo=True), *graph.segments[1:]))
    written(tmp_path, echo)
    first, *others = [row["namespace_id:string"] for row in table(tmp_path, "nodes-Segment")]
    assert not first
    assert all(others)


def test_value_longer_than_the_buffer_makes_it_longer(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    files = written(tmp_path / "text", make_graph(NAMESPACE, "long", ('"' * 3_000_000,), named=False))
    assert "--read-buffer-size=12000000" in files.arguments
    table = neo4j_bulk._Table("--nodes=Overview", tmp_path)
    table.append({"id:ID": ["a"], "documents": [["0" * 32] * 1000]})
    table.close()
    assert table.longest == 33_000


def test_unknown_statement_is_refused(tmp_path: Path) -> None:
    with (
        BulkWriter(tmp_path, database="neo4j", namespace="n", embedder="e", dimension=1) as writer,
        pytest.raises(KeyError),
    ):
        writer._create("write/link_reads_to_points", {"question_id": ["q"]})
