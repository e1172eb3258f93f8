"""The option ``--dask``: decisions are made by the workers of a cluster of Dask."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from typing import Annotated, Any

import typer

from geodual.errors import DataError
from geodual.extras import import_extra

_ANSWER = 5.0  # seconds until the scheduler answers, and until it has a worker

Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS|local",
        help="Decide on a cluster of Dask: address of its scheduler, such as tcp://host:8786, or local for "
        "--jobs workers on this machine.",
    ),
]


@contextmanager
def use_cluster(address: str | None, jobs: int = -1) -> Iterator[None]:
    """Let decisions be made on a cluster of Dask, while a command does its work.

    Parameters
    ----------
    address : str, optional
        Address of a scheduler, or "local" for a cluster on this machine, which ends with the command. Nothing
        changes without it.
    jobs : int
        Number of workers of a local cluster; −1 for one per core, −2 for one less, and so on.
    """
    if address is None:
        yield
        return
    _check(address, jobs)
    import_extra("distributed", "dask", "`--dask` needs Dask")
    joblib, cluster = import_module("joblib"), import_module("geodual.cluster")
    with ExitStack() as stack:
        place = address
        if address == "local":
            place = stack.enter_context(cluster.local_cluster(joblib.effective_n_jobs(jobs)))
        stack.enter_context(_connect(place))
        stack.enter_context(joblib.parallel_config("dask"))
        yield


def _check(address: str, jobs: int) -> None:
    if not address.strip():
        raise DataError(
            "`--dask` is empty; give the address of a scheduler, such as tcp://host:8786, or local."
        )
    if jobs == 0:
        raise DataError("`--jobs` must not be 0; use 1 for one worker, or -1 for one per core.")


@contextmanager
def _connect(place: Any) -> Iterator[None]:
    """Make a cluster the active one; raise in one line if it does not answer or has no workers."""
    distributed = import_module("distributed")
    # Their logs would say the same in many lines, and what became of waiting that was given up.
    for name in ("asyncio", "distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(place, timeout=_ANSWER)
    except Exception as error:  # what answers there may be anything
        reason = " ".join(str(error).split()).rstrip(".")
        raise DataError(
            f"`--dask`: no scheduler of Dask answers at {place} ({reason}). Start one with `dask scheduler`, "
            "and give its address, such as tcp://localhost:8786; or give local."
        ) from None
    try:
        try:
            client.wait_for_workers(1, timeout=_ANSWER)
        except TimeoutError:
            raise DataError(
                f"`--dask`: the scheduler at {place} has no workers. Start some with `dask worker {place}`."
            ) from None
        yield
    finally:
        with suppress(TimeoutError):  # a scheduler that does not answer does not say goodbye either
            client.close(timeout=_ANSWER)
