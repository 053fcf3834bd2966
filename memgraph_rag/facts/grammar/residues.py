"""Read the value of a clause that no frame fits: the rest of "From today my team will be Hawks" without common words.

The module knows English words only. Invariants: more than one remaining phrase gives no value; a clause without a sign
of the present ("these days") gives none either, except for a name in a short clause.
"""

from __future__ import annotations

import re
from itertools import groupby

from memgraph_rag.facts.grammar.attribute_phrases import PLACE
from memgraph_rag.lexical.inflection import base_form
from memgraph_rag.lexical.tokenize import STOP_WORDS

__all__ = ["residue"]

_MOST_WORDS = 3
_CURRENT = re.compile(
    r"\b(?:now|these days|nowadays|current(?:ly)?|at (?:the moment|present|this point)|lately|from (?:now|here|today|"
    r"this \w+)|as of|since|today|official(?:ly)?|instead|again|finally|new|this time|changed?|switched|any ?more|"
    r"for good|starting|going forward|at last|these last)\b",
    re.IGNORECASE,
)
_VERBS = frozenset(
    map(
        base_form,
        """
            be have do go get make take let say tell know think see come use find give call try ask feel become
            leave put mean keep begin seem help show hear run move like live believe hold bring happen sit stand
            lose pay meet continue set learn change lead watch follow stop speak spend open win offer remember love
            consider appear buy wait serve send stay fall reach remain beat pick choose settle decide switch end
            start look turn name count trust enjoy hit finish commit declare announce crown pronounce elect register
            list sign sell trade swap drop ditch replace note consult update go opt land stick vote fit suit swear
            rely depend save land claim earn
            """.split(),  # noqa: SIM905
    )
)
_NOUNS = frozenset(
    """
        thing time way lot thought note something anything nothing everything else point end friend people everyone
        word fact moment year month week day matter subject topic choice decision pick option change search trial
        official place case list top number sure certain long short quick finally current new old former previous
        next first last instead again soon later earlier ago yes no well okay ever never much many lots bit little
        since though january february march april june july august september october november december
        today tonight yesterday tomorrow monday tuesday wednesday thursday friday saturday sunday morning evening
        """.split()  # noqa: SIM905
)
_PREPOSITIONS = frozenset(
    "at in by from near with to of about against before behind under over than without via".split()  # noqa: SIM905
)
_LINKS = frozenset("is are was has it as became becomes will , - – — : § that's".split()) | {""}  # noqa: SIM905
_ACTING = re.compile(  # "my dentist told Ann"
    rf"{PLACE} (?:(?!(?:is|are|has|have|will|should|became|becomes|remains|stays|goes)\b)[a-z]+(?:ed|s)|"
    r"said|told|ate|went|got|took|came|broke|did|was|were)\b"
)
_SHORT = 12  # words
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
    if _ACTING.search(clause):
        return ""
    runs, neighbours = _runs(_TOKEN.findall(clause))
    if len(runs) != 1 or len(runs[0]) > _MOST_WORDS:
        return ""
    is_name = runs[0][0][0].isupper() and written.count(" ") < _SHORT
    if not is_name and not _CURRENT.search(written):
        return ""
    before, after = neighbours[0]
    is_actor = not before and after not in _LINKS  # "Ann loves my dog"
    if before in _PREPOSITIONS or "and" in (before, after) or is_actor:
        return ""
    if any(base_form(word) != word and word[0].islower() and word.endswith(("ed", "ing")) for word in runs[0]):
        return ""  # "kinda worried"
    return " ".join(runs[0])


def _runs(tokens: list[str]) -> tuple[list[list[str]], list[tuple[str, str]]]:
    """The runs of uncommon tokens, and what stands before and behind each, in lower case."""
    runs: list[list[str]] = []
    neighbours: list[tuple[str, str]] = []
    for is_common, group in groupby(enumerate(tokens), key=lambda item: _is_common(item[1])):
        places = [place for place, _ in group]
        if not is_common:
            around = (
                tokens[place].casefold() if 0 <= place < len(tokens) else ""
                for place in (places[0] - 1, places[-1] + 1)
            )
            runs.append([tokens[place] for place in places])
            neighbours.append((next(around), next(around)))
    return runs, neighbours


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
