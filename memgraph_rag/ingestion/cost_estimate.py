"""Estimates what the language model will cost for documents, before it works: tokens, calls, and seconds.

The layers expect tokens and calls; a short trial on this machine gives the speed. It stores nothing. Invariants:
without a listener of the logger ``memgraph_rag.cost`` no model works for an estimate; a server, which may cost money,
gets no trial.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from memgraph_rag.contracts import EstimatingLayer, LanguageModel, Models, WillingLayer
from memgraph_rag.errors import MemgraphRagError
from memgraph_rag.ingestion.planning import PendingDocument
from memgraph_rag.types import Prompt, Usage

logger = logging.getLogger("memgraph_rag.cost")

_MOST_ROWS = 16  # prompts of a trial of writing; the model writes them together
_READ_CHARACTERS = 600
_STARTED_CHARACTERS = 60
_WRITTEN_TOKENS = 16
_MINUTE_S, _HOUR_S = 60, 3600
_SECONDS_ALONE = 100  # longer times are told in minutes


def log_cost(documents: Sequence[PendingDocument], models: Models) -> None:
    """Log what the language model is expected to cost for these documents, if it works for one and a listener exists.

    An error of the model is left to the building, which reports it for the documents.
    """
    documents = [document for document in documents if document.needs_language]
    if not documents or not logger.isEnabledFor(logging.INFO):
        return
    try:
        language = models.language
        usage, unknown = estimate_usage(documents, language)
        if not usage.model_calls and not unknown:  # too short for a layer
            return
        if getattr(language, "device", None) is not None and usage.model_calls:
            usage = replace(usage, seconds=_estimate_seconds(documents, language, usage))
    except MemgraphRagError as error:
        logger.debug("The cost could not be estimated: %s", error)
        return
    segments = sum(len(document.segments) for document in documents)
    facts = {"segments": segments, "not_estimated": unknown, **usage.as_dict()}
    logger.info(
        "%s", describe_cost(segments, usage, unknown, language.name), extra={"event": "estimate", "facts": facts}
    )


def estimate_usage(documents: Iterable[PendingDocument], language: LanguageModel) -> tuple[Usage, list[str]]:
    """Return the expected tokens and calls for documents, and the sorted names of the layers that give no estimate."""
    usage, unknown = Usage(), set[str]()
    for document in documents:
        for layer in document.missing_layers:
            if isinstance(layer, EstimatingLayer):
                usage += layer.estimate_usage(document.evidence, language)
            elif layer.needs_language or (isinstance(layer, WillingLayer) and layer.uses_language(document.evidence)):
                unknown.add(layer.name)
    return usage, sorted(unknown)


def _estimate_seconds(documents: Sequence[PendingDocument], language: LanguageModel, usage: Usage) -> float:
    """Return the seconds that the work will take, by the speed at which the model reads and continues short texts.

    It loads the weights. The texts are beginnings of segments.
    """
    texts = [segment.text for document in documents for segment in document.segments]
    passes = len({layer.name for document in documents for layer in document.missing_layers if layer.needs_language})
    rows = min(max(usage.model_calls // passes, 1), _MOST_ROWS)  # prompts of one layer are written together
    _time_trial(language, texts[:1], characters=_STARTED_CHARACTERS, max_tokens=1)  # loads and prepares the model
    reading, seconds = _time_trial(language, texts[:2], characters=_READ_CHARACTERS, max_tokens=1)
    read_s = seconds / max(reading.prompt_tokens, 1)
    writing, seconds = _time_trial(language, texts[:rows], characters=_STARTED_CHARACTERS, max_tokens=_WRITTEN_TOKENS)
    write_s = max(seconds - read_s * writing.prompt_tokens, 0.0) / max(writing.generated_tokens, 1)
    return read_s * usage.prompt_tokens + write_s * usage.generated_tokens


def _time_trial(
    language: LanguageModel, texts: Sequence[str], *, characters: int, max_tokens: int
) -> tuple[Usage, float]:
    """Return what the model read and wrote to continue the beginnings of texts, and how long it took.

    The time in each prompt keeps a journal from giving back an earlier trial.
    """
    prompts = [
        Prompt(f"{time.time_ns()} {place}", (text[:characters],), "Continue.") for place, text in enumerate(texts)
    ]
    began = time.perf_counter()
    written = language.generate(prompts, max_tokens=max_tokens)
    seconds = time.perf_counter() - began
    return sum((generation.usage for generation in written), Usage()), seconds


def describe_cost(segments: int, usage: Usage, unknown: Sequence[str], model: str) -> str:
    """Return the estimate as a line for people, with two digits of each number.

    >>> describe_cost(41, Usage(12_041, 2_980, 24, 171.0), ["outline"], "tiny")
    'about 3 min: 41 segments, 12,000 tokens to read, 3,000 to write, 24 calls of tiny; outline not counted'
    """
    parts = [f"{segments:,} segment{'s' * (segments != 1)}"]
    if usage.model_calls:
        parts += [f"{_round(usage.prompt_tokens):,} tokens to read", f"{_round(usage.generated_tokens):,} to write"]
        parts += [f"{usage.model_calls:,} call{'s' * (usage.model_calls != 1)} of {model}"]
    line = ", ".join(parts)
    line = f"about {_describe_seconds(usage.seconds)}: {line}" if usage.seconds else line
    return f"{line}; {', '.join(unknown)} not counted" if unknown else line


def _round(number: int) -> int:
    return int(float(f"{number:.1e}"))


def _describe_seconds(seconds: float) -> str:
    if seconds < _SECONDS_ALONE:
        return f"{max(round(seconds), 1)} s"
    if seconds < 2 * _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f} min"
    return f"{seconds / _HOUR_S:.0f} h"
