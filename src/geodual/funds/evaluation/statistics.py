"""Inference over quarters: rank correlations, their t-statistics and intervals, metric against metric.

Funds of one quarter share a market, so significance is judged over quarters, never within one. With fewer
than three quarters, or no variation among them, what cannot be known is NaN.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from scipy.stats import t as student_t

from geodual.arrays import Array

_MIN_COUNT = 3


@dataclass(frozen=True)
class ICSummary:
    """A series of information coefficients in figures.

    Attributes
    ----------
    mean, std : float
        Mean and standard deviation (ddof = 1) over the quarters.
    icir : float
        mean/std, a quarter's and not annualised; NaN if std is 0.
    t : float
        Of the mean, by `newey_west_t`.
    low, high : float
        95 % interval of the mean, by `stationary_bootstrap_interval`.
    hit_rate : float
        Share of the quarters with a coefficient above 0.
    n : int
        Number of quarters that have a coefficient.
    """

    mean: float
    std: float
    icir: float
    t: float
    low: float
    high: float
    hit_rate: float
    n: int


def spearman_ic(forecast: ArrayLike, realised: ArrayLike) -> float:
    """Return Spearman's rank correlation of forecast and realised returns, the information coefficient.

    Ties get their average rank.

    Parameters
    ----------
    forecast, realised : array of shape (n_funds,)
        Matched by position; funds for which one of them is not finite are left out.

    Returns
    -------
    float
        NaN for fewer than three funds, or if one side is constant.
    """
    x, y = np.asarray(forecast, dtype=float), np.asarray(realised, dtype=float)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"`forecast` and `realised` must be of one length, got {x.shape} and {y.shape}.")
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    if len(x) < _MIN_COUNT or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return np.nan
    x, y = rankdata(x) - 0.5 * (len(x) + 1), rankdata(y) - 0.5 * (len(y) + 1)
    return float(np.clip((x @ y) / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def newey_west_t(series: ArrayLike, lags: int | None = None) -> float:
    """Return the t-statistic of a mean, robust to autocorrelation (Newey and West, Bartlett weights).

    t = x̄ / √(S/(n − 1)), S = γ₀ + 2 Σ_{l ≤ L} (1 − l/(L + 1)) γ_l, with γ_l = Σ_t e_t e_{t−l} / n and
    e = x − x̄. The divisor n − 1 is statsmodels' `use_correction`; L = 0 gives the ordinary t-statistic.

    Parameters
    ----------
    series : array of shape (n,)
        In order of time; values that are not finite are left out.
    lags : int, optional
        L; ⌊4 (n/100)^{2/9}⌋ by default.

    Returns
    -------
    float
        NaN for n < 3, or if the series is constant.
    """
    if lags is not None and lags < 0:
        raise ValueError(f"`lags` must not be negative, got {lags}.")
    x = _finite(series)
    n = len(x)
    if n < _MIN_COUNT or np.ptp(x) == 0.0:
        return np.nan
    L = int(4.0 * (n / 100.0) ** (2.0 / 9.0)) if lags is None else lags
    e = x - x.mean()
    gamma = [e[lag:] @ e[: n - lag] / n for lag in range(min(L, n - 1) + 1)]
    S = gamma[0] + 2.0 * sum((1.0 - lag / (L + 1)) * gamma[lag] for lag in range(1, len(gamma)))
    return float(x.mean() / np.sqrt(S / (n - 1))) if S > 0.0 else np.nan


def stationary_bootstrap_interval(
    series: ArrayLike,
    *,
    level: float = 0.95,
    n_resamples: int = 10_000,
    mean_block: float | None = None,
    seed: int = 0,
) -> tuple[float, float]:
    """Return a percentile interval of a mean by the stationary bootstrap (Politis and Romano, 1994).

    A resample joins blocks of the series, taken around its end to its start; each begins anywhere, and its
    length is geometric. With few values it is too narrow: of independent normal ones, nominal 95 % covered
    the mean in 89 % of the cases for n = 24, and in 92 % for n = 40.

    Parameters
    ----------
    series : array of shape (n,)
        In order of time; values that are not finite are left out.
    level : float
        Nominal coverage, between 0 and 1.
    n_resamples : int
        Number of resamples.
    mean_block : float, optional
        Mean length of a block, at least 1; n^{1/3} by default.
    seed : int
        Of the random generator: the same seed and length give the same resamples.

    Returns
    -------
    low, high : float
        NaN for n < 3.
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"`level` must be between 0 and 1, got {level}.")
    if n_resamples < 1:
        raise ValueError(f"`n_resamples` must be positive, got {n_resamples}.")
    if mean_block is not None and not mean_block >= 1.0:
        raise ValueError(f"`mean_block` must be at least 1, got {mean_block}.")
    x = _finite(series)
    n = len(x)
    if n < _MIN_COUNT:
        return np.nan, np.nan
    p_new = 1.0 / (n ** (1.0 / 3.0) if mean_block is None else mean_block)
    rng = np.random.default_rng(seed)
    at = rng.integers(n, size=n_resamples)
    total = x[at]
    for _ in range(n - 1):
        at = np.where(rng.random(n_resamples) < p_new, rng.integers(n, size=n_resamples), (at + 1) % n)
        total += x[at]
    low, high = np.quantile(total / n, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
    return float(low), float(high)


def holm(p_values: ArrayLike) -> Array:
    """Return p-values adjusted for the number of tests by Holm's step-down rule.

    The i-th smallest of m is multiplied by m − i + 1, made monotone, and cut at 1.

    Parameters
    ----------
    p_values : array of shape (m,)
        NaN stays NaN and does not count as a test.

    Returns
    -------
    array of shape (m,)
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]
    adjusted = np.full_like(p, np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)), 1.0)
    return adjusted


def summarise_ic(series: ArrayLike) -> ICSummary:
    """Return mean, spread and significance of the information coefficients of the quarters.

    Parameters
    ----------
    series : array of shape (n_quarters,)
        In order of time; quarters without a coefficient (NaN) are left out.

    Returns
    -------
    ICSummary
    """
    x = _finite(series)
    n = len(x)
    mean = float(x.mean()) if n else np.nan
    std = np.nan if n < 2 else 0.0 if np.ptp(x) == 0.0 else float(x.std(ddof=1))
    icir = mean / std if std > 0.0 else np.nan
    hit_rate = float((x > 0.0).mean()) if n else np.nan
    return ICSummary(mean, std, icir, newey_west_t(x), *stationary_bootstrap_interval(x), hit_rate, n)


def compare_pairs(ic: pd.DataFrame, reference: str | None = None) -> pd.DataFrame:
    """Test metric against metric, paired by quarter.

    Parameters
    ----------
    ic : DataFrame
        Quarter × metric, in order of time.
    reference : str, optional
        Compare this metric with each other one; by default every pair is compared.

    Returns
    -------
    DataFrame
        One row a pair, indexed by (`metric`, `against`): `difference`, the mean of metric − against over the
        quarters that both have; its `t`, `low` and `high` as in `ICSummary`; `p`, two-sided, of t under
        Student's distribution with n − 1 degrees of freedom; `p_holm`, adjusted for the rows of this table;
        `n`, the quarters. With few quarters p is optimistic: of independent normal differences of mean zero,
        7 % had p < 0.05 for n = 24 and n = 40.
    """
    if reference is not None and reference not in ic.columns:
        raise ValueError(f"`reference` must be one of {', '.join(map(str, ic.columns))}, got {reference!r}.")
    pairs = (
        list(combinations(ic.columns, 2))
        if reference is None
        else [(reference, other) for other in ic.columns if other != reference]
    )
    rows = [asdict(summarise_ic(ic[first] - ic[second])) for first, second in pairs]
    index = pd.MultiIndex.from_tuples(pairs, names=["metric", "against"])
    table = pd.DataFrame(rows, index=index, columns=["mean", "t", "low", "high", "n"], dtype=float)
    p = 2.0 * student_t.sf(table["t"].abs(), table["n"] - 1.0)
    table = table.rename(columns={"mean": "difference"}).assign(p=p, p_holm=holm(p)).astype({"n": int})
    return table[["difference", "t", "low", "high", "p", "p_holm", "n"]]


def _finite(series: ArrayLike) -> Array:
    """Return the finite values of a series, in order."""
    values = np.asarray(series, dtype=float)
    if values.ndim != 1:
        raise ValueError(f"`series` must have one dimension, got shape {values.shape}.")
    return np.asarray(values[np.isfinite(values)])
