"""Tables of scores: figures with their intervals, differences to the best baseline, and costs.

It knows no memory. Invariant: tables are computed from the outcomes alone, and bad results are not left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from memgraph_rag.evaluation.dataset import Folder
from memgraph_rag.evaluation.metrics import RESAMPLES, SEED, Interval, ratio_difference, ratio_interval
from memgraph_rag.evaluation.outcomes import Building, Outcome
from memgraph_rag.evaluation.scores import Scores, score_outcome

_LESS_IS_BETTER = {"refused"}
_WHOLE = "full_context"  # the strategy that reads the whole document


@dataclass(frozen=True, slots=True)
class Cost:
    """Mean costs of a question, or of a document when documents are added.

    A number is None if an outcome does not have it (``Outcome``).
    """

    prompt_tokens: float
    generated_tokens: float
    model_calls: float
    seconds: float
    tera_flops: float | None
    nodes: float | None = None
    node_tokens: float | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """A method minus the best other method in one metric, paired by question, in percentage points."""

    best: str
    interval: Interval

    @property
    def is_significant(self) -> bool:
        """Whether 0 is outside the 95 % interval."""
        return self.interval.low > 0 or self.interval.high < 0


class Scorecard:
    """The scores and costs of all outcomes of one folder.

    Args:
        folder: the questions.
        outcomes: the outcomes of all methods.
        buildings: the costs of adding the folder's documents.
        ours: methods to compare with the best other method of the same kind (search or strategy).
    """

    def __init__(
        self, folder: Folder, outcomes: Iterable[Outcome], buildings: Sequence[Building], *, ours: Sequence[str]
    ) -> None:
        self.dataset = folder.name
        self.questions = folder.questions
        self._ours = ours
        self._buildings = buildings
        of = {question.id: question for question in folder.questions}
        self._has_unanswerable = any(question.unanswerable for question in folder.questions)
        self._outcomes: dict[str, list[Outcome]] = defaultdict(list)
        self._scores: dict[str, dict[str, Scores]] = defaultdict(dict)  # by method, then question
        for outcome in outcomes:
            self._outcomes[outcome.method].append(outcome)
            self._scores[outcome.method][outcome.question] = score_outcome(folder, of[outcome.question], outcome)

    @property
    def methods(self) -> list[str]:
        """The methods that have an outcome, in the order of their first outcomes."""
        return list(self._outcomes)

    def outcomes(self, method: str) -> list[Outcome]:
        """Return the outcomes of a method, in the order of the questions; empty if it has none."""
        return self._outcomes.get(method, [])

    def metrics(self, method: str) -> list[str]:
        """Return the names of the metrics that an outcome of the method has, in the order of their first occurrence.

        Precision, recall and F1 of abstention are left out if no question of the folder is unanswerable.
        """
        names = dict.fromkeys(metric for scores in self._scores[method].values() for metric in scores)
        return [metric for metric in names if self._has_unanswerable or not metric.startswith("abstention")]

    def pairs(self, method: str, metric: str) -> dict[str, tuple[float, float]]:
        """Return by question id (numerator, denominator): what a question adds to a metric of a method."""
        return {asked: scores[metric] for asked, scores in self._scores[method].items() if metric in scores}

    def figure(self, method: str, metric: str) -> Interval | None:
        """Return a metric of a method in percent, with its 95 % interval.

        None if fewer than two questions have the metric. The value is the sum of the numerators over the sum of the
        denominators of the questions (``pairs``). It is the mean where each question has the denominator 1.
        """
        pairs = list(self.pairs(method, metric).values())
        if len(pairs) < 2:
            return None
        above, below = np.array(pairs).T
        return ratio_interval(100 * above, below)

    def difference(self, method: str, metric: str) -> Difference | None:
        """Compare a method in a metric with the best other method of the same kind, over their common questions.

        Methods of ``ours`` do not count as others. The best has the best figure over all its own questions; for
        "refused" that is the least. The result is None without another method, or with fewer than two common questions.
        """
        kind = method.startswith("search ")
        sign = -1 if metric in _LESS_IS_BETTER else 1
        others = {
            other: figure.value
            for other in self.methods
            if other not in self._ours
            and other.startswith("search ") == kind
            and (figure := self.figure(other, metric)) is not None
        }
        if not others:
            return None
        best = max(others, key=lambda other: (sign * others[other], other))
        mine, theirs = self.pairs(method, metric), self.pairs(best, metric)
        both = [question_id for question_id in mine if question_id in theirs]
        if len(both) < 2:
            return None
        arrays = [np.array([pairs[question_id] for question_id in both]).T for pairs in (mine, theirs)]
        (ours, of_ours), (best_of, of_best) = arrays
        return Difference(best, ratio_difference((100 * ours, of_ours), (100 * best_of, of_best)))

    def cost(self, method: str) -> Cost:
        """Return the mean cost of a question by a method. A question that ended in an error counts with cost 0."""
        outcomes = self._outcomes[method]
        means = {
            field.name: _mean([0 if outcome.error else getattr(outcome, field.name) for outcome in outcomes])
            for field in fields(Cost)
        }
        return Cost(**means)  # type: ignore[arg-type]

    def building(self) -> Cost | None:
        """Return the mean cost of adding a document with its layers, or None if no document was added."""
        count = sum(building.documents for building in self._buildings)
        if not count:
            return None
        names = ("prompt_tokens", "generated_tokens", "model_calls", "seconds")
        means = {name: sum(getattr(building, name) for building in self._buildings) / count for name in names}
        operations = [building.tera_flops for building in self._buildings]
        known = [number for number in operations if number is not None]
        return Cost(**means, tera_flops=sum(known) / count if len(known) == len(operations) else None)

    def describe_building(self) -> str:
        """Return a line with the mean cost of adding a document, and all notes; empty if no document was added."""
        built = self.building()
        if built is None:
            return ""
        notes: Counter[str] = sum((Counter(building.notes) for building in self._buildings), Counter())
        listed = "; ".join(f"{count:,} × {note}" for note, count in notes.most_common())
        return (
            f"Building, a document: {built.prompt_tokens:,.0f} tokens read, {built.generated_tokens:,.0f} written, "
            f"{built.model_calls:.1f} model calls, {built.seconds:.1f} s, {show_number(built.tera_flops)} TFLOP."
            + (f" Notes: {listed}." if listed else "")
        )

    def questions_to_pay(self, method: str) -> float | None:
        """Return the number of questions on a document after which a method has saved the tokens of building it.

        The saving is measured against "full_context", which reads the whole document. The result is None if one of the
        two, or building, was not measured, or if the method saves nothing.
        """
        built = self.building()
        if built is None or not {_WHOLE, method} <= self._outcomes.keys():
            return None
        saved = _tokens(self.cost(_WHOLE)) - _tokens(self.cost(method))
        return _tokens(built) / saved if saved > 0 else None

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of ``summary.json``: one for each method and metric, in percent, with costs of a question.

        A metric that fewer than two questions have is left out.
        """
        rows = []
        for method in self.methods:
            cost = self.cost(method)
            for metric in self.metrics(method):
                figure = self.figure(method, metric)
                if figure is None:
                    continue
                rows.append(
                    {"dataset": self.dataset, "strategy": method, "metric": metric, **figure._asdict()}
                    | {"n": len(self.pairs(method, metric)), "prompt_tokens": round(cost.prompt_tokens, 1)}
                    | {"generated_tokens": round(cost.generated_tokens, 1), "seconds": round(cost.seconds, 3)}
                    | {"model_calls": round(cost.model_calls, 1), "tera_flops": _round(cost.tera_flops, 3)}
                    | {"nodes": _round(cost.nodes, 1), "node_tokens": _round(cost.node_tokens, 1)}
                )
        return rows

    def markdown(self) -> str:
        """Return the report of this set in Markdown: heading, tables, differences to the best other, cost, errors."""
        parts = [f"## {self.dataset}"]
        groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for method in self.methods:
            groups[tuple(self.metrics(method))].append(method)
        for metrics, methods in groups.items():
            shown = [metric for metric in metrics if any(self.figure(method, metric) for method in methods)]
            if shown:
                parts += [self._table(shown, methods), *self._differences(shown, methods)]
        if told := self.describe_building():
            parts.append(told)
            paid = {method: self.questions_to_pay(method) for method in self.methods if method in self._ours}
            parts += [
                f"After {count:.1f} questions on a document, {method} has saved the tokens of building, compared with "
                f"{_WHOLE}."
                for method, count in paid.items()
                if count is not None
            ]
        return "\n\n".join([*parts, *self.describe_errors()]) + "\n"

    def describe_errors(self) -> list[str]:
        """Return a line for each method with questions that ended in an error."""
        failed = {
            method: sum(bool(outcome.error) for outcome in outcomes) for method, outcomes in self._outcomes.items()
        }
        return [f"{method}: {count} questions ended in an error." for method, count in failed.items() if count]

    def _table(self, metrics: Sequence[str], methods: Sequence[str]) -> str:
        asked = not methods[0].startswith("search ")
        costs = ("nodes", "their tokens", "tokens read", "written", "model calls", "s", "TFLOP") if asked else ("s",)
        rows = []
        for method in methods:
            cost, number = self.cost(method), max(len(self.pairs(method, metric)) for metric in metrics)
            figures = [self.figure(method, metric) for metric in metrics]
            rows.append(
                [
                    f"{method} ({number})",
                    *map(show_number, figures),
                    *(_show_costs(cost) if asked else [f"{cost.seconds:.3f}"]),
                ]
            )
        return as_markdown(("method (questions)", *metrics, *costs), rows)

    def _differences(self, metrics: Sequence[str], methods: Sequence[str]) -> list[str]:
        rows = []
        for method in (method for method in methods if method in self._ours):
            for metric in metrics:
                difference = self.difference(method, metric)
                if difference is not None:
                    significant = "yes" if difference.is_significant else "no"
                    rows.append([method, metric, difference.best, f"{difference.interval:+.1f}", significant])
        columns = ("ours", "metric", "best of the others", "ours less that", "0 outside the interval")
        return [as_markdown(columns, rows)] if rows else []


