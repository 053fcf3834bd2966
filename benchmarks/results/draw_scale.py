"""Draws ``scale.svg``: milliseconds of a search against segments, in memory and in the database, from ``scale.md``.

It knows the table's columns and no figure of its own. Invariant: what is drawn is what stands in the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
PICTURE = HERE / "scale.svg"

COLOURS = {"memory": "#36c", "database": "#c33"}
WIDTH, HEIGHT, LEFT, TOP = 680, 300, 60, 20
PLOT_WIDTH, PLOT_HEIGHT = 590, 220
SEGMENTS, MILLISECONDS = (5_000, 1_300_000), (25, 1_600)


class Row(NamedTuple):
    """A row of the table."""

    where: str
    segments: int
    p50: int
    p99: int


def rows() -> Iterator[Row]:
    """The rows of the table of searches."""
    lines = (HERE / "scale.md").read_text("utf-8").splitlines()
    start = lines.index("| where | segments | p50, ms | p99, ms | process grows, MiB |")
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return
        where, *figures = (cell.strip() for cell in line.strip("|").split("|"))
        yield Row(where, *(int(figure.replace(",", "")) for figure in figures[:3]))


def draw() -> str:
    """The picture, as SVG: both axes logarithmic, p50 as a line, p99 dashed."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<rect x="{LEFT}" y="{TOP}" width="{PLOT_WIDTH}" height="{PLOT_HEIGHT}" fill="none" stroke="#999"/>',
    ]
    for segments in (10_000, 30_000, 100_000, 300_000, 1_000_000):
        x, bottom = _across(segments), TOP + PLOT_HEIGHT
        parts.append(f'<text x="{x:.0f}" y="{bottom + 16}" text-anchor="middle">{segments:,}</text>')
        parts.append(f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{TOP}" y2="{bottom}" stroke="#eee"/>')
    for milliseconds in (30, 100, 300, 1_000):
        y = _down(milliseconds)
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.0f}" text-anchor="end">{milliseconds:,}</text>')
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + PLOT_WIDTH}" y1="{y:.0f}" y2="{y:.0f}" stroke="#eee"/>')
    for place, (where, colour) in enumerate(COLOURS.items()):
        own = [row for row in rows() if row.where == where]
        parts += [_line(own, "p50", colour), _line(own, "p99", colour)]
        parts += [f'<circle cx="{_across(row.segments):.0f}" cy="{_down(row.p50):.0f}" r="4" fill="{colour}"/>'
                  for row in own]  # fmt: skip
        parts.append(
            f'<text x="{LEFT + 205 * place}" y="{HEIGHT - 12}" fill="{colour}">in {where}: p50, p99 dashed</text>'
        )
    parts.append(f'<text x="{LEFT + 425}" y="{HEIGHT - 12}">ms of a search by segments</text>')
    return "\n".join([*parts, "</svg>", ""])


def _line(own: list[Row], figure: str, colour: str) -> str:
    places = " ".join(f"{_across(row.segments):.0f},{_down(getattr(row, figure)):.0f}" for row in own)
    dashes = "" if figure == "p50" else ' stroke-dasharray="5 4"'
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.5"{dashes}/>'


def _across(segments: int) -> float:
    return LEFT + PLOT_WIDTH * _share(segments, SEGMENTS)


def _down(milliseconds: int) -> float:
    return TOP + PLOT_HEIGHT * (1 - _share(milliseconds, MILLISECONDS))


def _share(value: float, bounds: tuple[int, int]) -> float:
    low, high = (math.log(bound) for bound in bounds)
    return (math.log(value) - low) / (high - low)


if __name__ == "__main__":
    PICTURE.write_text(draw(), "utf-8")
