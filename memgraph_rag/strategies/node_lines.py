"""Write nodes as the lines that a model reads, each document's below its title.

The module reads documents through the graph's contract and the remaining tokens from the session. Invariants: a line
holds the text of its node without markup, whole unless a shorter one is given; a heading is written only if the texts
still fit, so every node that ``token_budget`` accepts can be read.
"""

from __future__ import annotations

from collections.abc import Sequence

from memgraph_rag.contracts import ReadingContext
from memgraph_rag.lexical.markdown import strip_markup
from memgraph_rag.lexical.timestamps import format_day
from memgraph_rag.strategies.token_budget import cost
from memgraph_rag.types import Node, Overview, Segment, as_line

_MOST_OF_A_TITLE = 120  # characters


class NodeLines:
    """The lines of one reading. Each document's title is read from the graph once."""

    def __init__(self, context: ReadingContext) -> None:
        self._graph = context.graph
        self._session = context.session
        self._most_tokens = context.limits.tokens
        self._titles: dict[str, str] = {}
        self._remark = context.remark

    def write(
        self, nodes: Sequence[Node], *, after: Node | None = None, texts: Sequence[str] | None = None
    ) -> list[str]:
        """Return one line for each of these nodes, in order.

        The form is "Title: text" for a passage, a point or an overview, and "speaker, day: text" for a later part of a
        long turn. A text that begins with its own title or speaker gets no heading. Of adjacent passages and points of
        one document only the first has the title. A remark follows the text in brackets: "[last week: 4 to 10 May
        2026]". A heading or a remark that might not fit the window or the token limit is left out.

        Args:
            after: the node that was read before these nodes.
            texts: the text to read of each node, no longer than the node's text; by default the node's text, without
                markup.
        """
        self._read_titles(nodes)
        room = self._count_room() - sum(cost(node) for node in nodes)
        lines = []
        if texts is None:
            texts = [
                strip_markup(node.text, self._titles[node.document_id]) if isinstance(node, Segment) else node.text
                for node in nodes
            ]
        remarks = self._remark(nodes)
        written = [as_line(text) for text in texts]
        for before, node, line, remark in zip([after, *nodes], nodes, written, remarks, strict=False):
            heading = self._heading(node, before)
            if heading and _fits(heading, room):
                room -= len(heading.encode())
                line = heading + line
            if remark and _fits(suffix := f" [{as_line(remark)}]", room):
                room -= len(suffix.encode())
                line += suffix
            lines.append(line)
        return lines

    def _read_titles(self, nodes: Sequence[Node]) -> None:
        unknown = sorted({node.document_id for node in nodes if node.document_id} - self._titles.keys())
        if unknown:
            self._titles |= dict.fromkeys(unknown, "")  # a document may be forgotten meanwhile
            for record in self._graph.documents(unknown):
                self._titles[record.id] = as_line(record.title)[:_MOST_OF_A_TITLE].strip()

    def _count_room(self) -> int:
        if self._most_tokens is None:
            return self._session.tokens_left
        return min(self._session.tokens_left, self._most_tokens - self._session.usage.prompt_tokens)

    def _heading(self, node: Node, before: Node | None) -> str:
        """Return the heading for a node; empty if the text begins with it or the node before has the same document."""
        if isinstance(node, Segment) and node.speaker:
            name, heading = node.speaker, ", ".join(filter(None, [node.speaker, format_day(node.time)]))
        elif isinstance(node, Overview):
            name = heading = as_line(node.title)[:_MOST_OF_A_TITLE]
        elif before is None or before.document_id != node.document_id:
            name = heading = self._titles[node.document_id]
        else:
            return ""
        return f"{heading}: " if heading and not _starts_with_name(node.text, name) else ""


def _fits(text: str, room: int) -> bool:
    """Return whether a text fits into ``room`` tokens: no tokenizer makes more tokens than the text has bytes."""
    return len(text.encode()) <= room


def _starts_with_name(text: str, name: str) -> bool:
    """Return whether a text begins with a name as whole words, also as a Markdown heading or in bold."""
    first = as_line(text[: 2 * len(name) + 8]).lstrip("#* ").casefold()
    return first.startswith(name.casefold()) and not first[len(name.casefold()) :][:1].isalnum()
