"""Test that no decision looks ahead: cut or replace the future, and see whether the past changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from geodual.errors import DataError

from ..calendar import trading_rows
from ..config import StudyConfig, check_names
from ..factors.factor import FactorSet
from ..factors.registry import take_factors
from ..forecasters.chosen import compared_settings, resolve_compared
from ..forecasters.forecast import Forecaster, factors_asked
from ..panel import Panel
from ..progress import ProgressCallback, ignore_progress
from ..setting_checks import check_integer
from ..settings import takes_settings
from ..sources.reading.fund_facts import FundFacts, take_facts
from ..sources.reading.nav_file import read_index, read_nav
from .decision_days import decision_rows
from .observe import observe, prepare_panel
from .walk_forward import walk_forward

_COLUMNS = ("date", "metric", "fund", "forecast")

Procedure = Callable[[Panel, pd.DatetimeIndex], pd.DataFrame]
"""Returns the forecasts of some days, one per row; columns `date`, `metric`, `fund` and `forecast`."""


@dataclass(frozen=True)
class LeakageCheck:
    """The result of one leakage test: whether forecasts up to a day stay the same to the last bit.

    Parameters
    ----------
    test : str
        "cut" (later rows removed) or "garbage" (later rows replaced by noise).
    day : str
        Last day that was left unchanged (ISO).
    metric : str
        Name of the metric.
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
    metric: str
    compared: int
    differing: int

    @property
    def passed(self) -> bool:
        """Whether there were forecasts to compare and none changed."""
        return self.compared > 0 and self.differing == 0


@takes_settings(without=("tune",))
def check_leakage(
    panel: Panel | pd.DataFrame | str | Path,
    metrics: Any = None,
    *,
    index: pd.Series[float] | str | Path | None = None,
    facts: FundFacts | pd.DataFrame | str | Path | None = None,
    n_days: int = 3,
    forecasters: Any = None,
    forecaster: Procedure | None = None,
    progress: ProgressCallback = ignore_progress,
    **settings: Any,
) -> tuple[LeakageCheck, ...]:
    """Check that the decisions of a study depend on the past only.

    For several rebalance days, all later rows are first removed and then replaced by noise. The forecasts of
    that day and of the days before must not change by a single bit. Tuning is not allowed here: it chooses
    settings by the whole validation period, with hindsight.

    Parameters
    ----------
    panel : Panel, DataFrame or path
        Net asset values, day × fund.
    metrics : sequence of str, or mapping of str to transformer
        Metrics to check: registered names, places such as ``package.module:Class``, or any scikit-learn
        transformers by name. By default the six of the paper, or none if `forecasters` are given.
    index : Series or path, optional
        Index levels; their days help to tell trading days.
    facts : FundFacts, DataFrame or path, optional
        Facts about the funds, in any form that `read_facts` reads.
    n_days : int
        Number of rebalance days to test, spread evenly.
    forecasters : str, sequence of str, or mapping, optional
        Forecasters to check, as in `backtest`.
    forecaster : callable, optional
        Your own procedure to check instead of the study: ``forecaster(panel, days)`` returns a DataFrame with
        the columns `date`, `metric`, `fund` and `forecast`, and rows for each of these days.
    progress : callable
        Called with the number of checks done, the number of all checks, and the name of the last one.
    **settings
        All other settings of `StudyConfig`.

    Returns
    -------
    tuple of LeakageCheck
        One per day, test and metric.

    Raises
    ------
    DataError
        If a setting is wrong, the panel is too short for a decision, or `forecaster` leaves out a day.

    See Also
    --------
    backtest : The study whose decisions are checked.

    Examples
    --------
    >>> from geodual.funds import check_leakage, synthetic_universe
    >>> panel = synthetic_universe(20, "2014-01-02", "2015-03-31").panel
    >>> checks = check_leakage(panel, ["euclidean"], n_days=1, factors=["roc"])
    >>> [(check.test, check.metric, check.passed) for check in checks]
    [('cut', 'euclidean', True), ('garbage', 'euclidean', True)]
    """
    factors, settings = take_factors(settings)
    compared = compared_settings(metrics, forecasters)
    config = StudyConfig(**compared, **check_names(settings, "check_leakage"))
    if config.tune:
        raise DataError(
            "`tune` must be false: it chooses settings by the whole validation period, so decisions in it "
            "look ahead. Check the forecasters with the settings that were chosen."
        )
    panel = panel if isinstance(panel, Panel) else read_nav(panel)
    known, index_days = take_facts(facts), None if index is None else read_index(index).index
    forecast = forecaster or partial(
        forecast_days,
        forecasters=resolve_compared(metrics, forecasters, config),
        config=config,
        factors=factors,
        facts=known,
        index_days=index_days,
    )
    days = _days_to_test(prepare_panel(panel, config, known, index_days), config, factors, known, n_days)
    whole = _check_forecasts(forecast(panel, days), days)
    checks: list[LeakageCheck] = []
    for day in days:
        earlier = days[days <= day]
        expected = whole[whole["date"] <= day]
        for test, changed in (
            ("cut", panel.until(day)),
            ("garbage", _with_garbage_after(panel, day, index_days)),
        ):
            checks += _compare(test, day, expected, forecast(changed, earlier))
            progress(len(checks), 2 * len(days) * len(config.compared), f"{test} after {day.date()}")
    return tuple(checks)


