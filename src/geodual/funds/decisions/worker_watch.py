"""End worker processes soon after the process that started them is gone."""

from __future__ import annotations

import functools
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from typing import Any

_EVERY = 1.0  # seconds between two looks


def tie_to_parent(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does the same, and ties a worker process that runs it to this process.

    If this process is killed, joblib's workers would stay for minutes, with all their memory. A worker that
    runs the function ends itself within about a second instead: a thread in it looks whether its parent has
    changed, because the operating system gives an orphan another one. (Linux could send a signal, but would
    do so already when the *thread* that started the worker ends.) Only workers of this process are watched.
    On Windows nothing happens, as an orphan keeps the number of its parent there.

    Parameters
    ----------
    function : callable
        What the workers are to run; it must be picklable.

    Returns
    -------
    callable
        Picklable, with the same arguments and result.
    """
    return functools.partial(_run, os.getpid(), function)


def _run(parent: int, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    _watch(parent)
    return function(*arguments, **named)


@functools.cache  # once per process
def _watch(parent: int) -> None:
    if os.getppid() == parent or _was_child(parent):
        threading.Thread(target=_end_with, args=(parent,), name="parent watch", daemon=True).start()


def _was_child(parent: int) -> bool:
    """Tell whether joblib started this worker from `parent`, which may have died before the first task."""
    # Other ways to start a process may put a server between the two, so that its parent is another one.
    by_joblib = type(multiprocessing.current_process()).__name__ == "LokyProcess"
    starter = multiprocessing.parent_process()
    return by_joblib and starter is not None and starter.pid == parent


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_EVERY)
    os._exit(1)  # at once: nobody waits for results, and cleaning up could wait for the parent
