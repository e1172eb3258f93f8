"""Scores of predictions with 95 % intervals, and differences of two predictors on the same samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import binomtest, norm

from geodual.arrays import Array

_LEVEL = 0.95
_DRAWS = 2000  # of the bootstrap


def score_classes(truth: Any, predicted: Any, others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the accuracy with its Wilson interval, and how far it is above those of other predictions."""
    right = predicted == truth
    result: dict[str, Any] = {"samples": len(truth), "accuracy": float(right.mean())}
    found = binomtest(int(right.sum()), len(right)).proportion_ci(_LEVEL, method="wilson")
    result["interval"] = [float(found.low), float(found.high)]
    result["baselines"] = [
        {
            "baseline": name,
            "accuracy": float((other == truth).mean()),
            "difference": float(right.mean() - (other == truth).mean()),
            "interval": _paired_interval(right, other == truth),
        }
        for name, other in others.items()
    ]
    return result


def _paired_interval(right: Any, other: Any) -> list[float]:
    """Return an interval of the difference of two shares in the same samples.

    Half a sample is added to each of the four cases (both right, one, the other, none), so that the interval
    is right for few samples, too. A. Agresti, Y. Min, "Simple improved confidence intervals for comparing
    matched proportions", Statistics in Medicine 24, 2005.
    """
    won, lost = np.count_nonzero(right & ~other) + 0.5, np.count_nonzero(~right & other) + 0.5
    n = len(right) + 2.0
    difference = (won - lost) / n
    error = np.sqrt(won + lost - (won - lost) ** 2 / n) / n
    half = float(norm.ppf(0.5 + 0.5 * _LEVEL)) * error
    return [float(max(difference - half, -1.0)), float(min(difference + half, 1.0))]


def score_numbers(truth: Array, predicted: Array, others: Mapping[str, Array]) -> dict[str, Any]:
    """Return RMSE and R² with intervals by the bootstrap, and how far the RMSE is below those of others.

    Samples are drawn again, and predictions stay: what varies is which samples there are to predict.
    """
    unit = float(np.abs(truth - truth.mean()).max()) or 1.0
    centered = (truth - truth.mean()) / unit
    errors = [((one - truth) / unit) ** 2 for one in (predicted, *others.values())]
    table = np.column_stack([centered, centered**2, *errors])
    drawn = _drawn_means(table)
    mean = table.mean(axis=0)
    rmse, draws = unit * np.sqrt(mean[2:]), unit * np.sqrt(drawn[:, 2:])
    varies = bool(np.ptp(truth))
    result: dict[str, Any] = {
        "samples": len(truth),
        "rmse": float(rmse[0]),
        "rmse_interval": _percentiles(draws[:, 0]),
        "r2": float(_r2(mean[None])[0]) if varies else None,
        "r2_interval": _percentiles(_r2(drawn)) if varies else None,
    }
    result["baselines"] = [
        {
            "baseline": name,
            "rmse": float(rmse[at]),
            "difference": float(rmse[at] - rmse[0]),
            "interval": _percentiles(draws[:, at] - draws[:, 0]),
        }
        for at, name in enumerate(others, 1)
    ]
    return result


def _drawn_means(table: Array) -> Array:
    """Return the means of the columns of a table in samples of its rows, drawn with replacement."""
    rng, n = np.random.default_rng(0), len(table)
    draws = [np.bincount(rng.integers(n, size=n), minlength=n) @ table / n for _ in range(_DRAWS)]
    return np.array(draws)


def _r2(means: Array) -> Array:
    """Return R² from means of targets, of their squares and of squared errors; NaN if targets are equal."""
    variance = means[:, 1] - means[:, 0] ** 2
    return np.asarray(1.0 - means[:, 2] / np.where(variance > 0.0, variance, np.nan))


def _percentiles(values: Array) -> list[float]:
    tail = 50.0 * (1.0 - _LEVEL)
    return [float(end) for end in np.nanpercentile(values, [tail, 100.0 - tail])]
