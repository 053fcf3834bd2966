"""Information points: the summary graph above the segments, weighted by the model's own attention.

Level by level, consecutive nodes are gathered into batches, and the model writes one bullet list for each batch. Each
bullet becomes a point. The model's attention while it writes becomes the weights of the point's edges; for a model
without attention the cosines of point and nodes do. The module knows no database and no tokenizer. Invariants: the
weights of a point's edges sum to 1; faulty output of the model is counted, raises nothing and never costs a segment.

With ``parents="one"`` the model writes one paragraph for each batch, so the points form a tree.

Source: PECAN / GARLIC, section 3.1, and section 4.2 for the tree; ``docs/pecan.md`` lists what differs.
"""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import Literal

import numpy as np

from memgraph_rag.contracts import Embedder, LanguageModel, Models, Progress, SplitDocument
from memgraph_rag.display import show
from memgraph_rag.errors import SettingsError
from memgraph_rag.layers.batches import Batch, batches, input_tokens, name_step, output_tokens, prompt
from memgraph_rag.layers.growth import Growth, grow, make_points
from memgraph_rag.layers.prose import as_paragraph, check_prose, goes_in_circles, trim_marks
from memgraph_rag.types import (
    Generation,
    LayerRows,
    Prompt,
    Summarizes,
    Usage,
    as_line,
)

INSTRUCTION = (
    "Below are consecutive pieces of a text, one on each line. Write a list of summary points of what they say. "
    "Each point tells one event or fact in one complete sentence. Use full names instead of pronouns. A point may "
    "gather what several pieces say; leave out nothing that matters. Write each point on its own line, beginning "
    'with "* ". Write only the points, without introduction or explanation.'
)

SUMMARY = (
    "Below are consecutive pieces of a text, one on each line. Write one paragraph that sums them up and keeps as many "
    "key details as possible. Use full names instead of pronouns. Write only the paragraph, without introduction or "
    "explanation."
)

SIMILARITY = "weights by similarity"
"""The receipt's note that counts points with weights from cosines, for a model without attention."""

_BULLET = re.compile(r"\s*(?:[•‣●◦▪]\s*|(?:[*+·–—-]|\d{1,3}[.)])(?:\s+|$))")
_BOLD = re.compile(r"(?<!\w)\*\*(?=\S)|(?<=\S)\*\*(?!\w)")  # not the power in x**2
_MOST_REPETITIONS = 3
_MOST_COPIES = 5
_VARIANTS = 2  # points of one pattern that are kept
_REACH = 8  # earlier points with which a point is compared
_ALIKE = 0.8  # share of equal words, at the beginning and the end, of two points of one pattern
_SHRINK = 0.8
_WRITTEN_SHARE = 0.25  # tokens written for a token of the nodes below


_Weights = list[tuple[str, float]]
"""Ids of lower nodes, each with the weight of the edge to it."""


