"""How long does a turn of a conversation take to store, beside many that are stored already?

    python benchmarks/session_turns.py [--turns 0 50000] [--measured 200] [--store FILE] [--json FILE]

A memory is filled with turns, sentences of a book (``--text``), a hundred to a session, ten sessions to a user; then
single turns are added to one further session, one ``Session.add`` each, after 20 that are not counted. Alternating with
it, what a program would do by hand: the same embedder, and one row with text and vector in SQLite, in a transaction of
its own (``synchronous=FULL``, as safe as ours). Printed are milliseconds by the clock and of the processor, the middle
and the 95th percentile, and the part of the embedder. No language model is used.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from machine import header

from memgraph_rag import Memory
from memgraph_rag.cli.progress import Bars
from memgraph_rag.contracts import Embedder
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.types import Matrix

WARM_UP = 20
PER_SESSION, SESSIONS = 100, 10
COLUMNS = ("turns", "way", "p50_ms", "p95_ms", "processor_p50_ms", "embedder_p50_ms")


class Timed:
    """An embedder that says how long it took."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name, self.dimension, self.count_tokens = embedder.name, embedder.dimension, embedder.count_tokens
        self.seconds = 0.0

    def embed(self, texts: Sequence[str]) -> Matrix:
        """As the embedder does."""
        begin = time.perf_counter()
        vectors = self._embedder.embed(texts)
        self.seconds += time.perf_counter() - begin
        return vectors


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run the benchmark; 0 where it came to its end, 1 where it failed.

    ``given`` are further arguments of ``Memory``, for tests.
    """
    options = _options(arguments)
    rows: list[dict[str, Any]] = []
    try:
        with tempfile.TemporaryDirectory() as temporary, Bars() as bars:
            store = options.store or Path(temporary) / "turns.lbug"
            with Memory(store, layers=(), **given) as memory:
                memory.embedder.embed(["It is loaded."])
                embedder = Timed(memory.embedder)
            with (
                Memory(store, layers=(), **given | {"embedder": embedder}) as memory,
                closing(sqlite3.connect(Path(temporary) / "turns.sqlite")) as rival,
            ):
                print(f"{header(memory)}\n\n| {' | '.join(COLUMNS)} |\n{'| --- ' * len(COLUMNS)}|")
                said = _sentences(options.text)
                for turns in options.turns:
                    _fill(memory, said, turns, bars)
                    for row in _measured(memory, embedder, rival, said, options.measured):
                        rows.append({"turns": turns} | row)
                        print(f"| {' | '.join(str(rows[-1][name]) for name in COLUMNS)} |", flush=True)
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, nargs="+", default=[0, 50_000], help="stored before")
    parser.add_argument("--measured", type=int, default=200, help="turns that are measured")
    parser.add_argument("--text", type=Path, default=Path(__file__).parent / "data" / "alice_11.txt")
    parser.add_argument("--store", type=Path, help="a Ladybug file that is kept; by default a temporary one")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(arguments)
    options.turns.sort()
    return options


def _sentences(path: Path) -> Iterator[str]:
    """The sentences of a text, again and again."""
    sentences = re.split(r"(?<=[.!?])\s+", " ".join(path.read_text("utf-8").split()))
    return cycle(sentences)


def _fill(memory: Memory, said: Iterator[str], turns: int, bars: Bars) -> None:
    stored = sum(record.segments for record in memory.documents())
    for number in range(stored // PER_SESSION, turns // PER_SESSION):
        bars("turns", number * PER_SESSION, turns)
        user, session = divmod(number, SESSIONS)
        texts = islice(said, PER_SESSION)
        memory.session(user=f"user {user}", session=str(session)).add(
            [{"role": "user", "content": text, "id": place} for place, text in enumerate(texts)]
        )


def _measured(
    memory: Memory, embedder: Timed, rival: sqlite3.Connection, said: Iterator[str], number: int
) -> Iterator[dict[str, Any]]:
    session = memory.session(user="measured", session=str(time.time_ns()))
    rival.execute("PRAGMA synchronous=FULL")
    rival.execute("CREATE TABLE IF NOT EXISTS turn (text TEXT, vector BLOB)")

    def by_hand(text: str) -> None:
        vector = embedder.embed([text])[0].tobytes()
        with rival:
            rival.execute("INSERT INTO turn VALUES (?, ?)", (text, vector))

    ways: dict[str, Callable[[str], object]] = {
        "Session.add": lambda text: session.add([{"role": "user", "content": text}]),
        "embedder and SQLite": by_hand,
    }
    taken: dict[str, list[tuple[float, float, float]]] = {way: [] for way in ways}
    for text in islice(said, WARM_UP + number):
        for way, store in ways.items():
            embedder.seconds, processor, begin = 0.0, time.process_time(), time.perf_counter()
            store(text)
            taken[way].append((time.perf_counter() - begin, time.process_time() - processor, embedder.seconds))
    for way, seconds in taken.items():
        clock, processor, embedding = 1000 * np.array(seconds[WARM_UP:]).T
        yield {
            "way": way,
            "p50_ms": round(float(np.median(clock)), 1),
            "p95_ms": round(float(np.percentile(clock, 95)), 1),
            "processor_p50_ms": round(float(np.median(processor)), 1),
            "embedder_p50_ms": round(float(np.median(embedding)), 1),
        }


if __name__ == "__main__":
    sys.exit(main())
