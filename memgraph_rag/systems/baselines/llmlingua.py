"""LLMLingua: read the segments that are least likely for the model, and of each only its least likely tokens.

It knows search and session by their contracts only. The question only chooses the candidates. Invariants: those of
``compression``.

As in the paper: contexts of high perplexity are kept, in their order; then each context keeps the same share of its
tokens, those with the highest negative log likelihood. Differences from the paper: a search finds the contexts, because
a store holds more than a prompt; a token is scored within its segment, not after the compressed segments before it; the
model that answers is also the model that compresses.

LLMLingua-2 (2403.12968) is not implemented: its compressor is a token classifier, distilled from GPT-4, and no package
contains its weights (docs/decisions/baselines.md).

Source: Jiang et al., "LLMLingua" (2310.05736): budget controller and token-level compression.
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

__all__ = ["LLMLingua"]


class LLMLingua:
    """A strategy that reads compressed segments.

    Args:
        candidates: number of segments of the hybrid search to compare.
        target_tokens: number of tokens to read in all.
        coarse: the least likely segments are compressed, up to ``coarse`` × the target in tokens. The others are left
            out.
    """

    name = "llmlingua"
    follows_paper = True

    def __init__(self, *, candidates: int = 16, target_tokens: int = 1024, coarse: float = 2.0) -> None:
        self._candidates = candidates
        self._target = target_tokens
        self._coarse = coarse

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each segment that is kept, in the order of the search; see ``Strategy.read``.

        Segments that are not the least likely ones are left out, and so are those of which no token is kept. The score
        is the mean loss.

        Raises:
            StrategyError: the model's weights are not in this process.
        """
        losses, target = TokenLosses(context.session, self.name), target_within(self._target, context)
        evidence = context.search.find(question, k=self._candidates, mode="hybrid", documents=context.documents)
        tokens = {item.segment.id: losses.of(item.segment.text) for item in evidence}
        scored = [(mean_loss(tokens[item.segment.id][1]), item.segment) for item in evidence]
        kept = best_within(scored, int(self._coarse * target))
        chosen = [pair for pair in scored if pair in kept]
        shares = kept_shares([segment.tokens for _, segment in chosen], target)
        texts = [
            (score, segment, segment.text if share >= 1 else most_telling(segment.text, *tokens[segment.id], share))
            for (score, segment), share in zip(chosen, shares, strict=True)
        ]
        yield from read_compressed(texts, context)
