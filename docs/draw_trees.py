"""Draws ``clusters.svg``, ``outline.svg`` and ``context.svg``: branches of what ``memgraph-rag show`` draws.

It needs a store in which the document has these layers, and knows no text of its own. Invariant: what is drawn is what
``show`` prints, but for branches that would make the picture too high.

    $ python docs/draw_trees.py clusters alice.txt --store trees.lbug
"""

from __future__ import annotations

import argparse
import re
import sys
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.tree import Tree

from memgraph_rag import Memory
from memgraph_rag.cli.tree_view import tree

HERE = Path(__file__).resolve().parent
COLUMNS = 116
_FONT_FACES = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # fonts of a server: none is asked for a picture


def branch(root: Tree, label: str, *, children: int) -> Tree:
    """The branch of a layer, each node with at most so many of its children; how many more there are is said."""
    (wanted,) = (child for child in root.children if f"{child.label}" == label)
    picture = Tree(root.label)
    picture.children = [_cut(wanted, children)]
    return picture


def _cut(node: Tree, children: int) -> Tree:
    cut = Tree(node.label)
    cut.children = [_cut(child, children) for child in node.children[:children]]
    if len(node.children) > children:
        cut.add(f"… and {len(node.children) - children} more", style="yellow")
    return cut


def draw(picture: Tree, title: str) -> str:
    """A window of a terminal with this tree in it, as SVG."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
    console.print(picture, no_wrap=True, overflow="ellipsis", crop=True)
    return _FONT_FACES.sub("", console.export_svg(title=title, unique_id="tree"))


def main() -> None:
    """Draw one picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layer", choices=["clusters", "outline", "context"])
    parser.add_argument("key", help="of the document")
    parser.add_argument("--store", required=True)
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--children", type=int, default=5, help="most branches of each")
    options = parser.parse_args()
    with Memory(options.store, namespace=options.namespace, read_only=True) as memory:
        picture = branch(tree(memory.around(options.key, kind="document")), options.layer, children=options.children)
    path = HERE / f"{options.layer}.svg"
    path.write_text(draw(picture, f"memgraph-rag show {options.key}"), "utf-8")
    sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
