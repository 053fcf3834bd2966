"""The model's judgement of what it has read: whether it is enough, and if not, what is missing.

The module knows the session by its contract. Invariants: reading is enough after the needed number of Yes, not before;
a greedy request is not repeated after the same reading; the model is asked for no more replies than allowed.

Sources: PECAN, section 3.2 (the stop); QRMeM, algorithm 1 (reflection) and appendix E, in our own words.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from memgraph_rag.contracts import UNCALIBRATED_YES, ReadingSession

NEVER = 2**31
"""A ``yes_needed`` that no reading reaches."""

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
NEXT_SEARCH = (
    "The information above may not be enough to answer the question. Write what to search for next, as one short "
    "sentence that names what the information has told already. Write the sentence only."
)
_VERDICT = (
    "Can the question be answered from the information above alone? If not, reply -1 and, in one short sentence, which "
    "fact is missing, with the names that it is about. If so, reply -2 and the answer."
)
_VERDICT_FORM = re.compile(r"(?:\W*action)?\W*?(?P<action>-[12])\b\W*(?P<rest>.*)", re.IGNORECASE)
_SAYS_NOTHING = re.compile(r"\W*(?:(?:yes|no|none|nothing|unknown|n/?a)\W*)*", re.IGNORECASE)


class Reflection:
    """The model's judgement of one reading by P(Yes): do the nodes read so far answer the question?

    Args:
        yes_threshold: a Yes counts above this probability (t_p); by default the calibration's threshold, else 0.5.
        yes_needed: reading is enough after this many Yes in all (t_n).
        most_reasons: how often the model may be asked for the missing facts; a reply takes seconds on a CPU.
        request: the prompt that asks for the missing facts.
    """

    def __init__(
        self,
        session: ReadingSession,
        *,
        yes_threshold: float | None = None,
        yes_needed: int = 1,
        most_reasons: int = 0,
        request: str = NEXT_SEARCH,
    ) -> None:
        calibration = session.calibration
        usual = calibration.yes_threshold if calibration else UNCALIBRATED_YES
        self.yes_threshold = usual if yes_threshold is None else yes_threshold
        self._session = session
        self._yes_needed = yes_needed
        self._yes_count = 0
        self._reasons_left = most_reasons
        self._request = request

    def hear(self, p_yes: float, /) -> None:
        """Count a Yes if P(Yes) of the model after a node is above the threshold, not if it is equal."""
        self._yes_count += p_yes > self.yes_threshold

    @property
    def is_enough(self) -> bool:
        """Whether the model has said Yes often enough; a later No does not lower the count."""
        return self._yes_count >= self._yes_needed

    def describe_missing(self) -> str:
        """Return the model's reply about the missing facts, on one line.

        Each call uses up one of ``most_reasons``. The reply is empty if none is left, or if all replies say nothing.
        """
        if not self._reasons_left:
            return ""
        self._reasons_left -= 1
        return ask(self._session, self._request)


class GeneratedVerdict:
    """The model's judgement in its own words: -2 if the nodes read so far are enough, else -1 and the missing fact.

    A reply in another form is requested again, as ``ask`` does. Without a reply in this form reading is not enough.

    Args:
        tells_reason: whether ``describe_missing`` returns the reason.

    Source: QRMeM, algorithm 1, lines 4 to 7, and appendix E (``Action: -1`` and ``-2``), in our own words.
    """

    def __init__(self, session: ReadingSession, *, tells_reason: bool = True) -> None:
        self._session = session
        self._tells_reason = tells_reason
        self._reason = ""
        self.is_enough = False
        """Whether the model's last verdict was -2."""

    def judge(self) -> None:
        """Ask the model for its verdict on all nodes read so far. It replaces the last verdict.

        Without a reply in the right form reading is not enough, and no reason is known.
        """
        reply = _VERDICT_FORM.match(ask(self._session, _VERDICT, is_usable=_is_verdict))
        self.is_enough = reply is not None and reply["action"] == "-2"
        self._reason = reply["rest"] if reply is not None else ""

    def describe_missing(self) -> str:
        """Return the missing fact in the model's words; empty if the model named none or ``tells_reason`` is off.

        If ``is_enough``, return the model's answer instead.
        """
        return self._reason if self._tells_reason and _says_something(self._reason) else ""


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
