"""Work on a Dask cluster: start one on this machine, keep data on its workers, gather small results.

Dask is optional. It is imported only when a cluster is started or a dask array is passed.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import contextmanager
from functools import reduce
from operator import add
from typing import Any
from uuid import uuid4

import numpy as np

from .errors import LostWorkersError
from .extras import import_extra
from .threads import one_thread

Call = tuple[Callable[..., Any], Sequence[Any]]  # a function and its arguments
PATIENCE = 30.0  # seconds without an answer, a worker or a running task before giving up
NOT_FINITE = "`X` contains NaN or infinity; remove such samples, or impute the values."
POLL = 1.0  # seconds between checks of the workers
_GROUP = 32  # if there are more than twice as many results, the workers first sum them in groups of this size
# Keep freed memory in the process. By default, Dask makes workers return it at once and allocate it again for
# every tile: a pass takes a third longer, and one for percentiles twice as long. Both settings are needed:
# with the first alone, large arrays are still mapped separately, and that memory is returned.
_MALLOC = {"MALLOC_TRIM_THRESHOLD_": 2**30, "MALLOC_MMAP_THRESHOLD_": 2**25}


def is_dask(X: Any) -> bool:
    """Return whether an object is a Dask collection, such as a dask array, without importing Dask."""
    # Objects that can hold dask arrays or other arrays, such as those of xarray, have no graph for the
    # others.
    return hasattr(X, "__dask_graph__") and X.__dask_graph__() is not None


def check_dask_array(X: Any) -> None:
    """Raise an error unless a Dask collection is a dense 2-D array of real numbers with known block sizes."""
    if not isinstance(X, _dask("dask.array").Array):
        raise ValueError(
            f"`X` must be a dask array, got {type(X).__name__}; a table has `to_dask_array(lengths=True)`."
        )
    if X.ndim != 2:
        raise ValueError(f"`X` must have shape (n_samples, n_features), got {X.ndim} axes.")
    if any(math.isnan(length) for length in X.shape):
        raise ValueError("`X` has blocks of unknown size; call `X.compute_chunk_sizes()` first.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"`X` must hold real numbers, got dtype {X.dtype}.")
    if hasattr(X._meta, "toarray"):
        raise ValueError("`X` has sparse blocks; call `X.map_blocks(lambda block: block.toarray())` first.")


def map_rows(function: Callable[..., Any], X: Any, L: Any) -> Any:
    """Return the dask array ``function(X, L)``, computed lazily, block by block.

    Parameters
    ----------
    function : callable
        Maps rows of X, together with L, to rows of ``len(L)`` numbers.
    X : dask array of shape (n_samples, n_features)
        Samples. Values that are not finite raise an error when the block is computed.
    L : array of shape (n_columns, n_features)
        The second argument.
    """
    X = X.rechunk({1: -1})
    return X.map_blocks(_finite_rows, function, L, dtype=float, chunks=(X.chunks[0], (len(L),)))


def _finite_rows(X: Any, function: Callable[..., Any], L: Any) -> Any:
    X = np.asarray(X, dtype=float)
    if not np.isfinite(X).all():
        raise ValueError(NOT_FINITE)
    return function(X, L)


def local_cluster(n_workers: int | None = None) -> Any:
    """Start a Dask cluster on this machine, with one thread per worker process.

    The workers keep freed memory, which makes passes over pairs faster than with Dask's defaults.

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
    """Return ``function(*values)`` as a task that has not started; the values may be tasks.

    Numerical libraries use one thread in it, so that results have the same bits on every worker.
    """
    # Dask's dashboard shows the name of the function.
    name = f"{function.__name__.strip('_')}-{uuid4().hex}"
    return _dask("dask").delayed(_with_one_thread)(function, *values, dask_key_name=name)


def _with_one_thread(function: Callable[..., Any], *values: Any) -> Any:
    with one_thread():
        return function(*values)


def persisted(tasks: Sequence[Any]) -> list[Any]:
    """Start tasks and keep their results on the workers, or in memory if there is no cluster.

    If a worker dies, its results are computed again from the task graph.
    """
    client = _active_client()
    if client is None:
        return list(_dask("dask").persist(*tasks))
    with _clear_failures(client):
        return list(client.persist(list(tasks)))


def gathered(tasks: Sequence[Any]) -> list[Any]:
    """Return the results of tasks, in order; raise an error if the cluster cannot finish them.

    Tasks run on Dask's active client, or in threads of this process if there is none.
    """
    client = _active_client()
    if client is None:
        return list(_dask("dask").compute(*tasks))
    with _clear_failures(client):
        return _results(client, client.compute(list(tasks)))


