"""What ``make test`` leaves out, and what it never does; and tables, whose failure lists every row that fails."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lanes import DIFFERS_ON_5_26, SECOND, find_server, reason_for_full
from tables import table

from memgraph_rag.testing import store_suite

FOLDER = Path(__file__).parent


def lane_of(place: str, *marks: str, **values: Any) -> str:
    """Return the lane of an item with these values of its parameters."""
    callspec = SimpleNamespace(params=values)
    item: Any = SimpleNamespace(nodeid=place, callspec=callspec, get_closest_marker=lambda name: name in marks)
    return "full" if reason_for_full(item) else "first"


@table(
    ("place", "values", "lane"),
    [
        ("tests/stores/test_read_only.py::test_x[neo4j-5.26]", {"engine": "neo4j-5.26"}, "full"),
        ("tests/stores/test_read_only.py::test_x[neo4j-2026]", {"engine": "neo4j-2026"}, "first"),
        ("tests/stores/test_read_only.py::test_x[ladybug]", {"engine": "ladybug"}, "first"),
        ("tests/stores/test_migrations.py::test_migration_adds_ends[neo4j-5.26]", {"engine": "neo4j-5.26"}, "first"),
        ("tests/stores/test_migrations.py::test_x[neo4j-5.26]", {"engine": "neo4j-5.26"}, "full"),
        ("tests/faults/test_calls.py::test_x[neo4j-5.26]", {"engine": "neo4j-5.26"}, "first"),
        ("tests/test_memory.py::test_x[neo4j-2026]", {"open_memory": "neo4j"}, "full"),
        ("tests/test_memory.py::test_x[ladybug]", {"open_memory": "ladybug"}, "first"),
        ("tests/test_memory_asking.py::test_x[qrmem]", {"strategy": "qrmem"}, "full"),
        ("tests/test_memory_asking.py::test_x[walk]", {"strategy": "walk"}, "first"),
        ("tests/models/test_reference.py::test_x[llama]", {"checkpoint": "llama"}, "full"),
        ("tests/models/test_reference.py::test_x[qwen2]", {"checkpoint": "qwen2"}, "first"),
        ("tests/benchmarks/test_engine.py::test_x", {}, "full"),
        ("tests/faults/test_kills.py::test_x[neo4j-2026-kill]", {"engine": "neo4j-2026"}, "full"),
        ("tests/faults/test_overviews.py::test_x[neo4j-2026-in peace]", {"engine": "neo4j-2026"}, "full"),
        ("tests/faults/test_kills.py::test_x[ladybug-kill]", {"engine": "ladybug"}, "first"),
        ("tests/systems/sprag/test_runs.py::test_x", {}, "full"),
        ("tests/systems/raptor/test_raptor.py::test_x", {}, "first"),
        ("tests/test_minimal_store.py::test_memory_answers_x", {}, "first"),
        ("tests/test_minimal_store.py::test_x[1]", {}, "full"),
        ("tests/types/test_plain.py::test_x", {}, "first"),
    ],
)
def test_item_has_lane(place: str, values: dict[str, Any], lane: str) -> None:
    assert lane_of(place, **values) == lane


@table(
    ("item_id", "line"),
    [
        ("tests/stores/test_migrations.py::test_x[neo4j-5.26]", "5.26"),
        ("tests/stores/test_reembedding.py::test_x[neo4j-2026-5]", "2026"),
        ("tests/stores/test_errors.py::test_x[2026]", "2026"),
        ("tests/server/test_tools.py::test_x[2026-07-28]", ""),
        ("tests/models/test_recognizer_texts.py::test_x[2026-08-27,Hugendubel,28.90-names1]", ""),
        ("tests/test_memory.py::test_x[ladybug]", ""),
    ],
)
def test_item_id_names_the_server(item_id: str, line: str) -> None:
    assert find_server(item_id) == line


def test_what_protects_data_is_in_first_lane_on_each_engine() -> None:
    assert lane_of("tests/test_memory.py::test_x[neo4j-2026]", "data", open_memory="neo4j") == "first"


def list_tests() -> list[str]:
    """Return the ids of all test functions, without parameters."""
    suite = list(Path(store_suite.__file__).parent.glob("*.py"))
    files = [(file.relative_to(FOLDER).as_posix(), file) for file in FOLDER.rglob("test_*.py")]
    files += [(place, file) for place in ("stores/test_store_suite.py", "test_minimal_store.py") for file in suite]
    return [
        f"tests/{place}::{name}"
        for place, file in files
        for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text("utf-8"), re.MULTILINE)
    ]


def test_each_pattern_fits_a_test() -> None:
    """A renamed test would change its lane in silence."""
    tests = list_tests()
    patterns = [pattern.partition(r"\[")[0] for pattern in (*SECOND, *DIFFERS_ON_5_26)]
    assert [pattern for pattern in patterns if not any(re.match(pattern, test) for test in tests)] == []


def test_files_left_out_of_first_lane_protect_no_data() -> None:
    """``make test`` does not collect them."""
    files = {file.relative_to(FOLDER.parent).as_posix(): file for file in FOLDER.rglob("test_*.py")}
    left_out = [file for place, file in files.items() if any(re.match(pattern, place) for pattern in SECOND)]
    assert len(left_out) > 20
    assert [file for file in left_out if "mark.data" in file.read_text("utf-8")] == []


def test_table_lists_each_row_that_fails() -> None:
    @table("more", [0, 1])
    @table(("number", "double"), [(1, 2), (2, 5), (3, 7)])
    def doubled(number: int, double: int, more: int) -> None:
        assert 2 * number + more == double

    with pytest.raises(pytest.fail.Exception) as raised:
        doubled()
    shown = str(raised.value)
    assert "2 of 2 rows fail" in shown
    assert "number=2, double=5" in shown
    assert "number=1, double=2" in shown
