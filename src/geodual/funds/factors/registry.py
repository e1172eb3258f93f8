"""The 70 factors of the paper: ten kinds over seven windows, from NAVs up to the decision day only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.errors import DataError

from ..panel import Panel
from . import recursive, windowed
from .recursive import History
from .windowed import Trail

Rows = NDArray[np.intp]

WINDOWS = (10, 14, 21, 28, 42, 63, 90)


@dataclass(frozen=True)
class Windowed:
    """A factor of the last w + 1 NAVs: a function of a `Trail` and w that gives one value a fund."""

    measure: Callable[[Trail, int], Array]


@dataclass(frozen=True)
class Recursive:
    """A factor of all NAVs so far: a function of a `History` and w that gives decision days × funds."""

    measure: Callable[[History, int], Array]


Factors = Mapping[str, Windowed | Recursive]

FACTORS: dict[str, Windowed | Recursive] = {
    "roc": Windowed(windowed.roc),
    "ema": Recursive(recursive.ema),
    "mdd": Windowed(windowed.mdd),
    "stddev": Windowed(windowed.stddev),
    "sharpe": Windowed(windowed.sharpe),
    "sortino": Windowed(windowed.sortino),
    "calmar": Windowed(windowed.calmar),
    "rsi": Recursive(recursive.rsi),
    "macd": Recursive(recursive.macd),
    "stability": Windowed(windowed.stability),
}
KINDS = tuple(FACTORS)


def compute_factors(
    panel: Panel | pd.DataFrame,
    dates: str | date | Iterable[object] | None = None,
    factors: Factors = FACTORS,
) -> pd.DataFrame:
    """Compute every factor over every window, for all funds on some days.

    The factors of a day are made of its row and earlier ones; they are the same to the last bit whatever rows
    follow, whichever other days are asked for and whichever other funds are in the table.

    Parameters
    ----------
    panel : Panel or DataFrame
        The NAVs, day × fund. A value that is not positive and finite counts as missing.
    dates : iterable of dates, a date or "daily", optional
        Rows of the table. By default the last row of each calendar quarter, also of a last quarter that is
        not over; with "daily", every row.
    factors : mapping of str to Windowed or Recursive
        The kinds, by name; see `docs/add_a_factor.md`.

    Returns
    -------
    DataFrame
        Indexed by (date, fund), with columns `roc_10` … `stability_90`; NaN where a factor is not defined.
        A fund's history starts at its first value.
    """
    table = _check_table(panel)
    rows = _find_rows(table.index, dates)
    nav = table.to_numpy(float)
    nav = np.where((nav > 0.0) & np.isfinite(nav), nav, np.nan)
    values = np.empty((len(factors), len(WINDOWS), len(rows), nav.shape[1]))
    with np.errstate(all="ignore"):
        _fill_windowed(values, nav, rows, factors)
        _fill_recursive(values, nav, rows, factors)
    return pd.DataFrame(
        values.reshape(len(factors) * len(WINDOWS), -1).T,
        index=pd.MultiIndex.from_product([table.index[rows], table.columns], names=["date", "fund"]),
        columns=[f"{kind}_{w}" for kind in factors for w in WINDOWS],
        copy=False,
    )


def _fill_windowed(values: Array, nav: Array, rows: Rows, factors: Factors) -> None:
    depth = max(WINDOWS)
    padded = np.concatenate([np.full((depth, nav.shape[1]), np.nan), nav])
    for i, row in enumerate(rows):
        trail = Trail(padded[row : row + depth + 1][::-1])
        for value, factor in zip(values[:, :, i], factors.values(), strict=True):
            if isinstance(factor, Windowed):
                for j, w in enumerate(WINDOWS):
                    value[j] = factor.measure(trail, w)


def _fill_recursive(values: Array, nav: Array, rows: Rows, factors: Factors) -> None:
    history = History(nav, rows)
    for value, factor in zip(values, factors.values(), strict=True):
        if isinstance(factor, Recursive):
            for j, w in enumerate(WINDOWS):
                value[j] = factor.measure(history, w)


def _check_table(panel: Panel | pd.DataFrame) -> pd.DataFrame:
    table = panel.nav if isinstance(panel, Panel) else panel
    index = table.index
    if not (isinstance(index, pd.DatetimeIndex) and index.is_monotonic_increasing and index.is_unique):
        raise DataError(
            "The rows of the NAV table must be days in order, under a DatetimeIndex, each once. "
            "`read_nav` makes such a table."
        )
    return table


def _find_rows(index: pd.Index, dates: str | date | Iterable[object] | None) -> Rows:
    """Return the positions of the days asked for."""
    days = pd.DatetimeIndex(index)
    if dates is None:
        return np.flatnonzero(~days.to_period("Q").duplicated(keep="last"))
    if isinstance(dates, str) and dates == "daily":
        return np.arange(len(days))
    try:
        asked = pd.DatetimeIndex([dates] if isinstance(dates, str | date) else list(dates))
    except (TypeError, ValueError) as error:
        raise DataError(f'`dates` must be days of the table, "daily" or None, got {dates!r}.') from error
    rows = days.get_indexer(asked)
    if (rows < 0).any():
        day = asked[rows < 0][0]
        earlier = days[days < day]
        nearest = f"the nearest earlier one is {earlier[-1]:%Y-%m-%d}" if len(earlier) else "all are later"
        raise DataError(f"`dates`: {day:%Y-%m-%d} is not a row of the NAV table; {nearest}.")
    return np.asarray(rows)
