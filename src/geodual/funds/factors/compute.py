"""`compute_factors`: the factors of all funds on some days, each from the NAVs up to its day only."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from geodual.arrays import Array, Indices
from geodual.errors import DataError

from ..calendar import half_gap
from ..config import PAPER_FACTORS
from ..panel import Panel, fund_blocks
from .factor import FACTORS, Factor, FactorSet, RecursiveFactor, WindowedFactor, choose_factors
from .formulas import GaplessHistory, Trail

_MONTHS = re.compile(r"return_(\d{1,3})m")


def compute_factors(
    panel: Panel | pd.DataFrame,
    dates: str | date | Iterable[object] | None = None,
    factors: Any = PAPER_FACTORS,
) -> pd.DataFrame:
    """Compute factors over all their windows, for all funds on some days.

    The factors of a day use this row and earlier rows only. They are the same to the last bit whichever rows
    follow, whichever other days are asked for, and whichever other funds are in the table.

    Parameters
    ----------
    panel : Panel or DataFrame of shape (n_days, n_funds)
        The NAVs, day × fund. A value that is not positive and finite counts as missing.
    dates : iterable of dates, a date or "daily", optional
        Days to compute factors for; they must be rows of the table. By default the last row of each calendar
        quarter, including a last quarter that is not over; with "daily", every row.
    factors : str, WindowedFactor, RecursiveFactor or iterable of them
        "paper" for all factors of the paper, names of single ones such as "sharpe", import paths such as
        ``package.module:factor``, and factors of your own (see `docs/add_a_factor.md`).

    Returns
    -------
    DataFrame of shape (n_dates · n_funds, n_factors)
        Indexed by (date, fund), with columns such as `roc_10` … `stability_90`; NaN where a factor is not
        defined. A fund's history starts at its first value. The windows in the names are trading days. On a
        weekly or monthly table they are as many rows as cover that time, ratios are annualized with its own
        number of rows per year, and if several windows have the same number of rows, only one is kept.

    Raises
    ------
    DataError
        If the rows are not days in order, a date is not a row, or a factor is unknown.

    See Also
    --------
    WindowedFactor : A factor of your own, of the last NAVs.
    RecursiveFactor : A factor of your own, of all NAVs so far.

    Examples
    --------
    >>> from geodual.funds import compute_factors, synthetic_universe
    >>> universe = synthetic_universe(5, "2014-01-02", "2014-12-31")
    >>> table = compute_factors(universe.panel, dates="2014-12-31", factors=["roc", "sharpe"])
    >>> table.shape, list(table.columns[:2])
    ((5, 14), ['roc_10', 'roc_14'])
    >>> table.loc[("2014-12-31", "M00001"), ["roc_10", "sharpe_90"]].round(3).to_dict()
    {'roc_10': 0.006, 'sharpe_90': 1.567}
    """
    table = _check_table(panel)
    rows = _find_rows(table.index, dates)
    chosen = factors if isinstance(factors, FactorSet) else choose_factors(factors).on(table.index)
    values = np.empty((len(chosen.columns), len(rows), table.shape[1]))
    with np.errstate(all="ignore"):  # 0/0 and NaN are expected: they become missing factors
        for some in fund_blocks(table.shape):
            nav = table.iloc[:, some].to_numpy(float)
            nav = np.where((nav > 0.0) & np.isfinite(nav), nav, np.nan)
            _fill_windowed(values[:, :, some], nav, rows, chosen)
            _fill_recursive(values[:, :, some], nav, rows, chosen)
    return pd.DataFrame(
        values.reshape(len(chosen.columns), -1).T,
        index=pd.MultiIndex.from_product([table.index[rows], table.columns], names=["date", "fund"]),
        columns=list(chosen.columns),
        copy=False,
    )


def _columns(factors: FactorSet, kind: type[Factor]) -> list[tuple[int, Any, int]]:
    """Return position, factor and rows of the window of each column that belongs to one kind of factor."""
    columns = [(factor, factors.rows(factor, w)) for factor in factors.factors for w in factor.windows]
    return [(at, factor, w) for at, (factor, w) in enumerate(columns) if isinstance(factor, kind)]


def _fill_windowed(values: Array, nav: Array, rows: Indices, factors: FactorSet) -> None:
    columns = _columns(factors, WindowedFactor)
    depth = max((w for _, _, w in columns), default=0)
    # Missing rows before the first one let every day look back `depth` rows.
    padded = np.concatenate([np.full((depth, nav.shape[1]), np.nan), nav])
    for i, row in enumerate(rows):
        trail = Trail(padded[row : row + depth + 1][::-1], factors.rows_per_year)
        for at, factor, w in columns:
            values[at, i] = factor.measure(trail, w)


def _fill_recursive(values: Array, nav: Array, rows: Indices, factors: FactorSet) -> None:
    columns = _columns(factors, RecursiveFactor)
    if not columns:
        return
    history = GaplessHistory(nav, rows)
    for at, factor, w in columns:
        values[at] = factor.measure(history, w)


def _check_table(panel: Panel | pd.DataFrame) -> pd.DataFrame:
    table = panel.nav if isinstance(panel, Panel) else panel
    if not isinstance(table, pd.DataFrame):
        raise DataError(
            f"`panel` must be a Panel or a pandas DataFrame, got {type(table).__name__}; see `read_nav`."
        )
    index = table.index
    if not (isinstance(index, pd.DatetimeIndex) and index.is_monotonic_increasing and index.is_unique):
        raise DataError(
            "The rows of the NAV table must be days in order, each once, under a DatetimeIndex. Make such a "
            "table with `read_nav`."
        )
    return table


def _find_rows(index: pd.Index, dates: str | date | Iterable[object] | None) -> Indices:
    """Return the positions of the days asked for."""
    days = pd.DatetimeIndex(index)
    if dates is None:
        return np.flatnonzero(~days.to_period("Q").duplicated(keep="last"))
    if isinstance(dates, str) and dates == "daily":
        return np.arange(len(days))
    try:
        asked = pd.DatetimeIndex([dates] if isinstance(dates, str | date) else list(dates))
    except (TypeError, ValueError) as error:
        raise DataError(
            f'`dates` must be days of the table, "daily" or None, got {dates!r}; write a day as 2016-12-30.'
        ) from error
    if asked.isna().any():
        raise DataError("`dates` must be days of the table, got a missing one (NaT); remove it.")
    rows = days.get_indexer(asked)
    if (rows < 0).any():
        day = asked[rows < 0][0]
        earlier = days[days < day]
        remedy = f"use the nearest earlier row, {earlier[-1]:%Y-%m-%d}" if len(earlier) else "use a later day"
        raise DataError(f"`dates`: {day:%Y-%m-%d} is not a row of the NAV table; {remedy}.")
    return np.asarray(rows)


def compute_columns(
    panel: Panel, days: pd.DatetimeIndex, names: Iterable[str], factors: FactorSet
) -> dict[str, Array]:
    """Compute single factors for all funds on some days, each from the NAVs up to its day only.

    Parameters
    ----------
    panel : Panel
        Net asset values.
    days : DatetimeIndex
        Days; they must be rows of the panel.
    names : iterable of str
        Name and window of a factor, such as "sharpe_90"; or "return_12m" for the return over 12 months, which
        is not among the factors of the paper.
    factors : FactorSet
        The factors of the study: factors of one's own are found in it.

    Returns
    -------
    dict of str to array of shape (n_days, n_funds)
        Raw values by name, NaN where a factor is not defined.
    """
    computed = {}
    for name in dict.fromkeys(names):
        if found := _MONTHS.fullmatch(name):
            computed[name] = return_over_months(panel.nav, days, int(found[1]))
        else:
            table = compute_factors(panel, days, _find_column(name, factors))
            computed[name] = table.to_numpy(float).reshape(len(days), panel.nav.shape[1])
    return computed


def return_over_months(nav: pd.DataFrame, days: pd.DatetimeIndex, months: int) -> Array:
    """Return what funds earned over the last months before each day, shape (n_days, n_funds).

    It is P_t / P_s − 1 with the last values up to the day and up to the day that many months earlier; NaN if
    a fund has no value that early. On a weekly or monthly table, the row nearest to that day counts: of
    business month ends, the one a year before December 30 is December 31.
    """
    filled = nav.where((nav > 0.0) & np.isfinite(nav)).ffill()
    ends = np.asarray(filled.index.searchsorted(days, side="right")) - 1
    before_days = days - pd.DateOffset(months=months) + half_gap(nav.index)
    starts = np.asarray(filled.index.searchsorted(before_days, side="right")) - 1
    values = filled.to_numpy(float)
    # A start before the first row has the position −1, which would be the last row.
    before = np.where((starts >= 0)[:, None], values[np.maximum(starts, 0)], np.nan)
    with np.errstate(all="ignore"):
        return np.asarray(values[ends] / before - 1.0)


def _find_column(name: str, factors: FactorSet) -> FactorSet:
    kind, _, window = name.rpartition("_")
    known = FACTORS | {factor.name: factor for factor in factors.factors}
    if kind not in known or not window.isdecimal() or int(window) < 1:
        raise DataError(
            f"`factor`: {name!r} is not a factor with a window; write one such as sharpe_90 or return_12m. "
            f"Known are {', '.join(known)}."
        )
    return FactorSet((replace(known[kind], windows=(int(window),)),), factors.rows_per_year)
