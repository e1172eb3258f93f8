"""End worker processes soon after the process that started them is gone."""

from __future__ import annotations

import functools
import multiprocessing
import os
import threading
import time
from typing import Any

KILLED = (
    "A worker process was killed, perhaps because memory ran out. Run again, or with fewer jobs (`--jobs`, "
    "`n_jobs`)."
)
_EVERY = 1.0  # seconds between two looks


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
    """Tell whether joblib started this worker from `parent`, which may have died before the first look."""
    # Other ways to start a process may put a server between the two, so that its parent is another one.
    by_joblib = type(multiprocessing.current_process()).__name__ == "LokyProcess"
    starter = multiprocessing.parent_process()
    return by_joblib and starter is not None and starter.pid == parent


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_EVERY)
    os._exit(1)  # at once: nobody waits for results, and cleaning up could wait for the parent
