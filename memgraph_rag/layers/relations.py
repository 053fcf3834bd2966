"""The relations layer: one descriptive sentence for a pair of entities, tied to the segment that states it.

The model lists names and relations of each batch of consecutive segments, and each of them is then checked against the
segments. The module knows no database and no tokenizer. Invariants: both ends of a relation have a mention in its
segment, the recognizer's or a new one, and the segment contains most words of the relation's description; faulty output
of the model is counted and raises nothing; so a text cannot make a relation that it does not contain.

Source: QRMeM, memory construction (entities, open relations, links from entities to segments) and graph update;
``docs/decisions`` decides what the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from memgraph_rag.contracts import LanguageModel, Models, Progress, SplitDocument
from memgraph_rag.layers import extraction
from memgraph_rag.layers.batches import HEAD, batches, output_tokens, prompt
from memgraph_rag.layers.extraction import SCHEMA, goes_in_circles, parse_extraction
from memgraph_rag.layers.grounded_relations import Account, relation_rows
from memgraph_rag.layers.question_pool import Pool, pool_schema, pool_task, read_questions, require_rouge
from memgraph_rag.types import LayerRows, Usage

__all__ = ["RelationsLayer"]

_WRITTEN = 200  # tokens of an average reply


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
        pool_questions: how many questions the model proposes for a batch; a second pass extracts what helps to answer
            them. 0 switches the pass off. It costs two more calls a batch.
    """

    name = "relations"
    needs_language = True
    needs_recognizer = True
    requires: Sequence[str] = ("entities",)

    def __init__(self, *, batch_tokens: int = 8192, pool_questions: int = 0) -> None:
        self._batch_tokens = batch_tokens
        self._pool_questions = pool_questions
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
        accounts = self._make_accounts(documents, models.language)
        asks = _make_asks(accounts, extraction.task)
        self._extract(asks, models.language, progress)
        if self._pool_questions:
            self._extract(self._propose_questions(asks, models.language, progress), models.language, progress)
        return relation_rows(documents, accounts, namespace, models)

    def estimate_usage(self, document: SplitDocument, language: LanguageModel) -> Usage:
        """Return the expected tokens and calls for a document; see ``EstimatingLayer``.

        A pool of questions is expected to cost as much as two further passes.
        """
        (account,) = self._make_accounts([document], language)
        calls, passes = len(account.batches), 3 if self._pool_questions else 1
        tokens = sum(node.tokens for batch in account.batches for node in batch)
        around = sum(language.count_tokens([HEAD, extraction.task(document.title)]))
        written = min(_WRITTEN, output_tokens(language, self._batch_tokens))
        return Usage(passes * (tokens + calls * around), passes * calls * written, passes * calls)

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
        accounts = self._make_accounts(documents, models.language)
        self._extract(
            _make_asks(accounts, partial(extraction.directed_task, questions=[question])), models.language, None
        )
        return relation_rows(documents, accounts, namespace, models)

    def _make_accounts(self, documents: Sequence[SplitDocument], language: LanguageModel) -> list[Account]:
        batches_of_documents = [
            list(batches(document.segments, language, self._batch_tokens)) for document in documents
        ]
        return [
            Account(document.title, document_batches, [[] for _ in document_batches])
            for document, document_batches in zip(documents, batches_of_documents, strict=True)
        ]

    def _extract(self, asks: Sequence[_Ask], language: LanguageModel, progress: Progress | None) -> None:
        """Let the model list names and relations, and add them to the accounts."""
        for ask, text in zip(asks, self._generate(asks, SCHEMA, "finding relations", language, progress), strict=True):
            extracted, notes = parse_extraction(text)
            ask.account.said[ask.place].append(extracted)
            ask.account.notes.update(notes)

    def _propose_questions(
        self, asks: Sequence[_Ask], language: LanguageModel, progress: Progress | None
    ) -> list[_Ask]:
        """Let the model propose questions, and return a prompt for each batch with questions that its pool admits."""
        most = self._pool_questions
        proposing = [
            replace(ask, task=pool_task(ask.account.title, most, ask.account.said[ask.place][0])) for ask in asks
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
                further.append(replace(ask, task=extraction.directed_task(ask.account.title, admitted)))
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

        def tell(_: str, done: int, count: int) -> None:
            if progress is not None:
                progress(what, done, count)

        written = language.generate(
            [prompt(ask.account.batches[ask.place], ask.task) for ask in asks],
            max_tokens=output_tokens(language, self._batch_tokens),
            stop=goes_in_circles,
            schema=schema,
            progress=tell,
        )
        for ask, generation in zip(asks, written, strict=True):
            ask.account.usage += generation.usage
            yield generation.text


def _make_asks(accounts: Sequence[Account], task: Callable[[str], str]) -> list[_Ask]:
    """Return one prompt a batch; ``task`` makes the task from the document's title."""
    return [_Ask(account, place, task(account.title)) for account in accounts for place in range(len(account.batches))]
