"""The layer ``context``: headers that say what a document and its sections are about (AutoContext of dsRAG).

The headers are annotations; ``text.context`` puts them before a segment when the segment is embedded. It knows no
database. Invariants: without a language model a header holds the title and the headings; a section about which the
model writes nothing keeps its title; a text with neither title nor headings has no header.

Differences from the released code: sections come from the outline or the text's own headings, each with the titles of
its parent sections; with a model each section gets a sentence, which is off by default in dsRAG.

Source: dsRAG 0.5.6, ``dsrag/auto_context.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from memgraph_rag.contracts import LanguageModel, Models, Progress, SplitDocument
from memgraph_rag.layers.batches import batches, find_language, name_step, prompt
from memgraph_rag.layers.headings import find_marked_headings
from memgraph_rag.types import (
    CONTEXT,
    Annotation,
    LayerRows,
    Prompt,
    Segment,
    Usage,
    as_line,
    make_sections,
    own_ranges,
)

_READ_TOKENS = 8_000  # of the document, and of each section, as released
_WRITTEN_TOKENS = 80
_MOST_CHARACTERS = 300  # of a title, and of a sentence
_MOST_PARTS = 2_000
_TITLE_TASK = "Say the title of this text, and nothing else."
_DOCUMENT_TASK = 'Say in one short sentence what this text is about: "This document is about: …". Say nothing else.'
_SECTION_TASK = 'Say in one short sentence what this text is about: "This section is about: …". Say nothing else.'


class Part(NamedTuple):
    """A section: characters ``[start, end)`` of a document, and the titles of its parents and its own, top first."""

    start: int
    end: int
    titles: tuple[str, ...]


def list_parts(document: SplitDocument) -> list[Part]:
    """Return the sections of the document's outline, or without one those of its Markdown headings.

    Each section ends where the next section of any level begins. Sections without any title are left out. A
    conversation without an outline has none.
    """
    end = document.segments[-1].end if document.segments else 0
    sections = document.sections or make_sections("", document.id, find_marked_headings(document), length=end)
    titles: dict[str, tuple[str, ...]] = {}
    for section in sections:  # a parent precedes its children
        above = titles.get(section.parent_id, ())
        titles[section.id] = (*above, section.title[:_MOST_CHARACTERS]) if section.title else above
    parts = (Part(section.start, end, titles[section.id]) for section, end in own_ranges(sections))
    return [part for part in parts if part.titles]


@dataclass(slots=True)
class _Account:
    """The headers of one document while they are written. The first header belongs to the whole document."""

    document: SplitDocument
    headers: list[_Header]
    notes: Counter[str] = field(default_factory=Counter[str])
    usage: Usage = field(default_factory=Usage)


@dataclass(slots=True)
class _Header:
    """The title and the summary for some segments."""

    title: str
    segments: Sequence[Segment]
    is_document: bool
    summary: str = ""


class ContextLayer:
    """The layer that writes headers for documents and their sections.

    Args:
        summarizes_sections: whether the model also summarizes each section. It then reads the whole document twice.
    """

    name = CONTEXT
    needs_language = False  # it uses one where there is one: see ``uses_language``
    needs_recognizer = False
    requires: Sequence[str] = ()
    uses: Sequence[str] = ("outline",)

    def __init__(self, *, summarizes_sections: bool = True) -> None:
        self._summarizes_sections = summarizes_sections

    def uses_language(self, document: SplitDocument) -> bool:
        """Return whether the model is asked about this document: it has text."""
        return any(segment.text.strip() for segment in document.segments)

    def build(
        self,
        documents: Sequence[SplitDocument],
        *,
        namespace: str,  # noqa: ARG002 - the contract's
        models: Models,
        progress: Progress | None = None,
    ) -> list[LayerRows]:
        """Return the headers of each document, in the order of the documents. One model call serves all documents.

        Without a language model, headers hold titles only. Without a title and a summary there is no header.
        """
        accounts = [_Account(document, _headers(document, list_parts(document))) for document in documents]
        language = find_language(models)
        if language is None:
            for account in accounts:
                account.notes["no language model to say what it is about"] += 1
        else:
            self._summarize(accounts, language, progress)
        return [
            LayerRows(annotations=tuple(_annotations(account)), notes=dict(account.notes), usage=account.usage)
            for account in accounts
        ]

    def _summarize(self, accounts: Sequence[_Account], language: LanguageModel, progress: Progress | None) -> None:
        """Let the model write the summaries, and the titles of documents without a title."""
        asked = [(account, header, task) for account in accounts for header, task in self._list_requests(account)]
        prompts = [_write_prompt(header, task, language, account.document.title) for account, header, task in asked]
        generations = language.generate(
            [item for item in prompts if item is not None],
            max_tokens=_WRITTEN_TOKENS,
            stop=lambda _, written: bool(written.strip()),
            progress=name_step(progress, "describing"),
        )
        waiting = iter(generations)
        for (account, header, task), item in zip(asked, prompts, strict=True):
            if item is None:
                continue
            generation = next(waiting)
            account.usage += generation.usage
            said = _take_first_line(generation.text)
            if not said:
                account.notes["nothing in what the model wrote"] += 1
            elif task == _TITLE_TASK:
                header.title = said
            else:
                header.summary = said

    def _list_requests(self, account: _Account) -> Iterable[tuple[_Header, str]]:
        for header in account.headers:
            if header.is_document:
                if not header.title:
                    yield header, _TITLE_TASK
                yield header, _DOCUMENT_TASK
            elif self._summarizes_sections:
                yield header, _SECTION_TASK


def _headers(document: SplitDocument, parts: Sequence[Part]) -> list[_Header]:
    headers = [_Header(document.title.strip()[:_MOST_CHARACTERS], document.segments, is_document=True)]
    for part, segments in _group_segments(document.segments, parts[:_MOST_PARTS]):
        title = " › ".join(part.titles)
        if segments and title != headers[0].title:
            headers.append(_Header(title, segments, is_document=False))
    return headers


def _group_segments(segments: Sequence[Segment], parts: Sequence[Part]) -> Iterable[tuple[Part, list[Segment]]]:
    """Yield each part with its segments. A segment belongs to the part that covers most of it, the first if equal."""
    owned: dict[int, list[Segment]] = {place: [] for place in range(len(parts))}
    first = 0
    for segment in segments:
        while first < len(parts) and parts[first].end <= segment.start:
            first += 1
        shares: list[tuple[int, int]] = []
        for place in range(first, len(parts)):
            if parts[place].start >= segment.end:
                break
            part = parts[place]
            shares.append((min(part.end, segment.end) - max(part.start, segment.start), -place))
        before_all = max(parts[0].start - segment.start, 0) if parts else 0
        if shares and max(shares)[0] > before_all:
            owned[-max(shares)[1]].append(segment)
    return [(part, owned[place]) for place, part in enumerate(parts)]


def _annotations(account: _Account) -> Iterable[Annotation]:
    for header in account.headers:
        text = "\n".join(filter(None, [header.title, header.summary]))
        if text:
            yield Annotation(
                text,
                () if header.is_document else tuple(segment.id for segment in header.segments),
                "document" if header.is_document else "section",
                {"title": header.title, "summary": header.summary},
            )


def _write_prompt(header: _Header, task: str, language: LanguageModel, title: str) -> Prompt | None:
    """Return the prompt about the beginning of a header's segments, or None if they hold no text."""
    told = f"The document is called {as_line(title)[:_MOST_CHARACTERS]}. " if title.strip() else ""
    batch = next(iter(batches(header.segments, language, _READ_TOKENS)), None)
    return None if batch is None else prompt(batch, told + task)


def _take_first_line(written: str) -> str:
    """Return the first line with text of a reply, without surrounding quotation marks."""
    lines = (line.strip().strip("\"'“”*# ").strip() for line in written.splitlines())
    return as_line(next(filter(None, lines), ""))[:_MOST_CHARACTERS].rstrip()
