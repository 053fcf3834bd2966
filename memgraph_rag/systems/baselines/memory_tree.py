"""The layer ``memory_tree``: MemWalker's tree of summaries. The model sums up parts of a text, then the summaries.

A node is an annotation; its properties hold its level and the place of its parent. The layer knows no database.
Invariants: each document with text has one root; a part holds consecutive segments, and each segment that is not blank
is in one part; a part of which the model wrote nothing usable is summed up by its first words.

Source: Chen et al., "Walking Down the Memory Maze" (2310.05029), memory tree construction. The prompts are ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

from memgraph_rag.contracts import LanguageModel, Models, Progress, SplitDocument
from memgraph_rag.layers.batches import AROUND_TOKENS, HEAD, name_step
from memgraph_rag.layers.prose import as_paragraph, check_prose, goes_in_circles
from memgraph_rag.types import Annotation, Generation, LayerRows, Prompt, Segment, Usage, as_line

MEMORY_TREE = "memory_tree"
"""The layer's name."""

_SUM_UP = (
    "Sum up the text above in one fluent paragraph that keeps everything that matters: who did what, where, when and "
    "why. Write the paragraph only."
)
_COMPRESS = (
    "Each line above sums up one part of a text, in order. Write one much shorter paragraph that sums up all of them. "
    "Write the paragraph only."
)
_FIRST_CHARACTERS = 200
_SUMMARY_TOKENS = 200

Item = TypeVar("Item")


@dataclass(slots=True)
class _Tree:
    """The tree of one document while it is built.

    Attributes:
        parts: the segments of each part.
        nodes: text, level and parent's place of each node; -1 without a parent.
        level: places of the nodes that the next level sums up.
    """

    parts: list[list[Segment]]
    nodes: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    level: list[int] = field(default_factory=list[int])
    notes: Counter[str] = field(default_factory=Counter[str])
    usage: Usage = field(default_factory=Usage)

    def add(self, inputs: Sequence[str], generation: Generation, level: int) -> int:
        """Append the node that a generation sums up, and return its place."""
        span, notes = check_prose(generation.text, complete=generation.finish != "length")
        self.notes.update(notes)
        self.usage += generation.usage
        self.notes["part without a summary"] += span is None
        text = first_words(inputs[0]) if span is None else as_paragraph(generation.text[slice(*span)])
        self.nodes.append((text, level, -1))
        return len(self.nodes) - 1

    def rows(self) -> LayerRows:
        """Return the nodes as annotations, the summaries of parts first. A summary of parts names its segments."""
        annotations = [
            Annotation(
                text,
                tuple(segment.id for segment in self.parts[place]) if place < len(self.parts) else (),
                "summary",
                {"level": level, "parent": parent},
            )
            for place, (text, level, parent) in enumerate(self.nodes)
        ]
        return LayerRows(annotations=tuple(annotations), notes=dict(+self.notes), usage=self.usage)


class MemoryTreeLayer:
    """The layer that builds MemWalker's tree over the segments of each document.

    Args:
        part_tokens: most tokens of the segments that are summed up together; a longer segment is a part of its own. The
            paper has segments of 1,000 to 1,200 tokens.
        children: most summaries that are summed up together.
    """

    name = MEMORY_TREE
    needs_language = True
    needs_recognizer = False
    requires: Sequence[str] = ()

    def __init__(self, *, part_tokens: int = 1000, children: int = 8) -> None:
        self._part_tokens = part_tokens
        self._children = max(2, children)

    def build(
        self,
        documents: Sequence[SplitDocument],
        *,
        namespace: str,  # noqa: ARG002 - the contract's
        models: Models,
        progress: Progress | None = None,
    ) -> list[LayerRows]:
        """Return the tree of each document, in order. One model call writes a level of all documents."""
        language = models.language
        room = min(self._part_tokens, language.window - _SUMMARY_TOKENS - AROUND_TOKENS)
        trees = [_Tree(list(_parts(document.segments, room))) for document in documents]
        tasks = [(tree, [as_line(segment.text) for segment in part]) for tree in trees for part in tree.parts]
        level = 1
        for (tree, _), place in zip(tasks, self._write(tasks, _SUM_UP, level, language, progress), strict=True):
            tree.level.append(place)
        while any(len(tree.level) > 1 for tree in trees):
            level += 1
            self._add_level(trees, level, language, progress)
        return [tree.rows() for tree in trees]

    def _add_level(
        self, trees: Sequence[_Tree], level: int, language: LanguageModel, progress: Progress | None
    ) -> None:
        """Sum up the highest level of each tree that has no root yet."""
        groups = [
            (tree, group) for tree in trees if len(tree.level) > 1 for group in even_groups(tree.level, self._children)
        ]
        for tree, _ in groups:
            tree.level = []
        tasks = [(tree, [tree.nodes[place][0] for place in group]) for tree, group in groups]
        written = self._write(tasks, _COMPRESS, level, language, progress)
        for (tree, group), parent in zip(groups, written, strict=True):
            tree.level.append(parent)
            for place in group:
                tree.nodes[place] = (*tree.nodes[place][:2], parent)

    def _write(
        self,
        tasks: Sequence[tuple[_Tree, list[str]]],
        task: str,
        level: int,
        language: LanguageModel,
        progress: Progress | None,
    ) -> list[int]:
        """Let the model sum up the inputs of each task, and return the places of the new nodes in their trees."""
        prompts = [Prompt(HEAD, tuple(inputs), task) for _, inputs in tasks]
        written = language.generate(
            prompts,
            max_tokens=_SUMMARY_TOKENS,
            stop=goes_in_circles,
            progress=name_step(progress, f"summing up, level {level}"),
        )
        return [tree.add(inputs, item, level) for (tree, inputs), item in zip(tasks, written, strict=True)]


def even_groups(items: Sequence[Item], most: int) -> Iterator[list[Item]]:
    """Yield consecutive groups of at most ``most`` items, as few as possible, whose sizes differ by one at most.

    >>> list(even_groups("abcdefg", 3))
    [['a', 'b', 'c'], ['d', 'e'], ['f', 'g']]
    """
    count = -(-len(items) // most)
    for start, end in pairwise(-(-len(items) * place // max(count, 1)) for place in range(count + 1)):
        yield list(items[start:end])


def first_words(text: str) -> str:
    """Return the beginning of a text on one line, for a part that has no summary."""
    return as_line(text)[:_FIRST_CHARACTERS]


def _parts(segments: Sequence[Segment], most_tokens: int) -> Iterator[list[Segment]]:
    """Yield runs of consecutive segments of at most ``most_tokens``, without blank segments and echoes."""
    part: list[Segment] = []
    for segment in segments:
        if segment.echo or not segment.text.strip():
            continue
        if part and sum(item.tokens + 1 for item in [*part, segment]) > most_tokens:
            yield part
            part = []
        part.append(segment)
    if part:
        yield part
