"""Parse short replies of a model: numbers of a list that it was shown, or questions.

The module knows no model and no request. Invariant: parsing raises nothing and takes linear time, whatever the reply
is.
"""

from __future__ import annotations

import re

from memgraph_rag.types import as_line

# int() takes no more than 4,300 digits, and a rating may follow: "3: 80".
_NUMBER = re.compile(r"(?<!\d)(\d{1,6})(?!\d)(?:\s*[:=(]\s*(\d{1,6})(?!\d))?")
_NONE = re.compile(r"\W*(?:none|no)\b(?!\W*\d)", re.IGNORECASE)  # "No. 3" names a number
_QUESTION = re.compile(r"([^?？;\n]*)([?？;\n]|\Z)")  # other text is matched, too, so that it is read only once
_MARK = re.compile(r"^\W*(?:\d+\s*[.):]\s*)?\W*")
_LONGEST_QUESTION = 200  # characters


def says_none(reply: str) -> bool:
    """Return whether a reply begins with the word "None" or "No", in any case, without a number directly after it.

    >>> says_none("None of them."), says_none("No. 3")
    (True, False)
    """
    return _NONE.match(reply) is not None


def parse_numbers(reply: str, most: int) -> dict[int, int | None] | None:
    """Return the numbers from 1 to ``most`` in a reply, in order, each with its rating or None.

    A repeated number keeps its first place and has its last rating. Other numbers are left out.

    Return an empty dict if the reply begins with "None" or "No" (``says_none``), whatever follows. Return None if the
    reply has neither that nor such a number.

    >>> parse_numbers("3: 80, 1, 9", 5), parse_numbers("None of them.", 5), parse_numbers("I cannot tell.", 5)
    ({3: 80, 1: None}, {}, None)
    """
    if says_none(reply):
        return {}
    pairs = ((int(match[1]), int(match[2]) if match[2] else None) for match in _NUMBER.finditer(reply))
    numbers = {number: rating for number, rating in pairs if 1 <= number <= most}
    return numbers or None


def parse_questions(reply: str) -> list[str]:
    """Return the questions of a reply, each once, without list marks; a question over 200 characters is left out.

    >>> parse_questions("1. Who made Up? 2. Where was she born? 2. Where was she born? Good luck.")
    ['Who made Up?', 'Where was she born?']
    """
    asked = (_MARK.sub("", as_line(match[0])) for match in _QUESTION.finditer(reply) if match[2] in ("?", "？"))
    fresh = {question.casefold(): question for question in asked if 1 < len(question) <= _LONGEST_QUESTION}
    return list(fresh.values())
