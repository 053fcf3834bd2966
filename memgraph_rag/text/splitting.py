"""Cuts a text into spans of bounded length that end where sentences end.

It knows no model: whoever calls it counts the tokens. Invariants: the spans tile the text (the first starts at 0,
each next where the last ended, the last ends at the text's end); none has more tokens than allowed; none reaches
across a cut that the caller wants; between such cuts, white space stays with what it follows. Texts hold no lone
surrogates, as ``loading.load`` sees to.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memgraph_rag.contracts import TokenCounter
from memgraph_rag.errors import SettingsError
from memgraph_rag.lexical.sentences import sentences

__all__ = ["Span", "split"]

_AT_ONCE = 8192  # texts per call of the counter: enough to be fast, few enough to hold in memory
_CLUSTER_REACH = 16  # characters searched for the edge of a combining sequence

# Where a sentence that is too long may end, coarse to fine: lines, clauses, words.
_FINER = tuple(
    re.compile(pattern)
    for pattern in (
        r"\n\s*",
        r"[,;:.!?…)\]][\"'”’»)\]]{0,4}\s+|[—–、，；：。！？]\s*",
        r"\s+",
    )
)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters ``[start, end)`` of a text, and how many tokens they are."""

    start: int
    end: int
    tokens: int


def split(text: str, *, count_tokens: TokenCounter, max_tokens: int = 300, cuts: Iterable[int] = ()) -> list[Span]:
    r"""Spans that tile the text, each of at most ``max_tokens`` tokens, filled with whole sentences.

    A sentence that is too long is cut at lines, else clauses, else words, else between characters. Two things
    yield to the limit or cannot keep it: a span of nothing but white space remains where it fits neither
    neighbour (or has none between the same cuts), and a single character may have more tokens than allowed.

    Args:
        text: any text without lone surrogates; an empty one has no spans.
        count_tokens: called with many texts at once; need not be additive.
        max_tokens: at least 1.
        cuts: where a span must end, besides: what lies between two of them is split as a text of its own, however
            short. In any order; those at the text's ends or beyond change nothing.

    Raises:
        SettingsError: ``max_tokens`` is below 1.

    >>> words = lambda texts: [len(text.split()) for text in texts]
    >>> [(span.start, span.end) for span in split("It rained. We stayed in.\n\nThen it stopped.",
    ...     count_tokens=words, max_tokens=5)]
    [(0, 26), (26, 42)]
    >>> [(span.start, span.end) for span in split("Rain?\n\nYes.", count_tokens=words, cuts=[7])]
    [(0, 7), (7, 11)]
    """
    if max_tokens < 1:
        raise SettingsError(f"Expected max_tokens of at least 1, got {max_tokens}.", max_tokens=max_tokens)
    cutter = _Cutter(text, count_tokens, max_tokens, frozenset(cut for cut in cuts if 0 < cut < len(text)))
    return cutter.join_blanks(cutter.verified(cutter.packed(cutter.pieces())))


