"""The layer of the memory ``element_summaries``: one description of each element, merged from all documents.

It does not write to the store itself. Invariants: the model is asked for an element with several different descriptions
only; a summary that its descriptions do not bear out is replaced by them; a summary whose key is stored is not written
again.

Source: GraphRAG (arXiv 2404.16130), section 3.1.3; the released code's summaries of descriptions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from memgraph_rag.contracts import LanguageModel, MemoryGraph, Models, Progress, TokenCounter
from memgraph_rag.layers.batches import find_language
from memgraph_rag.layers.extraction import clean
from memgraph_rag.layers.grounding import share_borne_out
from memgraph_rag.layers.surfaces import words
from memgraph_rag.lexical.names import normalise
from memgraph_rag.systems.graphrag.community_sources import Sources
from memgraph_rag.systems.graphrag.community_tree import make_key
from memgraph_rag.systems.graphrag.element_table import Element, gather
from memgraph_rag.systems.graphrag.elements import ELEMENTS
from memgraph_rag.types import (
    Finding,
    Overview,
    OverviewRows,
    Prompt,
    Segment,
    Summarizes,
    Usage,
    entity_id,
    overview_id,
)

ELEMENT_SUMMARIES = "element_summaries"
"""The layer's name."""

NO_ELEMENTS = "no document has elements: deepen builds the layer elements"
"""The note of a receipt if there is nothing to summarise."""

_VERSION = 1  # of the way summaries are made; part of their keys
_WRITTEN_AT_ONCE = 64  # summaries that one transaction writes
_MOST_SEGMENTS = 64  # of one element, that its summary rests on
_BORNE_OUT = 0.5
_TOKENS_A_WORD = 2
_AROUND_TOKENS = 160  # of the head, the task and the chat template

_HEAD = "Below are descriptions of the same, one on each line."
_TASK = (
    "All of them describe {names}. Write one description in the third person that names it and holds everything that "
    "they say. Where they contradict each other, decide for one. Write at most {words} words, and the description only."
)


@dataclass(slots=True)
class _Merging:
    """The merging of one element's descriptions. ``left`` are those that the model has not read yet."""

    element: Element
    left: list[str]
    text: str = ""


class ElementSummariesLayer:
    """The layer that merges the descriptions of each entity, each relation and each claim.

    Args:
        source_tokens: most tokens of the descriptions in one request; of more descriptions, the summary of the first
            ones takes part in the next request.
        most_words: most words of a summary. Released: 500.
    """

    name = ELEMENT_SUMMARIES
    spans_documents: Literal[True] = True
    needs_language = False  # it uses one
    requires: Sequence[str] = (ELEMENTS,)

    def __init__(self, *, source_tokens: int = 4000, most_words: int = 100) -> None:
        self._source_tokens = source_tokens
        self._most_words = most_words

    def build(self, graph: MemoryGraph, *, models: Models, progress: Progress | None = None) -> Iterator[OverviewRows]:
        """Yield the missing summaries as overviews, and remove outdated ones; see ``MemoryLayer.build``."""
        records = graph.documents()
        table = gather(graph.layer_annotations(ELEMENTS), {record.id: record.key for record in records})
        language = find_language(models)
        hashes = {record.id: record.sha256 for record in records}
        elements = {_key(element, hashes, language): element for element in table.all()}
        known = {overview.key: overview for overview in graph.overviews(self.name)}
        removed = tuple(sorted(known[key].id for key in known.keys() - elements.keys()))
        lacking = [key for key in elements if key not in known]
        notes = Counter({NO_ELEMENTS: not elements, "element without its entity": table.orphans if lacking else 0})
        if removed or +notes:
            yield OverviewRows(removed=removed, notes=dict(+notes))
        for at in range(0, len(lacking), _WRITTEN_AT_ONCE):
            part = {key: elements[key] for key in lacking[at : at + _WRITTEN_AT_ONCE]}
            yield self._rows(graph, part, language, models)
            if progress is not None:
                progress("summarising elements", at + len(part), len(lacking))

    def _rows(
        self, graph: MemoryGraph, elements: Mapping[str, Element], language: LanguageModel | None, models: Models
    ) -> OverviewRows:
        """Return the overviews of these elements, by key, and their edges to segments."""
        counter = (language or models.embedder).count_tokens
        merger = DescriptionMerger(language, counter, source_tokens=self._source_tokens, most_words=self._most_words)
        texts = merger.merge(list(elements.values()))
        tokens = counter([f"{element.title}: {text}" for element, text in zip(elements.values(), texts, strict=True)])
        segment_ids = [key for element in elements.values() for key in _segment_ids(element)]
        sources = Sources({node.id: node for node in graph.nodes(segment_ids) if isinstance(node, Segment)}, (), ())
        mentioned = graph.list_mentioned_entities(segment_ids)
        overviews = [
            _overview(graph.namespace, key, element, text, count, sources, mentioned)
            for (key, element), text, count in zip(elements.items(), texts, tokens, strict=True)
        ]
        edges = [
            Summarizes(overview.id, segment_id, 1 / len(below))
            for overview, element in zip(overviews, elements.values(), strict=True)
            for below in [_segment_ids(element)]
            for segment_id in below
        ]
        return OverviewRows(tuple(overviews), tuple(edges), notes=dict(+merger.notes), usage=merger.usage)


