"""What does a library cost, and how much of the evidence is read from its root?

    python benchmarks/library.py DIR… [--documents N] [--limit N] [--store PATH] [--json FILE]

The first N documents (2,000) of these folders are added to one memory with the entities layer, and the library is
built; no language model is used. Asked are the questions all of whose evidence is among these documents. Printed are:

- seconds to build the library (models loaded before), its overviews by level, and how many overviews are written after
  each of ten documents was replaced;
- for each way of reading, the tokens of its first pass, and the share of the evidence documents of which a segment was
  read within 256, 512, 1,024 and 2,048 tokens, with its bootstrap interval of 95 %.

The reader attends to a text by its cosine to the question, and never says Yes: so a figure says in which order nodes
are read where attention knows what similarity knows. What a language model's attention adds is not in it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
from machine import header
from take_sample import DATA_HELP

from memgraph_rag import Memory
from memgraph_rag.answering.as_of import SearchWithin
from memgraph_rag.contracts import (
    Embedder,
    GraphReader,
    ReadingContext,
    ReadingSession,
    Search,
    Strategy,
    query_vectors,
)
from memgraph_rag.errors import DocumentError, MemgraphRagError
from memgraph_rag.evaluation.dataset import Question, read_folder
from memgraph_rag.evaluation.metrics import interval
from memgraph_rag.evaluation.runs import added
from memgraph_rag.strategies.pecan import Pecan
from memgraph_rag.strategies.walk import Walk
from memgraph_rag.types import Document, Evidence, Extent, Matrix, Overview, Receipt, Usage, Vector

BUDGETS = (256, 512, 1024, 2048)
_WINDOW = 8192
_REPLACED = 10
_LINE_TOKENS = 4


class KeptVectors:
    """An embedder that embeds a text once: most ways of reading read the same."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._kept: dict[str, Vector] = {}
        self.name, self.dimension, self.count_tokens = embedder.name, embedder.dimension, embedder.count_tokens

    def embed(self, texts: Sequence[str]) -> Matrix:
        """As the embedder does."""
        new = [text for text in dict.fromkeys(texts) if text not in self._kept]
        self._kept |= zip(new, self._embedder.embed(new) if new else [], strict=True)
        return np.stack([self._kept[text] for text in texts])


class CosineSession:
    """A ``ReadingSession`` of a reader that attends by cosine and is never content; it counts the embedder's tokens."""

    attends = is_graded = True
    calibration = None

    def __init__(self, question: str, embedder: Embedder) -> None:
        self._embedder = embedder
        self._wanted = query_vectors(embedder, [question])[0]
        self.tokens = 0

    @property
    def usage(self) -> Usage:
        """What was read."""
        return Usage(prompt_tokens=self.tokens)

    @property
    def tokens_left(self) -> int:
        """Of a window of 8,192."""
        return _WINDOW - self.tokens

    def ignore_calibration(self) -> None:
        """There is none."""

    def append(self, texts: Sequence[str]) -> Vector:
        """Read nodes; (n,) their cosines to the question."""
        self.tokens += sum(self._embedder.count_tokens(texts)) + _LINE_TOKENS * len(texts)
        return np.maximum(self._embedder.embed(texts) @ self._wanted, 0.0)

    def probability_of_yes(self) -> float:
        """Neither Yes nor a certain No."""
        return 0.45

    def take_back(self, calls: int) -> None:
        """Never needed: the strategies measured keep what they read."""
        raise NotImplementedError("only strategies that keep what they read are measured")


class Without:
    """A graph without its library, or a search that finds nothing."""

    def __init__(self, part: Any) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)

    def overviews(self, *_: object, **__: object) -> list[Overview]:
        """None."""
        return []

    def find(self, *_: object, **__: object) -> list[Evidence]:
        """Nothing."""
        return []


@dataclass(frozen=True, slots=True)
class Way:
    """One way of reading."""

    name: str
    strategy: Callable[[], Strategy]
    has_library: bool = True
    has_search: bool = True


def _long_walk() -> Walk:
    """The walk without its limits of five segments and 512 more tokens."""
    return Walk(most_segments=100, more_tokens=max(BUDGETS))