def intervals_line() -> str:
    """Return a line that says how the intervals are computed."""
    return f"Values in percent with 95 % intervals, bootstrap over questions: {RESAMPLES:,} resamples, seed {SEED}."


def _tokens(cost: Cost) -> float:
    return cost.prompt_tokens + cost.generated_tokens


def _show_costs(cost: Cost) -> list[str]:
    """Return the cells of a question's costs in a table."""
    return [
        show_number(cost.nodes),
        show_number(cost.node_tokens, ",.0f"),
        f"{cost.prompt_tokens:,.0f}",
        f"{cost.generated_tokens:.0f}",
        f"{cost.model_calls:.1f}",
        f"{cost.seconds:.1f}",
        show_number(cost.tera_flops),
    ]


def _mean(numbers: Sequence[float | None]) -> float | None:
    """Return the mean; None if a number is unknown."""
    known = [number for number in numbers if number is not None]
    return float(np.mean(known)) if len(known) == len(numbers) else None


def _round(number: float | None, digits: int) -> float | None:
    return None if number is None else round(number, digits)


def show_number(number: float | Interval | None, form: str = ".1f") -> str:
    """Format a number, or a figure with its interval, by a format such as ".1f"; return a dash for None."""
    return "–" if number is None else format(number, form)


def as_markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with a header of ``columns`` and the cells of ``rows``."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (columns, ["---"] * len(columns), *rows))
