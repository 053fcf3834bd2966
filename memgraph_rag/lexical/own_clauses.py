"""Clauses in which a speaker says something of itself, whatever their words, and whether it may hold now.

It knows one text, and neither attribute nor value. English only. Invariant: what is asked, wished, supposed, reported,
denied or over may not hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memgraph_rag.lexical.clauses import Clause, asserts, clauses
from memgraph_rag.lexical.inflection import is_past

__all__ = ["may_hold", "own_clauses"]

_FIRST_PERSON = re.compile(r"\b(?:(?:i|we)(?:['’]\w+)?|my|mine|our|ours|us|me|myself|ourselves)\b", re.IGNORECASE)
_KIN_WORDS = (
    r"(?:brother|sister|mother|father|mum|mom|dad|parents?|wife|husband|partner|girlfriend|boyfriend|son|daughter|kid|"
    r"child|children|boss|manager|friend|colleague|coworker|cousin|aunt|uncle|nephew|niece|neighbou?r|grand\w+|family|"
    r"roommate|flatmate|buddy|mate)s?"
)
_KIN = re.compile(rf"\b(?:my|our) (?:\w+ )?{_KIN_WORDS}\b(?:['’]s?)?", re.IGNORECASE)
_OF_ANOTHER = re.compile(rf"\b(?:my|our) (?:\w+ )?{_KIN_WORDS}['’]|\b(?:her|his|their)\b", re.IGNORECASE)
_OVER = re.compile(
    r"\b(?:was|were|had|did)\b(?!.*\b(?:now|these days|is|am|are)\b)|\bonce\b|\byears? (?:ago|back)\b", re.IGNORECASE
)  # "I was at Bosch and am at Lego" is of now
_NOT = re.compile(r"\b(?:not|never|nor|neither|cannot)\b|n['’]t\b", re.IGNORECASE)
_OF_MIND = re.compile(
    r"\b(?:i|we)(?:['’]\w+)? (?:\w+ly |also |do |just )?(?:(?:like|love|hate|enjoy|watch|talk|wonder|"
    r"admire)(?:s|d|ed)?|read|heard?|saw|see|think|thought|believe|know|knew|dream(?:t|ed)|hope|guess)\b|\bcurious\b",
    re.IGNORECASE,
)  # of such things many hold at a time, or none is a state


def own_clauses(text: str) -> Iterator[Clause]:
    """The clauses with the speaker in them, also as a subject that is left out; not those about its kin alone.

    >>> text = "Moved in with Ann today. My boss lives in Oslo. The keys of Rome are mine! Do I sing?"
    >>> [clause.text for clause in own_clauses(text)]
    ['Moved in with Ann today', 'The keys of Rome are mine']
    """
    for clause in clauses(text):
        first = clause.text.partition(" ")[0].casefold()
        has_no_subject = clause.is_opening and (first.endswith("ing") or is_past(first))
        if has_no_subject or _FIRST_PERSON.search(_KIN.sub("somebody", clause.text)):
            yield clause


def may_hold(clause: str) -> bool:
    """Whether a speaker's own clause may state how something is now: no denial, wish, taste, report, and nothing over.

    >>> may_hold("the keys of Rome are mine"), may_hold("I like Rome"), may_hold("Rome was my home once")
    (True, False, False)
    """
    is_of_now = not any(pattern.search(clause) for pattern in (_OVER, _NOT, _OF_MIND, _OF_ANOTHER))
    return is_of_now and asserts(clause)
