"""P(Yes) of a server's reply, from the log-probabilities of its first token, or from its word.

The module does not know a server. Invariant: the probability of tokens that are not listed is bounded, never guessed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from memgraph_rag.models.engine.prompts import PROBE_NO, PROBE_YES

TOP = 20
"""The number of log-probabilities to ask for; OpenAI and vLLM give at most this number."""

WORD_TOKENS = 4
"""The number of tokens to ask for; it is enough for Yes or No in any tokenizer."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The reply of a server's model to a question of Yes or No.

    Attributes:
        p_yes: P(Yes) / (P(Yes) + P(No)) over all listed spellings; 1 or 0, from the word, if the listed spellings are
            too improbable or missing.
        is_graded: whether ``p_yes`` comes from probabilities.
    """

    p_yes: float
    is_graded: bool


def read_verdict(text: str, top: Iterable[tuple[str, float]]) -> Verdict:
    """Return the verdict in a reply, from its text and the log-probabilities of its first token.

    Case and blanks of a token do not matter. If the tokens that are not listed are at least as probable as Yes and No
    together, the first word of the text counts: any word but Yes, or none, is No. A list of 20 tokens leaves so little
    out that the server need not be asked for Yes and No by their ids (``docs/decisions/models.md``).

    >>> round(read_verdict("Yes", [("Yes", -0.5), (" yes", -3.0), ("No", -1.2)]).p_yes, 3)
    0.685
    >>> read_verdict("No.", [])
    Verdict(p_yes=0.0, is_graded=False)
    """
    yes = no = others = 0.0
    for token, log_probability in top:
        word, probability = token.strip().casefold(), math.exp(log_probability)
        if word == PROBE_YES.casefold():
            yes += probability
        elif word == PROBE_NO.casefold():
            no += probability
        else:
            others += probability
    missing = max(1.0 - yes - no - others, 0.0)
    if yes + no <= missing:
        word = _WORD.search(text)
        said_yes = word is not None and word[0].casefold() == PROBE_YES.casefold()
        return Verdict(float(said_yes), is_graded=False)
    return Verdict(yes / (yes + no), is_graded=True)