class PointsLayer:
    """The layer that builds information points.

    Args:
        batch_tokens: limit on prompt, inputs and output of one batch together; a smaller window replaces it.
        most_levels: the largest number of levels.
        parents: with "one" each batch becomes one summary, so each node has one parent: a tree as RAPTOR's, for the
            paper's ablation without graph. With "many" each batch becomes a list of points.
    """

    name = "points"
    needs_language = True
    needs_recognizer = False
    requires: Sequence[str] = ()

    def __init__(
        self,
        *,
        batch_tokens: int = 8192,
        most_levels: int = 8,
        parents: Literal["many", "one"] = "many",
    ) -> None:
        if parents not in ("many", "one"):
            raise SettingsError(f'Expected parents "many" or "one", got {show(parents)}.', parents=parents)
        self._batch_tokens = batch_tokens
        self._most_levels = most_levels
        self._has_one_parent = parents == "one"

    def build(
        self,
        documents: Sequence[SplitDocument],
        *,
        namespace: str,
        models: Models,
        progress: Progress | None = None,
    ) -> list[LayerRows]:
        """Return the points and edges of each document, in order.

        One level of all documents is generated together. A document of a single segment gets no points. A document gets
        no further level if the last level has a single batch or point, hardly shortens the nodes below, or mostly
        copies them.
        """
        growths = [
            Growth(document.id, document.segments, finished=len(document.segments) < 2) for document in documents
        ]
        add_level = partial(self._add_level, namespace=namespace, models=models, progress=progress)
        return grow(growths, add_level, most_levels=self._most_levels)

    def estimate_usage(self, document: SplitDocument, language: LanguageModel) -> Usage:
        """Return the expected tokens and calls for a document; see ``EstimatingLayer``.

        Each level is expected to have a quarter of the tokens of the nodes below.
        """
        first = list(batches(document.segments, language, self._batch_tokens)) if len(document.segments) > 1 else []
        calls, tokens = len(first), sum(node.tokens for batch in first for node in batch)
        around, room = sum(language.count_tokens([INSTRUCTION])), input_tokens(language, self._batch_tokens)
        usage = Usage()
        for _ in range(self._most_levels if calls else 0):
            written = round(_WRITTEN_SHARE * tokens)
            usage += Usage(tokens + calls * around, written, calls)
            if calls == 1:
                break
            calls, tokens = math.ceil(written / room), written
        return usage

    def _add_level(
        self,
        growing: list[Growth],
        level: int,
        *,
        namespace: str,
        models: Models,
        progress: Progress | None,
    ) -> None:
        language = models.language
        batches_of_documents = [list(batches(growth.nodes, language, self._batch_tokens)) for growth in growing]

        head = SUMMARY if self._has_one_parent else INSTRUCTION
        generations = language.generate(
            [prompt(batch, head=head) for document_batches in batches_of_documents for batch in document_batches],
            max_tokens=output_tokens(language, self._batch_tokens),
            stop=goes_in_circles if self._has_one_parent else is_useless_from_here,
            progress=name_step(progress, f"summarising, level {level}"),
        )
        lacks_attention = any(generation.attention is None for generation in generations)
        written = iter(generations)
        for growth, document_batches in zip(growing, batches_of_documents, strict=True):
            taken = [self._take(growth, batch, next(written), models) for batch in document_batches]
            self._grow(growth, [pair for of_batch in taken for pair in of_batch], level, namespace, language)
            growth.finished |= len(document_batches) == 1
            if lacks_attention:
                growth.notes[SIMILARITY] = len(growth.points)

    def _grow(
        self, growth: Growth, taken: list[tuple[str, _Weights]], level: int, namespace: str, language: LanguageModel
    ) -> None:
        """Add a level of points and edges to a document, and mark the document as finished after its last level."""
        below = {as_line(node.text).casefold() for node in growth.nodes}
        copies = sum(as_line(text).casefold() in below for text, _ in taken)
        if level > 1 and 2 * copies > len(taken):
            growth.notes["level of copies"] += 1
            growth.finished = True
            return
        new = make_points(
            [text for text, _ in taken],
            growth.document_id,
            level,
            layer="points",
            namespace=namespace,
            language=language,
        )
        growth.points += new
        growth.edges += [
            Summarizes(point.id, target_id, weight)
            for point, (_, weights) in zip(new, taken, strict=True)
            for target_id, weight in weights
        ]
        growth.finished = len(new) < 2 or sum(point.tokens for point in new) >= _SHRINK * sum(
            node.tokens for node in growth.nodes
        )
        growth.nodes = new or growth.nodes

    def _take(self, growth: Growth, batch: Batch, generation: Generation, models: Models) -> list[tuple[str, _Weights]]:
        """Return the text and the weights of each point that the model wrote for one batch."""
        growth.usage += generation.usage
        is_complete = generation.finish != "length"
        if self._has_one_parent:
            span, notes = check_prose(generation.text, complete=is_complete)
            spans = [span] if span else []
            texts = [as_paragraph(generation.text[start:end]) for start, end in spans]
        else:
            spans, notes = bullets(generation.text, complete=is_complete)
            texts = [_BOLD.sub("", generation.text[start:end]) for start, end in spans]
        growth.notes.update(notes)
        if not spans:
            growth.notes["batch without a point"] += 1
        if generation.attention is not None:
            weights_of_points = [edge_weights(generation, *span) for span in spans]
        else:
            inputs = [as_line(node.text) for node in batch]
            weights_of_points = similarity_weights(texts, inputs, models.embedder)
        return [
            (text, [(node.id, float(weight)) for node, weight in zip(batch, weights, strict=True) if weight > 0])
            for text, weights in zip(texts, weights_of_points, strict=True)
        ]


