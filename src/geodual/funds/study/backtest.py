"""`backtest`: the walk-forward study of the paper, from NAVs to a `Study`."""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import joblib
import pandas as pd

import geodual
from geodual.errors import DataError

from ..calendar import rebalance_days
from ..config import StudyConfig, check_names
from ..decisions.checkpoints import Checkpoints
from ..decisions.chosen_metrics import chosen_names, resolve_metrics
from ..decisions.decision import Decision
from ..decisions.decision_days import decision_rows, skipped_days
from ..decisions.observations import Observations
from ..decisions.walk_forward import walk_forward
from ..evaluation.ledger import Ledger, run_ledger
from ..evaluation.result_tables import (
    holdings_table,
    ic_table,
    neighbours_table,
    predictions_table,
    reasons_table,
    universe_table,
)
from ..evaluation.tuning import tune_metrics
from ..factors.registry import take_factors
from ..panel import Panel
from ..progress import ProgressCallback, ignore_progress
from ..settings import takes_settings
from ..sources.reading.nav_file import read_index, read_nav
from .notes import note_coverage, note_data, note_decisions, note_skipped
from .study import Study

_LATE_ROWS = 5  # rows by which an index may end before the data
_FILLED = 0.05  # warn above this share of missing index days


@takes_settings()
def backtest(
    panel: Panel | pd.DataFrame | str | Path,
    index: pd.Series[float] | str | Path | None = None,
    metrics: str | Sequence[str] | Mapping[str, Any] = StudyConfig.metrics,
    *,
    n_jobs: int | None = None,
    checkpoint_folder: str | Path | None = None,
    progress: ProgressCallback = ignore_progress,
    **settings: Any,
) -> Study:
    """Run the study of the paper: at each quarter end, learn metrics, forecast all funds, and hold the best.

    A decision uses only rows up to its day: the factors of that day, and holding intervals that have ended.

    Parameters
    ----------
    panel : Panel, DataFrame or path
        Net asset values, day × fund.
    index : Series or path, optional
        Index levels to compare with. They must reach from the first trade to at most 5 rows before the last
        row of the data. By default the index is the universe with equal weights.
    metrics : str, sequence of str, or mapping of str to transformer
        Metrics to compare: registered names (`geodual.metric.metric_names` lists them), places such as
        ``package.module:Class``, or scikit-learn transformers by name. By default the six of the paper.
    n_jobs : int, optional
        Number of worker processes, -1 for one per core. Results do not depend on it.
    checkpoint_folder : path, optional
        Folder that keeps finished decisions, so that an interrupted run can resume. ``study.save`` clears it.
    progress : callable
        Called after each decision with the number done, the total number, and a text on the last one.
    **settings
        All other settings of `StudyConfig`.

    Returns
    -------
    Study
        Tables and statistics, with methods to save and show them.

    See Also
    --------
    select : Choose the funds to hold next.
    check_leakage : Prove that no decision looks ahead.
    read_study : Read a saved study.

    Examples
    --------
    >>> from geodual.funds import backtest, synthetic_universe
    >>> universe = synthetic_universe(20, "2014-01-02", "2015-06-30")
    >>> study = backtest(universe.panel, universe.index, metrics=["euclidean", "gmml"], top=5)
    >>> study.ic.shape, len(study.holdings)  # 2 rebalance days, 2 metrics, 5 funds each
    ((2, 2), 20)
    """
    started = time.perf_counter()
    panel = panel if isinstance(panel, Panel) else read_nav(panel)
    factors, settings = take_factors(settings)
    config = StudyConfig(metrics=chosen_names(metrics), **check_names(settings, "backtest"))
    estimators = resolve_metrics(metrics, config.random_state)
    days = rebalance_days(pd.DatetimeIndex(panel.nav.index), config.frequency)
    observations = Observations(panel, days, factors)
    rows = decision_rows(observations, config)
    notes = [*note_data(panel), *note_skipped(skipped_days(observations, config, rows))]
    benchmark = None
    if index is not None:
        # The index is needed from the day on which the first decision is executed.
        first = panel.nav.index.searchsorted(observations.days[rows[0]]) + config.execution_lag
        benchmark, filled = _aligned(index, pd.DatetimeIndex(panel.nav.index[first:]))
        notes += filled
    # Checkpoints are reused only for the same data, settings, metrics, factors and version.
    keys = [panel.digest, config.to_toml(), _fingerprint((estimators, factors)), geodual.__version__]
    checkpoints = Checkpoints(Path(checkpoint_folder), keys) if checkpoint_folder else None
    effort: dict[str, Any] = {"n_jobs": n_jobs, "checkpoints": checkpoints, "progress": progress}
    chosen = tune_metrics(observations, estimators, config, rows, **effort) if config.tune else {}
    for name, parameters in chosen.items():
        estimators[name].set_params(**parameters)
    decisions = walk_forward(observations, estimators, config, rows, **effort)
    seconds = time.perf_counter() - started
    return _assemble(observations, decisions, config, benchmark, chosen, checkpoints, notes, seconds)


