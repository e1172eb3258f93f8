"""Workers end when the process that started them is killed; if one of them is killed, the run says so."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

from geodual.errors import LostWorkersError
from geodual.funds.decisions.walk_forward import tied_workers
from geodual.funds.study.folder_lock import hold_folder

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")

# Two workers start. One or both say that they are at work, and would be so for long.
PROGRAM = """
import joblib
from geodual.funds.decisions.walk_forward import tied_workers
from tests.funds.test_worker_watch import report_and_sleep
joblib.Parallel(n_jobs=2, **tied_workers())(joblib.delayed(report_and_sleep)(120) for _ in range({tasks}))
"""
ROOT = Path(__file__).parent.parent.parent


def report_and_sleep(seconds: float) -> None:
    sys.stdout.write("working\n")
    sys.stdout.flush()
    time.sleep(seconds)


def kill_when(words: str, times: int, command: list[str]) -> None:
    """Kill a program once it has printed some words, and wait until none of its workers is left.

    Workers inherit the output of the program, which therefore ends with the last of them.
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen([sys.executable, *command], cwd=ROOT, **pipes) as process:
        try:
            while times:
                line = process.stdout.readline()
                assert line, "it ended early"
                times -= words in line
        finally:
            process.kill()
        process.communicate(timeout=20)


@pytest.mark.parametrize("tasks", [1, 2])
def test_workers_end_with_a_killed_parent(tasks: int):
    kill_when("working", tasks, ["-c", PROGRAM.format(tasks=tasks)])


def test_a_killed_study_leaves_no_worker_and_no_lock(tmp_path):
    short = ("--funds", "30", "--start", "2014-01-02", "--metrics", "euclidean,gmml")
    settings = (*short, "--jobs", "2", "--out", str(tmp_path / "run"))
    kill_when("learning: ", 2, ["-m", "geodual", "demo", *settings])
    with hold_folder(tmp_path / "run"):
        assert list((tmp_path / "run" / ".finished").rglob("*.npz"))


def count_watches(*_: object) -> int:
    return sum(thread.name == "parent watch" for thread in threading.enumerate())


def test_a_worker_is_watched_once_and_its_parent_not_at_all():
    tasks = [joblib.delayed(count_watches)(i) for i in range(4)]
    for _ in range(2):
        assert joblib.Parallel(n_jobs=2, **tied_workers())(tasks) == [1] * 4
    for options in ({"n_jobs": 1}, {"n_jobs": 2, "backend": "threading"}):
        assert joblib.Parallel(**options, **tied_workers())(tasks) == [0] * 4


def kill_own_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_while_calls_are_sent_is_the_same_error(monkeypatch):
    from geodual.funds.decisions.walk_forward import call_here  # here, because workers import this module

    def broken(self, calls):
        raise TerminatedWorkerError("killed")

    monkeypatch.setattr(joblib.Parallel, "__call__", broken)
    with pytest.raises(LostWorkersError, match="A worker process was killed"):
        next(call_here([], 2))


def test_a_killed_worker_is_an_error_that_says_what_to_do():
    from geodual.funds.decisions.walk_forward import call_here  # here, because workers import this module

    told = r"^A worker process was killed, perhaps .* Run again, or with fewer jobs \(`--jobs`, `n_jobs`\)\.$"
    with pytest.raises(LostWorkersError, match=told):
        list(call_here([(kill_own_process, ())] * 2, 2))
