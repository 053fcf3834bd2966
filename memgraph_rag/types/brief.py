"""A brief: what an agent should know at the start, as lines that each cite their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from memgraph_rag.types.plain import plain_fields

BriefSection = Literal["holds", "wish", "open", "decision", "deed", "last"]

HEADINGS: dict[BriefSection, str] = {
    "holds": "What holds",
    "wish": "Wishes and instructions",
    "open": "Open ends",
    "decision": "Decisions",
    "deed": "Done",
    "last": "Spoken of last",
}
"""The sections in the order in which a brief prints them, with their headings."""


@dataclass(frozen=True, slots=True)
class BriefLine:
    """A line of a brief; ``document.text[start:end]`` is the quotation that it rests on.

    Attributes:
        said: the time of the quotation (ISO 8601).
    """

    section: BriefSection
    text: str
    document_key: str
    segment_id: str
    start: int
    end: int
    speaker: str
    said: str


@dataclass(frozen=True, slots=True)
class Brief:
    """The lines of a brief, by section, the newest of each section first."""

    lines: tuple[BriefLine, ...] = ()

    @property
    def text(self) -> str:
        """The brief as Markdown; empty without lines.

        ``[2:10-25]`` after a line are the characters 10 to 25 of the second source. The sources are the last lines.
        """
        sources = {key: number for number, key in enumerate(dict.fromkeys(line.document_key for line in self.lines), 1)}
        parts: list[str] = []
        for section, heading in HEADINGS.items():
            lines = [line for line in self.lines if line.section == section]
            parts += [f"{heading}:"] if lines else []
            parts += [f"- {line.text} [{sources[line.document_key]}:{line.start}-{line.end}]" for line in lines]
        parts += ["Sources:"] if sources else []
        parts += [f"{number} {key}" for key, number in sources.items()]
        return "\n".join(parts)

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """Return the text and the lines, for JSON."""
        return {"text": self.text, "lines": [plain_fields(line) for line in self.lines]}
