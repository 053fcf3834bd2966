"""Relations: what a text says of pairs of entities, one descriptive sentence each, tied to the segment that states it.

The model lists names and relations of each batch of consecutive segments; each is then looked up in the segments. It
knows no database and no tokenizer. Invariants: both ends of a relation have a mention in its segment, the recognizer's
or one of its own, and most words of its description stand there too; whatever odd thing the model writes is counted,
never raised, never silent; so nothing in a text can make a relation that the text does not hold.

Source: QRMeM, memory construction (entities, open relations, links from entities to segments) and graph update; the
decisions that the paper leaves open are in ``docs/decisions.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from memgraph_rag.contracts import LanguageModel, Models, Progress, SplitDocument
from memgraph_rag.layers import extraction
from memgraph_rag.layers.batches import Batch, batches, output_tokens, prompt
from memgraph_rag.layers.entities import mentions_in
from memgraph_rag.layers.extraction import SCHEMA, Said, goes_in_circles, said
from memgraph_rag.layers.grounding import Ground, Vocabulary, can_name
from memgraph_rag.types import Generation, LayerRows, Relation, Usage, make_id

__all__ = ["RelationsLayer"]

_BORNE_OUT = 0.5


@dataclass(slots=True)
class _Account:
    """What was said of one document, batch by batch, what was odd about it, and what it cost."""

    said: list[tuple[Batch, Said]] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)

    def add(self, batch: Batch, generation: Generation) -> None:
        """Take in what was written to one batch."""
        self.usage += generation.usage
        told, notes = said(generation.text)
        self.notes.update(notes)
        self.said.append((batch, told))


class RelationsLayer:
    """Finds relations, and the entities that no recognizer knows.

    Args:
        batch_tokens: as for the points, so that both layers read the same batches.
    """

    name = "relations"
    needs_language = True

    def __init__(self, *, batch_tokens: int = 8192) -> None:
        self._batch_tokens = batch_tokens

    def build(
        self,
        documents: Sequence[SplitDocument],
        *,
        namespace: str,
        models: Models,
        progress: Progress | None = None,
    ) -> list[LayerRows]:
        """The relations of each document, with the mentions that they need beyond the recognizer's, in order."""
        tasks = [extraction.task(document.title) for document in documents]
        return self._rows(documents, tasks, namespace, models, progress)

    def extract(
        self, question: str, documents: Sequence[SplitDocument], *, namespace: str, models: Models
    ) -> list[LayerRows]:
        """What bears on a question in some segments of each document: QRMeM's update of the graph.

        Args:
            documents: each with those of its segments that are to be looked into.

        Returns:
            The rows of each document, as ``build`` gives them, ready for ``GraphWriter.learn``.
        """
        tasks = [extraction.directed_task(document.title, question) for document in documents]
        return self._rows(documents, tasks, namespace, models, None)

    def _rows(
        self,
        documents: Sequence[SplitDocument],
        tasks: Sequence[str],
        namespace: str,
        models: Models,
        progress: Progress | None,
    ) -> list[LayerRows]:
        accounts = self._read(documents, tasks, models.language, progress)
        texts = [segment.text for document in documents for segment in document.segments]
        found = iter(models.recognizer.recognize(texts) if texts else [])
        rows = []
        for document, account in zip(documents, accounts, strict=True):
            vocabulary = Vocabulary(_names(account))
            grounds = {
                segment.id: Ground(
                    segment,
                    mentions_in(segment, next(found), namespace, Counter()),  # the entities layer counts what is odd
                    vocabulary,
                    namespace=namespace,
                )
                for segment in document.segments
            }
            rows.append(_grounded(account, grounds, namespace))
        return rows

    def _read(
        self,
        documents: Sequence[SplitDocument],
        tasks: Sequence[str],
        language: LanguageModel,
        progress: Progress | None,
    ) -> list[_Account]:
        """Ask the model about the batches of all documents together."""
        of_each = [list(batches(document.segments, language, self._batch_tokens)) for document in documents]

        def tell(_: str, done: int, count: int) -> None:
            if progress is not None:
                progress("finding relations", done, count)

        written = iter(
            language.generate(
                [prompt(batch, task) for of_one, task in zip(of_each, tasks, strict=True) for batch in of_one],
                max_tokens=output_tokens(language, self._batch_tokens),
                stop=goes_in_circles,
                schema=SCHEMA,
                progress=tell,
            )
        )
        accounts = [_Account() for _ in documents]
        for account, of_one in zip(accounts, of_each, strict=True):
            for batch in of_one:
                account.add(batch, next(written))
        return accounts


def _names(account: _Account) -> list[str]:
    """All that was said to be a name, in order; what can name nothing is counted."""
    names = [
        name
        for _, told in account.said
        for name in (*told.names, *chain.from_iterable(relation[:2] for relation in told.relations))
    ]
    account.notes["no name"] += sum(not can_name(name) for name in dict.fromkeys(names))
    return [name for name in names if can_name(name)]


def _grounded(account: _Account, grounds: dict[str, Ground], namespace: str) -> LayerRows:
    """The rows of what the segments bear out; the rest is counted."""
    notes = account.notes
    relations: dict[str, Relation] = {}
    for batch, told in account.said:
        of_batch = [grounds[node.id] for node in batch]
        notes["name that is not in the text"] += sum(
            can_name(name) and not any(ground.entity(name) for ground in of_batch) for name in told.names
        )
        kept = 0
        for relation in told.relations:
            made = _relation(relation, of_batch, namespace, notes)
            if made is not None and made.id not in relations:
                relations[made.id] = made
                kept += 1
        notes["batch without a relation"] += not kept
    notes["mention beyond the limit"] += sum(ground.beyond for ground in grounds.values())
    return LayerRows(
        mentions=tuple(mention for ground in grounds.values() for mention in ground.found),
        relations=tuple(relations.values()),
        notes=dict(+notes),
        usage=account.usage,
    )


def _relation(
    said: tuple[str, str, str], grounds: Sequence[Ground], namespace: str, notes: Counter[str]
) -> Relation | None:
    """The relation, in the segment that bears it out best (the first of several); None where none does."""
    one, other, description = said
    holding = [ground for ground in grounds if ground.entity(one) and ground.entity(other)]
    if not holding:
        notes["relation whose names are not in the text together"] += 1
        return None
    best = max(holding, key=lambda ground: ground.bears_out(description, said[:2]))
    if best.entity(one) == best.entity(other):
        notes["relation of one name"] += 1
    elif best.bears_out(description, said[:2]) < _BORNE_OUT:
        notes["relation that the text does not bear out"] += 1
    else:
        source, target = sorted((one, other), key=lambda name: _place(name, description))
        ends, segment_id = (best.entity(source), best.entity(target)), best.segment.id
        return Relation(make_id(namespace, "relation", segment_id, *ends, description), *ends, description, segment_id)
    return None


def _place(name: str, description: str) -> int:
    """Where a description names it; behind the end where it does not."""
    place = description.casefold().find(name.casefold())
    return place if place >= 0 else len(description)
