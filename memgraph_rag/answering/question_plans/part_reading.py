"""Reads for the parts of a question: each part is searched by itself, and read in a session of its own.

It knows models, graph and search by their contracts. Invariant: ``trace`` holds exactly the nodes that were read, each
once, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence

from memgraph_rag.answering.answer_style import WrittenAnswer, extract_phrase, write_answer
from memgraph_rag.answering.evidence import ReadEvidence, gather_evidence
from memgraph_rag.answering.question_plans.values import words_of
from memgraph_rag.contracts import GraphReader, Models, ReadingContext, ReadingSession
from memgraph_rag.strategies.top_k import TopK
from memgraph_rag.text.citations import Quotes
from memgraph_rag.types import AnswerStyle, Part, Step, Usage

__all__ = ["PartReading", "ask_session"]

_SEGMENTS = 3
_VALUE_TOKENS = 20
_REQUEST = "Answer from the information above, with the shortest phrase. No sentence.\n\nQuestion: {question}"


class PartReading:
    """The readings for the parts of one question.

    Args:
        make_context: returns the context of a reading for its session.
        is_spent: whether a limit of the whole question is reached, by the nodes and the usage so far.
    """

    def __init__(
        self,
        models: Models,
        graph: GraphReader,
        *,
        make_context: Callable[[ReadingSession], ReadingContext],
        is_spent: Callable[[Sequence[Step], Usage], bool],
    ) -> None:
        self._models = models
        self._graph = graph
        self._make_context = make_context
        self._is_spent = is_spent
        self.trace: list[Step] = []
        self.usage = Usage()

    def ask(self, question: str) -> Generator[Step, None, Part]:
        """Read for a question, yield the steps, and return the value that the model copies, with its citations.

        The value is empty if a limit is reached before the reading, or if no word of it stands in what was read.
        """
        if self._is_spent(self.trace, self.usage):
            return Part(question, "")
        with self._models.language.open_session(question) as session:
            evidence = yield from self._read(question, session)
            part = ask_session(session, question, evidence.quotes)
            self.usage += session.usage
        read = {word for segment in evidence.segments for word in words_of(segment.text).split()}
        return part if read.intersection(words_of(part.value).split()) else Part(question, "")

    def answer(self, question: str, style: AnswerStyle, *, max_tokens: int) -> Generator[Step, None, WrittenAnswer]:
        """Read for a question, yield the steps, and return the whole answer."""
        with self._models.language.open_session(question) as session:
            evidence = yield from self._read(question, session)
            written = _finish(write_answer(session, question, style, evidence.quotes, max_tokens=max_tokens))
            self.usage += session.usage
        return written

    def _read(self, question: str, session: ReadingSession) -> Generator[Step, None, ReadEvidence]:
        """Read the first segments that a search for a question finds; yield those that are new to ``trace``."""
        read: list[Step] = []
        for steps in TopK("graph", k=_SEGMENTS).read(question, self._make_context(session)):
            read += steps
        yield from self.add(read)
        return gather_evidence(read, self._graph, self._models.embedder)

    def add(self, steps: Iterable[Step]) -> list[Step]:
        """Append the steps whose nodes are new to ``trace``, and return them."""
        known = {step.node.id for step in self.trace}
        new = [step for step in steps if step.node.id not in known]
        self.trace += new
        return new


def ask_session(session: ReadingSession, question: str, quotes: Quotes) -> Part:
    """Return the value that the model copies from what a session has read, for one more question."""
    said = "".join(session.answer(max_tokens=_VALUE_TOKENS, request=_REQUEST.format(question=question)))
    value = extract_phrase(said)
    return Part(question, value, quotes.cite(question, value) if value else ())


def _finish(writing: Generator[str, None, WrittenAnswer]) -> WrittenAnswer:
    """Return the whole answer. Its pieces are dropped: the caller may give another answer."""
    while True:
        try:
            next(writing)
        except StopIteration as ended:
            return ended.value
