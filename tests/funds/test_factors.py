"""Definitions in 50 digits, closed forms, first valid rows, edge cases, no look-ahead, dates."""

from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodual.errors import DataError
from geodual.funds import compute_factors, synthetic_universe
from geodual.funds.factors.compute import compute_columns
from geodual.funds.factors.factor import FACTORS, WINDOWS, RecursiveFactor, WindowedFactor, choose_factors
from geodual.funds.panel import Panel

COLUMNS = [f"{kind}_{w}" for kind in FACTORS for w in WINDOWS]


def random_nav(n_days: int, volatilities: list[float], seed: int, start: str = "2014-01-01") -> pd.DataFrame:
    draws = np.random.default_rng(seed).normal(0.03, 1.0, (n_days, len(volatilities)))
    columns = [f"f{i}" for i in range(len(volatilities))]
    days = pd.bdate_range(start, periods=n_days, name="date")
    return pd.DataFrame(np.exp(np.cumsum(draws * volatilities, axis=0)), days, pd.Index(columns, name="fund"))


def gappy_nav() -> pd.DataFrame:
    """Births, closures, gaps and a flat stretch."""
    nav = random_nav(300, [1e-2, 1e-4, 1e-2, 2e-2, 1e-2, 1e-5, 1e-2], seed=3)
    nav = nav.mask(np.random.default_rng(4).random(nav.shape) < 0.004)
    nav.iloc[:130, 2] = np.nan
    nav.iloc[260:, 3] = np.nan
    nav.iloc[100:150, 4] = nav.iloc[99, 4]
    return nav


def exact_factor(kind: str, nav: list[Decimal], w: int) -> Decimal:
    """The definition, of the last day of a series, with 50 digits."""
    with localcontext(prec=50):
        match kind:
            case "ema":
                return exact_average(nav, w, Decimal(2) / (w + 1))[-1] / nav[-1] - 1
            case "rsi":
                change = [b - a for a, b in pairwise(nav)]
                gain = exact_average([max(c, Decimal(0)) for c in change], w, Decimal(1) / w)[-1]
                loss = exact_average([max(-c, Decimal(0)) for c in change], w, Decimal(1) / w)[-1]
                return 100 * gain / (gain + loss)
            case "macd":
                f, s = round(12 * w / 26), round(9 * w / 26)
                fast = exact_average(nav[w - f :], f, Decimal(2) / (f + 1))
                slow = exact_average(nav, w, Decimal(2) / (w + 1))
                dif = [a - b for a, b in zip(fast, slow, strict=True)]
                return (dif[-1] - exact_average(dif, s, Decimal(2) / (s + 1))[-1]) / nav[-1]
            case "stability":
                return exact_r2([p.ln() for p in nav[-w:]])
            case _:
                return exact_windowed(kind, nav[-w - 1 :])


def exact_average(x: list[Decimal], w: int, alpha: Decimal) -> list[Decimal]:
    result = [sum(x[:w]) / w]
    for value in x[w:]:
        result.append(alpha * value + (1 - alpha) * result[-1])
    return result


def exact_r2(y: list[Decimal]) -> Decimal:
    w, mean = len(y), sum(y) / len(y)
    time = [Decimal(k) - Decimal(w - 1) / 2 for k in range(w)]
    slope = sum(t * (v - mean) for t, v in zip(time, y, strict=True))
    return slope**2 / (sum(t * t for t in time) * sum((v - mean) ** 2 for v in y))


def exact_windowed(kind: str, nav: list[Decimal]) -> Decimal:
    w, year = len(nav) - 1, Decimal(252)
    r = [b / a - 1 for a, b in pairwise(nav)]
    mean = sum(r) / w
    std = (sum((v - mean) ** 2 for v in r) / (w - 1)).sqrt()
    loss = (sum(min(v, Decimal(0)) ** 2 for v in r) / w).sqrt()
    mdd = min(nav[j] / nav[i] - 1 for i in range(w + 1) for j in range(i, w + 1))
    return {
        "roc": lambda: nav[-1] / nav[0] - 1,
        "mdd": lambda: mdd,
        "stddev": lambda: std * year.sqrt(),
        "sharpe": lambda: mean / std * year.sqrt(),
        "sortino": lambda: mean / loss * year.sqrt(),
        "calmar": lambda: ((year / w * (nav[-1] / nav[0]).ln()).exp() - 1) / -mdd,
    }[kind]()


