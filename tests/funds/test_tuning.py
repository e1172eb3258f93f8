"""Hyper-parameters are those of the best validation period, and of nothing later."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from geodual.funds import Panel
from geodual.funds import backtest as full_backtest
from geodual.metric import GMML, EuclideanMetric
from geodual.metric.registry import find_metric, make_metric, metric_names

backtest = partial(full_backtest, baselines=())  # nothing here is about baselines

TEST_START = "2014-01-01"
BEFORE = ["2012-12-31", "2013-03-29", "2013-06-28", "2013-09-30"]  # decisions whose quarter ends before it
GRID = {f"t={t}": GMML(reg=0.1, t=t) for t in (0.5, 0.25, 0.75)}


def best_by_hand(panel):
    """The candidate with the largest mean IC over the validation quarters, each run on its own."""
    predictions = backtest(panel, metrics=GRID, test_start=TEST_START).predictions
    means = {}
    for name, own in predictions.dropna().groupby("forecaster", sort=False):
        quarters = [own[own["date"] == pd.Timestamp(day)] for day in BEFORE]
        means[name] = np.mean([spearmanr(q["forecast"], q["realized"]).statistic for q in quarters])
    return GRID[max(means, key=means.get)].t


@pytest.fixture(scope="module")
def tuned(universe):
    return backtest(universe.panel, metrics=("euclidean", "gmml"), tune=True, test_start=TEST_START)


def test_the_best_of_the_validation_period_is_chosen(universe, tuned):
    assert tuned.chosen == {"gmml": {"t": best_by_hand(universe.panel)}}
    assert tuned.chosen["gmml"]["t"] != 0.5, "otherwise the default would pass too"
    expected = backtest(universe.panel, metrics={"gmml": GMML(reg=0.1, **tuned.chosen["gmml"])})
    found = tuned.predictions[tuned.predictions["forecaster"] == "gmml"]
    assert np.array_equal(found["forecast"], expected.predictions["forecast"])


@pytest.mark.parametrize("garbage", ["random", "reversed", "nothing"])
def test_the_test_period_is_not_looked_at(universe, tuned, garbage):
    nav = universe.panel.nav.copy()
    later = nav.index >= pd.Timestamp(TEST_START)
    values = nav[later].to_numpy()
    rng = np.random.default_rng(0)
    nav.loc[later] = {
        "random": np.exp(rng.standard_normal(values.shape)),
        "reversed": values[:, ::-1],
        "nothing": np.full(values.shape, np.nan),
    }[garbage]
    again = backtest(Panel(nav), metrics=("euclidean", "gmml"), tune=True, test_start=TEST_START)
    assert again.chosen == tuned.chosen


@pytest.mark.parametrize("rival", GRID)
def test_a_test_period_that_flatters_another_candidate_changes_nothing(universe, tuned, rival):
    """In the first quarter of the test period, funds earn what the rival forecasts."""
    study = backtest(universe.panel, metrics={rival: GRID[rival]})
    forecast = study.predictions[study.predictions["date"] == "2013-12-31"].set_index("fund")["forecast"]
    nav = universe.panel.nav.copy()
    later = nav.index >= pd.Timestamp(TEST_START)
    wanted = nav.loc["2013-12-31", forecast.index] * (1.0 + forecast)
    nav.loc[later, forecast.index] *= wanted / nav.loc["2014-03-31", forecast.index]
    again = backtest(Panel(nav), metrics="gmml", tune=True, test_start=TEST_START)
    flattered = again.predictions[again.predictions["date"] == "2013-12-31"].set_index("fund")["realized"]
    assert np.allclose(flattered.reindex(forecast.index), forecast)
    assert again.chosen == tuned.chosen


def test_without_a_validation_period_nothing_is_chosen(universe):
    study = backtest(universe.panel, metrics="gmml", tune=True, test_start="2012-01-01")
    assert study.chosen == {}
    untuned = backtest(universe.panel, metrics="gmml")
    assert np.array_equal(study.predictions["forecast"], untuned.predictions["forecast"])


def test_without_tuning_nothing_is_chosen(study):
    assert study.chosen == {}


def test_metrics_without_candidates_are_left_as_they_are(universe):
    study = backtest(universe.panel, metrics={"mine": EuclideanMetric()}, tune=True)
    assert study.chosen == {}


def test_a_users_own_metric_under_a_known_name_is_not_given_foreign_parameters(universe):
    study = backtest(universe.panel, metrics={"gmml": EuclideanMetric()}, tune=True)
    assert study.chosen == {}


def test_a_users_own_estimator_is_left_alone(universe):
    mine = GMML(reg=0.1)
    backtest(universe.panel, metrics={"gmml": mine}, tune=True, test_start=TEST_START)
    assert mine.t == 0.5


def test_an_interrupted_tuning_goes_on_where_it_stopped(universe, tuned, tmp_path):
    arguments = {"metrics": ("euclidean", "gmml"), "tune": True, "test_start": TEST_START}
    n_candidates, n_decisions = len(GRID) * len(BEFORE), 2 * len(tuned.ic)
    first, second = [], []
    for told in (first, second):
        made = backtest(
            universe.panel,
            **arguments,
            checkpoint_folder=tmp_path,
            progress=lambda done, total, last, told=told: told.append(total),
        )
        assert made.chosen == tuned.chosen
        pd.testing.assert_frame_equal(made.predictions, tuned.predictions, check_exact=True)
    assert first == [n_candidates] * n_candidates + [n_decisions] * n_decisions
    assert second == []


@pytest.mark.parametrize("name", [name for name in metric_names() if find_metric(name).grid])
def test_the_first_candidate_is_the_default(name):
    metric = find_metric(name)
    parameters = metric.make().get_params()
    assert {key: parameters[key] for key in metric.grid[0]} == metric.grid[0]
    for candidate in metric.grid:
        metric.make().set_params(**candidate)


def test_seeds_reach_the_metrics_that_draw():
    assert make_metric("rpdml", 7).random_state == 7
    assert make_metric("itml", 7).random_state == 7
