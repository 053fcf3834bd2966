"""How near does a search in the database come to the exact search in memory?

    python benchmarks/pools.py DIR… [--store PATH_OR_URL] [--segments N] [--limit N] [--k 10]

Each DIR holds ``docs.jsonl`` and ``questions.jsonl`` with ``evidence_doc_ids``. Its documents are added with the
entities layer, without a language model; then each question is searched in memory and in the database, which draws a
pool for it (``memgraph_rag/search/pool.py``). Printed: recall@5 of both and their paired difference, with intervals
of 95 %; the overlap, which is the share of the first k in memory that the first k in the database hold; the median of
the pool's rows and of both searches' milliseconds. With --store the documents stay there, in a namespace for each
folder, and a second run adds nothing; a Neo4j's password comes from NEO4J_PASSWORD or MEMGRAPH_RAG_NEO4J_PASSWORD.
With --segments nothing is added: the documents stand among their copies with changed names, in the namespace that
``search_speed.py`` filled with so many segments, names by the rules recognizer.

Data: benchmarks/data has a sample of each set, 20 questions, to see that it runs; its README.md names the full sets.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from machine import header
from samples import folder_parser, keep_with_evidence, kept_or_temporary
from search_speed import ORIGINAL, namespace_of

from memgraph_rag import Memory
from memgraph_rag.cli.progress import Bars
from memgraph_rag.contracts import SearchSpace
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.evaluation.dataset import Folder, read_folder
from memgraph_rag.evaluation.metrics import interval, recall
from memgraph_rag.evaluation.runs import take_receipts
from memgraph_rag.types import Extent

CUTOFF = 5
COLUMNS = (
    *("set", "segments", "questions", "R@5, in memory", "R@5, database", "difference", "overlap", "rows"),
    *("ms, in memory", "ms, database"),
)


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run the benchmark; 0 where it came to its end. ``given`` are further arguments of ``Memory``, for tests."""
    options = _options(arguments)
    try:
        folders = [
            keep_with_evidence(read_folder(path)).sample_questions(options.limit) for path in options.directories
        ]
        with kept_or_temporary(options.store) as store, Bars() as bars:
            rows = [_compared(store, folder, options.segments, options.k, bars, given) for folder in folders]
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    for row in (COLUMNS, ["---"] * len(COLUMNS), *rows):
        print(f"| {' | '.join(row)} |")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = folder_parser(__doc__)
    parser.add_argument("--segments", type=int, help="as in search_speed.py, which has stored them there")
    parser.add_argument("--limit", type=int, help="most questions of each folder, at even distances")
    parser.add_argument("--k", type=int, default=10, help="results that are compared")
    return parser.parse_args(arguments)


def _compared(
    store: str | Path, folder: Folder, size: int | None, k: int, bars: Bars, given: dict[str, Any]
) -> list[str]:
    """One row of the table."""
    filled = {} if size is None else {"namespace": namespace_of(folder, size), "recognizer": "rules"}
    given = {"namespace": folder.name, **filled, **given}
    original = "" if size is None else ORIGINAL
    found: dict[SearchSpace, list[list[str]]] = {}
    shares: dict[SearchSpace, np.ndarray] = {}
    milliseconds: dict[SearchSpace, float] = {}
    rows: list[int] = []
    segments = 0
    for space in ("memory", "database"):
        with Memory(store, layers=("entities",), search=space, **given) as memory:
            if space == "memory":
                print(header(memory), flush=True)
            for done, _ in enumerate(take_receipts(memory.add_many(folder.documents if size is None else ())), 1):
                bars(f"adding {folder.name}", done, len(folder.documents))
            segments = memory.status()["counts"]["Segment"]
            memory.search(folder.questions[0].text, k=k)  # which reads what later ones hold
            found[space], recalls, seconds = [], [], []
            for done, question in enumerate(folder.questions, 1):
                started = time.perf_counter()
                results = memory.search(question.text, k=k, documents=question.documents)
                seconds.append(time.perf_counter() - started)
                found[space].append([result.segment.id for result in results])
                documents = list(dict.fromkeys(result.document_key.removesuffix(original) for result in results))
                recalls.append(recall(question.units, documents, CUTOFF))
                if space == "database":
                    rows.append(len(memory._parts.search._pools.read(question.text, Extent(question.documents))))
                bars(f"searching {folder.name} in {space}", done, len(folder.questions))
            shares[space], milliseconds[space] = 100 * np.array(recalls), float(np.median(seconds)) * 1000
    overlaps = [
        100 * len(set(exact) & set(drawn)) / len(exact)
        for exact, drawn in zip(found["memory"], found["database"], strict=True)
        if exact
    ]
    return [
        folder.name,
        f"{segments:,}",
        str(len(folder.questions)),
        *(f"{interval(shares[space]):.1f}" for space in ("memory", "database")),
        f"{interval(shares['database'] - shares['memory']):+.1f}",
        f"{interval(overlaps):.1f}",
        f"{np.median(rows):.0f}",
        *(f"{milliseconds[space]:.0f}" for space in ("memory", "database")),
    ]


if __name__ == "__main__":
    sys.exit(main())
