"""The tests for looking ahead pass on the study, and catch studies that do look ahead."""

from dataclasses import replace

import pandas as pd
import pytest

from geodual.funds import (
    DataError,
    NeighbourForecaster,
    Panel,
    backtest,
    check_leakage,
    compute_factors,
    synthetic_universe,
)
from geodual.funds.calendar import rebalance_days
from geodual.funds.config import StudyConfig
from geodual.funds.decisions.cross_section import standardised
from geodual.funds.decisions.decision import decide
from geodual.funds.decisions.leakage import forecast_days
from geodual.funds.decisions.observations import Observations
from geodual.funds.factors.registry import choose_factors
from geodual.funds.sources.reading.fund_facts import no_facts
from geodual.metric import EuclideanMetric

CONFIG = StudyConfig(metrics=("euclidean",))


@pytest.fixture(scope="module")
def panel() -> Panel:
    return synthetic_universe(40, "2014-01-02", "2016-03-31", seed=2).panel


def forecasts(observations: Observations, days: pd.DatetimeIndex, training_of) -> pd.DataFrame:
    decisions = [
        decide("euclidean", NeighbourForecaster(EuclideanMetric()), training_of(t), observations.today(t))
        for t, day in enumerate(observations.days)
        if day in days
    ]
    tables = [
        pd.DataFrame({"date": d.day, "metric": d.metric, "fund": d.funds, "forecast": d.forecast})
        for d in decisions
    ]
    return pd.concat(tables, ignore_index=True)


def with_labels_too_late(panel: Panel, days: pd.DatetimeIndex) -> pd.DataFrame:
    """Train on the quarter that is to be forecast."""
    observations = Observations(panel, rebalance_days(panel.nav.index), choose_factors())
    last = len(observations.days) - 1
    return forecasts(observations, days, lambda t: observations.training(min(t + 1, last)))


def with_scores_over_all_days(panel: Panel, days: pd.DatetimeIndex) -> pd.DataFrame:
    """Standardise the factors over all days, later ones too."""
    observations = Observations(panel, rebalance_days(panel.nav.index), choose_factors())
    factors = compute_factors(panel, dates=observations.days)
    scores = pd.DataFrame(standardised(factors.to_numpy()), index=factors.index)
    observations.sections = [
        replace(section, features=scores.xs(section.day).loc[section.funds].to_numpy())
        for section in observations.sections
    ]
    return forecasts(observations, days, lambda t: observations.training(t))


def as_the_study_does(panel: Panel, days: pd.DatetimeIndex) -> pd.DataFrame:
    forecasters = {"euclidean": NeighbourForecaster(EuclideanMetric())}
    return forecast_days(panel, days, forecasters, CONFIG, choose_factors(), no_facts())


def test_the_study_does_not_look_ahead(panel: Panel) -> None:
    checks = check_leakage(panel, ("euclidean", "mahalanobis", "gmml", "rpdml"), n_days=3)
    assert len(checks) == 3 * 2 * 4
    assert {check.test for check in checks} == {"cut", "garbage"}
    assert all(check.passed for check in checks)
    # Each cut day also compares the decisions before it.
    assert checks[-1].compared > checks[0].compared > 30


def test_a_day_on_which_hardly_a_fund_has_a_value_is_no_trading_day_in_the_garbage_either(
    panel: Panel,
) -> None:
    nav = panel.nav.copy()
    last = rebalance_days(nav.index)[5]  # the day before it is the last of its quarter instead
    nav.loc[last, nav.columns[2:]] = float("nan")
    checks = check_leakage(Panel(nav), ("euclidean",), n_days=9)
    assert str(nav.index[nav.index.get_loc(last) - 1].date()) in {check.day for check in checks}
    assert all(check.passed for check in checks)


def test_a_forecaster_of_ones_own_can_be_checked(panel: Panel) -> None:
    assert all(check.passed for check in check_leakage(panel, "euclidean", forecaster=as_the_study_does))


def test_labels_one_quarter_too_late_are_caught(panel: Panel) -> None:
    checks = check_leakage(panel, "euclidean", forecaster=with_labels_too_late)
    assert not any(check.passed for check in checks)


def test_scores_over_all_days_are_caught(panel: Panel) -> None:
    checks = check_leakage(panel, "euclidean", forecaster=with_scores_over_all_days)
    assert not any(check.passed for check in checks)


def test_a_check_of_nothing_does_not_pass(panel: Panel) -> None:
    with pytest.raises(DataError, match=r"`n_days` must be a whole number of at least 1.*leave it out"):
        check_leakage(panel, "euclidean", n_days=0)
    with pytest.raises(DataError, match="too early for a decision"):
        check_leakage(Panel(panel.nav.iloc[:150]), "euclidean")
    nothing = pd.DataFrame(columns=["date", "metric", "fund", "forecast"])
    with pytest.raises(DataError, match=r"`forecaster` must return forecasts for 2014-\d\d-\d\d, got none"):
        check_leakage(panel, "euclidean", forecaster=lambda panel, days: nothing)
    with pytest.raises(DataError, match=r"must return the columns .* got none named 'metric'"):
        check_leakage(panel, "euclidean", forecaster=lambda panel, days: nothing.drop(columns="metric"))


def test_settings_chosen_with_hindsight_are_not_declared_free_of_it(panel: Panel) -> None:
    with pytest.raises(DataError, match=r"`tune` must be false: .* look ahead"):
        check_leakage(panel, "rpdml", tune=True)


def test_a_table_can_be_checked_as_it_is(panel: Panel) -> None:
    index = panel.nav.iloc[:, 0].rename("level")
    checks = check_leakage(panel.nav, "euclidean", index=index, n_days=1, factors=["roc"])
    assert [check.passed for check in checks] == [True, True]


def test_a_lag_of_a_day_does_not_collapse_the_result() -> None:
    universe = synthetic_universe(80, "2013-01-02", "2016-12-30", seed=3, signal=2.0)
    gains = []
    for lag in (0, 1):
        equity = backtest(universe.panel, metrics="euclidean", execution_lag=lag).equity.iloc[-1]
        gains.append(equity["euclidean"] / equity["index"] - 1.0)
    assert gains[0] > 0.2
    assert gains[1] > 0.5 * gains[0]
