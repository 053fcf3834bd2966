"""The layer ``outline``: abstract, sections and sub-sections of a document.

Sections come from the headings of the text (Markdown; HTML and PDF as they are loaded). A text without headings is
divided by the language model, window by window. It knows no database. Invariants: the sections together cover the whole
document, whatever the model writes; a document without sections becomes one section without a title; if a model is
needed and missing, the receipt has a note.

Source: LongRefiner, document structuring.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from memgraph_rag.contracts import LanguageModel, Models, Progress, SplitDocument
from memgraph_rag.layers.batches import AROUND_TOKENS, HEAD, batches, find_language, name_step, output_tokens, prompt
from memgraph_rag.layers.headings import find_marked_headings, join_segments
from memgraph_rag.systems.longrefiner import outline_reply
from memgraph_rag.types import Heading, LayerRows, Segment, Usage, make_sections

OUTLINE = "outline"
"""The layer's name."""

_LEAST_HEADINGS = 2  # a single heading is the title
_TITLE_CHARACTERS = 200
_MOST_SECTIONS = 10_000  # of a document


@dataclass(slots=True)
class _Account:
    """The outline of one document while it is built."""

    document: SplitDocument
    text: str
    headings: list[Heading]
    windows: list[tuple[Segment, ...]] = field(default_factory=list[tuple[Segment, ...]])
    notes: Counter[str] = field(default_factory=Counter[str])
    usage: Usage = field(default_factory=Usage)


class OutlineLayer:
    """The layer that finds the sections of documents.

    Args:
        batch_tokens: most tokens of prompt, text and reply of one window; the model's window if that is smaller. The
            released code has 25,000.
        form: the form of the model's reply: JSON under a grammar, or the paper's tags ("xml").
        instruction: the request in the words with which a model was trained for this task, such as the released one;
            it precedes the text, and no grammar holds. Its reply may have either form.
        words: first and last words of each paragraph that the model writes; the released training data has 8 tokens.
    """

    name = OUTLINE
    needs_language = False  # it uses a model if there is one: see ``uses_language``
    needs_recognizer = False
    requires: Sequence[str] = ()

    def __init__(
        self,
        *,
        batch_tokens: int = 8192,
        form: Literal["json", "xml"] = "json",
        instruction: str = "",
        words: int = 5,
    ) -> None:
        self._batch_tokens = batch_tokens
        self._task = "" if instruction else outline_reply.request(tagged=form == "xml", words=words)
        self._head = instruction or HEAD
        self._schema = outline_reply.SCHEMA if form == "json" and not instruction else None

    def uses_language(self, document: SplitDocument) -> bool:
        """Return whether the model divides this document: it has several segments and no headings."""
        return len(document.segments) > 1 and not find_written_headings(document)

    def build(
        self,
        documents: Sequence[SplitDocument],
        *,
        namespace: str,
        models: Models,
        progress: Progress | None = None,
    ) -> list[LayerRows]:
        """Return the sections of each document, in the order of the documents. One model call serves all windows.

        A document without headings, and without sections by a model, gets one section without a title.
        """
        accounts = [_Account(item, join_segments(item.segments), find_written_headings(item)) for item in documents]
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
        around = AROUND_TOKENS + language.count_tokens([self._head + self._task])[0]
        for account in asked:
            of_document = account.document.segments
            account.windows = [
                tuple(node for node in batch if isinstance(node, Segment))
                for batch in batches(of_document, language, self._batch_tokens, around_tokens=around)
            ]
        self._write(asked, language, progress)

    def _write(self, asked: Sequence[_Account], language: LanguageModel, progress: Progress | None) -> None:
        """Let the model divide each window, and locate its sections in the text."""
        windows = [(account, window) for account in asked for window in account.windows]
        written = language.generate(
            [prompt(window, self._task, head=self._head) for _, window in windows],
            max_tokens=output_tokens(language, self._batch_tokens),
            stop=outline_reply.is_useless_from_here,
            schema=self._schema,
            progress=name_step(progress, "outlining"),
        )
        for (account, window), generation in zip(windows, written, strict=True):
            account.usage += generation.usage
            reply_parts, notes = outline_reply.parts(generation.text)
            headings, missing = outline_reply.find_headings(reply_parts, account.text, window[0].start, window[-1].end)
            account.notes.update(notes + missing)
            account.headings += _list_continued(account.headings, headings)
        for account in asked:
            if not any(heading.title for heading in account.headings):
                account.notes["no sections in what the model wrote"] += 1
                account.headings = []


def find_written_headings(document: SplitDocument) -> list[Heading]:
    """Return the headings of a text. A conversation, or a text with fewer than two headings, gives an empty list.

    A first heading of a higher level than all others is the document's title. The text between it and the next heading
    is then the abstract.
    """
    headings = [replace(heading, title=heading.title[:_TITLE_CHARACTERS]) for heading in find_marked_headings(document)]
    if len(headings) < _LEAST_HEADINGS:
        return []
    first, *others = headings
    if first.level < min(heading.level for heading in others):
        return [replace(first, level=others[0].level, is_abstract=True), *others]
    return headings


def _list_continued(before: Sequence[Heading], headings: Sequence[Heading]) -> list[Heading]:
    """Return the headings that a window adds: no second abstract, and no section that the last window began."""
    kept = [heading for place, heading in enumerate(headings) if not heading.is_abstract or not (before or place)]
    if not kept:
        return []
    first = kept[0]
    open_titles = [heading.title.casefold() for heading in before if heading.level <= first.level][-1:]
    return kept[1:] if first.title.casefold() in open_titles else kept


def _rows(account: _Account, namespace: str) -> LayerRows:
    """Return the outline of the whole document. The text before the first section is the abstract."""
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
