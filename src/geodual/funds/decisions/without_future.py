"""Forecasts of days by processes that have never seen a later value."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import joblib
import numpy as np
import pandas as pd
from joblib.externals.loky import ProcessPoolExecutor
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.errors import DataError, LostWorkersError

from ..panel import Panel
from .walk_forward import KILLED, tied_workers

COLUMNS = ("date", "forecaster", "fund", "forecast")
_RUN = 4  # values in a row: 32 bytes that are in no pickle by chance

Procedure = Callable[[Panel, pd.DatetimeIndex], pd.DataFrame]
"""Returns the forecasts of some days, one per row; columns `date`, `forecaster`, `fund` and `forecast`."""
Result = TypeVar("Result")

# All processes must compute the same bits: sums in the order of one thread, and one order of sets of texts.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_SAME_BITS = dict.fromkeys(_THREADS, "1") | {"PYTHONHASHSEED": "0"}


def forecast_without_future(
    study: SentProcedure, panel: Panel, chains: list[pd.DatetimeIndex], is_trading: NDArray[np.bool_]
) -> Iterator[tuple[pd.Timestamp, dict[str, pd.DataFrame]]]:
    """Yield each day with its forecasts after later rows were removed ("cut") and replaced ("garbage").

    Parameters
    ----------
    study : SentProcedure
        Makes the forecasts.
    panel : Panel
        The whole table.
    chains : list of DatetimeIndex
        The days. Each chain has a process of its own and must be in order: going from the earliest day to the
        latest, a process never knows more than was known on the day.
    is_trading : array of bool, of shape (n_rows,)
        Which rows are trading days. That is known before; the values are not.
    """
    yield from run_fresh(
        [[partial(_two_futures, study, *_split(panel, day, is_trading)) for day in days] for days in chains]
    )


def _split(
    panel: Panel, day: pd.Timestamp, is_trading: NDArray[np.bool_]
) -> tuple[Panel, pd.Index, NDArray[np.bool_]]:
    """Return the table up to a day, the days after it, and which of these are trading days."""
    later = np.asarray(panel.nav.index > day)
    # Without the findings of the panel: they are about the whole table.
    return Panel(panel.nav.loc[:day], panel.source), panel.nav.index[later], is_trading[later]


def _two_futures(
    study: SentProcedure, past: Panel, later: pd.Index, is_trading: NDArray[np.bool_]
) -> tuple[pd.Timestamp, dict[str, pd.DataFrame]]:
    """Return the last day of a table, and its forecasts with no future and with a future of noise."""
    day = past.nav.index[-1]
    futures = {"cut": past, "garbage": _with_noise(past, later, is_trading)}
    try:
        return day, {test: study(panel, pd.DatetimeIndex([day])) for test, panel in futures.items()}
    except DataError:
        raise
    except Exception as error:  # whatever code of the user raises
        raise DataError(
            f"Without the rows after {day.date()}, there is no forecast of that day "
            f"({type(error).__name__}: {error}). It looks ahead, or it has another error: correct it."
        ) from error


def _with_noise(past: Panel, later: pd.Index, is_trading: NDArray[np.bool_]) -> Panel:
    """Append random NAVs with gaps on later trading days, and rows without a value on other days."""
    rng = np.random.default_rng(0)
    shape = len(later), past.nav.shape[1]
    noise = np.exp(rng.normal(scale=2.0, size=shape))
    noise[(rng.random(shape) < 0.1) | ~is_trading[:, None]] = np.nan
    return Panel(pd.concat([past.nav, pd.DataFrame(noise, later, past.nav.columns)]), past.source)


@dataclass(frozen=True)
class SentProcedure:
    """A pickled procedure; every call starts from the state that it had when it was pickled."""

    pickled: bytes

    def __call__(self, panel: Panel, days: pd.DatetimeIndex) -> pd.DataFrame:
        """Return the forecasts of some days, and check that all columns are there."""
        try:
            forecast: Procedure = pickle.loads(self.pickled)
        except (ImportError, AttributeError) as error:
            raise DataError(
                f"What is to be checked cannot be imported in another process ({error}). Put its module "
                "where Python finds it."
            ) from error
        table = forecast(panel, days)
        missing = [name for name in COLUMNS if name not in table]
        if missing:
            raise DataError(
                f"`forecaster` must return the columns {', '.join(COLUMNS)}, got none named {missing[0]!r}."
            )
        return table


def send(forecast: Procedure, panel: Panel) -> SentProcedure:
    """Return a procedure to send; raise if it cannot be pickled, or holds the last values of the panel."""
    try:
        # joblib's wrapper lets lambdas and closures be pickled.
        pickled = pickle.dumps(joblib.wrap_non_picklable_objects(forecast, keep_wrapper=False))
    except Exception as error:  # whatever an object of the user raises
        raise DataError(
            f"What is to be checked cannot be sent to another process ({error}). Remove locks, connections "
            "and open files from it."
        ) from error
    if any(values.tobytes() in pickled for values in _last_values(panel.nav.to_numpy(float))):
        raise DataError(
            "What is to be checked holds later values of the table itself, so removing them from its input "
            "proves nothing. Let it use only its arguments, and give objects that have seen no table yet."
        )
    return SentProcedure(pickled)


def _last_values(nav: Array) -> Iterator[Array]:
    """Yield the last values of each fund, and those of the last row; no decision knows them."""
    last = nav[-_RUN:]
    for values in (*last.T, *(last[-1, at : at + _RUN] for at in range(0, nav.shape[1], _RUN))):
        if len(np.unique(values[np.isfinite(values)])) == _RUN:
            yield values


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
