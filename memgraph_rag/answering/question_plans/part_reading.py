"""Read for the parts of a question: each part is searched by itself, and read in a session of its own.

It knows models, graph and search by their contracts. Invariant: ``trace`` holds exactly the nodes that were read, each
once, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace

from memgraph_rag.answering.answer_style import WrittenAnswer, extract_phrase, is_copied_request, write_answer
from memgraph_rag.answering.days_meant import asks_when, tell_days
from memgraph_rag.answering.evidence import ReadEvidence, gather_evidence
from memgraph_rag.answering.question_plans.countries import names_country
from memgraph_rag.answering.question_plans.event_days import find_event_day
from memgraph_rag.answering.question_plans.plan_makers import MakePlans
from memgraph_rag.answering.question_plans.values import drop_restatement, find_day, holds, normalise_words
from memgraph_rag.contracts import GraphReader, Models, ReadingContext, ReadingSession
from memgraph_rag.lexical.timestamps import format_day
from memgraph_rag.strategies.top_k import TopK
from memgraph_rag.text.citations import Quotes
from memgraph_rag.types import AnswerStyle, Citation, Part, Step, Usage, format_long_day

_SEGMENTS = 3
_VALUE_TOKENS = 20
_MOST_QUOTES = 8  # sentences among which those that hold a value are looked for
_REQUEST = "Answer from the information above, with the shortest phrase. No sentence.\n\nQuestion: {question}"


@dataclass(frozen=True, slots=True)
class ReadPart:
    """The whole answer to a question (``written``), and the segments, titles and quotes read for it (``evidence``)."""

    written: WrittenAnswer
    evidence: ReadEvidence

    def holds_value(self, names: Iterable[str]) -> bool:
        """Return whether a read segment has all words of the short answer, and it or its title a word of one name.

        A country counts in any form: "American" where a segment has "the United States".
        """
        short, named = self.written.short, {word for name in names for word in normalise_words(name).split()}
        value = {*normalise_words(short).split()}
        for segment in self.evidence.segments:
            title = self.evidence.titles.get(segment.document_id, "")
            words = {*normalise_words(segment.text).split()}
            if named & {*words, *normalise_words(title).split()} and (
                value <= words or names_country(segment.text, short)
            ):
                return True
        return False


class PartReading:
    """The readings for the parts of one question.

    Args:
        make_context: returns the context of a reading for its session.
        is_spent: whether a limit of the whole question is reached, by the nodes and the usage so far.
        refuses: whether what was read for a part is about something else than the part.
        plans: the maker of the question's plans, whose cost counts; None without plans.
    """

    def __init__(
        self,
        models: Models,
        graph: GraphReader,
        *,
        make_context: Callable[[ReadingSession], ReadingContext],
        is_spent: Callable[[Sequence[Step], Usage], bool],
        refuses: Callable[[str, ReadEvidence], bool],
        plans: MakePlans | None,
    ) -> None:
        self._models = models
        self._graph = graph
        self._make_context = make_context
        self._is_spent = is_spent
        self._refuses = refuses
        self._plans = plans
        self.trace: list[Step] = []
        self.parts: list[Part] = []
        self._read_usage = Usage()

    @property
    def usage(self) -> Usage:
        """The cost of all parts, and of the plan."""
        return self._read_usage + self._plans.usage if self._plans else self._read_usage

    def ask(
        self, question: str, *, event: str = "", accepts: Callable[[str], bool] = bool
    ) -> Generator[Step | Part, None, Part]:
        """Read for a question; yield the steps, then the part with the value that the model copies; return the part.

        The value is empty if a limit is reached before the reading, if the nodes are about something else, or if they
        contain no word of the value.

        Args:
            event: words of the question for an event; the value is then the day of the event.
            accepts: whether a value may be used; else the part has none.
        """
        part = Part(question, "")
        if not self._is_spent(self.trace, self.usage):
            with self._models.language.open_session(question) as session:
                evidence = yield from self._read(question, session)
                if not self._refuses(question, evidence):
                    part = ask_session(session, question, evidence.quotes)
                self._read_usage += session.usage
            read = {word for segment in evidence.segments for word in normalise_words(segment.text).split()}
            if not read.intersection(normalise_words(part.value).split()) or not accepts(part.value):
                part = Part(question, "")
            if event and part.value:
                part = _find_day_meant(part, event, evidence)
        part = self.keep(part)
        yield part
        return part

    def answer(self, question: str, style: AnswerStyle) -> Generator[Step, None, ReadPart]:
        """Read for a question, yield the steps, and return the whole answer (``write_answer``) with its evidence."""
        with self._models.language.open_session(question) as session:
            evidence = yield from self._read(question, session)
            written = finish(write_answer(session, question, style, evidence.quotes))
            self._read_usage += session.usage
        if asks_when(question):
            written = tell_days(written, evidence.segments)
        return ReadPart(replace(written, short=drop_restatement(question, written.short)), evidence)

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

    def cite(self, cited: Iterable[Citation] = ()) -> tuple[Citation, ...]:
        """Return these citations and the best one of each part, without those that begin where an earlier one does."""
        found: dict[tuple[str, int], Citation] = {}
        for citation in (*cited, *(citation for part in self.parts for citation in part.citations[:1])):
            found.setdefault((citation.document_id, citation.start), citation)
        return tuple(found.values())

    def keep(self, part: Part) -> Part:
        """Append a part to ``parts`` with the number of nodes that were read so far, and return it."""
        self.parts.append(replace(part, nodes_read=len(self.trace)))
        return self.parts[-1]


def _find_day_meant(part: Part, event: str, evidence: ReadEvidence) -> Part:
    """Return the part with the day of an event as its value, if it was read in turns of a conversation.

    A day that a sentence names with words of the event goes before the model's value. A model often copies the time of
    a turn, so such a value counts only if no sentence has words of the event.
    """
    times = {segment.id: segment.time for segment in evidence.segments if segment.time}
    value = tell_days(WrittenAnswer(short=part.value, citations=part.citations), evidence.segments).short
    if not times:
        return replace(part, value=value)
    quotes = evidence.quotes.cite(event, "", limit=_MOST_QUOTES)
    found = find_event_day(event, [(quote, times.get(quote.segment_id, "")) for quote in quotes])
    is_copied = not find_day(value) or value in map(format_day, times.values())
    if found and (found.is_named or is_copied):
        return replace(part, value=format_long_day(found.day), citations=(found.citation,))
    cited = [format_day(times.get(citation.segment_id, "")) for citation in part.citations[:1]]
    return replace(part, value=value if find_day(value) or not any(cited) else cited[0])


def ask_session(session: ReadingSession, question: str, quotes: Quotes) -> Part:
    """Ask a session one more question about the texts that it has read; return the part with the model's phrase."""
    said = "".join(session.answer(max_tokens=_VALUE_TOKENS, request=_REQUEST.format(question=question)))
    value = "" if is_copied_request(phrase := extract_phrase(said)) else phrase
    return Part(question, value, cite_value(quotes, question, value) if value else ())


def cite_value(quotes: Quotes, question: str, value: str) -> tuple[Citation, ...]:
    """Return the two sentences with a value that have most words of the question, else the three that support it."""
    cited, asked = quotes.cite(question, value, limit=_MOST_QUOTES), {*normalise_words(question).split()}
    holding = [each for each in cited if holds(each.quote, value)]
    holding.sort(key=lambda each: -len(asked.intersection(normalise_words(each.quote).split())))
    return tuple(holding[:2]) or cited[:3]


def finish(writing: Generator[str, None, WrittenAnswer]) -> WrittenAnswer:
    """Run the writing of an answer to its end, and return the answer. Its pieces are dropped."""
    while True:
        try:
            next(writing)
        except StopIteration as ended:
            return ended.value
