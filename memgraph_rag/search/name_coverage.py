"""Check which names of a question occur in texts, so that texts about something similar are not taken for evidence.

The module knows names and words only; the caller finds the names. Invariants: a question that is not English has no
names, because capitals may mean something else there; a text also holds a name that it spells a little differently
(accents, hyphens, one typing error in a longer word).

A text about one film is near in meaning to a question about another film, but does not hold the other film's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice

from memgraph_rag.lexical.name_similarity import drop_title
from memgraph_rag.lexical.tokenize import STOP_WORDS, WORD, remove_accents, words
from memgraph_rag.search.spelling import bare, find_nearest_word, replace_words

_ENGLISH = frozenset("the what which who whose whom when where why how did does".split())  # noqa: SIM905
_ABBREVIATION = re.compile(r"\b[A-Z\d]{1,4}s?\b")  # texts may write out "CEO" and "USA"
_BETWEEN_NAMES = re.compile(r"\b(?:or|and)\b")
_LONG_WORD = 5  # letters; in such a word one letter may be wrong
_SLIP = 2  # largest difference in length between a word and its misspelling
_ALIKE = 0.85
_MOST_COMPARED, _MOST_WRITINGS = 1000, 8  # words
_MOST_NAMES = 32


def select_checked_part(question: str) -> str:
    """Return the part of a question whose names are checked; empty if the question is not English.

    A question is English if this part has a question word or "the". The text after the last question mark is dropped,
    because it may list choices. Without a question mark only the first line counts. Abbreviations are dropped. "and"
    and "or" become commas, so that two names next to each other stay two names.
    """
    asked, mark, _ = question.rpartition("?")
    text = asked + mark if mark else question.partition("\n")[0]
    return _BETWEEN_NAMES.sub(",", _ABBREVIATION.sub(" ", text)) if _ENGLISH.intersection(words(text)) else ""


def check_names(names: Iterable[str], texts: Sequence[str]) -> dict[str, bool]:
    """Return for each name (in normal form), in order, whether one of the texts holds it.

    A text holds a name as a whole, or by all its words, in any order, without titles and initials. Accents, signs
    between letters and one slip in a longer word do not matter. Names without such words are left out, and all names
    after the first 32.
    """
    lowered = [remove_accents(text).lower() for text in texts]
    passages = [(text, frozenset(words(text))) for text in lowered]
    known = sorted(frozenset().union(*(text_words for _, text_words in passages)))
    names_and_words = {name: words(remove_accents(drop_title(name))) for name in islice(names, _MOST_NAMES)}
    asked = {name: [*filter(_is_distinctive, name_words)] for name, name_words in names_and_words.items()}
    patterns = {name: _make_pattern(name) for name, wanted in asked.items() if wanted}
    spellings = {word: _similar_words(word, known) for wanted in asked.values() for word in wanted}
    return {
        name: any(
            bool(pattern.search(text)) or all(spellings[word] & text_words for word in asked[name])
            for text, text_words in passages
        )
        for name, pattern in patterns.items()
    }


def correct_name(name: str, texts: Sequence[str]) -> str:
    """Return a name as the texts spell it, if it is misspelt in the question.

    Empty if the texts hold every word of the name, or hold no similar word for one of its other words (initials and
    stop words aside). Words that the texts write in lower case do not count. The words may stand in different texts.

    >>> correct_name("Jens Petersson", ["Ask Jens Petersen."])
    'Jens Petersen'
    """
    written = {bare(word): word for text in texts for word in WORD.findall(text) if not word.islower()}
    near = {word: find_nearest_word(word, written) for word in map(bare, WORD.findall(name)) if word not in written}
    spelt = replace_words(name, {word: written[other] for word, other in near.items() if other})
    return spelt if near and all(near[word] for word in near if _is_distinctive(word)) and spelt != name else ""


def _make_pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of a name in one piece, ignoring signs between letters: "Wi-Fi" equals "wifi"."""
    letters = r"[\W_]*".join(filter(str.isalnum, remove_accents(name)))
    return re.compile(rf"(?<!\w){letters}(?!\w)")


def _is_distinctive(word: str) -> bool:
    """Return whether a word is more than an initial or a stop word."""
    return word not in STOP_WORDS and (len(word) > 1 or not word.isascii())


def _similar_words(word: str, known: Sequence[str]) -> frozenset[str]:
    """Return a word and, if it is long, the known words that look like it and begin with the same letter."""
    if len(word) < _LONG_WORD:
        return frozenset((word,))
    like = (other for other in known if other[0] == word[0] and abs(len(other) - len(word)) <= _SLIP)
    return frozenset((word, *get_close_matches(word, islice(like, _MOST_COMPARED), _MOST_WRITINGS, _ALIKE)))
