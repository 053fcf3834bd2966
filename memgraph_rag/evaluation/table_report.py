"""Shows the scores of a run in the form of a paper's table, with the figures that the paper prints beside ours.

It knows scorecards, no memory. Invariant: a figure that was not measured, or that the paper does not print, is a dash.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial

from memgraph_rag.contracts import LanguageModel
from memgraph_rag.evaluation.report import Scorecard, as_markdown, show_number
from memgraph_rag.evaluation.tables import CostName, Table, WinRates
from memgraph_rag.evaluation.win_rates import pair_answers, win_rate

_COSTS: Mapping[CostName, str] = {
    "nodes": "nodes",
    "prompt_tokens": "tokens read",
    "model_calls": "model calls",
    "tera_flops": "TFLOP",
    "seconds": "s",
}


def compare_with_paper(table: Table, scorecards: Sequence[Scorecard], judge: LanguageModel | None) -> str:
    """Return a table of a paper in Markdown: title, source, and for each set the methods in the paper's order.

    A column of our figures, with their intervals, is followed by a column of the paper's figures. Costs are means of a
    question.

    Args:
        judge: compares the answers of a table with win rates; None for other tables.

    Raises:
        SettingsError: a table with win rates has an unknown criterion.
        ModelError: the judge gave no usable verdicts.
    """
    parts = [f"# {table.title}", f"{table.source}. {table.note}".strip()]
    for scorecard in scorecards:
        parts += [f"## {scorecard.dataset}", _render_set(table, scorecard)]
        parts += filter(None, [scorecard.describe_building(), *scorecard.describe_errors()])
        if table.win_rates is not None and judge is not None:
            parts += [
                f"Wins over {table.win_rates.against} in percent, a tie as half a win, judged by {judge.name} in both "
                "orders; in brackets the 95 % interval.",
                _win_rates(table.win_rates, scorecard, judge),
            ]
    return "\n\n".join(parts) + "\n"


def _render_set(table: Table, scorecard: Scorecard) -> str:
    """Return the table of a set. A metric that the paper prints for none of its methods has no column for the paper."""
    methods, dataset = scorecard.methods, scorecard.dataset
    printed = {
        metric: {method: table.find_printed_figure(method, dataset, metric) for method in methods}
        for metric in table.metrics
    }
    shown = [metric for metric in table.metrics if any(scorecard.figure(method, metric) for method in methods)]
    columns, is_printed = ["method (questions)"], {metric: any(printed[metric].values()) for metric in shown}
    for metric in shown:
        columns += [metric, "paper"] if is_printed[metric] else [metric]
    rows: list[list[str]] = []
    for method in methods:
        number = max(
            (len(scorecard.pairs(method, metric)) for metric in shown), default=len(scorecard.outcomes(method))
        )
        row = [f"{method.removeprefix('search ')} ({number})"]
        for metric in shown:
            row.append(show_number(scorecard.figure(method, metric)))
            row += [show_number(printed[metric][method])] if is_printed[metric] else []
        rows.append(row + [_show_cost(getattr(scorecard.cost(method), cost)) for cost in table.costs])
    return as_markdown([*columns, *(_COSTS[cost] for cost in table.costs)], rows)


def _show_cost(value: float | None) -> str:
    return show_number(value, ".2f" if value is not None and value < 100 else ",.0f")


def _win_rates(wanted: WinRates, scorecard: Scorecard, judge: LanguageModel) -> str:
    """Return the table of win rates: a row for each strategy but the one that the others are compared with."""
    judge_pairs = cache(partial(win_rate, judge))  # methods of the same answers are judged once
    answers = [method for method in scorecard.methods if not method.startswith("search ")]
    rows: list[list[str]] = []
    for method in (method for method in answers if method != wanted.against):
        pairs = pair_answers(scorecard.questions, scorecard.outcomes(method), scorecard.outcomes(wanted.against))
        rates = [judge_pairs(tuple(pairs), criterion) for criterion in wanted.criteria]
        shares = [rate.share for rate in rates]
        shown = [f"{100 * share.value:.0f} [{100 * share.low:.0f}, {100 * share.high:.0f}]" for share in shares]
        rows.append([f"{method} ({len(pairs)})", *shown, str(sum(rate.unusable for rate in rates))])
    return as_markdown(["method (questions)", *wanted.criteria, "unusable"], rows)
