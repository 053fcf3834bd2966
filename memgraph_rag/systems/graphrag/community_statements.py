"""The statements for the report on each community: its own statements, or the reports of the communities below it.

It knows no model and no database. Invariants: the statements under a community come from its segments and relations,
and from those of all communities below it; the chosen statements fit the room, except that the first is always chosen.

Source: GraphRAG (arXiv 2404.16130), section 3.1.5: if the statements under a community do not fit, reports of its
sub-communities replace them, the longest first. (In the released code that never happens.)
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

__all__ = ["Statements", "read_relations", "read_segments", "report_sources", "spelled_out"]

_MOST_SEGMENTS = 64  # of one lowest community, for its report
_MOST_RELATIONS = 64  # of one community
_MOST_SHOWN = 64  # statements of one report
_MOST_SPELLED_OUT = 50  # members of a community whose statements may be read in place of its report


def read_segments(graph: EntityGraph, tree: CommunityTree, place: int) -> list[str]:
    """Return the ids of up to 64 segments of a lowest community, those that name most of its members first.

    A community with children has none.
    """
    members = frozenset(tree.communities[place].members)
    of_community = tree.segments.get(place, ())
    named = {segment_id: len(members.intersection(graph.named[segment_id])) for segment_id in of_community}
    return sorted(of_community, key=lambda segment_id: -named[segment_id])[:_MOST_SEGMENTS]


def read_relations(graph: EntityGraph, tree: CommunityTree, place: int) -> list[Relation]:
    """Return up to 64 relations that no community below holds, those between entities of the highest degrees first."""

    def rank(relation: Relation) -> tuple[int, str]:
        ends = [graph.place_of[relation.source_id], graph.place_of[relation.target_id]]
        return -int(graph.degrees[ends].sum()), relation.description

    return sorted(tree.relations.get(place, ()), key=rank)[:_MOST_RELATIONS]


def spelled_out(tree: CommunityTree, place: int) -> Iterator[int]:
    """Yield a community, and the communities below it whose own statements may be read for its report.

    Below a community of more than 50 members nothing is yielded.
    """
    yield place
    community = tree.communities[place]
    if len(community.members) <= _MOST_SPELLED_OUT:
        for child in community.children:
            yield from spelled_out(tree, child)


@dataclass(slots=True)
class Statements:
    """The statements of the communities of one tree.

    Args:
        sources: the sources in the segments that are read.
        count_tokens: token counter of the model that reads the statements.
        room: most tokens of the statements for one report.
        spells_out: whether statements of the communities below may be used. Otherwise only their reports are used.
    """

    graph: EntityGraph
    tree: CommunityTree
    sources: Sources
    count_tokens: TokenCounter
    room: int
    spells_out: bool
    _under: dict[int, list[Source] | None] = field(default_factory=dict[int, "list[Source] | None"])

    def of(self, place: int, reports: Mapping[int, Overview]) -> list[Source]:
        """Return the statements for the report on a community, in reading order.

        Where the statements under the communities below do not fit ``room``, the findings of the reports on these
        communities replace them, largest first. What still does not fit is left out, except the first statement. Equal
        texts come once, and there are at most 64 statements.

        Args:
            place: the place of the community in the tree.
            reports: the reports on the communities below it, by place.
        """
        children = self.tree.communities[place].children
        own = self._own(place)
        read = {child: self._all_under(child) if self.spells_out else None for child in children}
        lines = {child: list(report_sources(reports[child])) for child in children}
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
        """Return the statements of a community without those of the communities below it, the heaviest first."""
        of_relations = (
            self.sources.of_relation(relation, self._ends(relation))
            for relation in read_relations(self.graph, self.tree, place)
        )
        members = self.tree.communities[place].members
        segments = read_segments(self.graph, self.tree, place)
        return _by_weight([*filter(None, of_relations), *self.sources.of_segments(segments, members)])

    def _all_under(self, place: int) -> list[Source] | None:
        """Return all statements of a community and of those below it, or None if they do not fit the room."""
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


def report_sources(report: Overview) -> Iterator[Source]:
    """Yield the findings of a report as sources, with their spans."""
    for finding in report.findings:
        yield Source(finding.text, finding.spans, report.rating)
