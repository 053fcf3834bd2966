"""What is read for the report on each community: its own statements, or the reports of the communities below it.

It knows no model and no database. Invariants: statements under a community are those of its segments and relations, and
of all below it; what is read fits the room that there is, but for the first, which is read whatever it takes.

Source: GraphRAG (arXiv 2404.16130), section 3.1.5: where the statements under a community do not fit, the reports of
its sub-communities take their place, the longest first. (In the released code that never happens.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest

from memgraph_rag.contracts import TokenCounter
from memgraph_rag.systems.graphrag.community_sources import Source, Sources
from memgraph_rag.systems.graphrag.community_tree import CommunityTree
from memgraph_rag.systems.graphrag.entity_graph import EntityGraph
from memgraph_rag.types import Overview, Relation

__all__ = ["Statements", "read_relations", "read_segments", "spelled_out"]

_MOST_SEGMENTS = 64  # of one lowest community that are read for its report
_MOST_RELATIONS = 64  # of one community
_MOST_SHOWN = 64  # statements of one report
_MOST_SPELLED_OUT = 50  # members of a community of which all statements may be read, instead of reports


def read_segments(graph: EntityGraph, tree: CommunityTree, place: int) -> list[str]:
    """The ids of the segments of a lowest community that are read: those that name most of its members first."""
    members = frozenset(tree.communities[place].members)
    of_community = tree.segments.get(place, ())
    named = {segment_id: len(members.intersection(graph.named[segment_id])) for segment_id in of_community}
    return sorted(of_community, key=lambda segment_id: -named[segment_id])[:_MOST_SEGMENTS]


def read_relations(graph: EntityGraph, tree: CommunityTree, place: int) -> list[Relation]:
    """The relations of a community that are read: those of the entities of the highest degrees first."""

    def rank(relation: Relation) -> tuple[int, str]:
        ends = [graph.place_of[relation.source_id], graph.place_of[relation.target_id]]
        return -int(graph.degrees[ends].sum()), relation.description

    return sorted(tree.relations.get(place, ()), key=rank)[:_MOST_RELATIONS]


def spelled_out(tree: CommunityTree, place: int) -> Iterator[int]:
    """A community, and all below it whose own statements may be read for its report."""
    yield place
    community = tree.communities[place]
    if len(community.members) <= _MOST_SPELLED_OUT:
        for child in community.children:
            yield from spelled_out(tree, child)


@dataclass(slots=True)
class Statements:
    """The statements of one tree.

    Args:
        sources: of the segments that are read.
        count_tokens: of the model that reads.
        room: most tokens of what is read for one report.
        spells_out: whether statements below a community are read for its report at all, or reports only.
    """

    graph: EntityGraph
    tree: CommunityTree
    sources: Sources
    count_tokens: TokenCounter
    room: int
    spells_out: bool
    _under: dict[int, list[Source] | None] = field(default_factory=dict[int, "list[Source] | None"])

    def of(self, place: int, reports: Mapping[int, Overview]) -> list[Source]:
        """What is read for the report on a community.

        Args:
            reports: those on the communities below it, by place.
        """
        children = self.tree.communities[place].children
        own = self._own(place)
        read = {child: self._all_under(child) if self.spells_out else None for child in children}
        lines = {child: list(_of_report(reports[child])) for child in children}
        used = {child: lines[child] if statements is None else statements for child, statements in read.items()}
        tokens = {child: self._tokens(statements) for child, statements in used.items()}
        total = self._tokens(own) + sum(tokens.values())
        for child in sorted(tokens, key=lambda child: -tokens[child]):
            if total <= self.room:
                break
            used[child] = lines[child]
            total += self._tokens(lines[child]) - tokens[child]
        if all(used[child] is read[child] for child in children):
            own = _by_weight([*own, *chain.from_iterable(used.values())])
            used = {}
        largest_first = sorted(used, key=lambda child: -len(self.tree.communities[child].members))
        in_turn = chain.from_iterable(zip_longest(*(used[child] for child in largest_first)))
        return self._fitting([*own, *(source for source in in_turn if source is not None)])

    def _own(self, place: int) -> list[Source]:
        """The statements of a community that none below it has, the weightiest first."""
        of_relations = (
            self.sources.of_relation(relation, self._ends(relation))
            for relation in read_relations(self.graph, self.tree, place)
        )
        members = self.tree.communities[place].members
        segments = read_segments(self.graph, self.tree, place)
        return _by_weight([*filter(None, of_relations), *self.sources.of_segments(segments, members)])

    def _all_under(self, place: int) -> list[Source] | None:
        """All statements of a community and those below it; None where they would not fit."""
        if place not in self._under:
            community = self.tree.communities[place]
            statements: list[Source] | None = None
            if len(community.members) <= _MOST_SPELLED_OUT:
                below = [self._all_under(child) for child in community.children]
                if None not in below:
                    statements = [*self._own(place), *chain.from_iterable(filter(None, below))]
            is_short = statements is not None and self._tokens(statements) <= self.room
            self._under[place] = statements if is_short else None
        return self._under[place]

    def _ends(self, relation: Relation) -> Iterator[int]:
        for place in (relation.source_id, relation.target_id):
            yield self.graph.place_of[place]

    def _tokens(self, statements: Sequence[Source]) -> int:
        return sum(self.count_tokens([_numbered(statement) for statement in statements])) if statements else 0

    def _fitting(self, statements: Sequence[Source]) -> list[Source]:
        distinct = list({statement.text.casefold(): statement for statement in reversed(statements)}.values())[::-1]
        counts = self.count_tokens([_numbered(statement) for statement in distinct[:_MOST_SHOWN]])
        fitting: list[Source] = []
        room = self.room
        for statement, tokens in zip(distinct, counts, strict=False):
            if tokens <= room or not fitting:
                fitting.append(statement)
                room -= tokens
        return fitting


def _numbered(statement: Source) -> str:
    return f"99. {statement.text}\n"


def _by_weight(statements: Iterable[Source]) -> list[Source]:
    return sorted(statements, key=lambda statement: -statement.weight)


def _of_report(report: Overview) -> Iterator[Source]:
    """The findings of a report, with their spans."""
    for finding in report.findings:
        yield Source(finding.text, finding.spans, report.rating)
