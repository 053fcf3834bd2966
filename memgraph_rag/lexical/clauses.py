"""Split sentences into clauses, and tell whether a clause asserts something: "If I lived in Rome" does not.

The module knows one text. English only. Invariants: clauses are spans of the text, in order, and do not overlap; the
work is linear in the text's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence with its own subject.

    Attributes:
        text: the clause without its lead ("By the way,") and its end mark.
        start, end: the place in the text of a quotable part: the whole sentence, or the clause of a long sentence.
        is_opening: whether the clause begins its sentence.
    """

    text: str
    start: int
    end: int
    is_opening: bool = True


_MOST_SENTENCE = 1_000  # characters: a longer sentence is a list or code
_MOST_CLAUSE = 300
_SENTENCE = re.compile(
    r"[^.!?\n;]*(?:(?:(?<=\bDr)\.|(?<=\bMr)\.|(?<=\bMs)\.|(?<=\bSt)\.|(?<=\bMrs)\.|[.!?](?!\s|"
    r"$))[^.!?\n;]*)*[.!?;\n]*"
)
_ABOUT_ME = r"(?=(?:i|i'm|i’m|i've|i’ve|i'd|i’d|my|we|we're|we've|our|never|not once|always|please)\b)"
_JOINT = re.compile(
    r"(?<!\bno)(?<!\bnope)(?<!\byes)(?<!\bsure)(?<!\bsure,)(?:,? (?:and|but|so|though|although|because|since|"
    r"especially since|considering(?: that)?|given(?: that)?|while|"
    rf"whereas|yet|plus) {_ABOUT_ME}|, {_ABOUT_ME}(?!(?:my|our) (?:brand[- ])?new)|[:–—] ?{_ABOUT_ME}| - "
    rf"{_ABOUT_ME}|, (?:can|could|would) you\b)",
    re.IGNORECASE,
)
_SETTING = re.compile(
    r"[\s*_>-]*(?:(?:so|and|but|well),? )?(?:when(?:ever)?|every time|from (?:now|here) on|going forward|"
    r"as (?:for|to|regards|far as)|for|about|regarding|concerning|on|with|in|speaking of|after|"
    r"if (?:you|anyone) asks? about)\b[^,]*",
    re.IGNORECASE,
)  # words of a clause before its subject
_NAME_ALONE = re.compile(r"\s*[A-Z]\w+")  # "Ann and I got married" is one clause
_LEAD = re.compile(
    r"[\s*_>\"“”'‘-]*(?:(?:well|so|btw|by the way|actually|oh|hey|hi|hello|update|news|good news|"
    r"big news|small update|fyi|honestly|guess what|"
    r"you know(?: what)?|believe it or not|to be honest|truth be told|these days|nowadays|currently|now|right now|"
    r"at the moment|at present|as of (?:today|now|this \w+)|finally|okay|ok|yes|yeah|yep|no(?! longer)|nope|also|and|"
    r"but|lately|recently|anyway|in fact|as you know|just so you know|for the record|to be clear|i think|i believe|"
    r"i guess|"
    r"i['’]d say|i would say|quick update|correction|sorry|funny thing|"
    r"since (?:last |this )?\w+|this (?:week|month|year|morning|evening|spring|summer|autumn|fall|winter)|(?:a |one |"
    r"two |three |some |few )+(?:days?|weeks?|months?|years?) ago|on \w+day(?: (?:morning|evening|night|afternoon))?|"
    r"last \w+|yesterday|today|remember(?: that)?|please note(?: that)?|note(?: that)?|(?!my\b|our\b|i\b|we\b|new\b|"
    r"current\b)[a-z]+(?: (?!my\b|our\b|i\b|we\b|is\b)[\w']+){0,2}:(?= )|just so (?:we['’]re clear|you know)|"
    r"turns out|(?:after|before|since) [\w' ]{2,30}(?=, )|i should (?:mention|say)(?: that)?|did i (?:tell|"
    r"mention)(?: to)?(?: you)?(?: that)?|i forgot to (?:say|mention)(?: that)?|it turns out(?: that)?|you (?:should|"
    r"may|might) know(?: that)?|(?:just )?(?:wanted to )?let you know(?: that)?|"
    r"happy to (?:say|report)(?: that)?|i can (?:say|tell you)(?: that)?)(?!\w)[\s,:!–—-]*)*",
    re.IGNORECASE,
)
_FICTION = (
    r"(?:my|our|the|an?|this|that|his|her|their|one) (?:[\w-]+ ){0,2}?(?:novel|story|game|dreams?|nightmare|book|film|"
    r"movie|play|screenplay|script|poem|song|comic|campaign|role-?play|simulation|fantasy|fan-?fic\w*|scenario|mind|"
    r"thought experiment)"
)
_UNCERTAIN = re.compile(
    r"\b(?:would|wouldn['’]?t|might|maybe|perhaps|if|unless|wish|hope|hoping|could|couldn['’]?t|should|shouldn['’]?t|"
    r"(?:i|we) used to|used to be|going to|gonna|plan|plans|planning|planned|(?:thinking|thought|think|dream|dreaming|"
    r"dreamt|dreamed) (?:of|about)|want|wants|wanted|considering|let's|imagine|suppose|suggest(?:ed|s)?|"
    r"recommend(?:ed|s)?|tempted|almost|nearly|hypothetically|supposedly|as though|pretend(?:ing|ed)?|"
    r"no longer|any ?more|back then|previously|formerly|in those days|was going|were going|ought|"
    r"will|i['’]ll|we['’]ll|tomorrow|soon|next (?:week\w*|month|year|\w+day)|as a joke|"
    r"just (?:kidding|joking)|shall|trying to|try to|need to|needs to|"
    r"looking (?:for|to)|can(?:'t|’t|not) decide|dreamed|dreamt)\b|"
    rf"^in {_FICTION}(?:,|(?= (?:i|we|my|our)\b))|^sure,? and\b|"
    r"(?:\bnot|n['’]t|\bnever|\bhardly) (?:true|correct|right|the case) that\b|"
    r"\b(?:false|wrong|untrue|an? (?:lie|joke|myth|mistake|rumou?r|misunderstanding)) that\b|"
    r"\b(?:i['’]d|we['’]d)\b(?! (?:been|never|always|rather))",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"^(?!(?:i|we|my|our|if)\b)[\w'’ -]{1,40}? (?:said|says|told|tells|claims?|claimed|thinks?|asked|asks|mentioned|"
    r"insists?|believes?|reckons?|swears?|wrote|writes|heard|hears) (?:me |us |him |her |them )?",
    re.IGNORECASE,
)

