"""All strategies by name, each of which runs with the fakes too.

LLMLingua, LongLLMLingua and Selective-Context compute the losses of tokens with weights in this process. With a
``FakeSession`` they get losses by rule here: a token that occurred before is expected. LLMLingua-2 without a folder
keeps the longest words.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.contracts import ReadingSession
from memgraph_rag.strategies import list_known_strategies
from memgraph_rag.systems.baselines import llmlingua, llmlingua2, longllmlingua, selective_context
from memgraph_rag.systems.baselines.token_classifier import TokenClassifier
from memgraph_rag.systems.baselines.token_losses import TokenLosses
from memgraph_rag.testing import FakeSession
from memgraph_rag.types import Usage, Vector

__all__ = ["STRATEGIES"]

STRATEGIES = tuple(list_known_strategies())

TOKEN = re.compile(r"\w{1,8}|[^\w\s]")


class LossesByRule:
    """Losses of tokens: 0.1 for a token that occurred before, else 1.0."""

    def __init__(self, session: ReadingSession) -> None:
        self.session = session

    def measure(self, text: str, *, after: str = "", question: str = "") -> tuple[NDArray[np.int64], Vector]:
        """Return the (T, 2) characters of each token, and its (T,) loss."""
        known = {match.group().casefold() for match in TOKEN.finditer(f"{question} {after}")}
        losses, offsets = [], []
        for match in TOKEN.finditer(text):
            token = match.group().casefold()
            losses.append(0.1 if token in known else 1.0)
            offsets.append(match.span())
            known.add(token)
        self.session.usage += Usage(prompt_tokens=len(known), model_calls=1)  # type: ignore[misc]
        return np.array(offsets, np.int64).reshape(-1, 2), np.array(losses, np.float32)


def losses_of(session: ReadingSession, strategy: str) -> Any:
    """Return losses by rule for a fake session, else the strategy's own."""
    return LossesByRule(session) if isinstance(session, FakeSession) else TokenLosses(session, strategy)


class LongWords:
    """A token classifier that keeps long words."""

    def keep_probabilities(self, text: str) -> tuple[NDArray[np.int64], Vector]:
        """Return the (W, 2) characters of each word, and (W,) their lengths."""
        spans = [match.span() for match in re.finditer(r"\w+", text)]
        return np.array(spans, np.int64).reshape(-1, 2), np.array([end - start for start, end in spans], np.float32)


def classifier_of(folder: str) -> Any:
    """Return the classifier of a folder; without a folder, one by rule."""
    return TokenClassifier(folder) if folder else LongWords()


for module in (llmlingua, longllmlingua, selective_context):
    module.TokenLosses = losses_of  # type: ignore[assignment, misc]
llmlingua2.TokenClassifier = classifier_of  # type: ignore[assignment, misc]
