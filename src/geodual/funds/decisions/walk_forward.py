"""The walk forward: at each rebalance day, every forecaster decides with what is known on that day."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from numbers import Integral
from typing import Any

import joblib
from joblib.externals.loky.process_executor import TerminatedWorkerError

from geodual.cluster import Call, call_in_order
from geodual.errors import DataError, LostWorkersError

from ..forecasters.forecast import Forecaster, Today, window_of
from ..run import ProgressCallback, ignore_progress
from .checkpoints import Checkpoints
from .decision import Decision, decide
from .interval import Interval, join_intervals
from .observations import Observations
from .worker_watch import KILLED, tied_workers

_SHARED = 100_000  # bytes from which worker processes share an array in memory; smaller ones are copied
# A decision catches its warnings, which Python can do in one thread of a process only.
_ONE_AT_A_TIME = threading.Lock()


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
        Number of worker processes, as for joblib; the decisions do not depend on it. If joblib is set to
        Dask, the workers of the cluster decide instead.
    checkpoints : Checkpoints, optional
        Where finished decisions are loaded from and saved to.
    progress : callable
        Called after every new decision.

    Returns
    -------
    list of Decision
        By day, then by forecaster.
    """
    n_jobs = check_jobs(n_jobs)
    tasks = [(t, name) for t in rows for name in forecasters]
    made: dict[tuple[int, str], Decision] = {}
    for t, name in tasks:
        found = checkpoints.load(observations.days[t], name) if checkpoints else None
        if found is not None:
            made[t, name] = found
    left = [task for task in tasks if task not in made]
    client = getattr(joblib.parallel.get_active_backend()[0], "client", None)  # if joblib is set to Dask
    alone, today = client is None and joblib.effective_n_jobs(n_jobs) == 1, _Today(observations)
    calls = (
        (
            partial(_decide, alone, name),
            (forecasters[name], today(t), *observations.intervals(t, window_of(forecasters[name]))),
        )
        for t, name in left
    )
    # Decisions come one by one, so that each is saved before the next ones are finished.
    decisions = _call_here(calls, n_jobs) if client is None else call_in_order(client, calls)
    with _say_what_is_kept(checkpoints), closing(decisions):
        for task, decision in zip(left, decisions, strict=True):
            made[task] = decision
            if checkpoints:
                checkpoints.save(decision)
            progress(len(made), len(tasks), f"{decision.day.date()} {decision.forecaster}")
    return [made[task] for task in tasks]


def check_jobs(n_jobs: int | None) -> int | None:
    """Return a number of worker processes as for joblib; raise if it is not one."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise DataError(
            f"`n_jobs` must be a whole number other than 0, got {n_jobs!r}; use 1 for one process, or -1 for "
            "all cores."
        )
    return n_jobs


def _decide(alone: bool, name: str, forecaster: Forecaster, today: Today, *intervals: Interval) -> Decision:
    """Decide on a day; intervals are arguments of their own, so that each of them is sent once."""
    # Where decisions run side by side, a decision does not start workers of its own.
    with _ONE_AT_A_TIME, nullcontext() if alone else joblib.parallel_config("sequential"):
        return decide(name, forecaster, join_intervals(intervals), today)


def _call_here(calls: Iterable[Call], n_jobs: int | None) -> Generator[Any]:
    """Yield the results of calls in their order, from processes of this machine."""
    workers = {"n_jobs": n_jobs, "max_nbytes": _SHARED, **tied_workers()}  # none outlives a killed run
    delayed = (joblib.delayed(function)(*values) for function, values in calls)
    try:  # a worker may be killed while the first calls are sent, or later
        results = joblib.Parallel(return_as="generator", **workers)(delayed)
        with _cancelling(results):
            yield from results
    except TerminatedWorkerError as error:
        raise LostWorkersError(KILLED) from error


@contextmanager
def _cancelling(results: Generator[Any]) -> Iterator[None]:
    """Cancel the work that is left if a run is interrupted, without joblib's warning that it is not used."""
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.close()


@contextmanager
def _say_what_is_kept(checkpoints: Checkpoints | None) -> Iterator[None]:
    try:
        yield
    except LostWorkersError as error:
        if checkpoints is None:
            raise
        raise LostWorkersError(f"{error} Finished decisions are kept.") from error


class _Today:
    """The funds of a day, made once for all forecasters."""

    def __init__(self, observations: Observations) -> None:
        self._observations, self._day = observations, -1

    def __call__(self, t: int) -> Today:
        if t != self._day:
            self._day, self._today = t, self._observations.today(t)
        return self._today
