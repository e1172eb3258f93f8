"""Fits on a cluster of one and of two processes on this machine: time, tasks, overhead."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from distributed import Client

from geodual.cluster import local_cluster, on_worker, summed
from geodual.metric import RPDML

from ..samples import classes
from .fits import GAP
from .rows import Row, cores_in_use, trust

_FEW, _MANY = 4, 60  # empty tasks of a pass, to separate overhead per pass from overhead per task
_TURNS = 3
_KINDS = ("losses", "products", "moment", "bin_counts", "collect")  # tasks of passes, by function


class ClusterFit(NamedTuple):
    """A fit on a cluster.

    Attributes
    ----------
    n_samples : int
        Size.
    seconds : float
        Wall-clock time.
    executed : int
        Number of tasks executed by the workers.
    tasks : dict
        Number of the tasks of passes, by function.
    W : array of shape (n_features, n_features)
        The metric.
    """

    n_samples: int
    seconds: float
    executed: int
    tasks: dict[str, int]
    W: Any


def fit_on_workers(
    n_workers: int, sizes: Sequence[int], n_features: int, C: float = 100.0
) -> list[ClusterFit]:
    """Start a cluster on this machine, and fit RPDML to all pairs of increasing numbers of samples on it."""
    fits = []
    with local_cluster(n_workers) as cluster, Client(cluster) as client:
        X, y = classes(1_000, n_features)
        RPDML(pairs="all", tol=0.1).fit(da.from_array(X, chunks=(500, -1)), y)  # imports all that a fit needs
        for n in sizes:
            X, y = classes(n, n_features)
            lazy = da.from_array(X, chunks=(5_000, -1))
            before, counts = _tasks_done(client), _task_counts(cluster)
            started = time.perf_counter()
            W = RPDML(C=C, pairs="all", tol=GAP).fit(lazy, y).W_
            seconds = time.perf_counter() - started
            after, later = _tasks_done(client), _task_counts(cluster)
            tasks = {kind: later[kind] - counts[kind] for kind in _KINDS}
            fits.append(ClusterFit(n, seconds, after - before, tasks, W))
    return fits


def measure_overhead(n_workers: int = 2, n_features: int = 70) -> tuple[float, float]:
    """Return the seconds of a pass with empty tasks, and of each task."""
    with local_cluster(n_workers) as cluster, Client(cluster):
        seconds = {}
        for count in (_FEW, _MANY):
            times = []
            for _ in range(_TURNS):
                started = time.perf_counter()
                summed([on_worker(_nothing, k, n_features) for k in range(count)])
                times.append(time.perf_counter() - started)
            seconds[count] = min(times)
    per_task = max((seconds[_MANY] - seconds[_FEW]) / (_MANY - _FEW), 0.0)
    return max(seconds[_FEW] - _FEW * per_task, 0.0), per_task


def cluster_rows(
    sizes: Sequence[int] = (5_000, 10_000, 20_000),
    n_features: int = 70,
    report: Callable[[str], object] = print,
) -> list[Row]:
    """Fit on one worker, on two workers, and locally."""
    note = trust([cores_in_use()])
    fits = {n: fit_on_workers(n, sizes, n_features) for n in (1, 2)}
    per_pass, per_task = measure_overhead(2, n_features)
    rows = [
        Row("overhead per pass", "", 1e3 * per_pass, "ms", note=note),
        Row("overhead per task", "", 1e3 * per_task, "ms", note=note),
    ]
    for one, two in zip(fits[1], fits[2], strict=True):
        size = f"{one.n_samples:,} × {n_features}"
        X, y = classes(one.n_samples, n_features)
        here = RPDML(C=100.0, pairs="all", tol=GAP).fit(X, y).W_
        bar = 1.4 if one.n_samples == 20_000 else None
        counts = ", ".join(f"{count} {kind}" for kind, count in two.tasks.items() if count)
        rows += [
            Row("one worker ÷ two workers", size, one.seconds / two.seconds, at_least=bar, note=note),
            Row("two workers: fit", size, two.seconds, "s", note=note),
            Row("two workers: tasks done there", size, two.executed, at_least=1, note=counts),
            Row("W against the fit here", size, _difference(two.W, here), at_most=1e-10),
            Row(
                "W of two workers against one",
                size,
                _difference(two.W, one.W),
                at_most=0.0,
                note="the same bits",
            ),
        ]
        report("  " + "; ".join(" ".join(row.cells()[:3]) for row in rows[-5:]))
    return rows


def _nothing(k: int, n_features: int) -> tuple[Any]:
    return (np.full((n_features, n_features), float(k)),)


def _difference(A: Any, B: Any) -> float:
    return float(np.abs(A - B).max() / np.abs(B).max())


def _tasks_done(client: Client) -> int:
    """Return the number of tasks executed by all workers."""
    return sum(client.run(lambda dask_worker: dask_worker.state.executed_count).values())


def _task_counts(cluster: Any) -> dict[str, int]:
    """Return the number of tasks executed so far, by function."""
    prefixes = cluster.scheduler.task_prefixes
    return {kind: prefixes[kind].state_counts["memory"] if kind in prefixes else 0 for kind in _KINDS}
