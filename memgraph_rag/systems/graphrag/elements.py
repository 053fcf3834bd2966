"""The layer ``elements``: typed entities and relations with descriptions, and claims, that a language model extracts.

It knows no database. Each element is an annotation of the segments that name it. Invariants: an element's names, and
half of what its description says, stand in the text that the model read; what does not is counted on the receipt.

Source: GraphRAG (arXiv 2404.16130), section 3.1.2; the released code's extraction with gleanings, and its claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memgraph_rag.contracts import LanguageModel, Models, Progress, SplitDocument
from memgraph_rag.layers.batches import AROUND_TOKENS, Batch, batches, name_step, output_tokens, prompt
from memgraph_rag.layers.grounding import share_borne_out
from memgraph_rag.layers.surfaces import words
from memgraph_rag.systems.graphrag.element_reply import (
    CLAIM,
    CLAIMS_SCHEMA,
    ENTITY,
    EXAMPLE_NAMES,
    RELATION,
    STILL_MISSING,
    claims_task,
    elements_schema,
    elements_task,
    gleaning_task,
    parse_claims,
    parse_elements,
    repeats_itself,
)
from memgraph_rag.types import Annotation, LayerRows, Usage

ELEMENTS = "elements"
"""The layer's name."""

_WINDOW_SHARE = 0.75  # of the window for text, task and reply: a gleaning's prompt also holds the names of a reply

_LEAST_OF_EXAMPLE = 0.5  # the share of a name of the request's example that the text must hold

_Parse = Callable[[str], tuple[list[Annotation], Counter[str]]]


@dataclass(slots=True)
class _Unit:
    """A text unit, and what the model said of it so far."""

    batch: Batch
    found: list[Annotation] = field(default_factory=list[Annotation])
    notes: Counter[str] = field(default_factory=Counter[str])
    usage: Usage = field(default_factory=Usage)


class ElementsLayer:
    """The layer that extracts entities, relations and claims with the language model.

    Args:
        types: the types of entities.
        gleanings: how often the model is asked for what it missed. From the second time on it must say Y first.
        claims: whether claims are extracted, too, by one more request a unit.
        batch_tokens: most tokens of a text unit with the request and the reply; the default leaves about 1,200 for the
            text, as released (without its overlap of 100).
        least_borne_out: the smallest share of a name, and of a description without the names, that the text unit must
            hold. Paper: 0, which keeps everything but names that the model copies from the request's example.
    """

    name = ELEMENTS
    needs_language = True
    needs_recognizer = False
    requires: Sequence[str] = ()

    def __init__(
        self,
        *,
        types: Sequence[str] = ("organization", "person", "geo", "event"),
        gleanings: int = 1,
        claims: bool = False,
        batch_tokens: int = 2048,
        least_borne_out: float = 0.5,
    ) -> None:
        self._types = tuple(types)
        self._gleanings = gleanings
        self._claims = claims
        self._batch_tokens = batch_tokens
        self._least_borne_out = least_borne_out

    def build(
        self,
        documents: Sequence[SplitDocument],
        *,
        namespace: str,  # noqa: ARG002 - the contract's
        models: Models,
        progress: Progress | None = None,
    ) -> list[LayerRows]:
        """Extract each document's elements as annotations. Each stage is one call of the model for all documents."""
        writer = _Writer(models.language, self._batch_tokens, progress)
        task = elements_task(self._types)
        units = [[_Unit(batch) for batch in writer.batches(document, task)] for document in documents]
        every = [unit for of_document in units for unit in of_document]
        schema = elements_schema(self._types)
        writer.ask(every, [task] * len(every), schema, parse_elements)
        open_units = every
        for number in range(self._gleanings):
            if number:
                open_units = [
                    unit
                    for unit, reply in zip(open_units, writer.write(open_units, STILL_MISSING, 2), strict=True)
                    if reply == "Y"
                ]
            tasks = [gleaning_task(self._types, unit.found) for unit in open_units]
            writer.ask(open_units, tasks, schema, parse_elements)
        if self._claims:
            writer.ask(every, [claims_task(self._types)] * len(every), CLAIMS_SCHEMA, parse_claims)
        return [self._rows(of_document) for of_document in units]

    def _rows(self, units: Sequence[_Unit]) -> LayerRows:
        annotations = [item for unit in units for item in _ground_elements(unit, self._least_borne_out)]
        notes = sum((unit.notes for unit in units), Counter[str]())
        usage = sum((unit.usage for unit in units), Usage())
        return LayerRows(annotations=tuple(annotations), notes=dict(+notes), usage=usage)


