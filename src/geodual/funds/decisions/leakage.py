"""Test that no decision looks ahead: remove or replace the future, and see whether forecasts change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from geodual.errors import DataError

from ..calendar import trading_rows
from ..config import StudyConfig, check_integer, check_names
from ..factors.factor import FACTORS, FactorSet, take_factors
from ..forecasters.forecast import Forecaster, factors_asked
from ..forecasters.make import compared_settings, resolve_compared
from ..panel import Panel
from ..run import ProgressCallback, ignore_progress
from ..settings import takes_settings
from ..sources.reading.fund_facts import FundFacts, take_facts
from ..sources.reading.nav_file import read_indices, read_nav
from .observations import decision_rows, observe, possible_rows, prepare_panel
from .walk_forward import check_jobs, walk_forward
from .without_future import COLUMNS, Procedure, SentProcedure, forecast_without_future, run_fresh, send

_FAILED = "They look ahead, or the same data do not give the same forecasts twice."


@takes_settings(without=("tune",))
def check_leakage(
    panel: Panel | pd.DataFrame | str | Path,
    metrics: Any = None,
    *,
    index: Any = None,
    facts: FundFacts | pd.DataFrame | str | Path | None = None,
    n_days: int | None = None,
    forecasters: Any = None,
    forecaster: Procedure | None = None,
    n_jobs: int | None = None,
    progress: ProgressCallback = ignore_progress,
    **settings: Any,
) -> LeakageChecks:
    """Check that the decisions of a study depend only on the past.

    For every decision day, all later rows are first removed and then replaced by noise. The forecasts of the
    day must not change by a single bit. Tuning is not allowed here: it chooses settings on the whole
    validation period, with hindsight.

    Parameters
    ----------
    panel : Panel, DataFrame or path
        Net asset values, day × fund.
    metrics : sequence of str, or mapping of str to transformer
        Metrics to check: registered names, import paths such as ``package.module:Class``, or any scikit-learn
        transformers by name. By default the six of the paper, or none if `forecasters` are given.
    index : Series, path or mapping, optional
        Index levels; their days help identify trading days.
    facts : FundFacts, DataFrame or path, optional
        Facts about the funds, in any form that `read_facts` reads. They count as known on every day.
    n_days : int, optional
        Number of decision days to test, spread evenly; all by default.
    forecasters : str, sequence of str, or mapping, optional
        Forecasters to check, as in `backtest`.
    forecaster : callable, optional
        Your own procedure to check instead of the study: ``forecaster(panel, days)`` returns a DataFrame with
        the columns `date`, `forecaster`, `fund` and `forecast`, and rows for each of these days.
    n_jobs : int, optional
        Number of processes side by side, as in `backtest`; the result does not depend on it.
    progress : callable
        Called with the number of steps done, the number of all steps, and the name of the last one.
    **settings
        All other settings of `StudyConfig`.

    Returns
    -------
    LeakageChecks
        A sequence with one `LeakageCheck` per day, test and forecaster. Its `summary` says what was tested.

    Raises
    ------
    DataError
        If a setting is wrong, the panel is too short for a decision, or `forecaster` leaves out a day, cannot
        be sent to another process, or holds later values of the table.

    See Also
    --------
    backtest : The study whose decisions are checked.

    Notes
    -----
    Forecasts without the future are made first, in fresh processes that have never held a later value: each
    goes from the earliest day to the latest. Then other fresh processes make the forecasts from the whole
    table. So a factor or forecaster that remembers a table it has seen is found out, wherever in its code it
    keeps that memory. One day per cut is enough: what a study decides on a day is proved free of later rows
    if the same comes out where these rows never existed.

    Three things cannot be found. Data that do not come from the table, such as a file or a cache on disk or
    a variable of a notebook, are the same whichever rows are removed. An object or function of a notebook
    takes along what it remembers from before the check; it is refused if that contains later values
    themselves, but not what was derived from them. (The command, and modules that are imported, start
    without memory.) And which funds are in the table, and the facts about them, count as known.

    Examples
    --------
    >>> from geodual.funds import check_leakage, synthetic_universe
    >>> panel = synthetic_universe(20, "2014-01-02", "2015-03-31").panel
    >>> checks = check_leakage(panel, ["euclidean"], factors=["roc"])
    >>> [(check.test, check.day, check.passed) for check in checks[:2]]
    [('cut', '2014-09-30', True), ('garbage', '2014-09-30', True)]
    >>> checks.summary.split(": ")[0]
    '39 forecasts of euclidean on 2 of 2 decision days compared'
    """
    factors, settings = take_factors(settings)
    compared = compared_settings(metrics, forecasters)
    config = StudyConfig(**compared, **check_names(settings, "check_leakage"))
    if config.tune:
        raise DataError(
            "`tune` must be false: it chooses settings on the whole validation period, so decisions in it "
            "look ahead. Check the forecasters with the settings that were chosen."
        )
    panel = panel if isinstance(panel, Panel) else read_nav(panel)
    known, index_days = take_facts(facts), None if index is None else read_indices(index).index
    prepared = prepare_panel(panel, config, known, index_days)
    factors = factors.on(prepared.nav.index)  # how far apart rows are is known on every day
    forecast = forecaster or partial(
        forecast_days,
        forecasters=resolve_compared(metrics, forecasters, config),
        config=config,
        factors=factors,
        facts=known,
        index_days=index_days,
    )
    days = _decision_days(prepared, config, factors, known)
    tested = _spread(days, n_days)
    found, whole = _forecasts(send(forecast, panel), panel, tested, index_days, check_jobs(n_jobs), progress)
    checks = (
        check
        for day in tested
        for test, table in found[day].items()
        for check in _compare(test, day, whole, table)
    )
    return LeakageChecks(tuple(checks), decision_days=len(days))


def forecast_days(
    panel: Panel,
    days: pd.DatetimeIndex,
    forecasters: dict[str, Forecaster],
    config: StudyConfig,
    factors: FactorSet,
    facts: FundFacts,
    index_days: pd.Index | None = None,
) -> pd.DataFrame:
    """Return the forecasts that a study makes on some rebalance days: date, forecaster, fund, forecast."""
    prepared, asked = prepare_panel(panel, config, facts, index_days), factors_asked(forecasters.values())
    observations = observe(prepared, config, factors, facts, asked=asked)
    possible = possible_rows(observations, config, include_last=True)
    rows = [t for t in possible if observations.days[t] in days]
    decisions = walk_forward(observations, forecasters, rows)
    tables = [
        pd.DataFrame({"date": d.day, "forecaster": d.forecaster, "fund": d.funds, "forecast": d.forecast})
        for d in decisions
    ]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=list(COLUMNS))


def _decision_days(
    panel: Panel, config: StudyConfig, factors: FactorSet, facts: FundFacts
) -> pd.DatetimeIndex:
    """Return the decision days of a study without computing its factors, which must not see the table yet.

    They depend on the number of values that the factors need, and not on the factors.
    """
    needed = factors.values_needed
    stand_in = FactorSet((replace(FACTORS["roc"], values_needed=lambda w: needed),))
    observations = observe(panel, config, stand_in, facts)
    return observations.days[decision_rows(observations, config)]


def _spread(days: pd.DatetimeIndex, n_days: int | None) -> pd.DatetimeIndex:
    """Return some days, spread evenly; all by default."""
    if n_days is None:
        return days
    count = check_integer("n_days", n_days, 1, "all days")
    return days[np.unique(np.linspace(0, len(days) - 1, count).round().astype(int))]


def _forecasts(
    study: SentProcedure,
    panel: Panel,
    days: pd.DatetimeIndex,
    index_days: pd.Index | None,
    n_jobs: int | None,
    progress: ProgressCallback,
) -> tuple[dict[pd.Timestamp, dict[str, pd.DataFrame]], pd.DataFrame]:
    """Return the forecasts without the future, by day and test, and then those from the whole table."""
    steps = 3 * len(days)  # three forecasts of each day: cut, garbage, whole table
    n_chains = min(joblib.effective_n_jobs(n_jobs), len(days))
    chains = [days[start::n_chains] for start in range(n_chains)]
    found = {}
    for day, tables in forecast_without_future(study, panel, chains, trading_rows(panel.nav, index_days)):
        found[day] = tables
        progress(2 * len(found), steps, f"without rows after {day.date()}")
    whole = pd.concat(run_fresh([[partial(study, panel, some)] for some in chains]), ignore_index=True)
    progress(steps, steps, "the whole table")
    without = days[~days.isin(whole["date"])]
    if len(without):
        raise DataError(f"`forecaster` must return forecasts for {without[0].date()}, got none.")
    return found, whole


def _compare(
    test: str, day: pd.Timestamp, expected: pd.DataFrame, found: pd.DataFrame
) -> Iterator[LeakageCheck]:
    """Count the forecasts of a day that differ, by forecaster; so does a fund that appears or vanishes."""
    sides = (table.loc[table["date"] == day, list(COLUMNS)] for table in (expected, found))
    both = next(sides).merge(next(sides), on=list(COLUMNS[:3]), how="outer", suffixes=("", "_found"))
    made, same = (
        both[["forecast", "forecast_found"]].notna().any(axis=1),
        both["forecast"].eq(both["forecast_found"]),
    )
    for name, some in made.groupby(both["forecaster"], sort=False):
        compared, equal = int(some.sum()), int(same[some.index].sum())
        yield LeakageCheck(test, str(day.date()), str(name), compared, compared - equal)


@dataclass(frozen=True)
class LeakageCheck:
    """The result of one leakage test: whether the forecasts of a day stay the same to the last bit.

    Parameters
    ----------
    test : str
        "cut" (later rows removed) or "garbage" (later rows replaced by noise).
    day : str
        Day of the decision, the last that was left unchanged (ISO).
    forecaster : str
        Name of the forecaster.
    compared : int
        Number of forecasts compared.
    differing : int
        Number of forecasts that changed.

    See Also
    --------
    check_leakage : Run the tests.

    Examples
    --------
    >>> from geodual.funds import LeakageCheck
    >>> LeakageCheck("cut", "2016-12-30", "rpdml", compared=120, differing=0).passed
    True
    >>> LeakageCheck("garbage", "2016-12-30", "rpdml", compared=120, differing=3).passed
    False
    """

    test: str
    day: str
    forecaster: str
    compared: int
    differing: int

    @property
    def passed(self) -> bool:
        """Whether there were forecasts to compare and none changed."""
        return self.compared > 0 and self.differing == 0


@dataclass(frozen=True)
class LeakageChecks(Sequence[LeakageCheck]):
    """All checks of a leakage test, and on how many days there was a decision to test.

    Parameters
    ----------
    checks : tuple of LeakageCheck
        One per day, test and forecaster.
    decision_days : int
        Number of days on which the study makes a decision, tested or not.

    See Also
    --------
    check_leakage : Run the tests.

    Examples
    --------
    >>> from geodual.funds import LeakageCheck, LeakageChecks
    >>> check = LeakageCheck("cut", "2016-12-30", "rpdml", compared=120, differing=0)
    >>> checks = LeakageChecks((check,), decision_days=14)
    >>> checks.passed, len(checks), checks[0].forecaster
    (True, 1, 'rpdml')
    >>> checks.summary.split(": ")[0]
    '120 forecasts of rpdml on 1 of 14 decision days compared'
    """

    checks: tuple[LeakageCheck, ...]
    decision_days: int

    def __len__(self) -> int:
        """Return the number of checks."""
        return len(self.checks)

    def __getitem__(self, at: Any) -> Any:
        """Return one check, or some."""
        return self.checks[at]

    @property
    def passed(self) -> bool:
        """Whether there were checks and all of them passed."""
        return len(self) > 0 and all(check.passed for check in self)

    @property
    def summary(self) -> str:
        """What was tested and found, in one or two sentences; nothing is said of days that were not."""
        days = dict.fromkeys(check.day for check in self)
        compared = sum(check.compared for check in self if check.test == "cut")
        failed = [check for check in self if not check.passed]
        bad_days = len(dict.fromkeys(check.day for check in failed))
        found = f"on {bad_days} of these days those of {_names(failed)} changed" if failed else "none changed"
        untested = self.decision_days - len(days)
        return (
            f"{compared:,} forecasts of {_names(self)} on {len(days)} of {self.decision_days} decision days "
            f"compared: {found} when later rows were removed or replaced by noise."
            + (f" {_FAILED}" if failed else "")
            + (f" The other {untested} days were not tested." if untested else "")
        )


def _names(checks: Sequence[LeakageCheck]) -> str:
    return ", ".join(dict.fromkeys(check.forecaster for check in checks))
