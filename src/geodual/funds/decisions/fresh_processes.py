"""Run tasks in processes that have seen no data before, so that nothing remembered can help them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from typing import Any, TypeVar

from joblib.externals.loky import ProcessPoolExecutor

from geodual.errors import DataError, LostWorkersError

from .worker_watch import KILLED, tied_workers

Result = TypeVar("Result")

# All processes must compute the same bits: sums in the order of one thread, and one order of sets of texts.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_SAME_BITS = dict.fromkeys(_THREADS, "1") | {"PYTHONHASHSEED": "0"}


def run_fresh(chains: Sequence[Sequence[Callable[[], Result]]]) -> Iterator[Result]:
    """Run each chain of tasks in a new process of its own, in order; yield the results as they come.

    The workers of `joblib.Parallel` would not do: they outlive a call, and remember what they have seen. The
    processes end with the last result, or when this process does.

    Parameters
    ----------
    chains : sequence of sequences of callables
        Tasks without arguments. They are pickled with cloudpickle, so lambdas and closures are possible.
    """
    if multiprocessing.current_process().daemon:
        raise DataError(
            "A leakage check starts processes, which a daemonic process cannot. Run it in the main process."
        )
    with ExitStack() as stack:
        waiting: list[Future[Result]] = []
        for chain in chains:
            process: Any = ProcessPoolExecutor(1, env=_SAME_BITS, **tied_workers())
            stack.callback(process.shutdown, kill_workers=True)
            waiting += [process.submit(task) for task in chain]
        try:
            for done in as_completed(waiting):
                yield done.result()
        except BrokenProcessPool as error:
            raise LostWorkersError(KILLED) from error
