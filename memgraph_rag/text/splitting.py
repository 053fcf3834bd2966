"""Cut a text into spans of bounded length that end where sentences end.

The module knows no model: the caller passes the token counter. Invariants: the spans cover the text without gaps and
overlaps; no span has more tokens than allowed; no span crosses a cut that the caller asks for; between such cuts white
space belongs to the text before it. Texts hold no lone surrogates (``loading.load`` replaces them).
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from memgraph_rag.contracts import TokenCounter
from memgraph_rag.errors import SettingsError
from memgraph_rag.lexical.sentences import sentences

_AT_ONCE = 8192  # texts per call of the counter: enough to be fast, few enough to hold in memory
_SHORT = 2  # characters of a token on average; English has 4.3, Russian 2.9, Thai 1.7, Greek 1.2, Hindi 1.1
_PER_TOKEN, _PER_WIDE = 4, 0.7  # letters of a token in English; tokens of an ideograph, a syllable or a kana
_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
_SIGNS = re.compile(r"[!-@\[-`{-~]")
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
    """The characters ``[start, end)`` of a text, and their number of tokens."""

    start: int
    end: int
    tokens: int


def split(
    text: str,
    *,
    count_tokens: TokenCounter,
    max_tokens: int = 300,
    longest: int = 0,
    cuts: Iterable[int] = (),
    sections: Iterable[int] = (),
    blocks: Iterable[tuple[int, int]] = (),
    language: str = "",
) -> list[Span]:
    r"""Return spans that cover the text, each of whole sentences and at most ``max_tokens`` tokens.

    A sentence that is too long is cut at lines, else clauses, else words, else between characters. There are two
    exceptions: a span of white space stays alone if it fits neither neighbour (or has none between the same cuts), and
    a single character may have more tokens than allowed.

    Args:
        text: any text without lone surrogates; an empty text has no spans.
        count_tokens: called with many texts at once; it need not be additive.
        max_tokens: at least 1.
        longest: the most tokens of a span whose tokens are shorter than two characters, as in Hindi or Greek: such a
            span may have as many characters as an English one. ``max_tokens`` if that is larger.
        cuts: further places where a span must end, in any order; the text between two cuts is split on its own, however
            short it is. Places at the text's ends or outside of the text change nothing.
        sections: places where parts begin that belong together. A span ends there unless the whole part fits into it.
        blocks: (start, end) of parts that are not cut, in order and without overlaps, such as tables; a block that is
            longer than a span is cut at its lines.
        language: the language of the text (ISO 639-1), by which sentences are found; empty if it is unknown.

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
    within = frozenset(cut for cut in cuts if 0 < cut < len(text))
    most_shrunk = longest / max_tokens
    cutter = _Cutter(text, count_tokens, max_tokens, within, frozenset(sections), list(blocks), language, most_shrunk)
    spans = cutter.join_blanks(cutter.verify(cutter.pack(cutter.pieces())))
    return [Span(span.start, span.end, cutter.short.get((span.start, span.end), span.tokens)) for span in spans]


