"""Do processes that search one Ladybug file share the memory of its index?

    python benchmarks/shared_index.py FILE [--namespace default] [--processes 2] [--searches 5]

FILE is a Ladybug file that nobody has open, of 2,000 segments or more; ``search_speed.py DIR --store FILE`` fills one.
A process of its own opens it and searches, so that the index lies beside the file; it stays there, and nothing else is
changed. Then processes open the file for reading one after the other, stay, and search for words of its segments.

Measured whenever one more has searched: the mean of all, in MiB, of what Linux tells of the index's mapping
(``/proc/PID/smaps``) and of the whole process (``smaps_rollup``). Rss is what is in memory; Pss counts a page that n
processes have as the n-th part of it; shared are pages that another process has too, private all others. "Opened" is a
process that has searched nothing yet, its models loaded.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from machine import machine_line, version_line

from memgraph_rag import Memory
from memgraph_rag.errors import MemgraphRagError

COLUMNS = (
    *("processes", "index: Rss", "index: Pss", "index: shared", "index: private"),
    *("process: Rss", "process: Pss", "process: private", "first search, processor s"),
)
WORDS = 12  # of a segment, that are searched for


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run the benchmark; 0 where it came to its end. ``given`` are further arguments of ``Memory``, for tests."""
    options = _options(arguments)
    if not Path("/proc/self/smaps_rollup").is_file():
        print("Expected Linux, which tells what processes share, got another system.", file=sys.stderr)
        return 1
    given = {"namespace": options.namespace, **given}
    try:
        with Memory(options.file, read_only=True, **given) as memory:
            asked = questions(memory, options.searches)
        Searcher(options.file, given, read_only=False).search_and_end(asked[:1])
        rows = list(_measured(options.file, given, options.processes, asked))
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print(f"{version_line('ladybug')}\n{machine_line()}\n")
    for row in (COLUMNS, ["---"] * len(COLUMNS), *rows):
        print(f"| {' | '.join(row)} |")
    return 0


def _measured(file: Path, given: dict[str, Any], processes: int, asked: Sequence[str]) -> Iterator[list[str]]:
    """The rows of the table: a process that has searched nothing, then as many as search."""
    with ExitStack() as stack:
        searchers: list[Searcher] = []
        while len(searchers) < processes:
            searchers.append(stack.enter_context(Searcher(file, given, read_only=True)))
            if len(searchers) == 1:
                yield ["opened", *["–"] * 4, *_of_processes(searchers), "–"]
            first_s = searchers[-1].search(asked)
            yield [f"{len(searchers)}", *_of_mappings(searchers), *_of_processes(searchers), f"{first_s:.2f}"]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, metavar="FILE", help="a Ladybug file that nobody has open")
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--processes", type=int, default=2, help="how many search at a time in the end")
    parser.add_argument("--searches", type=int, default=5, help="of each process")
    return parser.parse_args(arguments)


def questions(memory: Memory, most: int) -> list[str]:
    """The first words of segments of different documents."""
    document_ids = memory._store.document_ids()
    chosen = document_ids[:: max(1, len(document_ids) // most)][:most]
    return [" ".join(memory._store.segments_of(document_id)[0].text.split()[:WORDS]) for document_id in chosen]


class Searcher:
    """A process that has a memory open and searches when it is told to; it ends with the context."""

    def __init__(self, file: Path, given: dict[str, Any], *, read_only: bool) -> None:
        self.index_prefix = f"{file.resolve()}.index-"
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, file, given, read_only), daemon=True)
        self._process.start()
        theirs.close()
        self._answer()

    def __enter__(self) -> Searcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.search_and_end([])

    @property
    def pid(self) -> int:
        """The number of the process."""
        assert self._process.pid is not None
        return self._process.pid

    def search(self, asked: Sequence[str]) -> float:
        """Search for these; the seconds of the processor that the first one took."""
        self._ours.send(list(asked))
        return self._answer()

    def search_and_end(self, asked: Sequence[str]) -> None:
        """Search for these, then close the memory and end."""
        if asked:
            self.search(asked)
        self._ours.send(None)
        self._process.join()

    def _answer(self) -> float:
        answer = self._ours.recv()
        if isinstance(answer, MemgraphRagError):
            self._process.join()
            raise answer
        return answer


def _serve(pipe: Connection, file: Path, given: dict[str, Any], read_only: bool) -> None:
    try:
        with Memory(file, read_only=read_only, **given) as memory:
            memory.embedder.embed(["Ann Lee lives in Warsaw."])
            memory._models.recognizer.recognize(["Ann Lee lives in Warsaw."])
            pipe.send(0.0)
            while (asked := pipe.recv()) is not None:
                seconds = [_search(memory, question) for question in asked]
                pipe.send(seconds[0])
    except MemgraphRagError as error:
        pipe.send(error)


def _search(memory: Memory, question: str) -> float:
    started = time.process_time()
    memory.search(question)
    return time.process_time() - started


# ── what Linux tells ─────────────────────────────────────────────────────────────────────────────────────


def _of_mappings(searchers: Sequence[Searcher]) -> list[str]:
    kib = [mapped(_lines("smaps", searcher), searcher.index_prefix) for searcher in searchers]
    shared = (each["Shared_Clean"] + each["Shared_Dirty"] for each in kib)
    rss, pss, private = _held(kib)
    return [rss, pss, _mib(shared), private]


def _of_processes(searchers: Sequence[Searcher]) -> list[str]:
    return _held([mapped(_lines("smaps_rollup", searcher), "[rollup]") for searcher in searchers])


def _lines(name: str, searcher: Searcher) -> list[str]:
    return Path(f"/proc/{searcher.pid}/{name}").read_text().splitlines()


def _held(kib: Sequence[Counter[str]]) -> list[str]:
    """Rss, Pss and what is private, in the mean."""
    private = (each["Private_Clean"] + each["Private_Dirty"] for each in kib)
    return [_mib(each["Rss"] for each in kib), _mib(each["Pss"] for each in kib), _mib(private)]


def mapped(smaps: Iterable[str], prefix: str) -> Counter[str]:
    """KiB of each kind, summed over the mappings of files whose path begins so."""
    kib: Counter[str] = Counter()
    is_meant = False
    for line in smaps:
        name, *values = line.split()
        if not name.endswith(":"):
            path = line.split(maxsplit=5)[5:]
            is_meant = bool(path) and path[0].startswith(prefix)
        elif is_meant and values[-1] == "kB":
            kib[name.removesuffix(":")] += int(values[0])
    return kib


def _mib(kib: Iterable[int]) -> str:
    listed = list(kib)
    return f"{sum(listed) / len(listed) / 1024:.1f}"


if __name__ == "__main__":
    sys.exit(main())
