"""The outline: abstract, sections and sub-sections of a document.

Taken from the headings that the text has (Markdown; HTML and PDF as they are loaded); else the language model divides
the text, window by window. It knows no database. Invariants: the sections hold all of a document, whatever the model
writes; a document without sections is one, without a title; where there is no model, the receipt says so.

Source: LongRefiner, document structuring.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from memgraph_rag.contracts import LanguageModel, Models, Progress, SplitDocument
from memgraph_rag.layers.batches import AROUND_TOKENS, batches, output_tokens, prompt
from memgraph_rag.layers.headings import marked_headings, text_of
from memgraph_rag.layers.optional_model import find_language
from memgraph_rag.systems.longrefiner import outline_reply
from memgraph_rag.types import Heading, LayerRows, Segment, Usage, make_sections

__all__ = ["OUTLINE", "OutlineLayer", "written_headings"]

OUTLINE = "outline"
"""The layer's name."""

_LEAST_HEADINGS = 2  # one alone is the title
_TITLE_CHARACTERS = 200
_MOST_SECTIONS = 10_000  # of a document


@dataclass(slots=True)
class _Account:
    """The outline of one document while it grows."""

    document: SplitDocument
    text: str
    headings: list[Heading]
    windows: list[tuple[Segment, ...]] = field(default_factory=list[tuple[Segment, ...]])
    notes: Counter[str] = field(default_factory=Counter[str])
    usage: Usage = field(default_factory=Usage)


class OutlineLayer:
    """Finds sections.

    Args:
        batch_tokens: prompt, text and reply of one window together; the model's window where that is smaller.
    """

    name = OUTLINE
    needs_language = False  # it uses one: see ``uses_language``
    needs_recognizer = False
    requires: Sequence[str] = ()

    def __init__(self, *, batch_tokens: int = 8192) -> None:
        self._batch_tokens = batch_tokens

    def uses_language(self, document: SplitDocument) -> bool:
        """Whether the model is asked: not where the text has headings, nor where there is nothing to divide."""
        return len(document.segments) > 1 and not written_headings(document)

    def build(
        self,
        documents: Sequence[SplitDocument],
        *,
        namespace: str,
        models: Models,
        progress: Progress | None = None,
    ) -> list[LayerRows]:
        """The sections of each document, in order. The windows of all are written together."""
        accounts = [_Account(item, text_of(item.segments), written_headings(item)) for item in documents]
        asked = [item for item in accounts if not item.headings and len(item.document.segments) > 1]
        if asked:
            self._ask(asked, models, progress)
        return [_rows(account, namespace) for account in accounts]

    def _ask(self, asked: Sequence[_Account], models: Models, progress: Progress | None) -> None:
        language = find_language(models)
        if language is None:
            for account in asked:
                account.notes["no headings in the text, and no language model to divide it"] += 1
            return
        around = AROUND_TOKENS + language.count_tokens([outline_reply.TASK])[0]
        for account in asked:
            of_document = account.document.segments
            account.windows = [
                tuple(node for node in batch if isinstance(node, Segment))
                for batch in batches(of_document, language, self._batch_tokens, around_tokens=around)
            ]
        self._write(asked, language, progress)

    def _write(self, asked: Sequence[_Account], language: LanguageModel, progress: Progress | None) -> None:
        """Let the model divide each window, and lay what it says over the text."""

        def tell(_: str, done: int, count: int) -> None:
            if progress is not None:
                progress("outlining", done, count)

        windows = [(account, window) for account in asked for window in account.windows]
        written = language.generate(
            [prompt(window, outline_reply.TASK) for _, window in windows],
            max_tokens=output_tokens(language, self._batch_tokens),
            stop=outline_reply.is_useless_from_here,
            schema=outline_reply.SCHEMA,
            progress=tell,
        )
        for (account, window), generation in zip(windows, written, strict=True):
            account.usage += generation.usage
            said, notes = outline_reply.parts(generation.text)
            headings, missing = outline_reply.placed(said, account.text, window[0].start, window[-1].end)
            account.notes.update(notes + missing)
            account.headings += _continued(account.headings, headings)
        for account in asked:
            if not any(heading.title for heading in account.headings):
                account.notes["no sections in what the model wrote"] += 1
                account.headings = []


def written_headings(document: SplitDocument) -> list[Heading]:
    """The headings that a text has; none where it has fewer than two, or is a conversation, whose turns may have some.

    A first one above all others is the document's title, and what stands below it, up to the next, the abstract.
    """
    headings = [replace(heading, title=heading.title[:_TITLE_CHARACTERS]) for heading in marked_headings(document)]
    if len(headings) < _LEAST_HEADINGS:
        return []
    first, *others = headings
    if first.level < min(heading.level for heading in others):
        return [replace(first, level=others[0].level, is_abstract=True), *others]
    return headings


def _continued(before: Sequence[Heading], headings: Sequence[Heading]) -> list[Heading]:
    """The headings of a window behind those of the windows before: no second abstract, no section begun twice."""
    kept = [heading for place, heading in enumerate(headings) if not heading.is_abstract or not (before or place)]
    is_same = before and kept and kept[0].title.casefold() == before[-1].title.casefold()
    return kept[1:] if is_same else kept


def _rows(account: _Account, namespace: str) -> LayerRows:
    """The outline of all of the document: what stands before the first section is the abstract."""
    segments = account.document.segments
    if not segments:
        return LayerRows(notes=dict(account.notes), usage=account.usage)
    headings, notes = account.headings[:_MOST_SECTIONS], account.notes
    notes["sections beyond the limit"] += len(account.headings) - len(headings)
    if not headings:
        headings = [Heading(0, 1, "")]
    elif account.text[: headings[0].start].strip():
        if headings[0].is_abstract:
            headings[0] = replace(headings[0], start=0)
        else:
            headings = [Heading(0, headings[0].level, "", is_abstract=True), *headings]
    else:
        headings[0] = replace(headings[0], start=0)
    sections = make_sections(namespace, account.document.id, headings, length=segments[-1].end)
    return LayerRows(sections=sections, notes=dict(+notes), usage=account.usage)
