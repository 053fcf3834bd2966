"""Draws ``answers.svg``: F1 against tokens read, each method of each set a point, from the table in ``quality.md``.

It knows the table's columns and no figure of its own. Invariant: what is drawn is what stands in the table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
PICTURE = HERE / "answers.svg"

COLOURS = {"walk": "#c33", "top_k_graph": "#36c", "top_k": "#393", "longllmlingua": "#b80"}
WIDTH, PANEL, HEIGHT, MARGIN = 320, 300, 220, 44
ACROSS = 3
TOKENS = (300, 10_000)
MOST_F1 = 70


class Point(NamedTuple):
    """A row of the table: F1 of the sentence in percent with its interval, and tokens read for a question."""

    dataset: str
    method: str
    is_before: bool
    f1: float
    low: float
    high: float
    tokens: int


def points() -> Iterator[Point]:
    """The rows that have an F1 of the sentence."""
    lines = (HERE / "quality.md").read_text("utf-8").partition("## Answers")[2].splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("| set (questions) | method"))
    dataset = ""
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return
        name, method, _, sentence, _, _, _, tokens, _ = (cell.strip() for cell in line.strip("|").split("|"))
        dataset = name.split(", one")[0].split(", 6")[0].split(", 13")[0].replace("(", "").rstrip(")") or dataset
        figures = [float(number) for number in re.findall(r"\d+\.\d", sentence)]
        known = re.search(r"walk|top_k_graph|top_k|longllmlingua", method)
        if len(figures) == 3 and known:
            yield Point(dataset, known[0], "before" in method, *figures, int(tokens.replace(",", "")))


def draw() -> str:
    """The picture, as SVG: a panel for each set."""
    panels: dict[str, list[Point]] = {}
    for point in points():
        panels.setdefault(point.dataset.split(" ")[0], []).append(point)
    rows = math.ceil(len(panels) / ACROSS)
    width, height = ACROSS * WIDTH, rows * (HEIGHT + MARGIN) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for place, (dataset, of_set) in enumerate(panels.items()):
        left, top = place % ACROSS * WIDTH + 34, place // ACROSS * (HEIGHT + MARGIN) + 20
        parts += _panel(dataset, of_set, left, top)
    for place, (method, colour) in enumerate(COLOURS.items()):
        x = 40 + place * 150
        parts.append(f'<circle cx="{x}" cy="{height - 14}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{x + 10}" y="{height - 10}">{method}</text>')
    parts.append(f'<text x="640" y="{height - 10}">hollow: before titles and phrases</text>')
    return "\n".join([*parts, "</svg>", ""])


def _panel(dataset: str, of_set: list[Point], left: int, top: int) -> Iterator[str]:
    width = PANEL - 36

    def across(tokens: int) -> float:
        low, high = (math.log(bound) for bound in TOKENS)
        return left + width * (math.log(tokens) - low) / (high - low)

    def down(f1: float) -> float:
        return top + HEIGHT - 30 - (HEIGHT - 30) * f1 / MOST_F1

    yield f'<text x="{left}" y="{top - 6}" font-weight="bold">{dataset}: F1 of the sentence, tokens read</text>'
    for f1 in range(0, MOST_F1 + 1, 10):
        yield f'<line x1="{left}" y1="{down(f1):.0f}" x2="{left + width}" y2="{down(f1):.0f}" stroke="#eee"/>'
        yield f'<text x="{left - 6}" y="{down(f1) + 4:.0f}" text-anchor="end" fill="#667">{f1}</text>'
    for tokens in (300, 1000, 3000, 10_000):
        x, y = across(tokens), top + HEIGHT - 14
        yield f'<text x="{x:.0f}" y="{y}" text-anchor="middle" fill="#667">{tokens:,}</text>'
    for point in of_set:
        x, colour = across(point.tokens), COLOURS[point.method]
        fill = "white" if point.is_before else colour
        yield (
            f'<line x1="{x:.1f}" y1="{down(point.low):.1f}" x2="{x:.1f}" y2="{down(min(point.high, MOST_F1)):.1f}" '
            f'stroke="{colour}" stroke-opacity="0.35"/>'
        )
        yield (
            f'<circle cx="{x:.1f}" cy="{down(point.f1):.1f}" r="4" fill="{fill}" stroke="{colour}" stroke-width="1.5"/>'
        )


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
