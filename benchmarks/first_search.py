"""How long does the first search of a process take, and which imports does it wait for?

    python benchmarks/first_search.py [DIR] [--segments N] [--runs N] [--store PATH]

The first documents of DIR (``benchmarks/data/musique``) are added until the memory holds N segments (1,000), with the
packaged English embedder. Each run is a new process: ``memgraph-rag search``, and a program that opens the memory and
searches. A run that does not count compiles the modules and keeps the memory's index. Printed are seconds of the clock
and of the processors (median, least, most), and the slowest imports.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from memgraph_rag import Memory
from memgraph_rag.evaluation.dataset import read_folder

EMBEDDER = "all-MiniLM-L6-v2"
QUESTION = "Who wrote the book about the sea?"
LIBRARY = "import sys; from memgraph_rag import Memory; Memory(sys.argv[1], read_only=True).search(sys.argv[2])"
SHOWN = 12
IMPORT = re.compile(r"import time: +(\d+) \| +(\d+) \|(.+)")


def fill(store: Path, folder: Path, segments: int) -> int:
    """Add documents until the memory holds so many segments, and return their number."""
    count = 0
    with Memory(store, embedder=EMBEDDER) as memory:
        for document in read_folder(folder).documents:
            count += memory.add(document.text, key=document.key, title=document.title).counts["Segment"]
            if count >= segments:
                break
    return count


def run_once(command: list[str]) -> tuple[float, float]:
    """Return the seconds of the clock and of the processors of a process that finds its modules compiled."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, begun = os.times(), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=kept)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - begun, cpu


def slowest_imports(command: list[str]) -> list[tuple[float, str]]:
    """Return the milliseconds of the slowest imports with what they import, the slowest first."""
    done = subprocess.run([command[0], "-X", "importtime", *command[1:]], check=True, capture_output=True, text=True)
    found = (IMPORT.match(line) for line in done.stderr.splitlines())
    return sorted(((int(match[2]) / 1000, match[3].strip()) for match in found if match), reverse=True)[:SHOWN]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("benchmarks/data/musique"))
    parser.add_argument("--segments", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--store", type=Path, help="a memory that is there already")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        store = given.store or Path(scratch) / "first.lbug"
        if given.store is None:
            print(f"{fill(store, given.folder, given.segments):,} segments")
        ways = {
            "memgraph-rag search": [sys.executable, "-m", "memgraph_rag", "search", QUESTION, "--store", str(store)],
            "Memory(…).search": [sys.executable, "-c", LIBRARY, str(store), QUESTION],
        }
        print("| first search | s | least … most | processor s |\n|---|---|---|---|")
        for name, command in ways.items():
            run_once(command)  # compiles what was not compiled
            clock, cpu = zip(*(run_once(command) for _ in range(given.runs)), strict=True)
            print(f"| {name} | {statistics.median(clock):.2f} | {min(clock):.2f} … {max(clock):.2f} "
                  f"| {statistics.median(cpu):.2f} |")  # fmt: skip
        for name, command in ways.items():
            print(f"\n{name}: slowest imports, ms with what they import")
            for milliseconds, module in slowest_imports(command):
                print(f"{milliseconds:8.0f}  {module}")


if __name__ == "__main__":
    main()
