"""A run: ask a memory all questions of a folder by several methods, and store the outcomes.

It uses the public methods of the memory, and knows no metric. Invariants: a question that was asked before, about the
same documents with the same settings, is not asked again; only the documents of the folder are searched.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from memgraph_rag import __version__
from memgraph_rag.contracts import MemoryLayer, SearchMode, Strategy
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentError, ModelError, QuestionError
from memgraph_rag.evaluation.dataset import Folder, Question
from memgraph_rag.evaluation.methods import Method
from memgraph_rag.evaluation.outcomes import Building, Outcome, Outcomes, hash_inputs
from memgraph_rag.evaluation.retrieval import CUTOFFS, find_pieces
from memgraph_rag.memory import Memory
from memgraph_rag.types import Action, Failure, Limits, Receipt, Usage

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_REVISION = 5
"""Raised where the same documents and settings give other outcomes: 5, strategies of papers follow their papers."""

_OF_ANSWERS = ("calibration", "dtype", "window", "checks")
"""Settings that an answer depends on, in addition to the stored documents."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Run:
    """Adds the documents of one evaluation set to one memory, and asks its questions by several methods.

    Attributes:
        outcomes: the stored results.
        limits: of each question.
        memory_layers: layers of the memory to build after the documents.
    """

    folder: Folder
    memory: Memory
    outcomes: Outcomes
    limits: Limits
    progress: Progress
    memory_layers: Sequence[str | MemoryLayer] = ()

    def add(self) -> None:
        """Add the folder's missing documents, replace changed ones, build layers of the memory, and store the cost.

        The cost is stored also if an error ends this method, but not if nothing was added, replaced or built.

        Raises:
            DocumentError: the memory holds other documents too, and a question is about all documents.
            MemgraphRagError: a document cannot be added.
        """
        documents, stored, segments, usage = self.folder.documents, 0, 0, Usage()
        notes: Counter[str] = Counter()
        started = time.perf_counter()
        try:
            for done, receipt in enumerate(take_receipts(self.memory.add_many(documents)), 1):
                if receipt.action in (Action.ADDED, Action.REPLACED):
                    stored, segments = stored + 1, segments + receipt.counts["Segment"]
                if receipt.action is not Action.UNCHANGED:
                    usage += receipt.usage
                    notes.update(receipt.notes)
                self.progress(f"adding {self.folder.name}", done, len(documents))
            for receipt in self._build_memory_layers():
                usage += receipt.usage
                notes.update(receipt.notes)
        finally:
            if stored or usage.model_calls:
                seconds = time.perf_counter() - started
                costs = (usage.prompt_tokens, usage.generated_tokens, usage.model_calls, seconds, self._count(usage))
                self.outcomes.keep_building(Building(self.memory.namespace, stored, segments, *costs, dict(notes)))
        self._check()

    def _count(self, usage: Usage) -> float | None:
        """Return 10^12 operations of the language model; None if a model on a server did the work."""
        if not usage.model_calls:
            return 0.0
        operations = getattr(self.memory.language_model, "operations", None)
        return operations.tera_flops(usage) if operations else None

    def _build_memory_layers(self) -> Iterator[Receipt]:
        """Build the layers of the memory that are missing, and yield the receipt of each.

        Raises:
            MemgraphRagError: a layer cannot be built.
        """
        if self.memory_layers:
            yield from take_receipts(self.memory.deepen(layers=self.memory_layers))

    def _check(self) -> None:
        """Check that the namespace holds no other documents, which questions about all documents would find."""
        if all(question.documents is not None for question in self.folder.questions):
            return
        stored_keys = {record.key for record in self.memory.documents()}
        if others := sorted(stored_keys - {document.key for document in self.folder.documents}):
            raise DocumentError(
                f"Expected the documents of {self.folder.name} in the namespace {show(self.memory.namespace)}, got one "
                "that also "
                f"holds {show(others[0])}. Name another --store.",
                key=others[0],
            )

    def search(self, method: Method, mode: str | SearchMode) -> list[Outcome]:
        """Search by a mode for each question with known evidence; return the outcomes, stored ones without a search."""

        def find(question: Question, outcome: Outcome) -> Outcome:
            pieces, seconds = find_pieces(self.memory, self.folder, question, mode, CUTOFFS[self.folder.kind])
            return replace(outcome, found=tuple(pieces), seconds=seconds)

        asked = [question for question in self.folder.questions if question.has_evidence]
        settings = [self.memory.embedder.name, CUTOFFS[self.folder.kind]]
        return self._run_each(method, asked, settings, find)

    def ask(self, method: Method, strategy: Strategy) -> list[Outcome]:
        """Ask each question whose answer can be scored, and return the outcomes.

        Kept outcomes are not asked for again, not even those with an error. A model error or a question error ends only
        its question: the outcome has it in ``error``. Any other error ends the run.

        Args:
            method: the description of the strategy, for the table and the outcomes' keys.
        """

        def answer(question: Question, outcome: Outcome) -> Outcome:
            try:
                given = self.memory.ask(
                    write_prompt(question), strategy=strategy, documents=question.documents, limits=self.limits
                )
            except (ModelError, QuestionError) as error:  # only this question fails; the run goes on
                return replace(outcome, error=f"{type(error).__name__}: {error}")
            cited = tuple(((citation.document_key, citation.start, citation.end), 0) for citation in given.citations)
            usage = given.usage
            return replace(
                outcome, found=cited, answer=given.text, short=given.short, abstained=given.abstained,
                stop=given.stop_reason.value,
                prompt_tokens=usage.prompt_tokens, generated_tokens=usage.generated_tokens,
                model_calls=usage.model_calls, seconds=usage.seconds, tera_flops=self._count(usage),
                nodes=len(given.trace), node_tokens=sum(step.node.tokens for step in given.trace),
            )  # fmt: skip

        asked = [question for question in self.folder.questions if question.can_be_asked]
        settings = [
            self.memory.language_model.name,
            self.memory.embedder.name,
            {name: value for name, value in asdict(self.limits).items() if value},
        ]
        settings += [str(getattr(self.memory.settings, name)) for name in _OF_ANSWERS]
        return self._run_each(method, asked, settings, answer)

    def _run_each(
        self,
        method: Method,
        questions: Sequence[Question],
        settings: Sequence[object],
        give: Callable[[Question, Outcome], Outcome],
    ) -> list[Outcome]:
        outcomes = []
        content = _Content(self.memory)
        for done, question in enumerate(questions, 1):
            asked = [question.id, write_prompt(question), question.documents]
            told = [method.list_identity(self.folder.name), *settings]
            key = hash_inputs(__version__, _REVISION, self.folder.name, asked, told, content.hash(question.documents))
            outcome = self.outcomes.find(key)
            if outcome is None:
                outcome = give(question, Outcome(key, self.folder.name, question.id, method.label, ()))
                self.outcomes.keep(outcome)
            outcomes.append(replace(outcome, method=method.label))
            self.progress(f"{self.folder.name}: {method.label}", done, len(questions))
        return outcomes


