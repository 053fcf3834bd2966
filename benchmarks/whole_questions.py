"""How much of what a whole says is read for a question about it, within the same number of tokens?

    python benchmarks/whole_questions.py [--corpus DIR…] [--family NAME] [--texts DIR…] [--threshold-from DIR]
        [--json FILE]

Two halves, without a language model; each way of reading is compared with top-k, question by question:

- ``--corpus``: the first 2,000 articles of these folders in one memory, with library and communities. Asked are the
  questions of ``corpus_questions``, or with ``--family topics`` those of ``corpus_topics``; counted is the share of
  their known items that the text that was read states.
- ``--texts``: folders of long texts (qmsum, squality), each text in a memory of its own, with communities. Asked are
  the questions about a whole text (type ``general`` or ``plot``); counted is the share of the sentences of the
  reference answers that come near to a sentence that was read: a cosine above a threshold, the mean over the
  references. The threshold is the one that best tells sentences of answers beside their own evidence from those beside
  the evidence of another text, over the questions of ``--threshold-from`` whose evidence is marked; those are not
  reported, though they may be about the texts that are.

What was read is the nodes, with their headings, that fit 1,000, 2,000 or 4,000 of the embedder's tokens, in the order
of reading. The reader attends by cosine and never says Yes; asked to rate reports it says nothing, so that cosines do.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, cast

import numpy as np
from answer_coverage import Coverage, nearest_threshold
from corpus_questions import CorpusQuestion, questions_about, share_known
from corpus_topics import topics_of
from library import CosineSession, KeptVectors, Without
from machine import header
from take_sample import DATA_HELP

from memgraph_rag import Memory
from memgraph_rag.answering.as_of import SearchWithin
from memgraph_rag.answering.strategy_choice import is_about_a_whole
from memgraph_rag.contracts import GraphReader, ReadingContext, ReadingSession, Search, Strategy
from memgraph_rag.errors import DocumentError, MemgraphRagError
from memgraph_rag.evaluation.dataset import Question, read_folder
from memgraph_rag.evaluation.metrics import interval
from memgraph_rag.evaluation.runs import added
from memgraph_rag.strategies.overviews import Overviews
from memgraph_rag.strategies.pecan import Pecan
from memgraph_rag.strategies.top_k import TopK
from memgraph_rag.strategies.walk import Walk
from memgraph_rag.systems.graphrag.communities import CommunitiesLayer
from memgraph_rag.systems.graphrag.global_search import GraphragGlobal
from memgraph_rag.systems.graphrag.local_search import GraphragLocal
from memgraph_rag.types import Document, Extent, Failure, Vector

BUDGETS = (1000, 2000, 4000)
_MOST = max(BUDGETS)
_WINDOW = 5 * _MOST  # half of it is what GraphRAG's batches and a start may take


class ListeningSession(CosineSession):
    """A ``CosineSession`` that keeps the lines that it read, and never has anything to say."""

    def __init__(self, question: str, embedder: KeptVectors) -> None:
        super().__init__(question, embedder)
        self.lines: list[str] = []

    @property
    def tokens_left(self) -> int:
        """Of a window that holds more than is measured."""
        return _WINDOW - self.tokens

    def append(self, texts: Sequence[str]) -> Vector:
        """Read nodes; (n,) their cosines to the question."""
        self.lines += texts
        return super().append(texts)

    def reply(self, *_: object, **__: object) -> str:
        """Nothing."""
        return ""

    def within(self, budget: int) -> str:
        """What the nodes say that fit so many tokens, one a line, in the order of reading."""
        ends = accumulate(self._embedder.count_tokens(self.lines))
        return "\n".join(line for line, end in zip(self.lines, ends, strict=True) if end <= budget)


@dataclass(frozen=True, slots=True)
class Way:
    """One way of reading."""

    name: str
    strategy: Callable[[], Strategy]
    has_search: bool = True


TOP_K = Way("top-k", lambda: TopK(k=400))
WALK = Way("walk", lambda: Walk(most_segments=1000, more_tokens=_MOST))
OVERVIEWS = Way("overviews", lambda: Overviews(budget_tokens=_MOST))
GLOBAL = Way("graphrag_global", lambda: GraphragGlobal(most_tokens=_MOST))
LOCAL = Way("graphrag_local", lambda: GraphragLocal(most_tokens=_MOST))
OF_CORPUS = (
    TOP_K,
    OVERVIEWS,
    Way("overviews, communities alone", lambda: Overviews(["communities"], budget_tokens=_MOST)),
    Way("pecan, from the library's root", Pecan),
    Way("pecan, from the library's root, without a search", Pecan, has_search=False),
    WALK,
    GLOBAL,
    LOCAL,
)
OF_TEXTS = (TOP_K, OVERVIEWS, WALK, GLOBAL, LOCAL)

FAMILIES = {"definitions": questions_about, "topics": topics_of}

Measure = Callable[[str], float]
"""The share of what is wanted that a text has."""


def main(arguments: Sequence[str] | None = None, **given: Any) -> int:
    """Run the benchmark; 0 where it came to its end, 1 where it failed.

    ``given`` are further arguments of ``Memory``, for tests.
    """
    options = _options(arguments)
    tables: dict[str, Any] = {}
    try:
        if options.corpus:
            tables["corpus"] = _corpus(options, given)
        if options.texts:
            tables |= _texts(options.texts, options.threshold_from, given)
    except MemgraphRagError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", type=Path, nargs="+", metavar="DIR", help=f"of articles: {DATA_HELP}")
    parser.add_argument("--documents", type=int, default=2000, help="most articles")
    parser.add_argument("--family", choices=list(FAMILIES), default="definitions", help="of questions about articles")
    parser.add_argument("--store", type=Path, help="a file for the articles that is kept; by default a temporary one")
    parser.add_argument("--texts", type=Path, nargs="+", metavar="DIR", help="of long texts")
    parser.add_argument("--threshold-from", type=Path, metavar="DIR", help="of questions with evidence_spans")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args(arguments)
    if options.texts and not options.threshold_from:
        parser.error("--texts needs --threshold-from")
    return options


# ── questions about a corpus ────────────────────────────────────────────────────────────────────────────────


def _corpus(options: argparse.Namespace, given: Mapping[str, Any]) -> Any:
    documents = {document.key: document for path in options.corpus for document in read_folder(path).documents}
    articles = list(islice(documents.values(), options.documents))
    questions = FAMILIES[options.family](articles)
    if len(questions) < 2:
        raise DocumentError(f"Expected articles that define at least 2 questions, got {len(questions)}.")
    with (
        tempfile.TemporaryDirectory() as temporary,
        Memory(options.store or Path(temporary) / "corpus.lbug", layers=("entities",), **given) as memory,
    ):
        print(f"{header(memory)}\n")
        _build(memory, articles, ["library", CommunitiesLayer(with_model=False)])
        broad = sum(is_about_a_whole(question.text, memory.embedder) for question in questions)
        items = np.mean([len(question.items) for question in questions])
        print(f"{len(questions)} questions about {len(articles)} articles ({items:.1f} items a question), of which")
        print(f"{broad} are told to be about a whole; share of the items that were read, in percent\n")
        asked = [(question.text, _items_of(question)) for question in questions]
        forms = [question.form for question in questions]
        embedder = KeptVectors(memory._parts.models.embedder)
        return _table(OF_CORPUS, lambda way: _shares(memory, way, asked, embedder), forms)


def _items_of(question: CorpusQuestion) -> Measure:
    return lambda text: share_known(question, text)


def _build(memory: Memory, documents: Sequence[Document], layers: Sequence[Any]) -> None:
    list(added(memory, documents))
    for receipt in memory.deepen(layers=layers):
        if isinstance(receipt, Failure):
            raise receipt.error


# ── questions about a whole text ────────────────────────────────────────────────────────────────────────────


def _texts(directories: Sequence[Path], threshold_from: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    with Memory(":memory:", layers=(), **given) as memory:
        embedder = KeptVectors(memory._parts.models.embedder)
        print(f"{header(memory)}\n")
    threshold = nearest_threshold(read_folder(threshold_from), embedder)
    print(f"threshold {threshold.value:.2f}, from {threshold.pairs} sentences of {threshold_from.name}: ", end="")
    print(f"{100 * threshold.own:.0f} % are near to their own evidence, {100 * threshold.other:.0f} % to another's")
    for path in directories:
        folder = read_folder(path)
        shares: dict[Way, list[list[float]]] = {way: [] for way in OF_TEXTS}
        for document in folder.documents:
            questions = [question for question in folder.questions if _is_whole(question, document)]
            for way, read in _read_alone(document, questions, Coverage(embedder, threshold.value), given):
                shares[way] += read
        print(f"\n{path.name}, {len(shares[TOP_K])} questions; share of the references' sentences, in percent\n")
        tables[path.name] = {"threshold": threshold.value} | _table(OF_TEXTS, shares.__getitem__)
    return tables


def _is_whole(question: Question, document: Document) -> bool:
    """Whether a question asks about the whole of this text, by its id: qmsum's "…-g0" and squality's "…-1" do."""
    ends = question.id.rsplit("-", 1)[-1]
    return question.documents == (document.key,) and (ends.startswith("g") or ends == "1") and not question.spans


def _read_alone(
    document: Document, questions: Sequence[Question], coverage: Coverage, given: Mapping[str, Any]
) -> Iterator[tuple[Way, list[list[float]]]]:
    """The shares of the questions about one text, in a memory of that text alone."""
    if not questions:
        return
    with (
        tempfile.TemporaryDirectory() as temporary,
        Memory(Path(temporary) / "text.lbug", layers=("entities",), **given) as memory,
    ):
        _build(memory, [document], [CommunitiesLayer(with_model=False)])
        asked = [(question.text, coverage.of(question.answers)) for question in questions]
        embedder = KeptVectors(memory._parts.models.embedder)
        for way in OF_TEXTS:
            yield way, _shares(memory, way, asked, embedder)


# ── both ────────────────────────────────────────────────────────────────────────────────────────────────────


def _shares(memory: Memory, way: Way, asked: Sequence[tuple[str, Measure]], embedder: KeptVectors) -> list[list[float]]:
    """(questions, budgets + 1): the share within each budget, and last the tokens that were read."""
    rows: list[list[float]] = []
    for text, measure in asked:
        session = _read(memory, text, way, embedder)
        rows.append([*(measure(session.within(budget)) for budget in BUDGETS), min(session.tokens, _MOST)])
    return rows


def _read(memory: Memory, question: str, way: Way, embedder: KeptVectors) -> ListeningSession:
    """A session that has read at least the most tokens that are measured, or all that this way reads."""
    session = ListeningSession(question, embedder)
    search = SearchWithin(memory._parts.search, Extent())
    context = ReadingContext(
        graph=cast("GraphReader", memory._parts.store),
        search=search if way.has_search else cast("Search", Without(search)),
        session=cast("ReadingSession", session),
        embedder=embedder,
    )
    for _ in way.strategy().read(question, context):
        if session.tokens > _MOST:
            break
    return session


def _table(
    ways: Sequence[Way], shares_of: Callable[[Way], list[list[float]]], forms: Sequence[str] = ()
) -> dict[str, Any]:
    """All ways beside top-k, printed row by row; shares in percent.

    Args:
        forms: of the questions; the means of each are kept, too.
    """
    print(f"| way | tokens read | {' | '.join(f'{budget:,} tokens | less top-k' for budget in BUDGETS)} |")
    print("|---" * (2 + 2 * len(BUDGETS)) + "|")
    rows: dict[str, Any] = {}
    base = np.array(shares_of(ways[0]))
    for way in ways:
        values = base if way is ways[0] else np.array(shares_of(way))
        row_tokens = float(values[:, -1].mean())
        row: dict[str, Any] = {"n": len(values), "tokens": row_tokens}
        cells: list[str] = []
        for place, budget in enumerate(BUDGETS):
            own, less = (interval(100 * shares) for shares in (values[:, place], values[:, place] - base[:, place]))
            row[str(budget)] = {"share": own._asdict(), "less_top_k": less._asdict()}
            if forms:
                row[str(budget)]["by_form"] = {
                    form: round(100 * float(values[np.array(forms) == form, place].mean()), 1)
                    for form in dict.fromkeys(forms)
                }
            cells += [f"{own:.1f}", "" if way is ways[0] else f"{less:+.1f}"]
        print(f"| {' | '.join([way.name, f'{row_tokens:,.0f}', *cells])} |", flush=True)
        rows[way.name] = row
    return rows


if __name__ == "__main__":
    sys.exit(main())