_NOT_NOW = re.compile(
    r"\bin (?:19|20)\d\d\b|\bwhen (?:i|we) (?:was|were)\b|\bas an? (?:child|kid|boy|girl|teen\w*|baby|toddler)\b|"
    r"\bin (?:my|our) (?:childhood|youth|teens|twenties)\b|\b(?:on|during) (?:holiday|vacation|business|"
    rf"a (?:\w+ )?trip)\b|\bin {_FICTION}$|"
    r"\bfor (?:(?:an?|the|one|two|three|four|five|six|some|few|couple of|\d+) )+(?:nights?|days?|weeks?|weekends?|"
    r"fortnight|holidays?|summer|winter|semester)\b|"
    r"\b(?:i|we) (?:lived|resided|dwelt|dwelled|stayed|worked|served|drove|owned|dated|(?:was|were) (?:living|residing|"
    r"staying|working|driving|dating))\b|"  # a state that is over
    r"^(?:my|our) (?:old|former|previous|ex)\b[^,]*?(?:['’]s| is| are)\b(?!.*\b(?:replac|swap|exchang|upgrad|chang))",
    re.IGNORECASE,
)
_UP_TO_NOW = re.compile(r"\b(?:have|has|still|now|since)\b|['’]ve\b", re.IGNORECASE)


def clauses(text: str) -> Iterator[Clause]:
    """Yield the clauses of a text, in order, without questions.

    A sentence of more than 1,000 characters and a clause of more than 300 characters are left out.

    >>> [clause.text for clause in clauses("Hi! I moved to Oslo, and my dog's name is Rex. Do I live well?")]
    ['I moved to Oslo', "my dog's name is Rex"]
    """
    for first, end in _find_sentences(text):
        quoted = (first, end) if end - first <= _MOST_CLAUSE else None
        start = first
        for joint in _JOINT.finditer(text[first:end]):
            before = text[start : first + joint.start()]
            if _SETTING.fullmatch(before) or (_NAME_ALONE.fullmatch(before) and joint[0].strip() == "and"):
                continue
            yield from _make_clause(text, start, first + joint.start(), quoted, is_opening=start == first)
            start = first + joint.end()
        yield from _make_clause(text, start, end, quoted, is_opening=start == first)


def _find_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of sentences."""
    for sentence in _SENTENCE.finditer(text):
        if sentence[0].strip() and len(sentence[0]) <= _MOST_SENTENCE:
            yield sentence.span()


def _make_clause(
    text: str, start: int, end: int, quoted: tuple[int, int] | None, *, is_opening: bool
) -> Iterator[Clause]:
    raw = text[start:end]
    plain = _LEAD.sub("", raw, count=1).strip().rstrip(".!;, ")
    if plain and len(plain) <= _MOST_CLAUSE and not raw.rstrip().endswith("?"):
        yield Clause(plain, *(quoted or (start, end)), is_opening)


def asserts(clause: str) -> bool:
    """Return whether a clause states something as a fact of the speaker's own.

    It does not if it has an English sign of a wish, a supposition, a plan, a past habit, or another person's words.

    >>> asserts("I live in Rome"), asserts("I might move to Rome"), asserts("Tom told me that Rome is my home")
    (True, False, False)
    """
    return not _UNCERTAIN.search(clause) and not _REPORTED.match(clause)


def is_of_now(clause: str) -> bool:
    """Return whether what a clause states may be true now: it has no sign of a past time, a short stay, a former thing.

    A word such as "still", "now", "since" or "have" outweighs these signs.

    >>> is_of_now("I moved to Rome"), is_of_now("I lived in Rome"), is_of_now("My old phone is a Nokia")
    (True, False, False)
    """
    return not _NOT_NOW.search(clause) or bool(_UP_TO_NOW.search(clause))
