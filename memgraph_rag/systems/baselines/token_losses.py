"""Negative log likelihoods of a text's tokens, by which the LLMLingua papers rank tokens and contexts.

It runs the model's forward pass, so the weights must be in this process. Invariant: the session's cache does not
change, and its usage grows by the cost of each pass.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.contracts import ReadingSession
from memgraph_rag.display import show
from memgraph_rag.errors import StrategyError
from memgraph_rag.models.endpoints.pen_and_eye import PenAndEyeSession
from memgraph_rag.models.engine.window import check_window
from memgraph_rag.strategies.pecan import require_attention
from memgraph_rag.types import Usage, Vector, count_attended

if TYPE_CHECKING:
    from memgraph_rag.models.engine.session import KVSession


class TokenLosses:
    """Computes negative log likelihoods with the model of a session.

    Args:
        session: the session whose model runs, and whose usage grows.
        strategy: name of the strategy, for error messages.

    Raises:
        StrategyError: the weights of the session's model are not in this process.
    """

    def __init__(self, session: ReadingSession, strategy: str) -> None:
        self._session = _require_weights(session, strategy)

    def measure(self, text: str, *, after: str = "", question: str = "") -> tuple[NDArray[np.int64], Vector]:
        """Score each token of a text that follows a question and another text.

        Of ``after`` the end is read, as far as the window holds it with the rest.

        Returns:
            (T, 2) the characters that each token covers, and (T,) its negative log likelihood in nats; 0 for a first
            token that follows nothing.

        Raises:
            WindowExceeded: the text and the question do not fit the window.
        """
        from memgraph_rag.models.engine.kv_cache import RowCache

        model = self._session.model
        asked, earlier, own = (
            model.tokens.encode(question).ids,
            model.tokens.encode(after).ids,
            model.tokens.encode(text),
        )
        room = max(model.window - len(asked) - len(own.ids), 0)
        before = [*asked, *earlier[max(len(earlier) - room, 0) :]]
        ids = [*before, *own.ids]
        check_window(len(ids), model.window)
        losses = np.zeros(len(own.ids), np.float32)
        places = range(max(len(before) - 1, 0), len(ids) - 1)  # the token after each of these is the text's
        if own.ids and places:
            started = time.perf_counter()
            logits = model.forward([ids], RowCache(), logits_of=places)[0].float()
            next_logits = logits[list(range(len(places))), ids[places.start + 1 :]]
            losses[len(own.ids) - len(places) :] = (logits.logsumexp(dim=-1) - next_logits).cpu().numpy()
            self._session.usage += Usage(len(ids), 0, 1, time.perf_counter() - started, count_attended(len(ids)))
        return np.array(own.offsets, np.int64).reshape(-1, 2), losses


def _require_weights(session: ReadingSession, strategy: str) -> KVSession:
    """Return the session whose model has its weights in this process; the reader's session if there are two models."""
    require_attention(session, strategy)
    reader = session.eye if isinstance(session, PenAndEyeSession) else session
    if not hasattr(reader, "model"):  # a ``KVSession`` has it; to import that class is to import torch
        raise StrategyError(
            f"Expected a model of transformers in this process for strategy {show(strategy)}, got a session of type "
            f'{type(reader).__name__}. Name a local model, or ask with strategy="walk".',
            strategy=strategy,
        )
    return cast("KVSession", reader)
