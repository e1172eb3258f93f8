"""The ledger against bt; without costs, because bt sizes purchases before it pays the cost of sales."""

import bt
import numpy as np
import pandas as pd
import pytest

from geodual.funds.evaluation.ledger import run_ledger


def random_nav(seed, n_days=300, n_funds=12):
    rng = np.random.default_rng(seed)
    nav = np.exp(np.cumsum(0.02 * rng.standard_normal((n_days, n_funds)), axis=0))
    days = pd.bdate_range("2019-01-01", periods=n_days, name="date")
    return pd.DataFrame(nav, index=days, columns=[f"F{fund}" for fund in range(n_funds)])


def quarterly_targets(nav, seed, n_held):
    rng = np.random.default_rng(seed)
    quarter_ends = nav.index.to_series().groupby(nav.index.to_period("Q")).max().iloc[:-1]
    picks = [rng.choice(nav.columns, n_held, replace=False) for _ in quarter_ends]
    weights = [pd.Series(1.0 / n_held, index=names) for names in picks]
    return pd.DataFrame(weights, index=quarter_ends.to_numpy(), columns=nav.columns).fillna(0.0)


def bt_equity(nav, targets):
    strategy = bt.Strategy("s", [bt.algos.WeighTarget(targets), bt.algos.Rebalance()])
    backtest = bt.Backtest(strategy, nav, integer_positions=False)
    backtest.run()
    prices = backtest.strategy.prices.loc[targets.index[0] :]
    return prices / prices.iloc[0]


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("n_held", [1, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_equity_of_drifting_quarterly_portfolios(seed, n_held, lag):
    nav = random_nav(seed)
    targets = quarterly_targets(nav, seed, n_held)
    later = targets.set_axis(nav.index[nav.index.get_indexer(targets.index) + lag])
    expected = bt_equity(nav, later)
    equity = run_ledger(nav, targets, execution_lag=lag).equity
    assert equity.index.equals(expected.index)
    np.testing.assert_allclose(equity, expected, rtol=1e-12)


def test_a_part_in_cash():
    nav = random_nav(2)
    targets = quarterly_targets(nav, 2, 4) * 0.6
    np.testing.assert_allclose(run_ledger(nav, targets).equity, bt_equity(nav, targets), rtol=1e-12)
