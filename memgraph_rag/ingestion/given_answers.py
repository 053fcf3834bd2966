"""The sentences that a memory answered: those of this process, and those of kept questions.

It keeps hashes of sentences, no text, and writes nothing. Invariant: after a document was forgotten, no answer is
known that was begun before, but those of questions that the store still keeps.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from memgraph_rag.contracts import GraphStore
from memgraph_rag.strategies.support import segments_under
from memgraph_rag.text.echoes import Origins, find_origins
from memgraph_rag.types import Node, Question

__all__ = ["GivenAnswers"]

_MOST_SENTENCES = 20_000
"""Sentences of this process that are known; the oldest are dropped first."""

_MOST_SUPPORT = 256  # segments of a kept question that its sentences are looked for in


class GivenAnswers:
    """The answered sentences of one namespace. May be used from several threads."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._clearings = 0
        self._given: dict[str, frozenset[str]] = {}
        self._kept: dict[tuple[str, str], Origins] = {}  # by id of the question and the time when it was asked

    def begin(self) -> int:
        """Return the mark of an answer that begins now, for ``add``."""
        return self._clearings

    def add(self, text: str, read: Sequence[Node], *, begun: int) -> None:
        """Add the sentences of an answer. One that was begun before something was forgotten is left out.

        Args:
            read: the nodes that the answer may have copied sentences from.
            begun: what ``begin`` returned.
        """
        origins_by_id = find_origins(self._store.namespace, text, read)
        with self._lock:
            if begun != self._clearings:
                return
            for sentence_id, origins in origins_by_id.items():
                self._given[sentence_id] = self._given.pop(sentence_id, frozenset()) | origins
            for sentence_id in list(self._given)[:-_MOST_SENTENCES]:
                del self._given[sentence_id]

    def find(self, sentence_ids: Collection[str]) -> dict[str, frozenset[str]]:
        """Return those of these sentences that were answered, each with its origins."""
        found: dict[str, frozenset[str]] = {}
        with self._lock:
            self._read_kept()
            for origins_by_id in (self._given, *self._kept.values()):
                for sentence_id in origins_by_id.keys() & sentence_ids:
                    found[sentence_id] = found.get(sentence_id, frozenset()).union(origins_by_id[sentence_id])
        return found

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """Drop all sentences when the block ends, however it ends: some may be copied from what it forgot."""
        try:
            yield
        finally:
            with self._lock:
                self._clearings += 1
                self._given.clear()
                self._kept.clear()

    def _read_kept(self) -> None:
        """Read the questions that were kept since the last time, and drop those that are not kept any more."""
        times = self._store.question_times()
        self._kept = {key: self._kept[key] for key in times.items() if key in self._kept}
        new = [question_id for question_id, asked_at in times.items() if (question_id, asked_at) not in self._kept]
        for question in self._store.questions(new) if new else ():
            self._kept[question.id, question.asked_at] = self._sentences_of(question)

    def _sentences_of(self, question: Question) -> Origins:
        """The sentences of a kept answer. Of a replaced document only the citations say what it held."""
        answer = question.answer
        if answer.abstained:
            return {}
        cited = [citation.segment_id for citation in answer.citations]
        read: dict[str, Node] = {node.id: node for node in self._store.nodes(cited)}
        read |= {segment.id: segment for segment, _ in segments_under(answer.trace, self._store, most=_MOST_SUPPORT)}
        read |= {step.node.id: step.node for step in answer.trace if not step.node.level}
        return find_origins(self._store.namespace, answer.text, list(read.values()), answer.citations)
