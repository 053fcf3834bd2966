"""How fast is a graph search over many segments, and what does it hold in memory?

    python benchmarks/search_speed.py DIR [--segments 6000 100000] [--store PATH_OR_URL] [--questions 100] [--k 10]
        [--search memory]

DIR holds ``docs.jsonl`` and ``questions.jsonl``. For each size a namespace is filled: with the folder's documents, as
the library adds them (entities by the rules recognizer), then with copies. In copy 7 every name that was found, and
every title, ends in 7, so the copy has entities of its own; its embeddings are the original's with noise, because
to compute 100,000 takes long. So figures of quality mean nothing here, and an entity never occurs more often than in
DIR. Questions name originals and copies alike.

Measured, in one process and with models loaded: the first search, which reads the namespace into memory, or with
``--search database`` a sample of it; later ones; the first one after one more ``add``; memory. A second table holds
the milliseconds of a processor that each stage of a search in memory takes. With --store the namespaces stay, and a
second run only searches; only then is the process's memory that of searching.

Data: benchmarks/data has a sample of each set, 20 questions, to see that it runs; its README.md names the full sets.
"""

from __future__ import annotations

import argparse
import sys
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import wraps
from itertools import count, islice, pairwise
from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

import numpy as np
from machine import header, memory_now, peak_memory
from samples import DATA_HELP, STORE_HELP, kept_or_temporary

from memgraph_rag import Document, Memory
from memgraph_rag.cli.progress import Bars
from memgraph_rag.contracts import GraphStore, SearchSpace
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.evaluation.dataset import Folder, read_folder
from memgraph_rag.evaluation.metrics import SEED
from memgraph_rag.evaluation.runs import take_receipts
from memgraph_rag.lexical.bm25 import KeywordIndex
from memgraph_rag.lexical.capitalised_names import find_capitalised
from memgraph_rag.lexical.names import is_name, normalise
from memgraph_rag.search import graph
from memgraph_rag.search.segments import SegmentSearch
from memgraph_rag.search.vectors import RowVectors
from memgraph_rag.stores import open_store
from memgraph_rag.types import DocumentGraph, Receipt, Title, make_id

NOISE = 0.3
"""Length of the noise that is added to an embedding of length 1: the cosine to the original is then about 0.96."""

TOGETHER = 64  # documents of one transaction

EMBEDDER = "all-MiniLM-L6-v2"

ORIGINAL = "-0"
"""How the key of a document ends that is no copy."""

COLUMNS = (
    *("segments", "entities", "first search, s", "later: p50 · p99, ms", "of a processor: p50 · p99, ms"),
    *("one more add, ms", "search after it, ms"),
    *("index, MiB", "process grown by the first search, MiB", "peak, MiB"),
)

