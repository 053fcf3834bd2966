"""Two things measured in turn, and their ratio with its spread.

It knows numbers only. Invariant: a ratio compares measurements of one run; times of different days or machines are
never divided.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import repeat
from pathlib import Path
from statistics import median
from typing import Any, Literal

__all__ = ["COLUMNS", "Ratio", "Target", "in_turn", "sampled", "table_row", "write_json"]

COLUMNS = ("measured", "ratio", "min … max", "target", "met", "medians", "runs", "how")


@dataclass(frozen=True, slots=True)
class Target:
    """What a ratio should be.

    >>> Target("≤", 1.05).is_met(1.04), str(Target("≥", 8))
    (True, '≥ 8')
    """

    sign: Literal["≤", "≥"]
    bound: float

    def is_met(self, ratio: float) -> bool:
        """Whether a ratio is as it should be."""
        return ratio <= self.bound if self.sign == "≤" else ratio >= self.bound

    def __str__(self) -> str:
        return f"{self.sign} {self.bound:.3g}"


@dataclass(frozen=True, slots=True)
class Ratio:
    """A over B.

    Attributes:
        low: the smallest ratio of a pair of runs, ``high`` the largest.
        target: None where it is told for information.
        medians: of A and of B, with their unit.
        runs: how many of A and of B.
        how: what a reader has to know beside the name.
    """

    name: str
    ratio: float
    low: float
    high: float
    target: Target | None
    medians: str
    runs: str
    how: str = ""

    @classmethod
    def of(
        cls,
        name: str,
        a: Sequence[float],
        b: Sequence[float],
        *,
        target: Target | None = None,
        unit: str = "s",
        how: str = "",
    ) -> Ratio:
        """From runs in turn, the first of A with the first of B; a single run of one stands beside each of the other.

        Raises:
            ValueError: no runs, or not equally many.
        """
        ratios = [x / y for x, y in paired(a, b)]
        return cls(
            name,
            median(ratios),
            min(ratios),
            max(ratios),
            target,
            f"{_short(median(a))} · {_short(median(b))} {unit}",
            f"{len(a)} · {len(b)}",
            how,
        )

    @property
    def is_met(self) -> bool | None:
        """None where there is no target."""
        return None if self.target is None else self.target.is_met(self.ratio)

    def record(self) -> dict[str, Any]:
        """As it is written as JSON."""
        return {
            "name": self.name,
            "ratio": round(self.ratio, 4),
            "low": round(self.low, 4),
            "high": round(self.high, 4),
            "target": None if self.target is None else str(self.target),
            "met": self.is_met,
        }


def paired(a: Sequence[float], b: Sequence[float]) -> list[tuple[float, float]]:
    """Each run of A with that of B beside it.

    >>> paired([1, 2], [4])
    [(1, 4), (2, 4)]
    """
    if not a or not b or (len(a) != len(b) and min(len(a), len(b)) > 1):
        raise ValueError(f"Expected equally many runs, or one of one side, got {len(a)} and {len(b)}.")
    longest = max(len(a), len(b))
    return list(zip(*(repeat(runs[0], longest) if len(runs) == 1 else runs for runs in (a, b)), strict=True))


def in_turn(
    runs: Mapping[str, Callable[[], object]], times: int, *, progress: Callable[[int, int], None] = lambda *_: None
) -> dict[str, list[float]]:
    """Seconds of each, A B A B …, so that what the machine does besides falls on all of them.

    Args:
        progress: how many are done, and how many in all.
    """
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    done = 0
    progress(done, times * len(runs))
    for _ in range(times):
        for name, run in runs.items():
            started = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - started)
            done += 1
            progress(done, times * len(runs))
    return seconds


def sampled(counts: Sequence[int], every: int) -> tuple[list[int], float]:
    """Every n-th item, and by what its cost is multiplied to stand for all, if cost goes with the counts.

    >>> sampled([10, 20, 30, 40], 2)
    ([0, 2], 2.5)
    """
    chosen = list(range(0, len(counts), every))
    return chosen, sum(counts) / sum(counts[index] for index in chosen)


def table_row(ratio: Ratio) -> str:
    """A line of the Markdown table of ``COLUMNS``."""
    met = {None: "", True: "yes", False: "**no**"}[ratio.is_met]
    target = "" if ratio.target is None else str(ratio.target)
    spread = f"{_short(ratio.low)} … {_short(ratio.high)}"
    return (
        f"| {ratio.name} | {_short(ratio.ratio)} | {spread} | {target} | {met} | {ratio.medians} | {ratio.runs} "
        f"| {ratio.how} |"
    )


def write_json(path: Path, ratios: Iterable[Ratio], *, keep: bool = False) -> None:
    """A list with an object for each ratio, and when it was measured.

    Args:
        keep: what the file holds of other names stays, as it was measured then.
    """
    now = f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC"
    records = [ratio.record() | {"measured": now} for ratio in ratios]
    if keep and path.exists():
        names = {record["name"] for record in records}
        records = [record for record in json.loads(path.read_text("utf-8")) if record["name"] not in names] + records
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _short(value: float) -> str:
    """Three digits that count.

    >>> _short(0.04321), _short(1), _short(432.1), _short(4321.9)
    ('0.0432', '1.00', '432', '4,322')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"
