"""LLMLingua: the segments that a model would least have expected, and of each the tokens of which that is true.

It knows search and session by their contracts only; the question chooses the candidates and nothing else. Invariants:
those of ``compression``.

As the paper has it: contexts of high perplexity are kept, in their order; then of each the tokens of the highest
negative log likelihood, the same share of all. Otherwise than the paper: contexts are what a search finds, as a store
holds more than a prompt; tokens are compared within their segment, not behind the compressed ones before it; the small
model that compresses is the one that answers.

LLMLingua-2 (2403.12968) is not here: its compressor is a token classifier, distilled from GPT-4, whose weights no
package brings (docs/decisions/baselines.md).

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
    """Reads compressed segments.

    Args:
        candidates: how many segments of the hybrid search are compared.
        target_tokens: of all that is read.
        coarse: the least expected segments of together so many times the target are compressed, the others left out.
    """

    name = "llmlingua"

    def __init__(self, *, candidates: int = 16, target_tokens: int = 1024, coarse: float = 2.0) -> None:
        self._candidates = candidates
        self._target = target_tokens
        self._coarse = coarse

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """One step a segment, in the order of the search; see ``Strategy.read``. Its score is its mean loss.

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
