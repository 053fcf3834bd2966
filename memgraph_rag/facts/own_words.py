"""Find the words of a turn that are its speaker's own: no quotation, code, pasted or forwarded text, or another's line.

The module knows the text of a turn, and neither facts nor wishes: all readers of statements use only these words.
Invariants: a character that is not the speaker's own becomes a line break, and all others keep their place; text
between marks (quotation marks, fences, tags) is the speaker's only if it can be a name; an announced text without marks
("Here is the mail:"), or a text that begins as a mail does, is foreign up to the turn's end; the time is linear in the
text's length.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from memgraph_rag.facts.message_forms import begins_letter, ends_letter, is_announcement, is_forward_start, label_end
from memgraph_rag.facts.quotations import find_quoted_spans
from memgraph_rag.lexical.markdown import code_blocks
from memgraph_rag.lexical.roles import head_length, is_machine
from memgraph_rag.types import Segment

Span = tuple[int, int]

_LINE = re.compile(r"[^\n]*\n?")
_QUOTED_LINE = re.compile(r"[ \t]*(?:[-*+] )?>")
_INLINE = re.compile(r"[:：][*_]*(?=\s+\S)")
_BREAK = re.compile(r"\r\n|\r")
_WORD_START = re.compile(r"\S")
_HEADER_LINES = 4
_MOST_ANNOUNCING = 200  # characters before a colon
_MOST_COLONS = 32  # of a line


def own_words(segments: Sequence[Segment]) -> list[str]:
    r"""Return the text of each segment, in order, with a line break for each character that is not the speaker's own.

    Quotations, code, quoted lines, lines under another name, and pasted texts are not the speaker's own. An assistant's
    turn, a text without a speaker, and the head of a turn (speaker and time) keep no word.

    Args:
        segments: segments of one document. Those of one turn are read together: a quotation may end in another segment.

    >>> turn = Segment("1", "2", 0, 'Ann: I moved. Tom said "I live in Bonn".', 0, 40, 10, "Ann")
    >>> own_words([turn])[0].split("\n")
    ['', '', '', '', '', 'I moved. Tom said ', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '.']
    """
    own: list[str] = []
    for turn in _group_turns(segments):
        text = "".join(segment.text for segment in turn)
        speaker = turn[0].speaker
        foreign = [(0, len(text))]
        if speaker and not is_machine(speaker):
            head = head_length(text, speaker)
            foreign = [(0, head), *((start + head, end + head) for start, end in foreign_spans(text[head:], speaker))]
        plain = _blank(text, foreign)
        for segment in turn:
            own.append(plain[: len(segment.text)])
            plain = plain[len(segment.text) :]
    return own


def extract_pasted_words(segment: Segment) -> str:
    """Return the quoted, pasted or forwarded words and the code of a person's turn, one part a line.

    Empty for a machine's turn and for a text without a speaker. Only this segment is read: a quotation that begins in
    another segment of the turn is not found.
    """
    if not segment.speaker or is_machine(segment.speaker):
        return ""
    text = segment.text[head_length(segment.text, segment.speaker) :]
    return "\n".join(text[start:end] for start, end in foreign_spans(text, segment.speaker))


def foreign_spans(text: str, speaker: str) -> list[Span]:
    r"""Return the places in a turn that are not the speaker's own words, in order, without touching spans.

    These are text in marks, code, quoted lines, lines under another name, and pasted texts, which reach to the end.

    Args:
        text: the turn without speaker and time.

    >>> text = "Here is our chat:\n\nTom: I live in Bonn."
    >>> [text[start:end] for start, end in foreign_spans(text, "Ann")]
    ['\nTom: I live in Bonn.']
    """
    text = _BREAK.sub(lambda match: "\n" * len(match[0]), text)
    marked = _merge([*code_blocks(text), *find_quoted_spans(text)])
    return _merge([*marked, *_find_foreign_lines(text, speaker, marked)])


def _group_turns(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Yield the segments of each turn together; a segment that begins with its speaker begins a turn."""
    turn: list[Segment] = []
    for segment in segments:
        last = turn[-1] if turn else None
        goes_on = (
            last is not None
            and bool(segment.speaker)
            and (segment.index, segment.speaker, segment.time) == (last.index + 1, last.speaker, last.time)
            and not head_length(segment.text, segment.speaker)
        )
        if turn and not goes_on:
            yield turn
            turn = []
        turn.append(segment)
    if turn:
        yield turn


def _find_foreign_lines(text: str, speaker: str, marked: Sequence[Span]) -> Iterator[Span]:
    """Yield the places of quoted lines, of lines under another name, and of pasted texts without marks."""
    lines = [line for line in _LINE.finditer(text) if line[0]]
    last_closing = max((n for n, line in enumerate(lines) if ends_letter(line[0].strip())), default=-1)
    is_under_name = False
    for n, line in enumerate(lines):
        words = line[0]
        if not words.strip():
            is_under_name = False
        elif _is_marked(line.start(), marked):
            continue
        elif _QUOTED_LINE.match(words):
            yield line.span()
        elif _is_pasted_start(lines[n : n + _HEADER_LINES], is_closed=last_closing > n):
            yield line.start(), len(text)
            return
        elif is_announcement(words.strip()) and not _is_marked_after(text, line.end(), marked):
            yield line.end(), len(text)
            return
        elif is_under_name := is_under_name or _is_under_name(text, line, speaker, marked):
            yield line.span()
        else:
            yield from _find_announced(words, line.start())


def _is_under_name(text: str, line: re.Match[str], speaker: str, marked: Sequence[Span]) -> bool:
    """Return whether a line begins with another person's name; a word before a quotation ("See:") is not a name."""
    end = label_end(line[0], speaker)
    return end > 0 and (bool(line[0][end:].strip()) or not _is_marked_after(text, line.end(), marked))


def _is_pasted_start(lines: Sequence[re.Match[str]], *, is_closed: bool) -> bool:
    words = [line[0] for line in lines]
    return is_forward_start(words) or begins_letter(words[0], is_closed=is_closed)


def _find_announced(line: str, start: int) -> Iterator[Span]:
    """Yield the rest of a line after an announcement of another's words: "Tom said: I live in Bonn"."""
    for colon in islice(_INLINE.finditer(line), _MOST_COLONS):
        sentence = max(line.rfind(mark, colon.start() - _MOST_ANNOUNCING, colon.start()) for mark in ".!?") + 1
        if is_announcement(line[max(sentence, colon.start() - _MOST_ANNOUNCING) : colon.end()]):
            yield start + colon.end(), start + len(line)
            return


def _is_marked(place: int, marked: Sequence[Span]) -> bool:
    n = bisect_right(marked, (place, sys.maxsize)) - 1
    return n >= 0 and marked[n][0] <= place < marked[n][1]


def _is_marked_after(text: str, place: int, marked: Sequence[Span]) -> bool:
    """Return whether the text after a place is inside marks or is a quoted line."""
    following = _WORD_START.search(text, place)
    return following is not None and (_is_marked(following.start(), marked) or following[0] == ">")


def _merge(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        elif start < end:
            merged.append((start, end))
    return merged


def _blank(text: str, spans: Iterable[Span]) -> str:
    parts: list[str] = []
    last = 0
    for start, end in spans:
        parts += [text[last:start], "\n" * (end - start)]
        last = end
    return "".join([*parts, text[last:]])
