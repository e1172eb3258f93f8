"""Returns-based style analysis (Sharpe, 1992): the mix of indices that moves most like a fund."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from geodual.arrays import Array, Indices
from geodual.errors import DataError

_MONTHS = 12  # per year
_FEWEST = 12  # months of a regression; and two per index
_ITERATIONS = 30  # of the active-set method per index; it rarely takes more than one
_BLOCK = 1.0 / 3.0  # power of the number of months that is the mean length of a block, as for ICs
_LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Style:
    """The style of a fund, by the last month of each window.

    Attributes
    ----------
    weights : DataFrame
        By (until, index): weight, and the ends low and high of its 95 % interval. The weights of a window are
        not negative and add up to one.
    fit : DataFrame
        By until: since (first month), months (their number), r2 (share of the variance that the style
        explains), selection (return beyond the style) and tracking_error, both per year.

    See Also
    --------
    style_regression : Estimate it.

    Examples
    --------
    >>> from geodual.funds import style_regression, synthetic_universe
    >>> nav = synthetic_universe(5, "2012-01-02", "2016-12-30").panel.nav
    >>> style = style_regression(nav.iloc[:, 0], nav.iloc[:, 1:], window=24, step=12)
    >>> len(style.fit), style.weights["weight"].groupby("until").sum().round(9).tolist()
    (2, [1.0, 1.0])
    """

    weights: pd.DataFrame
    fit: pd.DataFrame


def style_regression(
    nav: pd.Series[float],
    indices: pd.DataFrame,
    *,
    window: int | None = 36,
    step: int = 3,
    n_resamples: int = 500,
    random_state: int = 0,
) -> Style:
    """Estimate the mix of indices whose monthly returns move most like those of a fund (Sharpe, 1992).

    The weights w ≥ 0, Σ w = 1, minimize the variance of r − Σ w_j x_j, where r are returns of the fund and x
    those of the indices. The solution is exact, by an active-set method. If indices are combinations of each
    other, one of several solutions is returned. Intervals are percentiles of a stationary bootstrap of the
    months of a window, with blocks of n^{1/3} months on average. They are rough where a weight is at 0 or 1.

    Parameters
    ----------
    nav : Series
        Values of the fund, or of a portfolio, by day.
    indices : DataFrame
        Levels of the indices, day × index. Cash may be one of them.
    window : int, optional
        Number of months per window; None for one window of all months.
    step : int
        Number of months from one window to the next, counted back from the last one.
    n_resamples : int
        Number of resamples for the intervals; 0 for none.
    random_state : int
        Seed of the resamples.

    Returns
    -------
    Style
        Weights and fit; without rows if the fund and the indices share fewer months than a window has, twelve
        or twice the number of indices.

    See Also
    --------
    measure_alphas : What funds earn beyond factors.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from geodual.funds import style_regression
    >>> days = pd.bdate_range("2012-01-02", "2016-12-30")
    >>> rng = np.random.default_rng(0)
    >>> returns = 0.01 * rng.standard_normal((len(days), 3))
    >>> indices = pd.DataFrame((1 + returns).cumprod(axis=0), days, ["equity", "bonds", "gold"])
    >>> mine = pd.Series((1 + returns @ [0.7, 0.3, 0.0]).cumprod(), days)
    >>> style = style_regression(mine, indices, window=None, n_resamples=0)
    >>> style.weights["weight"].droplevel("until").round(2).to_dict()
    {'equity': 0.7, 'bonds': 0.3, 'gold': 0.0}
    """
    _check(indices, window, step, n_resamples)
    returns = _monthly_returns(nav, indices)
    own, others = returns.iloc[:, 0].to_numpy(float), returns.iloc[:, 1:].to_numpy(float)
    fewest = max(_FEWEST, 2 * others.shape[1])
    size = max(len(returns) if window is None else window, fewest)
    ends = sorted(range(len(returns), size - 1, -step))
    rng, weights, fits = np.random.default_rng(random_state), [], []
    for end in ends:
        part = slice(end - size, end)
        w = simplex_weights(others[part], own[part])
        low, high = _interval(others[part], own[part], n_resamples, rng)
        weights.append(pd.DataFrame({"weight": w, "low": low, "high": high}, index=list(indices.columns)))
        fits.append(_describe_fit(returns.index[part], own[part], others[part] @ w))
    until = pd.DatetimeIndex([returns.index[end - 1] for end in ends], name="until")
    columns = ["since", "months", "r2", "selection", "tracking_error"]
    return Style(_joined(weights, until), pd.DataFrame(fits, index=until, columns=columns))


def simplex_weights(x: Array, y: Array) -> Array:
    """Return the weights w ≥ 0, Σ w = 1, that minimize the variance of y − x w.

    With the columns of x − y, both centered, as A, this is the point of least norm in a polytope, |A w|². It
    is found exactly by non-negative least squares: the u ≥ 0 that minimize |A u|² + (1 − Σ u)² are a multiple
    of w. (A method on the manifold `Simplex` would reach weights of zero in the limit only.)

    Parameters
    ----------
    x : array of shape (n_times, n_indices)
        Returns of the indices.
    y : array of shape (n_times,)
        Returns to explain.

    Returns
    -------
    array of shape (n_indices,)
    """
    return _least_norm(_triangles(_centered(x - y[:, None])))


def _least_norm(triangle: Array) -> Array:
    """Return the weights of the point of least norm in the polytope of the columns of a matrix."""
    n = triangle.shape[1]
    size = float(np.abs(triangle).max(initial=0.0)) or 1.0
    system = np.vstack([triangle / size, np.ones((1, n))])
    u, _ = nnls(system, np.append(np.zeros(len(triangle)), 1.0), maxiter=_ITERATIONS * n)
    return np.asarray(u / u.sum())


def _centered(values: Array) -> Array:
    return np.asarray(values - values.mean(axis=-2, keepdims=True))


def _triangles(stack: Array) -> Array:
    return np.asarray(np.linalg.qr(stack, mode="r"))


def _interval(x: Array, y: Array, n_resamples: int, rng: np.random.Generator) -> tuple[Array, Array]:
    if not n_resamples:
        return np.full(x.shape[1], np.nan), np.full(x.shape[1], np.nan)
    rows = _resampled_rows(len(y), n_resamples, rng)
    drawn = np.array([_least_norm(each) for each in _triangles(_centered((x - y[:, None])[rows]))])
    low, high = np.quantile(drawn, [0.5 - 0.5 * _LEVEL, 0.5 + 0.5 * _LEVEL], axis=0)
    return low, high


def _resampled_rows(n: int, n_resamples: int, rng: np.random.Generator) -> Indices:
    """Return the rows of each resample of a stationary bootstrap, shape (n_resamples, n)."""
    starts = rng.integers(n, size=(n_resamples, n))
    is_new = rng.random((n_resamples, n)) < n**-_BLOCK
    is_new[:, 0] = True
    # Each row is the start of its block plus the number of rows since.
    since = np.maximum.accumulate(np.where(is_new, np.arange(n), 0), axis=1)
    return np.asarray((np.take_along_axis(starts, since, axis=1) + np.arange(n) - since) % n)


def _monthly_returns(nav: pd.Series[float], indices: pd.DataFrame) -> pd.DataFrame:
    """Return the monthly returns of fund and indices where all have one, by last day of the month."""
    levels = pd.concat([nav.rename("fund"), indices], axis=1, sort=True)
    months = pd.DatetimeIndex(levels.index).to_period("M")
    last = levels.groupby(months).last().asfreq("M")
    return (last / last.shift(1) - 1.0).dropna().to_timestamp(how="end").rename(index=pd.Timestamp.normalize)


def _describe_fit(months: pd.Index, own: Array, style: Array) -> tuple[object, ...]:
    rest, variance = own - style, float(own.var())
    r2 = 1.0 - float(rest.var()) / variance if variance > 0.0 else np.nan
    error = float(rest.std(ddof=1) * np.sqrt(_MONTHS))
    return months[0], len(months), r2, float(rest.mean() * _MONTHS), error


def _joined(weights: list[pd.DataFrame], until: pd.DatetimeIndex) -> pd.DataFrame:
    names = ["until", "index"]
    if weights:
        return pd.concat(dict(zip(until, weights, strict=True)), names=names)
    empty = pd.MultiIndex.from_arrays([until, []], names=names)
    return pd.DataFrame(index=empty, columns=["weight", "low", "high"], dtype=float)


def _check(indices: pd.DataFrame, window: int | None, step: int, n_resamples: int) -> None:
    if not isinstance(indices, pd.DataFrame) or not indices.shape[1] or not indices.columns.is_unique:
        raise DataError("`indices` must be a DataFrame with a column per index, each with its own name.")
    least = {"window": (window, _FEWEST), "step": (step, 1), "n_resamples": (n_resamples, 0)}
    for name, (value, bound) in least.items():
        if value is not None and value < bound:
            raise DataError(f"`{name}` must be at least {bound}, got {value}.")
