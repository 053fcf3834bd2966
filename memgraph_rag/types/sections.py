"""Sections: the outline of a document, as a tree over its segments.

Invariant: the starts and levels of its sections define an outline. Sections of one level do not overlap, and each
character of evidence belongs to exactly one leaf.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memgraph_rag.types.ids import section_id

if TYPE_CHECKING:
    from memgraph_rag.types.graph import Segment


@dataclass(frozen=True, slots=True)
class Heading:
    """The beginning of a section: character ``start`` of the document is the first one of the title line.

    ``level`` counts from the top, as in Markdown; levels may be skipped. ``title`` is empty for a section without
    title. ``is_abstract`` says that the section is the document's abstract.
    """

    start: int
    level: int
    title: str
    is_abstract: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document: characters ``[start, end)`` under a title. Its subsections follow its own text.

    The sections of level 1 tile the document. The subsections of a section tile the rest of it after its own text.
    ``index`` is the place in document order; a section precedes its subsections.
    """

    id: str
    document_id: str
    index: int
    level: int
    title: str
    start: int
    end: int
    parent_id: str = ""
    is_abstract: bool = False

    @property
    def name(self) -> str:
        """The title, else "abstract" or "untitled"."""
        return self.title or ("abstract" if self.is_abstract else "untitled")


@dataclass(frozen=True, slots=True)
class Leaf:
    """The part of a segment that belongs to a section's own text: characters ``[start, end)`` of the document."""

    section_id: str
    segment_id: str
    start: int
    end: int


def make_sections(namespace: str, document_id: str, headings: Iterable[Heading], *, length: int) -> tuple[Section, ...]:
    """Return the outline that these headings give to a document of ``length`` characters; empty without headings.

    The level of a section is its depth in the outline, from 1, whatever levels the headings skip.

    Args:
        headings: by ``start``, the first one at 0; neither is checked. The parent of a heading is the last heading
            before it with a smaller level.

    Examples:
        >>> headings = [Heading(0, 2, "A"), Heading(5, 4, "B"), Heading(9, 2, "C")]
        >>> outline = make_sections("n", "d", headings, length=12)
        >>> [(section.title, section.level, section.start, section.end) for section in outline]
        [('A', 1, 0, 9), ('B', 2, 5, 9), ('C', 1, 9, 12)]
    """
    sections: list[Section] = []
    levels: list[int] = []
    open_places: list[int] = []
    for index, heading in enumerate(headings):
        while open_places and levels[open_places[-1]] >= heading.level:
            closed = open_places.pop()
            sections[closed] = replace(sections[closed], end=heading.start)
        sections.append(
            Section(
                id=section_id(namespace, document_id, index),
                document_id=document_id,
                index=index,
                level=len(open_places) + 1,
                title=heading.title,
                start=heading.start,
                end=length,
                parent_id=sections[open_places[-1]].id if open_places else "",
                is_abstract=heading.is_abstract,
            )
        )
        levels.append(heading.level)
        open_places.append(index)
    return tuple(sections)


def list_leaves(sections: Sequence[Section], segments: Iterable[Segment]) -> list[Leaf]:
    """Return the leaves of an outline, in document order; none without sections.

    Together they cover all segments that are evidence. A segment has one leaf for each section that it touches.

    Args:
        sections: all sections of a document, by index.
        segments: all segments of the document, by index; echoes are left out.
    """
    own = iter(own_ranges(sections))
    current = next(own, None)
    leaves: list[Leaf] = []
    for segment in segments:
        at = segment.start
        while current is not None and not segment.echo and at < segment.end:
            section, end = current
            if end > at:
                leaves.append(Leaf(section.id, segment.id, at, min(end, segment.end)))
                at = leaves[-1].end
            if end <= segment.end:
                current = next(own, None)
    return leaves


def own_ranges(sections: Sequence[Section]) -> Iterator[tuple[Section, int]]:
    """Yield each section and the end of its own text: the start of the next section of any level.

    The own text of the last section ends with the section. ``sections`` are all sections of a document, by index.
    """
    for place, section in enumerate(sections):
        following = sections[place + 1 : place + 2]
        yield section, following[0].start if following else section.end
