"""How long does one step of a walk over relations take, and does that grow with the graph?

    python benchmarks/expansion.py [--segments 1000 10000] [--stores PATH_OR_URL …] [--steps 300] [--json FILE]

The graph is made up: documents of 100 segments, each of which mentions three entities and states two relations, of the
first with the second and of the second with the third. Who is mentioned follows a Pitman-Yor process (discount 0.8,
concentration 50), in which a name comes back as often as it was there. Of 19,823 mentions in 1,879 paragraphs of
MuSiQue 60 % name somebody new, 78 % of the names occur once, and the most frequent is 1.4 % of all; of 4,101 in Pride
and Prejudice 9 %, 58 % and 11.9 %; of 20,000 of the process 40 %, 80 % and 3.0 %. So the largest degree grows with the
graph, as it does in a novel. Embeddings are at random,
384 numbers each, so no two names are near; each second entity gets a planted near-synonym, which is not looked for.

A step asks for the 10 best relations of the entities of two segments drawn at random (about six, near-synonyms not
counted; a frequent entity is drawn more often). Measured are steps one after another in one process, after 20 that are
not counted: ``expand`` with a vector, ``segments_naming`` and ``entities_of``, and ``expand`` of the most frequent
entity alone. On the embedded store processor time is given beside wall time, for on a busy machine the wall says
little.

Stores are by default a temporary Ladybug file; a Neo4j's password comes from NEO4J_PASSWORD. A namespace that is filled
already is used as it is. 100,000 segments take nine minutes to write on Neo4j, six in a Ladybug graph in memory
(``--stores :memory:``). --json writes the figures, of other stores too where the file has them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from machine import machine_line

from memgraph_rag import __version__
from memgraph_rag.cli.progress import Bars
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.evaluation.metrics import SEED
from memgraph_rag.stores import open_store
from memgraph_rag.types import (
    DocumentGraph,
    DocumentRecord,
    Matrix,
    Mention,
    Relation,
    Segment,
    Similar,
    entity_id,
    make_id,
)

DIMENSION = 384
PER_DOCUMENT, MENTIONED = 100, 3
DISCOUNT, CONCENTRATION = 0.8, 50.0
WARM_UP, K = 20, 10
COLUMNS = ("store", "segments", "relations", "largest degree", "call", "p50_ms", "p99_ms", "processor_p50_ms", "load")
CALLS = ("expand", "expand of the most frequent", "segments_naming", "entities_of")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 where it came to its end."""
    options = _options(arguments)
    print(f"memgraph_rag {__version__}; {datetime.now().astimezone():%Y-%m-%d %H:%M %Z}\n{machine_line()}\n")
    print(f"| {' | '.join(COLUMNS)} |\n{'| --- ' * len(COLUMNS)}|")
    try:
        with tempfile.TemporaryDirectory() as temporary, Bars() as bars:
            for store in options.stores or [str(Path(temporary) / "expansion.lbug")]:
                for size in sorted(options.segments):
                    rows = _measured(store, size, options.steps, bars)
                    for row in rows:
                        print(f"| {' | '.join(str(row[name]) for name in COLUMNS)} |", flush=True)
                    if options.json:
                        _write(options.json, rows)
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--segments", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument(
        "--stores", nargs="+", help="files or Neo4j addresses that are kept; by default a temporary file"
    )
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    return parser.parse_args(arguments)


# ── the graph ────────────────────────────────────────────────────────────────────────────────────────────


def drawn(count: int, rng: np.random.Generator) -> list[int]:
    """Entities by number, in the order in which they are mentioned: new ones, or again who was mentioned before."""
    times: list[int] = []
    mentions: list[int] = []
    for place in range(count):
        if rng.random() * (place + CONCENTRATION) < CONCENTRATION + DISCOUNT * len(times):
            mentions.append(len(times))
            times.append(1)
            continue
        who = mentions[int(rng.integers(place))]
        while rng.random() < DISCOUNT / times[who]:
            who = mentions[int(rng.integers(place))]
        times[who] += 1
        mentions.append(who)
    return mentions


def name_of(number: int) -> str:
    """A name without digits, of which no two are writings of one."""
    letters = "abcdefghij"
    return "n" + "".join(letters[int(digit)] for digit in str(number))


def documents(namespace: str, segments: int) -> Iterator[DocumentGraph]:
    """The made-up documents, always the same ones for a size."""
    rng = np.random.default_rng(SEED)
    who = drawn(segments * MENTIONED, rng)
    for first in range(0, segments, PER_DOCUMENT):
        count = min(PER_DOCUMENT, segments - first)
        key = f"document {first // PER_DOCUMENT}"
        yield document(namespace, key, who[first * MENTIONED : (first + count) * MENTIONED], rng)