def call_in_order(client: Any, calls: Iterable[Call]) -> Generator[Any]:
    """Run calls on a cluster and yield their results, in order.

    If a worker dies, another one repeats its calls.

    Parameters
    ----------
    client : distributed.Client
        The connection to the cluster.
    calls : iterable of (function, arguments)
        Each argument is sent to the scheduler once, even if several calls share it.
    """
    sent: dict[int, Any] = {}
    with _clear_failures(client):
        futures = deque(
            client.submit(function, *(_sent(client, value, sent) for value in values), pure=False)
            for function, values in calls
        )
        sent.clear()  # workers drop what no call needs any more
        while futures:
            yield _results(client, [futures.popleft()])[0]


def _sent(client: Any, value: Any, sent: dict[int, Any]) -> Any:
    """Return a task that holds a value; if its worker dies, the scheduler sends the value to another."""
    if id(value) not in sent:
        # Keep the value along with its task: the id of a deleted object can be reused.
        sent[id(value)] = value, client.submit(_itself, value, pure=False)
    return sent[id(value)][1]


def _itself(value: Any) -> Any:
    return value


def summed(tasks: Sequence[Any], group: int = _GROUP) -> tuple[Any, ...]:
    """Return the sum of the results of tasks, tuples of numbers and arrays.

    They are added in a fixed order, so the bits do not depend on the workers. If there are many, the workers
    first sum them in groups, so that this machine holds at most two groups' worth of them at a time.
    """
    while len(tasks) > 2 * group:
        groups = [list(tasks[start : start + group]) for start in range(0, len(tasks), group)]
        tasks = [on_worker(_added, few) for few in groups]
    return _added(gathered(tasks))


def _added(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(reduce(add, terms) for terms in zip(*parts, strict=True))


@contextmanager
def _clear_failures(client: Any) -> Iterator[None]:
    """Raise a one-line error if the scheduler, or work that cannot be repeated, is lost."""
    address = client.scheduler.address
    # Silence the warning about a large graph: scattered data, as it advises, would be lost with a worker.
    quiet = _dask("dask").config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"})
    try:
        with quiet:
            yield
    except _failures() as error:
        name = type(error).__name__
        if client.status != "running" or isinstance(error, _dask("distributed.comm").CommClosedError):
            raise LostWorkersError(
                f"The scheduler at {address} was lost ({name}). Start it again with its workers, and run "
                "again."
            ) from error
        raise LostWorkersError(
            f"The cluster lost work that it could not repeat ({name}: {error}). Look at the logs of its "
            "workers, give them more memory if they ran out of it, and run again."
        ) from error


def _results(client: Any, futures: list[Any]) -> list[Any]:
    """Return the results of futures; raise an error if the cluster makes no progress for some time."""
    gathering = client.gather(futures, asynchronous=True)
    answer = asyncio.run_coroutine_threadsafe(gathering, client.loop.asyncio_loop)
    last_sign = time.monotonic()
    try:
        while not wait([answer], timeout=POLL).done:
            hindrance = _hindrance(client)
            if not hindrance:
                last_sign = time.monotonic()
            elif time.monotonic() - last_sign > PATIENCE:
                raise LostWorkersError(
                    f"The cluster at {client.scheduler.address} has made no progress for {PATIENCE:.0f} s: "
                    f"{hindrance}, and run again."
                )
        return list(answer.result())
    finally:
        answer.cancel()


def _hindrance(client: Any) -> str:
    """Return why no worker has a task, and what to do; an empty text if a worker has one."""
    try:
        # A dictionary from each worker to its assigned tasks.
        given = client.sync(client.scheduler.processing, workers=None, callback_timeout=POLL)
    except (TimeoutError, OSError):
        return "its scheduler does not answer. Start it again with its workers"
    if not given:
        return "it has no workers. Start some"
    return "" if any(given.values()) else "its workers take no tasks. Look at their logs and memory"


def _active_client() -> Any:
    """Return Dask's active client; None if there is none, or if the user set another scheduler."""
    if _dask("dask").config.get("scheduler", None) not in (None, "dask.distributed"):
        return None
    try:
        return _dask("distributed").get_client()
    except ValueError:
        return None


def _failures() -> tuple[type[BaseException], ...]:
    """Return the exceptions that Dask raises if workers or the scheduler are lost."""
    distributed, client = _dask("distributed"), _dask("distributed.client")
    lost_scheduler = _dask("distributed.comm").CommClosedError, client.ClosedClientError
    return distributed.CancelledError, distributed.KilledWorker, *lost_scheduler


def _dask(name: str) -> Any:
    return import_extra(name, "dask", "A cluster and dask arrays need Dask")