STAGES: dict[str, tuple[Any, str]] = {
    "the question's vector": (graph, "query_vectors"),
    "cosines": (RowVectors, "__matmul__"),
    "BM25": (KeywordIndex, "scores"),
    "PageRank": (graph, "solve_pagerank"),
    "the best of each list": (graph, "rank_places"),
    "misspelt names": (graph.GraphSearch, "_correct_names"),
    "features": (graph, "features"),
    "entities on the way": (graph.GraphSearch, "_find_carriers"),
    "reading back": (SegmentSearch, "_evidence"),
}
"""The functions of a search in memory whose time is told apart; a stage inside another counts for itself alone."""


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run the benchmark; 0 where it came to its end. ``given`` are further arguments of ``Memory``, for tests."""
    options = _options(arguments)
    given = {"layers": ("entities",), "recognizer": "rules", "embedder": EMBEDDER, "search": options.search} | given
    try:
        folder = read_folder(options.directory)
        with kept_or_temporary(options.store) as store, Bars() as bars:
            rows: list[list[str]] = []
            stages: list[list[str]] = []
            originals: list[DocumentGraph] = []
            for size in sorted(options.segments):
                with Memory(store, namespace=namespace_of(folder, size), **given) as memory:
                    if not rows:
                        print(f"{header(memory)}\n{folder.name}, and copies with changed names; seed {SEED}\n")
                    was_there = memory.status()["counts"].get("Segment", 0) >= size
                    if not was_there:
                        originals = originals or as_added(folder, max(options.segments), bars, given)
                        _fill(memory._parts.store, originals, size, bars)
                    row, milliseconds = _measured(memory, folder, options.questions, options.k, was_there=was_there)
                    rows.append(row)
                    stages.append([row[0], *milliseconds])
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    stage_columns = ("segments", *STAGES, "the rest", "together: median ms of each")
    for columns, table in ((stage_columns, stages), (COLUMNS, rows)):
        print()
        for row in (columns, ["---"] * len(columns), *table):
            print(f"| {' | '.join(row)} |")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, metavar="DIR", help=DATA_HELP)
    parser.add_argument("--segments", type=int, nargs="+", default=[6_000, 100_000])
    parser.add_argument("--store", help=STORE_HELP)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--search", choices=get_args(SearchSpace), default="auto", help="where; as in Memory")
    return parser.parse_args(arguments)


# ── the corpus ───────────────────────────────────────────────────────────────────────────────────────────


class Recorder:
    """A store that also keeps the graphs it is given."""

    def __init__(self, store: GraphStore) -> None:
        self.graphs: list[DocumentGraph] = []
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def write(self, graph: DocumentGraph) -> Receipt:
        """Keep it, then store it."""
        return self.write_many([graph])[0]

    def write_many(self, graphs: Sequence[DocumentGraph]) -> list[Receipt]:
        """Keep them, then store them."""
        self.graphs += graphs
        return self._store.write_many(graphs)


def as_added(folder: Folder, most: int, bars: Bars, given: dict[str, Any]) -> list[DocumentGraph]:
    """The graphs of the folder's first documents, as the library builds them; of about so many segments."""
    documents = folder.documents[:most]  # each has at least one segment
    recorder = Recorder(open_store(":memory:", namespace="originals"))
    memory = Memory(recorder, **given)  # type: ignore[arg-type]
    for done, _ in enumerate(take_receipts(memory.add_many(documents)), 1):
        bars(f"embedding {folder.name}", done, len(documents))
    recorder.close()
    return recorder.graphs


def namespace_of(folder: Folder, size: int) -> str:
    """The namespace that holds so many segments of a folder's documents and their copies."""
    return f"{folder.name} of {size}"


def _fill(store: GraphStore, originals: Sequence[DocumentGraph], size: int, bars: Bars) -> None:
    """Store originals, then copies, until there are that many segments. What was stored before is stored again."""
    graphs, segments = copies(originals, size, store.namespace), 0
    for together in iter(lambda: list(islice(graphs, TOGETHER)), []):
        store.write_many(together)
        segments += sum(len(graph.segments) for graph in together)
        bars(f"writing {size:,} segments", min(segments, size), size)


def copies(originals: Sequence[DocumentGraph], size: int, namespace: str) -> Iterator[DocumentGraph]:
    """Originals, then copies, until there are that many segments."""
    rng = np.random.default_rng(SEED)
    for number in count():
        for original in originals:
            yield copied(original, number, namespace, rng)
            size -= len(original.segments)
            if size <= 0:
                return


def copied(graph: DocumentGraph, number: int, namespace: str, rng: np.random.Generator) -> DocumentGraph:
    """The graph of a document in which each name ends in that number; number 0 is the document itself.

    All ids are those of the given namespace, all offsets those of the longer text.
    """
    suffix = str(number) if number else ""
    old = "".join(segment.text for segment in graph.segments)
    ends = sorted({mention.end for mention in graph.mentions})
    text = suffix.join(old[start:end] for start, end in pairwise([0, *ends, len(old)]))

    def moved(at: int) -> int:
        return at + len(suffix) * bisect_right(ends, at)

    key = f"{graph.document.key}-{number}"
    title = graph.document.title + (suffix if graph.document.title else "")
    document_id = make_id(namespace, "document", key)
    ids = {segment.id: make_id(namespace, "segment", document_id, segment.index) for segment in graph.segments}
    segments = []
    for segment in graph.segments:
        start, end = moved(segment.start), moved(segment.end)
        place = {"id": ids[segment.id], "document_id": document_id, "start": start, "end": end}
        segments.append(replace(segment, text=text[start:end], **place))
    mentions = []
    for mention in graph.mentions:
        start, end = moved(mention.start), moved(mention.end)
        normal = normalise(text[start:end])
        if is_name(normal):
            entity_id = make_id(namespace, "entity", normal)
            place = {"segment_id": ids[mention.segment_id], "start": start, "end": end, "surface": text[start:end]}
            mentions.append(replace(mention, entity_id=entity_id, normal=normal, **place))
    surfaces = [named.surface + suffix for named in graph.titles]
    normals = [normalise(surface) for surface in surfaces]
    vectors = graph.segment_embeddings
    if number:
        vectors = vectors + rng.normal(0.0, NOISE / np.sqrt(vectors.shape[1]), vectors.shape)
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    changes = {"id": document_id, "key": key, "title": title, "characters": len(text)}
    return DocumentGraph(
        document=replace(graph.document, sha256=Document(text, key=key, title=title).sha256, **changes),
        segments=tuple(segments),
        segment_embeddings=vectors,
        mentions=tuple(mentions),
        titles=tuple(
            Title(make_id(namespace, "entity", normal), normal, surface)
            for normal, surface in zip(normals, surfaces, strict=True)
        ),
    )


