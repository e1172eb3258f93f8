"""The tests for looking ahead pass on the study, and catch studies that do look ahead."""

import json
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from geodual.funds import (
    DataError,
    LeakageCheck,
    LeakageChecks,
    NeighborForecaster,
    Panel,
    backtest,
    check_leakage,
    compute_factors,
    synthetic_universe,
)
from geodual.funds.calendar import rebalance_days
from geodual.funds.decisions.decision import decide
from geodual.funds.decisions.observations import Observations
from geodual.funds.decisions.universe import standardized
from geodual.funds.factors.factor import choose_factors
from geodual.metric import EuclideanMetric


@pytest.fixture(scope="module")
def panel() -> Panel:
    return synthetic_universe(40, "2014-01-02", "2016-03-31", seed=2).panel


def forecasts(observations: Observations, days: pd.DatetimeIndex, training_of) -> pd.DataFrame:
    decisions = [
        decide("euclidean", NeighborForecaster(EuclideanMetric()), training_of(t), observations.today(t))
        for t, day in enumerate(observations.days)
        if day in days
    ]
    tables = [
        pd.DataFrame({"date": d.day, "forecaster": d.forecaster, "fund": d.funds, "forecast": d.forecast})
        for d in decisions
    ]
    return pd.concat(tables, ignore_index=True)


def with_labels_too_late(panel: Panel, days: pd.DatetimeIndex) -> pd.DataFrame:
    """Train on the quarter that is to be forecast."""
    observations = Observations(panel, rebalance_days(panel.nav.index), choose_factors())
    last = len(observations.days) - 1
    return forecasts(observations, days, lambda t: observations.training(min(t + 1, last)))


def with_scores_over_all_days(panel: Panel, days: pd.DatetimeIndex) -> pd.DataFrame:
    """Standardize the factors over all days, later ones too."""
    observations = Observations(panel, rebalance_days(panel.nav.index), choose_factors())
    factors = compute_factors(panel, dates=observations.days)
    scores = pd.DataFrame(standardized(factors.to_numpy()), index=factors.index)
    observations.sections = [
        replace(section, features=scores.xs(section.day).loc[section.funds].to_numpy())
        for section in observations.sections
    ]
    return forecasts(observations, days, lambda t: observations.training(t))


@pytest.mark.usefixtures("no_fresh_processes")
def test_the_study_does_not_look_ahead_on_any_decision_day(panel: Panel) -> None:
    metrics = ("euclidean", "mahalanobis", "gmml", "rpdml")
    seen: list[tuple[int, int]] = []
    checks = check_leakage(panel, metrics, progress=lambda done, total, last: seen.append((done, total)))
    decided = backtest(panel, metrics="euclidean").ic.index
    assert [check.day for check in checks[:: 2 * 4]] == [str(day.date()) for day in decided]
    assert len(checks) == 5 * 2 * 4
    assert checks.passed
    assert checks.summary.endswith(
        "forecasts of euclidean, gmml, mahalanobis, rpdml on 5 of 5 decision days compared: none changed "
        "when later rows were removed or replaced by noise."
    )
    assert seen == [(done, 15) for done in (2, 4, 6, 8, 10, 15)]


@pytest.mark.usefixtures("no_fresh_processes")
def test_a_sample_of_the_days_claims_nothing_of_the_others(panel: Panel) -> None:
    checks = check_leakage(panel, "euclidean", n_days=3, factors=["roc"])
    assert len(checks) == 3 * 2
    assert "on 3 of 6 decision days compared: none changed" in checks.summary
    assert checks.summary.endswith(" The other 3 days were not tested.")


def test_the_summary_counts_what_changed() -> None:
    found = [("cut", "2016-09-30", "a", 0), ("garbage", "2016-09-30", "a", 0), ("cut", "2016-12-30", "a", 2)]
    checks = LeakageChecks(tuple(LeakageCheck(*each, 5, bad) for *each, bad in found), decision_days=2)
    assert not checks.passed
    assert checks.summary == (
        "10 forecasts of a on 2 of 2 decision days compared: on 1 of these days those of a changed when "
        "later rows were removed or replaced by noise. They look ahead, or the same data do not give the "
        "same forecasts twice."
    )
    assert not LeakageChecks((), decision_days=2).passed


@pytest.mark.usefixtures("no_fresh_processes")
def test_a_day_on_which_hardly_a_fund_has_a_value_is_no_trading_day_in_the_garbage_either(
    panel: Panel,
) -> None:
    nav = panel.nav.copy()
    last = rebalance_days(nav.index)[5]  # the day before it is the last of its quarter instead
    nav.loc[last, nav.columns[2:]] = float("nan")
    checks = check_leakage(Panel(nav), ("euclidean",))
    assert str(nav.index[nav.index.get_loc(last) - 1].date()) in {check.day for check in checks}
    assert checks.passed


