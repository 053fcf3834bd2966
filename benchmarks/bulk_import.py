"""How long does an archive take into an empty Neo4j, by ordinary import and in bulk, and what does it hold in memory?

    python benchmarks/bulk_import.py DIR [--segments 5000 20000] [--ordinary 20000] [--version 2026.08.1] [--work DIR]

DIR holds ``docs.jsonl``. The archive is made of its documents and of copies with changed names, as in
``search_speed.py``: figures of quality would mean nothing, and no name occurs more often than in DIR. Each size gets a
server of its own, which is stopped and removed at the end; so are the archive and the files. --ordinary is the largest
size that is also imported in the ordinary way.

Measured, as seconds of the clock and of processors (of this process and of the Java that it starts): the check of the
archive with the writing of files; neo4j-admin, with the stop and the start of the server; the first opening, which
builds the indexes; the export back. Bytes of archive, files and database; by how much this process grew in each part at
most, beyond what it held before.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from typing import Any

from machine import header, memory_now
from search_speed import as_added, copies
from take_sample import DATA_HELP

from memgraph_rag import Memory
from memgraph_rag.cli.progress import Bars
from memgraph_rag.evaluation.dataset import read_folder
from memgraph_rag.maintenance import archive
from memgraph_rag.stores.neo4j import server as neo4j_server
from memgraph_rag.stores.neo4j.distribution import NEWEST
from memgraph_rag.stores.neo4j.file_import import import_files

NAMESPACE = "bulk"


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run the benchmark, a line for each part as it ends. ``given`` are further arguments of ``Memory``."""
    options = _options(arguments)
    given = {"namespace": NAMESPACE, "layers": ("entities",), "recognizer": "rules", **given}
    folder = read_folder(options.directory)
    with tempfile.TemporaryDirectory(dir=options.work) as temporary, Bars() as bars:
        work = Path(temporary)
        originals = as_added(folder, max(options.segments), bars, {**given, "namespace": "originals"})
        dimension = originals[0].segment_embeddings.shape[1]
        for size in sorted(options.segments):
            path = work / "archive.jsonl"
            with part(f"{size:,} segments: archive written"):
                embedder = _embedder(work, given)
                archive.write(path, copies(originals, size, NAMESPACE), embedder=embedder, dimension=dimension)
            print(f"  archive: {path.stat().st_size / 2**20:,.0f} MiB", flush=True)
            _in_bulk(work, path, options.version, given)
            if size <= options.ordinary:
                _ordinary(work, path, options.version, given)
            path.unlink()
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, metavar="DIR", help=DATA_HELP)
    parser.add_argument("--segments", type=int, nargs="+", default=[5_000, 20_000])
    parser.add_argument("--ordinary", type=int, default=20_000, help="the largest size of an ordinary import")
    parser.add_argument("--version", default=NEWEST, help="of Neo4j")
    parser.add_argument("--work", type=Path, help="folder for archive, files and databases")
    return parser.parse_args(arguments)


def _embedder(work: Path, given: dict[str, Any]) -> str:
    with Memory(work / "name.lbug", **given) as memory:
        return memory.embedder.name


def _in_bulk(work: Path, path: Path, version: str, given: dict[str, Any]) -> None:
    with _server(work / "bulk", version) as (server, given_server):
        with Memory(server.bolt_uri, **given_server, **given) as memory, part("  checked, and files written"):
            files = memory.maintenance.write_bulk_files(path, work / "files")
        with part("  neo4j-admin, between stop and start"):
            import_files(server, files)
        print(f"  files: {_mib(work / 'files'):,.0f} MiB", flush=True)
        rmtree(work / "files")
        with part("  first opening"):
            memory = Memory(server.bolt_uri, **given_server, **given)
        with memory:
            print(header(memory))
            _exported(memory, work)
        print(f"  database: {_mib(server.home / 'data'):,.0f} MiB", flush=True)


def _ordinary(work: Path, path: Path, version: str, given: dict[str, Any]) -> None:
    with (
        _server(work / "ordinary", version) as (server, given_server),
        Memory(server.bolt_uri, **given_server, **given) as memory,
    ):
        with part("  ordinary import"):
            for _ in memory.maintenance.import_from(path):
                pass
        _exported(memory, work)
        print(f"  database: {_mib(server.home / 'data'):,.0f} MiB", flush=True)


def _exported(memory: Memory, work: Path) -> None:
    with part("  export"):
        memory.maintenance.export_to(work / "back.jsonl")
    same = (work / "back.jsonl").stat().st_size == (work / "archive.jsonl").stat().st_size
    print(
        f"  counts: { {name: n for name, n in memory.status()['counts'].items() if n} }; export of equal size: {same}"
    )
    (work / "back.jsonl").unlink()


@contextmanager
def _server(home: Path, version: str) -> Iterator[tuple[neo4j_server.RunningServer, dict[str, Any]]]:
    server = neo4j_server.start(home, version=version, bolt_port=0, http_port=0, timeout_s=600)
    try:
        yield server, {"neo4j": {"user": server.user, "password": server.password}}
    finally:
        neo4j_server.stop(home)
        rmtree(home)


@contextmanager
def part(what: str) -> Iterator[None]:
    """Print what a part took: seconds, and the most memory beyond what was held before it."""
    before = most = memory_now() or 0
    over = threading.Event()

    def watch() -> None:
        nonlocal most
        while not over.wait(0.05):
            most = max(most, memory_now() or 0)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    started, spent = time.perf_counter(), _processor_seconds()
    yield
    seconds, spent = time.perf_counter() - started, _processor_seconds() - spent
    over.set()
    watcher.join()
    print(f"{what}: {seconds:.1f} s, of processors {spent:.1f} s, {(most - before) / 2**20:+.0f} MiB", flush=True)


def _processor_seconds() -> float:
    """Of this process, of its children that ended, and on Linux of those that run."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = time.process_time() + ended.ru_utime + ended.ru_stime
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) == os.getpid():
                total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def _mib(folder: Path) -> float:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file()) / 2**20


if __name__ == "__main__":
    sys.exit(main())
