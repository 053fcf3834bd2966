"""The graph that two actors build with real models, beside the one of one process; for the environment with Ray.

    python tests/faults/fault_ray_models.py DOCUMENTS LAYER …

The packaged 0.5B writes points or relations (``MEMGRAPH_RAG_DTYPE=int8`` takes a third of the memory). The invariants
that are tried: groups of the same documents give the same graph to the bit; other groups give the same nodes and
edges, whose weights and vectors differ by rounding alone.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "stores"), str(HERE)]
os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}

from fault_tally import Tally  # noqa: E402
from fault_world import Graph  # noqa: E402
from store_snapshot import Lines, whole_graph  # noqa: E402

from memgraph_rag import Document, Memory, Receipt  # noqa: E402
from memgraph_rag.ingestion.build_pool import LocalPool  # noqa: E402
from memgraph_rag.ingestion.ray_pool import RayPool  # noqa: E402
from memgraph_rag.ingestion.sources import GroupSize  # noqa: E402

PASSAGES = HERE.parents[1] / "benchmarks" / "data" / "hotpotqa" / "docs.jsonl"
SENTENCES = 3
WEIGHTS_WITHIN = 1e-6
LEAST_COSINE = 0.9999


def documents(count: int) -> list[Document]:
    """The first sentences of so many passages; 200 at most."""
    rows = [json.loads(line) for line in PASSAGES.read_text("utf-8").splitlines()[:count]]
    beginnings = [" ".join(re.split(r"(?<=[.!?]) ", row["text"])[:SENTENCES]) for row in rows]
    return [Document(text, row["doc_id"], title=row["title"]) for text, row in zip(beginnings, rows, strict=True)]


def built(
    folder: Path, sources: list[Document], layers: list[str], *, where: str | None, size: GroupSize | None = None
) -> Graph:
    """The graph of these documents; segments are short, so that points sum up several."""
    own_size, LocalPool.group_size = LocalPool.group_size, size or LocalPool.group_size
    address = {"address": folder / "notes.lbug"}
    try:
        with Memory(
            address["address"],
            model="qwen2.5-coder-0.5b-instruct",
            layers=layers,
            segment_tokens=30,
            cache_dir=folder / "cache",
        ) as memory:
            outcomes = list(memory.add_many(sources, ray=where))
            assert all(isinstance(outcome, Receipt) for outcome in outcomes), outcomes
            return whole_graph(memory._parts.store, address)
    finally:
        LocalPool.group_size = own_size


def differences(lines: Lines, others: Lines) -> tuple[list[str], float, float]:
    """Of nodes or edges: which are in one list only, the largest difference of weights, the least cosine."""
    rows, other_rows = _by_rest(lines), _by_rest(others)
    pairs = [(rows[rest], other_rows[rest]) for rest in rows.keys() & other_rows.keys()]
    weights = [abs(one["weight"] - other["weight"]) for one, other in pairs if "weight" in one]
    cosines = [float(np.dot(one["embedding"], other["embedding"])) for one, other in pairs if "embedding" in one]
    return sorted(rows.keys() ^ other_rows.keys()), max(weights, default=0.0), min(cosines, default=1.0)


def _by_rest(lines: Lines) -> dict[str, dict[str, Any]]:
    """Weight and vector of each row, by all else of it."""
    numbers_by_rest = {}
    for line in lines:
        row = json.loads(line)
        numbers = {name: row["of"].pop(name) for name in ("weight", "embedding") if name in row["of"]}
        numbers_by_rest[json.dumps(row, sort_keys=True)] = numbers
    assert len(numbers_by_rest) == len(lines)
    return numbers_by_rest


def same_graphs(folder: Path, sources: list[Document], layers: list[str]) -> Tally:
    """By two actors, by one process in the actors' groups, and by one process in its own."""
    import ray  # here, so that pytest can import this module where Ray is not

    tally = Tally(tried=2)
    ray.init(address="local", num_cpus=2, include_dashboard=False, object_store_memory=200 * 2**20, log_to_driver=False)
    by_actors = built(folder / "actors", sources, layers, where="auto")
    ray.shutdown()
    nodes, edges = map(len, by_actors)
    what = f"{len(sources)} documents with {', '.join(layers)}"
    print(f"{what} by two actors: {nodes} nodes, {edges} edges", flush=True)

    if built(folder / "same groups", sources, layers, where=None, size=RayPool.group_size) != by_actors:
        print("LOST: in the same groups one process built another graph")
        tally.lost += 1
    by_one = built(folder / "own groups", sources, layers, where=None)
    for what, lines, others in zip(("nodes", "edges"), by_one, by_actors, strict=True):
        apart, weight, cosine = differences(lines, others)
        print(
            f"{what} by one process, up to {LocalPool.group_size.documents} documents together: "
            f"{len({*lines} & {*others})} equal to the bit, {len(apart)} only there or only by actors, "
            f"weights within {weight:.1e}, cosines from {cosine:.6f}"
        )
        if apart or weight > WEIGHTS_WITHIN or cosine < LEAST_COSINE:
            print(f"LOST: in its own groups one process built other {what}: {apart[:3]}")
            tally.lost += 1
    return tally


def main() -> None:
    """The last line is the tally, as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("actors", "same groups", "own groups"):
            (Path(folder) / name).mkdir()
        count, *layers = sys.argv[1:]
        print(json.dumps(vars(same_graphs(Path(folder), documents(int(count)), layers))))


if __name__ == "__main__":
    main()
