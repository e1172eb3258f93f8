"""The walk forward: at each rebalance day, every forecaster decides with what is known on that day."""

from __future__ import annotations

import functools
import hashlib
import json
import multiprocessing
import os
import shutil
import threading
import time
import warnings
from collections.abc import Generator, Hashable, Iterable, Iterator, Mapping
from contextlib import closing, nullcontext, suppress
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from joblib.externals.loky.process_executor import TerminatedWorkerError

from geodual.atomic_file import write_atomically
from geodual.bounded_reading import parse_nested, read_arrays
from geodual.cluster import Call, call_in_order
from geodual.errors import DataError, LostWorkersError

from ..forecasters.forecast import Forecaster, Today, window_of
from ..forecasters.learning import share_learning
from ..forecasters.neighbors import NeighborForecaster
from ..run import CHECKPOINTS, ProgressCallback, ignore_progress
from .decision import Decision, decide
from .observations import Interval, Observations, join_intervals

_SHARED = 100_000  # bytes from which worker processes share an array in memory; smaller ones are copied
# A decision catches its warnings, which Python can do in one thread of a process only.
_ONE_AT_A_TIME = threading.Lock()
_ARRAYS = ("forecast", "nearest", "distances", "linear_map", "parts", "part_names")
_TEXTS = ("label", "unit", "seconds", "notes")
KILLED = (
    "A worker process was killed, perhaps because memory ran out. Run again, or with fewer jobs (`--jobs`, "
    "`n_jobs`)."
)
_EVERY = 1.0  # seconds between two looks


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

    Forecasters with equal lessons, such as neighbors in one metric with several `k`, decide on a day in one
    process, so that the metric is learned once.

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
    left = _join_lessons([task for task in tasks if task not in made], forecasters)
    client = getattr(joblib.parallel.get_active_backend()[0], "client", None)  # if joblib is set to Dask
    alone = client is None and joblib.effective_n_jobs(n_jobs) == 1
    calls = _calls(observations, forecasters, left, alone)
    # Decisions come one by one, so that each is saved before the next ones are finished.
    results = call_here(calls, n_jobs) if client is None else call_in_order(client, calls)
    try:
        with closing(results):
            for (t, names), decisions in zip(left, results, strict=True):
                for name, decision in zip(names, decisions, strict=True):
                    made[t, name] = decision
                    if checkpoints:
                        checkpoints.save(decision)
                    progress(len(made), len(tasks), f"{decision.day.date()} {decision.forecaster}")
    except LostWorkersError as error:
        if checkpoints is None:
            raise
        raise LostWorkersError(f"{error} Finished decisions are kept.") from error
    return [made[task] for task in tasks]


