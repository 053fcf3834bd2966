"""A conversation that is stored turn by turn, and asked between its turns.

It knows no database and asks no language model. Invariants: after a crash, a retry or a second call the pages are as
after one clean call; a page is written only over the content that was read, so two writers lose nothing of each other;
what is asked within a session's user never comes from another one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timezone
from itertools import count, islice, takewhile
from typing import Any, Literal

import numpy as np

from memgraph_rag.calls import telemetry
from memgraph_rag.contracts import SplitDocument
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentChanged, SettingsError
from memgraph_rag.facts.layer import FactsLayer
from memgraph_rag.ingestion.layer_building import build_layer
from memgraph_rag.ingestion.segmenting import cut_segments
from memgraph_rag.maintenance.lacking_layers import build_lacking_layers
from memgraph_rag.models.embedders.unit_vectors import units
from memgraph_rag.open_memory import OpenMemory
from memgraph_rag.text import echoes
from memgraph_rag.text.context import in_context, with_neighbours
from memgraph_rag.text.session_pages import (
    Conversation,
    Page,
    PageTurn,
    StoredTurn,
    count_repeated,
    parse_page,
    read_turns,
)
from memgraph_rag.types import (
    SESSION,
    USER,
    Annotation,
    Answer,
    Document,
    DocumentGraph,
    DocumentRecord,
    Evidence,
    Failure,
    Limits,
    Matrix,
    Message,
    Receipt,
    Scope,
    Segment,
)

__all__ = ["Session", "Stored", "Within"]

Within = Literal["user", "session"]
"""What is asked: all sessions and documents of the user, or this session alone."""

_MOST_ATTEMPTS = 100  # of a write that others were faster than; each means that another one got through
_PROBED = 64  # keys of pages that are looked for at once


@dataclass(frozen=True, slots=True)
class Stored:
    """What ``Session.add`` did, after the commit.

    Attributes:
        added: how many turns are new.
        edited: how many took the place of another content of the same id.
        unchanged: how many were stored just so.
        echoes: how many of the segments that were written say again what the memory itself answered.
        documents: the keys of the pages that were written.
    """

    added: int = 0
    edited: int = 0
    unchanged: int = 0
    echoes: int = 0
    documents: tuple[str, ...] = ()

    def __add__(self, other: Stored) -> Stored:
        return Stored(
            self.added + other.added,
            self.edited + other.edited,
            self.unchanged + other.unchanged,
            self.echoes + other.echoes,
            tuple(dict.fromkeys((*self.documents, *other.documents))),
        )


@dataclass(frozen=True, slots=True)
class _Written:
    """The page that was written last, as far as the next turn needs no second look at what came before it.

    Attributes:
        sha256: of its content.
        vectors: (n, d) of each segment's own text.
        facts: of each segment, by id, in order.
    """

    sha256: str = ""
    vectors: Matrix = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    facts: Mapping[str, Sequence[Annotation]] = field(default_factory=dict[str, Sequence[Annotation]])

    @classmethod
    def of(
        cls, sha256: str, segments: Sequence[Segment], vectors: Matrix, annotations: Sequence[Annotation]
    ) -> _Written:
        """With each fact at its one segment."""
        facts: dict[str, list[Annotation]] = {segment.id: [] for segment in segments}
        for fact in annotations:
            facts[fact.segment_ids[0]].append(fact)
        return cls(sha256, vectors, facts)

    def is_of(self, page: Page) -> bool:
        """Whether these are the segments of that page, as it is stored."""
        return bool(page.segments) and page.sha256 == self.sha256


class Session:
    """One conversation of one user. Made by ``Memory.session``; may be used from several threads.

    Args:
        parts: of the memory.
        search: within the view that made it, as ``wishes`` and ``ask``.
    """

    def __init__(
        self,
        conversation: Conversation,
        parts: OpenMemory,
        *,
        search: Callable[..., list[Evidence]],
        wishes: Callable[..., list[Evidence]],
        ask: Callable[..., Answer],
    ) -> None:
        self.user, self.session = conversation.user, conversation.session
        self._conversation, self._parts = conversation, parts
        self._store, self._models, self._answers = parts.store, parts.models, parts.answers
        self._search, self._wishes, self._ask = search, wishes, ask
        self._count_tokens = parts.models.token_counter(needs_language=False)
        self._lock = threading.Lock()
        self._stored: dict[str, StoredTurn] | None = None  # in order; None where it is not known
        self._last = Page(conversation, 0)
        self._written = _Written()

    def add(self, turns: Sequence[Message | Mapping[str, Any]]) -> Stored:
        """Store turns behind those that the session has; no language model is asked.

        All are checked before the first is stored. Those of one page are one transaction. A turn that is stored just
        so changes nothing; another content under the same ``id`` takes the place of the former. What lacks a time was
        said now.

        Args:
            turns: as for ``Memory.add``; a mapping may hold an ``id``, by which the turn is known again. Without, a
                turn is known by its role, time and content. A turn without ``id`` and time is known again only at the
                beginning of a call that repeats the end of what is stored: a call that is made again, or a history
                that overlaps. Elsewhere the same words are said once more.

        Raises:
            DocumentError: a turn is no message, or is empty; or another document has the key of a page.
            StoreError: the database failed; or the session was written by others faster than by this call.
        """
        self._parts.require_writable()
        now = datetime.now(timezone.utc).isoformat()  # as timestamps.read writes it: an archive is checked for that
        read = read_turns(self._conversation, turns, now=now)
        stored, done = Stored(), 0
        with self._lock, telemetry.span("session_add", turns=len(read)) as event_fields:
            while done < len(read):
                part, number = self._retried(read[done:], is_first=not done)
                stored, done = stored + part, done + number
            event_fields |= {"added": stored.added, "edited": stored.edited, "unchanged": stored.unchanged}
        return stored

    def recall(self, query: str, *, k: int = 10, within: Within = "user", **options: Any) -> list[Evidence]:
        """The k segments that bear on a query most, of this user's, or of this session's alone.

        Behind them come the user's instructions and preferences that bear on it (``ScopedMemory.wishes``), of the same
        scope; what is among the k already is not repeated.

        Args:
            within: "user" or "session".
            **options: further ones of ``Memory.search``, such as ``at``.
        """
        held = self._held(within)
        evidence = self._search(query, k=k, **held, **options)
        there = {item.segment.id for item in evidence}
        scope = {field.name: options[field.name] for field in fields(Scope) if field.name in options}
        wishes = self._wishes(query, **held, **scope)
        return [*evidence, *(wish for wish in wishes if wish.segment.id not in there)]

    def ask(self, question: str, *, within: Within = "user", **options: Any) -> Answer:
        """The answer from what this user, or this session, said; options as for ``Memory.ask``."""
        return self._ask(question, **self._held(within), **options)

    def end(self) -> list[Receipt | Failure]:
        """Build the memory's own layers for all pages of the session; a later turn begins a new page."""
        self._parts.require_writable()
        records = [record for _, record in self._records()]
        keys = [record.key for record in records]
        outcomes = list(build_lacking_layers(self._parts, keys, self._parts.layers, Limits())) if keys else []
        with self._lock:
            self._stored = None
        return outcomes

    def _held(self, within: Within) -> dict[str, str]:
        if within not in ("user", "session"):
            raise SettingsError(f"Expected within as 'user' or 'session', got {show(within)}.", setting="within")
        return {USER: self.user} | ({SESSION: self.session} if within == "session" else {})

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────

    def _retried(self, turns: Sequence[PageTurn], *, is_first: bool) -> tuple[Stored, int]:
        """What became of the first of these turns, and how many these are; others may write meanwhile."""
        for attempt in range(_MOST_ATTEMPTS):
            try:
                return self._add_first(turns, is_first=is_first)
            except DocumentChanged:
                self._stored = None
                if attempt + 1 == _MOST_ATTEMPTS:
                    raise
        raise AssertionError("unreachable")

    def _add_first(self, turns: Sequence[PageTurn], *, is_first: bool) -> tuple[Stored, int]:
        """Store the first turns of one kind: those known again, or as many new ones as the last page takes.

        Args:
            is_first: nothing of the call is stored yet.
        """
        stored = self._known()
        if is_first and (known := self._known_again(turns, stored)):
            return Stored(unchanged=known), known
        first = turns[0]
        if first.id in stored:
            return self._add_known(first, stored[first.id].page), 1
        page = self._last if self._last.is_open else Page(self._conversation, self._last.number + 1)
        new = page.fitting(self._with_ids(turns, stored))
        written = self._write(page, (*page.turns, *new))
        stored.update((turn.id, StoredTurn(turn.id, page.number, turn.form)) for turn in new)
        self._last = written
        return self._done(written, len(page.segments), added=len(new)), len(new)

    def _known_again(self, turns: Sequence[PageTurn], stored: dict[str, StoredTurn]) -> int:
        """How many of the first turns repeat the end of the session, as it is stored now."""
        last = [stored[turn_id] for turn_id in islice(reversed(stored), len(turns))]
        known = count_repeated(turns, last[::-1])
        if known:
            self._require_stored(self._last)
        return known

    def _with_ids(self, turns: Sequence[PageTurn], stored: Mapping[str, StoredTurn]) -> Iterator[PageTurn]:
        """The turns before the first that is stored; one without an id gets a free one."""
        free = (turn_id for place in count(len(stored)) if (turn_id := self._conversation.turn_id(place)) not in stored)
        for turn in takewhile(lambda turn: turn.id not in stored, turns):
            yield turn if turn.id else replace(turn, id=next(free))

    def _add_known(self, turn: PageTurn, number: int) -> Stored:
        """A turn that has a place: nothing where it is stored just so, else it takes the place of what is there."""
        page = self._last if number == self._last.number else self._page(number)
        held = next((stored for stored in page.turns if stored.id == turn.id), None)
        if held is None:
            raise DocumentChanged("Expected a turn in the page that held it, got none. Read the session again.")
        if (held.text, held.speaker) == (turn.text, turn.speaker):
            if number == self._last.number:
                self._require_stored(page)
            return Stored(unchanged=1)
        written = self._write(replace(page, segments=()), [turn if each.id == turn.id else each for each in page.turns])
        if number == self._last.number:
            self._last = written
        self._known()[turn.id] = StoredTurn(turn.id, number, turn.form)
        return self._done(written, 0, edited=1)

    def _require_stored(self, page: Page) -> None:
        """Refuse to go on from a page that others have written or forgotten meanwhile."""
        if self._store.documents([self._conversation.page_id(page.number)]) != [page.record]:
            raise DocumentChanged("Expected the page that was read, got another. Read the session again.")

    def _done(self, page: Page, kept: int, **counts: int) -> Stored:
        number = sum(segment.echo for segment in page.segments[kept:])
        return Stored(**counts, echoes=number, documents=(self._conversation.key(page.number),))

    def _write(self, page: Page, turns: Sequence[PageTurn]) -> Page:
        """The page with these turns, stored; where it has segments, these are kept and the further turns appended."""
        kept = len(page.segments)
        document = page.with_turns(turns).document
        document_id = self._conversation.page_id(page.number)
        segments = (*page.segments, *self._with_echoes(self._cut(document, document_id, page.segments)))
        before = self._written if self._written.is_of(page) else _Written()
        new = self._models.embedder.embed(in_context("", segments[len(before.facts) :]))
        vectors = np.concatenate([before.vectors, new]) if before.facts else new
        split = SplitDocument(document_id, "", tuple(segment for segment in segments if not segment.echo))
        layer = FactsLayer(before.facts)
        (rows,) = build_layer(layer, [split], namespace=self._store.namespace, models=self._models)
        record = _record(page, document_id, document.key, document.sha256, segments, document.metadata)
        graph = DocumentGraph(
            document=record,
            segments=segments,
            segment_embeddings=units(with_neighbours(vectors, segments)),
            annotations=rows.annotations,
        )
        self._store.revise(graph, before=page.sha256, kept=kept)
        self._written = _Written.of(record.sha256, segments, vectors, rows.annotations)
        return Page(self._conversation, page.number, tuple(turns), segments, record)

    def _cut(self, document: Document, document_id: str, kept: Sequence[Segment]) -> tuple[Segment, ...]:
        """The segments of a page behind those that are kept: each turn is cut for itself, so these stay as they are."""
        end = kept[-1].end if kept else 0
        turns = tuple(
            replace(turn, start=turn.start - end, end=turn.end - end) for turn in document.turns if turn.start >= end
        )
        segments = cut_segments(
            replace(document, text=document.text[end:], turns=turns),
            document_id,
            namespace=self._store.namespace,
            count_tokens=self._count_tokens,
            max_tokens=self._parts.settings.segment_tokens,
            first=len(kept),
        )
        return tuple(replace(segment, start=segment.start + end, end=segment.end + end) for segment in segments)

    def _with_echoes(self, segments: Sequence[Segment]) -> tuple[Segment, ...]:
        """New segments, those marked that say again what the memory answered."""
        namespace = self._store.namespace
        known = self._answers.find(echoes.sentence_ids(namespace, segments))
        return echoes.mark_segments(namespace, segments, known)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────

    def _known(self) -> dict[str, StoredTurn]:
        """The stored turns by id, in order; the session's pages are read where that is not known."""
        if self._stored is None:
            pages = [self._page(number) for number, _ in self._records()]
            self._stored = {
                turn.id: StoredTurn(turn.id, page.number, turn.form) for page in pages for turn in page.turns
            }
            self._last = pages[-1] if pages else Page(self._conversation, 0)
        return self._stored

    def _records(self) -> list[tuple[int, DocumentRecord]]:
        """The records of all pages by number; a page that was forgotten among them is left out."""
        records: list[tuple[int, DocumentRecord]] = []
        for start in count(0, _PROBED):
            numbers = {self._conversation.page_id(number): number for number in range(start, start + _PROBED)}
            stored = [(numbers[record.id], record) for record in self._store.documents(list(numbers))]
            records += sorted(stored, key=lambda pair: pair[0])
            if not stored:
                return records
        raise AssertionError("unreachable")

    def _page(self, number: int) -> Page:
        """A page as it is stored.

        Raises:
            DocumentChanged: there is none, or it was changed while it was read.
        """
        document_id = self._conversation.page_id(number)
        records = self._store.documents([document_id])
        segments = self._store.segments_of(document_id)
        if not records or records != self._store.documents([document_id]):
            raise DocumentChanged(f"Expected page {number} of a session, got none. Read the session again.")
        return parse_page(self._conversation, number, records[0], segments)


def _record(
    page: Page, document_id: str, key: str, sha256: str, segments: Sequence[Segment], metadata: Mapping[str, Any]
) -> DocumentRecord:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return DocumentRecord(
        id=document_id,
        key=key,
        title="",
        source="",
        sha256=sha256,
        added_at=page.record.added_at if page.record else now,
        characters=segments[-1].end,
        segments=len(segments),
        layers=(FactsLayer.name,),
        model="",
        metadata=metadata,
        echoes=sum(segment.echo for segment in segments),
    )
