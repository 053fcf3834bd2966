"""How much of what a rubric wants an answer says, by itself and together with the text that it cites.

    memgraph-rag evaluate --data SETS/beam --limit 50 --strategies walk --strategies top_k --out OUT
    python benchmarks/chat_rubrics.py SETS/beam OUT [--less top_k]

BEAM's questions come with a rubric, items such as "LLM response should state: 8 weeks", which its authors have a model
judge. Here no model judges: an item counts as said where a text holds more than a share of its telling words (stems of
all but stop words and words of the question). The share is the one that best tells items beside their own reference
answer from the same items beside the reference of another question of their type; it is printed with what it lets
through. So a figure is good for comparing methods, and no measure of how many items a reader would find.

Whole questions are drawn by the bootstrap (9,999 resamples, seed 0, 95 %). An abstention says nothing. Questions that
the chats do not answer are left out.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from answer_coverage import Threshold, best_threshold

from memgraph_rag.errors import DocumentError, MemgraphRagError
from memgraph_rag.evaluation.dataset import Folder, read_folder
from memgraph_rag.evaluation.machine import version_line
from memgraph_rag.evaluation.metrics import interval
from memgraph_rag.evaluation.outcomes import Outcome, Outcomes
from memgraph_rag.lexical.tokenize import keywords, stem

_LEAD = re.compile(r"^(?:the )?(?:LLM )?response should \w+:\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rubric:
    """What an answer to one question should say.

    Attributes:
        items: the telling words of each.
        reference: the answer that the set gives; empty where it has none.
    """

    kind: str
    question: str
    items: tuple[frozenset[str], ...]
    reference: str


class Shares(NamedTuple):
    """Of one answer: the share of the items that it says, and that it says or cites."""

    said: float
    cited: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; 0 where there are some."""
    options = _options(arguments)
    try:
        folder = read_folder(options.directory)
        rubrics = _rubrics(options.directory)
        threshold = _threshold(list(rubrics.values()))
        of_method = _shares(folder, rubrics, Outcomes(options.outcomes).of(folder.name), threshold.value)
    except MemgraphRagError as error:
        print(error, file=sys.stderr)
        return 1
    print(
        f"{version_line('numpy')}\nAn item is said from {100 * threshold.value:.0f} % of its telling words on: ", end=""
    )
    print(f"{100 * threshold.own:.0f} % of {threshold.pairs} are beside their own reference, ", end="")
    print(f"{100 * threshold.other:.0f} % beside another's.\n")
    _print(of_method, rubrics, options.less)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, metavar="DIR", help="of questions with a rubric")
    parser.add_argument("outcomes", type=Path, metavar="OUT", help="what memgraph-rag evaluate --out kept")
    parser.add_argument("--less", default="top_k", metavar="METHOD", help="that the others are compared with")
    return parser.parse_args(arguments)


def _rubrics(directory: Path) -> dict[str, Rubric]:
    """By question; see ``Rubric``.

    Raises:
        DocumentError: no question has one.
    """
    rows = map(json.loads, (directory / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    rubrics = {
        row["qid"]: Rubric(
            row["type"],
            row["question"],
            tuple(_telling(_LEAD.sub("", item), row["question"]) for item in row["rubric"]),
            " ".join(row["answers"]),
        )
        for row in rows
        if row.get("rubric") and not row.get("unanswerable")
    }
    if not rubrics:
        raise DocumentError(f"Expected questions with a rubric in {directory.name}, got none. Name BEAM's folder.")
    return rubrics


def _telling(text: str, question: str) -> frozenset[str]:
    """Stems of the words that tell; where all are the question's, these."""
    stems = _stems(text)
    return stems - _stems(question) or stems


def _share(item: frozenset[str], stems: frozenset[str]) -> float:
    return len(item & stems) / len(item) if item else 0.0


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, keywords(text)))


def _threshold(rubrics: Sequence[Rubric]) -> Threshold:
    own: list[float] = []
    other: list[float] = []
    of_kind: dict[str, list[Rubric]] = defaultdict(list)
    for rubric in rubrics:
        if rubric.reference.strip():
            of_kind[rubric.kind].append(rubric)
    for alike in of_kind.values():
        references = [_stems(rubric.reference) for rubric in alike]
        for rubric, reference, foreign in zip(alike, references, [*references[1:], references[0]], strict=True):
            own += [_share(item, reference) for item in rubric.items]
            other += [_share(item, foreign) for item in rubric.items]
    return best_threshold(own, other)


def _shares(
    folder: Folder, rubrics: Mapping[str, Rubric], outcomes: Iterable[Outcome], threshold: float
) -> dict[str, dict[str, Shares]]:
    """By method and question."""
    texts = {document.key: document.text for document in folder.documents}
    of_method: dict[str, dict[str, Shares]] = defaultdict(dict)
    for outcome in outcomes:
        if (rubric := rubrics.get(outcome.question)) is None or outcome.error:
            continue
        quotes = [texts[key][start:end] for (key, start, end), _ in outcome.found]
        answer = "" if outcome.abstained else outcome.answer
        said, cited = (
            sum(_share(item, stems) > threshold for item in rubric.items) / len(rubric.items)
            for stems in (_stems(answer), _stems("\n".join([answer, *quotes])))
        )
        of_method[outcome.method][outcome.question] = Shares(said, cited)
    return of_method


def _print(of_method: Mapping[str, Mapping[str, Shares]], rubrics: Mapping[str, Rubric], less: str) -> None:
    print("| method (questions) | items said | said or cited |\n|---|---|---|")
    for method, shares in of_method.items():
        said, cited = zip(*shares.values(), strict=True)
        print(f"| {method} ({len(shares)}) | {interval([100 * s for s in said]):.1f} ", end="")
        print(f"| {interval([100 * c for c in cited]):.1f} |")
        both = [asked for asked in shares if asked in of_method.get(less, {})]
        if method == less or len(both) < 2:
            continue
        cells = (
            interval([100 * (shares[asked][place] - of_method[less][asked][place]) for asked in both])
            for place in range(2)
        )
        print(f"| less {less} ({len(both)}) | " + " | ".join(f"{cell:+.1f}" for cell in cells) + " |")
    kinds = sorted({rubrics[asked].kind for shares in of_method.values() for asked in shares})
    print("\n| said or cited, by kind | " + " | ".join(of_method) + " |\n|---|" + "---|" * len(of_method))
    for kind in kinds:
        cells = []
        for shares in of_method.values():
            values = [share.cited for asked, share in shares.items() if rubrics[asked].kind == kind]
            cells.append(f"{100 * sum(values) / len(values):.0f} ({len(values)})" if values else "")
        print(f"| {kind} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    sys.exit(main())
