"""The model's judgement of what it has read: whether it is enough, and if not, what is missing.

The module knows the session by its contract. Invariant: a greedy request is not repeated after the same reading.

Sources: PECAN, section 3.2 (the stop); QRMeM, algorithm 1 (reflection) and appendix E, in our own words.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from memgraph_rag.contracts import UNCALIBRATED_YES, ReadingSession

_REPLY_TOKENS = 40  # one sentence
_RETRIES = 4
_WARM = 0.7  # temperature of a retry

ASKED_NAMES = (
    "Whom or what does the question ask about, and whom or what does it name? Reply with the names only, separated by "
    "commas, spelled as in the question."
)
MISSING_NAMES = (
    "The information above does not answer the question. Whom or what should be looked up next? Reply with the names "
    "only, separated by commas."
)
_VERDICT = (
    "Can the question be answered from the information above alone? If not, reply -1 and, in one short sentence, which "
    "fact is missing, with the names that it is about. If so, reply -2 and the answer."
)
_VERDICT_FORM = re.compile(r"(?:\W*action)?\W*?(?P<action>-[12])\b\W*(?P<rest>.*)", re.IGNORECASE)
_SAYS_NOTHING = re.compile(r"\W*(?:(?:yes|no|none|nothing|unknown|n/?a)\W*)*", re.IGNORECASE)


def find_yes_threshold(session: ReadingSession, given: float | None = None) -> float:
    """Return the probability above which a Yes counts (t_p): as given, else the calibration's, else 0.5."""
    if given is not None:
        return given
    return session.calibration.yes_threshold if session.calibration else UNCALIBRATED_YES


def judge_reading(session: ReadingSession) -> tuple[bool, str]:
    """Ask the model for its verdict on all nodes read so far: return whether they are enough, and the missing fact.

    The model replies -2 if the nodes are enough, else -1 and the missing fact. A reply in another form is requested
    again, as ``ask`` does. Without a reply in this form reading is not enough. The missing fact is in the model's
    words; it is empty if the model named none. If the nodes are enough, it is the model's answer.

    Source: QRMeM, algorithm 1, lines 4 to 7, and appendix E (``Action: -1`` and ``-2``), in our own words.
    """
    reply = _VERDICT_FORM.match(ask(session, _VERDICT, is_usable=_is_verdict))
    if reply is None:
        return False, ""
    return reply["action"] == "-2", reply["rest"] if _says_something(reply["rest"]) else ""


def _is_verdict(line: str) -> bool:
    return _VERDICT_FORM.match(line) is not None


def _says_something(line: str) -> bool:
    return not _SAYS_NOTHING.fullmatch(line)


def ask(
    session: ReadingSession,
    request: str,
    *,
    max_tokens: int = _REPLY_TOKENS,
    is_usable: Callable[[str], bool] = _says_something,
    retries: int = _RETRIES,
) -> str:
    """Return the model's first usable reply to a request, on one line; empty if no reply is usable.

    The first attempt is greedy, the ``retries`` following ones are sampled at temperature 0.7.

    Source: QRMeM, appendix (retries).
    """
    for attempt in range(retries + 1):
        reply = session.reply(request, max_tokens=max_tokens, temperature=_WARM if attempt else 0.0, seed=attempt)
        line = " ".join(reply.split())
        if is_usable(line):
            return line
    return ""
