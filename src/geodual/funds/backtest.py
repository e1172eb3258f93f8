"""`backtest`: the walk-forward study of the paper, from a panel to a `Study`."""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import joblib
import numpy as np
import pandas as pd

import geodual

from .config import StudyConfig, check_names
from .decisions.checkpoints import Checkpoints
from .decisions.decision import Decision
from .decisions.named_metrics import NAMES, resolve_metrics
from .decisions.observations import Observations
from .decisions.rebalance import rebalance_days
from .decisions.tuning import tune_metrics
from .decisions.walk_forward import Progress, decision_rows, walk_forward
from .evaluation.ledger import Ledger, run_ledger
from .panel import DataError, Panel
from .reading.nav_file import read_index, read_nav
from .records import (
    holdings_table,
    ic_table,
    neighbours_table,
    predictions_table,
    reasons_table,
    universe_table,
)
from .study import Study


def backtest(
    panel: Panel | pd.DataFrame | str | Path,
    index: pd.Series[float] | str | Path | None = None,
    metrics: str | Sequence[str] | Mapping[str, Any] = NAMES,
    *,
    n_jobs: int | None = None,
    checkpoint_folder: str | Path | None = None,
    progress: Progress = lambda done, total, last: None,
    **settings: Any,
) -> Study:
    """Run the study of the paper: at each quarter end learn metrics, forecast, buy the best, hold.

    The decision of a day is made of rows up to that day only: its factors, and the quarters that are over.

    Parameters
    ----------
    panel : Panel, DataFrame or path
        Net asset values, day × fund.
    index : Series or path, optional
        Levels of an index to compare with; the equal-weight universe by default.
    metrics : sequence of str, or mapping of str to transformer
        Metrics by name (euclidean, mahalanobis, lmnn, itml, gmml, rpdml), or any scikit-learn transformers.
    n_jobs : int, optional
        Worker processes; the results do not depend on it.
    checkpoint_folder : path, optional
        Where finished decisions are kept, so that an interrupted run goes on; ``study.save`` clears it.
    progress : callable
        Called with what is done, what there is to do, and a word on what was done last.
    **settings
        Of `StudyConfig`: k, top, label, neighbours, train_quarters, weights, frequency, test_start, cost,
        execution_lag, tune, random_state.

    Returns
    -------
    Study
    """
    started = time.perf_counter()
    panel = panel if isinstance(panel, Panel) else read_nav(panel)
    names = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    config = StudyConfig(metrics=names, **check_names(settings, "backtest"))
    estimators = resolve_metrics(metrics, config.random_state)
    benchmark = None if index is None else _aligned(index, pd.DatetimeIndex(panel.nav.index))
    observations = Observations(panel, rebalance_days(pd.DatetimeIndex(panel.nav.index), config.frequency))
    rows = decision_rows(observations, config)
    keys = [panel.digest, config.to_toml(), _fingerprint(estimators), geodual.__version__]
    checkpoints = Checkpoints(Path(checkpoint_folder), keys) if checkpoint_folder else None
    effort: dict[str, Any] = {"n_jobs": n_jobs, "checkpoints": checkpoints, "progress": progress}
    chosen = tune_metrics(observations, estimators, config, rows, **effort) if config.tune else {}
    for name, parameters in chosen.items():
        estimators[name].set_params(**parameters)
    decisions = walk_forward(observations, estimators, config, rows, **effort)
    seconds = time.perf_counter() - started
    return _assemble(observations, decisions, config, benchmark, chosen, checkpoints, seconds)


def _fingerprint(estimators: dict[str, Any]) -> str:
    """Return a text that tells estimators apart; one that no other run has if they cannot be hashed."""
    try:
        return str(joblib.hash(estimators))
    except (TypeError, AttributeError, pickle.PicklingError):
        return uuid4().hex


def _aligned(index: pd.Series[float] | str | Path, days: pd.DatetimeIndex) -> pd.Series[float]:
    """Return index levels on the days of the panel, the last known one where a day is missing."""
    levels = read_index(index)
    aligned = levels.reindex(levels.index.union(days)).ffill().reindex(days)
    if aligned.isna().all():
        raise DataError(
            f"The index has no level from {days[0].date()} to {days[-1].date()}; its days are "
            f"{levels.index[0].date()} to {levels.index[-1].date()}."
        )
    return aligned


def _assemble(
    observations: Observations,
    decisions: list[Decision],
    config: StudyConfig,
    benchmark: pd.Series[float] | None,
    chosen: dict[str, dict[str, Any]],
    checkpoints: Checkpoints | None,
    seconds: float,
) -> Study:
    panel = observations.panel
    predictions = predictions_table(decisions, observations)
    holdings = holdings_table(decisions, predictions, config)
    ledgers = {name: _ledger(panel, holdings, name, config) for name in config.metrics}
    equity = pd.DataFrame({name: ledger.equity for name, ledger in ledgers.items()})
    equity["index"] = _index_curve(panel, decisions, benchmark, pd.DatetimeIndex(equity.index))
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
        universe=universe_table(decisions, observations),
        neighbours=neighbours_table(decisions),
        reasons=reasons_table(decisions, observations.factor_names),
        chosen=chosen,
        remarks=_remarks(decisions, config),
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
    """Return the benchmark from 1 on: the index given, or all funds of the universe with equal weights."""
    if benchmark is None:
        targets = {d.day: pd.Series(1.0 / len(d.funds), index=d.funds) for d in decisions}
        benchmark = run_ledger(panel.nav, targets).equity.reindex(days)
    curve = benchmark.reindex(days)
    if np.isnan(curve.iloc[0]):
        raise DataError(f"The index begins after the first trade, on {days[0].date()}; give earlier levels.")
    return curve / curve.iloc[0]


def _remarks(decisions: list[Decision], config: StudyConfig) -> tuple[str, ...]:
    """Return what a reader should know: labels that fell back, and warnings of metrics, each once."""
    fallen = dict.fromkeys(str(d.day.date()) for d in decisions if d.label != config.label)
    remarks = []
    if fallen:
        remarks.append(
            f"On {len(fallen)} of the rebalance days fewer than 5 % of the funds had risen or fallen: the "
            f"median was used as label ({', '.join(fallen)})."
        )
    warned: dict[tuple[str, str], int] = {}
    for decision in decisions:
        for remark in decision.remarks:
            warned[decision.metric, remark] = warned.get((decision.metric, remark), 0) + 1
    remarks += [f"{metric} ({count} ×): {remark}" for (metric, remark), count in warned.items()]
    return tuple(remarks)
