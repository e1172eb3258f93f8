"""`backtest`: the walk-forward study of the paper, from a panel to a `Study`."""

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

from .config import StudyConfig, check_names
from .decisions.checkpoints import Checkpoints
from .decisions.decision import Decision
from .decisions.named_metrics import NAMES, metric_names, resolve_metrics
from .decisions.observations import Observations
from .decisions.rebalance import rebalance_days
from .decisions.tuning import tune_metrics
from .decisions.walk_forward import Progress, decision_rows, skipped_days, walk_forward
from .evaluation.ledger import Ledger, run_ledger
from .panel import Panel
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

_LATE_ROWS = 5  # that an index may end before the data
_FILLED = 0.05  # share of days without a level of the index from which on it is remarked
_COVERAGE = 0.90  # share of the factors below which it is remarked


def backtest(
    panel: Panel | pd.DataFrame | str | Path,
    index: pd.Series[float] | str | Path | None = None,
    metrics: str | Sequence[str] | Mapping[str, Any] = NAMES,
    *,
    k: int = StudyConfig.k,
    top: int = StudyConfig.top,
    label: str = StudyConfig.label,
    test_start: str = StudyConfig.test_start,
    cost: float = StudyConfig.cost,
    execution_lag: int = StudyConfig.execution_lag,
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
        Levels of an index to compare with, from the first trade on to at most 5 rows before the last day; the
        equal-weight universe by default.
    metrics : sequence of str, or mapping of str to transformer
        Metrics by name (euclidean, mahalanobis, lmnn, itml, gmml, rpdml), or any scikit-learn transformers.
    k : int
        Neighbours whose mean return is the forecast.
    top : int
        Funds held.
    label : str
        Classes to learn from: "sign" of the return, or above and below the "median".
    test_start : str
        First day of the test period.
    cost : float
        Cost of a trade as a share of its value.
    execution_lag : int
        Trading days from a decision to its execution.
    n_jobs : int, optional
        Worker processes; the results do not depend on it.
    checkpoint_folder : path, optional
        Where finished decisions are kept, so that an interrupted run goes on; ``study.save`` clears it.
    progress : callable
        Called with what is done, what there is to do, and a word on what was done last.
    **settings
        The others of `StudyConfig`: neighbours, train_quarters, weights, frequency, tune, random_state.

    Returns
    -------
    Study
    """
    started = time.perf_counter()
    panel = panel if isinstance(panel, Panel) else read_nav(panel)
    settings |= {"k": k, "top": top, "label": label, "test_start": test_start}
    settings |= {"cost": cost, "execution_lag": execution_lag}
    config = StudyConfig(metrics=metric_names(metrics), **check_names(settings, "backtest"))
    estimators = resolve_metrics(metrics, config.random_state)
    observations = Observations(panel, rebalance_days(pd.DatetimeIndex(panel.nav.index), config.frequency))
    rows = decision_rows(observations, config)
    remarks = [*_remark_data(panel), *_remark_skipped(skipped_days(observations, config, rows))]
    benchmark = None
    if index is not None:
        first = panel.nav.index.searchsorted(observations.days[rows[0]]) + config.execution_lag
        benchmark, filled = _aligned(index, pd.DatetimeIndex(panel.nav.index[first:]))
        remarks += filled
    keys = [panel.digest, config.to_toml(), _fingerprint(estimators), geodual.__version__]
    checkpoints = Checkpoints(Path(checkpoint_folder), keys) if checkpoint_folder else None
    effort: dict[str, Any] = {"n_jobs": n_jobs, "checkpoints": checkpoints, "progress": progress}
    chosen = tune_metrics(observations, estimators, config, rows, **effort) if config.tune else {}
    for name, parameters in chosen.items():
        estimators[name].set_params(**parameters)
    decisions = walk_forward(observations, estimators, config, rows, **effort)
    seconds = time.perf_counter() - started
    return _assemble(observations, decisions, config, benchmark, chosen, checkpoints, remarks, seconds)


def _fingerprint(estimators: dict[str, Any]) -> str:
    """Return a text that tells estimators apart; one that no other run has if they cannot be hashed."""
    try:
        return str(joblib.hash(estimators))
    except (TypeError, AttributeError, pickle.PicklingError):
        return uuid4().hex


def _aligned(
    index: pd.Series[float] | str | Path, days: pd.DatetimeIndex
) -> tuple[pd.Series[float], list[str]]:
    """Return index levels on some days, the last known one where one is missing, and a remark if many are."""
    levels = read_index(index)
    first, last = levels.index[0], levels.index[-1]
    if len(days) and first > days[0]:
        raise DataError(
            f"The index begins on {first.date()}, after the first trade, on {days[0].date()}; "
            "give earlier levels."
        )
    missing = int((days > last).sum())
    if missing > _LATE_ROWS:
        raise DataError(
            f"The index ends on {last.date()}, {missing} rows before the last day, {days[-1].date()}; "
            "give later levels."
        )
    filled = int((~days.isin(levels.index)).sum())
    remark = f"The index has no level on {filled} of {len(days)} days; the last one before was taken."
    aligned = levels.reindex(levels.index.union(days)).ffill().reindex(days)
    return aligned, [remark] if filled > _FILLED * len(days) else []


def _assemble(
    observations: Observations,
    decisions: list[Decision],
    config: StudyConfig,
    benchmark: pd.Series[float] | None,
    chosen: dict[str, dict[str, Any]],
    checkpoints: Checkpoints | None,
    remarks: list[str],
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
        reasons=reasons_table(decisions, observations.factor_names),
        chosen=chosen,
        remarks=(*remarks, *_remark_coverage(universe), *_remark_decisions(decisions, config)),
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
    return benchmark.reindex(days) / benchmark[days[0]]


def _remark_data(panel: Panel) -> list[str]:
    """Return what was found about the table as a whole and can change a result."""
    whole = [finding for finding in panel.findings if not finding.fund]
    return [finding.message for finding in whole if finding.matters or finding.kind == "survivorship"]


def _remark_skipped(skipped: dict[pd.Timestamp, str]) -> list[str]:
    if not skipped:
        return []
    days: dict[str, list[str]] = {}
    for day, why in skipped.items():
        days.setdefault(why, []).append(str(day.date()))
    reasons = "; ".join(f"{', '.join(on)}: {why}" for why, on in days.items())
    return [f"No decision on {len(skipped)} of the rebalance days, nothing was traded ({reasons})."]


def _remark_coverage(universe: pd.DataFrame) -> list[str]:
    poor = universe[universe["coverage"] < _COVERAGE]
    if poor.empty:
        return []
    return [
        f"On {len(poor)} of the rebalance days fewer than {100 * _COVERAGE:.0f} % of the factors were known, "
        f"{100 * poor['coverage'].min():.0f} % at the least; missing ones count as average."
    ]


def _remark_decisions(decisions: list[Decision], config: StudyConfig) -> list[str]:
    """Return what decisions had to say: labels that fell back, and warnings of metrics, each once."""
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
    return remarks