def forecast_days(
    panel: Panel,
    days: pd.DatetimeIndex,
    forecasters: dict[str, Forecaster],
    config: StudyConfig,
    factors: FactorSet,
    facts: FundFacts,
    index_days: pd.Index | None = None,
) -> pd.DataFrame:
    """Return the forecasts that a study makes on some rebalance days: date, metric, fund, forecast."""
    prepared, asked = prepare_panel(panel, config, facts, index_days), factors_asked(forecasters.values())
    observations = observe(prepared, config, factors, facts, asked=asked)
    possible = decision_rows(observations, config, include_last=True)
    rows = [t for t in possible if observations.days[t] in days]
    decisions = walk_forward(observations, forecasters, rows)
    tables = [
        pd.DataFrame({"date": d.day, "metric": d.metric, "fund": d.funds, "forecast": d.forecast})
        for d in decisions
    ]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=list(_COLUMNS))


def _days_to_test(
    panel: Panel, config: StudyConfig, factors: FactorSet, facts: FundFacts, n_days: int
) -> pd.DatetimeIndex:
    n_days = check_integer("n_days", n_days, 1, 3)
    observations = observe(panel, config, factors, facts)
    rows = decision_rows(observations, config)
    chosen = np.unique(np.linspace(0, len(rows) - 1, n_days).round().astype(int))
    return observations.days[[rows[i] for i in chosen]]


def _check_forecasts(table: pd.DataFrame, days: pd.DatetimeIndex) -> pd.DataFrame:
    """Return what a procedure found; raise if it has no forecasts to compare on one of the days."""
    missing = [name for name in _COLUMNS if name not in table]
    if missing:
        raise DataError(
            f"`forecaster` must return the columns {', '.join(_COLUMNS)}, got none named {missing[0]!r}."
        )
    without = days[~days.isin(table["date"])]
    if len(without):
        raise DataError(f"`forecaster` must return forecasts for {without[0].date()}, got none.")
    return table


def _with_garbage_after(panel: Panel, day: pd.Timestamp, index_days: pd.Index | None) -> Panel:
    """Replace the trading days after a day by random NAVs with gaps.

    Other rows stay, because which days will be trading days is known before.
    """
    rng = np.random.default_rng(0)
    later = (panel.nav.index > day) & trading_rows(panel.nav, index_days)
    values = panel.nav.to_numpy(float, copy=True)
    values[later] = np.exp(rng.normal(scale=2.0, size=values[later].shape))
    values[later] = np.where(rng.random(values[later].shape) < 0.1, np.nan, values[later])
    return Panel(pd.DataFrame(values, index=panel.nav.index, columns=panel.nav.columns), panel.source)


def _compare(test: str, day: pd.Timestamp, expected: pd.DataFrame, found: pd.DataFrame) -> list[LeakageCheck]:
    """Count the forecasts that differ, by metric; a fund that appears or disappears differs too."""
    both = expected.merge(found, on=list(_COLUMNS[:3]), how="outer", suffixes=("", "_found"))
    same = both["forecast"].eq(both["forecast_found"])
    counts = same.groupby(both["metric"], sort=False).agg(["size", "sum"])
    return [
        LeakageCheck(test, str(day.date()), str(metric), int(size), int(size - equal))
        for metric, (size, equal) in counts.iterrows()
    ]
