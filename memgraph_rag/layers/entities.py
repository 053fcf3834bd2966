"""The entities layer: names in segments, headings, titles and speakers become mentions and titles.

The module knows no database and no model but the given recognizer. Invariants: a mention's surface is the document's
text at the mention's place; a name that cannot be an entity is counted and raises nothing; equal input gives equal
rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from memgraph_rag.contracts import Models, Named, Progress, SplitDocument
from memgraph_rag.lexical.names import is_name, normalise
from memgraph_rag.lexical.note_links import find_note_links
from memgraph_rag.types import LayerRows, Mention, Segment, Title, entity_id

__all__ = ["EntitiesLayer", "mentions_in"]

_MOST_MENTIONS = 256
_MARKDOWN = re.compile(r"^ {0,3}#{1,6}[ \t]+(?P<name>\S.*)$", re.MULTILINE)
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
_ROLES = frozenset("user assistant system tool function developer human ai bot model agent chatbot unknown".split())  # noqa: SIM905


class EntitiesLayer:
    """The layer that finds entities.

    Args:
        most_mentions: most mentions of one segment; further ones are counted and left out.
    """

    name = "entities"
    needs_language = False
    needs_recognizer = True
    requires: Sequence[str] = ()

    def __init__(self, *, most_mentions: int = _MOST_MENTIONS) -> None:
        self._most_mentions = most_mentions

    def build(
        self,
        documents: Sequence[SplitDocument],
        *,
        namespace: str,
        models: Models,
        progress: Progress | None = None,
    ) -> list[LayerRows]:
        """Return the mentions and titles of each document, in order. The recognizer reads all segments in one call."""
        texts = [segment.text for document in documents for segment in document.segments]
        if progress is not None and texts:
            progress("finding names", 0, len(texts))
        names = iter(models.recognizer.recognize(texts) if texts else [])
        if progress is not None and texts:
            progress("finding names", len(texts), len(texts))
        return [self._rows(document, names, namespace) for document in documents]

    def _rows(self, document: SplitDocument, names: Iterator[list[Named]], namespace: str) -> LayerRows:
        notes: Counter[str] = Counter()
        mentions: list[Mention] = []
        for segment in document.segments:
            mentions += mentions_in(segment, next(names), namespace, notes, most=self._most_mentions)
        titles = tuple(_find_titles(document.title, namespace))
        return LayerRows(mentions=tuple(mentions), titles=titles, notes=dict(+notes))


def mentions_in(
    segment: Segment, names: Sequence[Named], namespace: str, notes: Counter[str], *, most: int = _MOST_MENTIONS
) -> list[Mention]:
    """Return the mentions of a segment by place: the recognizer's names, headings, the speaker, note links.

    The speaker is mentioned where the text first has the name; a role such as "user" is no name. Names that cannot be
    entities, and mentions beyond ``most``, are left out and counted in ``notes``. Names that the recognizer repeats at
    one place with the same kind count once.
    """
    named = sorted({*names, *_find_headings(segment.text), *_find_speaker(segment), *find_note_links(segment.text)})
    mentions = [mention for name in named if (mention := _make_mention(segment, name, namespace, notes))]
    notes["mention beyond the limit"] += max(len(mentions) - most, 0)
    return mentions[:most]


def _make_mention(segment: Segment, named: Named, namespace: str, notes: Counter[str]) -> Mention | None:
    surface = segment.text[named.start : named.end]
    normal = normalise(surface)
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
    """Yield the headings in a text, without their marks and numbers."""
    for pattern in (_MARKDOWN, _UNDERLINED, _CHAPTER):
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
