"""Writing of several rows in shared passes, also for several calls of ``generate``.

Rows join between passes and leave when they are finished. A thread that waits for a pass runs the pass for all calls.
The module knows rows and caches, but no weights: the model reads prompts and runs passes. Invariants: rows do not see
one another. The thread of a call takes the results of its rows, so that ``stop`` runs in this thread, and an error of
``stop`` reaches only this call. The rows decide which tokens of the cache count. So a pass that failed or was
interrupted has no effect, and the other calls run it again.
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

_MOST_ROWS = 48  # on two cores 84 to 95 tokens a second, 33 to 58 with 16
_MOST_BATCH_TOKENS = 65_536  # in the KV cache, with room to write: 1.8 GB with the 1.5B model in bf16
_FEW_TOKENS = 24  # a pass of this many tokens takes little longer than a pass of one: it reads the same weights
_PATIENCE_S = 0.5  # a pass waits so long for the thread of a call, which needs a hundredth of it if idle


@dataclass(frozen=True, eq=False)
class _PassResult:
    """The results of a pass for one row.

    Attributes:
        guess: the guessed tokens that the pass read after the last written token.
        following: the likeliest next token after each token read.
        logits: (t, V), only for rows with a form.
        attention: (t, at least S).
    """

    row: BatchRow
    guess: Sequence[int]
    following: Sequence[int]
    logits: Tensor | None
    attention: np.ndarray


@dataclass(eq=False)
class _Call:
    """The rows of one call: the rows that wait for room, and the rows in the batch.

    Only the thread of the call changes it, except for the results of a pass. Lists that other threads read are
    replaced, never changed in place.

    Attributes:
        beginning: a cache with the tokens that all prompts of the call begin with, after it was read.
        is_present: the thread of the call waits for a pass; otherwise it takes results, or is in the caller's code.
        busy_since: the time at which the thread last received results, in seconds.
        results: the results of the last pass that the thread has not taken yet.
        bell: wakes the thread.
    """

    waiting: deque[BatchRow]
    beginning: RowCache | None = None
    rows: list[BatchRow] = field(default_factory=list)
    finished: list[BatchRow] = field(default_factory=list)
    is_present: bool = True
    busy_since: float = 0.0
    results: list[_PassResult] | None = None
    bell: SimpleQueue[None] = field(default_factory=SimpleQueue[None])

    @property
    def is_ready(self) -> bool:
        """Whether a pass may read tokens for the rows of this call."""
        return self.is_present and self.results is None

    @property
    def holds_up(self) -> bool:
        """Whether a pass should still wait for this call."""
        return bool(self.rows) and not self.is_ready and time.monotonic() - self.busy_since < _PATIENCE_S


class SharedWriting:
    """Lets a model continue prompts ("rows") until they are finished, the prompts of several threads together."""

    def __init__(self, model: TransformersModel) -> None:
        self._model = model
        self._between = threading.Lock()  # locked while a prompt is read or a pass runs
        self._calls: dict[_Call, None] = {}
        self._active: list[BatchRow] = []  # in the order of the cache's rows
        self._past = RowCache(rows=0)
        self._spans: Spans | None = None

    def __call__(self, rows: Sequence[BatchRow]) -> Generator[BatchRow, None, None]:
        """Continue prompts, and yield each row when it is finished, with its written tokens and their attention.

        Close the generator if you do not read it to its end: its unfinished rows then leave the batch.
        """
        known = self._model.prefixes
        # Rows whose beginning is cached come first, before the cache forgets it.
        waiting = deque(sorted(rows, key=lambda row: row.up_to_task not in known))
        call = _Call(waiting)
        try:
            self._calls[call] = None  # a thread that runs passes sees the call and lets it join
            while call.waiting or call.rows:
                self._wait_for_pass(call)
                self._take_results(call)
                yield from call.finished
        finally:
            self._calls.pop(call, None)
            self._wake_others()
            if not self._calls:  # otherwise the thread that runs the next pass settles
                with self._between:
                    self._settle()

    # ── between passes ───────────────────────────────────────────────────────────────────────────────────

    def _wait_for_pass(self, call: _Call) -> None:
        """Wait until a row of the call has results or is finished. Run passes if needed."""
        call.finished = []
        call.is_present = True  # before the lock: another thread may take the lock again and again
        self._wake_others(call)
        while not self._advance(call):
            with suppress(Empty):
                call.bell.get(timeout=_PATIENCE_S)

    def _advance(self, call: _Call) -> bool:
        """Run the passes that can run for a call now; return whether a row of it has results or is finished."""
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
        """Whether a pass waits for no other call."""
        return not any(call.holds_up or self._may_join(call) for call in tuple(self._calls))

    def _may_join(self, call: _Call) -> bool:
        """Return whether the next row of a call may join: there is room, and no waiting call has fewer rows."""
        if not (call.is_ready and call.waiting):
            return False
        others = [other for other in tuple(self._calls) if other.is_ready and other.waiting]
        return all(len(call.rows) <= len(other.rows) for other in others) and self._has_room(call.waiting[0])

    def _has_room(self, row: BatchRow) -> bool:
        """Return whether a row fits within the limits on rows, tokens, and free memory of a GPU."""
        if not self._active:
            return True
        max_length = max(other.max_length for other in (*self._active, row))
        return len(self._active) < _MOST_ROWS and max_length * (len(self._active) + 1) <= self._most_tokens

    @property
    def _most_tokens(self) -> int:
        free = free_bytes(self._model.device)
        return _MOST_BATCH_TOKENS if free is None else min(_MOST_BATCH_TOKENS, self._past.count_tokens_within(free))

    def _join(self, call: _Call) -> None:
        """Read the prompt of the call's next row. The row then joins the batch, or it is finished."""
        if call.beginning is None:
            call.beginning = self._model.read_common_prefix(call.waiting)
        row = call.waiting.popleft()
        read = self._read(row, call.beginning)
        if row.finish:  # the model wrote nothing
            call.finished, call.busy_since = [row], time.monotonic()
            return
        self._settle()
        rows, model = len(self._active) + 1, self._model
        with memory_errors(model.device, f"cache of {rows} rows of {model.name}"):
            if self._past.count_room(rows, row.max_length) > 2 * self._most_tokens:
                self._past.trim()  # free the room of longer or more rows that have left
            self._past.add_row(read)
        row.fed_to = len(row.ids)
        self._active = [*self._active, row]
        call.rows = [*call.rows, row]
        self._spans = None

    def _read(self, row: BatchRow, beginning: RowCache) -> RowCache:
        """Return a cache that holds the row's prompt. The first token is then written, or the row is finished."""
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
        self._append_token(row, row.best(int(greedy(logits)), logits))
        row.seconds += time.perf_counter() - started
        return past

    def _settle(self) -> None:
        """Make the cache hold exactly the rows of the present calls, after any interruption."""
        wanted = {row for call in tuple(self._calls) for row in call.rows}
        self._past.lengths = [row.fed_to for row in self._active]
        for place in reversed([place for place, row in enumerate(self._active) if row not in wanted]):
            self._past.remove_row(place)
            *others, last = self._active
            self._active = others if place == len(others) else [*others[:place], last, *others[place + 1 :]]
            self._spans = None
        if not self._active:  # free the memory of the cache and of the graphs captured for it
            self._past = RowCache(rows=0)

    # ── one pass ─────────────────────────────────────────────────────────────────────────────────────────

    def _run(self) -> None:
        """Read the last token of each ready row, with guesses of the next tokens if there is room.

        The attention of a token is measured when the pass reads it. A row that is not ready reads tokens that do not
        count.
        """
        started = time.perf_counter()
        self._settle()
        ready = [call for call in tuple(self._calls) if call.is_ready]
        rows = {row for call in ready for row in call.rows}
        max_length = max(len(row.ids) + len(row.written) for row in rows)
        more = max(
            0, min(self._model.max_guesses, _FEW_TOKENS // len(self._active) - 1, self._model.window - max_length)
        )
        guesses = {row: row.guess(more) for row in rows}
        more = max(map(len, guesses.values()))
        fed = {row: [row.written[-1], *guess, *[0] * (more - len(guess))] for row, guess in guesses.items()}
        if self._spans is None:
            within = max(len(row.ids) for row in self._active)
            self._spans = Spans([row.spans for row in self._active], length=within, device=self._model.device)
        self._past.lengths = [row.tokens_read if row in rows else row.fed_to for row in self._active]
        logits, paid = self._model.feed_back(
            [fed.get(row, [0] * (more + 1)) for row in self._active], self._past, self._spans
        )
        measured = paid.cpu().numpy()
        following = greedy(logits).tolist()
        share = (time.perf_counter() - started) / len(rows)
        results: dict[BatchRow, _PassResult] = {}
        for place, row in enumerate(self._active):
            if row in rows:
                # A copy, because the next captured step overwrites the logits.
                own = None if row.form is None else logits[place].clone()
                results[row] = _PassResult(row, guesses[row], following[place], own, measured[place])
                row.fed_to = row.tokens_read + more + 1
                row.seconds += share
        for call in ready:
            call.busy_since = time.monotonic()
            call.results = [results[row] for row in call.rows]

    # ── results of a pass ────────────────────────────────────────────────────────────────────────────────

    def _take_results(self, call: _Call) -> None:
        """Write the tokens of the last pass. A guess counts only if the model would have written the same token."""
        for fed in call.results or ():
            row = fed.row
            for place, guessed in enumerate([*fed.guess, None]):
                row.attention.append(fed.attention[place, : len(row.spans)])
                likeliest = fed.following[place]
                token = likeliest if fed.logits is None else row.best(likeliest, fed.logits[place])
                self._append_token(row, token)
                if row.finish or token != guessed:
                    break
        call.finished += [row for row in call.rows if row.finish]
        call.rows = [row for row in call.rows if not row.finish]
        call.results = None

    def _append_token(self, row: BatchRow, token: int) -> None:
        """Add the next token to the written tokens, or set the reason why the row is finished."""
        tokens = self._model.tokens
        if token in tokens.ends:
            row.finish = "end"
        elif len(row.written) >= row.max_tokens:
            row.finish = "length"
        elif row.stop is not None and row.written and asks_to_stop(tokens.decode(row.written[-1:]), row.form):
            row.finish = "stopped" if row.stop(row.prompt, tokens.decode(row.written)) else ""
        if not row.finish:
            row.write(token)
