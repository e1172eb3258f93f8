"""How forecasts behave: spreads of their fifths, how fast ranks change and skill fades, and skill by type.

All functions start from the predictions of a study: one row per decision and fund with date, forecaster,
fund, forecast and realized (NaN if not known yet). Forecasters keep the order of the predictions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd

from ..calendar import half_gap
from ..forecasters.peers import peer_groups, rank_predictions, ranks_within
from .statistics import corrected_p, newey_west_t, rank_correlations, spearman_ic, summarize_ic

FIFTHS = (1, 2, 3, 4, 5)  # from the worst forecasts to the best
MONTHS = range(1, 13)  # over which the decay of the ICs is followed


def fifths_by_day(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the mean realized return of each fifth of the forecasts on each day.

    The funds of a day are split into fifths by forecast. Fund i of n in this order, from 0, is in fifth
    ⌊5 i/n⌋ + 1; equal forecasts keep the order of their rows. Only funds whose return is known count. If n is
    a multiple of 5, alphalens has the same fifths; else its fifths may differ by a fund.

    Parameters
    ----------
    predictions : DataFrame
        One row per fund and decision: date, forecaster, fund, forecast, realized.

    Returns
    -------
    DataFrame
        Indexed by (forecaster, date), both sorted. Columns: 1 (worst forecasts) to 5; NaN for a fifth that
        has no fund because there are fewer than five.
    """
    known = predictions.dropna(subset=["forecast", "realized"])
    groups = known.groupby(["date", "forecaster"])["forecast"]
    # Ties are ranked in row order, so that all fifths have the same size up to one fund.
    rank = (groups.rank(method="first") - 1.0) / groups.transform("size")
    fifth = (rank * len(FIFTHS)).astype(int) + 1
    by_day = known["realized"].groupby([known["forecaster"], known["date"], fifth.rename("fifth")]).mean()
    return by_day.unstack().reindex(columns=FIFTHS)


def returns_by_fifth(predictions: pd.DataFrame, forecasters: Sequence[str]) -> pd.DataFrame:
    """Return the mean realized return by fifth of the forecasts, forecaster × fifth (1 is the worst).

    The funds of each day are split into fifths by forecast. Every day has the same weight in the mean.
    """
    return fifths_by_day(predictions).groupby("forecaster").mean().reindex(list(forecasters))


