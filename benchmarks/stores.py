"""How fast the stores take documents: 10,000 of 300 tokens, without a model, so that the store is what is measured.

    python benchmarks/stores.py --store FILE|ADDRESS [--documents 10000] --json benchmarks/results/stores.json

``add_many`` in one go, told by the thousand; then single ``add`` calls, of which the median is told. Segments only
(``layers=()``), and a fake embedder that takes no time. Vectors have 384 dimensions. The figures to reach are those
of ``docs/reliability.md``; what misses them is written down like the rest.

    python benchmarks/stores.py --segments 500 5000 50000 [--replacements 1000] --json benchmarks/results/stores.json

What a Ladybug file of so many segments costs, with two relations a segment (the graph of ``expansion.py``): seconds to
close it after one document of 5 segments and 10 relations was added, the median of ``OPENINGS``; its size; and what so
many replacements of one such document leave in it, without ``purge`` and with. On a shared machine processor seconds
say more than the clock.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import resource
import statistics
import sys
import tempfile
import time
import uuid
from contextlib import closing
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

import expansion
import numpy as np
from machine import machine_line

from memgraph_rag import Document, Memory
from memgraph_rag.stores import open_store
from memgraph_rag.testing import FakeLanguageModel, FakeRecognizer
from memgraph_rag.types import DocumentGraph

DIMENSION = 384
WORDS_PER_DOCUMENT = 300
SINGLES = 100
VOCABULARY = 20_000
OPENINGS, TOGETHER = 5, 25


class QuickEmbedder:
    """Random unit vectors: made in no time, the same for the same number of texts."""

    name = "quick"
    dimension = DIMENSION

    def embed(self, texts: list[str]) -> np.ndarray:
        """(n, d) float32."""
        vectors = np.random.default_rng(len(texts)).standard_normal((len(texts), DIMENSION), np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def count_tokens(self, texts: list[str]) -> list[int]:
        """Words."""
        return [text.count(" ") + 1 for text in texts]


class QuickModel(FakeLanguageModel):
    """Counts words, so that a document of 300 is one segment of 300 tokens."""

    def count_tokens(self, texts: Any) -> list[int]:
        """Words."""
        return [text.count(" ") + 1 for text in texts]


def documents(count: int, seed: int) -> list[Document]:
    """Texts of made-up words, a fifth of them frequent ones."""
    chance = random.Random(seed)
    words = [f"w{number:x}" for number in range(VOCABULARY)]
    made = []
    for number in range(count):
        said = [chance.choice(words if chance.random() < 0.8 else words[:200]) for _ in range(WORDS_PER_DOCUMENT)]
        said[14::15] = [f"{word}." for word in said[14::15]]
        made.append(Document(" ".join(said), f"document {seed} {number}"))
    return made


def measure(store: str, count: int, address: dict[str, Any]) -> dict[str, Any]:
    """Documents a second by the thousand, and milliseconds of single calls at the beginning and at the end."""
    options = {"model": QuickModel(), "embedder": QuickEmbedder(), "recognizer": FakeRecognizer(), "layers": ()}
    namespace = f"benchmark-{uuid.uuid4().hex[:8]}"
    made = documents(count, seed=1)
    with Memory(store, namespace=namespace, segment_tokens=320, **address, **options) as memory:
        first = _singles(memory, seed=2)
        seconds, began, resident = [], time.perf_counter(), []
        for number, receipt in enumerate(memory.add_many(made), 1):
            assert receipt.counts["Segment"] >= 1, receipt  # pyright: ignore[reportAttributeAccessIssue]
            if number % 1000 == 0:
                seconds.append(time.perf_counter() - began)
                resident.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
        last = _singles(memory, seed=3)
        counts = memory.status()["counts"]
    thousands = np.diff([0.0, *seconds]).tolist()
    return {
        "documents": count,
        "segments": counts["Segment"],
        "add_many_documents_per_s": round(count / seconds[-1], 1),
        "thousands_s": [round(duration, 2) for duration in thousands],
        "last_third_to_first_third": round(sum(thousands[-3:]) / sum(thousands[:3]), 2),
        "single_add_median_ms": {"of 0 documents": first, f"of {count} documents": last},
        "most_memory_mib": resident,
    }


def _singles(memory: Memory, seed: int) -> float:
    taken = []
    for document in documents(SINGLES, seed):
        began = time.perf_counter()
        memory.add(document)
        taken.append(time.perf_counter() - began)
    return round(1000 * statistics.median(taken), 1)


def measure_file(path: Path, segments: int, replacements: int) -> dict[str, Any]:
    """Seconds and bytes of a Ladybug file of so many segments."""
    with closing(_opened(path)) as store:
        store._find_near = expansion._planted  # type: ignore[attr-defined]
        filling = _Clock()
        graphs = expansion.documents(store.namespace, segments)
        for group in iter(lambda: list(islice(graphs, TOGETHER)), []):
            store.write_many(group)
        filled = filling.read()
        relations = store.statistics()["RELATES_TO"]
    closings, openings = [], []
    for number in range(OPENINGS):
        began = _Clock()
        store = _opened(path)
        openings.append(began.read())
        store.write(_small(store.namespace, f"added {number}", seed=number))
        began = _Clock()
        store.close()
        closings.append(began.read())
    figures = {
        "segments": segments,
        "relations": relations,
        "filled_s, of processor": filled,
        "open_s, of processor": _median(openings),
        "close_after_one_add_s, of processor": _median(closings),
        "longest_close_s": max(wall for wall, _ in closings),
        "file_bytes": path.stat().st_size,
        "bytes_per_segment": round(path.stat().st_size / segments),
    }
    return figures | (_replaced(path, replacements) if replacements else {})


def _replaced(path: Path, replacements: int) -> dict[str, Any]:
    before = path.stat().st_size
    with closing(_opened(path)) as store:
        began = _Clock()
        for number in range(replacements):
            store.write(_small(store.namespace, "replaced", seed=number))
        replaced = began.read()
    after = path.stat().st_size
    with closing(_opened(path)) as store:
        began = _Clock()
        store.purge()
        purged = began.read()
    return {
        "replacements": replacements,
        "replacing_s, of processor": replaced,
        "file_bytes_before": before,
        "file_bytes_after": after,
        "purge_s, of processor": purged,
        "file_bytes_after_purge": path.stat().st_size,
    }


def _opened(path: Path) -> Any:
    store = open_store(str(path), namespace="large file")
    store.migrate(embedder="at random", dimension=DIMENSION)
    return store


def _small(namespace: str, key: str, seed: int) -> DocumentGraph:
    """5 segments, three names each, 10 relations."""
    chance = np.random.default_rng(seed)
    return expansion.document(namespace, key, chance.integers(2000, size=5 * expansion.MENTIONED).tolist(), chance)


class _Clock:
    """Seconds of the clock and of this process's processors since it was made."""

    def __init__(self) -> None:
        self._began, self._worked = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """Both."""
        return round(time.perf_counter() - self._began, 3), round(time.process_time() - self._worked, 3)


