"""The layer ``triples``: what each passage states, as triples of subject, relation and object (OpenIE of HippoRAG).

A triple is an annotation of the segment that states it. It never becomes a relation of the graph: its names need not
stand in the segment, so only the HippoRAG searches read it. The layer knows no database. Invariants: each triple
belongs to one segment of its document; faulty output of the model is counted and raises nothing.

Source: HippoRAG (2405.14831), section 2.2 and appendix A: named entities first, then triples that hold them. The
prompts are ours.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memgraph_rag.contracts import LanguageModel, Models, Progress, SplitDocument
from memgraph_rag.layers.batches import name_step, output_tokens, prompt
from memgraph_rag.layers.extraction import as_list, clean, read_reply, strings, write_background
from memgraph_rag.layers.grounding import share_borne_out
from memgraph_rag.layers.surfaces import words
from memgraph_rag.lexical.names import LONGEST_NAME
from memgraph_rag.systems.hipporag.openie_file import NOT_NAMED, OpenIEFile, Passage
from memgraph_rag.types import Annotation, LayerRows, Segment, Usage

TRIPLES = "triples"
"""The layer's name."""

_READ_TOKENS = 8_192  # of a prompt and its reply
_MOST_NAMES, _MOST_TRIPLES = 64, 48  # of one segment
_TEXT = {"type": "string", "minLength": 1, "maxLength": 160}
_NAMES_SCHEMA = {
    "type": "object",
    "properties": {"names": {"type": "array", "items": _TEXT, "maxItems": _MOST_NAMES}},
    "required": ["names"],
    "additionalProperties": False,
}
_TRIPLE = {"type": "array", "items": _TEXT, "minItems": 3, "maxItems": 3}
_TRIPLES_SCHEMA = {
    "type": "object",
    "properties": {"triples": {"type": "array", "items": _TRIPLE, "maxItems": _MOST_TRIPLES}},
    "required": ["triples"],
    "additionalProperties": False,
}
_NAMES_TASK = (
    "List all named entities of the text above: people, places, organizations, works, events, dates and quantities. "
    'Answer in this form:\n{"names": ["name", "name", …]}'
)
_TRIPLES_TASK = (
    "Write what the text above states as a list of triples: subject, relation, object. Each triple holds at least one, "
    "and better two, of the names below. Replace each pronoun by the name that it stands for. Answer in this form:\n"
    '{"triples": [["subject", "relation", "object"], …]}'
    "\n\nNames: "
)

Triple = tuple[str, str, str]
"""(subject, relation, object)."""


@dataclass(slots=True)
class _Account:
    """The triples of one document by segment, what was wrong with them, and what they cost."""

    document: SplitDocument
    triples: dict[str, list[Triple]] = field(default_factory=dict[str, list[Triple]])
    notes: Counter[str] = field(default_factory=Counter[str])
    usage: Usage = field(default_factory=Usage)


class TriplesLayer:
    """The layer that states passages as triples, by the language model or from a file.

    The model is asked twice for each segment, as in the paper. A triple of a file belongs to the segment of its
    document that holds most of its words.

    Args:
        path: an OpenIE file of HippoRAG's form. The language model is then not used.

    Raises:
        DocumentError: the file is missing, too large, or has another content.
    """

    name = TRIPLES
    needs_recognizer = False
    requires: Sequence[str] = ()

    def __init__(self, path: str | None = None) -> None:
        self._file = None if path is None else OpenIEFile(path)

    @property
    def needs_language(self) -> bool:
        """Whether the language model extracts the triples."""
        return self._file is None

    def build(
        self,
        documents: Sequence[SplitDocument],
        *,
        namespace: str,
        models: Models,
        progress: Progress | None = None,
    ) -> list[LayerRows]:
        """Return the triples of each document, in the order of the documents, as annotations of single segments."""
        accounts = [_Account(document) for document in documents]
        if self._file is None:
            _extract(accounts, models.language, progress)
        else:
            for account, passage in zip(accounts, self._file.passages(documents, namespace=namespace), strict=True):
                _take(passage, account)
        return [
            LayerRows(annotations=tuple(_annotations(account)), notes=dict(+account.notes), usage=account.usage)
            for account in accounts
        ]


def _annotations(account: _Account) -> Iterator[Annotation]:
    for segment in account.document.segments:
        for subject, relation, object_name in dict.fromkeys(account.triples.get(segment.id, ())):
            parts = {"subject": subject, "relation": relation, "object": object_name}
            yield Annotation(f"{subject} {relation} {object_name}", (segment.id,), "triple", parts)


def _take(passage: Passage | None, account: _Account) -> None:
    """Take the triples of a passage, each for the segment that holds most of its words, the first one on ties."""
    held = [(segment.id, words(segment.text)) for segment in account.document.segments if segment.text.strip()]
    if passage is None or not held:
        account.notes[NOT_NAMED] += passage is None
        return
    account.notes.update(passage.notes)
    for subject, object_name, line in passage.said.relations:
        segment_id, _ = max(held, key=lambda pair: share_borne_out(line, (), pair[1]))
        relation = line[len(subject) : len(line) - len(object_name)].strip()
        account.triples.setdefault(segment_id, []).append((subject, relation, object_name))


# ── by the language model ────────────────────────────────────────────────────────────────────────────────────


def _extract(accounts: Sequence[_Account], language: LanguageModel, progress: Progress | None) -> None:
    """Let the model list the names of each segment, then the triples that hold them, and add them to the accounts."""
    asked = [
        (account, segment) for account in accounts for segment in account.document.segments if segment.text.strip()
    ]
    tasks = [write_background(account.document.title) + _NAMES_TASK for account, _ in asked]
    replies = list(_write(asked, tasks, _NAMES_SCHEMA, language, progress))
    tasks = []
    for (account, _), reply in zip(asked, replies, strict=True):
        names, notes = strings(reply, "names")
        account.notes.update(notes)
        tasks.append(write_background(account.document.title) + _TRIPLES_TASK + json.dumps(names, ensure_ascii=False))
    replies = list(_write(asked, tasks, _TRIPLES_SCHEMA, language, progress))
    for (account, segment), reply in zip(asked, replies, strict=True):
        account.triples[segment.id] = list(_parse(reply, words(segment.text), account.notes))


def _write(
    asked: Sequence[tuple[_Account, Segment]],
    tasks: Iterable[str],
    schema: Mapping[str, Any],
    language: LanguageModel,
    progress: Progress | None,
) -> Iterator[str]:
    """Yield the model's reply about each segment, and add its usage to the segment's account."""
    written = language.generate(
        [prompt((segment,), task) for (_, segment), task in zip(asked, tasks, strict=True)],
        max_tokens=output_tokens(language, _READ_TOKENS),
        schema=schema,
        progress=name_step(progress, "finding triples"),
    )
    for (account, _), generation in zip(asked, written, strict=True):
        account.usage += generation.usage
        yield generation.text


def _parse(reply: str, text_words: frozenset[str], notes: Counter[str]) -> Iterator[Triple]:
    """Yield the usable triples of a reply; others are counted.

    A triple that shares no content word with the text is left out: a small model repeats the prompt.
    """
    for item in as_list(read_reply(reply, TRIPLES, notes).get("triples"))[:_MOST_TRIPLES]:
        parts = [clean(part) for part in as_list(item) if isinstance(part, str)]
        if len(parts) != 3 or not all(0 < len(part) <= LONGEST_NAME for part in parts):
            notes["triple that is none"] += 1
        elif not share_borne_out(" ".join(parts), (), text_words):
            notes["triple without a word of the text"] += 1
        else:
            yield parts[0], parts[1], parts[2]
