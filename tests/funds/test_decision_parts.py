"""Parts of decisions and portfolios, each by itself: holding periods, weights, largest parts, progress."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from geodual.funds import DataError, StudyConfig, synthetic_universe
from geodual.funds.calendar import rebalance_days
from geodual.funds.decisions.decision import _PARTS, _largest_parts
from geodual.funds.decisions.decision_days import _enough, _first_possible_end
from geodual.funds.decisions.observations import Observations
from geodual.funds.decisions.walk_forward import walk_forward
from geodual.funds.factors.registry import choose_factors


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


def test_the_day_up_to_which_data_are_needed_for_a_first_decision() -> None:
    """With 5 of 8 values known by Friday, the last is known on Wednesday; then a month must pass."""
    days = pd.bdate_range("2020-01-06", periods=5)
    assert _first_possible_end(days, 8, "monthly", include_last=True) == pd.Timestamp("2020-02-28")
    assert _first_possible_end(days, 8, "monthly", include_last=False) == pd.Timestamp("2020-03-02")
    many = pd.bdate_range("2020-01-06", periods=60)
    assert _first_possible_end(many, 8, "monthly", include_last=True) == pd.Timestamp("2020-02-28")


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all"])
def test_numbers_of_processes_that_mean_nothing_are_refused(n_jobs: object) -> None:
    with pytest.raises(DataError, match="`n_jobs`"):
        walk_forward(SimpleNamespace(days=[]), {}, [], n_jobs=n_jobs)
    assert walk_forward(SimpleNamespace(days=[]), {}, [], n_jobs=-1) == []


@pytest.mark.parametrize(("k", "enough"), [(3, 10), (9, 10), (15, 16)])
def test_a_decision_needs_a_fund_and_its_neighbours_and_ten_at_least(k: int, enough: int) -> None:
    assert _enough(StudyConfig(("m",), k=k)) == enough