def _median(pairs: list[tuple[float, float]]) -> tuple[float, ...]:
    return tuple(round(statistics.median(column), 3) for column in zip(*pairs, strict=True))


def main() -> None:
    """Measure one store, and lay the figures beside those of others in the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", help="a Neo4j address; by default a file in a temporary folder")
    parser.add_argument("--user", default="neo4j")
    parser.add_argument("--password")
    parser.add_argument("--name", help="what the row is called")
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--segments", type=int, nargs="+", help="measure Ladybug files of so many segments instead")
    parser.add_argument("--replacements", type=int, default=0, help="of one document, in each of these files")
    parser.add_argument("--load", default="", help="what else the machine was doing, to be written down")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.segments:
        _write(_files(given.segments, given.replacements, given.load), given.name or "ladybug", given.json)
        return
    address = {"neo4j": {"user": given.user, "password": given.password}} if given.password else {}
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(given.store or f"{folder}/notes.lbug", given.documents, address)
    figures |= {
        "date": date.today().isoformat(),
        "machine": f"{platform.machine()}, {_cores()} cores, Python {platform.python_version()}",
        "load": given.load,
    }
    _write(figures, given.name or ("ladybug" if given.store is None else given.store), given.json)


def _files(sizes: list[int], replacements: int, load: str) -> dict[str, Any]:
    """Of each size, printed as soon as it is there."""
    rows = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure_file(Path(folder) / "large.lbug", size, replacements))
        print(json.dumps(rows[-1]), flush=True)
    return {"files": rows, "date": date.today().isoformat(), "machine": machine_line(), "load": load}


def _write(figures: dict[str, Any], name: str, path: Path | None) -> None:
    """Print the figures, and lay them beside those of others in the file."""
    json.dump({name: figures}, sys.stdout, indent=2)
    print()
    if path is not None:
        held = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(held | {name: figures}, indent=2) + "\n")


def _cores() -> int:
    import os

    return os.cpu_count() or 0


if __name__ == "__main__":
    main()
