"""The entities layer: names in segments, chapters, titles and speakers become mentions and titles.

The module knows no database and no model but the given recognizer. Invariants: a mention's surface is the document's
text at the mention's place; a name that cannot be an entity is counted and raises nothing; equal input gives equal
rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from memgraph_rag.contracts import EntityRecognizer, Models, Named, Progress, SplitDocument
from memgraph_rag.lexical.code import find_program_language, identifiers
from memgraph_rag.lexical.markdown import PlainText, code_blocks, code_spans, plain
from memgraph_rag.lexical.names import is_name, normalise
from memgraph_rag.lexical.note_links import find_note_links
from memgraph_rag.types import LayerRows, Mention, Segment, Title, entity_id

MOST_MENTIONS = 256
"""Most mentions of one segment; further ones are counted and left out."""

_UNDERLINED = re.compile(r"(?:\A|\n[ \t\r]*\n)(?P<name>[^\n]{1,200})\n {0,3}(?:={3,}|-{3,})[ \t\r]*(?=\n|\Z)")
_NUMBER = r"(?:[ivxlcdm]{1,8}|\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b[.:]?"
_CHAPTER = re.compile(
    rf"^(?:chapter|book|part|act|scene|section|letter)[ \t]+{_NUMBER}"
    r"(?:[ \t]+(?:[–—-][ \t]+)?(?P<beside>[^\s–—-][^\n]{0,99})$"
    r"|[ \t\r]*\n(?:[ \t\r]*\n)?[ \t]*(?P<below>\S[^\n]{0,98}[^\s.!?,;:”\"])[ \t\r]*(?=\n[ \t\r]*\n|\s*\Z))",
    re.MULTILINE | re.IGNORECASE,
)
_NUMBERING = re.compile(r"(?:\d{1,3}[.)])+(?:\d{1,3})?[ \t]+")
_CLOSING_MARKS = re.compile(r"[ \t]#+[ \t\r]*$")
_IN_PARENTHESES = re.compile(r"\([^()]*\)$")
_TERM = re.compile(r"[@.]?[^\W\d][\w.-]{1,60}(?:\(\))?")  # an identifier, a dotted name, a command
_MARKUP = re.compile(r"[`*<>{}|\\\[\]=]|__|&\w+;")
_ADDRESS = re.compile(r"(?:\b[a-z][a-z0-9+.-]{1,15}:/|\bwww\.)", re.IGNORECASE)
_ROLES = frozenset("user assistant system tool function developer human ai bot model agent chatbot unknown".split())  # noqa: SIM905


class EntitiesLayer:
    """The layer that finds entities."""

    name = "entities"
    needs_language = False
    needs_recognizer = True
    requires: Sequence[str] = ()

    def build(
        self,
        documents: Sequence[SplitDocument],
        *,
        namespace: str,
        models: Models,
        progress: Progress | None = None,
    ) -> list[LayerRows]:
        """Return each document's mentions, and the entities of its title; the recognizer reads all in one call."""
        count = sum(len(document.segments) for document in documents)
        if progress is not None and count:
            progress("finding names", 0, count)
        names = recognize_segments(models.recognizer, documents)
        if progress is not None and count:
            progress("finding names", count, count)
        return [_make_rows(document, names, namespace) for document in documents]


def _make_rows(document: SplitDocument, names: Iterator[list[Named]], namespace: str) -> LayerRows:
    notes: Counter[str] = Counter()
    mentions: list[Mention] = []
    for segment in document.segments:
        mentions += find_mentions(segment, next(names), namespace, notes)
    titles = tuple(_find_titles(document.title, namespace))
    return LayerRows(mentions=tuple(mentions), titles=titles, notes=dict(+notes))


def recognize_segments(recognizer: EntityRecognizer, documents: Sequence[SplitDocument]) -> Iterator[list[Named]]:
    """Return the names in each segment of these documents, in order; the recognizer reads all in one call.

    The recognizer reads prose without markup. The places of the names are in the segments' own text; the longest
    part of a name with markup inside is the name. The names of a program, and of code within prose, are its compound
    identifiers and the terms that are marked as code.
    """
    segments = [(segment.text, document.title) for document in documents for segment in document.segments]
    read = [plain(text) if find_program_language(title) is None else None for text, title in segments]
    recognized = recognizer.recognize([part.text if part else "" for part in read]) if read else []
    return iter(
        [
            _place_names(text, part, names) if part else _name_identifiers(text, [(0, len(text))])
            for part, names, (text, _) in zip(read, recognized, segments, strict=True)
        ]
    )


