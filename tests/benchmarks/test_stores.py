"""The benchmark of large files: its figures are of the file that it wrote."""

from __future__ import annotations

from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from memgraph_rag.stores import open_store

stores: Any = import_module("stores")  # a type checker takes ``import stores`` for tests/stores


def test_figures_are_of_the_file_that_is_left(tmp_path: Path) -> None:
    path = tmp_path / "large.lbug"

    figures = stores.measure_file(path, 60, replacements=3)

    with closing(open_store(path, namespace="large file")) as graph:
        counts = graph.statistics()
    added = stores.OPENINGS + 1  # the document that was replaced is there once
    assert (counts["Document"], counts["Segment"]) == (1 + added, 60 + 5 * added)
    assert figures["relations"] > 100
    assert 0 < figures["close_after_one_add_s, of processor"][0] <= figures["longest_close_s"]
    assert figures["file_bytes_after_purge"] == path.stat().st_size < figures["file_bytes_after"]
