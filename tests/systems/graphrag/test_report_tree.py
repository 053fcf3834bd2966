"""Which reports a cut through the hierarchy of communities takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hand_made import HandMadeGraph, HandMadeSearch, HandMadeSession
from hypothesis import given
from hypothesis import strategies as st

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.systems.graphrag.report_tree import ReportTree
from memgraph_rag.types import Matrix, Overview, Summarizes


class Lettered:
    """Embeds a text so that it is the nearer to every question, the later in the alphabet its last letter is."""

    name = "lettered"
    dimension = 2

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.embedded += texts
        cosines = np.array([(ord(text[-1]) % 26) / 26 for text in texts])
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        return np.tile(np.array([1.0, 0.0], np.float32), (len(texts), 1))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]


class Forest:
    """Reports of which each but some lies below another.

    Args:
        above: for each report the place of the one above it, which comes before it; itself, where it is a root.
    """

    def __init__(self, above: Sequence[int], tokens: Sequence[int]) -> None:
        self.above = {place: parent for place, parent in enumerate(above) if parent != place}
        self.below = {place: [child for child, up in self.above.items() if up == place] for place in range(len(above))}
        self.ids = [f"{place:02}{chr(ord('a') + place % 26)}" for place in range(len(above))]
        self.tokens = list(tokens)
        edges = [Summarizes(self.ids[parent], self.ids[child], 1.0) for child, parent in self.above.items()]
        nodes = [
            Overview(name, "communities", name, self.height(place), "", name, tokens[place], ("d",))
            for place, name in enumerate(self.ids)
        ]
        self.embedder = Lettered()
        self.tree = ReportTree(
            ReadingContext(HandMadeGraph(nodes, edges), HandMadeSearch([]), HandMadeSession(), self.embedder)
        )

    def height(self, place: int) -> int:
        return 1 + max((self.height(child) for child in self.below[place]), default=0)

    def leaves(self, place: int) -> set[int]:
        return set().union(*map(self.leaves, self.below[place])) or {place}

    def depths(self) -> list[int]:
        """How many reports lie above each, and 1: so those below one take more tokens than it does."""
        depths: list[int] = []
        for place in range(len(self.ids)):
            depths.append(1 + depths[self.above[place]] if place in self.above else 1)
        return depths

    def cut(self, most_tokens: int) -> list[int]:
        return sorted(self.ids.index(report.id) for report in self.tree.cut("?", most_tokens))

    def levels(self) -> list[list[int]]:
        """The highest reports, those below all of them that have any, and so on."""
        level = [place for place in self.below if place not in self.above]
        while len(level) == 1 and self.below[level[0]]:
            level = self.below[level[0]]
        levels = [sorted(level)]
        while any(self.below[place] for place in level):
            level = [lower for place in level for lower in self.below[place] or [place]]
            levels.append(sorted(level))
        return levels


@st.composite
def forests(draw: st.DrawFn) -> Forest:
    size = draw(st.integers(1, 24))
    above = [draw(st.integers(0, place)) for place in range(size)]
    return Forest(above, [draw(st.integers(1, 9)) for _ in range(size)])


@given(forests(), st.integers(0, 150))
def test_a_cut_fits_and_takes_no_leaf_twice(forest: Forest, most_tokens: int) -> None:
    cut = forest.cut(most_tokens)
    spoken_of = [leaf for place in cut for leaf in forest.leaves(place)]
    highest, *_ = forest.levels()

    assert sum(forest.tokens[place] for place in cut) <= most_tokens
    assert len(spoken_of) == len(set(spoken_of))
    if sum(forest.tokens[place] for place in highest) <= most_tokens:
        assert set(spoken_of) == set().union(*map(forest.leaves, highest))


@given(forests())
def test_a_level_that_fits_exactly_is_the_cut(forest: Forest) -> None:
    forest = Forest([forest.above.get(place, place) for place in range(len(forest.ids))], forest.depths())
    for level in forest.levels():
        assert forest.cut(sum(forest.tokens[place] for place in level)) == level


@given(forests())
def test_level_projects_lowest_reports_down(forest: Forest) -> None:
    levels = forest.levels()
    for number, level in enumerate(levels):
        assert sorted(forest.ids.index(report.id) for report in forest.tree.level(number)) == level
    assert forest.tree.level(99) == forest.tree.level(len(levels) - 1)


@given(forests())
def test_room_for_all_cuts_at_the_lowest_reports(forest: Forest) -> None:
    assert forest.cut(sum(forest.tokens)) == [place for place, below in forest.below.items() if not below]


def test_the_nearest_to_the_question_gives_way_first() -> None:
    forest = Forest([0, 0, 0, 1, 1, 2, 2], [9, 2, 2, 2, 2, 2, 2])

    assert [forest.cut(most_tokens) for most_tokens in (4, 5, 6, 8)] == [[1, 2], [1, 2], [1, 5, 6], [3, 4, 5, 6]]


def test_nearest_of_too_many_highest_reports_are_kept() -> None:
    forest = Forest([0, 0, 0, 0, 0], [1, 5, 5, 5, 1])

    assert forest.cut(6) == [3, 4], "and not the report over all, though it would fit"
    assert forest.cut(0) == []


def test_a_report_is_embedded_once_for_a_reading() -> None:
    forest = Forest([0, 0, 0, 1, 1, 2, 2], [9, 2, 2, 2, 2, 2, 2])

    cut = forest.tree.cut("?", 6)
    nearest = forest.tree.rank_reports("?", cut)

    assert [report.id for report, _ in nearest] == [forest.ids[place] for place in (6, 5, 1)]
    assert sorted(forest.embedder.embedded) == sorted(set(forest.embedder.embedded))
    assert forest.tree.rank_reports("?", cut) == nearest