# ── the searches ─────────────────────────────────────────────────────────────────────────────────────────


class StageTimer:
    """Seconds of each stage of the searches inside ``with``."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self._inner = [0.0]  # seconds of the stages inside each running stage

    def __enter__(self) -> StageTimer:
        self._patches = ExitStack()
        for stage, (owner, name) in STAGES.items():
            self._patches.enter_context(patch.object(owner, name, self._timed(stage, getattr(owner, name))))
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    def _timed(self, stage: str, function: Any) -> Any:
        @wraps(function)
        def timed(*args: Any, **given: Any) -> Any:
            self._inner.append(0.0)
            started = time.process_time()
            try:
                return function(*args, **given)
            finally:
                taken = time.process_time() - started
                self.seconds[stage] += taken - self._inner.pop()
                self._inner[-1] += taken

        return timed


def _measure_stages(memory: Memory, asked: Sequence[str], k: int) -> list[str]:
    """Return the median milliseconds of each stage, of the rest, and of a whole search."""
    taken = []
    for question in asked:
        with StageTimer() as timer:
            _, whole = _search(memory, question, k)
        taken.append([*timer.seconds.values(), whole - sum(timer.seconds.values()), whole])
    return [f"{1000 * float(seconds):.1f}" for seconds in np.median(taken, axis=0)]


def _measured(
    memory: Memory, folder: Folder, questions: int, k: int, *, was_there: bool
) -> tuple[list[str], list[str]]:
    """The rows of both tables. What filling gives back would hide how the process grows, so ``was_there`` decides."""
    counts = memory.status()["counts"]
    asked = _asked(folder, questions, copies=1 + counts["Document"] // len(folder.documents))
    memory.embedder.embed(["warm"])
    before = memory_now()
    first_s, _ = _search(memory, asked[0], k)
    after = memory_now()
    grown = f"{(after - before) / 2**20:.0f}" if was_there and before is not None and after is not None else "–"
    index_bytes = memory._parts.search.index.nbytes  # next to nothing where the database is searched
    taken = [_search(memory, question, k) for question in asked]
    p50, p99 = np.percentile(taken, [50, 99], axis=0) * 1000
    stages = _measure_stages(memory, asked, k)
    started = time.perf_counter()
    memory.add(Document("Ann Lee of Warsaw keeps one more fox.", key="one more", title="One more fox"))
    add_s = time.perf_counter() - started
    next_s, _ = _search(memory, asked[0], k)
    memory.forget("one more")  # so that a kept namespace is the same for the next run
    return [
        f"{counts['Segment']:,}",
        f"{counts['Entity']:,}",
        f"{first_s:.2f}",
        f"{p50[0]:.0f} · {p99[0]:.0f}",
        f"{p50[1]:.0f} · {p99[1]:.0f}",
        f"{1000 * add_s:.0f}",
        f"{1000 * next_s:.0f}",
        f"{index_bytes / 2**20:.0f}",
        grown,
        f"{peak_memory() / 2**20:.0f}",
    ], stages


def _asked(folder: Folder, most: int, *, copies: int) -> list[str]:
    """The folder's questions, over and over, each about a copy drawn at random."""
    rng = np.random.default_rng(SEED)
    asked = []
    for place in range(most):
        text, number = folder.questions[place % len(folder.questions)].text, int(rng.integers(copies))
        cuts = [0, *(end for _, end in find_capitalised(text)), len(text)]
        asked.append((str(number) if number else "").join(text[start:end] for start, end in pairwise(cuts)))
    return asked


def _search(memory: Memory, question: str, k: int) -> tuple[float, float]:
    """Return the seconds of a search by the clock, and of the processors."""
    started, before = time.perf_counter(), time.process_time()
    memory.search(question, k=k)
    return time.perf_counter() - started, time.process_time() - before


if __name__ == "__main__":
    sys.exit(main())