def _place_names(text: str, read: PlainText, names: Sequence[Named]) -> list[Named]:
    """Return the names at their places in a text, with its terms of code; in prose with headings and chapters.

    A heading of Markdown is no name: "Recap" in two documents joins nothing.
    """
    if read.places is None:
        return [*names, *_find_headings(text)]
    blocks, spans = list(code_blocks(text)), list(code_spans(text))
    placed = [
        name
        for name in (Named(*read.span(name.start, name.end), name.kind) for name in names)
        if not _MARKUP.search(text, name.start, name.end)
        and not any(start <= name.start < end for start, end in blocks)
        and not any(start <= name.start and name.end <= end for start, end in spans)
    ]
    terms = [Named(*span, "code") for span in spans if _TERM.fullmatch(text, *span)]
    return [*placed, *terms, *_name_identifiers(text, blocks)]


def _name_identifiers(text: str, parts: Iterable[tuple[int, int]]) -> list[Named]:
    """Return the compound identifiers in these parts of a text, each once."""
    found = {text[start:end]: (start, end) for part in parts for start, end in identifiers(text, *part)}
    return [Named(start, end, "code") for start, end in found.values()]


def find_mentions(segment: Segment, names: Sequence[Named], namespace: str, notes: Counter[str]) -> list[Mention]:
    """Return the mentions of a segment by place: these names, the speaker, and the links and tags of a note.

    The speaker is mentioned where the text first has the name; a role such as "user" is no name. Names that cannot be
    entities, and mentions beyond ``MOST_MENTIONS``, are left out and counted in ``notes``. Names that the recognizer
    repeats at one place with the same kind count once.
    """
    named = sorted({*names, *_find_speaker(segment), *find_note_links(segment.text)})
    mentions = [mention for name in named if (mention := _make_mention(segment, name, namespace, notes))]
    notes["mention beyond the limit"] += max(len(mentions) - MOST_MENTIONS, 0)
    return mentions[:MOST_MENTIONS]


def _make_mention(segment: Segment, named: Named, namespace: str, notes: Counter[str]) -> Mention | None:
    surface = segment.text[named.start : named.end]
    normal = normalise(surface)
    if _ADDRESS.search(surface):
        notes["name with an address"] += 1
        return None
    if not is_name(normal):
        notes["name without a letter" if normal or len(surface) <= 100 else "name too long"] += 1
        return None
    start = segment.start + named.start
    return Mention(entity_id(namespace, normal), normal, named.kind, surface, segment.id, start, start + len(surface))


def _find_titles(title: str, namespace: str) -> Iterator[Title]:
    """Yield the entity of the whole title, and the entity of the title without parentheses at its end."""
    whole = title.strip()
    surfaces = {normalise(surface): surface for surface in (_IN_PARENTHESES.sub("", whole).strip(), whole)}
    for normal, surface in reversed(surfaces.items()):
        if is_name(normal):
            yield Title(entity_id(namespace, normal), normal, surface)


def _find_headings(text: str) -> Iterator[Named]:
    """Yield the underlined headings and the chapters of a text, without their marks and numbers."""
    for pattern in (_UNDERLINED, _CHAPTER):
        for match in pattern.finditer(text):
            group = match.lastgroup or 0
            start, end = match.span(group)
            numbering = _NUMBERING.match(text, start, end)
            start = numbering.end() if numbering else start
            marks = _CLOSING_MARKS.search(text, start, end)
            name = text[start : marks.start() if marks else end]
            start += len(name) - len(name.lstrip())
            if name.strip() and not (pattern is _CHAPTER and text[start].islower()):
                yield Named(start, start + len(name.strip()), "heading")


def _find_speaker(segment: Segment) -> Iterator[Named]:
    """Yield the place of the speaker's name in a chat message; a role such as "user" is not a name."""
    if segment.speaker and segment.speaker.casefold() not in _ROLES:
        match = re.search(rf"(?<!\w){re.escape(segment.speaker)}(?!\w)", segment.text)
        if match is not None:
            yield Named(*match.span(), "speaker")
