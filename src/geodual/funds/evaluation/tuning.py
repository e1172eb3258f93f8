"""Choose hyper-parameters of metrics, on the validation period only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from sklearn.base import clone

from geodual.metric.registry import find_metric, metric_names

from ..config import StudyConfig
from ..decisions.observations import Observations
from ..decisions.walk_forward import walk_forward
from .periods import first_test_day
from .result_tables import ic_table, predictions_table


def tune_metrics(
    observations: Observations,
    estimators: Mapping[str, Any],
    config: StudyConfig,
    rows: Iterable[int],
    **effort: Any,
) -> dict[str, dict[str, Any]]:
    """Choose the parameters of each metric that has candidates, by mean IC in the validation period.

    Decisions whose holding interval ends in the test period are not used.

    Parameters
    ----------
    observations : Observations
        What is known at each rebalance day.
    estimators : mapping of str to transformer
        The metrics by name.
    config : StudyConfig
        Settings of the study.
    rows : iterable of int
        Positions of the rebalance days on which decisions can be made.
    **effort
        Passed on to `walk_forward`: n_jobs, checkpoints, progress.

    Returns
    -------
    dict of str to dict
        Chosen parameters by metric; the earlier candidate wins a tie. Empty if there is no validation period.
    """
    days = observations.days
    start = first_test_day(observations.panel.nav.index, config.test_start)
    validation = [t for t in rows if t + 1 < len(days) and days[t + 1] < start]
    grids = {name: _grid(name, estimator) for name, estimator in estimators.items()}
    # All candidates of all metrics are decided in one parallel walk, under names that tell them apart.
    candidates = {
        f"{name} {parameters}": clone(estimators[name]).set_params(**parameters)
        for name, grid in grids.items()
        for parameters in grid
    }
    if not validation or not candidates:
        return {}
    decisions = walk_forward(observations, candidates, config, validation, **effort)
    mean_ic = ic_table(predictions_table(decisions, observations)).mean()
    return {name: _best_candidate(name, grid, mean_ic) for name, grid in grids.items() if grid}


def count_candidates(name: str) -> int:
    """Return how many settings tuning tries; at least one if the metric is not registered in this process."""
    return len(find_metric(name).grid) if name in metric_names() else 1


def _grid(name: str, estimator: Any) -> list[dict[str, Any]]:
    """Return the candidates of a metric; none if the estimator is not of the class registered under it."""
    metric = find_metric(name) if name in metric_names() else None
    if metric is None or not metric.grid or type(estimator) is not type(metric.make()):
        return []
    return [dict(parameters) for parameters in metric.grid]


def _best_candidate(name: str, grid: list[dict[str, Any]], mean_ic: pd.Series[float]) -> dict[str, Any]:
    return max(grid, key=lambda parameters: mean_ic[f"{name} {parameters}"])