class _Cutter:
    """One text, how its tokens are counted, and where it must be cut.

    The parts between two cuts go through the steps together, so that many short ones cost few calls of the counter.
    """

    def __init__(self, text: str, count_tokens: TokenCounter, limit: int, cuts: frozenset[int]) -> None:
        self.text = text
        self.count_tokens = count_tokens
        self.limit = limit
        self.cuts = cuts
        # Estimates are 0 to 3 tokens short in 99 of 100 spans (War and Peace, Qwen, 300 tokens).
        self.target = limit - limit // 100

    def pieces(self) -> list[Span]:
        """The finest parts that spans are made of: sentences, and smaller parts of those that are too long."""
        pieces = self.estimated(self.sentences())
        for pattern in _FINER:
            pieces = self.refined(pieces, lambda piece, pattern=pattern: _cut_after(pattern, self.text, piece))
        while any(self.divisible(piece) for piece in pieces):
            pieces = self.refined(pieces, self.cut_evenly)
        return pieces

    def sentences(self) -> list[tuple[int, int]]:
        """The sentences of each part by itself: what stands in one does not decide where another is cut."""
        parts = pairwise([0, *sorted(self.cuts), len(self.text)])
        return [
            (start + first, start + last) for start, end in parts for first, last in sentences(self.text[start:end])
        ]

    def refined(self, pieces: Sequence[Span], cut: Callable[[Span], list[tuple[int, int]]]) -> list[Span]:
        """The pieces, those above the limit replaced by their parts."""
        parts = [part for piece in pieces if self.divisible(piece) for part in cut(piece)]
        return sorted([*(piece for piece in pieces if not self.divisible(piece)), *self.estimated(parts)])

    def divisible(self, piece: Span) -> bool:
        """True if the piece must be cut, and can be."""
        return piece.tokens > self.limit and piece.end - piece.start > 1

    def packed(self, pieces: Iterable[Span]) -> list[list[Span]]:
        """Runs of pieces, each filled as far as the sum of the estimates and the cuts allow."""
        runs: list[list[Span]] = []
        room = 0
        for piece in pieces:
            if not runs or piece.tokens > room or piece.start in self.cuts:
                runs.append([])
                room = self.target
            runs[-1].append(piece)
            room -= piece.tokens
        return runs

    def verified(self, runs: list[list[Span]]) -> list[Span]:
        """One span per run, its tokens counted as a whole; a run that is too long after all is halved."""
        spans: list[Span] = []
        while runs:
            counted = self.counted([(run[0].start, run[-1].end) for run in runs])
            spans += (span for span in counted if not self.divisible(span))
            too_long = ((run, span) for run, span in zip(runs, counted, strict=True) if self.divisible(span))
            runs = [half for run, span in too_long for half in self.halves(run, span)]
        return sorted(spans)

    def halves(self, run: list[Span], span: Span) -> list[list[Span]]:
        """The run cut between two pieces, or its only piece cut."""
        if len(run) > 1:
            middle = min(range(1, len(run)), key=lambda at: abs(span.start + span.end - 2 * run[at].start))
            return [run[:middle], run[middle:]]
        return [[Span(start, end, 0)] for start, end in self.cut_evenly(span)]

    def join_blanks(self, spans: Sequence[Span]) -> list[Span]:
        """The spans, those of nothing but white space joined to a neighbour where limit and cuts allow."""
        joined: list[Span] = []
        for span in spans:
            parted = not joined or span.start in self.cuts
            if not parted and any(self.text[near.start : near.end].isspace() for near in (joined[-1], span)):
                (both,) = self.counted([(joined[-1].start, span.end)])
                if both.tokens <= self.limit:
                    joined[-1] = both
                    continue
            joined.append(span)
        return joined

    def cut_evenly(self, piece: Span) -> list[tuple[int, int]]:
        """Parts of about equal length, as many as the limit asks for, at least two."""
        length = piece.end - piece.start
        parts = min(length, max(2, -(-piece.tokens // self.target)))
        wanted = (piece.start + length * part // parts for part in range(1, parts))
        cuts = sorted({_cluster_edge(self.text, at, piece.start, piece.end) for at in wanted})
        return list(pairwise([piece.start, *cuts, piece.end]))

    def estimated(self, ranges: Sequence[tuple[int, int]]) -> list[Span]:
        """The ranges with their tokens when something follows: a closing blank then counts with the next word."""
        return self._count(ranges, [self.text[start:end].rstrip(" ") for start, end in ranges])

    def counted(self, ranges: Sequence[tuple[int, int]]) -> list[Span]:
        """The ranges with their tokens, each on its own."""
        return self._count(ranges, [self.text[start:end] for start, end in ranges])

    def _count(self, ranges: Sequence[tuple[int, int]], texts: Sequence[str]) -> list[Span]:
        batches = (texts[at : at + _AT_ONCE] for at in range(0, len(texts), _AT_ONCE))
        counts = (count for batch in batches for count in self.count_tokens(batch))
        return [Span(start, end, count) for (start, end), count in zip(ranges, counts, strict=True)]


def _cut_after(pattern: re.Pattern[str], text: str, piece: Span) -> list[tuple[int, int]]:
    """The piece cut behind each match."""
    cuts = {match.end() for match in pattern.finditer(text, piece.start, piece.end)} - {piece.end}
    return list(pairwise([piece.start, *sorted(cuts), piece.end]))


def _cluster_edge(text: str, at: int, start: int, end: int) -> int:
    """The cut nearest before ``at`` (else after it) that parts no character from what combines with it."""
    before = range(at, max(start, at - _CLUSTER_REACH), -1)
    after = range(at + 1, min(end, at + _CLUSTER_REACH))
    return next((cut for cut in (*before, *after) if not _combines(text[cut - 1], text[cut])), at)


def _combines(left: str, right: str) -> bool:
    """True if the right character is drawn onto the left one: accents, joined emoji, skin tones, CR LF."""
    return (
        unicodedata.category(right).startswith("M")
        or "\u200d" in (left, right)
        or "\U0001f3fb" <= right <= "\U0001f3ff"
        or (left, right) == ("\r", "\n")
    )