class _Writer:
    """Asks the model about text units, and adds notes and usage to each."""

    def __init__(self, language: LanguageModel, batch_tokens: int, progress: Progress | None) -> None:
        self._language = language
        self._batch_tokens = min(batch_tokens, int(_WINDOW_SHARE * language.window))
        self._progress = progress

    def batches(self, document: SplitDocument, task: str) -> Iterator[Batch]:
        """Yield the text units of a document: consecutive segments that fit one request."""
        around = AROUND_TOKENS + self._language.count_tokens([task])[0]
        return batches(document.segments, self._language, self._batch_tokens, around_tokens=around)

    def ask(self, units: Sequence[_Unit], tasks: Sequence[str], schema: Mapping[str, Any], parse: _Parse) -> None:
        """Add what the model replies to each unit's task."""
        most = output_tokens(self._language, self._batch_tokens)
        for unit, reply in zip(units, self.write(units, tasks, most, schema), strict=True):
            found, notes = parse(reply)
            unit.found += found
            unit.notes.update(notes)

    def write(
        self, units: Sequence[_Unit], tasks: Sequence[str] | str, most: int, schema: Mapping[str, Any] | None = None
    ) -> list[str]:
        """Return the reply to each unit's task, or to one task for all, without white space around it."""
        if not units:
            return []

        of_units = [tasks] * len(units) if isinstance(tasks, str) else tasks
        prompts = [prompt(unit.batch, task) for unit, task in zip(units, of_units, strict=True)]
        stop = None if schema is None else repeats_itself
        written = self._language.generate(
            prompts, max_tokens=most, stop=stop, schema=schema, progress=name_step(self._progress, "finding elements")
        )
        for unit, generation in zip(units, written, strict=True):
            unit.usage += generation.usage
        return [generation.text.strip() for generation in written]


def _ground_elements(unit: _Unit, least: float) -> Iterator[Annotation]:
    """Yield the elements that the unit's text bears out, with the segments that hold most of an element's names.

    An entity whose description is not borne out stays, with its name as description. A name of the request's example
    must stand in the text, whatever ``least`` is.
    """
    texts = {node.id: words(node.text) for node in unit.batch}
    every = frozenset().union(*texts.values())
    for item in unit.found:
        names = _names(item)
        of_name = least if EXAMPLE_NAMES.isdisjoint(names) else max(least, _LEAST_OF_EXAMPLE)
        held = {key: sum(share_borne_out(name, (), text) >= of_name for name in names) for key, text in texts.items()}
        if any(all(share_borne_out(name, (), text) < of_name for text in texts.values()) for name in names):
            unit.notes[f"{item.kind} with a name that is not in the text"] += 1
            continue
        segment_ids = tuple(key for key, count in held.items() if count == max(held.values()))
        if share_borne_out(item.text, names, every) >= least:
            yield replace(item, segment_ids=segment_ids)
            continue
        unit.notes[f"description of {item.kind} that the text does not bear out"] += 1
        if item.kind == ENTITY:
            yield replace(item, text=names[0], segment_ids=segment_ids)


def _names(item: Annotation) -> list[str]:
    fields = {ENTITY: ("name",), RELATION: ("source", "target"), CLAIM: ("subject",)}[item.kind]
    return [str(item.properties[name]) for name in fields]
