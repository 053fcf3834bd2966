"""Fit what tells by a question's vector whether it asks about a whole (``Embedder.breadth``), and score it.

    python benchmarks/fit_breadth.py [--passages DIR…] [--others DIR…] [--write]

``data/breadth`` has questions of both kinds, made up for this by writers who knew neither the rules of
``lexical/breadth.py`` nor each other's: three sets to fit by, and one held back. Of each folder of ``--passages`` sixty
questions, at even distances, are further ones about passages to fit by. Printed are, of questions about wholes and of
those about passages, how many are taken to be about a whole: by the rules, by the fit, and by either, which is what
``ask`` does; for each set of the fit by the other sets, for what is held back, and for the questions of
``--passages`` and ``--others`` that took no part, whatever they ask about. 95 % intervals by Wilson. --write puts the
weights where the embedder finds them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from logistic import fit_logistic
from machine import header
from scipy.stats import binomtest

from memgraph_rag import Memory
from memgraph_rag.contracts import query_vectors
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.evaluation.dataset import read_folder
from memgraph_rag.lexical.breadth import asks_about_the_whole
from memgraph_rag.models.embedders.calibration import find_shipped_file
from memgraph_rag.types import Matrix, QuestionBreadth

DATA = Path(__file__).parent / "data" / "breadth"
PENALTY = 0.1
LEAST = 0.7
"""Both chosen on the sets to fit by, each scored by the others: of four penalties and of 0.5 to 0.8 those that find
most where at most one in a hundred questions about passages is taken for the other kind."""
FURTHER = 60


@dataclass(frozen=True)
class Questions:
    """Questions with their vectors; ``is_whole`` (n,)."""

    texts: list[str]
    vectors: Matrix
    is_whole: Any

    def only(self, chosen: Any) -> Questions:
        """Those that are chosen, (n,) bool."""
        texts = [text for text, is_chosen in zip(self.texts, chosen, strict=True) if is_chosen]
        return Questions(texts, self.vectors[chosen], self.is_whole[chosen])

    def __add__(self, other: Questions) -> Questions:
        vectors, is_whole = (
            np.concatenate(pair) for pair in ((self.vectors, other.vectors), (self.is_whole, other.is_whole))
        )
        return Questions(self.texts + other.texts, vectors, is_whole)


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run; 0 where it came to its end. ``given`` are further arguments of ``Memory``, for tests."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--passages", type=Path, nargs="*", default=[], metavar="DIR")
    parser.add_argument("--others", type=Path, nargs="*", default=[], metavar="DIR")
    parser.add_argument("--write", action="store_true", help="into the calibration of the embedder")
    options = parser.parse_args(arguments)
    try:
        with Memory(":memory:", layers=(), **given) as memory:
            print(f"{header(memory)}\n")
            name, embed = memory.embedder.name, partial(query_vectors, memory.embedder)
            sets = {key: _embedded(rows, embed) for key, rows in _rows(DATA / "fitted.jsonl").items()}
            held_back = _embedded(_rows(DATA / "held_back.jsonl")[""], embed)
            further, rest = _of_folders(options.passages, embed, taken=FURTHER)
            _, others = _of_folders(options.others, embed, taken=0)
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print("| set | questions | by rules | by the fit | by either |\n|---|---|---|---|---|")
    for key, questions in sets.items():
        _show(f"fitted {key}, by the others", questions, fit([*(sets[k] for k in sets if k != key), *further]))
    breadth = fit([*sets.values(), *further])
    for key, questions in {"held back": held_back, **rest, **others}.items():
        _show(key, questions, breadth)
    if options.write:
        stored = {"weights": breadth.weights, "bias": breadth.bias, "least": breadth.least}
        path = find_shipped_file(name)
        record = json.loads(path.read_text("utf-8")) | {"question_breadth": stored}
        path.write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def fit(sets: Sequence[Questions]) -> QuestionBreadth:
    """What these questions teach."""
    every = sum(sets[1:], start=sets[0])
    weights, bias = fit_logistic(every.vectors.astype(np.float64), every.is_whole.astype(float), penalty=PENALTY)
    return QuestionBreadth(tuple(np.round(weights, 3).tolist()), round(bias, 3), LEAST)


def _rows(path: Path) -> dict[str, list[dict[str, str]]]:
    sets: dict[str, list[dict[str, str]]] = {}
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        sets.setdefault(row.get("set", ""), []).append(row)
    return sets


def _embedded(rows: Sequence[dict[str, str]], embed: Callable[[Sequence[str]], Matrix]) -> Questions:
    texts = [row["text"] for row in rows]
    return Questions(texts, embed(texts), np.array([row["kind"] == "whole" for row in rows]))


def _of_folders(
    paths: Sequence[Path], embed: Callable[[Sequence[str]], Matrix], *, taken: int
) -> tuple[list[Questions], dict[str, Questions]]:
    """As many of each folder as are to be taken, and the rest, by folder."""
    further: list[Questions] = []
    rest: dict[str, Questions] = {}
    for path in paths:
        texts = [question.text for question in read_folder(path).questions]
        every = _embedded([{"text": text, "kind": "passage"} for text in texts], embed)
        chosen = np.zeros(len(texts), bool)
        chosen[np.linspace(0, len(texts) - 1, taken).astype(int)] = True
        further.append(every.only(chosen))
        rest[path.name] = every.only(~chosen)
    return (further if taken else []), rest


def _show(name: str, questions: Questions, breadth: QuestionBreadth) -> None:
    """A row for each kind of questions."""
    by_rule = np.array([asks_about_the_whole(text) for text in questions.texts])
    by_fit = np.array([breadth.is_whole(vector) for vector in questions.vectors])
    for kind, chosen in (("whole", questions.is_whole), ("passage", ~questions.is_whole)):
        if chosen.any():
            cells = [_share(taken[chosen]) for taken in (by_rule, by_fit, by_rule | by_fit)]
            print(f"| {name}: {kind} | {chosen.sum()} | {' | '.join(cells)} |", flush=True)


def _share(taken: Any) -> str:
    counted = binomtest(int(taken.sum()), len(taken))
    low, high = counted.proportion_ci(method="wilson")
    return f"{100 * counted.statistic:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


if __name__ == "__main__":
    sys.exit(main())
