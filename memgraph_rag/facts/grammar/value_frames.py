"""Frames in which people say the value of something of theirs: "I went with Vim as my editor", "Vim is my editor".

The module knows one asserting clause. English only. A frame is a pattern over the clause with ``PLACE`` for the named
thing ("my editor") and a place for the value; its verbs are bases and match all their forms. Invariants: the first
frame with a value counts; a value occurs in the clause word for word.
"""

from __future__ import annotations

import re

from memgraph_rag.facts.grammar.attribute_phrases import PLACE, AttributePhrase, attribute_phrases
from memgraph_rag.facts.grammar.attributes import is_family
from memgraph_rag.facts.grammar.values import is_value, until_end
from memgraph_rag.lexical.inflection import is_past, verb_pattern

__all__ = ["read_value"]

_CHOOSE = verb_pattern("choose pick select settle decide opt go use end wind stick adopt switch change move".split())  # noqa: SIM905
_CHANGE = verb_pattern(
    "change switch swap trade replace update upgrade exchange move migrate convert turn transfer".split()  # noqa: SIM905
)
_GAIN = verb_pattern(["get", "buy", "find", "have", "pick", "adopt", "acquire", "order", "choose", "hire", "meet"])
_NAMING = verb_pattern(["make", "call", "consider", "name", "declare"])
_P = rf"(?:new )?{PLACE}"
_IS = r"(?:['’]s|(?: is| are| became| has become| have become| becomes| remains| stays| has been| have been))"
_CAP = r"(?-i:[A-Z0-9])"
_NAME = rf"{_CAP}[\w'’.-]*(?: {_CAP}[\w'’.-]*)*"
_NO_SUBJECT = (
    "i we it that this there he she they you what which my our not in on at if when who one some his her their new "
    "for as about regarding concerning and but so because"
)
_FIRST = rf"(?P<first>(?!(?:{'|'.join(_NO_SUBJECT.split())})\b|{PLACE})\S+(?: \S+){{0,4}}?)"
_TOPIC = (
    r"(?:(?:when|where|if) (?:it comes to|you (?:ask|wonder|need to know) about|anyone asks about)|"
    r"as (?:for|to|regards|far as)|regarding|concerning|about|re|on|for|with (?:regards?|respect) to|in terms of|"
    r"speaking of|on the (?:subject|topic|matter|question) of)"
)
_VERB_OF_USE = r"(?:that |which |who )?(?:i|we)(?:['’]m|['’]ve)?(?: \w+){1,3}?"

_FRAMES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"^(?:{_TOPIC} )?{_P}(?: is concerned| goes)?(?: \w+)?(?:\s*(?:[,:?–—]+|\s-)+\s*| (?=(?:i|"
        rf"we)\b))(?P<said>.+)",
        rf"\b{_CHANGE} (?:over |out )?{_P}(?: in| over| up| out)?(?: from .+?)?,? (?:to|with|for|into) (?P<value>.+)",
        rf"\b{_CHANGE}(?: over)?(?: from .+?)? to (?P<value>.+?) (?:for|as) {_P}",
        rf"{_P}(?: has| have| was| got)?(?: been)? {_CHANGE} (?:to|with|for|by|into) (?P<value>.+)",
        rf"^{_FIRST}(?: has| have)? (?:replaced|replaces|succeeded|succeeds|superseded|took over from|ousted) {_P}",
        rf"^(?P<said>.+?) (?:as|to be) {_P}",
        rf"^(?P<chosen>.*\b{_CHOOSE}\b.+?) for {_P}",
        rf"\b(?:i|we)(?:['’]m|['’]re| am| are) (?:with|on|at|using) (?P<some>.+?) for {_P}",
        rf"^{_FIRST}{_IS} (?:what (?:i|we)(?:['’]d| would)? (?:call|use as|have as|consider|name|see as|count as) "
        rf")?{_P}",
        rf"^{_FIRST}(?:,| -| –| —)? (?:that|it|this|which|who)(?:['’]s| is) {_P}",
        rf"^{_FIRST}{_IS} (?:the )?{_P} {_VERB_OF_USE}(?:$|[ ,])",
        rf"^(?:the )?{_P} {_VERB_OF_USE}(?: is|['’]s) (?P<value>.+)",
        rf"\b{_GAIN} (?:myself |ourselves |up )?new {PLACE}(?:[,:–—]| -| called| named)+ "
        rf"(?:and )?(?:it['’]s |that['’]s |namely |called |named )*(?P<value>.+)",
        rf"{_P}(?: of choice)?{_IS} (?P<value>.+)",
        rf"\b(?:i|we)\b.* {_NAMING} (?P<value>(?:\w+ ){{0,2}}?\S+) {_P}$",
        rf"{_P}\b.*?,? (?:but |and |so )?(?:now )?(?:it|that)(?:['’]s| is) (?:now )?(?P<value>[^,]+)$",
        rf"{_P}\b.*?, (?P<value>[^,]+?) (?:took|has taken) (?:its|his|her|their) place",
        rf"{_P} (?:goes by|reads|says) (?P<value>.+)",
        rf"new {PLACE},? (?P<value>{_NAME})",
        rf"(?P<value>\b{_NAME}), (?:who is |which is )?new {PLACE}",
        rf"^(?P<value>[^,]{{1,30}}), new {PLACE},",
        rf"^{_P} ?[:=–—] ?(?P<value>.+)",
    )
)
_ADVERBS = r"(?:(?:now|just|currently|recently|finally|still|actually|also|already|officially) )*"
_I = rf"^(?:i|we)(?:['’]ve|['’]m|['’]re)? {_ADVERBS}(?:(?:have|am|are|been|did) {_ADVERBS})*"
_LETTER = r"(?-i:[A-Z])"
_TOWN = rf"(?:the )?{_LETTER}[\w'’&.-]*(?: (?:(?:am|an der|de|del|la|of|on|upon) )?{_LETTER}[\w'’&.-]*)*"

