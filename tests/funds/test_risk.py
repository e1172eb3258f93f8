"""Risk measures by hand, month by month, and window by window."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds.evaluation import performance as risk
from geodual.funds.evaluation.performance import spread_of


def curve(values, start="2020-01-01", freq="D"):
    return pd.Series(values, index=pd.date_range(start, periods=len(values), freq=freq), dtype=float)


def random_table(days, seed=0, n=3):
    steps = 0.01 * np.random.default_rng(seed).standard_normal((len(days), n))
    return pd.DataFrame(np.exp(steps.cumsum(axis=0)), index=days, columns=list("abc")[:n])


def test_sortino_by_hand():
    # Returns 0.1, −0.2, 0.1 on calendar days: mean 0, then with 0.4 at the end mean 0.1, loss √(0.04/4).
    assert risk.sortino(curve([1.0, 1.1, 0.88, 0.968])) == pytest.approx(0.0, abs=1e-14)
    expected = 0.1 / np.sqrt(0.01) * np.sqrt(365.25)
    assert risk.sortino(curve([1.0, 1.1, 0.88, 0.968, 0.968 * 1.4])) == pytest.approx(expected, rel=1e-12)


def test_sortino_needs_a_loss_and_two_returns():
    for values in ([], [1.0], [1.0, 0.5], [1.0, 1.0, 1.0], [1.0, 1.1, 1.2]):
        assert np.isnan(risk.sortino(curve(values)))


@pytest.mark.parametrize(("n", "tail"), [(1, 1), (20, 1), (21, 2), (40, 2), (41, 3), (250, 13)])
def test_cvar_is_the_mean_of_the_lowest_returns(n, tail):
    returns = np.random.default_rng(n).permutation(np.linspace(-0.03, 0.04, n))
    expected = np.sort(returns)[:tail].mean()
    assert risk.cvar(curve(np.append(1.0, np.cumprod(1.0 + returns)))) == pytest.approx(expected, abs=1e-14)


def test_cvar_without_returns_is_missing():
    assert np.isnan(risk.cvar(curve([])))
    assert np.isnan(risk.cvar(curve([1.0])))


def test_months_start_from_the_close_before_them():
    days = pd.to_datetime(["2020-01-31", "2020-02-03", "2020-02-28", "2020-04-15", "2020-04-16"])
    table = pd.DataFrame({"a": [1.0, 1.5, 2.0, 5.0, 3.0]}, index=days)
    found = risk.monthly_returns(table)
    assert list(found.index) == [pd.Timestamp("2020-02-01"), pd.Timestamp("2020-04-01")]
    assert found.index.name == "month"
    assert found["a"].tolist() == [1.0, 0.5]  # January has only the first value, March none


def test_the_first_month_may_be_incomplete():
    days = pd.to_datetime(["2020-01-10", "2020-01-31", "2020-02-28"])
    found = risk.monthly_returns(pd.DataFrame({"a": [1.0, 2.0, 1.0]}, index=days))
    assert found["a"].tolist() == [1.0, -0.5]


def test_months_chain_to_the_whole():
    table = random_table(pd.bdate_range("2012-03-14", "2015-07-22"))
    whole = (1.0 + risk.monthly_returns(table)).prod()
    np.testing.assert_allclose(whole, table.iloc[-1] / table.iloc[0], rtol=1e-12)


@pytest.mark.parametrize("rows", [0, 1])
def test_no_months_without_returns(rows):
    table = random_table(pd.bdate_range("2012-01-02", periods=rows))
    assert risk.monthly_returns(table).shape == (0, 3)
    assert risk.roll_sharpe(table).shape == (rows, 3)


@pytest.mark.parametrize("freq", ["B", "W-FRI", "ME"])
def test_rolling_sharpe_is_that_of_the_window(freq):
    table = random_table(pd.date_range("2012-01-02", "2014-06-30", freq=freq), seed=1)
    found = risk.roll_sharpe(table)
    for day in table.index[::7]:
        older = table.index[table.index <= day - pd.Timedelta(days=365)]
        for name in table:
            expected = risk.sharpe(table.loc[older[-1] : day, name]) if len(older) else np.nan
            assert found.loc[day, name] == pytest.approx(expected, rel=1e-10, nan_ok=True)


def test_rolling_sharpe_starts_when_a_year_is_full_and_is_missing_where_nothing_moves():
    table = random_table(pd.date_range("2012-01-01", periods=800))
    table.iloc[400:, 1] = table.iloc[400, 1]
    table["c"] = 1.0
    found = risk.roll_sharpe(table)
    assert found["a"].notna().tolist() == [False] * 365 + [True] * 435
    assert found["b"].notna().tolist() == [False] * 365 + [True] * 400 + [False] * 35
    assert found["c"].isna().all()


def test_a_curve_that_grows_evenly_has_no_sharpe_ratio():
    returns = risk.row_returns(curve(1.001 ** np.arange(50)))
    assert risk.spread_of(returns) == 0.0
    assert np.isnan(risk.sharpe_per_row(returns))
    assert np.isnan(risk.sharpe_per_row(returns[:0]))


def test_the_spread_of_too_few_returns_is_unknown_for_each_portfolio() -> None:
    assert np.isnan(spread_of(np.ones((1, 3)))).tolist() == [True] * 3
    np.testing.assert_allclose(spread_of(np.array([[1.0, 1.0], [3.0, 1.0]])), [np.sqrt(2.0), 0.0])