class _Cutter:
    """A text with its token counter and its cuts.

    All parts between cuts go through each step together, so that many short parts cost few calls of the counter.
    """

    def __init__(
        self,
        text: str,
        count_tokens: TokenCounter,
        limit: int,
        cuts: frozenset[int],
        sections: frozenset[int],
        blocks: Sequence[tuple[int, int]],
        language: str,
        most_shrunk: float,
    ) -> None:
        self.text = text
        self.count_tokens = count_tokens
        self.limit = limit
        self.cuts = cuts
        self.sections = sections
        self.blocks = blocks
        self.language = language
        self.most_shrunk = most_shrunk
        self.short: dict[tuple[int, int], int] = {}  # the tokens of ranges that count as fewer
        # Estimates are 0 to 3 tokens short in 99 of 100 spans (War and Peace, Qwen, 300 tokens).
        self.target = limit - limit // 100

    def pieces(self) -> list[Span]:
        """Return the smallest parts that spans consist of: sentences, and parts of sentences that are too long."""
        pieces = self.estimate_tokens(self.sentences())
        for pattern in _FINER:
            pieces = self.refine(pieces, lambda piece, pattern=pattern: _cut_after(pattern, self.text, piece))
        while any(self.divisible(piece) for piece in pieces):
            pieces = self.refine(pieces, self.cut_evenly)
        return pieces

    def sentences(self) -> list[tuple[int, int]]:
        """Return the sentences of each part between cuts, without regard to other parts; a block is one sentence."""
        blocks = {block for block in self.blocks if not any(block[0] < cut < block[1] for cut in self.cuts)}
        edges = {0, *self.cuts, *self.sections, *chain.from_iterable(blocks), len(self.text)}
        found: list[tuple[int, int]] = []
        for start, end in pairwise(sorted(edges)):
            if (start, end) in blocks:
                found.append((start, end))
            else:
                found += [(start + a, start + b) for a, b in sentences(self.text[start:end], self.language)]
        return found

    def refine(self, pieces: Sequence[Span], cut: Callable[[Span], list[tuple[int, int]]]) -> list[Span]:
        """Return the pieces, with those above the limit replaced by their parts."""
        parts = [part for piece in pieces if self.divisible(piece) for part in cut(piece)]
        return sorted([*(piece for piece in pieces if not self.divisible(piece)), *self.estimate_tokens(parts)])

    def divisible(self, piece: Span) -> bool:
        """Return whether the piece is too long and has more than one character."""
        return piece.tokens > self.limit and piece.end - piece.start > 1

    def pack(self, pieces: Iterable[Span]) -> list[list[Span]]:
        """Return runs of consecutive pieces, each as long as the target of estimated tokens allows.

        A run never crosses a cut, and it ends before a section that it cannot hold as a whole. A piece that is longer
        than the target is a run of its own.
        """
        listed = list(pieces)
        needed = self.count_section_tokens(listed)
        runs: list[list[Span]] = []
        room = 0
        for piece in listed:
            if not runs or needed.get(piece.start, piece.tokens) > room or piece.start in self.cuts:
                runs.append([])
                room = self.target
            runs[-1].append(piece)
            room -= piece.tokens
        return runs

    def count_section_tokens(self, pieces: Sequence[Span]) -> dict[int, int]:
        """Return the estimated tokens of each section, by its start."""
        needed: dict[int, int] = {}
        start = -1
        for piece in pieces:
            start = piece.start if piece.start in self.sections else start
            needed[start] = needed.get(start, 0) + piece.tokens
        needed.pop(-1, None)  # what precedes the first section
        return needed

    def verify(self, runs: list[list[Span]]) -> list[Span]:
        """Return one span for each run with its exact tokens; a run that is too long is halved."""
        spans: list[Span] = []
        while runs:
            count_exactly = self.count_exactly([(run[0].start, run[-1].end) for run in runs])
            spans += (span for span in count_exactly if not self.divisible(span))
            too_long = ((run, span) for run, span in zip(runs, count_exactly, strict=True) if self.divisible(span))
            runs = [half for run, span in too_long for half in self.halve(run, span)]
        return sorted(spans)

    def halve(self, run: list[Span], span: Span) -> list[list[Span]]:
        """Return the run cut between two pieces; a single piece is cut itself."""
        if len(run) > 1:
            middle = min(range(1, len(run)), key=lambda at: abs(span.start + span.end - 2 * run[at].start))
            return [run[:middle], run[middle:]]
        return [[Span(start, end, 0)] for start, end in self.cut_evenly(span)]

    def join_blanks(self, spans: Sequence[Span]) -> list[Span]:
        """Return the spans, with those of white space joined to a neighbour if limit and cuts allow."""
        joined: list[Span] = []
        for span in spans:
            parted = not joined or span.start in self.cuts
            if not parted and any(self.text[near.start : near.end].isspace() for near in (joined[-1], span)):
                (both,) = self.count_exactly([(joined[-1].start, span.end)])
                if both.tokens <= self.limit:
                    joined[-1] = both
                    continue
            joined.append(span)
        return joined

    def cut_evenly(self, piece: Span) -> list[tuple[int, int]]:
        """Return parts of about equal length, as many as the limit needs, at least two."""
        length = piece.end - piece.start
        parts = min(length, max(2, -(-piece.tokens // self.target)))
        even_cuts = (piece.start + length * part // parts for part in range(1, parts))
        cuts = sorted({_cluster_edge(self.text, at, piece.start, piece.end) for at in even_cuts})
        return list(pairwise([piece.start, *cuts, piece.end]))

    def estimate_tokens(self, ranges: Sequence[tuple[int, int]]) -> list[Span]:
        """Return the ranges with their tokens as if text followed: a closing space then counts with the next word."""
        return self._count(ranges, [self.text[start:end].rstrip(" ") for start, end in ranges])

    def count_exactly(self, ranges: Sequence[tuple[int, int]]) -> list[Span]:
        """Return the ranges with their exact tokens."""
        return self._count(ranges, [self.text[start:end] for start, end in ranges])

    def _count(self, ranges: Sequence[tuple[int, int]], texts: Sequence[str]) -> list[Span]:
        batches = (texts[at : at + _AT_ONCE] for at in range(0, len(texts), _AT_ONCE))
        counts = (count for batch in batches for count in self.count_tokens(batch))
        return [self._measure(at, text, count) for at, text, count in zip(ranges, texts, counts, strict=True)]

    def _measure(self, at: tuple[int, int], text: str, tokens: int) -> Span:
        """Return a range with its tokens; where they are short, with those of an English text of the same length."""
        if self.most_shrunk <= 1 or len(text) >= _SHORT * tokens:
            return Span(*at, tokens)
        self.short[at] = tokens
        wide, signs = len(_WIDE.findall(text)), len(_SIGNS.findall(text))
        english = signs + _PER_WIDE * wide + (len(text) - wide - signs) / _PER_TOKEN
        return Span(*at, min(tokens, math.ceil(max(english, tokens / self.most_shrunk))))


def _cut_after(pattern: re.Pattern[str], text: str, piece: Span) -> list[tuple[int, int]]:
    """Return the piece cut after each match."""
    cuts = {match.end() for match in pattern.finditer(text, piece.start, piece.end)} - {piece.end}
    return list(pairwise([piece.start, *sorted(cuts), piece.end]))


def _cluster_edge(text: str, at: int, start: int, end: int) -> int:
    """Return the nearest cut before ``at`` (else after it) that does not separate combining characters."""
    before = range(at, max(start, at - _CLUSTER_REACH), -1)
    after = range(at + 1, min(end, at + _CLUSTER_REACH))
    return next((cut for cut in (*before, *after) if not _combines(text[cut - 1], text[cut])), at)


def _combines(left: str, right: str) -> bool:
    """Return whether the right character combines with the left one: accents, joined emoji, skin tones, CR LF."""
    return (
        unicodedata.category(right).startswith("M")
        or "\u200d" in (left, right)
        or "\U0001f3fb" <= right <= "\U0001f3ff"
        or (left, right) == ("\r", "\n")
    )
