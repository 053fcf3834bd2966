"""Outlines as a tree whose leaves are passages, with scores for its nodes and a selection within a budget.

It knows no model, no search and no store. Invariants: a node comes after its parent, in the order of the documents; a
passage is selected at most once, and all selected passages together fit the budget.

Source: LongRefiner, adaptive refinement (scores, selection). As in the released code, and not in the paper, local
scores are scaled to 0 to 1 over all nodes of a question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memgraph_rag.strategies.token_budget import cost
from memgraph_rag.types import Section, Segment, list_leaves

Scores = NDArray[np.float64]
"""(n,) one score for each node of the tree."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Characters ``[start, end)`` of a document, within one segment and one section."""

    segment: Segment
    start: int
    end: int

    @property
    def is_whole(self) -> bool:
        """Whether the passage covers its whole segment."""
        return (self.start, self.end) == (self.segment.start, self.segment.end)

    @property
    def text(self) -> str:
        """The text of the passage."""
        return self.segment.text[self.start - self.segment.start : self.end - self.segment.start]

    @property
    def tokens(self) -> int:
        """The tokens of the passage: its share of the segment's tokens, rounded up."""
        whole = self.segment.end - self.segment.start
        return -(-cost(self.segment) * (self.end - self.start) // whole)


@dataclass(slots=True)
class OutlineTree:
    """Sections and passages of several documents. A node is known by its place, from 0.

    Attributes:
        parents: the place of each node's parent; -1 for a top node.
        sections: the section of each node; None for a passage.
        passages: the passage of each leaf, by place.
    """

    parents: list[int] = field(default_factory=list[int])
    sections: list[Section | None] = field(default_factory=list["Section | None"])
    passages: dict[int, Passage] = field(default_factory=dict[int, Passage])

    def add(self, sections: Sequence[Section], segments: Iterable[Segment]) -> None:
        """Append a document. Segments of a document without sections become top nodes. Echoes are left out."""
        by_id = {segment.id: segment for segment in segments if not segment.echo}
        if not sections:
            for segment in by_id.values():
                self._add(-1, None, Passage(segment, segment.start, segment.end))
            return
        leaves: dict[str, list[Passage]] = {}
        for leaf in list_leaves(sections, by_id.values()):
            leaves.setdefault(leaf.section_id, []).append(Passage(by_id[leaf.segment_id], leaf.start, leaf.end))
        places: dict[str, int] = {}
        for section in sections:
            places[section.id] = place = self._add(places.get(section.parent_id, -1), section)
            for passage in leaves.get(section.id, ()):
                self._add(place, None, passage)

    def _add(self, parent: int, section: Section | None, passage: Passage | None = None) -> int:
        place = len(self.parents)
        self.parents.append(parent)
        self.sections.append(section)
        if passage is not None:
            self.passages[place] = passage
        return place

    def titles(self, place: int) -> str:
        """Return the titles of a node and of the sections around it, outermost first, joined by " / "; "" if none."""
        titles: list[str] = []
        while place >= 0:
            section = self.sections[place]
            titles += [section.title] if section is not None and section.title else []
            place = self.parents[place]
        return " / ".join(reversed(titles))

    def local_scores(self, of_passages: Mapping[int, float]) -> Scores:
        """Return the local scores: a section has the mean score of its children. All are scaled to 0 to 1.

        A section without passages has 0. If all scores are equal, each is 1.

        Args:
            of_passages: scores of passages, by place.
        """
        totals, counts = np.zeros(len(self.parents)), np.zeros(len(self.parents))
        for place in reversed(range(len(self.parents))):
            if place in of_passages:
                totals[place], counts[place] = of_passages[place], 1.0
            if counts[place]:
                totals[place] /= counts[place]
                if (parent := self.parents[place]) >= 0:
                    totals[parent] += totals[place]
                    counts[parent] += 1
        scored = counts > 0
        if not scored.any():
            return totals
        least, most = totals[scored].min(), totals[scored].max()
        return np.where(scored, (totals - least) / (most - least), 0.0) if most > least else scored.astype(np.float64)

    def global_scores(self, chosen: Collection[int]) -> Scores:
        """Return the global scores: 1 for a chosen section. The children of a node share its score equally.

        Args:
            chosen: places of sections.
        """
        children = np.bincount([parent for parent in self.parents if parent >= 0], minlength=len(self.parents))
        scores = np.zeros(len(self.parents))
        for place, parent in enumerate(self.parents):
            if place in chosen:
                scores[place] = 1.0
            elif parent >= 0:
                scores[place] = scores[parent] / children[parent]
        return scores

    def select(self, scores: Scores, *, most_tokens: int, most_segments: int | None = None) -> list[int]:
        """Select passages within a budget, and return their places, ascending.

        Nodes are tried by score, best first. A section brings all passages below it. A node that does not fit is
        skipped, and the next node is tried.

        Args:
            scores: (n,) one for each node.
            most_tokens: most tokens of all selected passages.
            most_segments: most segments that the selected passages belong to; None for no limit.
        """
        ends = self._find_ends()
        taken: set[int] = set()
        segment_ids: set[str] = set()
        for best in np.argsort(-scores, kind="stable").tolist():
            below = [place for place in range(best, ends[best]) if place in self.passages and place not in taken]
            needed = sum(self.passages[place].tokens for place in below)
            touched = segment_ids | {self.passages[place].segment.id for place in below}
            if needed <= most_tokens and (most_segments is None or len(touched) <= most_segments):
                most_tokens -= needed
                taken.update(below)
                segment_ids = touched
        return sorted(taken)

    def _find_ends(self) -> list[int]:
        """Return for each node the place after its last descendant."""
        ends = list(range(1, len(self.parents) + 1))
        for place in reversed(range(len(self.parents))):
            if (parent := self.parents[place]) >= 0:
                ends[parent] = max(ends[parent], ends[place])
        return ends
