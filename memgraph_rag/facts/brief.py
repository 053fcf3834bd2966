"""Write a brief from stored facts: what holds, wishes, open ends, decisions, deeds, and what was spoken of last.

The module knows the facts of a namespace, its search and an embedder; it uses no language model. Invariants: every line
quotes a stored segment; nothing superseded and nothing finished is in it; no line is there twice; the text has at most
as many tokens as asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from itertools import islice, zip_longest

from memgraph_rag.contracts import Embedder, GraphReader, TokenCounter, cosine_scale, query_vectors
from memgraph_rag.facts.deeds import find_words
from memgraph_rag.facts.fact_index import Fact, group_by_subject, select_within, standings
from memgraph_rag.facts.fact_search import FactSearch
from memgraph_rag.facts.phrase_vectors import PhraseVectors
from memgraph_rag.facts.plans import due_day, finishes
from memgraph_rag.facts.wishes import WISHES
from memgraph_rag.lexical.language import kind_of_text
from memgraph_rag.lexical.relative_days import relative_days
from memgraph_rag.lexical.roles import head_length, is_machine, is_user
from memgraph_rag.lexical.timestamps import format_day, later
from memgraph_rag.types import Extent, Segment
from memgraph_rag.types.brief import HEADINGS, Brief, BriefLine, BriefSection
from memgraph_rag.types.days import format_long_day

_MOST_OF_SECTION = 32  # newest candidates; each is embedded once
_MOST_LAST = 16  # segments that were said last
_MOST_CHARACTERS = 240  # of a line
_SAME = 0.75  # reading of a cosine from which a newer wish or decision is about the same, as in ``facts.wishes``
_CHANGED = 0.5  # the same, for a newer one that says that it changes something; not measured
_CHANGES = re.compile(r"\b(?:switch\w*|chang\w+|instead|replac\w+|drop\w*|no longer|mov(?:e|ing) to)\b", re.IGNORECASE)
_TWICE = 0.92  # reading from which two lines say the same; not measured
_ABOUT = 0.3  # reading from which a line bears on the subject; not measured
_ONE_AT_A_TIME: tuple[BriefSection, ...] = ("wish", "decision")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A line before its place is known; ``quote`` is a part of the segment's text."""

    section: BriefSection
    text: str
    quote: str
    segment_id: str
    document_id: str
    speaker: str
    said: str


class Briefs:
    """The writer of briefs over one namespace. Several threads may use it."""

    def __init__(self, search: FactSearch, graph: GraphReader, embedder: Embedder, count_tokens: TokenCounter) -> None:
        self._search, self._graph, self._count_tokens = search, graph, count_tokens
        self._embedder, self._phrases = embedder, PhraseVectors(embedder)

    def write(self, extent: Extent, *, max_tokens: int, about: str | None = None) -> Brief:
        """Return the brief of an extent, in at most this many tokens.

        The sections take turns, each with its newest line, until the tokens are spent. A fact that another one
        contradicts is left out. Open ends count from the end of the extent's period on, without one from now on.

        Args:
            about: only lines that bear on this subject, the nearest first; what was spoken of last is then what a
                search for the subject finds.
        """
        end = extent.until or datetime.now(timezone.utc)
        now = (later(end, timedelta(microseconds=-1)) or end).date()  # the end of a period is not in it
        known = select_within(self._search.facts.refresh(), extent)
        candidates = [*_list_holding(known), *_list_plans(known, now), *self._list_last(extent, about)]
        chosen = self._drop_repetitions(candidates, about)
        return self._fit(self._place(chosen), max_tokens)

    def _list_last(self, extent: Extent, about: str | None) -> Iterator[_Candidate]:
        """Yield what people said last, or what a search finds; a machine's words if there are no others."""
        if about is None:
            ids = self._search.find_newest(extent, _MOST_LAST)
            nodes = {node.id: node for node in self._graph.nodes(ids)}
            segments = [segment for each in ids if isinstance(segment := nodes.get(each), Segment)]
        else:
            segments = [item.segment for item in self._search.find(about, k=_MOST_LAST, extent=extent)]
        for segment in [each for each in segments if not is_machine(each.speaker)] or segments:
            words = segment.text[head_length(segment.text, segment.speaker) :].strip()
            quote = words if len(words) <= _MOST_CHARACTERS else words[:_MOST_CHARACTERS].rsplit(maxsplit=1)[0]
            if quote:
                text = f"{_write_bracket(segment.speaker, segment.time)}{' '.join(quote.split())}"
                yield _Candidate(
                    "last", text, quote, segment.id, segment.document_id, segment.speaker, segment.time
                )  # fmt: skip

    def _drop_repetitions(self, candidates: Sequence[_Candidate], about: str | None) -> list[_Candidate]:
        """Return the candidates by section, in order, without those that repeat one, or that a newer one supersedes."""
        if not candidates:
            return []
        order = {section: place for place, section in enumerate(HEADINGS)}
        ordered = sorted(candidates, key=lambda each: order[each.section])
        scale = cosine_scale(self._embedder)
        vectors = self._phrases.embed([each.quote for each in ordered])
        nearness = scale.read((vectors @ query_vectors(self._embedder, [about])[0]).astype(float)) if about else None
        kept: list[int] = []
        for place, candidate in enumerate(ordered):
            cosines = scale.read((vectors[kept] @ vectors[place]).astype(float), kind_of_text(candidate.quote))
            newer = [at for at, other in enumerate(kept) if ordered[other].section == candidate.section]
            bounds = [_CHANGED if _CHANGES.search(ordered[kept[at]].quote) else _SAME for at in newer]
            is_superseded = candidate.section in _ONE_AT_A_TIME and any(cosines[newer] >= bounds)
            is_far = nearness is not None and nearness[place] < _ABOUT
            if not (is_superseded or is_far or any(cosines >= _TWICE)):
                kept.append(place)
        if nearness is not None:
            kept.sort(key=lambda place: -nearness[place])
        return [ordered[place] for place in kept]

    def _place(self, candidates: Sequence[_Candidate]) -> list[BriefLine]:
        """Return the candidates as lines with their places in the documents; those that are gone are left out."""
        nodes = {node.id: node for node in self._graph.nodes([each.segment_id for each in candidates])}
        documents = self._graph.documents(sorted({each.document_id for each in candidates})) if candidates else []
        keys = {record.id: record.key for record in documents}
        lines: list[BriefLine] = []
        for each in candidates:
            segment = nodes.get(each.segment_id)
            found = segment.text.find(each.quote) if isinstance(segment, Segment) else -1
            if isinstance(segment, Segment) and found >= 0 and each.document_id in keys:
                start = segment.start + found
                key, end = keys[each.document_id], start + len(each.quote)
                lines.append(
                    BriefLine(each.section, each.text, key, segment.id, start, end, each.speaker, each.said)
                )  # fmt: skip
        return lines

    def _fit(self, lines: Sequence[BriefLine], max_tokens: int) -> Brief:
        """Return the brief of the first lines of each section, as many as fit; a section's lines keep their order."""
        by_section = [[line for line in lines if line.section == section] for section in HEADINGS]
        in_turns = [line for turn in zip_longest(*by_section) for line in turn if line]
        costs = self._count_tokens([Brief((line,)).text for line in in_turns])
        brief, spent = Brief(), 0
        for line, cost in zip(in_turns, costs, strict=True):
            longer = Brief((*brief.lines, line))
            if spent + cost > max_tokens:  # counted with its heading and source: the exact number may be smaller
                cost = self._count_tokens([longer.text])[0] - spent
            if spent + cost <= max_tokens:
                brief, spent = longer, spent + cost
        return brief


