"""Nodes as the lines that a model reads: each under the title of its document.

It knows documents by the graph's contract, the session by its room. Invariants: a line holds all that is read of a
node; a heading is said only where the room that the nodes need is left, so what ``token_budget`` says to fit can be
read.
"""

from __future__ import annotations

from collections.abc import Sequence

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.lexical.timestamps import day_of
from memgraph_rag.strategies.token_budget import cost
from memgraph_rag.types import Node, Overview, Segment, as_line

__all__ = ["NodeLines"]

_MOST_OF_A_TITLE = 120  # characters


class NodeLines:
    """The lines of one reading. The titles of documents are read once."""

    def __init__(self, context: ReadingContext) -> None:
        self._graph = context.graph
        self._session = context.session
        self._most_tokens = context.limits.tokens
        self._titles: dict[str, str] = {}
        self._remark = context.remark

    def of(self, nodes: Sequence[Node], *, after: Node | None = None, texts: Sequence[str] | None = None) -> list[str]:
        """A line for each of these nodes, which are read one after the other.

        "Title: text" for a passage or a point, "speaker, day: text" for the rest of a turn that is cut in parts; its
        first part says both itself, and many a text its title. Where nodes of one document follow each other, only the
        first has the title. What is known beside a text stands behind it in brackets: "[last week: 4 to 10 May 2026]".

        Args:
            after: the node that was read before them.
            texts: what is read of each, no longer than its own text; that by default.
        """
        self._learn_titles(nodes)
        room = self._room() - sum(cost(node) for node in nodes)
        lines = []
        read = [node.text for node in nodes] if texts is None else texts
        remarks = self._remark(nodes)
        for before, node, text, remark in zip([after, *nodes], nodes, map(as_line, read), remarks, strict=False):
            heading, line = self._heading(node, before), text
            if heading and _fits(heading, room):
                room -= len(heading.encode())
                line = heading + line
            if remark and _fits(behind := f" [{as_line(remark)}]", room):
                room -= len(behind.encode())
                line += behind
            lines.append(line)
        return lines

    def _learn_titles(self, nodes: Sequence[Node]) -> None:
        unknown = sorted({node.document_id for node in nodes if node.document_id} - self._titles.keys())
        if unknown:
            self._titles |= dict.fromkeys(unknown, "")  # one may be forgotten meanwhile
            for record in self._graph.documents(unknown):
                self._titles[record.id] = as_line(record.title)[:_MOST_OF_A_TITLE].strip()

    def _room(self) -> int:
        if self._most_tokens is None:
            return self._session.tokens_left
        return min(self._session.tokens_left, self._most_tokens - self._session.usage.prompt_tokens)

    def _heading(self, node: Node, before: Node | None) -> str:
        """What is said before a node's text; empty where that says it itself, or the node before it did."""
        if isinstance(node, Segment) and node.speaker:
            name, heading = node.speaker, ", ".join(filter(None, [node.speaker, day_of(node.time)]))
        elif isinstance(node, Overview):
            name = heading = as_line(node.title)[:_MOST_OF_A_TITLE]
        elif before is None or before.document_id != node.document_id:
            name = heading = self._titles[node.document_id]
        else:
            return ""
        return f"{heading}: " if heading and not _begins_with(node.text, name) else ""


def _fits(text: str, room: int) -> bool:
    """Whether there is room, in tokens: no tokenizer makes more of a text than it has bytes."""
    return len(text.encode()) <= room


def _begins_with(text: str, name: str) -> bool:
    """Whether a text begins with a name as whole words, perhaps as a Markdown heading or in bold."""
    first = as_line(text[: 2 * len(name) + 8]).lstrip("#* ").casefold()
    return first.startswith(name.casefold()) and not first[len(name.casefold()) :][:1].isalnum()
