"""Read attribute and value of a clause in one of a few plain forms: "My bank is Monzo", "I moved to Oslo".

The module knows one asserting clause. English only. Other phrasings give nothing: precision comes before recall.
Invariants: a form begins with the clause, so what others have, and what is only mentioned, gives nothing; the first
form with a value counts; a value occurs in the clause word for word.
"""

from __future__ import annotations

import re

from memgraph_rag.facts.attributes import attribute_form, has_many_values, is_known_attribute
from memgraph_rag.facts.values import cut_phrase, is_value

_MOST_ATTRIBUTE = 40  # characters
_ADVERBS = r"(?:(?:now|just|currently|recently|finally|still|actually|also|already|officially) )*"
_NOW = r"(?: (?:now|currently|again|these days))?"
_LETTER = r"(?-i:[A-Z])"
_NAME = rf"(?:the )?{_LETTER}[\w&.-]*(?: (?:(?:am|an der|de|del|la|of|on|upon) )?{_LETTER}[\w&.-]*)*\b(?!['’])"
_I = rf"^(?:i|we)(?:['’]ve|['’]m|['’]re)? {_ADVERBS}(?:(?:have|am|are|been|did) {_ADVERBS})*"
_THING = r"(?:my|our) (?P<thing>[\w+#-]+(?: [\w+#-]+){0,3}?(?:['’]s? name)?)"
_CHANGED = r"(?:changed|switched|swapped|replaced|upgraded)"

_NO_JOB = (
    r"(?:(?:grand)?(?:father|mother|parent)|dad|mum|mom|uncle|aunt|widow|widower|fan|member|citizen|resident|believer|"
    r"vegetarian|vegan|runner|millionaire|team|couple|favou?r)"
)

_THINGS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^{_THING}(?: is| are|(?<=name)['’]s){_NOW}(?P<named> called| named)? (?P<value>.+)",
        rf"{_I}{_CHANGED} {_THING}(?: over)?(?: from .+?)? (?:to|with|for) (?P<value>.+)",
        rf"{_I}(?:use|using) (?P<value>[^,]+?) as {_THING}{_NOW}$",
        rf"^(?P<value>(?!\w+ing\b)[^\s,'’]+(?: [^\s,'’]+){{0,3}}?) is {_ADVERBS}{_THING}{_NOW}$",
    )
)
_STATES = tuple(
    (attribute, re.compile(pattern, re.IGNORECASE))
    for attribute, pattern in (
        ("home", rf"{_I}(?:live|lived|living) in (?P<value>{_NAME})"),
        (
            "home",  # not "I moved to Django 4.2"
            rf"{_I}(?:moved|relocated|(?<=did )(?:move|relocate)) (?:back )?(?:from .+? )?to "
            rf"(?P<value>{_NAME})(?! \d)",
        ),
        ("employer", rf"{_I}(?:work|worked|working) (?:at|for) (?P<value>{_NAME})"),
        ("employer", rf"{_I}joined (?P<value>{_NAME})(?= (?:as an?|(?:this|last) (?:week|month|year|\w+er))\b)"),
        ("employer", rf"{_I}started at (?P<value>{_NAME})(?=$|,| (?:as|last|this)\b)"),
        ("job", rf"{_I}(?:work|worked|working) as (?P<value>an? (?!{_NO_JOB}\b).+)"),
        ("job", rf"{_I}became (?P<value>an? (?!{_NO_JOB}\b)[\w-]+)(?=$|,| (?:last|this)\b)"),
        ("car", rf"{_I}(?:drive|driving) (?P<value>an? (?:[\w-]+ )?{_LETTER}.*)"),
        ("partner", rf"{_I}(?:dating|engaged to|married to) (?P<value>{_NAME})"),
    )
)
"""What people say of themselves without naming it: "I live in Oslo" tells their home."""
_NO_NAME = re.compile(
    r"\b(?:of|to|in|at|for|from|with|on|about|by|as|and|or|but|that|which|who|is|are|was|were|not|i|we|you|it|my|our|"
    r"there|here|now|then|only|one|next|future|dream|ideal|first|second|last|late|least|other|work|character)\b|"
    rf" {_LETTER}",
    re.IGNORECASE,
)  # "my trip to Rome", "my dream car", "my friend Rachel"
_BEINGS = frozenset(
    """
        partner boss manager supervisor mentor teacher tutor coach trainer doctor dentist therapist physiotherapist vet
        lawyer accountant hairdresser barber landlord landlady roommate flatmate babysitter nanny pet dog cat hamster
        """.split()  # noqa: SIM905
)
"""People and animals, whose value is a name: "my wife is vegan" tells no value."""
_NATION = re.compile(r"\w+(?:ish|ian|ese|can|ench|erman|utch|iss)$")


def read_value(clause: str) -> tuple[str, str] | None:
    """Return the attribute, in its form, and the value that a clause gives it; None if no form fits.

    >>> read_value("I live in Oslo these days"), read_value("My dog is called Rex"), read_value("Vim is my editor")
    (('home', 'Oslo'), ('dog name', 'Rex'), ('editor', 'Vim'))
    """
    for pattern in _THINGS:
        if (match := pattern.search(clause)) and (read := _read_thing(match)):
            return read
    for attribute, pattern in _STATES:
        if (match := pattern.search(clause)) and is_value(value := cut_phrase(match["value"]), is_known=True):
            return attribute, value
    return None


def _read_thing(match: re.Match[str]) -> tuple[str, str] | None:
    """Return attribute and value of a match; None if the thing may have several values, or if the value is no value."""
    thing, value = match["thing"], cut_phrase(match["value"])
    attribute = attribute_form(thing)
    if not attribute or len(attribute) > _MOST_ATTRIBUTE or has_many_values(attribute) or _NO_NAME.search(thing):
        return None
    is_being = attribute in _BEINGS
    is_known = is_known_attribute(attribute) and not is_being
    if not is_value(value, is_known=is_known) or (is_being and _NATION.fullmatch(value)):
        return None
    return (f"{attribute} name" if match.groupdict().get("named") else attribute), value
