"""Work on a cluster of Dask: start one on this machine, keep data on its workers, gather small results.

Dask is optional. It is imported when a cluster is started or a dask array is given, never before.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import reduce
from importlib import import_module
from operator import add
from typing import Any
from uuid import uuid4

from .threads import one_thread

_PATIENCE = 30.0  # seconds without any worker, or without any running task, after which a fit gives up
_POLL = 1.0  # seconds between two looks at the workers
_MANY = 64  # results from which on they are added up on the workers,
_GROUP = 32  # in groups of this size
# Freed memory stays in the process. By default Dask lets workers give it back at once, so that they take it
# again for every tile; a pass then takes a third longer, and one for percentiles twice as long. Both settings
# are needed: with the first alone, large arrays still get memory of their own, which is given back.
_MALLOC = {"MALLOC_TRIM_THRESHOLD_": 2**30, "MALLOC_MMAP_THRESHOLD_": 2**25}


def is_dask(X: Any) -> bool:
    """Tell whether an object is a collection of Dask, such as a dask array, without importing Dask."""
    return hasattr(X, "__dask_graph__")


def check_dask_array(X: Any) -> None:
    """Raise unless a collection of Dask is an array of two axes whose blocks have known sizes."""
    if not isinstance(X, _dask("dask.array").Array):
        raise ValueError(
            f"`X` must be a dask array, got {type(X).__name__}; a table has `to_dask_array(lengths=True)`."
        )
    if X.ndim != 2:
        raise ValueError(f"`X` must have shape (n_samples, n_features), got {X.ndim} axes.")
    if any(math.isnan(length) for length in X.shape):
        raise ValueError("`X` has blocks of unknown size; call `X.compute_chunk_sizes()` first.")


def local_cluster(n_workers: int | None = None) -> Any:
    """Start a cluster of Dask on this machine, with one thread per worker process.

    The workers keep freed memory, which makes passes over pairs faster than with the defaults of Dask.

    Parameters
    ----------
    n_workers : int, optional
        Number of worker processes; by default one per core.

    Returns
    -------
    distributed.LocalCluster
        The cluster. Close it after use, or use it in a `with` statement; ``distributed.Client(cluster)``
        makes it the active one.
    """
    dask, distributed = _dask("dask"), _dask("distributed")
    environ = {f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in _MALLOC.items()}
    with dask.config.set(environ):
        return distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        )


def on_worker(function: Callable[..., Any], *values: Any) -> Any:
    """Return the task ``function(*values)``, which nobody has started; the values may be tasks.

    Numerical libraries use one thread there, so that results have the same bits on any worker.
    """
    # The dashboard of Dask shows the name of the function.
    name = f"{function.__name__.strip('_')}-{uuid4().hex}"
    return _dask("dask").delayed(_with_one_thread)(function, *values, dask_key_name=name)


def _with_one_thread(function: Callable[..., Any], *values: Any) -> Any:
    with one_thread():
        return function(*values)


def persisted(tasks: Sequence[Any]) -> list[Any]:
    """Start tasks and keep their results on the workers, or in memory if there is no cluster.

    If a worker dies, what it had is computed again from the graph of the task.
    """
    client, dask = _active_client(), _dask("dask")
    if client is None:
        return list(dask.persist(*tasks))
    # No warning of a large graph: what it advises, to scatter the data, would lose them with a worker.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"}):
        return list(client.persist(list(tasks)))


def gathered(tasks: Sequence[Any]) -> list[Any]:
    """Return the results of tasks, in their order; raise if the cluster cannot finish them.

    Tasks run on the active client of Dask, or in threads of this process if there is none.
    """
    client = _active_client()
    if client is None:
        return list(_dask("dask").compute(*tasks))
    try:
        futures = client.compute(list(tasks))
        _wait(client, futures)
        return list(client.gather(futures))
    except _failures() as error:
        raise RuntimeError(
            f"The cluster lost work that it could not repeat ({type(error).__name__}: {error}). Look at the "
            "logs of its workers, give them more memory if they ran out of it, and fit again."
        ) from error


def summed(tasks: Sequence[Any]) -> tuple[Any, ...]:
    """Return the sum of the results of tasks, tuples of numbers and arrays.

    They are added in a fixed order, so the bits do not depend on the workers. Many of them are first added up
    in groups on the workers, so that this machine holds few of them at a time.
    """
    while len(tasks) > _MANY:
        groups = [list(tasks[start : start + _GROUP]) for start in range(0, len(tasks), _GROUP)]
        tasks = [on_worker(_added, group) for group in groups]
    return _added(gathered(tasks))


def _added(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(reduce(add, terms) for terms in zip(*parts, strict=True))


def _wait(client: Any, futures: list[Any]) -> None:
    """Wait until all futures are done; raise if for some time no worker is there, or none does anything."""
    distributed = _dask("distributed")
    last_sign = time.monotonic()
    while True:
        try:
            distributed.wait(futures, timeout=_POLL)
            return
        except TimeoutError:
            # A dictionary from each worker to the tasks that it was given.
            if any(client.processing().values()):
                last_sign = time.monotonic()
        if time.monotonic() - last_sign > _PATIENCE:
            workers = "no workers" if not client.nthreads() else "workers, but none of them has a task"
            raise RuntimeError(
                f"The cluster at {client.scheduler.address} has had {workers} for {_PATIENCE:.0f} s, and the "
                "result is not there. Start workers and fit again."
            )


def _active_client() -> Any:
    """Return the active client of Dask; None if there is none, or if the user set another scheduler."""
    if _dask("dask").config.get("scheduler", None) not in (None, "dask.distributed"):
        return None
    try:
        return _dask("distributed").get_client()
    except ValueError:
        return None


def _failures() -> tuple[type[BaseException], ...]:
    """Return what Dask raises if a worker or the scheduler is lost."""
    distributed, comm = _dask("distributed"), _dask("distributed.comm")
    return distributed.CancelledError, distributed.KilledWorker, comm.CommClosedError


def _dask(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError("A cluster and dask arrays need Dask: pip install 'geodual[dask]'.") from error
