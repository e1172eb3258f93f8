"""No decision looks ahead: changing or cutting later data leaves decisions bit-identical."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodual.funds import Panel, StudyConfig, backtest, synthetic_universe
from geodual.funds.calendar import rebalance_days
from geodual.funds.decisions.observations import Observations
from geodual.funds.decisions.walk_forward import walk_forward
from geodual.funds.factors.factor import choose_factors
from geodual.funds.forecasters.make import resolve_metrics

METRICS = ("euclidean", "gmml", "rpdml")
NAV = synthetic_universe(30, "2012-01-04", "2013-12-31", seed=5).panel.nav
FIRST = NAV.index.get_loc("2012-12-31")  # the first decision
SETTINGS = (
    {"k": 5, "top": 4, "baselines": ()},
    {"k": 5, "top": 4, "baselines": (), "neighbors": "current", "train_quarters": 2, "label": "median"},
    {"k": 3, "top": 4, "baselines": (), "frequency": "monthly", "weights": "forecast", "execution_lag": 1},
)
GARBAGE = {
    # Not all of them: a row without values is no trading day, which may move the last rebalance day.
    "closures": lambda values, rng: np.where(np.arange(values.shape[1]) % 2, np.nan, values),
    "huge": lambda values, rng: 1e9 * rng.random(values.shape) + 1.0,
    "random": lambda values, rng: np.exp(rng.standard_normal(values.shape)),
    "shuffled": lambda values, rng: rng.permuted(values, axis=1),
    "holes": lambda values, rng: np.where(rng.random(values.shape) < 0.5, np.nan, values),
}


@cache
def whole_study(case):
    """Return the study of all rows."""
    return backtest(Panel(NAV), metrics=METRICS, **SETTINGS[case])


def assert_same_decisions(study, whole, until, realized_until):
    """Assert equal decisions up to `until`, and equal realized returns before `realized_until`."""
    for table in ("predictions", "holdings", "neighbors", "reasons"):
        found, expected = (getattr(s, table) for s in (study, whole))
        found, expected = (frame[frame["date"] <= until] for frame in (found, expected))
        if "realized" in found:
            over = found["date"] < realized_until
            assert np.array_equal(found["realized"][over], expected["realized"][over], equal_nan=True)
            found, expected = found.drop(columns="realized"), expected.drop(columns="realized")
        pd.testing.assert_frame_equal(found, expected, check_exact=True)
        assert len(found)


def start_of_last_period(study, until):
    """Return the last decision day up to `until`, whose outcome may still be unknown on that day."""
    return study.ic.index[study.ic.index <= until][-1]


@pytest.mark.parametrize("case", range(len(SETTINGS)))
@settings(max_examples=2)
@given(row=st.integers(FIRST + 1, len(NAV) - 1))
def test_cutting_the_data_leaves_earlier_decisions_as_they_were(case, row):
    study = backtest(Panel(NAV.iloc[: row + 1]), metrics=METRICS, **SETTINGS[case])
    until = NAV.index[row - 1]
    assert_same_decisions(study, whole_study(case), until, start_of_last_period(whole_study(case), until))


@pytest.mark.parametrize("case", range(len(SETTINGS)))
def test_a_decision_works_with_no_later_row(case):
    config = StudyConfig(METRICS, **SETTINGS[case])
    for day in whole_study(case).ic.index[1::2]:
        panel = Panel(NAV.loc[:day])
        observations = Observations(
            panel, rebalance_days(panel.nav.index, config.frequency), choose_factors()
        )
        assert observations.days[-1] == day
        rows = [len(observations.days) - 1]
        for decision in walk_forward(observations, resolve_metrics(METRICS, config), rows):
            stored = whole_study(case).predictions
            stored = stored[(stored["date"] == day) & (stored["forecaster"] == decision.forecaster)]
            assert stored["fund"].tolist() == decision.funds.tolist()
            assert np.array_equal(stored["forecast"], decision.forecast)
            held = whole_study(case).holdings
            held = held[(held["date"] == day) & (held["forecaster"] == decision.forecaster)]
            assert held["fund"].tolist() == decision.funds[decision.ranking[: config.top]].tolist()


@pytest.mark.parametrize("kind", GARBAGE)
@settings(max_examples=2)
@given(row=st.integers(FIRST, len(NAV) - 2), case=st.sampled_from(range(len(SETTINGS))))
def test_garbage_after_a_day_leaves_decisions_up_to_it_as_they_were(kind, row, case):
    nav = NAV.copy()
    nav.iloc[row + 1 :] = GARBAGE[kind](NAV.iloc[row + 1 :].to_numpy(), np.random.default_rng(row))
    study = backtest(Panel(nav), metrics=METRICS, **SETTINGS[case])
    until = NAV.index[row]
    assert_same_decisions(study, whole_study(case), until, start_of_last_period(whole_study(case), until))


def test_the_laws_would_catch_a_label_that_comes_too_late():
    """A training set one quarter late, as a bug might take, changes when the future changes."""
    days = rebalance_days(NAV.index)
    t = 4
    garbage = NAV.copy()
    garbage.iloc[NAV.index.get_loc(days[t]) + 1 :] *= np.linspace(0.5, 2.0, NAV.shape[1])
    one, other = (Observations(Panel(nav), days, choose_factors()) for nav in (NAV, garbage))
    right = [o.training(t).returns for o in (one, other)]
    late = [o.training(t + 1).returns for o in (one, other)]
    assert np.array_equal(*right)
    assert not np.array_equal(*late)
