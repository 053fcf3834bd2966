"""The layer ``library``: overviews over the documents of a memory, level above level up to one root.

Similar documents share an overview, similar overviews share an overview of the next level, and so on. This continues
PECAN's summary graph across documents, by similarity instead of order in a text. The layer needs no language model: an
overview's text is the most central sentences below it. The module knows the graph by its contract. Invariants: each
readable document is under exactly one overview of each level; the weights of an overview's edges sum to 1; the same
documents, added in the same steps, give the same library in every namespace and store; a second build changes nothing;
a memory of one document has no library.

``tree`` decides which groups are formed again after a change.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from memgraph_rag.contracts import Embedder, MemoryGraph, Models, Progress
from memgraph_rag.layers.extracts import Line, central_lines
from memgraph_rag.layers.library.shelf import Shelf, cosine
from memgraph_rag.layers.library.tree import Bounds, LibraryTree, Member, regroup
from memgraph_rag.types import Node, Overview, OverviewRows, Summarizes, Vector, as_line, make_id, overview_id

_AT_ONCE = 32  # overviews in one transaction
_TOKENS = 64  # of an overview's text, by the embedder's count
_NODES_OF_DOCUMENT = 8  # central nodes of a document that get an edge from the overview above it
_LEAST_COSINE = 0.01  # a smaller cosine counts as this


class LibraryLayer:
    """The layer that builds the library.

    Args:
        bounds: how many documents, or overviews, one overview covers.
    """

    name = "library"
    spans_documents: Literal[True] = True
    needs_language = False
    requires: Sequence[str] = ()

    def __init__(self, *, bounds: Bounds = Bounds()) -> None:  # noqa: B008 - it is frozen
        self._bounds = bounds

    def build(self, graph: MemoryGraph, *, models: Models, progress: Progress | None = None) -> Iterator[OverviewRows]:
        """Yield the missing overviews, level by level; see ``MemoryLayer.build``.

        A level comes in several parts. The first part of a level names the overviews that it replaces. Fewer than two
        documents give only a note. A complete library yields nothing and only costs the lists of ids and overviews;
        otherwise the embeddings of all segments are read once.
        """
        overviews = graph.overviews(self.name)
        ids = graph.document_ids()
        if len(ids) < 2:
            yield OverviewRows(notes={"too few documents for a library": 1})
        if _is_whole(overviews, ids):
            return
        shelf = Shelf.read(graph)
        tree = shelf.tree(overviews)
        torn = [overview.id for overview in overviews if overview.id not in tree.below]
        texts = {overview.id: overview.text for overview in overviews}
        builder = _OverviewBuilder(graph, models.embedder, shelf, tree, texts)
        level = 0
        while len(tree.levels[level]) > 1:
            formed, dissolved = regroup(tree.orphans(level), tree.groups(level), self._bounds)
            level += 1
            removed = (*torn, *tree.remove(level, dissolved))
            for first in range(0, len(formed), _AT_ONCE):
                if progress is not None:
                    progress(f"library, level {level}", first, len(formed))
                yield builder.rows(formed[first : first + _AT_ONCE], level, removed=removed)
                removed, torn = (), []


def _is_whole(overviews: Sequence[Overview], document_ids: Sequence[str]) -> bool:
    """Return whether the first overview covers all documents, and each level, too; True for less than two documents."""
    if len(document_ids) < 2 or not overviews:
        return len(document_ids) < 2
    root = overviews[0]
    covered = Counter[int]()
    for overview in overviews:
        covered[overview.level] += len(overview.documents)
    return set(root.documents).issuperset(document_ids) and set(covered.values()) == {len(root.documents)}


@dataclass(slots=True)
class _Content:
    """The content below one overview: nodes with their cosines to its centre, and the lines that its text may use."""

    cosines: dict[str, float] = field(default_factory=dict[str, float])
    lines: list[Line] = field(default_factory=list[Line])

    def weights(self, chosen: Sequence[Line]) -> dict[str, float]:
        """Return a weight above 0 for each node id; the weights sum to 1.

        Half of a weight comes from the number of chosen lines of the node, half from its cosine.
        """
        near = np.maximum(np.array(list(self.cosines.values())), _LEAST_COSINE)
        line_counts = np.array([sum(line.source_id == name for line in chosen) for name in self.cosines], np.float64)
        line_counts = line_counts if chosen else near
        shares = (near / near.sum() + line_counts / line_counts.sum()) / 2
        return dict(zip(self.cosines, shares.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class _OverviewBuilder:
    """The builder of overviews from groups. It also adds the overviews to the tree.

    Attributes:
        texts: the text of each existing overview, by id.
    """

    graph: MemoryGraph
    embedder: Embedder
    shelf: Shelf
    tree: LibraryTree
    texts: dict[str, str]

    def rows(self, groups: Sequence[Sequence[Member]], level: int, *, removed: Sequence[str]) -> OverviewRows:
        """Return one overview with its edges for each group, and put it into the tree."""
        documents = [sorted(name for member in group for name in member.documents) for group in groups]
        centres = [self.shelf.centre(names) for names in documents]
        contents = (self._gather_documents if level == 1 else self._gather_overviews)(groups, centres)
        overviews: list[Overview] = []
        edges: list[Summarizes] = []
        for group, names, centre, content in zip(groups, documents, centres, contents, strict=True):
            if not content.cosines:  # all its documents were forgotten meanwhile
                continue
            chosen = central_lines(content.lines, centre, tokens=_TOKENS, count_tokens=self.embedder.count_tokens)
            overview = self._make_overview(group, names, centre, "\n".join(line.text for line in chosen), level)
            overviews.append(overview)
            edges += [Summarizes(overview.id, target, weight) for target, weight in content.weights(chosen).items()]
            member = Member(overview.id, overview.key, overview.documents, centre)
            self.tree.put(level, member, [member.id for member in group])
            self.texts[overview.id] = overview.text
        return OverviewRows(tuple(overviews), tuple(edges), tuple(removed))

    def _make_overview(
        self, group: Sequence[Member], documents: Sequence[str], centre: Vector, text: str, level: int
    ) -> Overview:
        title = self.shelf.title(documents, centre)
        keys = [member.key for member in group]
        text = text or title or keys[0].splitlines()[0]
        key = make_id("", LibraryLayer.name, level, title, text, *keys)
        (tokens,) = self.embedder.count_tokens([as_line(text)])
        name = overview_id(self.graph.namespace, LibraryLayer.name, key)
        return Overview(name, LibraryLayer.name, key, level, title, text, tokens, tuple(documents))

    def _gather_documents(self, groups: Sequence[Sequence[Member]], centres: Sequence[Vector]) -> list[_Content]:
        """Return the content of each group of documents: the top-level nodes of the documents."""
        nodes_of = defaultdict[str, list[Node]](list)
        nodes = self.graph.top_nodes([member.id for group in groups for member in group])
        vectors = self.shelf.vectors(nodes, self.embedder)
        for node in nodes:
            nodes_of[node.document_id].append(node)
        return [
            self._gather_tops([nodes_of[member.id] for member in group], vectors, centre)
            for group, centre in zip(groups, centres, strict=True)
        ]

    def _gather_tops(self, tops: Sequence[Sequence[Node]], vectors: Mapping[str, Vector], centre: Vector) -> _Content:
        """Return the nodes of each document nearest to the centre, and the first sentence of the nearest one."""
        content = _Content()
        for nodes in tops:
            cosines = [(cosine(vectors[node.id], centre), node) for node in nodes]
            nearest = sorted(cosines, key=lambda pair: -pair[0])[:_NODES_OF_DOCUMENT]
            content.cosines |= {node.id: score for score, node in nearest}
            content.lines += [self.shelf.line(node, vectors[node.id]) for _, node in nearest[:1]]
        return content

    def _gather_overviews(self, groups: Sequence[Sequence[Member]], centres: Sequence[Vector]) -> list[_Content]:
        """Return the content of each group of overviews: the overviews and the first line of each text."""
        return [
            _Content(
                {member.id: cosine(member.vector, centre) for member in group},
                [Line(member.id, self.texts[member.id].split("\n", 1)[0], member.vector) for member in group],
            )
            for group, centre in zip(groups, centres, strict=True)
        ]
