"""Time the 70 factors at quarter ends against TA-Lib and empyrical, called fund by fund."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import empyrical
import numpy as np
import pandas as pd
import talib
from numpy.typing import NDArray

from geodual.funds import compute_factors
from geodual.funds.factors.factor import FACTORS, WINDOWS

from .timing import best_seconds, format_seconds, format_table

N_FUNDS, N_DAYS, SAMPLE = 697, 1701, 40
Values = NDArray[Any]

ROLLED: dict[str, Callable[[Values], Values]] = {  # these take many windows at once
    "mdd": empyrical.max_drawdown,
    "stddev": empyrical.annual_volatility,
    "sharpe": empyrical.sharpe_ratio,
    "sortino": empyrical.sortino_ratio,
}
SINGLE: dict[str, Callable[[Values], float]] = {  # these take one window
    "calmar": empyrical.calmar_ratio,
    "stability": empyrical.stability_of_timeseries,
}


def factor_table() -> str:
    """Time our factors of all funds and the peers' factors of a sample, and return the table.

    The peers do only the necessary work: TA-Lib runs once per fund and window, and empyrical receives only
    the windows that end at quarter ends, all in one call if possible.
    """
    nav = synthetic_nav()
    rows = nav.index.get_indexer(compute_factors(nav.iloc[:, :1]).index.unique("date"))
    sample = nav.iloc[:, :SAMPLE]
    ours, theirs = best_seconds([lambda: compute_factors(nav), lambda: peer_factors(sample, rows)], rounds=2)
    found = compute_factors(sample).to_numpy().reshape(len(rows), SAMPLE, -1)
    difference = np.abs(found - peer_factors(sample, rows)) / np.maximum(np.abs(found), 1.0)
    full = theirs * N_FUNDS / SAMPLE
    cells = (format_seconds(ours), format_seconds(full), f"{full / ours:.0f}", f"{np.nanmax(difference):.0e}")
    title = (
        f"70 factors of {N_FUNDS} funds at {len(rows)} quarter ends of {N_DAYS} days; "
        f"the peers timed on {SAMPLE} funds and scaled up\n"
    )
    return title + format_table(("geodual", "TA-Lib and empyrical", "ratio", "largest difference"), [cells])


def synthetic_nav() -> pd.DataFrame:
    """Return NAVs of independent log-normal funds."""
    steps = np.random.default_rng(0).normal(3e-4, 1e-2, (N_DAYS, N_FUNDS))
    return pd.DataFrame(np.exp(steps.cumsum(axis=0)), pd.bdate_range("2012-01-04", periods=N_DAYS))


def peer_factors(nav: pd.DataFrame, rows: Values) -> Values:
    """Return the factors by TA-Lib and empyrical in the order of our columns, of shape (rows, funds, 70)."""
    columns = [
        [_peer_factor(kind, series, w, rows) for kind in FACTORS for w in WINDOWS]
        for series in nav.to_numpy().T.copy()
    ]
    return np.array(columns).transpose(2, 0, 1)


def _peer_factor(kind: str, nav: Values, w: int, rows: Values) -> Values:
    """Return a factor of one fund at the given rows; NaN for rows with too short a history."""
    match kind:
        case "roc":
            return talib.ROCP(nav, w)[rows]
        case "ema":
            return (talib.EMA(nav, w) / nav - 1.0)[rows]
        case "rsi":
            return talib.RSI(nav, w)[rows]
        case "macd":
            return (talib.MACD(nav, round(12 * w / 26), w, round(9 * w / 26))[2] / nav)[rows]
    returns = np.append(0.0, nav[1:] / nav[:-1] - 1.0)
    result, enough = np.full(len(rows), np.nan), rows >= w
    windows = np.lib.stride_tricks.sliding_window_view(returns, w)[rows[enough] - w + 1]
    if kind in ROLLED:
        result[enough] = ROLLED[kind](windows.T)
    else:
        result[enough] = [SINGLE[kind](window) for window in windows]
    return result
