"""What finding communities takes in memory: told before it is taken, and no less than what is taken."""

from __future__ import annotations

import multiprocessing
import random
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from meetings import open_meetings

from memgraph_rag.errors import SearchMemoryExceeded
from memgraph_rag.systems.graphrag.communities import CommunitiesLayer
from memgraph_rag.systems.graphrag.community_memory import MemoryNeeded
from memgraph_rag.systems.graphrag.community_tree import grow_tree
from memgraph_rag.systems.graphrag.entity_graph import EntityGraph, count_pairs
from memgraph_rag.testing import FakeModels
from memgraph_rag.types import Entity, IndexedSegment

STAGE = re.compile(r"(reading|finding) .* \(about ([\d,]+) MiB\)")


def test_what_it_takes_is_told_before_it_is_taken(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "memgraph_rag.systems.graphrag")
    heard: list[tuple[str, int, int]] = []
    with open_meetings(tmp_path / "m.lbug") as memory:
        layer = CommunitiesLayer(with_model=False)
        next(layer.build(memory._parts.store, models=FakeModels(), progress=lambda *told: heard.append(told)))

    reading, finding = "reading 21 segments and 16 entities", "finding communities of 16 entities with 20 edges"
    assert [(what.split(" (")[0], done, total) for what, done, total in heard] == [
        (reading, 0, 1), (reading, 1, 1), (finding, 0, 1), (finding, 1, 1)
    ]  # fmt: skip
    assert all(STAGE.fullmatch(what) for what, *_ in heard)
    assert [record.getMessage() for record in caplog.records] == [heard[0][0], heard[2][0]]


def test_more_than_may_be_taken_is_refused() -> None:
    needed = MemoryNeeded(2**20, None)
    needed.check_pairs(10, segments=1, entities=20)
    with pytest.raises(SearchMemoryExceeded, match=r"most_bytes=\d+"):
        needed.check_pairs(10**6, segments=1, entities=20)
    with pytest.raises(SearchMemoryExceeded, match=r"most_bytes=\d+"):
        needed.tell_finding(10, segments=1, entities=20, edges=10**6)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(("entities", "segments", "named"), [(20_000, 10_000, 4), (1_000, 10_000, 10)])
def test_finding_takes_no_more_than_was_told(entities: int, segments: int, named: int) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        told, taken = pool.apply(_find, (entities, segments, named))

    assert told / 4 < taken < told


def _find(entities: int, segments: int, named: int) -> tuple[float, float]:
    """MiB that were told, and that were taken, in a process of its own."""
    chance = random.Random(1)
    rows = [_segment(place, chance.sample(range(entities), named)) for place in range(segments)]
    known = [Entity(f"{place:032x}", f"n{place}", f"n{place}", ("NAME",)) for place in range(entities)]
    told: list[str] = []
    before = _mib("VmRSS")
    needed = MemoryNeeded(2**40, lambda what, *_: told.append(what))
    graph = EntityGraph.of(known, rows, [])
    sizes = {"segments": segments, "entities": entities, "edges": len(graph.edges)}
    needed.tell_finding(count_pairs(rows), **sizes)
    grow_tree(graph, rows, [], [], most_members=10, seed=1)
    match = STAGE.fullmatch(told[0])
    assert match is not None
    return float(match[2].replace(",", "")), _mib("VmHWM") - before


def _mib(name: str) -> float:
    """Memory of this process: now (VmRSS), or at most so far (VmHWM)."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 2**10


def _segment(place: int, named: list[int]) -> IndexedSegment:
    ids = tuple(f"{entity:032x}" for entity in sorted(named))
    return IndexedSegment(f"s{place}", f"d{place}", 0, "", "", "", "", np.zeros(1, np.float32), ids, (), echo=False)
