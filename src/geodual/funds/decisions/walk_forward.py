"""The walk forward: at each rebalance day, every forecaster decides with what is known on that day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral

import joblib

from geodual.errors import DataError

from ..forecasters.forecast import Forecaster, window_of
from ..forecasters.training import Today, Training
from ..progress import ProgressCallback, ignore_progress
from .checkpoints import Checkpoints
from .decision import Decision, decide
from .observations import Observations
from .worker_watch import tie_to_parent


def walk_forward(
    observations: Observations,
    forecasters: Mapping[str, Forecaster],
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
    forecasters : mapping of str to Forecaster
        The forecasters by name.
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
        By day, then by forecaster.
    """
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise DataError(
            f"`n_jobs` must be a whole number other than 0, got {n_jobs!r}; use 1 for one process, or -1 for "
            "all cores."
        )
    tasks = [(t, name) for t in rows for name in forecasters]
    made: dict[tuple[int, str], Decision] = {}
    for t, name in tasks:
        found = checkpoints.load(observations.days[t], name) if checkpoints else None
        if found is not None:
            made[t, name] = found
    left = [task for task in tasks if task not in made]
    decide_one = joblib.delayed(tie_to_parent(decide))  # no worker outlives a killed run
    knowledge = _Knowledge(observations)
    decisions = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
        decide_one(name, forecasters[name], *knowledge.of(t, forecasters[name])) for t, name in left
    )
    # joblib yields decisions one by one, so that each is saved before the next ones are finished.
    for task, decision in zip(left, decisions, strict=True):
        made[task] = decision
        if checkpoints:
            checkpoints.save(decision)
        progress(len(made), len(tasks), f"{decision.day.date()} {decision.metric}")
    return [made[task] for task in tasks]


class _Knowledge:
    """What is known on a day. Training sets of one day are shared; those of earlier days are let go."""

    def __init__(self, observations: Observations) -> None:
        self._observations, self._day = observations, -1
        self._trainings: dict[int | str, Training] = {}

    def of(self, t: int, forecaster: Forecaster) -> tuple[Training, Today]:
        if t != self._day:
            self._day, self._trainings, self._today = t, {}, self._observations.today(t)
        window = window_of(forecaster)
        if window not in self._trainings:
            self._trainings[window] = self._observations.training(t, window)
        return self._trainings[window], self._today