_STATES = tuple(
    (attribute, re.compile(pattern, re.IGNORECASE))
    for attribute, pattern in (
        ("home", rf"{_I}(?:live|lived|living) in (?P<value>{_TOWN})"),
        (
            "home",
            rf"{_I}(?:moved|relocated|(?<=did )(?:move|relocate)) (?:back )?(?:from .+? )?to "
            rf"(?P<value>{_TOWN})\b(?! \d)",
        ),  # not "I moved to Django 4.2"
        ("employer", rf"{_I}(?:work|worked|working) (?:at|for) (?P<value>{_TOWN})"),
        ("employer", rf"{_I}(?:joined|started at) (?P<value>{_TOWN})(?=$|,| (?:as|last|this)\b)"),
        ("job", rf"{_I}(?:work|worked|working) as (?P<value>an? .+)"),
        ("job", rf"{_I}(?:became|become) (?P<value>an? [\w-]+)(?=$|,| (?:last|this)\b)"),
        ("car", rf"{_I}(?:drive|driving) (?P<value>an? (?:[\w-]+ )?{_LETTER}.*)"),
        ("partner", rf"{_I}(?:dating|engaged to|married to) (?P<value>{_TOWN})"),
    )
)
"""What people say of themselves without a name for it: "I live in Oslo" tells their home."""
_AGENT = frozenset("i we you please i've i'm i'd we've we're we'd i’ve i’m i’d let's it's it that's that this".split())  # noqa: SIM905
_HELPERS = frozenset(
    "have had has am are is was were be been will would do did does to myself ourselves just really even".split()  # noqa: SIM905
)
_COPULAS = frozenset(["i'm", "i’m", "we're", "we’re", "it's", "it’s", "that's", "i've", "i’ve", "we've", "we’ve"])
_BASE_FOLLOWS = frozenset(["will", "would", "do", "did", "to", "really", "just"])
_PARTICLES = frozenset("up on with for to in at over by down into onto of back upon it a an the as off".split())  # noqa: SIM905
_ALWAYS_VERBS = frozenset(
    "put note list save mark write record set use take enter register store make name call pick choose".split()  # noqa: SIM905
)
_ELIDED = frozenset(
    """
        moved relocated settled joined switched changed swapped traded replaced upgraded started got bought went
        became found chose picked signed retrained landed decided opted call work live drive use
        """.split()  # noqa: SIM905
)
_WHEN = re.compile(
    r"(?:^|(?<=[\s,]))(?:(?:right )?now|these days|nowadays|currently|at (?:the moment|present)|presently|lately|"
    r"recently|from (?:now|here|today) on(?:wards?)?|as of (?:now|today|late|this \w+|last \w+|\w+day)|for (?:now|"
    r"the time being)|since (?:last |this |early |late )?(?:\w+day|week|month|year|spring|summer|autumn|fall|winter|"
    r"january|february|march|april|may|june|july|august|september|october|november|december|yesterday|then)|(?:last|"
    r"this|earlier this|the other) (?:\w+day|week|weekend|month|year|spring|summer|autumn|fall|winter|morning|"
    r"evening|time|day)|yesterday|today|finally|officially|actually|still|already|basically|permanently|really|(?:a |"
    r"one |two |three |few |couple of |\d+ )+(?:days?|weeks?|months?|years?) ago|anymore|once again|again|by the way|"
    r"for what it['’]s worth|i (?:think|guess|believe|must say|suppose)|in the end|after all)(?=$|[\s,.:;!?])",
    re.IGNORECASE,
)
_PERSON = re.compile(r"\b(?:i|my|me|we|our|us|mine|home|new)\b", re.IGNORECASE)


