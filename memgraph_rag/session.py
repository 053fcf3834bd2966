"""``Session``: a conversation that is stored turn by turn, and searched between its turns.

Turns are stored in pages, which are documents of bounded size. Adding a turn calls no language model. Invariants: a
repeated or interrupted call leads to the same pages as one clean call. A page is written only if the stored page is
still the page that was read, so two writers lose no turn of each other. Results never come from another user.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timezone
from itertools import count, islice, takewhile
from typing import Any, Literal, cast

import numpy as np

from memgraph_rag.calls import telemetry
from memgraph_rag.calls.scopes import narrow_scope
from memgraph_rag.contracts import GraphStore, SplitDocument
from memgraph_rag.display import show
from memgraph_rag.errors import DocumentChanged, SettingsError
from memgraph_rag.facts.layer import FactsLayer
from memgraph_rag.ingestion.layer_building import build_layer
from memgraph_rag.ingestion.redaction import redact_messages
from memgraph_rag.maintenance.lacking_layers import build_lacking_layers
from memgraph_rag.models.embedders.unit_vectors import units
from memgraph_rag.open_memory import OpenMemory
from memgraph_rag.text import echoes
from memgraph_rag.text.context import mix_neighbours, write_in_context
from memgraph_rag.text.session_pages import (
    Conversation,
    Page,
    PageTurn,
    StoredTurn,
    count_repeated,
    detect_page_language,
    parse_page,
    read_turns,
)
from memgraph_rag.types import (
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
    ScopeFields,
    Segment,
)

Within = Literal["user", "session"]
"""Where a session searches: in all sessions and documents of its user, or in this session alone."""

_MOST_ATTEMPTS = 100  # to write a page; each failed attempt means that another writer succeeded


@dataclass(frozen=True, slots=True)
class Stored:
    """The result of ``Session.add``, after the commit.

    Attributes:
        added: the number of new turns.
        edited: the number of turns that replaced other content with the same id.
        unchanged: the number of turns that were stored already with the same content.
        echoes: the number of written segments that repeat an earlier answer of the memory.
        documents: the keys of the pages that were written.
        notes: the number of secrets in the turns, by kind (the setting ``redact``).
    """

    added: int = 0
    edited: int = 0
    unchanged: int = 0
    echoes: int = 0
    documents: tuple[str, ...] = ()
    notes: Mapping[str, int] = field(default_factory=dict[str, int])

    def __add__(self, other: Stored) -> Stored:
        return Stored(
            self.added + other.added,
            self.edited + other.edited,
            self.unchanged + other.unchanged,
            self.echoes + other.echoes,
            tuple(dict.fromkeys((*self.documents, *other.documents))),
            dict(Counter(self.notes) + Counter(other.notes)),
        )


@dataclass(frozen=True, slots=True)
class _LastWrite:
    """The vectors and facts of the page that was written last, so that the next turn does not compute them again.

    Attributes:
        embedder: the embedder that computed the vectors.
        sha256: the hash of the page's content.
        vectors: (n, d), one embedding for the own text of each of the n segments.
        facts: the facts of each segment, by segment id, in the order of the segments.
    """

    embedder: object = None
    sha256: str = ""
    vectors: Matrix = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    facts: Mapping[str, Sequence[Annotation]] = field(default_factory=dict[str, Sequence[Annotation]])

    @classmethod
    def from_segments(
        cls, embedder: object, sha256: str, segments: Sequence[Segment], vectors: Matrix,
        annotations: Sequence[Annotation],
    ) -> _LastWrite:  # fmt: skip
        """Return the record of a written page, with the facts grouped by their segment."""
        facts: dict[str, list[Annotation]] = {segment.id: [] for segment in segments}
        for fact in annotations:
            facts[fact.segment_ids[0]].append(fact)
        return cls(embedder, sha256, vectors, facts)

    def matches(self, page: Page, embedder: object) -> bool:
        """Return whether the record belongs to this page with its stored content, embedded by this embedder."""
        return bool(page.segments) and page.sha256 == self.sha256 and embedder is self.embedder


class Session:
    """One conversation of one user. ``Memory.session`` returns it. Several threads may use it.

    ``search``, ``wishes`` and ``ask`` are methods of the view that made the session. They stay in its scope.

    Args:
        conversation: the namespace, the user and the session.
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
        self._models, self._answers = parts.models, parts.answers
        self._search, self._wishes, self._ask = search, wishes, ask
        self._cut = parts.make_cut(needs_language=False)
        self._lock = threading.Lock()
        self._stored: dict[str, StoredTurn] | None = None  # by turn id, in order; None before the pages are read
        self._last = Page(conversation, 0)
        self._last_write = _LastWrite()

    def add(self, turns: Sequence[Message | Mapping[str, Any]]) -> Stored:
        """Append turns to the session and return the numbers of added, edited and unchanged turns.

        No language model is called. All turns are checked before the first turn is stored. The turns of one page are
        stored in one transaction. A turn that is stored already with the same content changes nothing. Other content
        with the same ``id`` replaces the stored content. A turn without a time gets the current time.

        Args:
            turns: messages as for ``Memory.add``. A mapping may have an ``id``, which identifies the turn; a turn
                without an ``id`` is identified by its role, time and content. A turn without ``id`` and time counts as
                stored only if the call begins by repeating the end of the stored session: after a retry, or with an
                overlapping history. Otherwise the same words are stored as a new turn.

        Raises:
            DocumentError: a turn is not a message, or is empty, or has a secret that is refused; or another document
                has the key of a page.
            StoreError: the database failed, or other writers changed the session during each of many attempts.
        """
        self._parts.require_writable()
        now = datetime.now(timezone.utc).isoformat()  # as timestamps.read writes it: an archive is checked for that
        turns, notes = redact_messages(turns, self._parts.settings.redact)
        read = read_turns(self._conversation, turns, now=now)
        stored, done = Stored(notes=notes), 0
        with self._lock, telemetry.span("session_add", turns=len(read)) as event_fields:
            while done < len(read):
                part, number = self._add_with_retries(read[done:], is_first=not done)
                stored, done = stored + part, done + number
            event_fields |= {"added": stored.added, "edited": stored.edited, "unchanged": stored.unchanged}
        return stored

    def recall(self, query: str, *, k: int = 10, within: Within = "user", **options: Any) -> list[Evidence]:
        """Return the k segments that are most relevant to a query, best first, then at most three wishes of the user.

        Wishes are instructions and preferences from the same scope, newest first (``ScopedMemory.wishes``). They come
        on top of k. A wish that is among the k segments is not repeated. No language model is called without ``judge``.

        Args:
            within: "user" searches all that this user said or owns; "session" searches this session alone.
            **options: further arguments of ``Memory.search``, such as ``at`` and ``judge``.

        Raises:
            SettingsError: ``within`` is neither "user" nor "session", or ``options`` name another user or session.
        """
        options = self._narrow(within, options)
        evidence = self._search(query, k=k, **options)
        evidence_ids = {item.segment.id for item in evidence}
        scope = {field.name: options[field.name] for field in fields(Scope) if field.name in options}
        wishes = self._wishes(query, **scope)
        return [*evidence, *(wish for wish in wishes if wish.segment.id not in evidence_ids)]

    def ask(self, question: str, *, within: Within = "user", **options: Any) -> Answer:
        """Answer a question from all that this user said or owns, or from this session; see ``Memory.ask``."""
        return self._ask(question, **self._narrow(within, options))

    def end(self) -> list[Receipt | Failure]:
        """Build the layers that pages of the session lack, of those of the ``Memory``; return an outcome of each page.

        A page that lacks none has the action ``UNCHANGED``. A page that fails has a ``Failure``. A session without
        pages returns an empty list. A turn that is added later begins a new page if the last page now has a layer other
        than ``facts``.
        """
        self._parts.require_writable()
        keys = [self._conversation.key(number) for number in self._list_numbers()]
        outcomes = list(build_lacking_layers(self._parts, keys, self._parts.layers, Limits())) if keys else []
        with self._lock:
            self._stored = None
        return outcomes

    def _narrow(self, within: Within, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call, with this session if it stays within it; the view itself has the user."""
        if within not in ("user", "session"):
            raise SettingsError(
                f"Expected within as 'user' or 'session', got {show(within)}. Pass one of the two.", setting="within"
            )
        scope = Scope(session=self.session) if within == "session" else Scope()
        return {**narrow_scope(scope, cast("ScopeFields", options))}

    @property
    def _store(self) -> GraphStore:
        return self._parts.store

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────

    def _add_with_retries(self, turns: Sequence[PageTurn], *, is_first: bool) -> tuple[Stored, int]:
        """Store the first of these turns; read the session again and retry while other writers change it.

        Returns:
            The result, and the number of turns that it covers.
        """
        for attempt in range(_MOST_ATTEMPTS):
            try:
                return self._add_first(turns, is_first=is_first)
            except DocumentChanged:
                self._stored = None
                if attempt + 1 == _MOST_ATTEMPTS:
                    raise
        raise AssertionError("unreachable")

    def _add_first(self, turns: Sequence[PageTurn], *, is_first: bool) -> tuple[Stored, int]:
        """Store the first turns: all repeated turns, one stored turn, or the new turns that fit into the last page.

        Args:
            is_first: whether the call has stored no turn yet. Only then turns may repeat the end of the session.

        Returns:
            The result, and the number of turns that it covers.
        """
        stored = self._get_turns()
        if is_first and (known := self._count_repeated_turns(turns, stored)):
            return Stored(unchanged=known), known
        first = turns[0]
        if first.id in stored:
            return self._replace_turn(first, stored[first.id].page), 1
        page = self._last if self._last.is_open else Page(self._conversation, self._last.number + 1)
        new = page.take_fitting(self._assign_ids(turns, stored))
        written = self._write_page(page, (*page.turns, *new))
        stored.update((turn.id, StoredTurn(turn.id, page.number, turn.form)) for turn in new)
        self._last = written
        return self._make_result(written, len(page.segments), added=len(new)), len(new)

    def _count_repeated_turns(self, turns: Sequence[PageTurn], stored: dict[str, StoredTurn]) -> int:
        """Return the number of first turns that repeat the end of the stored session."""
        last = [stored[turn_id] for turn_id in islice(reversed(stored), len(turns))]
        known = count_repeated(turns, last[::-1])
        if known:
            self._require_unchanged(self._last)
        return known

    def _assign_ids(self, turns: Sequence[PageTurn], stored: Mapping[str, StoredTurn]) -> Iterator[PageTurn]:
        """Yield turns up to the first turn that is stored already; give an unused id to a turn without an id."""
        free = (turn_id for place in count(len(stored)) if (turn_id := self._conversation.turn_id(place)) not in stored)
        for turn in takewhile(lambda turn: turn.id not in stored, turns):
            yield turn if turn.id else replace(turn, id=next(free))

    def _replace_turn(self, turn: PageTurn, number: int) -> Stored:
        """Replace a stored turn on the page with this number. Write nothing if its content is the same.

        Raises:
            DocumentChanged: the page no longer holds the turn.
        """
        page = self._last if number == self._last.number else self._read_page(number)
        former = next((stored for stored in page.turns if stored.id == turn.id), None)
        if former is None:
            raise DocumentChanged("Expected a turn on its page, got a page without it. Read the session again.")
        if (former.text, former.speaker) == (turn.text, turn.speaker):
            if number == self._last.number:
                self._require_unchanged(page)
            return Stored(unchanged=1)
        written = self._write_page(
            replace(page, segments=()), [turn if each.id == turn.id else each for each in page.turns]
        )
        if number == self._last.number:
            self._last = written
        self._get_turns()[turn.id] = StoredTurn(turn.id, number, turn.form)
        return self._make_result(written, 0, edited=1)

    def _require_unchanged(self, page: Page) -> None:
        """Raise ``DocumentChanged`` if another writer has changed or forgotten the page."""
        if self._store.documents([self._conversation.page_id(page.number)]) != [page.record]:
            raise DocumentChanged(
                "Expected a page that is unchanged since it was read, got a changed page. Read the session again."
            )

    def _make_result(self, page: Page, kept: int, *, added: int = 0, edited: int = 0) -> Stored:
        """Return the result of writing a page, with the echoes among the segments after the first ``kept``."""
        number = sum(segment.echo for segment in page.segments[kept:])
        return Stored(added, edited, echoes=number, documents=(self._conversation.key(page.number),))

    def _write_page(self, page: Page, turns: Sequence[PageTurn]) -> Page:
        """Store a page with these turns and return it. Keep its segments, and append segments for the further turns."""
        kept = len(page.segments)
        document = replace(page, turns=tuple(turns)).document
        document_id = self._conversation.page_id(page.number)
        language, keeps_segments = detect_page_language(page, document.text)
        segments = (*page.segments, *self._mark_echoes(self._cut_segments(document, document_id, page.segments)))
        store, embedder = self._store, self._models.embedder  # in this order, see ``OpenMemory.use_embedder``
        before = self._last_write if self._last_write.matches(page, embedder) else _LastWrite()
        new = embedder.embed(write_in_context("", segments[len(before.facts) :]))
        vectors = np.concatenate([before.vectors, new]) if before.facts else new
        split = SplitDocument(document_id, "", tuple(segment for segment in segments if not segment.echo))
        layer = FactsLayer(before.facts)
        (rows,) = build_layer(layer, [split], namespace=self._store.namespace, models=self._models)
        record = _make_record(page, document_id, document, segments, language)
        graph = DocumentGraph(
            document=record,
            segments=segments,
            segment_embeddings=units(mix_neighbours(vectors, segments)),
            annotations=rows.annotations,
        )
        store.revise(graph, before=page.sha256, kept=kept if keeps_segments else 0)
        self._last_write = _LastWrite.from_segments(embedder, record.sha256, segments, vectors, rows.annotations)
        return Page(self._conversation, page.number, tuple(turns), segments, record)

    def _cut_segments(self, document: Document, document_id: str, kept: Sequence[Segment]) -> tuple[Segment, ...]:
        """Return the segments of a page after the kept segments.

        Each turn is cut independently of the others, and of the page's language, so the kept segments do not change.
        """
        end = kept[-1].end if kept else 0
        turns = tuple(
            replace(turn, start=turn.start - end, end=turn.end - end) for turn in document.turns if turn.start >= end
        )
        rest = replace(document, text=document.text[end:], turns=turns)
        segments = self._cut(rest, document_id, first=len(kept))
        return tuple(replace(segment, start=segment.start + end, end=segment.end + end) for segment in segments)

    def _mark_echoes(self, segments: Sequence[Segment]) -> tuple[Segment, ...]:
        """Return the segments; those that repeat an earlier answer of the memory are marked as echoes."""
        namespace = self._store.namespace
        known = self._answers.find(echoes.sentence_ids(namespace, segments))
        return echoes.mark_segments(namespace, segments, known)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────

    def _get_turns(self) -> dict[str, StoredTurn]:
        """Return the stored turns by id, in order. Read the pages of the session if they were not read yet."""
        if self._stored is None:
            pages = [self._read_page(number) for number in self._list_numbers()]
            self._stored = {
                turn.id: StoredTurn(turn.id, page.number, turn.form) for page in pages for turn in page.turns
            }
            self._last = pages[-1] if pages else Page(self._conversation, 0)
        return self._stored

    def _list_numbers(self) -> list[int]:
        """Return the numbers of the stored pages, sorted. Forgotten pages leave gaps."""
        keys = {key for head in self._conversation.key_heads for key in self._store.document_keys(head).values()}
        numbers = map(self._conversation.find_number, keys)
        return sorted(number for number in numbers if number is not None)

    def _read_page(self, number: int) -> Page:
        """Return the stored page with this number.

        Raises:
            DocumentChanged: the page does not exist, or was changed during the reading.
        """
        document_id = self._conversation.page_id(number)
        records = self._store.documents([document_id])
        segments = self._store.list_segments(document_id)
        if not records or records != self._store.documents([document_id]):
            raise DocumentChanged(
                f"Expected page {number} of a session, got a missing or changed page. Read the session again."
            )
        return parse_page(self._conversation, number, records[0], segments)


def _make_record(
    page: Page, document_id: str, document: Document, segments: Sequence[Segment], language: str
) -> DocumentRecord:
    """Return the record of a page that is about to be written; a page that exists keeps its time of adding."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return DocumentRecord(
        id=document_id,
        key=document.key,
        title="",
        source="",
        sha256=document.sha256,
        added_at=page.record.added_at if page.record else now,
        characters=segments[-1].end,
        segments=len(segments),
        layers=(FactsLayer.name,),
        model="",
        metadata=document.metadata,
        echoes=sum(segment.echo for segment in segments),
        language=language,
    )
