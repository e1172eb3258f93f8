"""Hyper-parameters, chosen on the validation period only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from sklearn.base import clone

from ..config import StudyConfig
from ..evaluation.periods import first_test_day
from ..records import ic_table, predictions_table
from .named_metrics import GRIDS, is_default
from .observations import Observations
from .walk_forward import walk_forward


def tune_metrics(
    observations: Observations,
    estimators: Mapping[str, Any],
    config: StudyConfig,
    rows: Iterable[int],
    **effort: Any,
) -> dict[str, dict[str, Any]]:
    """Choose the parameters of each metric that has candidates, by the mean IC of the validation period.

    Decisions whose period ends in the test period are not looked at.

    Parameters
    ----------
    observations, estimators, config, rows
        As for `walk_forward`.
    **effort
        n_jobs, checkpoints, progress.

    Returns
    -------
    dict of str to dict
        Parameters by metric; ties go to the earlier candidate. Empty if there is no validation period.
    """
    days = observations.days
    start = first_test_day(observations.panel.nav.index, config.test_start)
    validation = [t for t in rows if t + 1 < len(days) and days[t + 1] < start]
    names = [name for name, estimator in estimators.items() if is_default(name, estimator)]
    if not validation or not names:
        return {}
    candidates = {
        f"{name} {parameters}": clone(estimators[name]).set_params(**parameters)
        for name in names
        for parameters in GRIDS[name]
    }
    decisions = walk_forward(observations, candidates, config, validation, **effort)
    mean_ic = ic_table(predictions_table(decisions, observations)).mean()
    return {name: _best_candidate(name, mean_ic) for name in names}


def _best_candidate(name: str, mean_ic: pd.Series[float]) -> dict[str, Any]:
    return max(GRIDS[name], key=lambda parameters: mean_ic[f"{name} {parameters}"])
