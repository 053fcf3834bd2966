"""LLMLingua: read the parts of documents that are least likely for the model, and of each its least likely tokens.

It knows graph, search and session by their contracts. The question plays no part. Invariants: those of ``compression``.

As in the paper: contexts of high perplexity are kept, in their order; then each keeps the same share of its tokens,
those with the highest negative log likelihood after the compressed text before them. Differences from the paper: the
contexts are the segments of the documents, and each is compressed at once; the model that answers is also the model
that compresses. Of the compressed text before a segment the model reads what its window holds.

Source: Jiang et al., "LLMLingua" (2310.05736): budget controller and token-level compression.
"""

from __future__ import annotations

from collections.abc import Iterator

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
from memgraph_rag.types import Step


class LLMLingua:
    """A strategy that reads compressed documents.

    Args:
        target_tokens: number of tokens to read in all.
        coarse: the least likely segments are compressed, up to ``coarse`` × the target in tokens. The others are left
            out.
    """

    name = "llmlingua"
    follows_paper = True

    def __init__(self, *, target_tokens: int = 1024, coarse: float = 2.0) -> None:
        self._target = target_tokens
        self._coarse = coarse

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each segment that is kept, in the order of the documents; see ``Strategy.read``.

        Without given documents, at most eight take part. The score is the mean loss. Comparing segments counts as
        usage, not as reading.

        Raises:
            StrategyError: the model's weights are not in this process.
        """
        losses, target = TokenLosses(context.session, self.name), limit_target(self._target, context)
        segments = segments_to_compress(question, context)
        scored = [(mean_loss(losses.measure(segment.text)[1]), segment) for segment in segments]
        kept = {segment.id for _, segment in select_best(scored, int(self._coarse * target))}
        chosen = [(score, segment) for score, segment in scored if segment.id in kept]
        shares = divide_tokens([segment.tokens for _, segment in chosen], target)
        texts = compress_in_order(chosen, shares, lambda text, before: losses.measure(text, after=before))
        yield from read_in_order(texts, context)
