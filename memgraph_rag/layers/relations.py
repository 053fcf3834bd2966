"""Relations: what a text says of pairs of entities, one descriptive sentence each, tied to the segment that states it.

The model lists names and relations of each batch of consecutive segments; each is then looked up in the segments. It
knows no database and no tokenizer. Invariants: both ends of a relation have a mention in its segment, the recognizer's
or one of its own, and most words of its description stand there too; whatever odd thing the model writes is counted,
never raised, never silent; so nothing in a text can make a relation that the text does not hold.

Source: QRMeM, memory construction (entities, open relations, links from entities to segments) and graph update; the
decisions that the paper leaves open are in ``docs/decisions``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

from memgraph_rag.contracts import LanguageModel, Models, Progress, SplitDocument
from memgraph_rag.layers import extraction
from memgraph_rag.layers.batches import Batch, batches, output_tokens, prompt
from memgraph_rag.layers.entities import mentions_in
from memgraph_rag.layers.extraction import SCHEMA, Said, Triple, goes_in_circles, said
from memgraph_rag.layers.grounding import Ground, Vocabulary, can_name, is_proper
from memgraph_rag.layers.question_pool import Pool, pool_schema, pool_task, proposed, require_rouge
from memgraph_rag.types import LayerRows, Relation, Usage, ends_of, relation_id

__all__ = ["RelationsLayer"]

_BORNE_OUT = 0.5


@dataclass(slots=True)
class _Account:
    """What was said of each batch of one document, what was odd about it, and what it cost."""

    title: str
    batches: list[Batch]
    said: list[list[Said]] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class _Ask:
    """One prompt: the place of its batch in an account, and what is to be done with it."""

    account: _Account
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
        return _rows(documents, accounts, namespace, models)

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
        return _rows(documents, accounts, namespace, models)

    def _accounts(self, documents: Sequence[SplitDocument], language: LanguageModel) -> list[_Account]:
        batches_of_documents = [
            list(batches(document.segments, language, self._batch_tokens)) for document in documents
        ]
        return [
            _Account(document.title, of_document, [[] for _ in of_document])
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


def _asks(accounts: Sequence[_Account], task: Callable[[str], str]) -> list[_Ask]:
    """One prompt a batch, with the task that belongs to a document's title."""
    return [_Ask(account, place, task(account.title)) for account in accounts for place in range(len(account.batches))]


def _rows(
    documents: Sequence[SplitDocument], accounts: Sequence[_Account], namespace: str, models: Models
) -> list[LayerRows]:
    """What the segments bear out of what was said of each document."""
    texts = [segment.text for document in documents for segment in document.segments]
    names = iter(models.recognizer.recognize(texts) if texts else [])
    rows = []
    for document, account in zip(documents, accounts, strict=True):
        vocabulary = Vocabulary(_names(account))
        grounds = {
            segment.id: Ground(
                segment,
                mentions_in(segment, next(names), namespace, Counter()),  # the entities layer counts what is odd
                vocabulary,
                namespace=namespace,
            )
            for segment in document.segments
        }
        rows.append(_grounded(account, grounds, namespace))
    return rows


def _names(account: _Account) -> list[str]:
    """All that was said to be a name, in order; what can name nothing is counted."""
    names = [
        name
        for of_batch in account.said
        for extracted in of_batch
        for name in (*extracted.names, *chain.from_iterable(relation[:2] for relation in extracted.relations))
    ]
    account.notes["no name"] += sum(not can_name(name) for name in dict.fromkeys(names))
    return [name for name in names if can_name(name)]


def _grounded(account: _Account, grounds: Mapping[str, Ground], namespace: str) -> LayerRows:
    """The rows of what the segments bear out; the rest is counted."""
    notes = account.notes
    relations: dict[str, Relation] = {}
    for batch, of_batch in zip(account.batches, account.said, strict=True):
        read = [grounds[node.id] for node in batch]
        names = {name for extracted in of_batch for name in extracted.names if can_name(name)}
        notes["name that is not in the text"] += sum(not any(ground.entity(name) for ground in read) for name in names)
        found_relations = [
            _relation(item, read, namespace, notes) for extracted in of_batch for item in extracted.relations
        ]
        new = {item.id: item for item in found_relations if item is not None}
        notes["batch without a relation"] += not new
        relations |= new
    ends = set(ends_of(relations.values()))
    mentions = [item for ground in grounds.values() for item in sorted(ground.found, key=lambda mention: mention.start)]
    kept = [mention for mention in mentions if mention.entity_id in ends or is_proper(mention.surface)]
    notes["common noun that nothing is said of"] += len(
        {item.normal for item in mentions} - {item.normal for item in kept}
    )
    notes["mention beyond the limit"] += sum(ground.beyond for ground in grounds.values())
    return LayerRows(
        mentions=tuple(kept),
        relations=tuple(relations.values()),
        notes=dict(+notes),
        usage=account.usage,
    )


def _relation(triple: Triple, grounds: Sequence[Ground], namespace: str, notes: Counter[str]) -> Relation | None:
    """The relation, in the segment that bears it out best (the first of several); None where none does."""
    subject, object_name, description = triple
    holding = [ground for ground in grounds if ground.entity(subject) and ground.entity(object_name)]
    if not holding:
        notes["relation whose names are not in the text together"] += 1
        return None
    borne_out = [ground.bears_out(description, (subject, object_name)) for ground in holding]
    best = holding[borne_out.index(max(borne_out))]
    if best.entity(subject) == best.entity(object_name):
        notes["relation of one name"] += 1
    elif max(borne_out) < _BORNE_OUT:
        notes["relation that the text does not bear out"] += 1
    else:
        source, target = sorted((subject, object_name), key=lambda name: _place(name, description))
        ends, segment_id = (best.entity(source), best.entity(target)), best.segment.id
        return Relation(relation_id(namespace, segment_id, *ends, description), *ends, description, segment_id)
    return None


def _place(name: str, description: str) -> int:
    """Where a description names it; behind the end where it does not."""
    place = description.casefold().find(name.casefold())
    return place if place >= 0 else len(description)
