"""A Ladybug file of before version 42, in which relations have their embeddings on the edges, is brought up to date."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from ladybug_files import opened, run_python
from store_snapshot import whole_graph

from memgraph_rag.stores import open_store
from memgraph_rag.stores.ladybug.paths import has_log
from memgraph_rag.stores.shared import queries
from memgraph_rag.testing.sample_graphs import DIMENSION, make_graph, make_relations

GRAPHS = [
    replace(graph, document=replace(graph.document, language=""))  # too short to tell
    for graph in (
        make_relations("n", make_graph("n", key, texts))
        for key, texts in (("a", ("Alice met Bob.", "Bob met Eve.")), ("b", ("Alice met Bob.", "Ann met Dan.")))
    )
]

BEFORE = 41

BACK = (
    f"ALTER TABLE RELATES_TO ADD embedding FLOAT[{DIMENSION}]",
    "MATCH (:Entity)-[r:RELATES_TO]->(:Entity), (v:RelationEmbedding) WHERE v.id = r.id SET r.embedding = v.embedding",
    "DROP TABLE RELATED_BY",
    "DROP TABLE RelationEmbedding",
    "ALTER TABLE Namespace DROP mark",
    "ALTER TABLE Document DROP language",
    queries.migrations("ladybug")[21].text,
    f"MATCH (s:Schema) SET s.version = {BEFORE}",
)

KILLED = """
import os, sys
from memgraph_rag.stores import open_store
from memgraph_rag.stores.ladybug.store import LadybugStore
from memgraph_rag.stores.ladybug.paths import has_log
from memgraph_rag.testing.sample_graphs import DIMENSION, EMBEDDER
path, moment = sys.argv[1:]
build = LadybugStore._build
def killed(self, *options):
    build(self, *options)
    if moment == "before the commit":
        os._exit(9)
LadybugStore._build = killed
open_store(path, namespace="n").migrate(embedder=EMBEDDER, dimension=DIMENSION)
os._exit(9)
"""


@pytest.mark.parametrize("moment", ["", "before the commit", "after the commit"])
def test_relations_of_an_old_file_keep_their_embeddings(tmp_path: Path, moment: str) -> None:
    path = tmp_path / "notes.lbug"
    with closing(opened(path)) as store:
        store.write_many(GRAPHS)
        before = whole_graph(store, {"address": path})
        for text in BACK:
            store._file.transaction(lambda execute, text=text: execute(text, {}))
        assert whole_graph(store, {"address": path}) != before
    if moment:
        assert run_python(KILLED, path, moment).returncode == 9
        assert has_log(str(path)) == (moment == "after the commit")
    with closing(open_store(path, namespace="n")) as store:
        changed = moment == "after the commit"
        assert store.schema["version"] == (max(queries.migrations("ladybug")) if changed else BEFORE)

    with closing(opened(path)) as store:
        assert whole_graph(store, {"address": path}) == before
        assert not store.flaws()
        for graph in GRAPHS:
            for relation, embedding in zip(graph.relations, graph.relation_embeddings, strict=True):
                assert store.expand([relation.source_id], vector=embedding, k=1)[0].relation == relation
            store.forget(graph.document.id)
        assert whole_graph(store, {"address": path}) == ([], [])
