"""Relations: what a text says of pairs of entities, one descriptive sentence each, tied to the segment that states it.

The model lists names and relations of each batch of consecutive segments; each is then looked up in the segments. It
knows no database and no tokenizer. Invariants: both ends of a relation have a mention in its segment, the recognizer's
or one of its own, and most words of its description stand there too; whatever odd thing the model writes is counted,
never raised, never silent; so nothing in a text can make a relation that the text does not hold.

Source: QRMeM, memory construction (entities, open relations, links from entities to segments) and graph update; the
decisions that the paper leaves open are in ``docs/decisions``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from memgraph_rag.contracts import LanguageModel, Models, Progress, SplitDocument
from memgraph_rag.layers import extraction
from memgraph_rag.layers.batches import batches, output_tokens, prompt
from memgraph_rag.layers.extraction import SCHEMA, goes_in_circles, said
from memgraph_rag.layers.grounded_relations import Account, relation_rows
from memgraph_rag.layers.question_pool import Pool, pool_schema, pool_task, proposed, require_rouge
from memgraph_rag.types import LayerRows

__all__ = ["RelationsLayer"]


@dataclass(frozen=True, slots=True)
class _Ask:
    """One prompt: the place of its batch in an account, and what is to be done with it."""

    account: Account
    place: int
    task: str


class RelationsLayer:
    """Finds relations, and the entities that no recognizer knows.

    Args:
        batch_tokens: as for the points, so that both layers read the same batches.
        pool_questions: so many questions a batch are proposed, and what bears on them is looked for in a second pass;
            0 is none. Two more calls a batch.
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
        """The relations of each document, with the mentions that they need beyond the recognizer's, in order."""
        accounts = self._accounts(documents, models.language)
        asks = _asks(accounts, extraction.task)
        self._look(asks, models.language, progress)
        if self._pool_questions:
            self._look(self._questions(asks, models.language, progress), models.language, progress)
        return relation_rows(documents, accounts, namespace, models)

    def extract(
        self, question: str, documents: Sequence[SplitDocument], *, namespace: str, models: Models
    ) -> list[LayerRows]:
        """What bears on a question in some segments of each document: QRMeM's update of the graph.

        Args:
            documents: each with those of its segments that are to be looked into.

        Returns:
            The rows of each document, as ``build`` gives them, ready for ``GraphWriter.learn``.
        """
        accounts = self._accounts(documents, models.language)
        self._look(_asks(accounts, partial(extraction.directed_task, questions=[question])), models.language, None)
        return relation_rows(documents, accounts, namespace, models)

    def _accounts(self, documents: Sequence[SplitDocument], language: LanguageModel) -> list[Account]:
        batches_of_documents = [
            list(batches(document.segments, language, self._batch_tokens)) for document in documents
        ]
        return [
            Account(document.title, of_document, [[] for _ in of_document])
            for document, of_document in zip(documents, batches_of_documents, strict=True)
        ]

    def _look(self, asks: Sequence[_Ask], language: LanguageModel, progress: Progress | None) -> None:
        """Let the model list names and relations, and note what it says."""
        for ask, text in zip(asks, self._written(asks, SCHEMA, "finding relations", language, progress), strict=True):
            extracted, notes = said(text)
            ask.account.said[ask.place].append(extracted)
            ask.account.notes.update(notes)

    def _questions(self, asks: Sequence[_Ask], language: LanguageModel, progress: Progress | None) -> list[_Ask]:
        """What is to be asked again: of the questions that the model proposes those that the document's pool admits."""
        most = self._pool_questions
        proposing = [
            replace(ask, task=pool_task(ask.account.title, most, ask.account.said[ask.place][0])) for ask in asks
        ]
        written = self._written(proposing, pool_schema(most), "proposing questions", language, progress)
        pools = {id(ask.account): Pool() for ask in asks}
        further = []
        for ask, text in zip(asks, written, strict=True):
            questions, notes = proposed(text, most)
            kept = [question for question in questions if pools[id(ask.account)].admit(question)]
            ask.account.notes.update(notes)
            ask.account.notes["question like another"] += len(questions) - len(kept)
            if kept:
                further.append(replace(ask, task=extraction.directed_task(ask.account.title, kept)))
        return further

    def _written(
        self,
        asks: Sequence[_Ask],
        schema: Mapping[str, Any],
        what: str,
        language: LanguageModel,
        progress: Progress | None,
    ) -> Iterator[str]:
        """The replies, for all documents together; each is charged to its document."""

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


def _asks(accounts: Sequence[Account], task: Callable[[str], str]) -> list[_Ask]:
    """One prompt a batch, with the task that belongs to a document's title."""
    return [_Ask(account, place, task(account.title)) for account in accounts for place in range(len(account.batches))]