def check_jobs(n_jobs: int | None) -> int | None:
    """Return a number of worker processes as for joblib; raise if it is not one."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise DataError(
            f"`n_jobs` must be a whole number other than 0, got {n_jobs!r}; use 1 for one process, or -1 for "
            "all cores."
        )
    return n_jobs


def _join_lessons(
    tasks: Iterable[tuple[int, str]], forecasters: Mapping[str, Forecaster]
) -> list[tuple[int, tuple[str, ...]]]:
    """Return the days and the names of those that decide together, as they learn the same."""
    lessons: dict[str, Hashable] = {
        name: each.lesson if isinstance(each, NeighborForecaster) else name
        for name, each in forecasters.items()
    }
    joined: dict[tuple[int, Hashable], tuple[str, ...]] = {}
    for t, name in tasks:
        joined[t, lessons[name]] = (*joined.get((t, lessons[name]), ()), name)
    return [(t, names) for (t, _), names in joined.items()]


def _calls(
    observations: Observations,
    forecasters: Mapping[str, Forecaster],
    tasks: Iterable[tuple[int, tuple[str, ...]]],
    alone: bool,
) -> Iterator[Call]:
    """Yield what workers are asked, one call per day and group of forecasters."""
    today = functools.lru_cache(maxsize=1)(observations.today)  # made once for all forecasters
    groups: dict[tuple[str, ...], list[Forecaster]] = {}  # the same objects in all calls, to be sent once
    for t, names in tasks:
        group = groups.setdefault(names, [forecasters[name] for name in names])
        intervals = observations.intervals(t, window_of(group[0]))
        yield partial(_decide, alone, names), (group, today(t), *intervals)


def _decide(
    alone: bool, names: tuple[str, ...], forecasters: list[Forecaster], today: Today, *intervals: Interval
) -> list[Decision]:
    """Decide on a day; intervals are arguments of their own, so that each of them is sent once."""
    # Where decisions run side by side, a decision does not start workers of its own.
    side_by_side = nullcontext() if alone else joblib.parallel_config("sequential")
    share = share_learning() if len(names) > 1 else nullcontext()
    with _ONE_AT_A_TIME, side_by_side, share:
        known = join_intervals(intervals)
        return [decide(name, each, known, today) for name, each in zip(names, forecasters, strict=True)]


def call_here(calls: Iterable[Call], n_jobs: int | None) -> Generator[Any]:
    """Yield the results of calls in their order, from processes of this machine."""
    workers = {"n_jobs": n_jobs, "max_nbytes": _SHARED, **tied_workers()}  # none outlives a killed run
    delayed = (joblib.delayed(function)(*values) for function, values in calls)
    try:  # a worker may be killed while the first calls are sent, or later
        results = joblib.Parallel(return_as="generator", **workers)(delayed)
        try:
            yield from results
        finally:
            # If the run is interrupted, cancel what is left, without joblib's warning that it is not used.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results.close()
    except TerminatedWorkerError as error:
        raise LostWorkersError(KILLED) from error


class Checkpoints:
    """A folder of finished decisions for one set of inputs.

    Parameters
    ----------
    folder : Path
        Where to keep the decisions.
    inputs : list of str
        Everything that decisions depend on other than the past. Decisions made from other inputs are never
        loaded.
    pasts : mapping of Timestamp to str, optional
        What each decision also depends on: the digest of all that was known on its day.
    keep : bool
        Whether decisions stay in the folder once the study is saved.
    """

    def __init__(
        self,
        folder: Path,
        inputs: list[str],
        pasts: Mapping[pd.Timestamp, str] | None = None,
        *,
        keep: bool = False,
    ) -> None:
        self._key = hashlib.sha256("\0".join(inputs).encode()).hexdigest()
        self._root, self._folder = folder, folder / self._key[:16]
        self._pasts, self._keep = pasts or {}, keep

    def load(self, day: pd.Timestamp, forecaster: str) -> Decision | None:
        """Return a finished decision, or None if there is none, or its file was damaged or changed."""
        try:
            stored = read_arrays(self._path(day, forecaster).read_bytes())
            content = {name: stored[name] for name in (*_ARRAYS, "funds", "text")}
            if str(stored["seal"]) != self._seal(day, forecaster, content):
                return None
            text = parse_nested(json.loads, str(content.pop("text")))
        except Exception:  # a damaged file raises whatever comes first
            return None
        text["notes"] = tuple(text["notes"])
        funds = pd.Index(content.pop("funds").tolist(), name="fund", dtype=str)
        return Decision(day=day, forecaster=forecaster, funds=funds, **content, **text)

    def save(self, decision: Decision) -> None:
        """Save a decision."""
        text = {name: getattr(decision, name) for name in _TEXTS}
        content: dict[str, Any] = {name: getattr(decision, name) for name in _ARRAYS}
        content["funds"], content["text"] = decision.funds.to_numpy(str), np.array(json.dumps(text))
        content["seal"] = np.array(self._seal(decision.day, decision.forecaster, content))
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(decision.day, decision.forecaster)
        with suppress(FileNotFoundError):  # another study just finished and cleared the folder
            write_atomically(path, lambda temporary: np.savez(temporary, **content))

    def clear(self) -> None:
        """Remove the decisions made from these inputs, once the study is saved.

        A folder called `.finished` is removed as a whole: it holds nothing but checkpoints, and the remaining
        ones come from interrupted runs with other settings. Where decisions are kept, only those made from
        other inputs are removed.
        """
        if self._keep:
            for other in set(self._root.glob("*/")) - {self._folder}:
                shutil.rmtree(other, ignore_errors=True)
            return
        shutil.rmtree(self._root if self._root.name == CHECKPOINTS else self._folder, ignore_errors=True)
        with suppress(OSError):  # not empty: it holds decisions of other studies
            self._root.rmdir()

    def _seal(self, day: pd.Timestamp, forecaster: str, content: dict[str, Any]) -> str:
        """Return the SHA-256 of a decision: a file that was edited, or moved to another name, has another."""
        past = self._pasts.get(day, "")
        hasher = hashlib.sha256(f"{self._key} {past} {day.date()} {forecaster}".encode())
        for name, array in sorted(content.items()):
            hasher.update(f"{name} {array.dtype.str} {array.shape}".encode())
            hasher.update(np.ascontiguousarray(array).tobytes())
        return hasher.hexdigest()

    def _path(self, day: pd.Timestamp, forecaster: str) -> Path:
        name = hashlib.sha256(forecaster.encode()).hexdigest()[
            :16
        ]  # a forecaster may have any text as its name
        return self._folder / f"{day.date()}-{name}.npz"


def digest_pasts(observations: Observations) -> dict[pd.Timestamp, str]:
    """Return the SHA-256 of all values up to each rebalance day: a longer table has those of a shorter one.

    Parameters
    ----------
    observations : Observations
        What is known at each rebalance day.
    """
    nav, hasher, digests, start = observations.panel.nav, hashlib.sha256(), {}, 0
    values, days = nav.to_numpy(float), nav.index.to_numpy("datetime64[ns]")
    names = np.array([hashlib.sha256(fund.encode()).digest()[:8] for fund in nav.columns], dtype="S8")
    for day, row in zip(observations.days, nav.index.get_indexer(observations.days), strict=True):
        part = slice(start, row + 1)
        known = ~np.isnan(values[part])  # a fund that begins later is not in the past
        for content in (days[part], known.sum(axis=1), names[known.nonzero()[1]], values[part][known]):
            hasher.update(content.tobytes())
        digests[day], start = hasher.hexdigest(), int(row) + 1
    return digests


def tied_workers() -> dict[str, Any]:
    """Return options of `joblib.Parallel` that tie its worker processes to this process.

    If this process is killed, joblib's workers would stay for minutes, with all their memory. Tied workers
    end themselves within about a second instead, also those that wait for their first task: a thread in each
    looks whether its parent has changed, because the operating system gives an orphan another one. (Linux
    could send a signal, but would do so already when the *thread* that started the worker ends.) Threads and
    the workers of a cluster are not affected. On Windows nothing happens, as an orphan keeps the number of
    its parent there.
    """
    return {"initializer": _watch, "initargs": (os.getpid(),)}


@functools.cache  # once per process
def _watch(parent: int) -> None:
    if os.getppid() == parent or _was_child(parent):
        threading.Thread(target=_end_with, args=(parent,), name="parent watch", daemon=True).start()


def _was_child(parent: int) -> bool:
    """Return whether joblib started this worker from `parent`, which may have died before the first look."""
    # Other ways to start a process may put a server between the two, so that its parent is another one.
    by_joblib = type(multiprocessing.current_process()).__name__ == "LokyProcess"
    starter = multiprocessing.parent_process()
    return by_joblib and starter is not None and starter.pid == parent


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_EVERY)
    os._exit(1)  # at once: nobody waits for results, and cleaning up could wait for the parent
