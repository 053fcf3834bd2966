"""Draw which room of the package imports which, from the imports themselves: ``docs/architecture.svg``.

    python docs/draw_architecture.py

Plain standard library. Equal imports give equal bytes.
"""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "memgraph_rag"
PICTURE = Path(__file__).with_name("architecture.svg")

ROWS = (
    ("__main__", "cli", "agents", "server", "evaluation", "integrations", "testing"),
    ("asynchronous",),
    ("memory",),
    ("scoped", "systems"),
    ("session", "tools"),
    ("maintenance", "inspection"),
    ("open_memory",),
    ("answering",),
    ("ingestion",),
    ("facts",),
    ("calls",),
    ("text", "models", "layers", "search", "strategies", "stores"),
    ("lexical", "plugins", "settings"),
    ("contracts",),
    ("types", "errors", "display", "private_files"),
)
"""From the outside in; an arrow that leads upwards is drawn red."""

WIDTH, HEIGHT, BOX_WIDTH, BOX_HEIGHT = 960, 900, 116, 34


def rooms() -> list[str]:
    """The packages and modules of the root, but for ``__init__``."""
    names = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    return sorted(names - {"__init__"})


def arrows() -> set[tuple[str, str]]:
    """(room, room that it imports), without imports within a room and of the root itself."""
    known = set(rooms())
    pairs = set()
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            modules = (
                [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            )
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            parts = [module.split(".") for module in modules]
            pairs |= {(room, part[1]) for part in parts if part[0] == PACKAGE.name and len(part) > 1}
    return {(room, other) for room, other in pairs if room in known and other in known and room != other}


def draw() -> str:
    """The picture, as SVG."""
    centres = {}
    for row, names in enumerate(ROWS):
        for place, name in enumerate(names):
            centres[name] = (WIDTH * (place + 0.5) / len(names), 40 + row * (HEIGHT - 80) / (len(ROWS) - 1))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="14">',
        '<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#789"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for room, other in sorted(arrows()):
        (x1, y1), (x2, y2) = centres[room], centres[other]
        half = BOX_HEIGHT / 2
        start, end = (y1 + half, y2 - half) if y2 > y1 else (y1 - half, y2 + half) if y2 < y1 else (y1, y2)
        colour = "#c33" if y2 < y1 else "#9ab"
        parts.append(
            f'<line x1="{x1:.0f}" y1="{start:.0f}" x2="{x2:.0f}" y2="{end:.0f}" stroke="{colour}" '
            'marker-end="url(#a)"/>'
        )
    for name, (x, y) in centres.items():
        parts.append(
            f'<rect x="{x - BOX_WIDTH / 2:.0f}" y="{y - BOX_HEIGHT / 2:.0f}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" '
            'rx="6" fill="#eef4fa" stroke="#456"/>'
        )
        parts.append(f'<text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
