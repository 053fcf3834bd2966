"""Plots of quality against cost.

It reads only the rows of the summary, and needs matplotlib (the extra "evaluation"). Invariant: each point is one row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memgraph_rag.errors import SettingsError

__all__ = ["draw", "require_matplotlib"]

_AXES = {"tokens": "model tokens a question", "seconds": "seconds a question"}
_SHOWN = ("F1", "accuracy of 4", "accuracy of 2")
"""Metrics to draw: the first of these that a set has, else the set's first metric."""


def require_matplotlib() -> None:
    """Check, before anything is measured, that matplotlib is installed.

    Raises:
        SettingsError: matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        raise SettingsError(
            "Expected the package matplotlib for the plots, got none. "
            'Install it: pip install "memgraph_rag[evaluation]", or say --no-plots.',
            package="matplotlib",
        )


def draw(rows: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
    """Draw one plot of one metric for each set and axis, and return the paths of the files.

    The metric is F1, else the accuracy of 4 options, else that of 2, else the set's first metric. A set with strategies
    shows only strategies. A set with only searches has no plot of tokens. The files are ``SET-tokens.png`` and
    ``SET-seconds.png`` in an existing folder, with "-" for each blank of the set's name.

    Raises:
        SettingsError: matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    written = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        asked = [row for row in rows if row["dataset"] == dataset and not row["strategy"].startswith("search ")]
        of_set = asked or [row for row in rows if row["dataset"] == dataset]
        present = [row["metric"] for row in of_set]
        metric = next((name for name in _SHOWN if name in present), present[0])
        drawn = [row for row in of_set if row["metric"] == metric]
        for axis in ("tokens", "seconds") if asked else ("seconds",):
            figure = Figure(figsize=(6, 4), layout="constrained")
            FigureCanvasAgg(figure)
            plot = figure.add_subplot()
            for row in drawn:
                x = row["seconds"] if axis == "seconds" else row["prompt_tokens"] + row["generated_tokens"]
                bars = [[row["value"] - row["low"]], [row["high"] - row["value"]]]
                plot.errorbar([x], [row["value"]], yerr=bars, fmt="o", capsize=3)
                plot.annotate(row["strategy"], (x, row["value"]), xytext=(6, 4), textcoords="offset points")
            plot.set(xlabel=_AXES[axis], ylabel=f"{metric}, %", title=dataset, ylim=(0, 100))
            plot.set_xlim(left=0)
            plot.grid(alpha=0.3)
            path = folder / f"{dataset.replace(' ', '-')}-{axis}.png"
            figure.savefig(path, dpi=150)
            written.append(path)
    return written