@pytest.mark.parametrize("kind", FACTORS)
def test_factors_are_their_definitions_for_any_volatility_and_scale(kind: str) -> None:
    """Volatilities from a stock fund to a money-market fund, NAVs from 1e-6 to 1e6; nine digits at least."""
    nav = random_nav(130, [2e-2, 1e-4, 1e-5, 1e-2, 1e-4, 1e-2], seed=1) * [1.0, 1.0, 1.0, 1e6, 1e6, 1e-6]
    found = compute_factors(nav, nav.index[-1]).droplevel("date")
    for w in (10, 28, 90):
        exact = [float(exact_factor(kind, list(map(Decimal, nav[fund])), w)) for fund in nav]
        # The averages of prices near 1 are only known to 1e-16, whatever is left of them after subtraction.
        atol = 1e-15 if kind in ("ema", "macd") else 0.0
        np.testing.assert_allclose(found[f"{kind}_{w}"], exact, rtol=1e-9, atol=atol)


def test_one_outlier_does_not_hide_a_tiny_volatility() -> None:
    nav = random_nav(130, [1e-6], seed=2)
    nav.iloc[-15:] *= 1.1
    for day in nav.index[[-16, -15, -14, -1]]:
        series = list(map(Decimal, nav["f0"].loc[:day]))
        found = compute_factors(nav, day).iloc[0]
        for kind in ("stddev", "sharpe", "stability"):
            for w in (10, 14, 90):
                np.testing.assert_allclose(
                    found[f"{kind}_{w}"], float(exact_factor(kind, series, w)), rtol=1e-9
                )


def test_constant_growth() -> None:
    growth = 1.0004
    nav = pd.DataFrame({"f": growth ** np.arange(130.0)}, pd.bdate_range("2020-01-01", periods=130))
    found = compute_factors(nav, nav.index[-1]).iloc[0]
    for w in WINDOWS:
        alpha = 2.0 / (w + 1.0)
        lag = alpha / (1.0 - (1.0 - alpha) / growth)  # EMA/P of an endless exponential
        seed = (1.0 - growth**-w) / (1.0 - 1.0 / growth) / w
        left = (seed - lag) * ((1.0 - alpha) / growth) ** (130 - w)
        np.testing.assert_allclose(found[f"roc_{w}"], growth**w - 1.0, rtol=1e-9)
        np.testing.assert_allclose(found[f"ema_{w}"], lag + left - 1.0, rtol=1e-9)
        np.testing.assert_allclose([found[f"rsi_{w}"], found[f"stability_{w}"]], [100.0, 1.0], rtol=1e-9)
        assert found[f"stddev_{w}"] == found[f"mdd_{w}"] == 0.0
    assert found.filter(regex="sharpe|sortino|calmar").isna().all()


def test_a_constant_nav() -> None:
    for level in (1.0, 0.1, 3.7e6, 1e-6):
        nav = pd.DataFrame({"f": np.full(150, level)}, pd.bdate_range("2020-01-01", periods=150))
        found = compute_factors(nav, nav.index[-1]).iloc[0]
        missing = found.filter(regex="sharpe|sortino|calmar|stability").index
        assert found[missing].isna().all()
        assert (found.drop(missing) == 0.0).all()


def test_first_valid_rows_count_from_the_birth_of_a_fund() -> None:
    nav = random_nav(220, [1e-2] * 3, seed=7)
    births = {"f0": 0, "f1": 31, "f2": 97}
    for fund, birth in births.items():
        nav.loc[nav.index[:birth], fund] = np.nan
    valid = compute_factors(nav, "daily").notna().unstack("fund")
    for w in WINDOWS:
        for kind in ("roc", "ema", "mdd", "stddev", "sharpe", "rsi", "macd", "stability"):
            first = {"ema": w - 1, "stability": w - 1, "macd": w + round(9 * w / 26) - 2}.get(kind, w)
            for fund, birth in births.items():
                expected = np.arange(220) >= birth + first
                np.testing.assert_array_equal(valid[(f"{kind}_{w}", fund)], expected, f"{kind}_{w} {fund}")


