"""The 70 factors against TA-Lib and empyrical, fund by fund."""

import os
from collections.abc import Callable

import empyrical
import numpy as np
import pandas as pd
import pytest
import talib

from geodual.funds import compute_factors, read_nav
from geodual.funds.factors.factor import FACTORS, WINDOWS

DAYS = 160
MACD_PERIODS = {10: (5, 3), 14: (6, 5), 21: (10, 7), 28: (13, 10), 42: (19, 15), 63: (29, 22), 90: (42, 31)}
ROLLED = {
    "mdd": empyrical.roll_max_drawdown,
    "stddev": empyrical.roll_annual_volatility,
    "sharpe": empyrical.roll_sharpe_ratio,
    "sortino": empyrical.roll_sortino_ratio,
}
RECURSIVE = ("ema", "rsi", "macd")


def universe() -> pd.DataFrame:
    """Funds of all sorts: stocks and bonds, several scales, births, a closure, flat stretches; no gaps."""
    rng = np.random.default_rng(20120104)
    volatility = np.array([1e-2, 2e-2, 1e-4, 3e-5, 1e-2, 1e-4, 1e-2, 1e-2, 1e-2, 1e-2])
    scale = np.array([1.0, 1.5, 1.0, 100.0, 1e6, 1e6, 1e-6, 1.0, 1.0, 1.0])
    nav = scale * np.exp(np.cumsum(rng.normal(0.05, 1.0, (DAYS, 10)) * volatility, axis=0))
    nav[:37, 7] = np.nan  # starts late
    nav[:130, 8] = np.nan  # a short history
    nav[60:105, 9] = nav[59, 9]  # stale for a time
    nav[150:, 9] = np.nan  # closed
    return pd.DataFrame(nav, index=pd.bdate_range("2014-01-01", periods=DAYS), columns=list("abcdefghij"))


NAV = universe()
DAILY = compute_factors(NAV, "daily")


def rolled(measure: Callable[[np.ndarray], float], values: np.ndarray, w: int) -> np.ndarray:
    """Return the measure of each window of w values."""
    windows = np.lib.stride_tricks.sliding_window_view(values, w) if len(values) >= w else []
    return np.array([measure(window) for window in windows])


def defined_stability(returns: np.ndarray) -> float:
    """empyrical's stability, but NaN instead of 0 for a flat series."""
    return empyrical.stability_of_timeseries(returns) if returns[1:].any() else np.nan


def peer(kind: str, nav: np.ndarray, w: int) -> np.ndarray:
    """Return the factor by TA-Lib or empyrical for one series; NaN before its first value."""
    returns = np.diff(nav) / nav[:-1]
    match kind:
        case "roc":
            found = talib.ROCP(nav, w)
        case "ema":
            found = talib.EMA(nav, w) / nav - 1.0
        case "rsi":
            found = talib.RSI(nav, w)
        case "macd":
            fast, signal = MACD_PERIODS[w]
            found = talib.MACD(nav, fast, w, signal)[2] / nav
        case "stability":  # of w NAVs: the first return of a window only sets the level
            found = rolled(defined_stability, np.append(0.0, returns), w)
        case "calmar":
            found = rolled(empyrical.calmar_ratio, returns, w)
        case _:
            found = ROLLED[kind](returns, w) if len(returns) >= w else np.array([])
    found = np.where(np.isinf(found), np.nan, found)
    return np.concatenate([np.full(len(nav) - len(found), np.nan), found])


def ours(table: pd.DataFrame, kind: str, w: int, fund: str) -> np.ndarray:
    return table.xs(fund, level="fund")[f"{kind}_{w}"].to_numpy()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the peers warn on flat stretches
@pytest.mark.parametrize("w", WINDOWS)
@pytest.mark.parametrize("kind", FACTORS)
def test_every_factor_is_that_of_its_peer(kind: str, w: int) -> None:
    for fund in NAV:
        alive = NAV[fund].notna().to_numpy()
        expected = np.full(DAYS, np.nan)
        expected[alive] = peer(kind, NAV[fund].to_numpy()[alive], w)
        # empyrical compounds returns and so loses digits of the tiny drawdowns of bond funds.
        atol = 1e-9 if kind == "calmar" else 1e-12
        np.testing.assert_allclose(ours(DAILY, kind, w, fund), expected, 1e-9, atol, err_msg=f"fund {fund}")


@pytest.mark.parametrize("kind", RECURSIVE)
def test_missing_days_are_skipped_by_the_recursive_factors(kind: str) -> None:
    """TA-Lib, given the series without the missing days, has the same values on the other days."""
    holes = np.random.default_rng(5).random(NAV.shape) < 0.1
    gappy = NAV.mask(holes)
    table = compute_factors(gappy, "daily")
    for w in WINDOWS:
        for fund in NAV:
            present = gappy[fund].notna().to_numpy()
            expected = np.full(DAYS, np.nan)
            expected[present] = peer(kind, gappy[fund].to_numpy()[present], w)
            np.testing.assert_allclose(ours(table, kind, w, fund), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [kind for kind in FACTORS if kind not in RECURSIVE])
def test_a_missing_day_takes_out_the_windows_that_need_it(kind: str) -> None:
    gone, w = 80, 21
    nav = NAV[["a"]].copy()
    nav.iloc[gone] = np.nan
    table = compute_factors(nav, "daily")
    expected = ours(DAILY, kind, w, "a").copy()
    needed = [gone, gone + w] if kind == "roc" else range(gone, gone + (w if kind == "stability" else w + 1))
    expected[list(needed)] = np.nan
    np.testing.assert_array_equal(ours(table, kind, w, "a"), expected)


def test_a_flat_fund_has_the_relative_strength_of_talib() -> None:
    waves = 1.0 + 0.01 * np.sin(np.arange(40.0))
    nav = pd.DataFrame({"stopped": np.append(waves, np.ones(60)), "never": np.ones(100)})
    table = compute_factors(nav.set_index(pd.bdate_range("2012-01-02", periods=100)), "daily")
    for fund in nav:
        np.testing.assert_allclose(ours(table, "rsi", 10, fund), talib.RSI(nav[fund].to_numpy(), 10), 1e-9)
    assert (ours(table, "rsi", 10, "never")[10:] == 0.0).all()


@pytest.mark.skipif("GEODUAL_NAV" not in os.environ, reason="GEODUAL_NAV names no table of real NAVs")
@pytest.mark.parametrize("kind", FACTORS)
def test_real_series(kind: str) -> None:
    nav = read_nav(os.environ["GEODUAL_NAV"]).nav.iloc[:400, ::150]
    table = compute_factors(nav, "daily")
    for fund in nav:
        values = nav[fund].to_numpy()
        for w in (10, 28, 90):
            np.testing.assert_allclose(
                ours(table, kind, w, fund), peer(kind, values, w), rtol=1e-9, atol=1e-9
            )
