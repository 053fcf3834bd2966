"""Find names by the rules of a text's language, without a model.

Scripts with capitals: capitalised words, but in German only what nouns are not. Scripts without: quotations, foreign
words, and what the text repeats. Invariants: spans are exact, in order, not empty, and do not overlap; the names of a
text depend on nothing else; the time grows with the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice

from memgraph_rag.lexical.capitalised_names import find_capitalised
from memgraph_rag.lexical.language import FUNCTION_WORDS, guess_language

CAPITALS_ARE_NOUNS = frozenset({"de", "lb"})
"""Languages that write every noun with a capital."""

_UNSPACED = {"zh", "ja", "th", "lo", "km", "my"}
_CASELESS = {*_UNSPACED, "ko", "hi", "bn", "ta", "ar", "he", "ka"}

_QUOTED = re.compile(
    r"「([^「」\n]{2,40})」|『([^『』\n]{2,40})』|《([^《》\n]{2,40})》|〈([^〈〉\n]{2,40})〉|«\s?([^«»\n]{2,40}?)\s?»"
    r"|„([^„“”\n]{2,40})[“”]|“([^“”\n]{2,40})”|»([^«»\n]{2,40})«"
)
_LATIN = re.compile(r"[A-Z][\w.&+#-]+(?:[ ](?:of |de |the )?[A-Z0-9][\w.&+#-]*){0,5}|[a-z]+[A-Z_.]\w+", re.ASCII)
_KATAKANA = re.compile(r"[\u30a1-\u30fa][\u30a1-\u30fa\u30fc]{2,}(?:[・=＝][\u30a1-\u30fa][\u30a1-\u30fa\u30fc]+)*")
_TRANSCRIBED = re.compile(r"[\u4e00-\u9fff]{2,4}(?:[·•‧][\u4e00-\u9fff]{1,6}){1,3}")
_SIGNS = re.compile(
    r"[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u104f\u1780-\u17d3]{2,}"
)
_FUNCTION_SIGNS = re.compile(
    "[的了在是和与為为於于被从從到對对而之其这這那他她它们們我你不也就都及或將将把让讓给給等以有年月日个個]"
    "|ซึ่ง|เป็น|ด้วย|อย่าง|และ|ของ|ได้|จาก|ให้|ว่า|ไม่|โดย|หรือ|กับ|แต่|เพื่อ|เมื่อ|แล้ว|นั้น|นี้|ความ|ระหว่าง|ที่|ในปี|ภายใต้|เช่น|การ|ใน|อะไร|ใคร|ไหน|ใด"
)
_WORD = re.compile(r"[^\W\d_](?:[^\W_]|[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0970-\u0dff'’])*")
_PREPOSITIONS = frozenset(["in", "aus", "von", "nach", "gegen", "bei"])
_SYLLABLES = {"th", "lo", "km", "my"}  # written without blanks, in letters
_MOST_CANDIDATES = 1_500

Spans = list[tuple[int, int]]


def names_by_rules(text: str) -> Spans:
    """Return the (start, end) characters of the names in a text, whose language is guessed.

    >>> text = "Der Roman „Effi Briest“ erschien 1895 bei F. Fontane in Berlin."
    >>> [text[start:end] for start, end in names_by_rules(text)]
    ['Effi Briest', 'F. Fontane', 'Berlin']
    """
    language = guess_language(text)
    if language == "en":
        return find_capitalised(text)
    quoted = [match.span(match.lastindex or 0) for match in _QUOTED.finditer(text)]
    if language in _CASELESS:
        written = [match.span() for pattern in (_LATIN, _KATAKANA, _TRANSCRIBED) for match in pattern.finditer(text)]
        return _drop_overlaps(len(text), quoted, written, _find_repeated(text, language))
    listed = FUNCTION_WORDS.get(language, frozenset())
    if language not in CAPITALS_ARE_NOUNS:
        return _drop_overlaps(len(text), quoted, find_capitalised(text, function_words=listed))
    written = [
        span for span in find_capitalised(text, function_words=listed, particles=()) if _is_no_noun(text, *span, listed)
    ]
    return _drop_overlaps(len(text), quoted, written)


def candidates(question: str) -> Iterator[str]:
    """Yield all parts of a question in a script without capitals that may be names; the caller looks each of them up.

    For a question in a script with capitals, nothing is yielded.
    """
    language = guess_language(question)
    if language not in _CASELESS:
        return
    for start, end in islice(_parts(question, language), _MOST_CANDIDATES):
        yield question[start:end]


def _is_no_noun(text: str, start: int, end: int, function_words: Collection[str]) -> bool:
    """Return whether capitalised German words are a name: several in a row, an abbreviation, or without an article."""
    words = text[start:end].split()
    if any(word.lower() in function_words for word in words):
        return False
    if len(words) > 1 or words[0][1:] != words[0][1:].lower() or any(map(str.isdigit, words[0])):
        return True
    before = text[max(start - 20, 0) : start].split()
    return bool(before) and before[-1].lower() in _PREPOSITIONS and text[start - 1 : start] == " "


def _find_repeated(text: str, language: str) -> Spans:
    """Return the places of what a text says more than once: the longest parts, and of nested ones the longer."""
    places: dict[str, Spans] = {}
    for start, end in _parts(text, language):
        places.setdefault(text[start:end], []).append((start, end))
    again = {part: spans for part, spans in places.items() if len(spans) > 1}
    longest_first = sorted(again, key=lambda part: (-len(part), part))
    return _drop_overlaps(len(text), *(again[part] for part in longest_first))


def _parts(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Yield all places that may be a name: some signs in a row, or up to three words without function words."""
    if language in _UNSPACED:
        shortest, longest = (4, 14) if language in _SYLLABLES else (2, 8)
        for run in _SIGNS.finditer(text):
            for start, end in _split_at_function_signs(run[0], run.start()):
                edges = [place for place in range(start, end + 1) if _is_edge(text, place)]
                yield from (
                    (first, last)
                    for number, first in enumerate(edges)
                    for last in edges[number + 1 : number + longest + 1]
                    if shortest <= last - first <= longest
                )
        return
    listed = FUNCTION_WORDS.get(language, frozenset())
    words = [(*match.span(), match[0].lower() in listed or len(match[0]) < 3) for match in _WORD.finditer(text)]
    for first in range(len(words)):
        for last in range(first, min(first + 3, len(words))):
            if words[last][2] or (last > first and text[words[last - 1][1] : words[last][0]] != " "):
                break
            yield words[first][0], words[last][1]


def _split_at_function_signs(run: str, offset: int) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _FUNCTION_SIGNS.finditer(run):
        yield offset + start, offset + match.start()
        start = match.end()
    yield offset + start, offset + len(run)


_MARKS = re.compile(
    r"[\u0e31\u0e33-\u0e3a\u0e45\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u17b4-\u17d3]"
)
_LEADING = re.compile(r"[\u0e40-\u0e44\u0ec0-\u0ec4]")


def _is_edge(text: str, place: int) -> bool:
    """Return whether a name may begin or end here: not within a syllable of Thai, Lao, Burmese or Khmer."""
    return not _MARKS.match(text, place) and not (place > 0 and _LEADING.match(text, place - 1))


def _drop_overlaps(length: int, *given: Iterable[tuple[int, int]]) -> Spans:
    """Return the spans in a text of this length, in order, without spans that overlap an earlier span."""
    kept: Spans = []
    free = bytearray(b"\x01") * length
    for start, end in chain.from_iterable(given):
        if start < end and all(free[start:end]):
            free[start:end] = bytes(end - start)
            kept.append((start, end))
    return sorted(kept)
