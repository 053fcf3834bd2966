"""Normalise what somebody did or never did: "I've never been to Japan" denies "Tom and I visited Japan in May".

The module knows one clause. English only. Invariant: a deed is a verb's base and the stems of its object, in
alphabetical order, joined by spaces; the order of words, the tense and the time make no difference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memgraph_rag.lexical.inflection import base_form, is_past
from memgraph_rag.lexical.tokenize import stem


@dataclass(frozen=True, slots=True)
class Deed:
    """A deed in normal form (see the module); ``is_denied`` if the speaker says that it was never done."""

    form: str
    is_denied: bool


_MOST_WORDS = 8  # of an object
_VERB_CLASSES = (
    "go be visit travel attend", "eat taste try", "have own possess", "buy purchas", "see watch",
    "complet finish", "sell auction", "us employ", "begin start",
)  # fmt: skip
_CLASS_OF = {verb: listed.split()[0] for listed in _VERB_CLASSES for verb in listed.split()}
_OF_MIND = frozenset(
    map(base_form, "feel decide think know hear see hope want understand realize believe".split())  # noqa: SIM905
)
_SUBJECT = re.compile(r"(?:^|\b)(?:i|we)(?P<have>['’](?:ve|d))?\s+(?P<rest>.+)", re.IGNORECASE)
_NO_SUBJECT = re.compile(r"^(?:never|not once|finally)\s", re.IGNORECASE)
_NOT_THOUGHT = re.compile(
    r"\b(?:do(?:n['’]t| not)|can(?:['’]t|not)) (?:think|believe|recall|remember)(?: that)? (?:i|we)(?:['’]ve| have|"
    r" had)? ever\b",
    re.IGNORECASE,
)
_INVERTED = re.compile(
    r"\b(?:not once|never(?: once| ever| before)?|at no (?:time|point)|not a single time|not (?:even )?one time)"
    r"(?: in (?:my|our)(?: \w+)? li(?:fe|ves))?,? (?:have|did|had|do) (?:i|we) (?P<rest>.+)",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:never|not once|not ever|not a single time|yet to)\b"
    r"|\b(?:have|had)(?:n['’]t| not)\b|['’]ve not\b|\b(?:did|do)(?:n['’]t| not) (?:actually )?ever\b"
    r"|\bdid(?:n['’]t| not)\b(?=.*\b(?:at any (?:point|time)|in my (?:whole )?life|even once|a single)\b)",
    re.IGNORECASE,
)
_LIGHT = re.compile(
    r"^(?:(?:got|get|managed) to|(?:was|were|been|am|is) (?:able|lucky enough|allowed|invited) to|"
    r"(?:(?:got|had|took) )?(?:the|a|my) (?:\w+ )?(?:chance|opportunity|pleasure|occasion) (?:to|of))\s+",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(
    r"^(?:(?:have|had|has|did|do|actually|really|even|finally|already|just|now|also|still|recently|personally|"
    r"honestly|literally|definitely|ever|once|before|only|truly|not|n['’]t|never|yet to|yet|to)\s+)+",
    re.IGNORECASE,
)
_HELPER = re.compile(r"\b(?:have|had|has|did)\b", re.IGNORECASE)
_PARTS = re.compile(r"\s(?:or|and|nor)\s(?:even |ever )?(?=\w+(?:ed|en|wn|ught|ung|ang)\b)")
_TIMES = re.compile(
    r"\b(?:(?:just |only )?(?:last|this|next|the other|every) (?:\w+ )?(?:day|night|week|weekend|month|year|spring|"
    r"summer|autumn|fall|winter|morning|evening|afternoon|january|february|march|april|may|june|july|august|"
    r"september|october|november|december|\w+day)\b|yesterday|today|tonight|recently|lately|in (?:my|our) (?:whole |"
    r"entire )?li(?:fe|ves)|before|ever|once|twice|again|at all|so far|yet|already|(?:a |an |one |two |three |four |"
    r"some |few |couple of |\d+ )+(?:days?|weeks?|months?|years?|hours?) ago|(?:on |in )?(?:the )?(?:morning|evening|"
    r"afternoon) of\b|on \w+day(?: (?:morning|evening|night|afternoon))?|in (?:\d{4}|january|february|march|april|"
    r"may|june|july|august|september|october|november|december)|on (?:\w+ )?\d\w*(?: \w+)?|"
    r"for the (?:very )?first time|(?:at|on|over|during) (?:the )?(?:weekend|holidays?|summer|winter)|at last|"
    r"on (?:holidays?|vacation)|back in \w+|by (?:chance|accident)|when i was .*|myself|ourselves)\b",
    re.IGNORECASE,
)
_END = re.compile(
    r"\s*(?:[,;:(–—!?]|\s-\s|\bbut\b|\bbecause\b|\bsince\b|\bafter\b|\binstead\b|\bwhich\b|\bwhere\b|\bwhile\b|"
    r"\bso\b|\band (?:i|it|we|my|the|that|loved|liked|hated|now)\b|\bthough\b|\balthough\b|\bdespite\b|\bunless\b|"
    r"\bin th(?:is|at|e) (?:project|app|course|chat)\b)",
    re.IGNORECASE,
)
_SMALL = frozenset(
    """
        a an the to in at on of for my our some any it them one that this these those there here me us him her be
        been and or i we he she they you your his its their up out actual real even so very such no not n't single
        point time at by from
        """.split()  # noqa: SIM905
)
_EMPTY = frozenset("it them that this these those one so there him her they thing things something anything".split())  # noqa: SIM905


def deeds(clause: str) -> list[Deed]:
    """Return what the speaker of a clause says that he did, or never did; several deeds if the clause lists several.

    >>> deeds("Tom and I ate oysters last month"), deeds("Not once have I eaten any oysters")
    ([Deed(form='eat oyster', is_denied=False)], [Deed(form='eat oyster', is_denied=True)])
    """
    if match := _INVERTED.search(clause):
        return _parse_deeds(match["rest"], is_denied=True, is_perfect=True)
    match = _SUBJECT.search(clause)
    if thought := _NOT_THOUGHT.search(clause):
        return _parse_deeds(clause[thought.end() :].strip(), is_denied=True, is_perfect=True)
    if match is None and not _NO_SUBJECT.match(clause):
        return []
    rest = match["rest"] if match else clause
    negated = _NEGATED.search(f"{match['have'] or ''} {rest}" if match else rest)
    helpers = _AUXILIARY.match(rest)
    is_perfect = bool(match and match["have"]) or bool(helpers and _HELPER.search(helpers[0]))
    if negated:
        after = f"{match['have'] or ''} {rest}"[negated.end() :] if match else rest[negated.end() :]
        return _parse_deeds(after.strip(), is_denied=True, is_perfect=True)
    return _parse_deeds(rest, is_denied=False, is_perfect=is_perfect)


def find_asked_deed(question: str) -> str:
    """Return the deed, in normal form, that a question asks about ("Have I ever eaten oysters?"); empty without one.

    >>> find_asked_deed("Have I ever been to Japan?"), find_asked_deed("Where do I live?")
    ('go japan', '')
    """
    match = re.search(
        r"\b(?:have|did|had) (?:i|we)\b(?: (?:ever|already|really|actually|never|once))* (?P<rest>.+)",
        question,
        re.IGNORECASE,
    )
    if match is None or re.match(r"\s*(?:wh|how)", question, re.IGNORECASE):
        return ""
    return normalise_deed(match["rest"].rstrip("?!. "))


def normalise_deed(words: str) -> str:
    """Return the normal form of a deed whose words begin with its verb; empty if the words are no deed.

    >>> normalise_deed("visited Japan last week") == normalise_deed("been to Japan")
    True
    """
    end = _END.search(words)
    plain = _TIMES.sub(" ", words[: end.start()] if end else words)
    tokens = re.findall(r"[\w'’-]+", plain.casefold())
    if not tokens:
        return ""
    verb, rest = tokens[0], tokens[1:]
    if verb in ("been", "be", "went", "gone", "go") and rest and rest[0].endswith("ing") and len(rest[0]) > 4:
        verb, rest = rest[0], rest[1:]  # "went skiing"
    elif verb in ("been", "was", "were", "be", "am") and "to" not in rest[:3] and "in" not in rest[:1]:
        return ""
    base = base_form(verb)
    objects = {stem(word.removesuffix("'s")) for word in rest if word not in _SMALL}
    if not objects and (rest or base in _CLASS_OF or len(base) < 4):
        return ""
    if rest and set(rest) <= _EMPTY | _SMALL:
        return ""
    return " ".join([_CLASS_OF.get(base, base), *sorted(objects)[:_MOST_WORDS]])


def denies(never: str, done: str) -> bool:
    """Return whether "never done" contradicts "done": the same verb, and the whole object is in the other one's.

    >>> denies("eat oyster", "eat fresh oyster"), denies("eat oyster tart", "eat oyster")
    (True, False)
    """
    verb, *objects = never.split()
    other, *others = done.split()
    return verb == other and set(objects) <= set(others) and (bool(objects) or verb not in _OF_MIND)


def find_words(text: str) -> set[str]:
    """Return the verbs and the stems of a text as in the normal form of a deed.

    >>> set(normalise_deed("renewed my passport").split()) <= find_words("I still need to renew my passport in May")
    True
    """
    words: list[str] = re.findall(r"[\w'’-]+", text.casefold())
    return {stem(word) for word in words} | {_CLASS_OF.get(base, base) for base in map(base_form, words)}


def _parse_deeds(rest: str, *, is_denied: bool, is_perfect: bool) -> list[Deed]:
    """Return the deeds of a list such as "written any routes or handled requests"."""
    after = _AUXILIARY.sub("", re.sub(r"\s+", " ", _TIMES.sub(" ", rest)).strip())
    is_base = bool(light := _LIGHT.match(after))
    after = _AUXILIARY.sub("", after[light.end() :]) if light else after
    listed: list[Deed] = []
    for part in _PARTS.split(after):
        verb = re.match(r"[\w'’-]+", part)
        if verb is None or not (is_base or is_denied or is_perfect or is_past(verb[0].casefold())):
            continue
        whole = part[verb.end() :]
        company = re.search(r" with .+$", whole)  # "a festival or event with David": both with David
        objects = re.split(r" n?or ", whole[: company.start()] if company else whole) if is_denied else [whole]
        objects = [f"{each}{company[0]}" for each in objects] if company and is_denied else objects
        forms = dict.fromkeys(normalise_deed(f"{verb[0]} {each}") for each in objects)
        listed += [Deed(form, is_denied) for form in forms if form]
    return listed
