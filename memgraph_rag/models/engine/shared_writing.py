"""Rows of several calls of ``generate``, written in passes that they share.

Rows join between passes and leave when they are finished; whoever waits for a pass runs it for all. It knows rows and
caches, no weights: reading a prompt and running a pass are the model's. Invariants: rows do not see one another; what a
pass gave a row is taken in the thread of the row's own call, so a ``stop`` runs there, and what it raises is its call's
own; what counts of the cache is said by the rows, so that a pass that failed, or was interrupted, is as if it had not
been, and is run again without the rows of the call that it failed in.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from memgraph_rag.models.engine.attention import Spans
from memgraph_rag.models.engine.batch_row import BatchRow
from memgraph_rag.models.engine.grammar import asks_to_stop
from memgraph_rag.models.engine.hardware import free_bytes, memory_errors
from memgraph_rag.models.engine.kv_cache import RowCache
from memgraph_rag.models.engine.sampling import greedy

if TYPE_CHECKING:
    from memgraph_rag.models.engine.language_model import TransformersModel

__all__ = ["SharedWriting"]

_MOST_ROWS = 48  # on two cores 84 to 95 tokens a second, 33 to 58 with 16
_MOST_BATCH_TOKENS = 65_536  # of KV cache, room to write included: 1.8 GB with the 1.5B model in bf16
_FEW_TOKENS = 24  # a pass of so many costs little more than one of a single token: reading the weights does
_PATIENCE_S = 0.5  # that a pass waits for a call's thread, which needs a hundredth of it on a machine that is not busy


@dataclass(frozen=True, eq=False)
class _Fed:
    """What a pass gave a row.

    Attributes:
        guess: the tokens that were fed behind its last one.
        following: the likeliest token behind each.
        logits: (t, V), for rows that have a form.
        attention: (t, at least S).
    """

    row: BatchRow
    guess: Sequence[int]
    following: Sequence[int]
    logits: Tensor | None
    attention: np.ndarray


@dataclass(eq=False)
class _Call:
    """The rows of one call: those that wait for room, and those in the batch.

    Its own thread alone changes it, but for what a pass gives it; lists that others read are replaced, not changed.

    Attributes:
        beginning: holds what all its prompts begin with, once that is read.
        is_present: its thread waits for a pass; else it takes tokens, or is with whoever called it.
        busy_since: when its thread was last given something, in seconds.
        results: of the last pass, not taken yet.
        bell: wakes its thread.
    """

    waiting: deque[BatchRow]
    beginning: RowCache | None = None
    rows: list[BatchRow] = field(default_factory=list)
    finished: list[BatchRow] = field(default_factory=list)
    is_present: bool = True
    busy_since: float = 0.0
    results: list[_Fed] | None = None
    bell: SimpleQueue[None] = field(default_factory=SimpleQueue[None])

    @property
    def is_ready(self) -> bool:
        """Whether its rows can be fed."""
        return self.is_present and self.results is None

    @property
    def holds_up(self) -> bool:
        """Whether a pass waits for it."""
        return bool(self.rows) and not self.is_ready and time.monotonic() - self.busy_since < _PATIENCE_S


class SharedWriting:
    """Writes rows to their ends, those of several threads together."""

    def __init__(self, model: TransformersModel) -> None:
        self._model = model
        self._between = threading.Lock()  # held while a prompt is read or a pass runs: rows join between passes
        self._calls: dict[_Call, None] = {}
        self._active: list[BatchRow] = []  # in the order of the cache's rows
        self._past = RowCache(rows=0)
        self._spans: Spans | None = None

    def __call__(self, rows: Sequence[BatchRow]) -> Generator[BatchRow, None, None]:
        """Each row as it finishes. Close it where it is not read to its end: its rows leave then."""
        known = self._model.prefixes
        waiting = deque(sorted(rows, key=lambda row: row.up_to_task not in known))  # before they are forgotten
        call = _Call(waiting)
        try:
            self._calls[call] = None  # whoever runs passes sees it, and lets it come in between
            while call.waiting or call.rows:
                self._wait_for_pass(call)
                self._take_results(call)
                yield from call.finished
        finally:
            self._calls.pop(call, None)
            self._wake_others()
            if not self._calls:  # else whoever runs the next pass settles
                with self._between:
                    self._settle()

    # ── between passes ───────────────────────────────────────────────────────────────────────────────────

    def _wait_for_pass(self, call: _Call) -> None:
        """Until a row of the call was fed, or has nothing to say; run what is to be run for that."""
        call.finished = []
        call.is_present = True  # before the lock is taken: whoever has it may take it again and again
        self._wake_others(call)
        while not self._has_advanced(call):
            with suppress(Empty):
                call.bell.get(timeout=_PATIENCE_S)

    def _has_advanced(self, call: _Call) -> bool:
        """Do what can be done for a call now; whether a row of it was fed, or has nothing to say."""
        with self._between:
            self._settle()
            while call.is_ready and not call.finished:
                if self._may_join(call):
                    self._join(call)
                elif call.rows and self._is_complete:
                    self._run()
                else:
                    return False
                self._wake_others(call)
            call.is_present = False
            return True

    def _wake_others(self, call: _Call | None = None) -> None:
        for other in tuple(self._calls):
            if other is not call:
                other.bell.put(None)

    @property
    def _is_complete(self) -> bool:
        """Whether nobody is to be waited for."""
        return not any(call.holds_up or self._may_join(call) for call in tuple(self._calls))

    def _may_join(self, call: _Call) -> bool:
        """Whether the call's next row may join now: there is room, and no other that waits has fewer rows."""
        if not (call.is_ready and call.waiting):
            return False
        others = [other for other in tuple(self._calls) if other.is_ready and other.waiting]
        return all(len(call.rows) <= len(other.rows) for other in others) and self._has_room(call.waiting[0])

    def _has_room(self, row: BatchRow) -> bool:
        """Whether a row fits within the limits on rows, on tokens, and on a GPU's free bytes."""
        if not self._active:
            return True
        longest = max(other.longest for other in (*self._active, row))
        return len(self._active) < _MOST_ROWS and longest * (len(self._active) + 1) <= self._most_tokens

    @property
    def _most_tokens(self) -> int:
        free = free_bytes(self._model.device)
        return _MOST_BATCH_TOKENS if free is None else min(_MOST_BATCH_TOKENS, self._past.tokens_within(free))

    def _join(self, call: _Call) -> None:
        """Read the prompt of the call's next row, which is then one of the batch, or is finished."""
        if call.beginning is None:
            call.beginning = self._model.common_beginning(call.waiting)
        row = call.waiting.popleft()
        read = self._read(row, call.beginning)
        if row.finish:  # it had nothing to say
            call.finished, call.busy_since = [row], time.monotonic()
            return
        self._settle()
        rows, model = len(self._active) + 1, self._model
        with memory_errors(model.device, f"cache of {rows} rows of {model.name}"):
            if self._past.room_with(rows, row.longest) > 2 * self._most_tokens:
                self._past.trim()  # of rows that have left: longer ones, or more of them
            self._past.add_row(read)
        row.fed_to = len(row.ids)
        self._active = [*self._active, row]
        call.rows = [*call.rows, row]
        self._spans = None

    def _read(self, row: BatchRow, beginning: RowCache) -> RowCache:
        """A cache that holds the row's prompt; its first token is then written, or the row is finished."""
        model, started = self._model, time.perf_counter()
        past = model.prefixes.find(row.up_to_task)
        if past is None:
            past = RowCache(rows=0)
            past.add_row(beginning)
        new = row.ids[past.lengths[0] :]
        more = model.padding(len(new), len(row.ids))
        logits = model.forward([[*new, *[0] * more]], past, logits_of=[len(new) - 1])[0, -1]
        past.take_back(more)
        model.prefixes.keep(row.up_to_task, past)
        self._take(row, row.best(int(greedy(logits)), logits))
        row.seconds += time.perf_counter() - started
        return past

    def _settle(self) -> None:
        """Let the cache hold the rows of the calls that are there, whatever was interrupted."""
        wanted = {row for call in tuple(self._calls) for row in call.rows}
        self._past.lengths = [row.fed_to for row in self._active]
        for place in reversed([place for place, row in enumerate(self._active) if row not in wanted]):
            self._past.remove_row(place)
            *others, last = self._active
            self._active = others if place == len(others) else [*others[:place], last, *others[place + 1 :]]
            self._spans = None
        if not self._active:  # its memory is given back, and with it what was captured for it
            self._past = RowCache(rows=0)

    # ── one pass ─────────────────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        """Feed back the last token of each row that is ready, with a guess of the next ones where there is room.

        What a token attends to is measured when it is fed back. A row that is not ready is fed something behind what
        it holds, which does not count.
        """
        started = time.perf_counter()
        self._settle()
        ready = [call for call in tuple(self._calls) if call.is_ready]
        rows = {row for call in ready for row in call.rows}
        longest = max(len(row.ids) + len(row.written) for row in rows)
        more = max(0, min(self._model.most_guessed, _FEW_TOKENS // len(self._active) - 1, self._model.window - longest))
        guesses = {row: row.guess(more) for row in rows}
        more = max(map(len, guesses.values()))
        fed = {row: [row.written[-1], *guess, *[0] * (more - len(guess))] for row, guess in guesses.items()}
        if self._spans is None:
            within = max(len(row.ids) for row in self._active)
            self._spans = Spans([row.spans for row in self._active], length=within, device=self._model.device)
        self._past.lengths = [row.held if row in rows else row.fed_to for row in self._active]
        logits, paid = self._model.feed_back(
            [fed.get(row, [0] * (more + 1)) for row in self._active], self._past, self._spans
        )
        measured = paid.cpu().numpy()
        following = greedy(logits).tolist()
        share = (time.perf_counter() - started) / len(rows)
        results: dict[BatchRow, _Fed] = {}
        for place, row in enumerate(self._active):
            if row in rows:
                own = None if row.form is None else logits[place].clone()  # the next step overwrites a captured one's
                results[row] = _Fed(row, guesses[row], following[place], own, measured[place])
                row.fed_to = row.held + more + 1
                row.seconds += share
        for call in ready:
            call.busy_since = time.monotonic()
            call.results = [results[row] for row in call.rows]

    # ── after a pass ─────────────────────────────────────────────────────────────────────────────────────

    def _take_results(self, call: _Call) -> None:
        """Write what the last pass gave; guesses are kept as far as the model would have written them."""
        for fed in call.results or ():
            row = fed.row
            for place, guessed in enumerate([*fed.guess, None]):
                row.attention.append(fed.attention[place, : len(row.spans)])
                likeliest = fed.following[place]
                token = likeliest if fed.logits is None else row.best(likeliest, fed.logits[place])
                self._take(row, token)
                if row.finish or token != guessed:
                    break
        call.finished += [row for row in call.rows if row.finish]
        call.rows = [row for row in call.rows if not row.finish]
        call.results = None

    def _take(self, row: BatchRow, token: int) -> None:
        """Add the next token to what is written, or say why the row is finished."""
        tokens = self._model.tokens
        if token in tokens.ends:
            row.finish = "end"
        elif len(row.written) >= row.max_tokens:
            row.finish = "length"
        elif row.stop is not None and row.written and asks_to_stop(tokens.decode(row.written[-1:]), row.form):
            row.finish = "stopped" if row.stop(row.prompt, tokens.decode(row.written)) else ""
        if not row.finish:
            row.write(token)
