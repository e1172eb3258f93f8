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
from geodual.metric.pairs.cluster_pairs import ClusterPairs

from .data import classes
from .fits import GAP
from .recorder import PassRecord, recorded_passes
from .rows import Row, cores_in_use, trust

_FEW, _MANY = 4, 60  # empty tasks of a pass, to tell overhead per pass from overhead per task
_TURNS = 3
_KINDS = ("losses", "products", "moment", "bin_counts", "collect")  # tasks of passes, by function


class ClusterFit(NamedTuple):
    """A fit on a cluster.

    Attributes
    ----------
    n_samples, n_workers : int
        Size.
    seconds : float
        Time of the day.
    processor : float
        Processor seconds of all workers.
    executed : int
        Number of tasks that the workers did.
    tasks : dict
        Number and seconds of the tasks of passes, by function.
    passes : list of PassRecord
        The passes over pairs.
    W : array of shape (n_features, n_features)
        The metric.
    """

    n_samples: int
    n_workers: int
    seconds: float
    processor: float
    executed: int
    tasks: dict[str, tuple[int, float]]
    passes: list[PassRecord]
    W: Any


def fit_on_workers(
    n_workers: int, sizes: Sequence[int], n_features: int, C: float = 100.0
) -> list[ClusterFit]:
    """Start a cluster on this machine, and fit RPDML to all pairs of growing numbers of samples on it."""
    fits = []
    with local_cluster(n_workers) as cluster, Client(cluster) as client:
        X, y = classes(1_000, n_features)
        RPDML(pairs="all", tol=0.1).fit(da.from_array(X, chunks=(500, -1)), y)  # imports all that a fit needs
        for n in sizes:
            X, y = classes(n, n_features)
            lazy = da.from_array(X, chunks=(5_000, -1))
            before, counts = _on_workers(client), _task_counts(cluster)
            with recorded_passes(ClusterPairs) as passes:
                started = time.perf_counter()
                W = RPDML(C=C, pairs="all", tol=GAP).fit(lazy, y).W_
                seconds = time.perf_counter() - started
            after, later = _on_workers(client), _task_counts(cluster)
            tasks = {kind: tuple(np.subtract(later[kind], counts[kind]).tolist()) for kind in _KINDS}
            processor, executed = (after - before).tolist()
            fits.append(ClusterFit(n, n_workers, seconds, processor, int(executed), tasks, passes, W))
    return fits


def measure_overhead(n_workers: int = 2, n_features: int = 70) -> tuple[float, float]:
    """Return the seconds of a pass whose tasks do nothing, and of each of its tasks."""
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
) -> tuple[list[Row], list[ClusterFit]]:
    """Fit on one worker and on two, and here; return the rows, and the fits for the simulation."""
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
        counts = ", ".join(f"{count:.0f} {kind}" for kind, (count, _) in two.tasks.items() if count)
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
    return rows, [*fits[1], *fits[2]]


def _nothing(k: int, n_features: int) -> tuple[Any]:
    return (np.full((n_features, n_features), float(k)),)


def _difference(A: Any, B: Any) -> float:
    return float(np.abs(A - B).max() / np.abs(B).max())


def _on_workers(client: Client) -> Any:
    """Return the processor seconds of all workers, and the number of tasks that they did."""
    return np.sum(list(client.run(_count_work).values()), axis=0)


def _count_work(dask_worker: Any) -> tuple[float, int]:
    return time.process_time(), dask_worker.state.executed_count


def _task_counts(cluster: Any) -> dict[str, tuple[int, float]]:
    """Return number and seconds of the tasks done so far, by function."""
    prefixes = cluster.scheduler.task_prefixes
    return {
        kind: (prefixes[kind].state_counts["memory"], prefixes[kind].all_durations["compute"])
        if kind in prefixes
        else (0, 0.0)
        for kind in _KINDS
    }
