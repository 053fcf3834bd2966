"""Selective-Context: read documents without the phrases that the model expects.

It knows graph, search and session by their contracts. The question plays no part. Invariants: those of ``compression``.

As in the paper: each sentence is scored alone; the self-information of a phrase is the mean over its tokens, as in the
released code; the least informative phrases are left out. A phrase is a noun phrase by spaCy, or a word outside of one.
Differences from the paper: the share to keep follows from a number of tokens; a token of two phrases counts in the
first; the model that answers is also the model that compresses; tokens and sentences as units are left out.

Source: Li et al., "Compressing Context to Enhance Inference Efficiency of Large Language Models" (2310.06201).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.errors import StrategyError
from memgraph_rag.lexical.sentences import sentences
from memgraph_rag.models.recognizers.spacy_model import PACKAGES
from memgraph_rag.strategies.flat import Chosen, read_in_order
from memgraph_rag.systems.baselines.compression import (
    join_spans,
    limit_target,
    segments_to_compress,
)
from memgraph_rag.systems.baselines.token_losses import TokenLosses
from memgraph_rag.types import Segment, Step, Vector

Spans = Sequence[tuple[int, int]]


class SelectiveContext:
    """A strategy that reads documents without their least informative phrases.

    Args:
        target_tokens: number of tokens to read in all.
    """

    name = "selective_context"
    follows_paper = True

    def __init__(self, *, target_tokens: int = 1024) -> None:
        self._target = target_tokens

    def read(self, question: str, context: ReadingContext) -> Iterator[tuple[Step, ...]]:
        """Yield one step for each segment of which a phrase is kept, in the order of the documents.

        Without given documents, at most eight take part. The score is the highest self-information of a kept phrase.
        See ``Strategy.read``.

        Raises:
            StrategyError: the model's weights are not in this process, or there is no spaCy model for phrases.
        """
        losses, target = TokenLosses(context.session, self.name), limit_target(self._target, context)
        segments = segments_to_compress(question, context)
        split = _phrase_splitter(self.name)
        phrases = [_measure_phrases(segment.text, losses, split) for segment in segments]
        yield from read_in_order(_keep_informative(segments, phrases, target), context)


def _measure_phrases(
    text: str, losses: TokenLosses, split: Callable[[str], Spans]
) -> tuple[NDArray[np.int64], Vector, NDArray[np.int64]]:
    """Return (U, 2) the characters of each phrase, (U,) its self-information and (U,) its number of tokens."""
    spans: list[tuple[int, int]] = []
    values: list[float] = []
    counts: list[int] = []
    for first, last in sentences(text):
        offsets, of_tokens = losses.measure(text[first:last], after="\n")  # as after a mark of the beginning
        phrases = split(text[first:last])
        owners = np.searchsorted([end for _, end in phrases], offsets[:, 0], side="right")
        for place, (start, end) in enumerate(phrases):
            own = of_tokens[owners == place]
            if len(own):
                spans.append((first + start, first + end))
                values.append(float(own.mean()))
                counts.append(len(own))
    return np.array(spans, np.int64).reshape(-1, 2), np.array(values, np.float32), np.array(counts, np.int64)


def _keep_informative(
    segments: Sequence[Segment],
    phrases: Sequence[tuple[NDArray[np.int64], Vector, NDArray[np.int64]]],
    target: int,
) -> Iterator[Chosen]:
    """Yield segments with the text of the most informative phrases of all, up to the first that exceeds the target."""
    if not segments:
        return
    values = np.concatenate([of_text for _, of_text, _ in phrases])
    counts = np.concatenate([of_text for _, _, of_text in phrases])
    order = np.lexsort((np.arange(len(values)), -values))
    is_kept = np.zeros(len(values), bool)
    is_kept[order[np.cumsum(counts[order]) <= target]] = True
    start = 0
    for segment, (spans, of_text, _) in zip(segments, phrases, strict=True):
        own = is_kept[start : start + len(spans)]
        start += len(spans)
        if text := join_spans(segment.text, spans[own]):
            yield Chosen(segment, float(of_text[own].max(initial=0.0)), "", text=text)


@cache
def _phrase_splitter(strategy: str) -> Callable[[str], Spans]:
    """Return a function that splits a sentence into noun phrases and the words between them.

    Raises:
        StrategyError: spaCy or its model is not installed.
    """
    package = next((name for name in PACKAGES if find_spec(name)), None) if find_spec("spacy") else None
    if package is None:
        raise StrategyError(
            f"Expected a spaCy model for phrases, such as {PACKAGES[0]}, got none. Install one.",
            strategy=strategy,
        )
    import spacy

    pipeline: Any = spacy.load(package, exclude=["ner"])
    pipeline.add_pipe("merge_noun_chunks")
    return lambda sentence: [(word.idx, word.idx + len(word)) for word in pipeline(sentence)]