@pytest.mark.parametrize("last", [60, 133, 222])
def test_later_rows_change_no_bit(last: int) -> None:
    """Cut off, replaced by noise, by wild values, by nothing: the factors up to a day stay as they are."""
    nav = gappy_nav()
    rng = np.random.default_rng(0)
    days = nav.index[last % 6 : last + 1 : 6]
    known = compute_factors(nav, days)
    pd.testing.assert_frame_equal(compute_factors(nav.iloc[: last + 1], days), known, check_exact=True)
    wild = rng.choice([1e300, 1e-300, 0.0, -1.0, np.inf, np.nan], nav.shape)
    for later in (np.exp(rng.normal(size=nav.shape)), wild, np.full(nav.shape, np.nan)):
        garbage = nav.copy()
        garbage.iloc[last + 1 :] = later[last + 1 :]
        pd.testing.assert_frame_equal(compute_factors(garbage, days), known, check_exact=True)
        compute_factors(garbage)  # at later days too, without a warning


def test_other_days_and_other_funds_change_no_bit() -> None:
    nav = gappy_nav()
    daily = compute_factors(nav, "daily")
    days = nav.index[[0, 57, 140, 236, 299]]
    for day in days:
        pd.testing.assert_frame_equal(compute_factors(nav, [day]), daily.loc[[day]], check_exact=True)
    for funds in (*([fund] for fund in nav), ["f6", "f0", "f2"], list(nav.columns[::-1])):
        expected = daily.loc[pd.MultiIndex.from_product([days, funds], names=["date", "fund"])]
        pd.testing.assert_frame_equal(compute_factors(nav[funds], days), expected, check_exact=True)


def test_rows_before_the_birth_of_a_fund_change_no_bit() -> None:
    nav = random_nav(150, [1e-2, 1e-4], seed=11)
    late = pd.concat([nav.iloc[:0].reindex(pd.bdate_range("2013-01-01", periods=70, name="date")), nav])
    found = compute_factors(late, "daily").loc[nav.index[0] :]
    pd.testing.assert_frame_equal(found, compute_factors(nav, "daily"), check_exact=True)


@given(exponent=st.floats(-6.0, 6.0), seed=st.integers(0, 1000))
def test_factors_are_free_of_the_scale(exponent: float, seed: int) -> None:
    nav = random_nav(130, [1e-2, 1e-2, 1e-3], seed)
    expected = compute_factors(nav, nav.index[-1])
    scaled = compute_factors(nav * 10.0**exponent, nav.index[-1])
    np.testing.assert_allclose(scaled, expected, rtol=1e-9, atol=1e-13)
    doubled = compute_factors(nav * 2.0 ** round(exponent), nav.index[-1])
    pd.testing.assert_frame_equal(doubled, expected, check_exact=True)


def test_values_that_are_no_nav_count_as_missing() -> None:
    nav = gappy_nav()
    wrong = nav.copy()
    wrong.iloc[200, 0], wrong.iloc[205, 1], wrong.iloc[210, 2] = 0.0, -1.0, np.inf
    missing = nav.copy()
    missing.iloc[200, 0] = missing.iloc[205, 1] = missing.iloc[210, 2] = np.nan
    pd.testing.assert_frame_equal(compute_factors(wrong, "daily"), compute_factors(missing, "daily"))


def test_the_table_that_comes_back() -> None:
    nav = gappy_nav()
    before = nav.copy()
    found = compute_factors(Panel(nav))
    pd.testing.assert_frame_equal(nav, before, check_exact=True)
    pd.testing.assert_frame_equal(found, compute_factors(nav))
    assert list(found.columns) == COLUMNS
    assert len(COLUMNS) == 70
    assert found.index.names == ["date", "fund"]
    assert list(found.index.get_level_values("fund")[: nav.shape[1]]) == list(nav.columns)
    assert set(found.dtypes) == {np.dtype(float)}


def test_quarter_ends_are_rows_of_the_data() -> None:
    """The last trading day where the quarter's last day is none, and the last row of a quarter not over."""
    days = pd.bdate_range("2014-01-01", "2014-11-12").drop(pd.Timestamp("2014-06-30"))
    nav = pd.DataFrame({"f": np.linspace(1.0, 2.0, len(days))}, days)
    found = compute_factors(nav).index.get_level_values("date")
    assert list(found.strftime("%m-%d")) == ["03-31", "06-27", "09-30", "11-12"]


def test_days_are_asked_for_in_many_ways() -> None:
    nav = random_nav(120, [1e-2, 1e-2], seed=0)
    day = nav.index[100]
    expected = compute_factors(nav, "daily").loc[[day]]
    for dates in (day, day.date(), f"{day:%Y-%m-%d}", [day], nav.index[100:101], pd.Series([day])):
        pd.testing.assert_frame_equal(compute_factors(nav, dates), expected, check_exact=True)
    assert list(compute_factors(nav, [day, nav.index[3]]).index.unique("date")) == [day, nav.index[3]]
    assert compute_factors(nav, []).shape == compute_factors(nav.iloc[:0]).shape == (0, 70)


