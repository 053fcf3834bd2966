"""What does a library cost to build and to keep?

    python benchmarks/library.py DIR… [--documents N] [--store PATH] [--json FILE]

The first N documents (2,000) of these folders are added to one memory with the entities layer, and the library is
built; no language model is used. Printed are the seconds to build it (models loaded before), its overviews by level,
and how many overviews are written after each of ten documents was replaced.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from machine import header
from take_sample import DATA_HELP

from memgraph_rag import Memory
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.evaluation.dataset import read_folder
from memgraph_rag.evaluation.runs import added
from memgraph_rag.types import Document, Receipt

_REPLACED = 10


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run the benchmark; 0 where it came to its end, 1 where it failed.

    ``given`` are further arguments of ``Memory``, for tests.
    """
    options = _options(arguments)
    try:
        documents = _read(options.directories, options.documents)
        with tempfile.TemporaryDirectory() if options.store is None else nullcontext() as temporary:
            store = options.store or Path(temporary) / "library.lbug"
            with Memory(store, layers=("entities",), **given) as memory:
                print(f"{header(memory)}\n{len(documents)} documents\n")
                list(added(memory, documents))
                rows = [_build(memory), _replace(memory, documents)]
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directories", type=Path, nargs="+", metavar="DIR", help=DATA_HELP)
    parser.add_argument("--documents", type=int, default=2000, help="most documents")
    parser.add_argument("--store", type=Path, help="a file that is kept; by default a temporary one")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    return parser.parse_args(arguments)


def _read(directories: Sequence[Path], most: int) -> list[Document]:
    folders = [read_folder(path) for path in directories]
    return list(islice({document.key: document for folder in folders for document in folder.documents}.values(), most))


def _build(memory: Memory) -> Mapping[str, Any]:
    memory._parts.models.embedder.embed(["loaded before it is timed"])
    started = time.perf_counter()
    written = _deepen(memory)
    seconds = time.perf_counter() - started
    levels = Counter(overview.level for overview in memory._parts.store.overviews("library"))
    print(f"library: {written} overviews in {seconds:.1f} s; by level {dict(sorted(levels.items()))}")
    return {"overviews": written, "seconds": round(seconds, 2), "levels": levels}


def _replace(memory: Memory, documents: Sequence[Document]) -> Mapping[str, Any]:
    """How many overviews are written after one document says what another said."""
    written: list[int] = []
    step = max(1, len(documents) // _REPLACED)
    for place in range(0, len(documents), step)[:_REPLACED]:
        memory.add(documents[place - 1].text, key=documents[place].key)
        written.append(_deepen(memory))
    print(f"\nafter one of {len(documents)} documents was replaced: {np.mean(written):.1f} overviews written", end="")
    print(f", at most {max(written)} ({len(written)} times)")
    return {"written_after_one_change": written}


def _deepen(memory: Memory) -> int:
    (receipt,) = memory.deepen(layers=["library"])
    if not isinstance(receipt, Receipt):
        raise receipt.error
    return receipt.counts.get("Overview", 0)


if __name__ == "__main__":
    sys.exit(main())
