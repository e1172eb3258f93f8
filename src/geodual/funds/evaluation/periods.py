"""Split decisions and equity curves into the validation period and the test period, and say which count."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from geodual.errors import DataError

PERIODS = ("validation", "test", "both")


def first_test_day(days: pd.Index, test_start: str) -> pd.Timestamp:
    """Return the first row of the test period, or the day after the last row if there is none."""
    later = days[days >= pd.Timestamp(test_start)]
    return pd.Timestamp(later[0] if len(later) else days[-1] + pd.Timedelta(days=1))


def decisions_in(period: str, decided: pd.Index, days: pd.Index, test_start: str) -> pd.Index:
    """Return the decision days of a period: those whose holding interval begins in it.

    A decision at the last close of 2016 therefore belongs to 2017.
    """
    _check_period(period)
    # Holding starts with the row after the decision; the last row has none and stands for itself.
    following = pd.DatetimeIndex([days[min(days.searchsorted(day) + 1, len(days) - 1)] for day in decided])
    in_test = following >= pd.Timestamp(test_start)
    return {"validation": decided[~in_test], "test": decided[in_test], "both": decided}[period]


def equity_in(period: str, equity: pd.DataFrame, test_start: str) -> pd.DataFrame:
    """Return the equity of a period; the test period starts from the last close before it."""
    _check_period(period)
    start = first_test_day(equity.index, test_start)
    base = max(int(equity.index.searchsorted(start)) - 1, 0)
    if period == "both":
        return equity
    return equity.iloc[: base + 1] if period == "validation" else equity.iloc[base:]


def judged_period(known: Collection[str], *, tuned: bool) -> str:
    """Return the period whose decisions are evidence: "both", or "test" if settings were tuned before it.

    Every decision is made with what was known on its day, so all are out of sample unless they were used to
    tune settings.

    Parameters
    ----------
    known : collection of str
        Periods with an information coefficient.
    tuned : bool
        Whether settings were chosen on the validation period.
    """
    return "test" if tuned and "test" in known else "both"


def _check_period(period: str) -> None:
    if period not in PERIODS:
        raise DataError(f"`period` must be one of {', '.join(PERIODS)}, got {period!r}.")
