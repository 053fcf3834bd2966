"""``GivenAnswers``: the sentences of earlier answers, from this process and from kept questions.

It holds hashes of sentences and no text, and writes nothing to the store. Invariant: after a document is forgotten, it
holds no answer that was begun before, except the answers of kept questions that are still stored.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from memgraph_rag.contracts import GraphStore
from memgraph_rag.strategies.support import find_support
from memgraph_rag.text.echoes import Origins, find_origins
from memgraph_rag.types import Node, Question

_MOST_SENTENCES = 20_000
"""The most sentences of this process; the oldest are dropped first."""


class GivenAnswers:
    """The sentences of earlier answers in one namespace. Several threads may use it.

    Attributes:
        store: the store of the namespace; ``reembed`` replaces the object.
    """

    def __init__(self, store: GraphStore) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._clearings = 0
        self._given: dict[str, frozenset[str]] = {}
        self._kept: dict[tuple[str, str], Origins] = {}  # by id of the question and the time when it was asked

    def begin(self) -> int:
        """Return a number that marks the beginning of an answer, for ``add``."""
        return self._clearings

    def add(self, text: str, read: Sequence[Node], *, begun: int) -> None:
        """Add the sentences of an answer. If a document was forgotten since the answer began, add nothing.

        If there are too many sentences, those that were added longest ago are dropped.

        Args:
            read: the nodes from which the answer may have copied sentences.
            begun: the number that ``begin`` returned.
        """
        origins_by_id = find_origins(self.store.namespace, text, read)
        with self._lock:
            if begun != self._clearings:
                return
            for sentence_id, origins in origins_by_id.items():
                self._given[sentence_id] = self._given.pop(sentence_id, frozenset()) | origins
            for sentence_id in list(self._given)[:-_MOST_SENTENCES]:
                del self._given[sentence_id]

    def find(self, sentence_ids: Collection[str]) -> dict[str, frozenset[str]]:
        """Return the origins of each sentence that is in an earlier answer, by sentence id; others are left out."""
        origins: dict[str, frozenset[str]] = {}
        with self._lock:
            self._read_kept()
            for origins_by_id in (self._given, *self._kept.values()):
                for sentence_id in origins_by_id.keys() & sentence_ids:
                    origins[sentence_id] = origins.get(sentence_id, frozenset()).union(origins_by_id[sentence_id])
        return origins

    @contextmanager
    def clear_at_exit(self) -> Iterator[None]:
        """Drop all sentences when the block ends or raises, because it forgets documents that they may come from.

        Answers of kept questions that are still stored are read again with the next ``find``.
        """
        try:
            yield
        finally:
            with self._lock:
                self._clearings += 1
                self._given.clear()
                self._kept.clear()

    def _read_kept(self) -> None:
        """Read the questions that were stored since the last call, and drop the questions that were removed."""
        times = self.store.question_times()
        self._kept = {key: self._kept[key] for key in times.items() if key in self._kept}
        new = [question_id for question_id, asked_at in times.items() if (question_id, asked_at) not in self._kept]
        for question in self.store.questions(new) if new else ():
            self._kept[question.id, question.asked_at] = self._list_sentences(question)

    def _list_sentences(self, question: Question) -> Origins:
        """Return the sentences of a kept answer with their origins.

        For a document that was replaced, only the citations hold its former text.
        """
        answer = question.answer
        if answer.abstained:
            return {}
        cited = [citation.segment_id for citation in answer.citations]
        read: dict[str, Node] = {node.id: node for node in self.store.nodes(cited)}
        read |= {segment.id: segment for segment, _ in find_support(answer.trace, self.store)}
        read |= {step.node.id: step.node for step in answer.trace if not step.node.level}
        return find_origins(self.store.namespace, answer.text, list(read.values()), answer.citations)
