"""LongLLMLingua: the segments behind which the question is most likely, without their least informative tokens.

It knows search and session by their contracts only. Invariants: those of ``compression``.

As the paper has it: contexts in the order of the question's mean negative log likelihood behind each, with the sentence
that ties it to them; the best first; a ratio that falls linearly with the rank; those tokens kept that the question
makes more to be expected. Otherwise than the paper: contexts are what a search finds, as a store holds more than a
prompt; tokens are compared within their segment, not behind the compressed ones before it; nothing is recovered
afterwards, for citations are cut from the segments.

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
    """Reads compressed segments.

    Args:
        candidates: how many segments of the hybrid search are compared.
        target_tokens: of all that is read.
        coarse: the best segments of together so many times the target are compressed, the others left out.
        spread: by how much more (the best) and less (the last) than the mean share is kept.
    """

    name = "longllmlingua"

    def __init__(
        self, *, candidates: int = 16, target_tokens: int = 1024, coarse: float = 2.0, spread: float = 0.3
    ) -> None:
        self._candidates = candidates
        self._target = target_tokens
        self._coarse = coarse
        self._spread = spread

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """One step a segment; see ``Strategy.read``. What is compared is paid for, but not read.

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
    """The share of the text's tokens that the question makes most expected, in order."""
    if share >= 1:
        return text
    offsets, alone = losses.of(text)
    return most_telling(text, offsets, alone - losses.of(text, after=asked)[1], share)
