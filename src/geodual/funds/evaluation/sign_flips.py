"""Tests of many means at once, by turning the signs of whole rebalance days.

Without skill, the ICs of a day could as well have had the other sign: what was known before does not tell in
which direction the market will go. So the record is compared with those in which the signs of random days
are turned. All series of a day are turned together, as they resemble each other.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

_FLIPS = 9_999
_SEED = 0
_LEVEL = 0.05
_MIN_COUNT = 3  # fewest values for an interval
_CONSTANT = 1e-12  # spread, relative to the size of a series, that is rounding only
_TIE = 1e-9  # relative difference of means that is rounding only


def judge_means(series: pd.DataFrame, n_choices: int) -> pd.DataFrame:
    """Return intervals and p-values of several means that hold for all of them together.

    The largest |t| of all series is compared with its distribution over random signs (Westfall and Young's
    max-t method). In contrast to Student's distribution with Bonferroni's correction, this heeds that ICs of
    few days may have one size and two signs: then large t-statistics come about by chance more often.

    Parameters
    ----------
    series : DataFrame
        Information coefficients, rebalance day × name; NaN is left out.
    n_choices : int
        Number of series that were tried. If it is larger than the number of columns, p-values are multiplied
        by their ratio.

    Returns
    -------
    DataFrame
        By name: low, high (95 % intervals, within −1 and 1) and p. NaN for fewer than three values or a
        constant series. An interval excludes zero if and only if p is below 0.05.
    """
    values = series.to_numpy(float)
    known = np.isfinite(values)
    n, x = known.sum(axis=0), np.where(known, values, 0.0)
    mean = x.sum(axis=0) / np.maximum(n, 1)
    size = np.sqrt(np.square(x).sum(axis=0) / np.maximum(n, 1))
    spread = np.sqrt(np.square(np.where(known, values - mean, 0.0)).sum(axis=0) / np.maximum(n, 1))
    tested = (n >= _MIN_COUNT) & (spread > _CONSTANT * size)
    table = pd.DataFrame(np.nan, index=series.columns, columns=["low", "high", "p"])
    if not tested.any():
        return table
    n, x, mean, size, spread = n[tested], x[:, tested], mean[tested], size[tested], spread[tested]
    signs = np.random.default_rng(_SEED).choice([-1.0, 1.0], size=(_FLIPS, len(x)))
    largest = np.sort(_t(np.abs(signs @ x) / n, size, n).max(axis=1))[::-1]
    ratio = max(1.0, n_choices / len(n))
    # A little smaller, so that records with the same t count, whatever the rounding.
    t = _t((1.0 - _TIE) * np.abs(mean), size, n)
    p = ratio * (1.0 + np.searchsorted(-largest, -t, side="right")) / (1.0 + _FLIPS)
    # The smallest t with p < 0.05 lies above this one.
    at = int(np.ceil(_LEVEL / ratio * (1.0 + _FLIPS))) - 2
    half = (largest[at] if at >= 0 else np.inf) * spread / np.sqrt(n - 1.0)
    # If the record itself is that one, rounding must not push zero out of the interval.
    within = np.where(p < _LEVEL, -np.inf, np.abs(mean))
    half = np.maximum(half, within)
    low, high = np.maximum(mean - half, -1.0), np.minimum(mean + half, 1.0)
    table.loc[tested] = np.column_stack([low, high, np.minimum(p, 1.0)])
    return table


def _t(mean: np.ndarray, size: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return t-statistics of absolute means; the root mean square does not depend on the signs."""
    share = np.minimum(np.square(mean / size), 1.0 - 1e-15)
    return np.asarray(np.sqrt((n - 1.0) * share / (1.0 - share)))
