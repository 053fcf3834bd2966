"""Find reasons not to answer a question, without a model call, and write the text that the user gets instead.

It knows the evidence and the search. Invariant: the text of a refusal quotes only segments that were read.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from memgraph_rag.answering.evidence import ReadEvidence
from memgraph_rag.contracts import NodeReader, Search
from memgraph_rag.errors import SearchMemoryExceeded
from memgraph_rag.types import Part, Segment, Step, StopReason, as_line, shorten

NOTHING_FOUND = "Nothing in memory bears on this question."

_LONGEST_QUOTE = 200  # characters of what another speaker said


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why the model is not asked for an answer, and the text that the user gets instead."""

    stop: StopReason
    text: str


class RefusalRules:
    """Decides whether the evidence can answer a question at all.

    Args:
        checks_speaker: whether to refuse an answer if another speaker than the one in the question said it.
        checks_names: whether to refuse an answer if the evidence does not have the names of the question, unless the
            evidence is very similar to the question.
    """

    def __init__(self, search: Search, *, checks_speaker: bool, checks_names: bool) -> None:
        self._search = search
        self._checks_speaker = checks_speaker
        self._checks_names = checks_names

    def apply(self, question: str, evidence: ReadEvidence) -> Refusal | None:
        """Return the reason to refuse an answer, or None if the evidence may answer the question.

        The rules overrule the model's P(Yes). If no evidence is about the question, the model says Yes from its own
        knowledge. If the evidence is about a similar thing, or another person said it, the text is too similar to the
        question for the model to notice. Speakers are checked only if each segment of the evidence has a speaker.
        """
        bearing, unnamed = self.measure_relevance(question, evidence)
        if bearing < 0:
            texts = [segment.text for segment in evidence.segments]
            near_names = self._search.find_similar_names(unnamed, texts) if unnamed else []
            text = _describe_missing_names(unnamed, near_names) if unnamed else NOTHING_FOUND
            return Refusal(StopReason.NOTHING_FOUND, text)
        speakers = {segment.speaker for segment in evidence.segments}  # empty if all documents were forgotten meanwhile
        if not self._checks_speaker or not speakers or "" in speakers:
            return None
        with suppress(SearchMemoryExceeded):
            if wanted_and_other := self._search.find_speaker_mismatch(question):
                return Refusal(StopReason.ANOTHER_SPEAKER, _quote_other_speaker(*wanted_and_other, evidence.segments))
        return None

    def measure_relevance(self, question: str, evidence: ReadEvidence) -> tuple[float, list[str]]:
        """Return the relevance of the evidence to a question, and the names of the question that it does not hold.

        The title of a document counts as a part of its segments. The names are empty if they are not checked.
        """
        quotes, titles = evidence.quotes, evidence.titles
        if not self._checks_names or not quotes.can_tell:
            return quotes.measure_relevance(question), []
        texts = [f"{titles.get(segment.document_id, '')}\n{segment.text}" for segment in evidence.segments]
        is_held = self._search.check_names(question, texts)
        unnamed = [name for name, is_named in is_held.items() if not is_named]
        return quotes.measure_relevance(question, unnamed=len(unnamed) / len(is_held) if is_held else 0.0), unnamed


def describe_parts(parts: Sequence[Part], *, is_spent: bool) -> str:
    """Return a sentence in place of an answer: the parts of the question with their values, and those without one.

    Empty if no part has a value, or all parts have.

    Args:
        is_spent: whether a limit of the call was reached, so that the last parts were not read.
    """
    known = [f"{part.question} {part.value}." for part in parts if part.value]
    missing = [part.question for part in parts if not part.value]
    why = "Not read within the limit" if is_spent else "Nothing in memory answers"
    return f"Found: {' '.join(known)} {why}: {' '.join(missing)}" if known and missing else ""


def describe_search(question: str, trace: Sequence[Step], graph: NodeReader, search: Search) -> str:
    """Return a sentence in place of an answer: the number of nodes read, entities in the question, reasons of steps.

    Entities and reasons are left out if there are none.
    """
    entity_ids: list[str] = []
    with suppress(SearchMemoryExceeded):  # without a graph search no names are known
        entity_ids = search.find_named_entities(question)
    entities = graph.entities(entity_ids) if entity_ids else []
    about = f" about {_join_words([entity.name for entity in entities])}" if entities else ""
    reasons = list(dict.fromkeys(step.reason.rstrip(".") for step in trace if step.reason))
    further = f"; looked for: {'; '.join(reasons)}" if reasons else ""
    nodes = "node" if len(trace) == 1 else "nodes"
    return f"Nothing in memory answers this: read {len(trace)} {nodes}{about}{further}."


def _describe_missing_names(names: Sequence[str], near_names: Sequence[str]) -> str:
    """Return a sentence about names that were not found, with names of similar spelling."""
    sentence = f"Nothing in memory answers this: nothing that was read names {_join_words(names, 'or')}."
    return f"{sentence} Did you mean {_join_words(near_names, 'or')}?" if near_names else sentence


def _quote_other_speaker(wanted: str, other: str, segments: Sequence[Segment]) -> str:
    """Return a sentence that quotes the other speaker.

    It quotes only segments that were read, because a kept question is removed together with the documents it read.
    """
    line = as_line(next((segment.text for segment in segments if segment.speaker == other), ""))
    quote = f': "{shorten(line, _LONGEST_QUOTE)}"' if line else "."
    return f"Nothing that {wanted} said answers this; what comes nearest was said by another{quote}"


def _join_words(names: Sequence[str], last: str = "and") -> str:
    """Return names as a list in words: "a, b and c"."""
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