WAYS = (
    Way("pecan, without a library", Pecan, has_library=False),
    Way("pecan, from the root", Pecan),
    Way("pecan, from the root, without a search", Pecan, has_search=False),
    Way("walk, without a library", _long_walk, has_library=False),
    Way("walk, with a library", _long_walk),
    Way("walk, with a library, without a search", _long_walk, has_search=False),
)


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run the benchmark; 0 where it came to its end, 1 where it failed.

    ``given`` are further arguments of ``Memory``, for tests.
    """
    options = _options(arguments)
    try:
        documents, questions = _read(options.directories, options.documents, options.limit)
        with tempfile.TemporaryDirectory() if options.store is None else nullcontext() as temporary:
            store = options.store or Path(temporary) / "library.lbug"
            with Memory(store, layers=("entities",), **given) as memory:
                print(f"{header(memory)}\n{len(documents)} documents, {len(questions)} questions\n")
                list(added(memory, documents))
                embedder = KeptVectors(memory._parts.models.embedder)
                rows = [_build(memory), *(_coverage(memory, questions, way, embedder) for way in WAYS)]
                rows.append(_replace(memory, documents))
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directories", type=Path, nargs="+", metavar="DIR", help=DATA_HELP)
    parser.add_argument("--documents", type=int, default=2000, help="most documents")
    parser.add_argument("--limit", type=int, help="most questions, at even distances")
    parser.add_argument("--store", type=Path, help="a file that is kept; by default a temporary one")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    return parser.parse_args(arguments)


def _read(directories: Sequence[Path], most: int, limit: int | None) -> tuple[list[Document], list[Question]]:
    folders = [read_folder(path).with_evidence() for path in directories]
    documents = {document.key: document for folder in folders for document in folder.documents}
    kept = list(islice(documents.values(), most))
    keys = {document.key for document in kept}
    asked = [
        question for folder in folders for question in folder.questions if question.units and question.units <= keys
    ]
    if len(asked) < 2:
        raise DocumentError(f"Expected at least 2 questions about {len(kept)} documents, got {len(asked)}.")
    step = max(1, len(asked) // limit) if limit else 1
    return kept, asked[::step]


def _build(memory: Memory) -> Mapping[str, Any]:
    memory._parts.models.embedder.embed(["loaded before it is timed"])
    started = time.perf_counter()
    written = _deepen(memory)
    seconds = time.perf_counter() - started
    levels = Counter(overview.level for overview in memory._parts.store.overviews("library"))
    print(f"library: {written} overviews in {seconds:.1f} s; by level {dict(sorted(levels.items()))}\n")
    print(f"| way | first pass, tokens | {' | '.join(f'{budget} tokens' for budget in BUDGETS)} |")
    print("|---" * (2 + len(BUDGETS)) + "|")
    return {"overviews": written, "seconds": round(seconds, 2), "levels": levels}


def _replace(memory: Memory, documents: Sequence[Document]) -> Mapping[str, Any]:
    """How many overviews are written after one document says what another said."""
    written: list[int] = []
    step = max(1, len(documents) // _REPLACED)
    for place in range(0, len(documents), step)[:_REPLACED]:
        memory.add(documents[place - 1].text, key=documents[place].key)
        written.append(_deepen(memory))
    print(f"\nafter one of {len(documents)} documents was replaced: {np.mean(written):.1f} overviews written", end="")
    print(f", at most {max(written)} ({len(written)} times)")
    return {"written_after_one_change": written}


def _deepen(memory: Memory) -> int:
    (receipt,) = memory.deepen(layers=["library"])
    if not isinstance(receipt, Receipt):
        raise receipt.error
    return receipt.counts.get("Overview", 0)


def _coverage(memory: Memory, questions: Sequence[Question], way: Way, embedder: Embedder) -> Mapping[str, Any]:
    """Tokens of the first pass, and the share of the evidence that is read within each budget; printed as a row."""
    keys = {record.id: record.key for record in memory._parts.store.documents()}
    passes = [_read_by(memory, question, way, keys, embedder) for question in questions]
    first = float(np.mean([tokens for tokens, _ in passes]))
    shares = {
        budget: 100 * np.array([
            np.mean([read.get(key, np.inf) <= budget for key in question.units])
            for question, (_, read) in zip(questions, passes, strict=True)
        ])
        for budget in BUDGETS
    }  # fmt: skip
    estimates = {budget: interval(values) for budget, values in shares.items()}
    cells = [f"{estimate:.1f}" for estimate in estimates.values()]
    print(f"| {' | '.join([way.name, f'{first:.0f}', *cells])} |", flush=True)
    return {"way": way.name, "first_tokens": first, "n": len(questions)} | {
        str(budget): estimate._asdict() for budget, estimate in estimates.items()
    }


def _read_by(
    memory: Memory, question: Question, way: Way, keys: Mapping[str, str], embedder: Embedder
) -> tuple[int, dict[str, int]]:
    """Tokens of the first pass, and by document the tokens that were read until a segment of it was."""
    session = CosineSession(question.text, embedder)
    graph, search = memory._parts.store, SearchWithin(memory._parts.search, Extent())
    context = ReadingContext(
        graph=graph if way.has_library else cast("GraphReader", Without(graph)),
        search=search if way.has_search else cast("Search", Without(search)),
        session=cast("ReadingSession", session),
        embedder=embedder,
    )
    first, read = 0, dict[str, int]()
    for steps in way.strategy().read(question.text, context):
        first = first or session.tokens
        for step in steps:
            if step.node.level == 0:
                read.setdefault(keys[step.node.document_id], session.tokens)
        if session.tokens >= max(BUDGETS):
            break
    return first, read


if __name__ == "__main__":
    sys.exit(main())
