"""LongLLMLingua: read the parts of documents after which the question is most likely, without their needless tokens.

It knows graph, search and session by their contracts. Invariants: those of ``compression``.

As in the paper: contexts are ranked by the mean negative log likelihood of the question after each context, with a
sentence that ties the question to the context, best first; the share of kept tokens falls linearly with the rank; kept
are the tokens that the question makes more likely, after the compressed text before them. Differences from the paper:
the contexts are the segments of the documents, and each is compressed at once; the answer is not recovered afterwards,
because citations are cut from the segments. Of the compressed text before a segment the model reads what its window
holds.

Source: Jiang et al., "LongLLMLingua" (2310.06839), sections 4.1 and 4.2, as the released code has them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.flat import read_in_order
from memgraph_rag.systems.baselines.compression import (
    compress_in_order,
    divide_tokens,
    limit_target,
    mean_loss,
    segments_to_compress,
    select_best,
)
from memgraph_rag.systems.baselines.token_losses import TokenLosses
from memgraph_rag.types import Step, Vector

_TIE = " We can get the answer to this question in the given documents."


class LongLLMLingua:
    """A strategy that reads compressed documents.

    Args:
        target_tokens: number of tokens to read in all.
        coarse: the best segments are compressed, up to ``coarse`` × the target in tokens. The others are left out.
        spread: how much the best segment's share of kept tokens is above, and the last one's below, the middle share.
    """

    name = "longllmlingua"
    follows_paper = True

    def __init__(self, *, target_tokens: int = 1024, coarse: float = 2.0, spread: float = 0.3) -> None:
        self._target = target_tokens
        self._coarse = coarse
        self._spread = spread

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each segment that is kept, best first; see ``Strategy.read``.

        Without given documents, at most eight take part. Worse segments are left out, and so are those of which no
        token is kept. Comparing segments counts as usage, not as reading.

        Raises:
            StrategyError: the model's weights are not in this process.
        """
        losses, target = TokenLosses(context.session, self.name), limit_target(self._target, context)
        asked = question + _TIE

        def measure_worth(text: str, before: str) -> tuple[NDArray[np.int64], Vector]:
            offsets, alone = losses.measure(text, after=before)
            return offsets, alone - losses.measure(text, after=before, question=asked)[1]

        segments = segments_to_compress(question, context)
        scored = [(-mean_loss(losses.measure(asked, after=segment.text)[1]), segment) for segment in segments]
        chosen = select_best(scored, int(self._coarse * target))
        shares = divide_tokens([segment.tokens for _, segment in chosen], target, self._spread)
        yield from read_in_order(compress_in_order(chosen, shares, measure_worth), context)