def _fingerprint(parts: object) -> str:
    """Return a text that identifies estimators and factors; a unique one if they cannot be hashed."""
    try:
        return str(joblib.hash(parts))
    except (TypeError, AttributeError, pickle.PicklingError):
        return uuid4().hex  # matches no checkpoint, so that nothing wrong is reused


def _aligned(
    index: pd.Series[float] | str | Path, days: pd.DatetimeIndex
) -> tuple[pd.Series[float], list[str]]:
    """Return index levels on some days, filled forward, and a note if many levels are missing."""
    levels = read_index(index)
    first, last = levels.index[0], levels.index[-1]
    if len(days) and first > days[0]:
        raise DataError(
            f"The index begins on {first.date()}, after the first trade, on {days[0].date()}. Give an "
            "`index` with earlier levels."
        )
    missing = int((days > last).sum())
    if missing > _LATE_ROWS:
        raise DataError(
            f"The index ends on {last.date()}, {missing} rows before the last day, {days[-1].date()}. Give "
            "an `index` with later levels."
        )
    filled = int((~days.isin(levels.index)).sum())
    note = f"The index has no level on {filled} of {len(days)} days; the last earlier level is used."
    # Fill forward before choosing the days, so that levels between two of them are used.
    aligned = levels.reindex(levels.index.union(days)).ffill().reindex(days)
    return aligned, [note] if filled > _FILLED * len(days) else []


def _assemble(
    observations: Observations,
    decisions: list[Decision],
    config: StudyConfig,
    benchmark: pd.Series[float] | None,
    chosen: dict[str, dict[str, Any]],
    checkpoints: Checkpoints | None,
    notes: list[str],
    seconds: float,
) -> Study:
    panel = observations.panel
    predictions = predictions_table(decisions, observations)
    holdings = holdings_table(decisions, predictions, config)
    ledgers = {name: _ledger(panel, holdings, name, config) for name in config.metrics}
    equity = pd.DataFrame({name: ledger.equity for name, ledger in ledgers.items()})
    equity["index"] = _index_curve(panel, decisions, benchmark, pd.DatetimeIndex(equity.index))
    universe = universe_table(decisions, observations)
    trades = pd.concat({name: ledger.trades for name, ledger in ledgers.items()}, names=["metric", None])
    return Study(
        config=config,
        source=panel.source,
        digest=panel.digest,
        findings=panel.findings,
        index_name="equal-weight universe" if benchmark is None else str(benchmark.name),
        predictions=predictions,
        ic=ic_table(predictions),
        holdings=holdings,
        equity=equity.rename_axis(index="date", columns="metric"),
        trades=trades.reset_index("metric").reset_index(drop=True),
        universe=universe,
        neighbours=neighbours_table(decisions),
        reasons=reasons_table(decisions, observations.factors.columns),
        factor_labels=observations.factors.labels,
        chosen=chosen,
        notes=(*notes, *note_coverage(universe), *note_decisions(decisions, config)),
        seconds=seconds,
        checkpoints=checkpoints,
    )


def _ledger(panel: Panel, holdings: pd.DataFrame, name: str, config: StudyConfig) -> Ledger:
    own = holdings[holdings["metric"] == name]
    targets = {day: group.set_index("fund")["weight"] for day, group in own.groupby("date")}
    return run_ledger(panel.nav, targets, cost=config.cost, execution_lag=config.execution_lag)


def _index_curve(
    panel: Panel, decisions: list[Decision], benchmark: pd.Series[float] | None, days: pd.DatetimeIndex
) -> pd.Series[float]:
    """Return the benchmark, starting at 1: the index given, or the universe with equal weights."""
    if benchmark is None:  # rebalanced on the same days, without cost
        targets = {d.day: pd.Series(1.0 / len(d.funds), index=d.funds) for d in decisions}
        benchmark = run_ledger(panel.nav, targets).equity.reindex(days)
    return benchmark.reindex(days) / benchmark[days[0]]