def read_value(clause: str) -> tuple[str, str] | None:
    """The attribute, in its form, and the value that a clause gives it; None where no frame fits.

    >>> read_value("I live in Oslo these days"), read_value("I ended up choosing Vim for my text editor")
    (('home', 'Oslo'), ('editor', 'Vim'))
    """
    plain = _with_subject(_timeless(clause))
    if not _PERSON.search(plain):
        return None
    topic = _read_state(plain)
    topic = topic if topic and topic[1] in clause else None
    for phrase in attribute_phrases(plain):
        if topic and not is_family(phrase.attribute):
            continue
        if read := _in_frame(phrase, clause):
            return read
    return topic


def _read_state(clause: str) -> tuple[str, str] | None:
    for attribute, pattern in _STATES:
        match = pattern.search(clause)
        value = until_end(match["value"]) if match else ""
        if value and is_value(value, is_family=True):
            return attribute, value
    return None


def _in_frame(phrase: AttributePhrase, clause: str) -> tuple[str, str] | None:
    """What the first frame that fits says of a phrase."""
    is_known = is_family(phrase.attribute)
    for frame in _FRAMES:
        match = frame.search(phrase.clause)
        if match is None or ({"chosen", "some"} & match.groupdict().keys() and not is_known):
            continue  # "Bootstrap for my project" is one of several
        value = _value(match)
        if value and PLACE not in value and value in clause and is_value(value, is_family=is_known):
            is_name = re.search(rf"{PLACE}\S* (?:\w+ )?(?:called|named) ", phrase.clause)
            return (f"{phrase.attribute} name" if is_name else phrase.attribute), value
    return None


def _timeless(clause: str) -> str:
    """A clause without the adverbs of time, which may stand anywhere."""
    plain = re.sub(r"\s+", " ", _WHEN.sub(" ", clause))
    return re.sub(r"\s+(?=[,.:;!?])", "", plain).strip(" ,-–—")


def _with_subject(clause: str) -> str:
    """A clause with the subject that it leaves out: "Moved to Oslo", "Driving a Skoda"."""
    first = clause.split(" ", 1)[0].casefold()
    if first in ("driving", "living", "working", "using", "dating", "eating"):
        return f"i am {clause}"
    return f"i {clause}" if first in _ELIDED else clause


def _value(match: re.Match[str]) -> str:
    """The value of a frame: as it stands, the subject, or the object of what is said."""
    parts = match.groupdict(default="")
    if said := parts.get("said") or parts.get("chosen", ""):
        return until_end(_object(said) or ("" if parts.get("chosen") else _subject(said)))
    return until_end(parts.get("value") or parts.get("first") or parts.get("some", ""))


def _object(said: str) -> str:
    """What stands behind the verbs: "Vim" of "I have ended up choosing Vim"; all of what has no verb in front."""
    words = said.split()
    place = 0
    while place < len(words) and words[place].casefold() in _AGENT | _HELPERS:
        place += 1
    has_agent = place > 0
    first = words[place].casefold() if place < len(words) else ""
    if not has_agent and first not in _ALWAYS_VERBS:
        return "" if _has_verb(words) else said
    before = words[place - 1].casefold() if place else ""
    is_verb = is_past(first) or before in _AGENT - _COPULAS or before in _BASE_FOLLOWS or not has_agent
    if is_verb and first not in _PARTICLES:
        place += 1
    while place < len(words) and (words[place].casefold() in _PARTICLES or re.fullmatch(r"[a-z]+ing", words[place])):
        place += 1
    return " ".join(words[place:])


def _subject(said: str) -> str:
    """What stands before the verbs: "Vim" of "Vim has taken over"."""
    words = said.split()
    if words[0].casefold() in _AGENT:
        return ""
    for place, word in enumerate(words):
        plain = word.casefold()
        if place and (plain in _HELPERS or is_past(plain) or plain in ("takes", "serves", "acts", "works", "counts")):
            return " ".join(words[:place])
    return ""


def _has_verb(words: list[str]) -> bool:
    return any(word.casefold() in _HELPERS or (n and is_past(word.casefold())) for n, word in enumerate(words))
