"""Alphas of funds on factor returns: with robust errors, shrunk across funds, and how many are luck."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.stats import t as student_t

from geodual.arrays import Array
from geodual.errors import DataError

from ..panel import Panel
from ..sources.reading.series_file import read_series
from .performance import rows_per_year
from .risk_free import row_rates, take_risk_free

_FEWEST = 24  # rows of a regression: two years of months
_RISK_FREE = "rf"  # name of a column, in lower case, that is no factor
_LEVELS = (0.05, 0.1, 0.2, 0.4)  # two-sided significance levels at which lucky funds are counted
_LAMBDAS = np.arange(0.3, 0.71, 0.05)  # from which the least p-value of zero alphas is chosen
_RESAMPLES = 1000  # of the p-values, for this choice; all three as in Barras, Scaillet and Wermers (2010)


@dataclass(frozen=True, eq=False)
class FundAlphas:
    """What funds earned beyond what factors explain.

    Attributes
    ----------
    table : DataFrame
        By fund: alpha, error (standard error) and shrunk, all per year; t, p (two-sided); r2; n (rows); and
        a beta for each factor, named ``beta_`` and the factor. NaN for funds with too few rows.
    luck : DataFrame
        By significance level: positive and negative (shares of the funds with a significant alpha), lucky and
        unlucky (shares expected among funds whose alpha is zero), skilled and unskilled (the differences, at
        least 0), and false_discoveries (lucky over positive).
    zero_share : float
        Estimated share of funds whose alpha is zero.
    mean, spread : float
        Mean and standard deviation of the true alphas, per year, that the funds are shrunk by.

    See Also
    --------
    measure_alphas : Estimate them.

    Examples
    --------
    >>> from geodual.funds import measure_alphas, synthetic_universe
    >>> universe = synthetic_universe(40, "2014-01-02", "2015-12-31")
    >>> market = universe.index.pct_change().dropna().to_frame("market")
    >>> found = measure_alphas(universe.panel, market, risk_free=0.03)
    >>> list(found.table.columns)
    ['alpha', 'error', 'shrunk', 't', 'p', 'r2', 'n', 'beta_market']
    >>> bool(found.table["shrunk"].std() < found.table["alpha"].std())
    True
    """

    table: pd.DataFrame
    luck: pd.DataFrame
    zero_share: float
    mean: float
    spread: float


def measure_alphas(
    nav: Panel | pd.DataFrame,
    factors: pd.DataFrame | str | Path,
    *,
    risk_free: float | str | Path | pd.Series[float] = 0.0,
    lags: int | None = None,
) -> FundAlphas:
    """Estimate the alphas of funds on factor returns, shrink them, and estimate how many are luck.

    Each fund's returns in excess of the risk-free rate are regressed on the factors, with Newey–West errors.
    Across funds, alphas are shrunk toward their mean by empirical Bayes: the true alphas are normal with a
    mean and a variance that fit all estimates and their errors (Paule and Mandel, 1982). The share of zero
    alphas is Storey's (2002), π₀ = #{p > λ} / (n (1 − λ)), with λ chosen by bootstrap, and funds that are
    lucky at a level γ are π₀ γ / 2 of all (Barras, Scaillet and Wermers, 2010). Both treat funds as
    independent; they are less reliable if funds share something that the factors leave out. With little power
    π₀ is too high: funds with small alphas count as zero.

    Parameters
    ----------
    nav : Panel or DataFrame
        Net asset values, day × fund.
    factors : DataFrame or path
        Returns of the factors as shares (0.01 for 1 %), day × factor, such as market less risk-free rate,
        size, value and momentum. Each is the return since the row before, up to its day; funds are measured
        over the same spans. Days without all factors are left out. A column RF is the risk-free return.
    risk_free : float, path or Series
        Risk-free rate per year, or such rates by day; used without a column RF.
    lags : int, optional
        Lags of the Newey–West errors; by default ⌊4 (n/100)^{2/9}⌋.

    Returns
    -------
    FundAlphas
        Funds need 24 rows, and two per factor.

    See Also
    --------
    style_regression : The mix of indices that moves like a fund.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from geodual.funds import measure_alphas
    >>> rng, days = np.random.default_rng(0), pd.bdate_range("2015-01-01", periods=750)
    >>> market = pd.DataFrame({"market": 0.01 * rng.standard_normal(750)}, days)
    >>> returns = 0.9 * market.to_numpy() + 0.002 * rng.standard_normal((750, 40))
    >>> nav = pd.DataFrame((1 + returns).cumprod(axis=0), days, [f"F{i}" for i in range(40)])
    >>> found = measure_alphas(nav, market)  # no fund has an alpha
    >>> round(found.table["beta_market"].mean(), 2), found.zero_share > 0.7
    (np.float64(0.9), True)
    """
    table = take_factors(factors)
    excess, x, per_year = _align(nav.nav if isinstance(nav, Panel) else nav, table, risk_free)
    names = ["alpha", "error", "t", "p", "r2", "n", *(f"beta_{name}" for name in x.columns)]
    rows = [_regress(excess[fund].to_numpy(float), x.to_numpy(float), lags) for fund in excess]
    found = pd.DataFrame(rows, index=excess.columns.rename("fund"), columns=names)
    found[["alpha", "error"]] *= per_year
    shrunk, mean, spread = shrink(found["alpha"].to_numpy(float), found["error"].to_numpy(float))
    found.insert(2, "shrunk", shrunk)
    p, t = found["p"].to_numpy(float), found["t"].to_numpy(float)
    zero = zero_share(p)
    return FundAlphas(found.astype({"n": int}), count_luck(p, t, zero), zero, mean, spread)


def take_factors(factors: pd.DataFrame | str | Path) -> pd.DataFrame:
    """Return factor returns, day × factor, from a table or a file; raise if they are percentages."""
    table = read_series(factors).dropna()
    if len(table) < 2:
        raise DataError("`factors`: fewer than two days have all factors; fill in the returns.")
    lowest = table.min()
    if (lowest <= -1.0).any():
        name = str(lowest.idxmin())
        raise DataError(
            f"`factors`: {name} is {lowest[name]:g} on {table[name].idxmin():%Y-%m-%d}, less than −100 %; "
            "divide percentages by 100."
        )
    return table


def _align(
    nav: pd.DataFrame, factors: pd.DataFrame, risk_free: Any
) -> tuple[pd.DataFrame, pd.DataFrame, float]:
    """Return excess returns over the spans of the factors, the factors, and spans per year."""
    known = nav.index.union(factors.index)
    # A value is carried to a day of the factors only between the first and the last value of a fund.
    carried = nav.reindex(known).ffill().where(nav.reindex(known).bfill().notna())
    levels = carried.reindex(factors.index)
    returns = levels / levels.shift(1) - 1.0
    given = [name for name in factors if str(name).strip().lower() == _RISK_FREE]
    x = factors.drop(columns=given)
    if not x.shape[1]:
        raise DataError(
            "`factors`: there is no column other than the days and RF; give the returns of a factor."
        )
    if given:
        rates = factors[given[0]].to_numpy(float)[1:]
    else:
        rates = row_rates(factors.index, take_risk_free(risk_free))
    return returns.iloc[1:].sub(rates, axis=0), x.iloc[1:], rows_per_year(factors.index)


def _regress(y: Array, x: Array, lags: int | None) -> tuple[float, ...]:
    """Return alpha, its error, t, p, R², the number of rows, and the betas, by least squares."""
    known = np.isfinite(y)
    y, design = y[known], np.column_stack([np.ones(known.sum()), x[known]])
    n, k = design.shape
    unknown = (*(np.nan,) * 5, float(n), *(np.nan,) * (k - 1))
    if n < max(_FEWEST, 2 * k) or np.linalg.matrix_rank(design) < k or np.ptp(y) == 0.0:
        return unknown
    q, triangle = np.linalg.qr(design)
    beta = np.linalg.solve(triangle, q.T @ y)
    rest = y - design @ beta
    error = np.sqrt(newey_west_covariance(q, triangle, rest, lags)[0, 0])
    if not error > 0.0:
        return unknown
    t = beta[0] / error
    total = ((y - y.mean()) ** 2).sum()
    return beta[0], error, t, 2.0 * student_t.sf(abs(t), n - k), 1.0 - (rest @ rest) / total, n, *beta[1:]


def newey_west_covariance(q: Array, triangle: Array, rest: Array, lags: int | None = None) -> Array:
    """Return the covariance of least-squares coefficients, robust to heteroscedasticity and autocorrelation.

    It is n/(n − k) (XᵀX)⁻¹ S (XᵀX)⁻¹ with Bartlett weights in S, which is statsmodels' HAC with
    `use_correction`.

    Parameters
    ----------
    q, triangle : array of shape (n, k) and (k, k)
        QR decomposition of the design X.
    rest : array of shape (n,)
        Residuals.
    lags : int, optional
        Number of lags; by default ⌊4 (n/100)^{2/9}⌋.
    """
    n, k = q.shape
    L = min(int(4.0 * (n / 100.0) ** (2.0 / 9.0)) if lags is None else lags, n - 1)
    scores = q * rest[:, None]
    S = scores.T @ scores
    for lag in range(1, L + 1):
        cross = scores[lag:].T @ scores[:-lag]
        S += (1.0 - lag / (L + 1)) * (cross + cross.T)
    inverse = np.linalg.inv(triangle)  # with X = QR, (XᵀX)⁻¹ Xᵀ = R⁻¹ Qᵀ
    return np.asarray(n / (n - k) * inverse @ S @ inverse.T)


def shrink(estimates: Array, errors: Array) -> tuple[Array, float, float]:
    """Return estimates shrunk toward their mean by empirical Bayes, the mean, and the spread of true values.

    The variance τ² of the true values solves Σ (x − μ)² / (s² + τ²) = n − 1, where μ is the mean weighted by
    1/(s² + τ²); it is 0 if the left side is smaller even then. Each estimate keeps the part τ²/(s² + τ²) of
    its distance from μ.

    Parameters
    ----------
    estimates, errors : array of shape (n,)
        Estimates x and their standard errors s > 0; NaN is left out.

    Returns
    -------
    shrunk : array of shape (n,)
    mean, spread : float
        μ and τ; NaN for fewer than two estimates.
    """
    known = np.isfinite(estimates) & np.isfinite(errors)
    x, s2 = estimates[known], errors[known] ** 2
    if len(x) < 2:
        return np.full(len(estimates), np.nan), np.nan, np.nan

    def surplus(variance: float) -> float:
        return float((((x - _weighted_mean(x, s2 + variance)) ** 2) / (s2 + variance)).sum() - (len(x) - 1))

    # At the variance n·range² every term is below 1/n: the sum is below 1, at most n − 1.
    most = len(x) * float(np.ptp(x)) ** 2
    variance = float(brentq(surplus, 0.0, most, xtol=1e-12 * most)) if surplus(0.0) > 0.0 else 0.0
    mean = _weighted_mean(x, s2 + variance)
    shrunk = np.full(len(estimates), np.nan)
    shrunk[known] = mean + variance / (s2 + variance) * (x - mean)
    return shrunk, mean, float(np.sqrt(variance))


def _weighted_mean(x: Array, variances: Array) -> float:
    return float((x / variances).sum() / (1.0 / variances).sum())


def zero_share(p: Array, random_state: int = 0) -> float:
    """Return the share of tests whose null hypothesis is true (Storey, 2002), at most 1.

    Of true nulls the p-values are uniform, so that those above λ show their number. Of several λ, the one
    with the least mean squared error is taken: of resamples, about the smallest estimate of all.

    Parameters
    ----------
    p : array of shape (n,)
        p-values; NaN is left out.
    random_state : int
        Seed of the resamples.

    Returns
    -------
    float
        NaN without p-values.
    """
    p = p[np.isfinite(p)]
    if not len(p):
        return np.nan
    n = len(p)
    # Numbers of p-values up to the first λ, between two of them, and above the last.
    parts = np.bincount(np.searchsorted(_LAMBDAS, p), minlength=len(_LAMBDAS) + 1)
    drawn = np.random.default_rng(random_state).multinomial(n, parts / n, size=_RESAMPLES)
    estimates, again = (
        (1.0 - counts[..., :-1].cumsum(axis=-1) / n) / (1.0 - _LAMBDAS) for counts in (parts, drawn)
    )
    error = ((again - estimates.min()) ** 2).mean(axis=0)
    return float(min(1.0, estimates[error.argmin()]))


def count_luck(p: Array, t: Array, zero: float) -> pd.DataFrame:
    """Return how many funds are significant, and how many of them by luck, by significance level.

    Parameters
    ----------
    p, t : array of shape (n,)
        p-values and t-statistics of the alphas; NaN is left out.
    zero : float
        Share of the funds whose alpha is zero.
    """
    known = np.isfinite(p)
    p, t = p[known], t[known]
    rows = {}
    for level in _LEVELS:
        positive, negative = (
            (float(((p < level) & sign).mean()) if len(p) else np.nan) for sign in (t > 0.0, t < 0.0)
        )
        luck = 0.5 * zero * level
        rows[level] = {
            "positive": positive,
            "lucky": luck,
            "skilled": max(positive - luck, 0.0),
            "negative": negative,
            "unlucky": luck,
            "unskilled": max(negative - luck, 0.0),
            "false_discoveries": min(luck / positive, 1.0) if positive > 0.0 else np.nan,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("level")