class _Content:
    """Hashes of the stored state of documents. Each hash is computed once."""

    def __init__(self, memory: Memory) -> None:
        self._rows = {
            record.key: [
                record.key,
                record.sha256,
                record.segments,
                sorted(record.layers),
                record.model,
                record.recognizer,
            ]
            for record in memory.documents()
        }
        self._hashes: dict[tuple[str, ...] | None, str] = {}

    def hash(self, documents: tuple[str, ...] | None) -> str:
        if documents not in self._hashes:
            wanted: Iterable[str] = self._rows if documents is None else documents
            self._hashes[documents] = hash_inputs([self._rows[key] for key in sorted(wanted)])
        return self._hashes[documents]


def take_receipts(outcomes: Iterable[Receipt | Failure]) -> Iterator[Receipt]:
    """Yield the receipts among the outcomes of adding documents; raise the error of the first failure.

    Raises:
        MemgraphRagError: the error of that document. The documents before it are stored.
    """
    for outcome in outcomes:
        if isinstance(outcome, Failure):
            raise outcome.error
        yield outcome


def write_prompt(question: Question) -> str:
    r"""Return the text by which a memory is asked an evaluation question; options follow it, each with a letter.

    >>> write_prompt(Question("1", "Who ran?", options=("Tom", "Ann")))
    'Who ran?\nA. Tom\nB. Ann\nAnswer with the letter of one of these.'
    """
    if not question.options:
        return question.text
    listed = [f"{letter}. {option}" for letter, option in zip(_LETTERS, question.options, strict=False)]
    return "\n".join([question.text, *listed, "Answer with the letter of one of these."])
