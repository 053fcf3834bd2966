"""The value in a clause that no frame fits: what is left of "From today my team will be Hawks" without common words.

It knows words only, English ones. Invariant: without a sign that something holds now ("these days", "from today"), or
where more than one phrase is left, there is no value.
"""

from __future__ import annotations

import re

from memgraph_rag.lexical.attribute_phrases import PLACE
from memgraph_rag.lexical.inflection import base_form
from memgraph_rag.lexical.tokenize import STOP_WORDS

__all__ = ["residue"]

_MOST_WORDS = 3
_CURRENT = re.compile(
    r"\b(?:now|these days|nowadays|current(?:ly)?|at (?:the moment|present|this point)|lately|from (?:now|here|today|this \w+)|"
    r"as of|since|today|official(?:ly)?|instead|again|finally|new|this time|changed?|switched|any ?more|for good|"
    r"starting|going forward|at last|these last)\b",
    re.IGNORECASE,
)
_VERBS = frozenset(
    map(
        base_form,
        """
        be have do go get make take let say tell know think see come use find give call try ask feel become leave put
        mean keep begin seem help show hear run move like live believe hold bring happen sit stand lose pay meet
        continue set learn change lead watch follow stop speak spend open win offer remember love consider appear buy
        wait serve send stay fall reach remain beat pick choose settle decide switch end start look turn name count
        trust enjoy hit finish commit declare announce crown pronounce elect register list sign sell trade swap drop
        ditch replace note consult update go opt land stick vote fit suit swear rely depend save land claim earn
        """.split(),
    )
)
_NOUNS = frozenset(
    """
    thing time way lot thought note something anything nothing everything else point end friend people everyone word
    fact moment year month week day matter subject topic choice decision pick option change search trial official
    place case list top number sure certain long short quick finally current new old former previous next first last
    instead again soon later earlier ago yes no well okay ever never much many lots bit little since though
    january february march april june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday morning evening
    """.split()
)
_PREPOSITIONS = frozenset("at in by from near with to of about against before behind under over than without via".split())
_TOKEN = re.compile(r"[\w@'’+#&.-]*[\w@'’+#&]|[^\w\s]")


def residue(clause: str, written: str) -> str:
    """The only phrase of a clause that is no common word; empty where none or several are, or nothing holds now.

    Args:
        clause: with ``PLACE`` for what the value is of.
        written: the same clause as it was written, with its adverbs of time.

    >>> residue("From today § will be Hawks", "From today my team will be Hawks")
    'Hawks'
    >>> residue("I met § at Starbucks", "I met my boss at Starbucks today")
    ''
    """
    if not _CURRENT.search(written):
        return ""
    runs: list[list[str]] = [[]]
    before = [""]
    previous = ""
    for token in _TOKEN.findall(clause):
        if _is_common(token):
            if runs[-1]:
                runs.append([])
                before.append("")
        else:
            if not runs[-1]:
                before[-1] = previous.casefold()
            runs[-1].append(token)
        previous = token
    phrases = [(run, preposition) for run, preposition in zip(runs, before, strict=True) if run]
    if len(phrases) != 1 or len(phrases[0][0]) > _MOST_WORDS or phrases[0][1] in _PREPOSITIONS:
        return ""
    if any(base_form(word) != word and word[0].islower() and word.endswith(("ed", "ing")) for word in phrases[0][0]):
        return ""  # "kinda worried"
    return " ".join(phrases[0][0])


def _is_common(token: str) -> bool:
    plain = token.casefold().replace("’", "'")
    return (
        not plain[0].isalnum()
        or plain in STOP_WORDS
        or plain in _NOUNS
        or PLACE in token
        or "'" in plain[:3]
        or plain.endswith("'s")
        or (not token[0].isupper() and (plain.endswith("ly") or base_form(plain) in _VERBS))
    )
