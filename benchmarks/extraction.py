"""How much of a strong extractor's entities does a small model find, does what it stores verify, and what does it cost?

    python benchmarks/extraction.py DIR [--passages N] [--text FILE] [--batches N] [--questions N] [--model NAME]
                                        [--json FILE]

DIR holds ``docs.jsonl`` and ``openie_gpt35.jsonl`` (entities and triples of each passage by GPT-3.5). The first N
passages that have triples go through the entities and the relations layer; nothing is stored. Measured is:

- entity recall: of a passage's GPT-3.5 entities, by normal form, the share that is a mention or a title; of all, and of
  those that hold a letter (a bare number is no entity here); by the recognizer alone, and with the model;
- relations a passage, and whether each verifies: both ends mentioned in its segment, surfaces as in the text;
- tokens against the points layer, on the first batches of a long text (--text): passages are too short for points;
- with --questions, the same passages (ten of them) with a question pool of so many questions a batch.

Means over passages with their bootstrap interval of 95 %; the tables are Markdown. What the model wrote is kept in the
journal of the user's cache for a week, so that a run that was cut goes on where it was.

Data: benchmarks/data has a sample of each set, 20 questions, to see that it runs; its README.md names the full sets.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from machine import header
from take_sample import DATA_HELP

from memgraph_rag import Memory
from memgraph_rag.cli.progress import Bars
from memgraph_rag.contracts import Models, SplitDocument, TokenCounter
from memgraph_rag.errors import DocumentError, MemgraphRagError
from memgraph_rag.evaluation.metrics import RESAMPLES, SEED, interval
from memgraph_rag.layers.entities import EntitiesLayer
from memgraph_rag.layers.points import PointsLayer
from memgraph_rag.layers.relations import RelationsLayer
from memgraph_rag.lexical.names import is_name, normalise
from memgraph_rag.text.splitting import split
from memgraph_rag.types import LayerRows, Segment, Usage

NAMESPACE = "extraction"
POOLED = 10
"""Passages that are read a second time with a question pool."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage with its gold entities, in normal form."""

    document: SplitDocument
    gold: frozenset[str]


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run the benchmark; 0 where it came to its end. ``given`` are further arguments of ``Memory``, for tests."""
    options = _options(arguments)
    try:
        with tempfile.TemporaryDirectory() as folder, Bars() as bars:
            store = Path(folder) / "extraction.lbug"
            with Memory(store, **{"model": options.model, **given}) as memory:
                rows = measure(options, memory, bars)
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, metavar="DIR", help=DATA_HELP)
    parser.add_argument("--passages", type=int, default=50, help="how many (50)")
    parser.add_argument("--text", type=Path, help="a long text, for the tokens against the points layer")
    parser.add_argument("--batches", type=int, default=6, help="so many batches of it (6)")
    parser.add_argument("--questions", type=int, default=0, help="of the question pool, a batch (0: not measured)")
    parser.add_argument("--model", help="name or folder of the language model")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    return parser.parse_args(arguments)


def measure(options: argparse.Namespace, memory: Memory, bars: Bars) -> list[dict[str, Any]]:
    """Print the tables; the rows as they are written as JSON."""
    models, batch_tokens = memory._parts.models, memory.settings.batch_tokens
    passages = _passages(options.directory, options.passages, models.language.count_tokens)
    print(f"{header(memory)}\nlanguage model {models.language.name}, batches of {batch_tokens} tokens")
    print(f"bootstrap over passages: {RESAMPLES:,} resamples, seed {SEED}\n")
    layer = RelationsLayer(batch_tokens=batch_tokens)
    built, seconds = _built(layer, [passage.document for passage in passages], models, bars)
    rows = _report(f"{options.directory.name} ({len(passages)})", passages, models, built, seconds)
    if options.questions:
        few = passages[:POOLED]
        pooling = RelationsLayer(batch_tokens=batch_tokens, pool_questions=options.questions)
        pooled, seconds = _built(pooling, [passage.document for passage in few], models, bars)
        rows += _report(f"the first {len(few)}, no pool", few, models, built[: len(few)], 0.0)
        rows += _report(f"the first {len(few)}, {options.questions} questions a batch", few, models, pooled, seconds)
    if options.text:
        rows += _against_points(options.text, options.batches, layer, models, batch_tokens, bars)
    return rows


def _passages(directory: Path, count: int, counter: TokenCounter) -> list[Passage]:
    try:
        documents = {row["doc_id"]: row for row in _lines(directory / "docs.jsonl")}
        wanted = (row for row in _lines(directory / "openie_gpt35.jsonl") if row["triples"])
        chosen = list(islice(wanted, count))
        passages = [
            Passage(
                _split(row["doc_id"], documents[row["doc_id"]]["title"], documents[row["doc_id"]]["text"], counter),
                frozenset(normal for entity in row["entities"] if (normal := normalise(entity))),
            )
            for row in chosen
        ]
    except (OSError, ValueError, KeyError) as error:
        raise DocumentError(f"Expected docs.jsonl and openie_gpt35.jsonl in {directory}, but: {error!r}.") from error
    if len(passages) < 2:
        raise DocumentError(f"Expected at least 2 passages with triples in {directory}, for an interval.")
    return [passage for passage in passages if passage.gold]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _split(key: str, title: str, text: str, counter: TokenCounter, most: int | None = None) -> SplitDocument:
    spans = split(text, count_tokens=counter, max_tokens=300, cuts=[0])[:most]
    segments = (
        Segment(f"{key}:{place}", key, place, text[span.start : span.end], span.start, span.end, span.tokens)
        for place, span in enumerate(spans)
    )
    return SplitDocument(key, title, tuple(segments))


def _built(
    layer: RelationsLayer | PointsLayer, documents: Sequence[SplitDocument], models: Models, bars: Bars
) -> tuple[list[LayerRows], float]:
    started = time.perf_counter()
    rows = layer.build(documents, namespace=NAMESPACE, models=models, progress=bars)
    return rows, time.perf_counter() - started


def _report(
    what: str, passages: Sequence[Passage], models: Models, built: Sequence[LayerRows], seconds: float
) -> list[dict[str, Any]]:
    """One table: recall, relations, tokens of these passages."""
    named = EntitiesLayer().build([passage.document for passage in passages], namespace=NAMESPACE, models=models)
    columns: dict[str, list[float]] = {}
    for passage, recognized, made in zip(passages, named, built, strict=True):
        alone = {mention.normal for mention in (*recognized.mentions, *recognized.titles)}
        both = alone | {mention.normal for mention in made.mentions}
        letters = {entity for entity in passage.gold if is_name(entity)}
        figures = {
            "entity recall, recognizer alone, %": 100 * len(passage.gold & alone) / len(passage.gold),
            "entity recall, with the model, %": 100 * len(passage.gold & both) / len(passage.gold),
            "relations": len(made.relations),
            "relations that verify, %": _verifying(passage.document, recognized, made),
            "tokens read": made.usage.prompt_tokens,
            "tokens written": made.usage.generated_tokens,
        }
        if letters:
            figures["of names with a letter, recognizer alone, %"] = 100 * len(letters & alone) / len(letters)
            figures["of names with a letter, with the model, %"] = 100 * len(letters & both) / len(letters)
        for name, value in figures.items():
            columns.setdefault(name, []).append(value)
    rows = [
        {"set": what, "metric": name, **_interval(values)._asdict(), "n": len(values)}
        for name, values in columns.items()
    ]
    gold = [(passage, made, recognized) for passage, made, recognized in zip(passages, built, named, strict=True)]
    pooled = _pooled_recall(gold)
    rows += [{"set": what, "metric": name, "value": value, "n": len(passages)} for name, value in pooled.items()]
    print(f"| {what} | mean over passages |\n|---|---|")
    for row in rows:
        low = f" [{row['low']:.1f}, {row['high']:.1f}]" if "low" in row else ""
        print(f"| {row['metric']} | {row['value']:.1f}{low} |")
    notes = sum((Counter(made.notes) for made in built), Counter())
    counted = ", ".join(f"{name} {count}" for name, count in notes.most_common())
    print(f"\nSeconds: {seconds:.0f}. Counted: {counted or 'nothing'}.\n")
    return [*rows, {"set": what, "notes": dict(notes), "seconds": round(seconds, 1)}]


def _interval(values: Sequence[float]) -> Any:
    return interval(np.array(values, float)[~np.isnan(values)])


def _pooled_recall(passages_and_rows: Sequence[tuple[Passage, LayerRows, LayerRows]]) -> dict[str, float]:
    """Recall over all entities of all passages together, each counted once a passage."""
    shares = {}
    for name, keep in (("all entities", lambda _: True), ("entities with a letter", is_name)):
        gold = hit = 0
        for passage, made, recognized in passages_and_rows:
            known = {mention.normal for mention in (*recognized.mentions, *recognized.titles, *made.mentions)}
            of_kind = {entity for entity in passage.gold if keep(entity)}
            gold, hit = gold + len(of_kind), hit + len(of_kind & known)
        shares[f"recall over {name} together, with the model, %"] = 100 * hit / max(gold, 1)
    return shares


def _verifying(document: SplitDocument, recognized: LayerRows, made: LayerRows) -> float:
    """The share, in percent, of the relations that verify, looked up anew; nan where there are none."""
    texts = {segment.id: segment for segment in document.segments}
    sound: set[tuple[str, str]] = set()
    for mention in (*recognized.mentions, *made.mentions):
        segment = texts[mention.segment_id]
        stands = segment.text[mention.start - segment.start : mention.end - segment.start] == mention.surface
        if stands and normalise(mention.surface) == mention.normal:
            sound.add((mention.entity_id, segment.id))
    verified = [
        {(relation.source_id, relation.segment_id), (relation.target_id, relation.segment_id)} <= sound
        for relation in made.relations
    ]
    return 100 * sum(verified) / len(verified) if verified else float("nan")


def _against_points(
    path: Path, count: int, layer: RelationsLayer, models: Models, batch_tokens: int, bars: Bars
) -> list[dict[str, Any]]:
    """Tokens and seconds of both layers on the first batches of one text, the points first."""
    counter = models.language.count_tokens
    document = _split(path.name, path.stem, path.read_text("utf-8"), counter, most=2 * count)
    (points,), seconds_of_points = _built(PointsLayer(batch_tokens=batch_tokens), [document], models, bars)
    (relations,), seconds = _built(layer, [document], models, bars)
    ratio = _tokens(relations.usage) / _tokens(points.usage)
    print(f"| {path.name}, {len(document.segments)} segments | tokens read | written | rows | seconds |")
    print("|---|---|---|---|---|")
    for name, usage, rows, taken in (
        ("points", points.usage, len(points.points), seconds_of_points),
        ("relations", relations.usage, len(relations.relations), seconds),
    ):
        print(f"| {name} | {usage.prompt_tokens:,} | {usage.generated_tokens:,} | {rows} | {taken:.0f} |")
    print(f"\nRelations took {ratio:.2f} × the tokens of the points.")
    print(f"Counted of the relations: {dict(relations.notes)}.\n")
    return [{"set": path.name, "metric": "tokens, relations ÷ points", "value": ratio, "n": len(document.segments)}]


def _tokens(usage: Usage) -> int:
    return usage.prompt_tokens + usage.generated_tokens


if __name__ == "__main__":
    sys.exit(main())
