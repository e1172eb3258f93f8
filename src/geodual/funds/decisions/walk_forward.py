"""The walk forward: at each rebalance day, decide with what is known on that day, metric by metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from typing import Any

import joblib
import pandas as pd

from geodual.errors import DataError

from ..config import StudyConfig
from .checkpoints import Checkpoints
from .cross_section import MIN_HISTORY
from .decision import Decision, decide
from .observations import Observations

Progress = Callable[[int, int, str], object]
"""Called with what is done, what there is to do, and a word on what was done last."""

_FEWEST = 10  # funds to learn from


def decision_rows(
    observations: Observations, config: StudyConfig, *, include_last: bool = False
) -> list[int]:
    """Return the positions of the rebalance days on which a decision can be made.

    The last row of the data counts with `include_last` only: nothing can be earned after it.
    """
    last_row = observations.panel.nav.index[-1]
    enough = _enough(config)
    rows = [
        t
        for t in range(1, len(observations.days))
        if (include_last or observations.days[t] < last_row)
        and len(observations.sections[t].funds) >= enough
        and observations.seen(t).sum() >= enough
    ]
    if not rows:
        raise DataError(
            f"{observations.panel.source}: no decision can be made; it takes {enough} funds with "
            f"{MIN_HISTORY} values before a {config.frequency} rebalance day, and two such days more."
        )
    return rows


def _enough(config: StudyConfig) -> int:
    return max(_FEWEST, config.k + 1)


def skipped_days(observations: Observations, config: StudyConfig, rows: list[int]) -> dict[pd.Timestamp, str]:
    """Return the rebalance days that come late enough for a decision and have none, and why."""
    days, index, skipped = observations.days, observations.panel.nav.index, {}
    for t in range(1, len(days)):
        if t not in rows and index[MIN_HISTORY - 1] <= days[t - 1] and days[t] < index[-1]:
            known, teaching = len(observations.sections[t].funds), int(observations.seen(t).sum())
            few = (known, "choose") if known < _enough(config) else (teaching, "learn")
            skipped[days[t]] = f"{few[0]} funds to {few[1]} from, it takes {_enough(config)}"
    return skipped


def walk_forward(
    observations: Observations,
    estimators: Mapping[str, Any],
    config: StudyConfig,
    rows: Iterable[int],
    *,
    n_jobs: int | None = None,
    checkpoints: Checkpoints | None = None,
    progress: Progress = lambda done, total, last: None,
) -> list[Decision]:
    """Make every decision, in parallel, from those that are finished already on.

    Parameters
    ----------
    observations : Observations
        What is known at each rebalance day.
    estimators : mapping of str to transformer
        The metrics.
    config : StudyConfig
        Settings.
    rows : iterable of int
        Positions of the rebalance days to decide on.
    n_jobs : int, optional
        Worker processes, as for joblib; the decisions do not depend on it.
    checkpoints : Checkpoints, optional
        Where finished decisions are kept.
    progress : callable
        Told about every decision.

    Returns
    -------
    list of Decision
        By day, then by metric.
    """
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise DataError(f"`n_jobs` must be a whole number other than 0, got {n_jobs!r}.")
    tasks = [(t, name) for t in rows for name in estimators]
    made: dict[tuple[int, str], Decision] = {}
    for t, name in tasks:
        found = checkpoints.load(observations.days[t], name) if checkpoints else None
        if found is not None:
            made[t, name] = found
    left = [task for task in tasks if task not in made]
    trainings = {
        t: observations.training(t, config.label, config.train_quarters) for t in {t for t, _ in left}
    }
    decisions = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(
        joblib.delayed(decide)(name, estimators[name], trainings[t], observations.sections[t], config)
        for t, name in left
    )
    for task, decision in zip(left, decisions, strict=True):
        made[task] = decision
        if checkpoints:
            checkpoints.save(decision)
        progress(len(made), len(tasks), f"{decision.day.date()} {decision.metric}")
    return [made[task] for task in tasks]
