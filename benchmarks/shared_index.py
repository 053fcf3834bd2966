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
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from children import Child, ChildError
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
        with Child(Searcher, options.file, given, False) as writer:
            writer.call("search", asked[:1])
            writer.call("close")
        rows = list(_measured(options.file, given, options.processes, asked))
    except (MemgraphRagError, ChildError) as error:
        message = str(error) if isinstance(error, ChildError) else f"{type(error).__name__}: {error}"
        print(message, file=sys.stderr)
        return 1
    print(f"{version_line('ladybug')}\n{machine_line()}\n")
    for row in (COLUMNS, ["---"] * len(COLUMNS), *rows):
        print(f"| {' | '.join(row)} |")
    return 0


def _measured(file: Path, given: dict[str, Any], processes: int, asked: Sequence[str]) -> Iterator[list[str]]:
    """The rows of the table: a process that has searched nothing, then as many as search."""
    with ExitStack() as stack:
        searchers: list[Child] = []
        while len(searchers) < processes:
            searchers.append(stack.enter_context(Child(Searcher, file, given, True)))
            if len(searchers) == 1:
                yield ["opened", *["–"] * 4, *_of_processes(searchers), "–"]
            first_s = searchers[-1].call("search", asked)
            yield [f"{len(searchers)}", *_of_mappings(file, searchers), *_of_processes(searchers), f"{first_s:.2f}"]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, metavar="FILE", help="a Ladybug file that nobody has open")
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--processes", type=int, default=2, help="how many search at a time in the end")
    parser.add_argument("--searches", type=int, default=5, help="of each process")
    return parser.parse_args(arguments)


def questions(memory: Memory, most: int) -> list[str]:
    """The first words of segments of different documents."""
    document_ids = memory._parts.store.document_ids()
    chosen = document_ids[:: max(1, len(document_ids) // most)][:most]
    return [" ".join(memory._parts.store.segments_of(document_id)[0].text.split()[:WORDS]) for document_id in chosen]


class Searcher:
    """A memory that is open, with its models loaded; in a process of its own."""

    def __init__(self, file: Path, given: dict[str, Any], read_only: bool) -> None:
        self._memory = Memory(file, read_only=read_only, **given)
        self._memory.embedder.embed(["Ann Lee lives in Warsaw."])
        self._memory._parts.models.recognizer.recognize(["Ann Lee lives in Warsaw."])

    def search(self, texts: Sequence[str]) -> float:
        """Search for these; the seconds of the processor that the first one took."""
        first_s, *_ = [self._seconds_of(text) for text in texts]
        return first_s

    def _seconds_of(self, text: str) -> float:
        started = time.process_time()
        self._memory.search(text)
        return time.process_time() - started

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()


# ── what Linux tells ─────────────────────────────────────────────────────────────────────────────────────


def _of_mappings(file: Path, searchers: Sequence[Child]) -> list[str]:
    kib = [mapped(_lines("smaps", searcher), f"{file.resolve()}.index-") for searcher in searchers]
    shared = (each["Shared_Clean"] + each["Shared_Dirty"] for each in kib)
    rss, pss, private = _held(kib)
    return [rss, pss, _mib(shared), private]


def _of_processes(searchers: Sequence[Child]) -> list[str]:
    return _held([mapped(_lines("smaps_rollup", searcher), "[rollup]") for searcher in searchers])


def _lines(name: str, searcher: Child) -> list[str]:
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
