"""A cluster of Dask from the command line: processes that tests kill."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

_PATIENCE = 60.0  # seconds until processes are there, on a busy machine, too


class DaskProcesses:
    """A scheduler and workers, each a process of its own, ended on leaving the `with` statement.

    Parameters
    ----------
    folder : Path
        Where the scheduler writes its address.
    n_workers : int
        Number of workers to start with.
    """

    def __init__(self, folder: Path, n_workers: int) -> None:
        self._file, self._folder = folder / "scheduler.json", folder
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0")
        self.workers = [self.add_worker() for _ in range(n_workers)]
        self.address = self._wait_for_address()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def add_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker with one thread; without the process that would start it again."""
        return self._start("worker", "--nthreads", "1", "--no-nanny")

    def wait_for_workers(self) -> None:
        """Wait until all workers are connected."""
        import distributed  # here, because Dask is optional and some users start no cluster

        with distributed.Client(self.address, timeout=_PATIENCE, set_as_default=False) as client:
            client.wait_for_workers(len(self.workers), timeout=_PATIENCE)

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        # Any port for the dashboard, because several clusters may run on this machine.
        options = ("--scheduler-file", str(self._file), "--dashboard-address", "127.0.0.1:0")
        command = [sys.executable, "-m", "dask", *arguments, *options]
        # In a folder of their own: with "-m", Python would import modules from the current one.
        return subprocess.Popen(
            command, cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def _wait_for_address(self) -> str:
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            try:
                return str(json.loads(self._file.read_text("utf-8"))["address"])
            except (OSError, ValueError):  # not there, or half written
                time.sleep(0.1)
        raise TimeoutError("no scheduler")
