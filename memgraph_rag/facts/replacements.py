"""Read two values from one clause, the former and its replacement: "I switched from Vim to Zed".

The module knows one clause. English only. Invariants: both values occur in the clause word for word and are both
written as names, or both not; a clause about a journey ("I drove from Bonn to Berlin") or about another person gives up
nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memgraph_rag.facts.values import cut_phrase, is_name_like, is_value


@dataclass(frozen=True, slots=True)
class Replacement:
    """A value that the speaker gave up (``former``), and the one that took its place (``value``, empty if unknown).

    Attributes:
        now: the clause as it would be said of the new value alone, by which its attribute may be read.
        is_of_thing: whether the clause names what is replaced ("my phone"), so that nothing else can be meant.
    """

    former: str
    value: str
    now: str
    is_of_thing: bool


_ENDING = r"(?:e|ed|es|ing|s)?"
_MOVE = rf"(?:switch|chang|mov|migrat|upgrad|transferr?|convert){_ENDING}"
_LEAVE = rf"(?:(?:dropp?|ditch|leav|abandon|dump|swapp?|trad|exchang){_ENDING}|left|quit(?:s|ting)?)"
_REPLACE = rf"replac{_ENDING}"
_ADVERBS = r"(?:(?:just|finally|also|recently|already|now|officially|completely|only|since) )*"
_I = rf"(?:^|\b(?:i|we)(?:['’]ve| have|['’]m| am|['’]re| are)? {_ADVERBS})"
_THING = r"(?P<thing>(?:my|our) [\w'’ -]+? )?"
_SWITCHED = rf"(?:i|we)(?:['’]ve| have)? {_ADVERBS}(?:switched|changed) to"
_NOW = rf"(?:(?:now|it['’]s|it is|instead|but|rather|{_SWITCHED})[ ,]+)*"
_NAME = r"(?-i:[A-Z\d+])"
_STOPPED = r"(?:any ?more|any longer)"
_PLACED = r"(?:with|at|on|using|in|for|as)"
_USE = r"(?:use|drive|ride|drink|eat|play|wear|read|speak|go to|work with|bank with|learn|support)"

_REPLACED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_I}(?:{_MOVE}(?: over| away)?|(?:went|gone) over|jumped ship) {_THING}from (?P<former>.+?) to "
        rf"(?P<value>.+)",
        rf"{_I}(?:(?:gave|given|giving) up|{_LEAVE}) (?P<former>[^,]+?) (?:for|in favou?r of) (?P<value>.+)",
        rf"{_I}(?:traded|trading) in (?P<former>[^,]+?) for (?P<value>.+)",
        rf"{_I}{_REPLACE} (?P<former>[^,]+?) (?:with|by) (?P<value>.+)",
        rf"\b(?:i|we)(?: now)? {_USE} (?P<value>[^,]+?) instead of (?P<former>.+)",
        r"\b(?:i['’]m|i am|we['’]re|we are)(?: now)? (?:with|using|driving|learning|playing) (?P<value>[^,]+?) "
        r"instead of (?P<former>.+)",
        rf"^no longer (?P<former>[^,]+?)(?:[,;:–—]| but)+ (?=now\b|but\b|it\b|instead\b){_NOW}(?P<value>.+)",
        rf"^not (?P<former>[^,]+?) {_STOPPED}(?:[,;:–—]| but)+ {_NOW}(?P<value>.+)",
        rf"^(?:i['’]m|i am|we['’]re|we are) no longer (?:with|on|using|driving) (?P<former>[^,]+?)(?:,| but)+ "
        rf"{_NOW}(?:with |on |using |driving )?(?P<value>.+)",
        rf"^(?:i|we) no longer (?P<verb>{_USE}) (?P<former>[^,]+?), (?:but )?(?:i|we) (?:now )?(?P=verb) (?P<value>.+)",
    )
)
_NO_LONGER = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^(?P<head>(?:my|our)\b.*? is|(?:i['’]m|i am|we['’]re|we are)(?! (?:no longer|not) (?:with|on|using|"
        rf"driving)\b))(?: no longer (?P<former>[^,]+?)|(?: not|n['’]t) "
        rf"(?P<other>[^,]+?) {_STOPPED})(?:[,;–—]| but)+ {_NOW}(?P<value>.+)",
        rf"^(?P<head>(?:i|we)) (?:no longer (?P<former>[^,]+?)|(?:do not|don['’]t) (?P<other>[^,]+?) {_STOPPED})"
        rf",? but {_NOW}(?P<value>.+)",
        rf"^(?P<head>(?:my|our)\b.*? is)(?: not|n['’]t) (?P<former>{_NAME}[^,]*?)(?P<other>)(?: but |, (?=it\b)){_NOW}"
        rf"(?P<value>{_NAME}.+)",  # "my phone is not the problem, it's the charger" corrects nothing
    )
)
_INSTEAD = re.compile(r" instead of (?P<former>[^,]+)", re.IGNORECASE)
_OLD = re.compile(r"^(?:(?:my|our) (?:(?:old|former|previous) )*|the (?:(?:old|former|previous) )+)", re.IGNORECASE)
_VERB_AND_PLACE = re.compile(rf"^(?P<verb>.*?\b(?:{_PLACED}|{_USE}) )?(?P<former>[^ ].*)$", re.IGNORECASE)
_PLACE = re.compile(rf"^{_PLACED} ", re.IGNORECASE)


def find_replacement(clause: str) -> Replacement | None:
    """Return the former value and its replacement that a clause names; None if the clause names no replacement.

    >>> find_replacement("I gave up the flute for the cello")
    Replacement(former='the flute', value='the cello', now='I gave up the flute for the cello', is_of_thing=False)
    >>> find_replacement("I no longer live in Oslo but in Bergen")
    Replacement(former='Oslo', value='Bergen', now='I live in Bergen', is_of_thing=True)
    >>> find_replacement("I drove from Bonn to Berlin")
    """
    for pattern in _NO_LONGER:
        if (match := pattern.search(clause)) and (told := _parse_stopped(match)):
            return told
    for pattern in _REPLACED:
        if match := pattern.search(clause):
            is_of_thing = bool(match.groupdict().get("thing"))
            return _make_replacement(match["former"], match["value"], clause, is_of_thing=is_of_thing)
    match = _INSTEAD.search(clause)
    return _make_replacement(match["former"], "", clause, is_of_thing=True) if match else None


def _parse_stopped(match: re.Match[str]) -> Replacement | None:
    """Return what "my bank is no longer X but Y" and "I no longer work for X but for Y" say."""
    parts = _VERB_AND_PLACE.match(match["former"] or match["other"])
    head = match["head"]
    if parts is None or (head.casefold() in ("i", "we") and not parts["verb"]):
        return None
    value = _PLACE.sub("", match["value"])
    return _make_replacement(parts["former"], value, f"{head} {parts['verb'] or ''}{value}", is_of_thing=True)


def _make_replacement(former: str, value: str, now: str, *, is_of_thing: bool) -> Replacement | None:
    """Return the two values without the words that follow them; None if one of them can be no value."""
    former, value = cut_phrase(_OLD.sub("", former)), cut_phrase(_OLD.sub("", value))
    if not is_value(former, is_known=True) or (value and not is_value(value, is_known=True)):
        return None
    if value and is_name_like(former) != is_name_like(value):
        return None  # "I left Bosch for lunch"
    return Replacement(former, value, now, is_of_thing)
