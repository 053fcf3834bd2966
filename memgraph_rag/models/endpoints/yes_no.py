"""P(Yes) of a reply, from the log-probabilities that a server tells of its first token, or from its word.

It knows no server. Invariant: what is not listed is bounded, not guessed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from memgraph_rag.models.engine.prompts import PROBE_NO, PROBE_YES

__all__ = ["TOP", "WORD_TOKENS", "Verdict", "verdict"]

TOP = 20
"""Log-probabilities to ask for: as many as OpenAI and vLLM give."""

WORD_TOKENS = 4
"""Tokens to ask for: enough for Yes or No in any tokenizer."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a server's model said to a question of Yes or No.

    Attributes:
        p_yes: P(Yes) / (P(Yes) + P(No)) over all spellings that are listed; 1 or 0 where only a word was said.
        missing: of Yes and No with all that is not listed, the share of the latter: so far P(Yes) may be off at most.
        is_graded: whether it comes from probabilities.
    """

    p_yes: float
    missing: float
    is_graded: bool


def verdict(text: str, top: Iterable[tuple[str, float]]) -> Verdict:
    """Of a reply and the log-probabilities of its first token.

    Where more is missing than is listed of Yes and No together, the word counts. In 20 listed tokens so little is
    missing that no server is asked for the two by their ids (``docs/decisions/models.md``).

    >>> said = verdict("Yes", [("Yes", -0.5), (" yes", -3.0), ("No", -1.2)])
    >>> round(said.p_yes, 3), round(said.missing, 3)
    (0.685, 0.042)
    >>> verdict("No.", [])
    Verdict(p_yes=0.0, missing=1.0, is_graded=False)
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
        return Verdict(float(said_yes), 1.0, is_graded=False)
    return Verdict(yes / (yes + no), missing / (yes + no + missing), is_graded=True)