def bullets(text: str, *, complete: bool) -> tuple[list[tuple[int, int]], Counter[str]]:
    r"""Return the (start, end) characters of each usable point in the model's text, and counts of its problems.

    A span excludes the bullet mark and the newline. In a text without bullets each line is a point. With
    ``complete=False`` (cut at the limit) a last line without a newline is dropped. A point also counts as repeated if
    two of the last eight points differ from it by a word or two: small models fall into loops such as "Alice finds
    herself in a new house. Alice finds herself in a new room. …".

    >>> bullets("Sure!\n* Tom ran.\n* \n* Tom ran.\n", complete=True)
    ([(8, 16)], Counter({'preamble': 1, 'empty point': 1, 'repeated point': 1}))
    """
    notes: Counter[str] = Counter()
    spans: list[tuple[int, int]] = []
    seen: set[str] = set()
    recent: deque[str] = deque(maxlen=_REACH)
    lines = list(_lines(text))
    if lines and not complete and lines[-1][1] == len(text):
        lines.pop()
        notes["cut off"] += 1
    marked = any(_BULLET.match(text, start, end) for start, end in lines)
    if lines and not marked:
        notes["no bullet"] += 1
    for start, end in lines:
        mark = _BULLET.match(text, start, end)
        if marked and mark is None:
            notes["line outside the list" if spans else "preamble"] += 1
            continue
        start, end = trim_marks(text, mark.end() if mark else start, end, marks="*")
        line = as_line(text[start:end]).casefold()
        if not any(character.isalnum() for character in line):
            notes["empty point"] += 1
        elif line in seen or sum(_is_variant(line, earlier) for earlier in recent) >= _VARIANTS:
            notes["repeated point"] += 1
        else:
            seen.add(line)
            recent.append(line)
            spans.append((start, end))
    return spans, notes


def edge_weights(generation: Generation, start: int, end: int) -> np.ndarray:
    """Return the (S,) float64 weights of a point (characters start to end) over its batch's S inputs; they sum to 1.

    The weights are the mean attention of the point's tokens to each input, scaled to sum 1. PECAN, section 3.1.
    """
    assert generation.attention is not None
    inside = (generation.offsets[:, 0] < end) & (generation.offsets[:, 1] > start)
    attended = generation.attention[inside].astype(np.float64).mean(axis=0)
    return attended / attended.sum()


def similarity_weights(texts: Sequence[str], inputs: Sequence[str], embedder: Embedder) -> list[np.ndarray]:
    """Return for each text its (S,) weights over the S inputs, by cosine; they sum to 1.

    A cosine below 0 gives the weight 0. The weights are equal if no cosine is above 0.
    """
    if not texts:
        return []
    vectors = embedder.embed([*texts, *inputs]).astype(np.float64)
    cosines = np.maximum(vectors[: len(texts)] @ vectors[len(texts) :].T, 0.0)
    cosines[~cosines.any(axis=1)] = 1.0
    return list(cosines / cosines.sum(axis=1, keepdims=True))


def is_useless_from_here(prompt: Prompt, text: str) -> bool:
    """Return whether the list has become useless, so that generation should stop.

    The list is useless if three of its points repeat earlier points, or if it has five points or more and each of them
    copies an input of the prompt. A single repetition does not stop the generation: the 1.5B model sometimes writes a
    point twice and then continues with the story.
    """
    spans, notes = bullets(text, complete=True)
    if notes["repeated point"] >= _MOST_REPETITIONS:
        return True
    inputs = {line.casefold() for line in prompt.inputs}
    return len(spans) >= _MOST_COPIES and all(as_line(text[slice(*span)]).casefold() in inputs for span in spans)


def _is_variant(point: str, other: str) -> bool:
    """Return whether two points differ by a word or two only, in one place."""
    words, others = point.split(), other.split()
    longest, shortest = max(len(words), len(others)), min(len(words), len(others))
    head = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(words, others, strict=False)))
    tails = zip(reversed(words[head:]), reversed(others[head:]), strict=False)
    tail = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], tails))
    return shortest >= 5 and head + tail >= _ALIKE * longest


def _lines(text: str) -> Iterator[tuple[int, int]]:
    for match in re.finditer(r"[^\n]+", text):
        if match.group().strip():
            yield match.span()
