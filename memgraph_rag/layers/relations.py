"""The relations layer: one descriptive sentence for a pair of entities, tied to the segment that states it.

The model lists names and relations of each batch of consecutive segments, and each of them is then checked against the
segments. The module knows no database and no tokenizer. Invariants: both ends of a relation have a mention in its
segment, the recognizer's or a new one, and the segment (of a fused relation: its segments together) contains most words
of the description; faulty output of the model is counted and raises nothing; so a text cannot make a relation that it
does not contain.

Source: QRMeM, memory construction (entities, open relations, links from entities to segments) and graph update;
``docs/decisions`` decides what the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memgraph_rag.contracts import LanguageModel, Models, Progress, SplitDocument
from memgraph_rag.layers import extraction
from memgraph_rag.layers.batches import AROUND_TOKENS, HEAD, batches, name_step, output_tokens, prompt
from memgraph_rag.layers.extraction import goes_in_circles, parse_extraction, reply_schema
from memgraph_rag.layers.grounded_relations import Account, relation_rows
from memgraph_rag.layers.question_pool import Pool, pool_schema, pool_task, read_questions, require_rouge
from memgraph_rag.layers.relation_fusion import fuse_relations
from memgraph_rag.types import LayerRows, Usage

_WRITTEN = 100  # tokens of an average reply about one segment
_POOL_TOKENS = 768  # of a task of the question pool, at most


@dataclass(frozen=True, slots=True)
class _Ask:
    """One prompt: the index of its batch in an account, and the task."""

    account: Account
    place: int
    task: str


class RelationsLayer:
    """The layer that finds relations, and entities that no recognizer finds.

    Args:
        batch_tokens: as for ``PointsLayer``, so that both layers read the same batches.
        batch_segments: most segments of one batch; by default as many as fit. The paper: 1.
        pool_questions: how many questions the model proposes for a batch; a second pass extracts what helps to answer
            them. 0 switches the pass off. It costs two more calls a batch. The paper: on, without a number.
        fuses: whether the model fuses the relations of a pair of entities in a document into one description. It costs
            one call for each pair with several descriptions, in ``extract`` too. The paper: True.
    """

    name = "relations"
    needs_language = True
    needs_recognizer = True
    requires: Sequence[str] = ("entities",)
    uses: Sequence[str] = ("points", "outline")

    def __init__(
        self,
        *,
        batch_tokens: int = 8192,
        batch_segments: int | None = None,
        pool_questions: int = 0,
        fuses: bool = False,
    ) -> None:
        self._batch_tokens = batch_tokens
        self._batch_segments = batch_segments
        self._pool_questions = pool_questions
        self._fuses = fuses
        if pool_questions:
            require_rouge()

    def build(
        self,
        documents: Sequence[SplitDocument],
        *,
        namespace: str,
        models: Models,
        progress: Progress | None = None,
    ) -> list[LayerRows]:
        """Return the relations of each document, in order, with mentions for names that the recognizer misses.

        Only what a segment confirms is returned; the rest is counted in the notes.
        """
        accounts = self._make_accounts(documents, models.language, _POOL_TOKENS if self._pool_questions else 0)
        asks = _make_asks(accounts, lambda account: extraction.task(account.title))
        self._extract(asks, models.language, progress)
        if self._pool_questions:
            self._extract(self._propose_questions(asks, models.language, progress), models.language, progress)
        return self._make_rows(documents, accounts, "", namespace, models, progress)

    def estimate_usage(self, document: SplitDocument, language: LanguageModel) -> Usage:
        """Return the expected tokens and calls for a document; see ``EstimatingLayer``.

        A pool of questions is expected to cost as much as two further passes.
        """
        (account,) = self._make_accounts([document], language, _POOL_TOKENS if self._pool_questions else 0)
        calls, passes = len(account.batches), 3 if self._pool_questions else 1
        tokens = sum(node.tokens for batch in account.batches for node in batch)
        around = sum(language.count_tokens([HEAD, extraction.task(document.title)]))
        most = output_tokens(language, self._batch_tokens)
        written = sum(min(_WRITTEN * len(batch), most) for batch in account.batches)
        return Usage(passes * (tokens + calls * around), passes * written, passes * calls)

    def extract(
        self, question: str, documents: Sequence[SplitDocument], *, namespace: str, models: Models
    ) -> list[LayerRows]:
        """Extract relations that help to answer a question from segments of each document: QRMeM's graph update.

        The model reads only these segments. Nothing is stored.

        Args:
            documents: documents with only those segments that are to be read.

        Returns:
            The rows of each document, as from ``build``, ready for ``GraphWriter.learn``.
        """
        tasks = [extraction.write_directed_task(_find_background(document), [question]) for document in documents]
        accounts = self._make_accounts(documents, models.language, max(models.language.count_tokens(tasks), default=0))
        asks = _make_asks(accounts, lambda account: extraction.write_directed_task(account.background, [question]))
        self._extract(asks, models.language, None)
        return self._make_rows(documents, accounts, question, namespace, models, None)

    def _make_accounts(
        self, documents: Sequence[SplitDocument], language: LanguageModel, task_tokens: int
    ) -> list[Account]:
        """Return an empty account for each document, with batches that fit the window together with a long task.

        Args:
            task_tokens: the tokens of the longest task, if it may be longer than ``AROUND_TOKENS``.
        """
        beyond_batch = max(language.window - self._batch_tokens, 0)
        around = AROUND_TOKENS + max(task_tokens - beyond_batch, 0)
        batches_of_documents = [
            list(batches(document.segments, language, self._batch_tokens, around_tokens=around,
                         most_nodes=self._batch_segments))
            for document in documents
        ]  # fmt: skip
        return [
            Account(document.title, parts, [[] for _ in parts], background=_find_background(document))
            for document, parts in zip(documents, batches_of_documents, strict=True)
        ]

    def _make_rows(
        self,
        documents: Sequence[SplitDocument],
        accounts: Sequence[Account],
        question: str,
        namespace: str,
        models: Models,
        progress: Progress | None,
    ) -> list[LayerRows]:
        """Return the rows that the segments confirm; the relations of a pair are fused if ``fuses`` says so."""
        rows = relation_rows(documents, accounts, namespace, models)
        if not self._fuses:
            return rows
        return fuse_relations(
            documents, accounts, rows, question,
            namespace=namespace, language=models.language, batch_tokens=self._batch_tokens, progress=progress,
        )  # fmt: skip

    def _extract(self, asks: Sequence[_Ask], language: LanguageModel, progress: Progress | None) -> None:
        """Let the model list names and relations, and add them to the accounts."""
        sizes = [len(ask.account.batches[ask.place]) for ask in asks]
        schema = reply_schema(max(sizes, default=1))
        written = self._generate(asks, schema, "finding relations", language, progress)
        for ask, size, text in zip(asks, sizes, written, strict=True):
            extracted, notes = parse_extraction(text, segments=size)
            ask.account.said[ask.place].append(extracted)
            ask.account.notes.update(notes)

    def _propose_questions(
        self, asks: Sequence[_Ask], language: LanguageModel, progress: Progress | None
    ) -> list[_Ask]:
        """Let the model propose questions, and return a prompt for each batch with questions that its pool admits."""
        most = self._pool_questions
        proposing = [
            replace(ask, task=pool_task(ask.account.background, most, ask.account.said[ask.place][0])) for ask in asks
        ]
        written = self._generate(proposing, pool_schema(most), "proposing questions", language, progress)
        pools = {id(ask.account): Pool() for ask in asks}
        further = []
        for ask, text in zip(asks, written, strict=True):
            questions, notes = read_questions(text, most)
            admitted = [question for question in questions if pools[id(ask.account)].admit(question)]
            ask.account.notes.update(notes)
            ask.account.notes["question like another"] += len(questions) - len(admitted)
            if admitted:
                further.append(replace(ask, task=extraction.write_directed_task(ask.account.background, admitted)))
        return further

    def _generate(
        self,
        asks: Sequence[_Ask],
        schema: Mapping[str, Any],
        what: str,
        language: LanguageModel,
        progress: Progress | None,
    ) -> Iterator[str]:
        """Yield the model's replies to all prompts, and add each one's usage to its account."""
        written = language.generate(
            [prompt(ask.account.batches[ask.place], ask.task) for ask in asks],
            max_tokens=output_tokens(language, self._batch_tokens),
            stop=goes_in_circles,
            schema=schema,
            progress=name_step(progress, what),
        )
        for ask, generation in zip(asks, written, strict=True):
            ask.account.usage += generation.usage
            yield generation.text


def _make_asks(accounts: Sequence[Account], task: Callable[[Account], str]) -> list[_Ask]:
    """Return one prompt a batch; ``task`` makes the task of a document from its account."""
    return [_Ask(account, place, task(account)) for account in accounts for place in range(len(account.batches))]


def _find_background(document: SplitDocument) -> str:
    """Return the title and the summary of a document; without a summary the titles of its sections, or the title."""
    titles = "; ".join(section.title for section in document.sections if section.level == 1 and section.title)
    return ": ".join(filter(None, (document.title, document.summary or titles)))
