"""How well forecasts ranked the funds: the rows of Table 1, and returns by fifth of the forecasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from . import performance
from .statistics import summarise_ic

FIFTHS = (1, 2, 3, 4, 5)  # from the worst forecasts to the best


def portfolio_row(curve: pd.Series[float]) -> dict[str, Any]:
    """Return the columns of Table 1 that describe one equity curve; NaN if it has fewer than two days."""
    measured = performance.describe(curve)
    if len(curve) < 2:
        measured = measured * np.nan  # a single day has a drawdown of 0, which would look like a result
    return {str(key): value for key, value in measured.items()}


def forecast_row(ic: pd.Series[float]) -> dict[str, Any]:
    """Return the columns of Table 1 that describe one series of information coefficients."""
    summary = asdict(summarise_ic(ic))
    return {"ic_mean": summary.pop("mean"), "ic_std": summary.pop("std"), **summary}


def mean_turnover(trades: pd.DataFrame, first: pd.Timestamp) -> float:
    """Return the mean turnover per rebalance, without the first purchase, decided on the day `first`."""
    return float(trades.loc[trades["decided"] > first, "turnover"].mean())


def fifths_by_day(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the mean realised return of each fifth of the forecasts on each day.

    The funds of a day are split into fifths by forecast. Fund i of n in this order, from 0, is in fifth
    ⌊5 i/n⌋ + 1; equal forecasts keep the order of their rows. Only funds whose return is known count. If n is
    a multiple of 5, alphalens has the same fifths; else its fifths may differ by a fund.

    Parameters
    ----------
    predictions : DataFrame
        One row per fund and decision: date, forecaster, fund, forecast, realised.

    Returns
    -------
    DataFrame
        Indexed by (forecaster, date), both sorted. Columns: 1 (worst forecasts) to 5; NaN for a fifth that
        has no fund because there are fewer than five.
    """
    known = predictions.dropna(subset=["forecast", "realised"])
    groups = known.groupby(["date", "forecaster"])["forecast"]
    # Ties are ranked in row order, so that all fifths have the same size up to one fund.
    rank = (groups.rank(method="first") - 1.0) / groups.transform("size")
    fifth = (rank * len(FIFTHS)).astype(int) + 1
    by_day = known["realised"].groupby([known["forecaster"], known["date"], fifth.rename("fifth")]).mean()
    return by_day.unstack().reindex(columns=FIFTHS)


def returns_by_fifth(predictions: pd.DataFrame, forecasters: Sequence[str]) -> pd.DataFrame:
    """Return the mean realised return by fifth of the forecasts, forecaster × fifth (1 is the worst).

    The funds of each day are split into fifths by forecast. Every day has the same weight in the mean.
    """
    return fifths_by_day(predictions).groupby("forecaster").mean().reindex(list(forecasters))


def judge_fifths(by_period: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Join the returns by fifth of several periods in one table, and tell whether they rise.

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
