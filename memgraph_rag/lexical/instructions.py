"""Recognise how a speaker wants to be served: instructions ("always answer in metric units") and preferences.

The module knows one clause. English only. Invariant: a single request ("please write me a poem") is neither.
"""

from __future__ import annotations

import re
from typing import Literal

WishKind = Literal["instruction", "preference"]

_SERVE = (
    "answer reply respond use give write call address keep show include avoid explain format speak talk quote "
    "round say "
    "start begin end suggest recommend mention assume add do be tell ask remind translate provide list cite maintain "
    "prefer present describe make stick refer follow convert spell check put highlight summarise summarize break "
    "offer "
    "name state specify present organise organize structure limit skip leave sign greet label number note return help "
    "run commit push merge touch edit install import test build deploy delete rename log mock pin"
)
_VERB = rf"(?:{'|'.join(_SERVE.split())})"
_INSTRUCTION = re.compile(
    rf"(?:please,? |so |and |just )*(?:always|never|from (?:now|here) on,?|in (?:the )?future,?|going forward,?|"
    rf"whenever (?:i|we|you)\b[^,]*,|every time (?:i|we|you)\b[^,]*,|when(?:ever)? (?:i ask|you (?:answer|reply|"
    rf"write|give|show))\b[^,]*,) (?:please )?(?:always |never |do not |don['’]t )?{_VERB}\b.*|"
    rf"(?:please )?{_VERB}\b.{{3,120}}\b(?:from now on|in (?:the )?future|going forward|every time|whenever|"
    rf"at all times|when(?:ever)? i ask|in all (?:your )?(?:answers|replies|responses))\b.*|(?:please )?(?:don['’]t|"
    rf"do not|stop|avoid) (?:ever )?(?:\w+ing|{_VERB})\b.*\b(?:me|to me|with me|emojis?|answers?|replies|responses?|"
    rf"again|anymore|any more)\b.*|i (?:want|need|expect|would like|['’]d like) you to (?:always|never)\b.*",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"(?:i|we)(?:['’]d| would)?(?: always| generally| usually| really| strongly| much| still| definitely| typically|"
    r" tend to| also)* (?:prefer|favou?r)\b(?! not to say)(?P<what>.*)|(?:i|we)(?: really| much)? (?:like|love|"
    r"want) (?:my|our|all|your) (?:\w+ ){0,2}(?:answers?|replies|responses?|code|explanations?|emails?|summar(?:y|"
    r"ies)|docs|documentation|examples?|reports?|coffee|tea|eggs|steak)\b.*|my (?:strong )?preference (?:is|goes to|"
    r"remains)\b.*|(?:i|we) (?:can['’]t|cannot) stand\b.*",
    re.IGNORECASE,
)
_SAYING = re.compile(r"never (?:say never|give up|mind|ask)\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:preferred|used to|back then)\b", re.IGNORECASE)


def find_wish(clause: str) -> WishKind | None:
    """Return the kind of wish that a clause states; None if it states no wish.

    >>> find_wish("Always answer in metric units"), find_wish("I prefer few dependencies"), find_wish("Write me a poem")
    ('instruction', 'preference', None)
    """
    if _INSTRUCTION.match(clause) and not _SAYING.match(clause):
        return "instruction"
    return "preference" if _PREFERENCE.match(clause) and not _PAST.search(clause) else None