def _list_holding(facts: Iterable[Fact]) -> Iterator[_Candidate]:
    """Yield the values that hold, the wishes and the deeds, the newest first, some dozens of each."""
    known = sorted(facts, key=_sort_key)
    values = filter(None, map(_make_holding, group_by_subject(known).values()))
    yield from _take_newest(values)
    yield from _take_newest(_make(fact, "wish", fact.value) for fact in known if fact.kind in WISHES)
    deeds = (fact for fact in known if fact.kind == "event" and fact.value != "never")
    yield from _take_newest(_make(fact, "deed", _format_quote(fact)) for fact in deeds)


def _make_holding(facts: Sequence[Fact]) -> _Candidate | None:
    """Return the value of an attribute that holds, with the day since when; None for a deed, or if none is certain."""
    newest = max(facts, key=lambda fact: fact.order)
    standing = standings(facts)[newest.segment_id, newest.index]
    if newest.kind != "value" or standing.state != "holds":
        return None
    whose = "" if is_user(newest.speaker) else f"{newest.speaker}: "
    since = f" (since {day})" if (day := format_day(standing.since)) else ""
    return _make(newest, "holds", f"{whose}{standing.attribute}: {standing.value}{since}")


def _list_plans(facts: Iterable[Fact], now: date) -> Iterator[_Candidate]:
    """Yield open tasks and decisions, the newest first. A task is open until its day is past, or it is done."""
    known = sorted(facts, key=_sort_key)
    done: list[Fact] = [fact for fact in known if fact.kind == "done"]
    deeds = [fact for fact in known if fact.kind == "event" and fact.value != "never" and " " in fact.key[2]]
    deed_words = [{*fact.key[2].split()} for fact in deeds]
    tasks: list[_Candidate] = []
    for fact in known:
        if fact.kind != "task" or any(each.is_since(fact) and finishes(each.value, fact.value) for each in done):
            continue
        words = find_words(fact.value)
        deeds_of_task = (deed for deed, named in zip(deeds, deed_words, strict=True) if named <= words)
        if any(deed.key[:2] == fact.key[:2] and deed.is_since(fact) for deed in deeds_of_task):
            continue
        due = due_day(fact.value, fact.said)
        if due is None or due >= now:
            text = f"{_format_quote(fact)}{f' (due {format_long_day(due)})' if due else ''}"
            tasks.append(_make(fact, "open", text))
    yield from _take_newest(tasks)
    yield from _take_newest(_make(fact, "decision", _format_quote(fact)) for fact in known if fact.kind == "decision")


def _take_newest(candidates: Iterable[_Candidate]) -> list[_Candidate]:
    return sorted(islice(candidates, _MOST_OF_SECTION), key=lambda each: each.said, reverse=True)


def _sort_key(fact: Fact) -> tuple[float, str, int]:
    return -fact.at, fact.document_id, -fact.index


def _make(fact: Fact, section: BriefSection, text: str) -> _Candidate:
    quote = fact.quote.strip()
    return _Candidate(section, text, quote, fact.segment_id, fact.document_id, fact.speaker, fact.said)


def _format_quote(fact: Fact) -> str:
    """Return the quotation with its speaker, its day, and the days that its relative words name."""
    named = "; ".join(map(str, relative_days(fact.quote, fact.said)))
    quote = " ".join(fact.quote.split())
    return f"{_write_bracket(fact.speaker, fact.said)}{quote}{f' ({named})' if named else ''}"


def _write_bracket(speaker: str, said: str) -> str:
    """Return the note before a quotation: the speaker, unless it is the user, and the day."""
    name = "" if is_user(speaker) else "assistant" if is_machine(speaker) else speaker
    parts = ", ".join(filter(None, (name, format_day(said))))
    return f"{parts}: " if parts else ""
