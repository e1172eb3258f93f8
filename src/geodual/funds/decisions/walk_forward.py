"""The walk forward: at each rebalance day, every metric decides with what is known on that day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

import joblib

from geodual.errors import DataError

from ..config import StudyConfig
from ..progress import ProgressCallback, ignore_progress
from .checkpoints import Checkpoints
from .decision import Decision, decide
from .observations import Observations
from .worker_watch import tie_to_parent


def walk_forward(
    observations: Observations,
    estimators: Mapping[str, Any],
    config: StudyConfig,
    rows: Iterable[int],
    *,
    n_jobs: int | None = None,
    checkpoints: Checkpoints | None = None,
    progress: ProgressCallback = ignore_progress,
) -> list[Decision]:
    """Make all decisions in parallel, skipping those already checkpointed.

    Parameters
    ----------
    observations : Observations
        What is known at each rebalance day.
    estimators : mapping of str to transformer
        The metrics, by name.
    config : StudyConfig
        The settings of the study.
    rows : iterable of int
        Positions of the rebalance days to decide on.
    n_jobs : int, optional
        Number of worker processes, as for joblib; the decisions do not depend on it.
    checkpoints : Checkpoints, optional
        Where finished decisions are loaded from and saved to.
    progress : callable
        Called after every new decision.

    Returns
    -------
    list of Decision
        By day, then by metric.
    """
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise DataError(
            f"`n_jobs` must be a whole number other than 0, got {n_jobs!r}; use 1 for one process, or -1 for "
            "all cores."
        )
    tasks = [(t, name) for t in rows for name in estimators]
    made: dict[tuple[int, str], Decision] = {}
    for t, name in tasks:
        found = checkpoints.load(observations.days[t], name) if checkpoints else None
        if found is not None:
            made[t, name] = found
    left = [task for task in tasks if task not in made]
    # All metrics share the training set of a day.
    trainings = {
        t: observations.training(t, config.label, config.train_quarters) for t in {t for t, _ in left}
    }
    decide_one = joblib.delayed(tie_to_parent(decide))  # no worker outlives a killed run
    decisions = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
        decide_one(name, estimators[name], trainings[t], observations.sections[t], config) for t, name in left
    )
    # joblib yields decisions one by one, so that each is saved before the next ones are finished.
    for task, decision in zip(left, decisions, strict=True):
        made[task] = decision
        if checkpoints:
            checkpoints.save(decision)
        progress(len(made), len(tasks), f"{decision.day.date()} {decision.metric}")
    return [made[task] for task in tasks]
