"""The layer ``clusters``: RAPTOR's tree. The model summarizes clusters of similar nodes, level by level.

It turns segments into points and edges, and knows no database. Invariants: a summary sums up only nodes of lower
levels; a node without a summary is clustered again on the next level; building always ends, because each level has
fewer nodes than the level below it, or is the last.

Source: RAPTOR (arXiv 2401.18059), section 3. Differences from the paper: nodes of equal text are clustered and read as
one node; a cluster that is too large is split by its vectors, then in document order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from memgraph_rag.contracts import Models, Progress, SplitDocument
from memgraph_rag.layers.batches import AROUND_TOKENS, name_step
from memgraph_rag.layers.growth import Growth, grow, make_points
from memgraph_rag.layers.prose import as_paragraph, check_prose, goes_in_circles
from memgraph_rag.systems.raptor.soft_clusters import Clustering, require_clustering, soft_clusters
from memgraph_rag.types import (
    Generation,
    LayerRows,
    Matrix,
    Node,
    Prompt,
    Summarizes,
    as_line,
)

INSTRUCTION = (
    "Below are pieces of a text, one on each line. Write one paragraph that sums them up and keeps as many key details "
    "as possible: names, numbers, places, what happened and why. Use full names instead of pronouns. Use at most 70 "
    "words. Write only the paragraph, without introduction or explanation."
)

_MOST_SPLITS = 5  # nested splits of a cluster by its vectors


class _Level:
    """The nodes that one level clusters. Nodes of equal text share one place.

    Attributes:
        nodes: for each place, the nodes with its text, in document order.
        texts: for each place, its text on one line.
        tokens: for each place, the tokens of its text and a newline.
        vectors: (places, d) float32, the embeddings of the texts.
    """

    def __init__(self, nodes: Sequence[Node], models: Models) -> None:
        by_text: dict[str, list[Node]] = {}
        for node in nodes:
            by_text.setdefault(as_line(node.text), []).append(node)
        self.nodes = list(by_text.values())
        self.texts = list(by_text)
        self.tokens = [alike[0].tokens + 1 for alike in self.nodes]  # with its newline
        self.vectors: Matrix = models.embedder.embed(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    def sum_tokens(self, members: Sequence[int]) -> int:
        return sum(self.tokens[place] for place in members)


@dataclass(slots=True)
class _Growth(Growth):
    """The tree of one document while it is built."""

    refused: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    """Inputs for which the model wrote no usable summary. They are not tried again."""


@dataclass(frozen=True, slots=True)
class _Task:
    """One cluster to summarize."""

    members: tuple[Node, ...]
    prompt: Prompt


class ClustersLayer:
    """The layer that builds RAPTOR's tree over the segments of each document.

    Args:
        cluster_tokens: a cluster of more tokens is split. The model's window is the limit if it is smaller.
        summary_tokens: most tokens of a summary.
        few_nodes: a level of at most this many nodes is not clustered. A document with at most this many segments has
            no tree.
        most_levels: most levels of a tree.
        clustering: constants of the clustering.
    """

    name = "clusters"
    needs_language = True
    needs_recognizer = False
    requires: Sequence[str] = ()

    def __init__(
        self,
        *,
        cluster_tokens: int = 3500,
        summary_tokens: int = 100,
        few_nodes: int = 11,
        most_levels: int = 5,
        clustering: Clustering | None = None,
    ) -> None:
        require_clustering()
        self._cluster_tokens = cluster_tokens
        self._summary_tokens = summary_tokens
        self._few_nodes = few_nodes
        self._most_levels = most_levels
        self._clustering = clustering or Clustering()

    def build(
        self,
        documents: Sequence[SplitDocument],
        *,
        namespace: str,
        models: Models,
        progress: Progress | None = None,
    ) -> list[LayerRows]:
        """Return the summaries and edges of each document, in order. One model call writes a level of all documents.

        A document with at most ``few_nodes`` segments that are not blank gets no rows, only a note of why.
        """
        growths = [self._begin(document) for document in documents]
        add_level = partial(self._add_level, namespace=namespace, models=models, progress=progress)
        return grow(growths, add_level, most_levels=self._most_levels)

    def _begin(self, document: SplitDocument) -> _Growth:
        segments = [segment for segment in document.segments if segment.text.strip()]
        growth = _Growth(document.id, segments)
        if len(segments) <= self._few_nodes:
            growth.finished = True
            growth.notes["too few segments for clusters"] = 1
        return growth

    def _add_level(
        self, growing: list[_Growth], level: int, *, namespace: str, models: Models, progress: Progress | None
    ) -> None:
        tasks = [list(self._list_tasks(growth, models)) for growth in growing]

        prompts = [task.prompt for of_document in tasks for task in of_document]
        generations = models.language.generate(
            prompts,
            max_tokens=self._summary_tokens,
            stop=goes_in_circles,
            progress=name_step(progress, f"summarising clusters, level {level}"),
        )
        written = iter(generations)
        for growth, of_document in zip(growing, tasks, strict=True):
            self._grow(growth, [(task, next(written)) for task in of_document], level, namespace, models)

    def _list_tasks(self, growth: _Growth, models: Models) -> Iterator[_Task]:
        """Yield the clusters of one level, small enough to be read, without clusters that the model refused before."""
        level = _Level(growth.nodes, models)
        window = models.language.window - self._summary_tokens - AROUND_TOKENS
        most = max(1, min(self._cluster_tokens, window))
        for members in dict.fromkeys(self._pieces(level, range(len(level)), most)):
            inputs = tuple(level.texts[place] for place in members)
            if inputs in growth.refused:
                continue
            nodes = tuple(node for place in members for node in level.nodes[place])
            yield _Task(nodes, Prompt(INSTRUCTION, inputs))

    def _pieces(self, level: _Level, places: Sequence[int], most: int, *, splits: int = 0) -> Iterator[tuple[int, ...]]:
        """Yield the clusters of these places. A cluster of too many tokens is clustered again while that helps."""
        tokens = level.sum_tokens(places)
        for cluster in soft_clusters(level.vectors[list(places)], self._clustering):
            members = tuple(places[place] for place in cluster)
            if len(members) == 1 or level.sum_tokens(members) <= most:
                yield members
            elif splits < _MOST_SPLITS and (not splits or level.sum_tokens(members) < tokens):
                yield from self._pieces(level, members, most, splits=splits + 1)
            else:
                yield from _cut_consecutive(level, members, most)

    def _grow(
        self, growth: _Growth, written: list[tuple[_Task, Generation]], level: int, namespace: str, models: Models
    ) -> None:
        """Add a level of summaries with their edges, and decide whether it is the last level."""
        kept: list[tuple[_Task, str]] = []
        for task, generation in written:
            growth.usage += generation.usage
            span, notes = check_prose(generation.text, complete=generation.finish != "length")
            growth.notes.update(notes)
            text = "" if span is None else as_paragraph(generation.text[slice(*span)])
            if span is None or as_line(text) in task.prompt.inputs:
                growth.notes["summary that copies a member" if text else "cluster without a summary"] += 1
                growth.refused.add(task.prompt.inputs)
                continue
            kept.append((task, text))
        new = make_points(
            [text for _, text in kept],
            growth.document_id,
            level,
            layer="clusters",
            namespace=namespace,
            language=models.language,
        )
        growth.points += new
        growth.edges += [
            Summarizes(point.id, member.id, 1 / len(task.members))
            for point, (task, _) in zip(new, kept, strict=True)
            for member in task.members
        ]
        summed_up = {member.id for task, _ in kept for member in task.members}
        above = [node for node in growth.nodes if node.id not in summed_up]
        if new and above:
            growth.notes["node in no summary"] += len(above)
        growth.finished = not new or not self._few_nodes < len(new) + len(above) < len(growth.nodes)
        growth.nodes = [*new, *above]


def _cut_consecutive(level: _Level, members: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """Yield the members in document order, in pieces of at most ``most`` tokens. A longer member is its own piece."""
    piece: list[int] = []
    for place in members:
        if piece and level.sum_tokens([*piece, place]) > most:
            yield tuple(piece)
            piece = []
        piece.append(place)
    if piece:
        yield tuple(piece)