class DescriptionMerger:
    """Merges the descriptions of elements, a request for each element that has several different ones.

    Args:
        language: writes the summaries; without one, and where it writes none that holds, descriptions are joined.
        count_tokens: counter of the model.

    Attributes:
        notes, usage: what was wrong so far, and what it cost.
    """

    def __init__(
        self, language: LanguageModel | None, count_tokens: TokenCounter, *, source_tokens: int, most_words: int
    ) -> None:
        self._language = language
        self._count_tokens = count_tokens
        self._most_words = most_words
        self._reply_tokens = _TOKENS_A_WORD * most_words
        self._room = source_tokens
        if language is not None:
            self._room = max(1, min(source_tokens, language.window - self._reply_tokens - _AROUND_TOKENS))
        self.notes: Counter[str] = Counter()
        self.usage = Usage()

    def merge(self, elements: Sequence[Element]) -> list[str]:
        """Return one description of each element; the title of an element without any."""
        mergings = [_Merging(element, sorted(set(element.descriptions))) for element in elements]
        if self._language is not None:
            while waiting := [item for item in mergings if len(item.left) > 1]:
                self._write(self._language, waiting)
        return [" ".join(item.left) or item.element.title for item in mergings]

    def _write(self, language: LanguageModel, mergings: Sequence[_Merging]) -> None:
        """Let the model replace the first descriptions of each element, as many as fit, by one."""
        read = [self._take_fitting(item.left) for item in mergings]
        prompts = [
            Prompt(
                _HEAD, tuple(sorted(lines)), _TASK.format(names=" and ".join(item.element.ends), words=self._most_words)
            )
            for item, lines in zip(mergings, read, strict=True)
        ]
        written = language.generate(prompts, max_tokens=self._reply_tokens)
        for item, lines, generation in zip(mergings, read, written, strict=True):
            self.usage += generation.usage
            summary = clean(generation.text)
            if not summary or share_borne_out(summary, item.element.ends, words(" ".join(lines))) < _BORNE_OUT:
                self.notes["descriptions joined: the model wrote no summary that they bear out"] += 1
                summary = " ".join(" ".join(lines).split()[: self._most_words])
            item.left = [summary, *item.left[len(lines) :]]

    def _take_fitting(self, descriptions: Sequence[str]) -> list[str]:
        """Return the first descriptions up to the one that exceeds the room, at least two: as released."""
        room, lines = self._room, list[str]()
        for description, tokens in zip(descriptions, self._count_tokens(descriptions), strict=True):
            lines.append(description)
            room -= tokens
            if room < 0 and len(lines) > 1:
                break
        return lines


def _key(element: Element, hashes: Mapping[str, str], language: LanguageModel | None) -> str:
    """Return the key of a summary: a hash of all its inputs."""
    descriptions = sorted(set(element.descriptions))
    writer = language.name if language is not None and len(descriptions) > 1 else ""
    return make_key(_VERSION, writer, element.title, descriptions, sorted(hashes[key] for key in element.documents))


def _segment_ids(element: Element) -> list[str]:
    return list(element.segments)[:_MOST_SEGMENTS]


def _overview(
    namespace: str,
    key: str,
    element: Element,
    text: str,
    tokens: int,
    sources: Sources,
    mentioned: Mapping[str, Sequence[str]],
) -> Overview:
    """Return the summary as an overview, with the best sentence of each segment as its support."""
    segment_ids = _segment_ids(element)
    spans = (sources.find_best_span(f"{element.title} {text}", segment_id) for segment_id in segment_ids)
    of_segments = {entity for segment_id in segment_ids for entity in mentioned.get(segment_id, ())}
    ends = {entity_id(namespace, normalise(end)) for end in element.ends}
    return Overview(
        id=overview_id(namespace, ELEMENT_SUMMARIES, key),
        layer=ELEMENT_SUMMARIES,
        key=key,
        level=1,
        title=element.title,
        text=text,
        tokens=tokens,
        documents=tuple(sorted(element.documents)),
        entities=tuple(sorted(ends & of_segments)),
        findings=(Finding(text, tuple(filter(None, spans))),),
    )
