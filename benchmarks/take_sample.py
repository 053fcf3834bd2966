"""Draw the small sample of the evaluation sets that lies in ``benchmarks/data``.

    python benchmarks/take_sample.py FULL [--out benchmarks/data] [--questions 20] [--seed 0]

FULL holds the full sets, one folder each (``docs.jsonl``, ``questions.jsonl``, perhaps ``turns.jsonl`` and
``openie_gpt35.jsonl``), and ``books/alice_11.txt``. Of each set so many questions are drawn, with exactly the documents
that they need:

- sets that search a whole corpus: the evidence and the paragraphs that came with each question. 2wiki_hipporag comes
  without such paragraphs, so that documents drawn at random stand in for them;
- sets of questions about documents of their own: as many questions about each of a few documents, whole.

Rows stay as they are, but for lists that repeat a document's text. Equal arguments give equal files. The sample shows
that a benchmark runs; figures for ``benchmarks/results/quality.md`` need the full sets.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["DATA", "DATA_HELP", "SETS", "TEXT", "SampledSet", "main"]

DATA = Path(__file__).with_name("data")
"""The sample."""

TEXT = DATA / "alice_11.txt"
"""A whole book in the public domain, Alice's Adventures in Wonderland."""

DATA_HELP = "folders of a question set; benchmarks/data has samples of 20 questions, its README.md names the full sets"

_REPEATING = ("sentences", "sections")  # of a document's row: its text once more, in pieces


@dataclass(frozen=True, slots=True)
class SampledSet:
    """How one set is sampled.

    Attributes:
        sources: over how many documents, or conversations, the questions are spread; 0 where they search a corpus.
        distractors: documents drawn at random beside those that the questions name.
    """

    name: str
    sources: int = 0
    distractors: int = 0


SETS = (
    SampledSet("musique"),
    SampledSet("hotpotqa"),
    SampledSet("2wiki"),
    SampledSet("2wiki_hipporag", distractors=200),
    SampledSet("musique_tune"),
    SampledSet("qasper", sources=4),
    SampledSet("quality", sources=4),
    SampledSet("fairytaleqa", sources=4),
)

Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the sample of all sets; 0."""
    options = _options(arguments)
    for sampled in SETS:
        _write_sample(options.full / sampled.name, options.out / sampled.name, sampled, options.questions, options.seed)
    shutil.copyfile(options.full / "books" / TEXT.name, options.out / TEXT.name)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("full", type=Path, metavar="FULL", help="the folder of the full sets")
    parser.add_argument("--out", type=Path, default=DATA, help="where the sample is written (benchmarks/data)")
    parser.add_argument("--questions", type=int, default=20, help="of each set (20)")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing (0)")
    return parser.parse_args(arguments)


def _write_sample(full: Path, out: Path, sampled: SampledSet, count: int, seed: int) -> None:
    generator = random.Random(f"{seed} {sampled.name}")
    documents, questions = _read(full / "docs.jsonl"), _read(full / "questions.jsonl")
    chosen = _about_sources(questions, sampled.sources, count, generator) if sampled.sources else None
    if chosen is None:
        with_evidence = [row for row in questions if row.get("evidence_doc_ids")]
        chosen = _in_order(questions, generator.sample(with_evidence, count))
    needed = set().union(*map(_needed_documents, chosen))
    others = [row["doc_id"] for row in documents if row["doc_id"] not in needed]
    needed.update(generator.sample(others, sampled.distractors))
    out.mkdir(parents=True, exist_ok=True)
    of_needed = [row for row in documents if row["doc_id"] in needed]
    _write(out / "docs.jsonl", ({k: v for k, v in row.items() if k not in _REPEATING} for row in of_needed))
    _write(out / "questions.jsonl", chosen)
    for beside in ("turns.jsonl", "openie_gpt35.jsonl"):
        if (full / beside).is_file():
            _write(out / beside, (row for row in _read(full / beside) if row["doc_id"] in needed))


def _about_sources(questions: Sequence[Row], sources: int, count: int, generator: random.Random) -> list[Row]:
    """Equally many questions about each of some documents (or conversations, which are groups of documents)."""
    by_source: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in questions:
        if row.get("evidence_spans") or row.get("evidence_turn_ids"):
            by_source[tuple(row["doc_ids"])].append(row)
    large_enough = sorted(source for source, rows in by_source.items() if len(rows) >= count // sources)
    drawn = generator.sample(large_enough, sources)
    return _in_order(
        questions, [row for source in drawn for row in generator.sample(by_source[source], count // sources)]
    )


def _needed_documents(question: Row) -> set[str]:
    named = [question.get(name) or [] for name in ("doc_ids", "evidence_doc_ids", "context_doc_ids")]
    return set().union(*named)


def _in_order(rows: Sequence[Row], chosen: Iterable[Row]) -> list[Row]:
    """The chosen rows as they follow one another among all."""
    ids = {row["qid"] for row in chosen}
    return [row for row in rows if row["qid"] in ids]


def _read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _write(path: Path, rows: Iterable[Row]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    raise SystemExit(main())
