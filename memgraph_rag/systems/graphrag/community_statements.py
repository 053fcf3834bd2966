"""The statements for the report on each community of names: sentences, or the reports of the communities below it.

It knows no model and no database. Invariant: the chosen statements fit the room, or there is only one.

Source: GraphRAG (arXiv 2404.16130), section 3.1.5: reports of sub-communities replace the elements below them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from memgraph_rag.contracts import TokenCounter
from memgraph_rag.systems.graphrag.community_sources import Source, Sources
from memgraph_rag.systems.graphrag.community_tree import CommunityTree
from memgraph_rag.systems.graphrag.entity_graph import EntityGraph
from memgraph_rag.types import Overview

_MOST_SEGMENTS = 64  # of one lowest community, for its report
_MOST_SHOWN = 64  # statements of one report


def read_segments(graph: EntityGraph, tree: CommunityTree, place: int) -> list[str]:
    """Return the ids of up to 64 segments of the lowest community at a place, those naming most of its members first.

    A community with children has none.
    """
    members = frozenset(tree.communities[place].members)
    of_community = tree.segments.get(place, ())
    named = {segment_id: len(members.intersection(graph.named[segment_id])) for segment_id in of_community}
    return sorted(of_community, key=lambda segment_id: -named[segment_id])[:_MOST_SEGMENTS]


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements of the communities of one tree.

    Args:
        sources: the sources in the segments that are read.
        count_tokens: token counter of the model that reads the statements.
        room: most tokens of the statements for one report.
    """

    graph: EntityGraph
    tree: CommunityTree
    sources: Sources
    count_tokens: TokenCounter
    room: int

    def list_sources(self, place: int, reports: Mapping[int, Overview]) -> list[Source]:
        """Return the statements for the report on a community, in reading order.

        These are the findings of the reports below it, in turns, the largest first, or the sentences that name the
        members of a lowest community. What does not fit the room is left out, except the first statement. Equal texts
        come once, and there are at most 64 statements.

        Args:
            place: the place of the community in the tree.
            reports: the reports on the communities below it, by place.
        """
        community = self.tree.communities[place]
        if not community.children:
            segments = read_segments(self.graph, self.tree, place)
            own = self.sources.list_sources(segments, community.members)
            return self._take_fitting(sorted(own, key=lambda statement: -statement.weight))
        largest_first = sorted(community.children, key=lambda child: -len(self.tree.communities[child].members))
        in_turn = chain.from_iterable(zip_longest(*(report_sources(reports[child]) for child in largest_first)))
        return self._take_fitting([source for source in in_turn if source is not None])

    def _take_fitting(self, statements: Sequence[Source]) -> list[Source]:
        distinct = list({statement.text.casefold(): statement for statement in reversed(statements)}.values())[::-1]
        counts = self.count_tokens([f"99. {statement.text}\n" for statement in distinct[:_MOST_SHOWN]])
        fitting: list[Source] = []
        room = self.room
        for statement, tokens in zip(distinct, counts, strict=False):
            if tokens <= room or not fitting:
                fitting.append(statement)
                room -= tokens
        return fitting


def report_sources(report: Overview) -> Iterator[Source]:
    """Yield the findings of a report as sources, with their spans."""
    for finding in report.findings:
        yield Source(finding.text, finding.spans, report.rating)
