"""Fit the curve by which evidence says how near it is (``Evidence.relevance``), on questions whose evidence is known.

    python benchmarks/fit_relevance.py DIR… [--held-out DIR…] [--limit N] [--store PATH_OR_URL]

Each DIR holds ``docs.jsonl`` and ``questions.jsonl`` with evidence. Of the ten segments that a graph search finds for a
question, which hold evidence is regressed on the cosine of segment and question. Printed: the curve as it stands in
``memgraph_rag/models/embedders/embedder.py``, and for each set, above all those that took no part, how well it tells
(AUC), its Brier score beside that of one share for all, and the share of evidence by relevance.

Data: benchmarks/data has a sample of each set, 20 questions, to see that it runs; its README.md names the full sets.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from logistic import fit_logistic
from numpy.typing import NDArray
from samples import folder_parser, keep_with_evidence, kept_or_temporary

from memgraph_rag import Evidence, Memory
from memgraph_rag.cli.progress import Bars
from memgraph_rag.contracts import query_vectors
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.evaluation.dataset import Folder, Question, read_folder
from memgraph_rag.evaluation.runs import take_receipts
from memgraph_rag.types import RelevanceCurve

FOUND = 10
BOUNDS = (0.0, 0.1, 0.2, 0.4, 1.0)

Pairs = NDArray[np.float64]
"""(n, 2): the cosine of each segment that was found, and 1 where it holds evidence."""


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run; 0 where it came to its end. ``given`` are further arguments of ``Memory``, for tests."""
    parser = folder_parser(__doc__)
    parser.add_argument("--held-out", type=Path, nargs="*", default=[], metavar="DIR")
    parser.add_argument("--limit", type=int, help="most questions of each folder, at even distances")
    options = parser.parse_args(arguments)
    try:
        with kept_or_temporary(options.store) as store:
            fitted = {path.name: collect(path, store, options.limit, **given) for path in options.directories}
            others = {path.name: collect(path, store, options.limit, **given) for path in options.held_out}
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    curve = fit(np.concatenate([*fitted.values()]))
    print(f"half {curve.half:.3f}, slope {curve.slope:.2f}\n")
    shares = " | ".join(f"evidence at {low:g} to {high:g}, %" for low, high in pairwise(BOUNDS))
    print(f"| set | segments | evidence, % | AUC | Brier | of one share | {shares} |\n|{' --- |' * (len(BOUNDS) + 5)}")
    for name, pairs in (fitted | others).items():
        print(f"| {name}{'' if name in fitted else ' (held out)'} | {' | '.join(told(pairs, curve))} |")
    return 0


def collect(directory: Path, store: str | Path, limit: int | None, **given: Any) -> Pairs:
    """The segments that are found for each question of a folder."""
    folder = keep_with_evidence(read_folder(directory)).sample_questions(limit)
    pairs = []
    with Bars() as bars, Memory(store, namespace=folder.name, layers=("entities",), progress=bars, **given) as memory:
        for _ in take_receipts(memory.add_many(folder.documents)):
            pass
        for question in folder.questions:
            vector = query_vectors(memory.embedder, [question.text])[0]
            results = memory.search(question.text, k=FOUND, documents=question.documents)
            among = sorted({evidence.segment.document_id for evidence in results})
            cosines = {hit.node_id: hit.score for hit in memory._parts.store.similarities(vector, documents=among)}
            pairs += [
                (cosines[evidence.segment.id], _holds_evidence(folder, question, evidence)) for evidence in results
            ]
    return np.array(pairs, np.float64)


def _holds_evidence(folder: Folder, question: Question, evidence: Evidence) -> bool:
    segment = evidence.segment
    if folder.kind == "span":
        return any(
            key == evidence.document_key and start < segment.end and segment.start < end
            for key, start, end in question.spans
        )
    return folder.find_evidence_unit(evidence.document_key, segment.start) in question.units


def fit(pairs: Pairs) -> RelevanceCurve:
    """The logistic curve of the largest likelihood."""
    (slope,), shift = fit_logistic(pairs[:, :1], pairs[:, 1])
    return RelevanceCurve(half=-shift / slope, slope=float(slope))


def told(pairs: Pairs, curve: RelevanceCurve) -> list[str]:
    """What a row of the table says of one set."""
    relevance, gold = np.array([curve.read(cosine) for cosine in pairs[:, 0]]), pairs[:, 1]
    bins = np.digitize(relevance, BOUNDS[1:-1])
    shares = [f"{100 * gold[bins == place].mean():.0f} of {(bins == place).sum()}" if (bins == place).any() else "–"
              for place in range(len(BOUNDS) - 1)]  # fmt: skip
    above = relevance[gold == 1][:, None] - relevance[gold == 0]
    figures = [(np.sign(above).mean() + 1) / 2, ((relevance - gold) ** 2).mean(), gold.mean() * (1 - gold.mean())]
    return [f"{len(pairs)}", f"{100 * gold.mean():.0f}", *(f"{figure:.3f}" for figure in figures), *shares]


if __name__ == "__main__":
    sys.exit(main())
