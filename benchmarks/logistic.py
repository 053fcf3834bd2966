"""Logistic regression: the probability of a label by a weighted sum of figures.

It knows arrays only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

__all__ = ["fit_logistic"]

Numbers = NDArray[np.float64]


def fit_logistic(
    figures: Numbers, labels: Numbers, *, penalty: float | Numbers = 0.0, shares: Numbers | None = None
) -> tuple[Numbers, float]:
    """The weights and the bias of the largest likelihood, less half of ``penalty`` times the squares of the weights.

    Args:
        figures: (n, f).
        labels: (n,) 0 or 1.
        penalty: of each weight; the bias has none.
        shares: (n,) how much each row counts; by default each counts once.
    """
    columns = np.column_stack([figures, np.ones(len(figures))])
    counts = np.ones(len(figures)) if shares is None else shares
    pull = np.append(np.broadcast_to(penalty, figures.shape[1]), 0.0)

    def loss(weights: Numbers) -> tuple[float, Numbers]:
        odds = columns @ weights
        value = (counts * (np.logaddexp(0, odds) - odds * labels)).sum() + pull @ weights**2 / 2
        slope = columns.T @ (counts * (1 / (1 + np.exp(-odds)) - labels)) + pull * weights
        return float(value) / len(columns), slope / len(columns)

    options = {"gtol": 1e-8, "ftol": 1e-14, "maxiter": 10_000}
    weights = minimize(loss, np.zeros(columns.shape[1]), jac=True, method="L-BFGS-B", options=options).x
    return weights[:-1], float(weights[-1])
