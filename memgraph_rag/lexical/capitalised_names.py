"""Find names by capital letters alone, without a model, in every script with capitals.

The module knows no language except a few English function words and European particles. Invariants: spans are exact, in
order, not empty, and do not overlap; the time is linear in the text, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

# Dotted initials (U.S, J.R.R), or letters and digits with their combining marks, held together by apostrophe or hyphen.
_PART = r"[^\W_](?:[^\W_]|[\u0300-\u036f])*"
_WORD = re.compile(rf"(?:[^\W\d_]\.)+[^\W\d_](?![^\W_])|{_PART}(?:['’-]{_PART})*")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_SENTENCE_END = re.compile(r"[.!?…。！？:;]|\n\s*\n")
_OPENING = frozenset("\"“”„«»‘'([")
_CLOSING = frozenset("\"“”»«’')]")
_LINE_MARKS = frozenset("-–—*•#>|+ \t")

_ABBREVIATIONS = frozenset(
    "mr mrs ms dr st prof gen col sgt lt capt rev hon mt ft jr sr mme mlle gov sen rep".split()  # noqa: SIM905
)
_PARTICLES = frozenset(
    "of de la le du des del della di da do dos das van von der den zu zur el al bin ibn ben af av".split()  # noqa: SIM905
)
_MOST_PARTICLES = 2  # "of the", "van der"
_MOST_WORDS = 8
_LONGEST_WORD = 50
_SHOUTED_WORDS = 4
_LONGEST_NUMBER = 4

# Words that begin a sentence or a question without being a name.
_FUNCTION_WORDS = frozenset(
    """
    a about above after again against all along already also although always am among an and another any anyone are
    as at away be because been before being below besides between both but by can could did do does during each
    either else even ever every everyone few finally first following for from further had has have having he hello
    hence her here hers hey hi his how however i if in indeed inside instead into is it its itself just last later
    let like many may maybe me meanwhile might more moreover most much must my name near neither never next no nobody
    none nor not nothing now of oh ok okay on once one only or other others our ours out outside over perhaps please
    rather said second several shall she should similarly since so some someone something soon sometimes still such
    than thanks that the their theirs them then there therefore these they third this those though through thus to
    today tomorrow too toward towards two under unlike until up upon us using was we well were what when whenever
    where whereas whether which while who whom whose why will with within without would yes yesterday yet you your
    yours
    """.split()  # noqa: SIM905 (so many quoted words would be harder to read)
)
_NO_NAMES = frozenset("i i'm i'd i'll i've ok okay".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class _Word:
    """A word and its surroundings."""

    start: int
    end: int
    folded: str
    is_capital: bool
    is_number: bool
    is_first: bool  # of a sentence, a line with a mark before it, or a quotation
    is_quoted: bool  # first only because of a quotation mark or bracket before it
    follows: bool  # only white space with at most one line end separates it from the word before


def find_capitalised(
    text: str, *, function_words: Collection[str] = _FUNCTION_WORDS, particles: Collection[str] = _PARTICLES
) -> list[tuple[int, int]]:
    """Return the (start, end) characters of everything that is written like a name.

    Adjacent capitalised words are one name, including ``particles`` such as "of the" between them and a number after
    them.
    The first word of a sentence counts if another capitalised word follows, or if it is capitalised inside another
    sentence; one of ``function_words`` there never counts. In a sentence of capitals only, a word counts only if it is
    capitalised elsewhere.

    >>> text = "In London the Duke of York met Ann. Ann left. He stayed."
    >>> [text[start:end] for start, end in find_capitalised(text)]
    ['London', 'Duke of York', 'Ann', 'Ann']
    """
    words = _find_words(text)
    is_shouted = _find_shouted(text, words)
    known = {
        word.folded
        for word, loud in zip(words, is_shouted, strict=True)
        if word.is_capital and not word.is_first and not loud
    }
    is_name_part = [
        word.is_capital
        and len(word.folded) <= _LONGEST_WORD
        and word.folded not in _NO_NAMES
        and not (loud and word.folded not in known)
        and not (word.is_first and word.folded in function_words)
        for word, loud in zip(words, is_shouted, strict=True)
    ]
    spans, place = [], 0
    while place < len(words):
        if not is_name_part[place]:
            place += 1
            continue
        first, last = words[place], _find_last_word(words, is_name_part, place, particles)
        end = words[last].end
        if last > place or not first.is_first or first.folded in known or (first.is_quoted and _is_closed(text, end)):
            spans.append((first.start, end))
        place = last + 1
    return spans


def _find_words(text: str) -> list[_Word]:
    words: list[_Word] = []
    end = 0
    for match in _WORD.finditer(text):
        gap, word = text[end : match.start()], match.group()
        if words and gap.startswith(".") and _keeps_its_dot(text, words[-1]):
            gap = gap[1:]
        begins = not words or (gap != " " and (bool(_SENTENCE_END.search(gap)) or _begins_a_line(gap)))
        opens = gap[-1:] in _OPENING and bool(gap)
        words.append(
            _Word(
                match.start(),
                match.end(),
                word.casefold().replace("’", "'"),
                is_capital=_is_capital(word),
                is_number=word.isdigit() and len(word) <= _LONGEST_NUMBER,
                is_first=begins or opens,
                is_quoted=opens and not begins and "," not in gap,
                follows=bool(words) and gap.isspace() and gap.count("\n") <= 1,
            )
        )
        end = match.end()
    return words


def _is_capital(word: str) -> bool:
    """Return whether a word begins with a capital or looks like "iPhone"."""
    if word[0].isupper() or word[0].istitle():
        return True
    return word[0].islower() and not word.islower() and any(letter.isupper() for letter in word)


def _begins_a_line(gap: str) -> bool:
    """Return whether the gap ends with a line end and a mark such as a bullet."""
    _, line_end, marks = gap.rpartition("\n")
    return bool(line_end) and bool(marks.strip()) and _LINE_MARKS.issuperset(marks)


def _is_closed(text: str, end: int) -> bool:
    """Return whether a quotation ends at ``end``."""
    return text[end : end + 1] in _CLOSING and end < len(text)


def _keeps_its_dot(text: str, word: _Word) -> bool:
    """Return whether a dot after this word is part of an abbreviation or initial."""
    return word.folded in _ABBREVIATIONS or (
        word.is_capital and word.folded != "i" and bool(_INITIALS.fullmatch(text, word.start, word.end))
    )


def _find_shouted(text: str, words: Sequence[_Word]) -> list[bool]:
    """Return for each word whether its sentence is all capitals and too long for an abbreviation or a short name."""
    loud: list[bool] = []
    start = 0
    for place in range(1, len(words) + 1):
        if place < len(words) and not words[place].is_first:
            continue
        spelt = [text[word.start : word.end] for word in words[start:place] if not word.is_number]
        is_loud = len(spelt) >= _SHOUTED_WORDS and all(word.isupper() for word in spelt)
        loud += [is_loud] * (place - start)
        start = place
    return loud


def _find_last_word(
    words: Sequence[_Word], is_name_part: Sequence[bool], first: int, particles: Collection[str]
) -> int:
    """Return the place of the last word of the name that begins at ``first``."""
    last = first
    while last - first < _MOST_WORDS - 1:
        place, skipped = last + 1, 0
        while skipped < _MOST_PARTICLES and _is_particle(words, place, skipped, particles):
            place, skipped = place + 1, skipped + 1
        if place >= len(words) or not words[place].follows or words[place].is_first:
            break
        if not is_name_part[place] and (skipped or not words[place].is_number):
            break
        last = place
    return last


def _is_particle(words: Sequence[_Word], place: int, before: int, particles: Collection[str]) -> bool:
    if place >= len(words) or not words[place].follows or words[place].is_capital:
        return False
    return words[place].folded in particles or (before > 0 and words[place].folded == "the")
