"""The ledger against hand calculations, a slow ledger in units, and the laws of money."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from geodual.funds import DataError
from geodual.funds.evaluation.ledger import run_ledger


def table(columns, start="2020-01-01"):
    values = pd.DataFrame(columns, dtype=float)
    return values.set_axis(pd.bdate_range(start, periods=len(values), name="date"))


def random_case(seed, n_days=60, n_funds=8, n_trades=5, missing=0.1):
    """NAVs with births, closures and gaps; random weights, some cash, on the first day and others."""
    rng = np.random.default_rng(seed)
    steps = 0.03 * rng.standard_normal((n_days, n_funds))
    nav = np.exp(np.cumsum(steps, axis=0) + rng.standard_normal(n_funds))
    nav[rng.random(nav.shape) < missing] = np.nan
    for fund in range(n_funds // 2):
        nav[: rng.integers(n_days), fund] = np.nan
        nav[rng.integers(n_days) :, -1 - fund] = np.nan
    nav = table({f"{fund:06d}": nav[:, fund] for fund in range(n_funds)})
    weights = rng.dirichlet(np.ones(n_funds), n_trades) * (rng.random((n_trades, n_funds)) < 0.6)
    days = [0, *np.sort(rng.choice(np.arange(1, n_days - 2), n_trades - 1, replace=False))]
    return nav, pd.DataFrame(weights, index=nav.index[days], columns=nav.columns)


def slow_ledger(nav, targets, cost, lag):
    """Units and cash in dicts, day by day, the cost by bisection."""
    orders = {nav.index.get_loc(day) + lag: targets.loc[day] for day in targets.index}
    units, cash, last, equity = {}, 1.0, {}, []
    for row in range(min(orders), len(nav)):
        for fund in nav.columns:
            known = nav[fund].iloc[: row + 1].dropna()
            last[fund] = known.iloc[-1] if len(known) else np.nan
        worth = {fund: units[fund] * last[fund] for fund in units}
        total = cash + sum(worth.values())
        equity.append(total)
        if row in orders:
            wanted = {f: w for f, w in orders[row].items() if w > 0.0 and np.isfinite(nav[f].iloc[row])}

            def missing(after, wanted=wanted, worth=worth, total=total):
                funds = set(wanted) | set(worth)
                traded = sum(abs(wanted.get(f, 0.0) * after - worth.get(f, 0.0)) for f in funds)
                return after + cost * traded - total

            after = brentq(missing, 0.0, total, xtol=1e-15) if cost else total
            units = {fund: weight * after / last[fund] for fund, weight in wanted.items()}
            cash = after * (1.0 - sum(wanted.values()))
    return np.array(equity)


def test_two_funds_by_hand():
    nav = table({"A": [2.0, 3.0, 3.0, 6.0], "B": [1.0, 1.0, 0.5, 0.5]})
    targets = {nav.index[0]: pd.Series({"A": 0.5, "B": 0.5}), nav.index[2]: pd.Series({"A": 0.25, "B": 0.5})}
    ledger = run_ledger(nav, targets)
    # Day 1: 0.75 + 0.5. Day 2: 0.75 + 0.25 = 1, then A 0.25, B 0.5, cash 0.25. Day 3: 0.5 + 0.5 + 0.25.
    np.testing.assert_allclose(ledger.equity, [1.0, 1.25, 1.0, 1.25], rtol=1e-15)
    np.testing.assert_allclose(ledger.trades["turnover"], [1.0, 0.5], rtol=1e-15)
    np.testing.assert_array_equal(ledger.trades["n_held"], [2, 2])
    np.testing.assert_array_equal(ledger.weights, [[0.5, 0.5], [0.25, 0.5]])
    assert list(ledger.trades["decided"]) == list(ledger.trades["executed"]) == list(nav.index[[0, 2]])


def test_costs_by_hand():
    nav = table({"A": [1.0, 2.0, 2.0], "B": [1.0, 1.0, 1.0]})
    targets = {nav.index[0]: pd.Series({"A": 1.0}), nav.index[1]: pd.Series({"B": 1.0})}
    ledger = run_ledger(nav, targets, cost=0.02)
    # Buying costs 2 % of what is bought; a switch loses 2 % going out and again coming in.
    bought = 1.0 / 1.02
    np.testing.assert_allclose(ledger.equity, [1.0, 2.0 * bought, 2.0 * bought * 0.98 / 1.02], rtol=1e-15)
    np.testing.assert_allclose(ledger.trades["cost"], [1.0 - bought, 1.0 - 0.98 / 1.02], rtol=1e-14)


def test_buy_and_hold_is_the_ratio_of_navs():
    nav = table({"A": np.exp(np.random.default_rng(0).standard_normal(50))})
    ledger = run_ledger(nav, {nav.index[10]: pd.Series({"A": 1.0})})
    np.testing.assert_allclose(ledger.equity, nav["A"].iloc[10:] / nav["A"].iloc[10], rtol=1e-15)
    assert ledger.equity.index.equals(nav.index[10:])


@pytest.mark.parametrize("cost", [0.0, 0.0015, 0.09])
@pytest.mark.parametrize("lag", [0, 1, 2])
def test_it_agrees_with_a_slow_ledger(cost, lag):
    for seed in range(3):
        nav, targets = random_case(seed)
        ledger = run_ledger(nav, targets, cost=cost, execution_lag=lag)
        np.testing.assert_allclose(ledger.equity, slow_ledger(nav, targets, cost, lag), rtol=1e-12)


def test_a_closed_fund_keeps_its_value_and_turns_to_cash():
    nav = table({"A": [1.0, 2.0, np.nan, np.nan, np.nan, np.nan], "B": [1.0, 1.0, 1.0, 1.0, 2.0, 3.0]})
    half = pd.Series({"A": 0.5, "B": 0.5})
    ledger = run_ledger(nav, {nav.index[0]: half, nav.index[3]: half})
    # A's 1.0 (of 1.5) is paid out on day 3; only 0.75 goes into B, the share meant for A stays in cash.
    np.testing.assert_allclose(ledger.equity, [1.0, 1.5, 1.5, 1.5, 2.25, 3.0], rtol=1e-15)
    np.testing.assert_array_equal(ledger.trades["unfilled"], [0.0, 0.5])
    np.testing.assert_array_equal(ledger.trades["n_held"], [2, 1])


def test_a_gap_is_valued_at_the_last_nav_and_then_made_up():
    nav = table({"A": [1.0, 2.0, np.nan, 4.0]})
    ledger = run_ledger(nav, {nav.index[0]: pd.Series({"A": 1.0})})
    np.testing.assert_array_equal(ledger.equity, [1.0, 2.0, 2.0, 4.0])


def test_an_unborn_fund_is_not_bought():
    nav = table({"A": [np.nan, 1.0, 5.0], "B": [1.0, 1.0, 1.0]})
    ledger = run_ledger(nav, {nav.index[0]: pd.Series({"A": 1.0})})
    np.testing.assert_array_equal(ledger.equity, [1.0, 1.0, 1.0])
    np.testing.assert_array_equal(ledger.trades["turnover"], [0.0])


def test_a_lag_trades_at_later_navs():
    nav = table({"A": [1.0, 2.0, 6.0], "B": [1.0, 1.0, 1.0]})
    targets = {nav.index[0]: pd.Series({"A": 1.0}), nav.index[2]: pd.Series({"B": 1.0})}
    ledger = run_ledger(nav, targets, execution_lag=1)
    assert ledger.equity.to_dict() == {nav.index[1]: 1.0, nav.index[2]: 3.0}
    assert ledger.trades[["decided", "executed"]].to_numpy().tolist() == [[nav.index[0], nav.index[1]]]


@given(seed=st.integers(0, 10**6), cost=st.sampled_from([0.0, 0.003, 0.099]), lag=st.integers(0, 1))
def test_no_money_appears_or_vanishes(seed, cost, lag):
    """Equity before = equity after + cost of what was traded, with equity and weights of the ledger alone."""
    nav, targets = random_case(seed)
    ledger = run_ledger(nav, targets, cost=cost, execution_lag=lag)
    filled, weights, trades = nav.ffill()[ledger.weights.columns], ledger.weights, ledger.trades
    held = pd.Series(0.0, index=weights.columns)
    for k, day in enumerate(weights.index):
        before = ledger.equity[day]
        after = before * (1.0 - trades["cost"][k])
        bought = weights.loc[day] * after
        np.testing.assert_allclose(before - after, cost * (bought - held).abs().sum(), rtol=0, atol=1e-14)
        assert 0.0 <= trades["turnover"][k] <= 1.0 + 1e-12
        end = weights.index[k + 1] if k + 1 < len(weights) else nav.index[-1]
        held = (bought * filled.loc[end] / filled.loc[day]).fillna(0.0)
        cash = after * (1.0 - weights.loc[day].sum())
        if end > day:
            np.testing.assert_allclose(ledger.equity[end], held.sum() + cash, rtol=1e-13)


@given(seed=st.integers(0, 10**6))
def test_neither_units_nor_order_of_funds_matter(seed):
    nav, targets = random_case(seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(nav.columns)
    scaled = (nav * np.exp(5.0 * rng.standard_normal(len(nav.columns))))[order]
    ours, other = (run_ledger(values, targets, cost=0.01) for values in (nav, scaled))
    np.testing.assert_allclose(ours.equity, other.equity, rtol=1e-12)
    np.testing.assert_allclose(ours.trades["turnover"], other.trades["turnover"], rtol=1e-9, atol=1e-12)


@given(seed=st.integers(0, 10**6), cut=st.integers(0, 59))
def test_what_comes_later_changes_nothing_before(seed, cut):
    nav, targets = random_case(seed)
    day = nav.index[cut]
    whole = run_ledger(nav, targets, cost=0.01)
    part = run_ledger(nav.loc[:day], targets.loc[:day], cost=0.01)
    pd.testing.assert_series_equal(part.equity, whole.equity.loc[:day], check_exact=True, check_freq=False)
    pd.testing.assert_frame_equal(part.trades, whole.trades.iloc[: len(part.trades)], check_exact=True)


def test_costs_lower_the_equity_and_inputs_stay_as_they_are():
    nav, targets = random_case(3)
    before = nav.copy(), targets.copy()
    curves = [run_ledger(nav, targets, cost=cost).equity for cost in (0.0, 0.001, 0.01)]
    assert (curves[0].iloc[1:] > curves[1].iloc[1:]).all()
    assert (curves[1].iloc[1:] > curves[2].iloc[1:]).all()
    pd.testing.assert_frame_equal(nav, before[0])
    pd.testing.assert_frame_equal(targets, before[1])


def test_a_mapping_and_a_table_are_the_same():
    nav, targets = random_case(1)
    mapping = {day: row[row > 0.0] for day, row in targets.iloc[::-1].iterrows()}
    pd.testing.assert_series_equal(run_ledger(nav, targets).equity, run_ledger(nav, mapping).equity)


def test_holding_to_target_without_drift_costs_nothing():
    nav = table({"A": [1.0, 2.0, 3.0], "B": [2.0, 4.0, 6.0]})
    half = pd.Series({"A": 0.5, "B": 0.5})
    ledger = run_ledger(nav, {nav.index[0]: half, nav.index[1]: half}, cost=0.05)
    np.testing.assert_allclose(ledger.trades["cost"], [1.0 - 1.0 / 1.05, 0.0], atol=1e-15)


@pytest.mark.parametrize(
    ("targets", "options", "error", "message"),
    [
        ({"2020-01-02": {"A": 1.0}}, {"cost": 0.1}, ValueError, r"`cost` must .* 0\.0015 means 0\.15 %"),
        ({"2020-01-02": {"A": 1.0}}, {"cost": -0.1}, ValueError, "`cost` must"),
        ({"2020-01-02": {"A": 1.0}}, {"execution_lag": -1}, ValueError, "`execution_lag` must .* Use 0"),
        ({"2020-01-04": {"A": 1.0}}, {}, DataError, "2020-01-04, which is not a row .* Decide on days"),
        ({"2020-01-02": {"C": 1.0}}, {}, DataError, "'C', which is not a column .* Remove it"),
        ({"2020-01-02": {"A": 0.7, "B": 0.4}}, {}, DataError, "2020-01-02 .* their sum is 1.1. Rescale"),
        ({"2020-01-02": {"A": 1.5, "B": -0.5}}, {}, DataError, "must not be negative"),
        ({"2020-01-02": {"A": np.inf}}, {}, DataError, "at most one"),
        ({"2020-01-02": {"B": 1.0}}, {}, DataError, "`nav` must be positive. Use NaN"),
        ({"2020-01-03": {"A": 1.0}}, {"execution_lag": 1}, DataError, "no decision that can be executed"),
        ({}, {}, DataError, "no decision that can be executed"),
    ],
)
def test_bad_input_is_named(targets, options, error, message):
    nav = table({"A": [1.0, 1.0, 1.0], "B": [1.0, 0.0, 1.0]})
    with pytest.raises(error, match=message):
        run_ledger(nav, targets, **options)


def test_two_decisions_on_a_day_are_refused():
    nav = table({"A": [1.0, 1.0]})
    targets = pd.DataFrame({"A": [0.5, 1.0]}, index=nav.index[[0, 0]])
    with pytest.raises(DataError, match=r"two decisions on 2020-01-01\. Keep one"):
        run_ledger(nav, targets)
