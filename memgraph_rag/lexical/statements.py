"""What people say of themselves, by rules: attribute and value of a sentence such as "I live in Berlin now".

It knows one text, no speaker and no time. English only. Invariants: a value stands in the text, word for word; what is
asked, wished, supposed or long over states nothing; the work is linear in the text's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from memgraph_rag.lexical.attributes import attribute_form

__all__ = ["Statement", "StatementKind", "event_form", "may_state", "statements"]

StatementKind = Literal["value", "event", "instruction"]


@dataclass(frozen=True, slots=True)
class Statement:
    """An attribute and its value; ``[start, end)`` is the sentence in the text.

    ``kind`` is "value" (one holds at a time), "event" (something was done, or never: value "yes" or "never") or
    "instruction" (how the speaker wants to be served).
    """

    attribute: str
    value: str
    kind: StatementKind
    start: int
    end: int


_MOST_SENTENCE = 400  # characters: a longer one is prose, or a list
_MOST_VALUE, _MOST_ATTRIBUTE = 80, 40  # characters
_SENTENCE = re.compile(
    r"[^.!?\n;]*(?:(?:(?<=\bDr)\.|(?<=\bMr)\.|(?<=\bMs)\.|(?<=\bSt)\.|(?<=\bMrs)\.|[.!?](?!\s|$))[^.!?\n;]*)*[.!?;\n]*"
)

_LEAD = re.compile(
    r"\s*(?:(?:well|so|btw|by the way|actually|oh|hey|hi|hello|update|news|good news|big news|small update|fyi|"
    r"honestly|"
    r"these days|nowadays|currently|now|right now|at the moment|at present|as of (?:today|now|this \w+)|finally|"
    r"okay|ok|"
    r"yes|yeah|no|also|and|but|lately|anyway|in fact|as you know|just so you know|for the record|to be clear|"
    r"quick update|correction|sorry|funny thing|since (?:last |this )?\w+|from (?:now|today) on|this \w+|last \w+|"
    r"yesterday|today|remember(?: that)?|please note(?: that)?|note(?: that)?|i should mention(?: that)?|"
    r"did i tell you(?: that)?|i forgot to (?:say|mention)(?: that)?|it turns out(?: that)?)\b[\s,:!–—-]*)*",
    re.IGNORECASE,
)
_ADVERB = (
    r"(?:(?:now|currently|actually|just|recently|finally|also|already|really|mostly|officially|permanently|"
    r"nowadays|presently|today|still|basically|have|'ve|’ve) )*"
)
_I = r"(?:i|we)(?:'ve|’ve| have)? "
_AM = r"(?:i'm|i’m|i am|we're|we’re|we are) "
_VALUE = r"(?P<value>.+)"
_ATTRIBUTE = r"(?P<attribute>[\w'’+#-]+(?: [\w'’+#-]+){0,4}?)"
_IS = r"(?: is|'s|’s| are)"

_RULES: tuple[tuple[str | None, str], ...] = (
    ("home", rf"{_I}{_ADVERB}(?:live|reside) {_ADVERB}(?:in|at|on) {_VALUE}"),
    ("home", rf"{_AM}{_ADVERB}(?:living|based|residing|settled) {_ADVERB}(?:in|at) {_VALUE}"),
    (
        "home",
        rf"{_I}{_ADVERB}(?:moved|relocated|settled)(?: back| over| down| up| out| house)*(?: from [\w ]+?)?"
        rf" (?:to|in|into) {_VALUE}",
    ),
    ("job", rf"{_I}{_ADVERB}work {_ADVERB}as {_VALUE}"),
    ("job", rf"{_AM}{_ADVERB}(?:working|employed) {_ADVERB}as {_VALUE}"),
    ("job", rf"{_I}{_ADVERB}(?:became|become) (?P<value>an? .+)"),
    ("employer", rf"{_I}{_ADVERB}work {_ADVERB}(?:at|for) {_VALUE}"),
    ("employer", rf"{_AM}{_ADVERB}(?:working|employed) {_ADVERB}(?:at|for|with|by) {_VALUE}"),
    (
        "employer",
        rf"{_I}{_ADVERB}(?:joined|started (?:working |a (?:new )?job |my new job )?(?:at|with|for)|"
        rf"(?:got|took) a (?:new )?job (?:at|with)|got hired by) {_VALUE}",
    ),
    ("car", rf"{_I}{_ADVERB}drive {_VALUE}"),
    ("partner", rf"{_AM}{_ADVERB}(?:dating|married to|engaged to|seeing) {_VALUE}"),
    ("name", rf"(?:please )?call me {_VALUE}"),
    (
        None,
        rf"{_I}{_ADVERB}(?:changed|switched|updated|replaced|swapped) (?:my|our) {_ATTRIBUTE}(?: from .+?)?"
        rf" (?:to|with|for) {_VALUE}",
    ),
    (
        None,
        rf"{_I}{_ADVERB}(?:switched|changed|moved)(?: over)?(?: from .+?)? to (?P<value>.+?) (?:for|as) (?:my|our) "
        r"(?P<attribute>.+)",
    ),
    (None, rf"(?:my|our) {_ATTRIBUTE}{_IS} {_ADVERB}(?:called |named )?{_VALUE}"),
    (None, r"(?P<value>\S+(?: \S+){0,6}?) (?:is|are) (?:now |currently )?(?:my|our) (?P<attribute>.+)"),
)
_COMPILED = tuple((attribute, re.compile(pattern, re.IGNORECASE)) for attribute, pattern in _RULES)

_NEVER = re.compile(
    r"i(?:'ve|’ve| have| did| had)?(?:n't|n’t| not)? (?P<not>never|not ever|not once|ever) (?P<did>.+)", re.IGNORECASE
)
_NOT_ONCE = re.compile(r"i (?:did not|didn't|didn’t|have not|haven't|haven’t) (?P<did>.+)", re.IGNORECASE)
_DID = re.compile(
    r"(?P<did>i(?:'ve|’ve| have)? (?:\w+ed|went|been|ate|drank|saw|met|bought|took|wrote|rode|drove|flew|swam|ran|sang|"
    r"tried|sold|broke|gave|won|lost|made|did|had|read|held|spoke|taught|climbed) .+)",
    re.IGNORECASE,
)
_INSTRUCTION = re.compile(
    r"(?:please )?(?:always|never|from now on,?|in future,?|going forward,?) (?:please )?"
    r"(?:answer|reply|respond|use|give|write|call|address|keep|show|include|avoid|explain|format|speak|talk|"
    r"quote|round|"
    r"say|start|end|suggest|recommend|mention|assume|add|do|be|tell|ask|remind|translate)\b.*"
    r"|i(?:'d| would)? (?:always |strongly )?prefer .*|please (?:don't|do not|avoid|stop|always|never) .*",
    re.IGNORECASE,
)
_PRONOUNS = frozenset("it that this which what he she they these those there who here where i we you".split())  # noqa: SIM905
_NO_VALUE = re.compile(r"(?:not|n't|n’t|no longer|never|when|if|what|that|why|how|because)\b", re.IGNORECASE)
_UNCERTAIN = re.compile(
    r"\b(?:would|wouldn't|might|maybe|perhaps|if|wish|hope|could|should|used to|going to|gonna|plan|planning|"
    r"thinking of|"
    r"want to|dream)\b",
    re.IGNORECASE,
)
_END = re.compile(
    r"\s*(?:[,;:(–—]|\s-\s|\bbut\b|\bbecause\b|\bsince\b|\bafter\b|\binstead\b|\bwhich\b|\bwhere\b|\bwhile\b|\bso\b|"
    r"\bas of\b|\bwith my\b|\bwith our\b|\brather than\b|\bnot\b|\band (?:i|it|we|my|the)\b|\bnow that\b|"
    r"\bfor the time\b|\bthese days|\bright now|\bat the moment|\bat present|\bnowadays|\bany ?more|"
    r"\bfrom now on|\bfor now|\bagain\b|"
    r"\bthis (?:week|month|year|spring|summer|autumn|fall|winter)|\blast (?:week|month|year)|\bcurrently|"
    r"\bnow\b(?! \w)|\btoday|\byesterday|\bstarting\b)",
    re.IGNORECASE,
)
_TIMES = re.compile(
    r"\b(?:last|this|next) \w+|\byesterday|\btoday|\bin my (?:whole )?life|\bbefore|\bever\b|\bonce|\btwice|\bagain|"
    r"\b(?:a |an |two |three |some )?(?:days?|weeks?|months?|years?) ago|\bon \w+day|"
    r"\bin (?:\d{4}|\w+uary|march|april|may|june|july|august|\w+ember|october)\b|"
    r"\bjust\b|\brecently|\bwith \w+|\bfor the first time|\bat all|\bso far|\byet",
    re.IGNORECASE,
)
_VERBS = {
    **dict.fromkeys("been be go goes gone went visited visit visiting travelled traveled travel".split(), "go"),  # noqa: SIM905
    **dict.fromkeys("eat ate eaten tasted taste tried try".split(), "eat"),  # noqa: SIM905
    **dict.fromkeys("own owned have had has".split(), "own"),  # noqa: SIM905
    "drank": "drink",
    "drunk": "drink",
    "saw": "see",
    "seen": "see",
    "met": "meet",
    "bought": "buy",
    "took": "take",
    "taken": "take",
    "wrote": "write",
    "written": "write",
    "rode": "ride",
    "ridden": "ride",
    "drove": "drive",
    "driven": "drive",
    "flew": "fly",
    "flown": "fly",
    "swam": "swim",
    "swum": "swim",
    "ran": "run",
    "sang": "sing",
    "sung": "sing",
    "sold": "sell",
    "broke": "break",
    "broken": "break",
    "gave": "give",
    "given": "give",
    "won": "win",
    "lost": "lose",
    "made": "make",
    "did": "do",
    "done": "do",
    "held": "hold",
    "spoke": "speak",
    "spoken": "speak",
    "taught": "teach",
    "read": "read",
}
_SMALL = frozenset("a an the to in at on of for my our some any i i've have had did do i’ve it's been".split())  # noqa: SIM905


def statements(text: str) -> list[Statement]:
    """What a person says of itself in a text, in order.

    >>> [(said.attribute, said.value) for said in statements("Hi! I moved to Berlin, and my dog's name is Rex.")]
    [('home', 'Berlin'), ('dog name', 'Rex')]
    >>> statements("If I lived in Rome, would my favourite food be pasta? I used to live in Oslo.")
    []
    """
    return [said for start, end in _clauses(text) if (said := _stated(text, start, end))]


def may_state(text: str) -> bool:
    """Whether a text, though no rule reads it, may state something: it is no question, wish or supposition."""
    return not text.rstrip().endswith("?") and not _UNCERTAIN.search(text)


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    """Sentences, and what begins with "and my" or "and I" within them."""
    for match in _SENTENCE.finditer(text):
        sentence = match[0]
        if not sentence.strip() or len(sentence) > _MOST_SENTENCE or sentence.rstrip().endswith("?"):
            continue
        start = match.start()
        for joint in re.finditer(r",? (?:and|but) (?=(?:my|i|i'm|i've|we)\b)", sentence, re.IGNORECASE):
            yield start, match.start() + joint.start()
            start = match.start() + joint.end()
        yield start, match.end()


def _stated(text: str, start: int, end: int) -> Statement | None:
    sentence = text[start:end]
    clause = _LEAD.sub("", sentence, count=1).strip().rstrip(".!;")
    if _INSTRUCTION.match(clause) and "?" not in clause:
        return Statement("", sentence.strip(), "instruction", start, end)
    if _UNCERTAIN.search(clause):
        return None
    return _valued(clause, start, end) or _happened(clause, start, end)


def _valued(clause: str, start: int, end: int) -> Statement | None:
    for fixed, pattern in _COMPILED:
        match = pattern.match(clause)
        if match is None:
            continue
        value = _until_end(match["value"])
        name = fixed or _until_end(match["attribute"])
        if fixed is None and re.search(r"\b(?:called|named) ", clause[: match.start("value")], re.IGNORECASE):
            name = f"{name} name"
        attribute = attribute_form(name)
        is_value = value and not _NO_VALUE.match(value) and value.casefold() not in _PRONOUNS
        if is_value and attribute and len(value) <= _MOST_VALUE and len(attribute) <= _MOST_ATTRIBUTE:
            return Statement(attribute, value, "value", start, end)
    return None


def _happened(clause: str, start: int, end: int) -> Statement | None:
    if match := _NEVER.match(clause) or _NOT_ONCE.match(clause):
        form = event_form(match["did"])
        return Statement(form, "never", "event", start, end) if form else None
    if match := _DID.match(clause):
        form = event_form(match["did"])
        return Statement(form, "yes", "event", start, end) if form else None
    return None


def event_form(clause: str) -> str:
    """What was done, in one form: "been to Japan" and "visited Japan last week" are one.

    >>> event_form("been to Japan") == event_form("I visited Japan last week")
    True
    """
    plain = _TIMES.sub(" ", _until_end(clause))
    words = [word for word in re.findall(r"[\w'’-]+", plain.casefold()) if word not in _SMALL or word == "been"]
    if _PRONOUNS.issuperset(words[1:]):
        return ""
    return " ".join([_lemma(words[0]), *sorted(words[1:6])])


def _lemma(verb: str) -> str:
    known = _VERBS.get(verb)
    stem = re.sub(r"(?:ied)$", "y", verb)
    return known or re.sub(r"(?:ed|ing|e)$", "", stem)


def _until_end(value: str) -> str:
    """A value without what follows it in the sentence."""
    match = _END.search(value)
    return (value[: match.start()] if match else value).strip(" \t\"'“”‘’*_.,!")
