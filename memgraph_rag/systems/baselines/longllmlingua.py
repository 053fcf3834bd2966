"""LongLLMLingua: read the segments after which the question is most likely, without their least informative tokens.

It knows search and session by their contracts only. Invariants: those of ``compression``.

As in the paper: contexts are ranked by the mean negative log likelihood of the question after each context, with a
sentence that ties the question to the context, best first; the share of kept tokens falls linearly with the rank; kept
are the tokens that the question makes more likely. Differences from the paper: a search finds the contexts, because a
store holds more than a prompt; a token is scored within its segment, not after the compressed segments before it; the
answer is not recovered afterwards, because citations are cut from the segments.

Source: Jiang et al., "LongLLMLingua" (2310.06839), sections 4.1 and 4.2, as the released code has them.
"""

from __future__ import annotations

from collections.abc import Iterator

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.systems.baselines.compression import (
    best_within,
    kept_shares,
    mean_loss,
    most_telling,
    read_compressed,
    target_within,
)
from memgraph_rag.systems.baselines.token_losses import TokenLosses
from memgraph_rag.types import Step

__all__ = ["LongLLMLingua"]

_TIE = " We can get the answer to this question in the given documents."


class LongLLMLingua:
    """A strategy that reads compressed segments.

    Args:
        candidates: number of segments of the hybrid search to compare.
        target_tokens: number of tokens to read in all.
        coarse: the best segments are compressed, up to ``coarse`` × the target in tokens. The others are left out.
        spread: how much the best segment's share of kept tokens is above, and the last one's below, the middle share.
    """

    name = "longllmlingua"
    follows_paper = True

    def __init__(
        self, *, candidates: int = 16, target_tokens: int = 1024, coarse: float = 2.0, spread: float = 0.3
    ) -> None:
        self._candidates = candidates
        self._target = target_tokens
        self._coarse = coarse
        self._spread = spread

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each segment that is kept, best first; see ``Strategy.read``.

        Worse segments are left out, and so are those of which no token is kept. Comparing segments counts as usage, not
        as reading.

        Raises:
            StrategyError: the model's weights are not in this process.
        """
        losses, target = TokenLosses(context.session, self.name), target_within(self._target, context)
        evidence = context.search.find(question, k=self._candidates, mode="hybrid", documents=context.documents)
        asked = question + _TIE
        scored = [(-mean_loss(losses.of(asked, after=item.segment.text)[1]), item.segment) for item in evidence]
        chosen = best_within(scored, int(self._coarse * target))
        shares = kept_shares([segment.tokens for _, segment in chosen], target, self._spread)
        texts = [
            (score, segment, _compressed(segment.text, asked, share, losses))
            for (score, segment), share in zip(chosen, shares, strict=True)
        ]
        yield from read_compressed(texts, context)


def _compressed(text: str, asked: str, share: float, losses: TokenLosses) -> str:
    """Return the share of the text's tokens that the question makes most likely, in text order."""
    if share >= 1:
        return text
    offsets, alone = losses.of(text)
    return most_telling(text, offsets, alone - losses.of(text, after=asked)[1], share)