@pytest.mark.parametrize(
    ("dates", "message"),
    [
        (["2014-02-03", "2014-02-08"], "2014-02-08 is not a row.*use the nearest earlier row, 2014-02-07"),
        ("2013-12-31", "2013-12-31 is not a row.*use a later day"),
        ("weekly", "must be days of the table.*write a day as"),
        (7, "must be days of the table"),
    ],
)
def test_days_that_are_not_in_the_table(dates: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        compute_factors(random_nav(60, [1e-2], seed=0), dates)


def test_a_table_without_days_in_order_is_refused() -> None:
    nav = random_nav(60, [1e-2], seed=0)
    for bad in (nav[::-1], nav.reset_index(drop=True), pd.concat([nav, nav.iloc[-1:]])):
        with pytest.raises(DataError, match=r"DatetimeIndex.*`read_nav`"):
            compute_factors(bad)


@pytest.mark.parametrize("kind", FACTORS)
def test_a_factor_knows_how_many_values_it_needs(kind: str) -> None:
    nav = random_nav(130, [1e-2], seed=5)
    factor = FACTORS[kind]
    table = compute_factors(nav, "daily", factors=kind)
    for w in WINDOWS:
        first = int(np.flatnonzero(table[f"{kind}_{w}"].notna())[0])
        assert first + 1 == factor.values_needed(w)


def test_factors_are_chosen_by_name_by_set_and_as_objects() -> None:
    nav = random_nav(130, [1e-2, 1e-2], seed=6)
    own = WindowedFactor("level", lambda trail, w: trail.nav[w] / trail.nav[0], "level", windows=(5, 400))
    table = compute_factors(nav, nav.index[-1], factors=["paper", own])
    assert list(table.columns) == [*COLUMNS, "level_5", "level_400"]
    np.testing.assert_array_equal(table["level_5"], nav.iloc[-6] / nav.iloc[-1])
    assert table["level_400"].isna().all()
    whole = compute_factors(nav, nav.index[-1])
    for kind in ("rsi", "roc"):
        pd.testing.assert_frame_equal(
            compute_factors(nav, nav.index[-1], factors=kind), whole[[f"{kind}_{w}" for w in WINDOWS]]
        )


@pytest.mark.parametrize(
    ("factors", "told"),
    [
        ("nope", "'nope' is not a factor; known are paper, roc"),
        ([], "at least one, got none; name each once"),
        (["paper", "roc"], "'roc' twice; name each once"),
        (5, "must be names or factors, got 5; write"),
        ("no_such_module:factor", "cannot be imported"),
        ("math:nope", "math has no 'nope'; check the spelling"),
        ("math:pi", "'math:pi' is not a factor"),
    ],
)
def test_what_is_no_factor_is_refused_in_one_line(factors, told: str) -> None:
    with pytest.raises(DataError, match=told) as error:
        compute_factors(random_nav(20, [1e-2], seed=0), factors=factors)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("w", [1, 2, 3])
def test_the_shortest_windows_have_a_macd(w):
    """f = w where 12w/26 is less: then both averages are the same, and their difference is 0."""
    nav = synthetic_universe(3, "2014-01-02", "2014-06-30").panel
    found = compute_columns(nav, nav.nav.index[-1:], [f"macd_{w}"], choose_factors())[f"macd_{w}"]
    assert np.isfinite(found).all()
    assert w > 2 or (found == 0.0).all()


@pytest.mark.parametrize("windows", [(), (0,), (-1,), (5, 5), ("a",), 10, (10**9,)])
def test_windows_are_different_numbers_of_days(windows):
    for kind in (WindowedFactor, RecursiveFactor):
        with pytest.raises(DataError, match="`windows` of the factor 'mine' must be different numbers"):
            kind("mine", lambda trail, w: trail.nav[0], "mine", windows=windows)


def test_what_is_no_table_and_no_day_is_told():
    nav = synthetic_universe(3, "2014-01-02", "2014-06-30").panel.nav
    with pytest.raises(DataError, match="got a missing one"):
        compute_factors(nav, dates=[nav.index[0], pd.NaT])
    with pytest.raises(DataError, match="`panel` must be a Panel or a pandas DataFrame, got dict"):
        compute_factors({"A": [1.0]})