def judge_fifths(by_period: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Join the returns by fifth of several periods in one table, with whether they rise.

    Returns
    -------
    DataFrame
        Indexed by (period, forecaster). Columns: 1 to 5 (5 is the fifth with the best forecasts), `spread` (5
        minus 1), and `rising` (whether no fifth earned less than the one below it).
    """
    if not by_period:
        return pd.DataFrame(columns=[*map(str, FIFTHS), "spread", "rising"])
    tables = {period: table.reindex(columns=FIFTHS) for period, table in by_period.items()}
    table = pd.concat(tables, names=["period"])
    rising = table.notna().all(axis=1) & (table.diff(axis=1).iloc[:, 1:] >= 0.0).all(axis=1)
    spread = table[FIFTHS[-1]] - table[FIFTHS[0]]
    return table.rename(columns=str).rename_axis(columns=None).assign(spread=spread, rising=rising)


def measure_spreads(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return what the fifth of the funds with the best forecasts earned more than the worst fifth.

    alphalens shows half of it, the return of a portfolio that is half long and half short.

    Parameters
    ----------
    predictions : DataFrame
        One row per fund and decision.

    Returns
    -------
    DataFrame
        Rebalance day × forecaster: mean realized return of fifth 5 minus that of fifth 1 (see
        `fifths_by_day`). Every day of the predictions has a row; NaN if the returns are not known yet, or
        with fewer than five funds.
    """
    by_day = fifths_by_day(predictions)
    spreads = (by_day[FIFTHS[-1]] - by_day[FIFTHS[0]]).unstack("forecaster")
    return _as_table(spreads, predictions)


def summarize_spread(spread: pd.Series[float], n_choices: int) -> dict[str, float]:
    """Return the mean of a series of spreads with its significance over the rebalance days.

    Parameters
    ----------
    spread : Series
        One value per rebalance day, in order of time; NaN is left out.
    n_choices : int
        Number of forecasters and settings that the best may be chosen from.

    Returns
    -------
    dict
        `mean`; `t`, `low`, `high` of the mean, as in `ICSummary`; `p`, by `corrected_p`; `n`, the number of
        values.
    """
    summary = asdict(summarize_ic(spread))
    kept = {name: summary[name] for name in ("mean", "t", "low", "high")}
    return {**kept, "p": corrected_p(spread, n_choices), "n": summary["n"]}


def correlate_ranks(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return Spearman's correlation of the forecasts with those of the rebalance day before.

    Only funds with a forecast on both days count, and they are ranked among themselves. alphalens ranks them
    among all funds of a day, which is the same if all funds are there on both days.

    Parameters
    ----------
    predictions : DataFrame
        One row per fund and decision.

    Returns
    -------
    DataFrame
        Rebalance day × forecaster; NaN on the first day.
    """
    columns = {}
    for forecaster, own in predictions.groupby("forecaster"):
        forecasts = own.pivot(index="date", columns="fund", values="forecast")
        before = forecasts.shift().to_numpy(float)
        ranked = [spearman_ic(*pair) for pair in zip(forecasts.to_numpy(float), before, strict=True)]
        columns[forecaster] = pd.Series(ranked, index=forecasts.index, dtype=float)
    return _as_table(pd.DataFrame(columns), predictions)


def ic_by_day_and_type(predictions: pd.DataFrame, types: pd.Series[str]) -> pd.DataFrame:
    """Return the information coefficient within each type of funds, for each decision.

    Parameters
    ----------
    predictions : DataFrame
        One row per fund and decision.
    types : Series
        Type by fund; funds without a type are left out.

    Returns
    -------
    DataFrame
        One row per decision and type that has an IC (see `spearman_ic`): date, forecaster, type, ic, funds
        (the number of funds whose return is known).
    """
    known = predictions.dropna(subset=["forecast", "realized"])
    known = known.assign(type=known["fund"].map(types)).dropna(subset=["type"])
    groups = known.groupby(["date", "forecaster", "type"])[["forecast", "realized"]]
    rows = [(*key, spearman_ic(*own.to_numpy(float).T), len(own)) for key, own in groups]
    return pd.DataFrame(rows, columns=["date", "forecaster", "type", "ic", "funds"]).dropna(subset=["ic"])


def average_over_types(by_type: pd.DataFrame, predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the mean IC within types, rebalance day × forecaster: types weigh by their number of funds.

    Parameters
    ----------
    by_type : DataFrame
        From `ic_by_day_and_type`.
    predictions : DataFrame
        What it was made from.

    Returns
    -------
    DataFrame
        NaN where no type has an IC.
    """
    weighted = by_type.assign(weighted=by_type["ic"] * by_type["funds"])
    sums = weighted.groupby(["date", "forecaster"])[["weighted", "funds"]].sum()
    return _as_table((sums["weighted"] / sums["funds"]).unstack("forecaster"), predictions)


def summarize_types(by_type: pd.DataFrame, forecasters: Iterable[str]) -> pd.DataFrame:
    """Return the mean IC by type.

    Parameters
    ----------
    by_type : DataFrame
        From `ic_by_day_and_type`.
    forecasters : iterable of str
        The forecasters, in the order wanted.

    Returns
    -------
    DataFrame
        Indexed by (forecaster, type): `ic_mean`; `t`, by `newey_west_t`; `n`, the number of rebalance days
        with an IC; `funds`, the mean number of funds on these days.
    """
    groups = by_type.groupby(["forecaster", "type"])
    table = groups.agg(
        ic_mean=("ic", "mean"), t=("ic", newey_west_t), n=("ic", "size"), funds=("funds", "mean")
    )
    return table.reindex(list(forecasters), level="forecaster")


def ic_decay(
    predictions: pd.DataFrame,
    nav: pd.DataFrame,
    months: Iterable[int] = MONTHS,
    types: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return how skill fades: the mean IC of the forecasts with the return over one month, two months, ….

    The return over m months after a decision on day d goes from the last value up to d to the last value up
    to the day m months later, in a weekly or monthly table to the row nearest to it. So a fund that was
    closed counts with its last value. A decision for which that day lies after the last row is left out. So
    are funds without a value on day d, or without a forecast of one of the forecasters.

    Parameters
    ----------
    predictions : DataFrame
        One row per fund and decision.
    nav : DataFrame
        Day × fund; NaN where there is no value.
    months : iterable of int
        Numbers of months.
    types : mapping of str to str, optional
        From `types_compared`. Forecasts and returns are then ranked within peer groups.

    Returns
    -------
    DataFrame
        `months` × forecaster: mean over the decisions; NaN if there is none.
    """
    months, days = sorted(months), pd.DatetimeIndex(nav.index)
    filled, tables = nav.ffill(), []
    for day, decided in rank_predictions(predictions, types or {}, "forecast").groupby("date"):
        forecasts = decided.pivot(index="fund", columns="forecaster", values="forecast").dropna()
        ends = pd.DatetimeIndex([pd.Timestamp(str(day)) + pd.DateOffset(months=m) for m in (0, *months)])
        ends = ends[ends <= days[-1]]
        rows = days.searchsorted(ends + half_gap(days), side="right") - 1
        known = filled.iloc[rows].reindex(columns=forecasts.index).to_numpy(float)
        has_value = np.isfinite(known[0])
        earned = known[1:, has_value] / known[0, has_value] - 1.0
        if types:
            groups = peer_groups(forecasts.index, types)[has_value]
            earned = np.array([ranks_within(row, groups) for row in earned]).reshape(earned.shape)
        ics = rank_correlations(earned, forecasts.to_numpy(float)[has_value].T)
        index = pd.Index(months[: len(ics)], dtype=int)  # whole numbers also if empty
        tables.append(pd.DataFrame(ics, index=index, columns=forecasts.columns))
    table = pd.concat(tables).groupby(level=0).mean()
    table = table.reindex(index=months, columns=predictions["forecaster"].unique())
    return table.rename_axis(index="months", columns="forecaster")


def _as_table(values: pd.DataFrame, predictions: pd.DataFrame) -> pd.DataFrame:
    """Return values as rebalance day × forecaster, with all days and forecasters of the predictions."""
    days, forecasters = np.sort(predictions["date"].unique()), predictions["forecaster"].unique()
    table = values.reindex(index=pd.DatetimeIndex(days), columns=forecasters)
    return table.rename_axis(index="date", columns="forecaster").astype(float)
