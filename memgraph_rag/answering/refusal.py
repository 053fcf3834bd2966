"""Reasons not to answer a question, found without asking the model, and the text that is given instead.

It knows what was read, search and the sentences that can be quoted. Invariant: the text of a refusal quotes nothing but
what was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from memgraph_rag.answering.evidence import ReadEvidence
from memgraph_rag.contracts import NodeReader, Search
from memgraph_rag.errors import SearchMemoryExceeded
from memgraph_rag.types import Segment, Step, StopReason, as_line

__all__ = ["NOTHING_FOUND", "Refusal", "RefusalRules", "what_was_looked_for"]

NOTHING_FOUND = "Nothing in memory bears on this question."

_LONGEST_QUOTE = 200  # characters of what another speaker said


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no answer is asked for, and what is said instead."""

    stop: StopReason
    text: str


class RefusalRules:
    """Decides whether what was read can answer a question at all.

    Args:
        checks_speaker: whether what is asked of one speaker of a conversation gets no answer where another said it.
        checks_names: whether a question about what nothing that was read names gets none, where that is not very near.
    """

    def __init__(self, search: Search, *, checks_speaker: bool, checks_names: bool) -> None:
        self._search = search
        self._checks_speaker = checks_speaker
        self._checks_names = checks_names

    def apply(self, question: str, evidence: ReadEvidence) -> Refusal | None:
        """Why what was read gives no answer, whatever the model's Yes; None where it may give one.

        Where nothing that was read is about the question, a Yes rests on what the model knew before. Where it is
        about another thing of the same kind, or was said by another person than the question names, text and
        question are too similar for the model to notice.
        """
        bearing, unnamed = self.bearing(question, evidence)
        if bearing < 0:
            texts = [segment.text for segment in evidence.segments]
            near_names = self._search.names_meant(unnamed, texts) if unnamed else []
            text = _not_named(unnamed, near_names) if unnamed else NOTHING_FOUND
            return Refusal(StopReason.NOTHING_FOUND, text)
        speakers = {
            segment.speaker for segment in evidence.segments
        }  # none where what was read was forgotten meanwhile
        if not self._checks_speaker or not speakers or "" in speakers:
            return None
        with suppress(SearchMemoryExceeded):
            if wanted_and_other := self._search.said_by_another(question):
                return Refusal(StopReason.ANOTHER_SPEAKER, _said_instead(*wanted_and_other, evidence.segments))
        return None

    def bearing(self, question: str, evidence: ReadEvidence) -> tuple[float, list[str]]:
        """How near the evidence comes to a question, and the question's names that do not stand in it.

        A title counts as read with its document's segments.
        """
        quotes, titles = evidence.quotes, evidence.titles
        if not self._checks_names or not quotes.can_tell:
            return quotes.bearing(question), []
        texts = [f"{titles.get(segment.document_id, '')}\n{segment.text}" for segment in evidence.segments]
        is_held = self._search.names_held(question, texts)
        unnamed = [name for name, is_named in is_held.items() if not is_named]
        return quotes.bearing(question, unnamed=len(unnamed) / len(is_held) if is_held else 0.0), unnamed


def what_was_looked_for(question: str, trace: Sequence[Step], graph: NodeReader, search: Search) -> str:
    """One sentence for an answer that the model did not give: what was read about, and what it looked for next."""
    entity_ids: list[str] = []
    with suppress(SearchMemoryExceeded):  # of a namespace too large for a graph search the names are left out
        entity_ids = search.named_in(question)
    entities = graph.entities(entity_ids) if entity_ids else []
    about = f" about {_as_words([entity.name for entity in entities])}" if entities else ""
    reasons = list(dict.fromkeys(step.reason.rstrip(".") for step in trace if step.reason))
    further = f"; looked for: {'; '.join(reasons)}" if reasons else ""
    nodes = "node" if len(trace) == 1 else "nodes"
    return f"Nothing in memory answers this: read {len(trace)} {nodes}{about}{further}."


def _not_named(names: Sequence[str], near_names: Sequence[str]) -> str:
    """One sentence, and what may have been meant."""
    sentence = f"Nothing in memory answers this: nothing that was read names {_as_words(names, 'or')}."
    return f"{sentence} Did you mean {_as_words(near_names, 'or')}?" if near_names else sentence


def _said_instead(wanted: str, other: str, segments: Sequence[Segment]) -> str:
    """One sentence; it quotes nothing but what was read, with whose documents a kept question goes."""
    line = as_line(next((segment.text for segment in segments if segment.speaker == other), ""))
    shortened = line if len(line) <= _LONGEST_QUOTE else line[: _LONGEST_QUOTE - 1] + "…"
    quote = f': "{shortened}"' if line else "."
    return f"Nothing that {wanted} said answers this; what comes nearest was said by another{quote}"


def _as_words(names: Sequence[str], last: str = "and") -> str:
    """Names as a list in words."""
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
