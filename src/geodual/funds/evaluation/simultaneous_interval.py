"""Intervals for several means that hold together."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student_t

from .statistics import newey_west_t

_LEVEL = 0.05
_MIN_COUNT = 3  # fewest values for an interval, as in `newey_west_t`


def simultaneous_interval(series: ArrayLike, n_choices: int) -> tuple[float, float]:
    """Return an interval for a mean; of several such intervals, all hold together with 95 %.

    It excludes zero if and only if `corrected_p` with the same number of choices is below 0.05: it has the
    wider of the Newey–West and the ordinary standard error, and Student's quantile at 0.05 / n_choices.

    Parameters
    ----------
    series : array of shape (n,)
        In order of time; values that are not finite are left out.
    n_choices : int
        Number of series.

    Returns
    -------
    low, high : float
        NaN for fewer than three values or a constant series.
    """
    x = np.asarray(series, dtype=float)
    x = x[np.isfinite(x)]
    if len(x) < _MIN_COUNT or np.ptp(x) == 0.0:
        return np.nan, np.nan
    # A standard error is the mean divided by its t-statistic, of the series moved away from a mean of zero.
    moved = x - x.mean() + 1.0
    error = 1.0 / np.minimum(newey_west_t(moved), newey_west_t(moved, lags=0))
    half = student_t.isf(0.5 * _LEVEL / n_choices, len(x) - 1) * error
    return float(x.mean() - half), float(x.mean() + half)
