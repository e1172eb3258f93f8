"""Run cases in a process of their own, so that a crash or a hang is a finding and not the end."""

from __future__ import annotations

import faulthandler
import multiprocessing
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from .judge import Outcome, run_case

_CASES = 1000  # after which a fresh process starts, so that memory cannot fill up


class Worker:
    """A process that runs one case after the other; it is started anew when it dies or hangs.

    Parameters
    ----------
    limit : float
        Seconds that a case may take.
    work : callable, optional
        What the process runs, with its end of the line and the limit; by default `serve`.
    start : str
        How the process starts; by default with nothing of this one.
    """

    def __init__(
        self, limit: float, work: Callable[[Connection, float], None] | None = None, start: str = "spawn"
    ) -> None:
        self._limit, self._work, self._how = limit, work or serve, start
        self._process: Any = None
        self._line: Connection
        self._done = 0

    def run(self, kind: str, number: int) -> Outcome:
        """Run a case and return its outcome."""
        if self._process is None or self._done >= _CASES:
            self.stop()
            self._start()
        self._done += 1
        self._line.send((kind, number))
        try:
            if self._line.poll(self._limit):
                outcome: Outcome = self._line.recv()
                return outcome
            wrong = f"hang: no answer after {self._limit:g} s (its traceback is above)"
        except (EOFError, ConnectionError):
            self._process.join()
            wrong = f"crash: the process died with exit code {self._process.exitcode}"
        self.stop()
        return Outcome(f"{kind} {number}", "finding", wrong)

    def _start(self) -> None:
        context = multiprocessing.get_context(self._how)
        self._line, other = context.Pipe()
        # Not a daemon, which could not start processes as a leakage check does; `stop` ends it.
        self._process = context.Process(target=self._work, args=(other, self._limit))
        self._process.start()
        other.close()
        self._done = 0

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def serve(line: Connection, limit: float) -> None:
    """Run the cases that are asked for, until the other end is gone."""
    from .kinds import KINDS  # here, because the parent process does not need it

    faulthandler.enable()
    while True:
        try:
            kind, number = line.recv()
        except EOFError:
            return
        faulthandler.dump_traceback_later(0.9 * limit, file=sys.stderr)
        outcome = run_case(KINDS[kind], kind, number)
        faulthandler.cancel_dump_traceback_later()
        line.send(outcome)
