"""LLMLingua-2: read of each part of documents the words that a token classifier keeps.

It knows graph, search and session by their contracts. The question plays no part. Invariants: those of ``compression``.

As in the paper: a word has the mean probability of its tokens, and each part keeps the same share of its words. The
encoder of the paper is distilled from GPT-4; its folder is an argument. Differences from the paper: the parts are the
segments of the documents; no words are kept by force.

Source: Pan et al., "LLMLingua-2" (2403.12968).
"""

from __future__ import annotations

from collections.abc import Iterator

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.strategies.flat import read_in_order
from memgraph_rag.systems.baselines.compression import (
    compress_in_order,
    divide_tokens,
    limit_target,
    segments_to_compress,
)
from memgraph_rag.systems.baselines.token_classifier import TokenClassifier
from memgraph_rag.types import Step


class LLMLingua2:
    """A strategy that reads the kept words of documents.

    Args:
        folder: the encoder, a token classifier of transformers; the paper's are xlm-roberta-large and mBERT.
        target_tokens: number of tokens to read in all.
    """

    name = "llmlingua2"
    follows_paper = True

    def __init__(self, *, folder: str = "", target_tokens: int = 1024) -> None:
        self._classifier = TokenClassifier(folder)
        self._target = target_tokens

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each segment of which a word is kept, in the order of the documents.

        Without given documents, at most eight take part. See ``Strategy.read``.

        Raises:
            ModelNotFound: there is no such encoder.
        """
        segments = segments_to_compress(question, context)
        shares = divide_tokens([segment.tokens for segment in segments], limit_target(self._target, context))
        scored = [(0.0, segment) for segment in segments]
        texts = compress_in_order(scored, shares, lambda text, _: self._classifier.keep_probabilities(text))
        yield from read_in_order(texts, context)
