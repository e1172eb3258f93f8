"""Random portfolios: the same books as the ledger keeps, and draws that obey the rules of the study."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from geodual.funds import StudyConfig, read_facts
from geodual.funds.evaluation import random_portfolios
from geodual.funds.evaluation.ledger import run_ledger
from geodual.funds.evaluation.market import FeeRules, Market
from geodual.funds.evaluation.performance import describe
from geodual.funds.evaluation.random_portfolios import (
    draw_random_portfolios,
    pick_at_random,
    rank_among_random,
    urgency_of,
)
from geodual.funds.sources.reading.fund_facts import no_facts

N = 40
FEES = {
    "free": FeeRules(),
    "flat": FeeRules(0.002),
    "steps": FeeRules(
        0.001,
        purchase={"F03": 0.01},
        redemption=((100, 0.02), (200, 0.01)),
        own_redemption={"F04": ((400, 0.03),)},
    ),
}


@pytest.fixture(scope="module")
def nav():
    rng = np.random.default_rng(0)
    days = pd.bdate_range("2014-01-01", periods=400, name="date")
    steps = 0.01 * rng.standard_normal((400, 25))
    return pd.DataFrame(np.exp(steps.cumsum(axis=0)), days, [f"F{j:02d}" for j in range(25)])


@pytest.fixture
def draws(monkeypatch):
    """The funds drawn on each day: portfolio × place, as positions."""
    seen, original = [], random_portfolios.pick_at_random

    def watched(*arguments):
        seen.append(original(*arguments))
        return seen[-1]

    monkeypatch.setattr(random_portfolios, "pick_at_random", watched)
    return seen


def run(nav, fees=FEES["free"], facts=None, rows=(30, 95, 160, 225, 290), n=N, **settings):
    config = StudyConfig(("m",), **settings)
    universes = {nav.index[row]: nav.columns for row in rows}
    return draw_random_portfolios(Market(nav, fees), universes, config, facts or no_facts(), n=n)


@pytest.mark.parametrize("fees", FEES.values(), ids=FEES)
@pytest.mark.parametrize("lag", [0, 1])
def test_the_books_are_those_of_the_ledger(nav, draws, fees, lag):
    found = run(nav, fees, top=4, execution_lag=lag)
    days = nav.index[[30, 95, 160, 225, 290]]
    for portfolio in range(0, N, 4):
        targets = {
            day: pd.Series(0.25, nav.columns[picked[portfolio]])
            for day, picked in zip(days, draws, strict=True)
        }
        curve = run_ledger(nav, targets, fees=fees, execution_lag=lag).equity
        # The ledger sells the oldest units first; here all are as old as the first, which can only differ
        # for a fund that was bought more of.
        tolerance = 1e-11 if fees is not FEES["steps"] else 5e-3
        assert found.iloc[portfolio].to_dict() == pytest.approx(describe(curve).to_dict(), abs=tolerance)


def test_draws_are_different_funds_of_the_universe_of_the_day(nav, draws):
    universes = {nav.index[30]: nav.columns[:6], nav.index[95]: nav.columns[10:13]}
    market = Market(nav, FEES["free"])
    draw_random_portfolios(market, universes, StudyConfig(("m",), top=5), no_facts(), n=200)
    first, second = draws
    assert first.shape == (200, 5)
    assert all(len(set(row)) == 5 and max(row) < 6 for row in first)
    assert (second == [10, 11, 12]).all(), "all funds if there are fewer"
    counts = np.bincount(first.ravel(), minlength=6) / 200
    assert counts == pytest.approx(5 / 6, abs=0.1), "every fund is drawn equally often"


def test_limits_hold_for_every_draw(nav, draws):
    codes = list(nav.columns)
    facts = read_facts(
        pd.DataFrame({"code": codes, "type": ["x"] * 12 + ["y"] * 12 + [None], "company": list("abcde") * 5})
    )
    run(nav, facts=facts, top=6, max_type=0.5, max_company=0.34, n=100)
    for picked in draws:
        for row in picked:
            held = [codes[at] for at in row if at >= 0]
            assert len(set(held)) == len(held)
            types = pd.Series([facts.types.get(fund) for fund in held]).value_counts()
            companies = pd.Series([facts.companies[fund] for fund in held]).value_counts()
            assert types.max() <= 3
            assert companies.max() <= 2
    assert np.mean([(picked >= 0).all() for picked in draws]) > 0.9


def test_limits_hold_for_the_weights_too(nav):
    kind = np.array([0, 0, 1, -1, 1])
    picked = np.array([[0, 1, 2, 3], [2, 3, -1, -1], [0, 2, 4, -1]])
    found = random_portfolios.weights_within(picked, [random_portfolios.Limit(kind, 0.3, 2)])
    expected = [[0.15, 0.15, 0.25, 0.25], [0.3, 0.5, 0.0, 0.0], [0.3, 0.15, 0.15, 0.0]]
    assert found == pytest.approx(np.array(expected))
    facts = read_facts(pd.DataFrame({"code": list(nav.columns), "type": ["x"] * 12 + ["y"] * 13}))
    capped, free = (run(nav, facts=facts, top=4, max_type=share) for share in (0.01, 0.5))
    ratio = capped["volatility"].mean() / free["volatility"].mean()
    assert ratio < 0.05, "a portfolio with at most 1 % in each of two types hardly moves"


def test_limits_for_funds_of_unknown_type_limit_nothing(nav):
    facts = read_facts(pd.DataFrame({"code": ["another"], "type": ["x"]}))
    pd.testing.assert_frame_equal(run(nav, facts=facts, top=4, max_type=0.5), run(nav, top=4))


def test_all_funds_are_held_in_full_if_there_are_fewer_than_wanted(nav):
    facts = read_facts(pd.DataFrame({"code": list(nav.columns), "company": [f"C{j}" for j in range(25)]}))
    found = run(nav, facts=facts, top=100, max_company=0.5, n=3)
    targets = {nav.index[row]: pd.Series(1 / 25, nav.columns) for row in (30, 95, 160, 225, 290)}
    curve = run_ledger(nav, targets).equity
    assert found.iloc[0].to_dict() == pytest.approx(describe(curve).to_dict(), abs=1e-11)


def test_held_funds_stay_for_some_days(nav, draws):
    run(nav, top=4, min_holding=120)
    assert np.array_equal(draws[0], draws[1]), "65 rows are 91 days"
    assert not np.array_equal(draws[1], draws[2]), "182 days are more than 120"


def test_a_buffer_keeps_funds(nav, draws):
    run(nav, top=4, keep_rank=20, n=300)
    kept = [np.mean([len(set(a) & set(b)) for a, b in zip(*pair, strict=True)]) for pair in pairwise(draws)]
    assert np.mean(kept) == pytest.approx(4 * 20 / 25, abs=0.2)


def test_the_same_seed_draws_the_same(nav):
    pd.testing.assert_frame_equal(run(nav), run(nav))


def test_the_rank_is_the_share_that_is_beaten():
    drawn = pd.DataFrame({"annual_return": [0.0, 0.1, 0.2, 0.3], "sharpe": [1.0, 1.0, np.nan, 2.0]})
    own = pd.DataFrame({"annual_return": [0.15, np.nan], "sharpe": [1.0, 3.0]}, index=["a", "b"])
    found = rank_among_random(own, drawn)
    assert found["annual_return"].tolist() == pytest.approx([0.5, np.nan], nan_ok=True)
    assert found["sharpe"].tolist() == pytest.approx([0.0, 1.0])


def test_a_single_day_has_a_rank_for_nothing(nav):
    found = run(nav.iloc[:31], rows=(30,))
    assert found[["annual_return", "volatility", "sharpe"]].isna().all(axis=None)


@pytest.mark.parametrize("lag", [0, 2])
def test_random_portfolios_keep_funds_for_their_holding_period(lag: int) -> None:
    """Rows are two days apart, and ages count from the decision, so many rows before the purchase."""
    row, config = 30, StudyConfig(("m",), min_holding=20, execution_lag=lag)
    bought = np.array([[-1, 10 + lag, 20 + lag, 21 + lag, 29 + lag]])
    market = SimpleNamespace(day_numbers=tuple(range(0, 120, 2)))
    book = SimpleNamespace(n=1, bought=bought, market=market)
    urgency = urgency_of(np.random.default_rng(0), np.arange(5), book, row, config)[0]
    ages = [2 * (row - (day - lag)) for day in bought[0]]
    assert ages[1:] == [40, 20, 18, 2]
    assert (urgency < -1.0).tolist() == [False, False, False, True, True]


@pytest.mark.parametrize("top", [1, 137, 550, 700])
def test_random_portfolios_pick_the_most_urgent_funds(top: int) -> None:
    columns, urgency = np.arange(3, 603), np.random.default_rng(0).random((30, 600))
    picked = pick_at_random(columns, urgency, top, [])
    np.testing.assert_array_equal(picked, np.sort(columns[np.argsort(urgency, axis=1)[:, :top]], axis=1))
