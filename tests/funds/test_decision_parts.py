"""Parts of decisions and portfolios, each by itself: holding periods, weights, largest parts, progress."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from geodual.funds import DataError, Panel, StudyConfig, synthetic_universe
from geodual.funds.calendar import rebalance_days
from geodual.funds.decisions.decision import _PARTS, _largest_parts
from geodual.funds.decisions.decision_days import _enough, _first_possible_end
from geodual.funds.decisions.observations import Observations
from geodual.funds.decisions.observe import prepare_panel
from geodual.funds.decisions.walk_forward import walk_forward
from geodual.funds.evaluation.ledger import Books, run_ledger
from geodual.funds.evaluation.market import FeeRules
from geodual.funds.evaluation.performance import spread_of
from geodual.funds.evaluation.random_portfolios import _picked, _urgency
from geodual.funds.evaluation.skill import judge_means
from geodual.funds.evaluation.track_record import TrackRecord
from geodual.funds.evaluation.weights import _covariance, _proportions, nearest_weights
from geodual.funds.factors.registry import choose_factors


@pytest.mark.parametrize("lag", [0, 2])
def test_random_portfolios_keep_funds_for_their_holding_period(lag: int) -> None:
    """Rows are two days apart, and ages count from the decision, so many rows before the purchase."""
    row, config = 30, StudyConfig(("m",), min_holding=20, execution_lag=lag)
    bought = np.array([[-1, 10 + lag, 20 + lag, 21 + lag, 29 + lag]])
    market = SimpleNamespace(day_numbers=tuple(range(0, 120, 2)))
    book = SimpleNamespace(n=1, bought=bought, market=market)
    urgency = _urgency(np.random.default_rng(0), np.arange(5), book, row, config)[0]
    ages = [2 * (row - (day - lag)) for day in bought[0]]
    assert ages[1:] == [40, 20, 18, 2]
    assert (urgency < -1.0).tolist() == [False, False, False, True, True]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_weights_of_least_variance_are_those_of_the_closed_form(n: int) -> None:
    """Without limits that matter, w = Q⁻¹1/(1ᵀQ⁻¹1)."""
    Q = np.diag([1.0, 2.0, 4.0])[:n, :n] + 0.1
    inverse = np.linalg.solve(Q, np.ones(n))
    found = nearest_weights(Q, np.zeros(n), np.eye(n), np.ones(n), 0.9)
    np.testing.assert_allclose(found, 0.9 * inverse / inverse.sum())


def test_the_largest_parts_of_a_forecast_are_kept_as_shares() -> None:
    parts = np.array([[1.0, -2.0, 3.0, 0.5, 4.0, 2.5, 7.0], np.zeros(7)])
    made = SimpleNamespace(parts=parts, part_names=tuple("abcdefg"))
    shares, names = _largest_parts(made)
    assert names[0].tolist() == list("gecfabd"[:_PARTS]) == ["g", "e", "c", "f", "a"]
    np.testing.assert_allclose(shares[0], np.array([7.0, 4.0, 3.0, 2.5, 1.0]) / 20.0)
    np.testing.assert_array_equal(shares[1], 0.0)
    shares, names = _largest_parts(SimpleNamespace(parts=(), part_names=()))
    assert shares.shape == names.shape == (0, 0)


def test_given_facts_are_used() -> None:
    universe = synthetic_universe(12, "2014-01-02", "2015-03-31")
    days = rebalance_days(pd.DatetimeIndex(universe.panel.nav.index))
    facts = SimpleNamespace(types={"a": "bond"}, groups={})
    assert Observations(universe.panel, days, choose_factors(["roc"]), facts).facts is facts
    assert Observations(universe.panel, days, choose_factors(["roc"])).facts.types == {}


def test_a_small_holding_that_cannot_be_sold_is_paid_out_too() -> None:
    days = pd.bdate_range("2020-01-01", periods=12, name="date")
    nav = pd.DataFrame({"A": [1.0, 1.0, 1.5, *[np.nan] * 9], "B": np.ones(12)}, index=days)
    targets = {days[0]: pd.Series({"A": 0.1, "B": 0.9}), days[3]: pd.Series({"B": 1.0})}
    fills = run_ledger(nav, targets, wait=4).fills
    closed = fills[fills["side"] == "closure"]
    assert closed["value"].tolist() == pytest.approx([0.15])


def test_the_day_up_to_which_data_are_needed_for_a_first_decision() -> None:
    """With 5 of 8 values known by Friday, the last is known on Wednesday; then a month must pass."""
    days = pd.bdate_range("2020-01-06", periods=5)
    assert _first_possible_end(days, 8, "monthly", include_last=True) == pd.Timestamp("2020-02-28")
    assert _first_possible_end(days, 8, "monthly", include_last=False) == pd.Timestamp("2020-03-02")
    many = pd.bdate_range("2020-01-06", periods=60)
    assert _first_possible_end(many, 8, "monthly", include_last=True) == pd.Timestamp("2020-02-28")


def test_a_fund_that_stands_still_has_an_invertible_covariance() -> None:
    days = pd.bdate_range("2020-01-01", periods=300)
    moving = np.exp(0.01 * np.random.default_rng(0).standard_normal(300).cumsum())
    covariance = _covariance(pd.DataFrame({"A": moving, "B": 1.0}, index=days))
    assert np.linalg.eigvalsh(covariance).min() > 0.0
    weights = nearest_weights(covariance, np.zeros(2), np.eye(2), np.ones(2), 1.0)
    assert weights.sum() == pytest.approx(1.0)


def test_few_choices_of_many_leave_an_interval_without_end() -> None:
    """With 9,999 draws no p-value can be below 0.05 after a correction for a thousand choices."""
    series = pd.DataFrame({"m": np.random.default_rng(0).normal(0.5, 0.1, 30)})
    table = judge_means(series, 1000)
    assert table.loc["m", "p"] == pytest.approx(1000 * 1.0 / 10_000)
    assert (table.loc["m", "low"], table.loc["m", "high"]) == (-1.0, 1.0)
    once = judge_means(series, 1)
    assert 0.0 < once.loc["m", "low"] < once.loc["m", "high"] < 1.0


def test_funds_of_unknown_risk_share_equally() -> None:
    still = pd.DataFrame(1.0, index=pd.bdate_range("2020-01-01", periods=30), columns=["A", "B"])
    np.testing.assert_allclose(_proportions("inverse-volatility", np.zeros(2), still), 0.5)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all"])
def test_numbers_of_processes_that_mean_nothing_are_refused(n_jobs: object) -> None:
    with pytest.raises(DataError, match="`n_jobs`"):
        walk_forward(SimpleNamespace(days=[]), {}, [], n_jobs=n_jobs)
    assert walk_forward(SimpleNamespace(days=[]), {}, [], n_jobs=-1) == []


def test_the_spread_of_too_few_returns_is_unknown_for_each_portfolio() -> None:
    assert np.isnan(spread_of(np.ones((1, 3)))).tolist() == [True] * 3
    np.testing.assert_allclose(spread_of(np.array([[1.0, 1.0], [3.0, 1.0]])), [np.sqrt(2.0), 0.0])


@pytest.mark.parametrize(("k", "enough"), [(3, 10), (9, 10), (15, 16)])
def test_a_decision_needs_a_fund_and_its_neighbours_and_ten_at_least(k: int, enough: int) -> None:
    assert _enough(StudyConfig(("m",), k=k)) == enough


@pytest.mark.parametrize(("cash", "share"), [(2.0, 1.0), (1.0, (1.0 - 0.303) / 0.812), (0.3, 0.0)])
def test_purchases_share_the_money_that_is_not_reserved(cash: float, share: float) -> None:
    """0.3 of the first fund waits to be bought, with fees of 1 %; what the second brings comes later."""
    books = SimpleNamespace(_rates=np.array([0.01, 0.02]), _cash=cash)
    found = Books._affordable(books, np.array([0.4, 0.4]), np.array([0.3, -0.5]))
    np.testing.assert_allclose(found, [0.4 * share, 0.4 * share])


def test_fees_may_change_after_one_day_but_not_at_once() -> None:
    assert FeeRules(redemption=((1, 0.02), (7, 0.01))).redemption[0] == (1, 0.02)
    with pytest.raises(DataError, match="increasing numbers of days"):
        FeeRules(redemption=((0, 0.02),))


@pytest.mark.parametrize(("n", "text"), [(0, "no track record"), (3, "too short"), (40, "per quarter")])
def test_a_track_record_in_words(n: int, text: str) -> None:
    record = TrackRecord(n, 0.1, 0.05, 0.15, 0.01, 0.01, 0.0, 0.02, 0.6)
    assert text in record.tell("quarter")
    assert ("no evidence" in record.tell("quarter")) is (0 < n < 10)


@pytest.mark.parametrize("top", [1, 137, 550, 700])
def test_random_portfolios_pick_the_most_urgent_funds(top: int) -> None:
    columns, urgency = np.arange(3, 603), np.random.default_rng(0).random((30, 600))
    picked = _picked(columns, urgency, top, [])
    np.testing.assert_array_equal(picked, np.sort(columns[np.argsort(urgency, axis=1)[:, :top]], axis=1))


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf])
def test_values_that_are_no_prices_are_refused(value: float) -> None:
    nav = pd.DataFrame({"A": [1.0, value], "B": [1.0, 1.1]}, index=pd.bdate_range("2020-01-01", periods=2))
    with pytest.raises(DataError, match="NAVs must be positive and finite"):
        prepare_panel(Panel(nav), StudyConfig(("m",)), SimpleNamespace())
