"""`sweep`: studies with all combinations of settings; what they have in common is computed once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from ..config import AFTER_FORECASTS
from ..decisions.walk_forward import check_jobs
from ..panel import Panel
from ..run import ProgressCallback, ignore_progress
from ..settings import takes_settings
from ..sources.reading.fund_facts import FundFacts
from .forecasts import Forecasts
from .inputs import read_data
from .shared_forecasts import Trial, observe_once, plan_lessons, plan_walks
from .study import Study
from .sweep_grid import combine_settings, describe, inputs_of
from .sweep_result import Sweep, count_trials
from .trading import Rivals, find_rivals, trade


@takes_settings()
def sweep(
    panel: Panel | pd.DataFrame | str | Path,
    grid: Mapping[str, Iterable[Any]],
    index: pd.Series[float] | str | Path | Mapping[str, pd.Series[float] | str | Path] | None = None,
    metrics: str | Sequence[str] | Mapping[str, Any] | None = None,
    *,
    forecasters: str | Sequence[str] | Mapping[str, Any] | None = None,
    facts: FundFacts | pd.DataFrame | str | Path | None = None,
    n_jobs: int | None = None,
    progress: ProgressCallback = ignore_progress,
    **settings: Any,
) -> Sweep:
    """Run the study with all combinations of some settings, and correct for their number.

    Each study is the same, to the last digit, as that of `backtest` with the same settings, with one
    exception: all its p-values, intervals and deflated Sharpe ratios count the forecasters and settings of
    the whole sweep. Factors are computed once, metrics are learned once for all `k`, and trading settings
    need no learning.

    Parameters
    ----------
    panel : Panel, DataFrame or path
        Net asset values, day × fund.
    grid : mapping of str to iterable
        Values to try, by setting, such as ``{"k": [5, 10, 20], "top": [5, 10]}``: any settings of
        `StudyConfig`, including `metrics` and `forecasters`.
    index : Series, path, or mapping of str to Series or path, optional
        Index levels to compare with, as in `backtest`.
    metrics : str, sequence of str, or mapping of str to transformer
        Metrics to compare in each study, as in `backtest`.
    forecasters : str, sequence of str, or mapping, optional
        Forecasters to compare in each study, as in `backtest`.
    facts : FundFacts, DataFrame or path, optional
        Facts about the funds, in any form that `read_facts` reads.
    n_jobs : int, optional
        Number of worker processes, -1 for one per core. Results do not depend on it.
    progress : callable
        Called after each decision and each study with the number done, the total number, and a text on the
        last one.
    **settings
        All other settings of `StudyConfig`, the same in all studies.

    Returns
    -------
    Sweep
        One study per combination, and a table of them.

    See Also
    --------
    backtest : Run one study.
    Study.retrade : Trade the forecasts of a study again.

    Examples
    --------
    >>> from geodual.funds import sweep, synthetic_universe
    >>> panel = synthetic_universe(20, "2014-01-02", "2015-06-30").panel
    >>> tried = sweep(panel, {"k": [3, 5], "top": [5, 10]}, metrics="gmml")
    >>> tried.table[["k", "top", "trials"]].to_numpy().tolist()
    [[3, 5, 4], [3, 10, 4], [5, 5, 4], [5, 10, 4]]
    >>> tried.study(k=5, top=10).n_choices("both")
    4
    """
    check_jobs(n_jobs)
    compared = {"metrics": metrics, "forecasters": forecasters}
    named = [name for name, value in compared.items() if value is not None]
    combinations = combine_settings(grid, [*named, *settings])
    data = read_data(panel, index, facts)
    inputs = [inputs_of(data, each, (metrics, forecasters), settings) for each in combinations]
    trials = observe_once(combinations, inputs)
    walks = plan_walks(plan_lessons(trials, n_jobs=n_jobs, progress=progress))
    total, done = sum(walk.n_decisions for walk in walks) + len(trials), 0
    forecasts: list[tuple[Trial, Forecasts]] = []
    for walk in walks:
        forecasts += walk.run(n_jobs, _after(done, total, progress))
        done += walk.n_decisions
    studies = _trade_all(trials, forecasts, _after(done, total, progress))
    counted = count_trials(studies)
    return Sweep(tuple(combinations), tuple(replace(study, trials=counted) for study in studies))


def _after(before: int, total: int, progress: ProgressCallback) -> ProgressCallback:
    """Return what reports a part of the sweep as steps of the whole of it."""
    return lambda done, _, last: progress(before + done, total, last)


def _trade_all(
    trials: Sequence[Trial], forecasts: Sequence[tuple[Trial, Forecasts]], progress: ProgressCallback
) -> list[Study]:
    """Return the study of each trial; those that trade by the same rules share baselines and random picks."""
    studies: list[Study] = []
    shared: list[tuple[Trial, Rivals]] = []
    for trial in trials:
        started = time.perf_counter()
        learned = next(own for first, own in forecasts if trial.has_forecasts_of(first))
        own = learned.with_inputs(trial.given)
        rivals = next((each for other, each in shared if _trades_like(trial, other)), None)
        if rivals is None:
            rivals = find_rivals(own)
            shared.append((trial, rivals))
        parts = trade(own, rivals)
        studies.append(Study(**parts, forecasts=own, seconds=time.perf_counter() - started))
        progress(len(studies), len(trials), describe(trial.combination))
    return studies


def _trades_like(trial: Trial, other: Trial) -> bool:
    """Return whether two trials trade on the same days by the same rules."""
    own, others = ([getattr(each.given.config, name) for name in AFTER_FORECASTS] for each in (trial, other))
    return trial.has_days_of(other) and own == others
