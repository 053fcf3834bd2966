"""Draws ``question.svg``: where the seconds of a question go, from the table of ``measurements.md``.

It knows the table's columns and no figure of its own. Invariant: what is drawn is what stands in the table.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent
PICTURE = HERE / "question.svg"

PARTS = ("search", "instruction", "nodes", "answer", "rest")
COLOURS = ("#c33", "#999", "#36c", "#393", "#ddd")
WIDTH, LEFT, TOP, BAR, STEP, PLOT_WIDTH = 680, 80, 40, 26, 40, 540


def rows() -> dict[str, list[float]]:
    """Seconds of each part, by number format."""
    lines = (HERE / "measurements.md").read_text("utf-8").splitlines()
    start = lines.index(f"| seconds | {' | '.join(PARTS)} | together | first piece after |")
    found = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        name, *figures = (cell.strip() for cell in line.strip("|").split("|"))
        found[name] = [float(figure) for figure in figures[: len(PARTS)]]
    return found


def draw() -> str:
    """The picture, as SVG: a bar for each format, its parts behind one another."""
    found = rows()
    height, scale = TOP + STEP * len(found) + 10, PLOT_WIDTH / max(map(sum, found.values()))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    for place, (part, colour) in enumerate(zip(PARTS, COLOURS, strict=True)):
        parts.append(f'<rect x="{LEFT + 100 * place}" y="12" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{LEFT + 100 * place + 18}" y="22">{part}</text>')
    for place, (name, seconds) in enumerate(found.items()):
        x, y = float(LEFT), TOP + STEP * place
        parts.append(f'<text x="{LEFT - 8}" y="{y + 18}" text-anchor="end">{name}</text>')
        for figure, colour in zip(seconds, COLOURS, strict=True):
            parts.append(f'<rect x="{x:.1f}" y="{y}" width="{figure * scale:.1f}" height="{BAR}" fill="{colour}"/>')
            x += figure * scale
        parts.append(f'<text x="{x + 6:.0f}" y="{y + 18}">{sum(seconds):.1f} s</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(draw(), "utf-8")
