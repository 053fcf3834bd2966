"""Find the base form of an English verb: "ate" is a form of "eat".

The module knows a list of irregular verbs and the rules of regular verbs, no context. Invariant: the base of a base is
itself, as far as regular endings show it.
"""

from __future__ import annotations

import re
from functools import cache

_IRREGULAR = """
be was were been; become became become; begin began begun; bite bit bitten; blow blew blown; break broke broken;
bring brought brought; build built built; buy bought bought; catch caught caught; choose chose chosen;
come came come; cut cut cut; deal dealt dealt; dig dug dug; do did done; draw drew drawn; drink drank drunk;
drive drove driven; eat ate eaten; fall fell fallen; feed fed fed; feel felt felt; fight fought fought;
find found found; fly flew flown; forget forgot forgotten; get got gotten; give gave given; go went gone;
grow grew grown; have had had; hear heard heard; hide hid hidden; hit hit hit; hold held held; hurt hurt hurt;
keep kept kept; know knew known; lead led led; leave left left; lend lent lent; let let let; lose lost lost;
make made made; mean meant meant; meet met met; pay paid paid; put put put; quit quit quit; read read read;
ride rode ridden; ring rang rung; rise rose risen; run ran run; say said said; see saw seen; sell sold sold;
send sent sent; set set set; shake shook shaken; shoot shot shot; show showed shown; sing sang sung;
sink sank sunk; sit sat sat; sleep slept slept; speak spoke spoken; spend spent spent; stand stood stood;
steal stole stolen; swim swam swum; take took taken; teach taught taught; tell told told; think thought thought;
throw threw thrown; understand understood understood; wake woke woken; wear wore worn; win won won; write wrote written
"""
_FORMS = [entry.split() for entry in _IRREGULAR.replace("\n", " ").split(";")]
_BASE_OF = {form: forms[0] for forms in _FORMS for form in forms}
_PAST = frozenset(form for forms in _FORMS for form in forms[1:])
_DOUBLED = re.compile(r"([bdgmnprt])\1$")
_VOWEL = re.compile(r"[aeiouy]")


@cache
def base_form(word: str) -> str:
    """Return the base of a verb's form. The base of a regular verb loses its final "e", so that its forms agree.

    The word is in lower case. A word that is no verb is treated as a form of a regular verb.

    >>> [base_form(word) for word in ("ate", "visited", "visit", "riding", "moved", "move", "tried", "try")]
    ['eat', 'visit', 'visit', 'ride', 'mov', 'mov', 'try', 'try']
    """
    if word in _BASE_OF:
        return _BASE_OF[word]
    stem = word
    if len(word) > 4 and word.endswith(("ied", "ies")):
        stem = f"{word[:-3]}y"
    elif len(word) > 4 and (ending := re.search(r"(?:ed|ing)$", word)) and _VOWEL.search(word[: ending.start()]):
        stem = _DOUBLED.sub(r"\1", word[: ending.start()])
    elif len(word) > 3 and re.search(r"[^su]s$", word):
        stem = word[:-1]
    if f"{stem}e" in _BASE_OF or stem in _BASE_OF:  # "riding", "eats"
        return _BASE_OF.get(stem) or _BASE_OF[f"{stem}e"]
    return stem.removesuffix("e") if len(stem) > 2 else stem


def is_past(word: str) -> bool:
    """Return whether a word in lower case may be a past form or participle of a verb.

    Every word of more than three letters that ends with "ed" may be one, also "hundred", but "need" is none. Of
    irregular verbs only those in the module's list are known.
    """
    return word in _PAST or (len(word) > 3 and word.endswith("ed") and word != "need")
