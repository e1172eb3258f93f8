"""Returns over spans up to a day, calendar years and rolling years; and curves below their peaks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from geodual.arrays import Array

from ..calendar import half_gap
from .performance import WINDOW, YEAR

SPANS = (1, 3, 5, 10)  # years
_DAY = pd.Timedelta(days=1)
_NEAR = pd.Timedelta(days=7)  # a value this old still stands for a day: year ends have holidays


def values_on(nav: pd.DataFrame, days: Iterable[pd.Timestamp]) -> pd.DataFrame:
    """Return the last values of the week up to each day; NaN where there is none.

    In a weekly or monthly table, the values of the nearest row, at most half a row away.

    Parameters
    ----------
    nav : DataFrame of shape (n_days, n_funds)
        Day × fund.
    days : iterable of Timestamp
        Days, which need not be rows.

    Returns
    -------
    DataFrame
        The days asked for × fund.
    """
    asked = pd.DatetimeIndex(list(days), name="date")
    if reach := half_gap(nav.index):
        rows = pd.DatetimeIndex(nav.index).get_indexer(asked, method="nearest", tolerance=reach + _DAY)
        nearest = np.where((rows >= 0)[:, None], nav.to_numpy(float)[rows], np.nan)
        return pd.DataFrame(nearest, asked, nav.columns)
    values = np.full((len(asked), nav.shape[1]), np.nan)
    for row, day in zip(values, asked, strict=True):
        near = nav.loc[(nav.index > day - _NEAR) & (nav.index <= day)]
        if len(near):
            row[:] = near.ffill().iloc[-1].to_numpy(float)
    return pd.DataFrame(values, asked, nav.columns)


def trailing_returns(
    nav: pd.DataFrame, as_of: pd.Timestamp | None = None, years: Sequence[int] = SPANS
) -> pd.DataFrame:
    """Return what funds earned over the last years before a day, per year where it is more than one.

    Parameters
    ----------
    nav : DataFrame of shape (n_days, n_funds)
        Day × fund.
    as_of : Timestamp, optional
        The last day of the spans; by default the last row.
    years : sequence of int
        Lengths of the spans.

    Returns
    -------
    DataFrame
        Fund × years; NaN where a fund has no value in the week up to the start or the end of a span.

    See Also
    --------
    year_returns : Returns of calendar years.
    fund_sheet : All that is known of one fund.

    Examples
    --------
    >>> from geodual.funds import trailing_returns, synthetic_universe
    >>> nav = synthetic_universe(5, "2014-01-02", "2016-12-30").panel.nav
    >>> trailing_returns(nav).notna().sum().tolist()  # of five funds, over 1, 3, 5 and 10 years
    [5, 0, 0, 0]
    """
    end = pd.Timestamp(nav.index[-1] if as_of is None else as_of)
    last = values_on(nav.loc[:end], [end]).iloc[0]
    starts = values_on(nav, [end - pd.DateOffset(years=span) for span in years])
    growth = {
        span: (last / start) ** (1.0 / span) - 1.0
        for span, (_, start) in zip(years, starts.iterrows(), strict=True)
    }
    return pd.DataFrame(growth).rename_axis(index="fund", columns="years")


def year_returns(nav: pd.DataFrame) -> pd.DataFrame:
    """Return the returns of funds in complete calendar years.

    A year is complete if the table has a row in the week before its start, or in its first week if it begins
    with it, and one in its last week.

    Parameters
    ----------
    nav : DataFrame of shape (n_days, n_funds)
        Day × fund.

    Returns
    -------
    DataFrame
        Year × fund; NaN for a fund without a value in the week up to one of the two days.

    See Also
    --------
    trailing_returns : Returns up to a day.
    measure_persistence : Whether the best of a year stay the best.

    Examples
    --------
    >>> from geodual.funds import year_returns, synthetic_universe
    >>> nav = synthetic_universe(5, "2014-01-02", "2016-12-30").panel.nav
    >>> year_returns(nav).index.tolist()
    [2014, 2015, 2016]
    """
    days = pd.DatetimeIndex(nav.index)
    turns = [pd.Timestamp(year, 12, 31) for year in range(days[0].year - 1, days[-1].year + 1)]
    if turns[0] < days[0] <= turns[0] + _NEAR:  # the table begins with the year
        turns[0] = days[0]
    ends = values_on(nav, turns)
    returns = ends.iloc[1:].to_numpy() / ends.iloc[:-1].to_numpy() - 1.0
    years = pd.Index([turn.year for turn in turns[1:]], name="year")
    table = pd.DataFrame(returns, years, nav.columns)
    return table.dropna(how="all")


def underwater(equity: pd.DataFrame) -> pd.DataFrame:
    """Return how far each curve is below its highest value so far.

    Parameters
    ----------
    equity : DataFrame
        Day × curve, such as net asset values.

    Returns
    -------
    DataFrame
        At most 0; NaN where a curve has no value.

    See Also
    --------
    rolling_returns : Returns over the past year.

    Examples
    --------
    >>> from geodual.funds import underwater, synthetic_universe
    >>> nav = synthetic_universe(5, "2014-01-02", "2016-12-30").panel.nav
    >>> bool((underwater(nav).max() == 0.0).all())
    True
    """
    return equity / equity.cummax() - 1.0


def rolling_returns(equity: pd.DataFrame) -> pd.DataFrame:
    """Return the returns over the past year (365 calendar days), day by day.

    Parameters
    ----------
    equity : DataFrame
        Day × curve, such as net asset values.

    Returns
    -------
    DataFrame
        Day × curve; each return starts from the last value that is at least a year old, in a weekly or
        monthly table from the one nearest to that day. NaN where there is none.

    See Also
    --------
    trailing_returns : Returns over several years, up to one day.

    Examples
    --------
    >>> from geodual.funds import rolling_returns, synthetic_universe
    >>> nav = synthetic_universe(5, "2014-01-02", "2016-12-30").panel.nav
    >>> rolling_returns(nav).dropna().index[0].year
    2015
    """
    days = pd.DatetimeIndex(equity.index)
    starts = days.searchsorted(days - WINDOW + half_gap(days), side="right") - 1
    values = equity.ffill().to_numpy(float)
    before: Array = np.where((starts >= 0)[:, None], values[np.maximum(starts, 0)], np.nan)
    return pd.DataFrame(equity.to_numpy(float) / before - 1.0, equity.index, equity.columns)


def since_start(values: pd.Series[float]) -> float:
    """Return the return since the first value, per year if that is more than a year ago."""
    years = (values.index[-1] - values.index[0]) / pd.Timedelta(days=YEAR)
    return float((values.iloc[-1] / values.iloc[0]) ** (1.0 / max(years, 1.0)) - 1.0)