# Factors that look ahead in different ways, and one that does not.
ZOO = """
import numpy as np

from geodual.funds import RecursiveFactor

LONGEST = [np.empty((0, 0))]


class Memory:
    first = None


def ahead(nav, by):
    return np.vstack([nav[by:], np.repeat(nav[-1:], by, axis=0)]) / nav - 1.0


def longest(history, w):
    if len(history.nav) > len(LONGEST[0]):
        LONGEST[0] = history.nav
    return history.at_decisions(ahead(LONGEST[0], w)[: len(history.nav)])


def first(history, w):
    if Memory.first is None:
        Memory.first = history.nav
    known = ahead(Memory.first, w)[: len(history.nav)]
    return history.at_decisions(np.vstack([known, history.nav[len(known) :]]))


def one_day(history, w):
    x = history.nav.copy()
    x[{row} : {row} + 1] = x[min({row} + 1, len(x) - 1)]
    return history.at_decisions(x)


def scored(history, w):
    nav = history.nav
    return history.at_decisions((nav - np.nanmean(nav, axis=0)) / np.nanstd(nav, axis=0))


def honest(history, w):
    return history.at_decisions(history.nav)


KINDS = (longest, first, one_day, scored, honest)
A, B, C, D, E = (RecursiveFactor(kind.__name__, kind, "", windows=(5,)) for kind in KINDS)
"""
KINDS = ("longest", "first", "one_day", "scored", "honest")


def test_the_command_finds_factors_that_remember_the_future_or_look_ahead(geodual, tmp_path) -> None:
    """Each forecaster ranks by one factor. Those with a memory passed when the whole table was seen first."""
    nav = synthetic_universe(12, "2014-01-02", "2015-12-31", seed=2).panel.nav
    days = [str(day.date()) for day in rebalance_days(nav.index)]
    nav.to_csv(tmp_path / "nav.csv")
    (tmp_path / "zoo.py").write_text(ZOO.replace("{row}", str(nav.index.get_loc(days[4]))), "utf-8")
    chosen = ["--forecasters", ",".join(f"factor:{name}_5" for name in KINDS)]
    chosen += ["--factors", ",".join(f"zoo:{place}" for place in "ABCDE")]
    code, out, err = geodual("check-leakage", "nav.csv", *chosen, "--jobs", 2, "--json")
    assert (code, err) == (1, "")
    failed: dict[str, set[str]] = {f"factor:{name}_5": set() for name in KINDS}
    for check in json.loads(out):
        if not check["passed"]:
            failed[check["forecaster"]].add(check["day"])
    decided = set(days[1:-1])
    assert failed == {
        "factor:longest_5": decided,
        "factor:first_5": decided,
        "factor:one_day_5": {days[4]},
        "factor:scored_5": decided,
        "factor:honest_5": set(),
    }


@pytest.mark.parametrize("leaky", [with_labels_too_late, with_scores_over_all_days])
@pytest.mark.usefixtures("no_fresh_processes")
def test_a_procedure_that_looks_ahead_is_caught(panel: Panel, leaky) -> None:
    checks = check_leakage(panel, "euclidean", forecaster=leaky, n_days=3)
    assert not any(check.passed for check in checks)


@pytest.mark.usefixtures("no_fresh_processes")
def test_a_procedure_of_ones_own_can_be_checked(panel: Panel) -> None:
    """A closure, which pickle alone does not take."""
    factor = "roc"

    def forecaster(panel: Panel, days: pd.DatetimeIndex) -> pd.DataFrame:
        table = compute_factors(panel, days, factor)["roc_10"].rename("forecast").reset_index()
        return table.assign(forecaster="mine")

    checks = check_leakage(panel, "euclidean", forecaster=forecaster)
    assert checks.passed
    assert {check.forecaster for check in checks} == {"mine"}
    assert len(checks) == 5 * 2


def test_a_procedure_that_takes_the_future_along_is_refused(panel: Panel) -> None:
    whole, lock = panel.nav.to_numpy(), threading.Lock()
    for holds in (panel, whole, np.asfortranarray(whole), panel.nav.iloc[:, 3:9]):
        with pytest.raises(DataError, match=r"holds later values of the table .* use only its arguments"):
            check_leakage(panel, "euclidean", forecaster=lambda table, days, holds=holds: holds)
    with pytest.raises(DataError, match=r"cannot be sent to another process \(.*lock.*\)\. Remove locks"):
        check_leakage(panel, "euclidean", forecaster=lambda table, days: lock)


@pytest.mark.usefixtures("no_fresh_processes")
def test_a_check_of_nothing_does_not_pass(panel: Panel) -> None:
    with pytest.raises(DataError, match=r"`n_days` must be a whole number of at least 1.*default, all days"):
        check_leakage(panel, "euclidean", n_days=0)
    with pytest.raises(DataError, match="`n_jobs` must be a whole number other than 0"):
        check_leakage(panel, "euclidean", n_jobs=0)
    with pytest.raises(DataError, match="too early for a decision"):
        check_leakage(Panel(panel.nav.iloc[:150]), "euclidean")
    nothing = pd.DataFrame(columns=["date", "forecaster", "fund", "forecast"])
    with pytest.raises(DataError, match=r"`forecaster` must return forecasts for 2014-\d\d-\d\d, got none"):
        check_leakage(panel, "euclidean", forecaster=lambda panel, days: nothing)
    with pytest.raises(
        DataError, match=r"rows after 2014-\d\d-\d\d, there is no forecast .*\(KeyError.* looks ahead"
    ):
        check_leakage(panel, "euclidean", forecaster=lambda table, days: table.nav.loc["2016-03-30"])
    with pytest.raises(DataError, match=r"must return the columns .* got none named 'forecaster'"):
        check_leakage(panel, "euclidean", forecaster=lambda panel, days: nothing.drop(columns="forecaster"))


def test_settings_chosen_with_hindsight_are_not_declared_free_of_it(panel: Panel) -> None:
    with pytest.raises(DataError, match=r"`tune` must be false: .* look ahead"):
        check_leakage(panel, "rpdml", tune=True)


@pytest.mark.usefixtures("no_fresh_processes")
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
