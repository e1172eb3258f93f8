"""Factors and histories in blocks of funds: the same to the bit, with little memory beside the result."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from geodual.funds import compute_factors, panel
from geodual.funds.decisions.universe import FundHistory
from geodual.funds.panel import fund_blocks

PARTS = ("has_value", "last_value", "n_values", "n_still")


def make_nav(n_days, n_funds):
    """Return NAVs with late starts, gaps, closures, and a fund that stands still for a while."""
    rng = np.random.default_rng(5)
    nav = np.exp(rng.normal(3e-4, 1e-2, (n_days, n_funds)).cumsum(axis=0))
    nav[rng.random(nav.shape) < 0.02] = np.nan
    nav[: n_days // 3, 1] = nav[n_days // 2 :, 2] = np.nan
    nav[n_days // 2 :, 3] = 1.5
    return pd.DataFrame(nav, pd.bdate_range("2014-01-01", periods=n_days), [f"F{i}" for i in range(n_funds)])


@pytest.mark.parametrize("per_block", [1, 3, 10, 11])
def test_blocks_change_no_bit(monkeypatch, per_block):
    nav = make_nav(260, 11)
    days = pd.DatetimeIndex(nav.index[[5, 130, 200, 259]])
    expected, history = compute_factors(nav, days), FundHistory(nav, days)
    monkeypatch.setattr(panel, "BLOCK", per_block * len(nav) + 7)
    assert len(list(fund_blocks(nav.shape))) == -(-11 // per_block)
    pd.testing.assert_frame_equal(compute_factors(nav, days), expected, check_exact=True)
    again = FundHistory(nav, days)
    for part in PARTS:
        np.testing.assert_array_equal(getattr(again, part), getattr(history, part), strict=True)


def test_a_history_is_what_slow_loops_find():
    nav = make_nav(60, 6)
    values, row = nav.to_numpy(), 50
    history = FundHistory(nav, pd.DatetimeIndex(nav.index[[row]]))
    for fund in range(6):
        known = [day for day in range(row + 1) if np.isfinite(values[day, fund])]
        assert history.has_value[0, fund] == (known[-1:] == [row])
        assert history.n_values[0, fund] == len(known)
        assert history.last_value[0, fund] == values[known[-1], fund]
        count = 0
        for day, before in zip(known[::-1], known[-2::-1], strict=False):
            if values[day, fund] != values[before, fund]:
                break
            count += 1  # all other funds move on every day here
        assert history.n_still[0, fund] == count


def test_no_fund_and_no_day_make_no_block():
    assert list(fund_blocks((5, 0))) == []
    assert list(fund_blocks((0, 2))) == [slice(0, panel.BLOCK)]


def test_working_memory_does_not_grow_with_the_funds(monkeypatch):
    monkeypatch.setattr(panel, "BLOCK", 20 * 150)
    peaks = []
    for n_funds in (20, 80):
        nav = make_nav(150, n_funds)
        tracemalloc.start()
        size = compute_factors(nav, nav.index[-1], ["rsi"]).to_numpy().nbytes
        peaks.append(tracemalloc.get_traced_memory()[1] - size)
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0], "beside the result"