def document(namespace: str, key: str, who: Sequence[int], rng: np.random.Generator) -> DocumentGraph:
    """A document in which these entities are mentioned, by their numbers; ``MENTIONED`` of them a segment."""
    document_id = make_id(namespace, "document", key)
    segments, mentions, relations = [], [], []
    at = 0
    for index in range(len(who) // MENTIONED):
        names = [name_of(entity) for entity in who[index * MENTIONED : (index + 1) * MENTIONED]]
        text = f"{' and '.join(names)} met. "
        segment = Segment(make_id(document_id, "segment", index), document_id, index, text, at, at + len(text), 9)
        segments.append(segment)
        ids = [entity_id(namespace, name) for name in names]
        begin = at
        for name, mentioned_id in zip(names, ids, strict=True):
            mentions.append(Mention(mentioned_id, name, "NAME", name, segment.id, begin, begin + len(name)))
            begin += len(name) + len(" and ")
        relations += [
            Relation(
                make_id(segment.id, "relation", place),
                ids[place],
                ids[place + 1],
                f"{names[place]} met the next.",
                segment.id,
            )
            for place in range(MENTIONED - 1)
            if ids[place] != ids[place + 1]
        ]
        at += len(text)
    record = DocumentRecord(
        id=document_id,
        key=key,
        title=key,
        source="",
        sha256="0" * 64,
        added_at="2026-01-01T00:00:00+00:00",
        characters=at,
        segments=len(segments),
        layers=("entities", "relations"),
        model="",
        metadata={},
        recognizer="made up",
    )
    graph = DocumentGraph(
        record,
        tuple(segments),
        _units(len(segments), rng),
        mentions=tuple(mentions),
        relations=tuple(relations),
        relation_embeddings=_units(len(relations), rng),
    )
    names_by_id = {mention.entity_id: mention.normal for mention in mentions}
    seeds = [np.random.default_rng(list(names_by_id[end].encode())) for end in graph.ends]
    ends = np.concatenate([_units(1, seed) for seed in seeds]) if seeds else _units(0, rng)
    return replace(graph, end_embeddings=ends)


def _units(count: int, rng: np.random.Generator) -> Matrix:
    matrix = rng.standard_normal((count, DIMENSION), np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def _planted(_: Any, columns: Any) -> list[Similar]:
    """Instead of a search: each second of the entities that are new is near the one before it."""
    ids = sorted(columns["id"])
    return [Similar(entity, other, 0.9) for entity, other in zip(ids[::2], ids[1::2], strict=False)]


# ── the steps ────────────────────────────────────────────────────────────────────────────────────────────


def _measured(address: str, size: int, steps: int, bars: Bars) -> list[dict[str, Any]]:
    given: dict[str, Any] = (
        {"user": "neo4j", "password": os.environ.get("NEO4J_PASSWORD", "")} if "://" in address else {}
    )
    with closing(open_store(address, namespace=f"expansion of {size}", **given)) as store:
        store.migrate(embedder="at random", dimension=DIMENSION)
        started = time.perf_counter()
        if store.statistics()["Segment"] < size:
            store._find_near = _planted  # type: ignore[attr-defined]
            for number, graph in enumerate(documents(store.namespace, size), 1):
                store.write(graph)
                bars(f"writing {size:,} segments", min(size, number * PER_DOCUMENT), size)
        filled_s = time.perf_counter() - started
        who = drawn(size * MENTIONED, np.random.default_rng(SEED))
        rng = np.random.default_rng(SEED + 1)
        hub = entity_id(store.namespace, name_of(int(np.bincount(who).argmax())))
        asked = [
            [
                entity_id(store.namespace, name_of(who[MENTIONED * int(segment) + place]))
                for segment in rng.integers(size, size=2)
                for place in range(MENTIONED)
            ]
            for _ in range(WARM_UP + steps)
        ]
        vectors = _units(len(asked), rng)
        nodes = [hit.node_id for hit in store.nearest(vectors[0], k=50)]
        statistics = store.statistics()
        degree = sum(
            hub in (neighbour.relation.source_id, neighbour.relation.target_id)
            for neighbour in store.expand([hub], vector=None, k=10**6)
        )
        calls: tuple[Callable[[int], object], ...] = (
            lambda step: store.expand(asked[step], vector=vectors[step], k=K),
            lambda step: store.expand([hub], vector=vectors[step], k=K),
            lambda step: store.segments_naming(asked[step], vector=vectors[step], k=K),
            lambda step: store.entities_of(nodes[step % 40 : step % 40 + K]),
        )
        connection = getattr(store, "_connection", None)
        engine = f"Ladybug {version('ladybug')}" if connection is None else f"Neo4j {connection.version}"
        rows = []
        for name, call in zip(CALLS, calls, strict=True):
            wall, processor = _timed(call, steps)
            p50, p99 = np.percentile(wall, [50, 99])
            rows.append(
                {
                    "store": engine,
                    "segments": size,
                    "relations": statistics["RELATES_TO"],
                    "largest degree": degree,
                    "call": name,
                    "p50_ms": round(float(p50), 2),
                    "p99_ms": round(float(p99), 2),
                    "processor_p50_ms": round(float(np.median(processor)), 2) if connection is None else None,
                    "filled_s": round(filled_s),
                    "load": round(os.getloadavg()[0], 1),
                }
            )
        return rows


def _timed(call: Callable[[int], object], steps: int) -> tuple[list[float], list[float]]:
    """Milliseconds of wall and of this process's processors, of each step after those that warm up."""
    wall, processor = [], []
    for step in range(WARM_UP + steps):
        began, worked = time.perf_counter(), time.process_time()
        call(step)
        wall.append(1000 * (time.perf_counter() - began))
        processor.append(1000 * (time.process_time() - worked))
    return wall[WARM_UP:], processor[WARM_UP:]


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    held = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    new = {(row["store"], row["segments"]) for row in rows}
    kept = [row for row in held if (row["store"], row["segments"]) not in new]
    stamped = [{**row, "machine": machine_line(), "date": f"{datetime.now().astimezone():%Y-%m-%d}"} for row in rows]
    listed = sorted([*kept, *stamped], key=lambda row: (row["store"], row["segments"]))
    path.write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
