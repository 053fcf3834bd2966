"""Find the signs that a text speaks of its speaker, of the speaker's relatives or friends, or of a change.

The module knows one text, and neither attribute nor value. English only. Invariant: a sign is a word; no sentence is
taken apart.
"""

from __future__ import annotations

import re

_FIRST_PERSON = re.compile(r"\b(?:(?:i|we)(?:['’]\w+)?|my|mine|our|ours|us|me|myself|ourselves)\b", re.IGNORECASE)
_KIN_WORDS = (
    r"(?:brother|sister|mother|father|mum|mom|dad|parents?|wife|husband|partner|girlfriend|boyfriend|son|daughter|kid|"
    r"child|children|boss|manager|friend|colleague|coworker|cousin|aunt|uncle|nephew|niece|neighbou?r|grand\w+|family|"
    r"roommate|flatmate|buddy|mate)s?"
)
_KIN_FIRST = re.compile(rf"(?:my|our) (?:\w+ )?{_KIN_WORDS}\b", re.IGNORECASE)
_CHANGE = re.compile(
    r"\b(?:now|these days|nowadays|lately|currently|since|instead|anymore|any longer|no longer|again|finally|"
    r"back (?:to|in|on|with)|from (?:now|today|this|next)|as of|for good|so it['’]s|it['’]ll be|new|gone|gave up|"
    r"took over|over to|switch\w*|swap\w*|mov\w+|quit|cancel\w*|drop\w*|chang\w+|replac\w+|turn\w* (?:to|into)|"
    r"left|clos\w+|sold|retired|resigned|start\w*|began|join\w*|ended|finished|died|broke)\b",
    re.IGNORECASE,
)


def is_in_first_person(text: str) -> bool:
    """Return whether a text says I, we, my or our."""
    return bool(_FIRST_PERSON.search(text))


def is_of_kin(text: str) -> bool:
    """Return whether a text begins by naming a relative or friend of its speaker ("My cousin …").

    >>> is_of_kin("My cousin got promoted."), is_of_kin("I met my cousin.")
    (True, False)
    """
    return bool(_KIN_FIRST.match(text))


def change_words(text: str) -> list[str]:
    """Return the words by which a text says that something is so now, or became so.

    >>> change_words("The oven broke, so I cook on a camping stove now.")
    ['broke', 'now']
    """
    return _CHANGE.findall(text)
