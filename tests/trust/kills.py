"""Kill commands and their workers at random moments, and compare with an undisturbed run.

``make kills`` does so 100 times; ``python -m tests.trust.kills --help`` lists the options. Each round kills a
command or one of its workers, one to three times in a row, at random moments of its usual run time. Then the
command runs to its end. The round fails if the command does not succeed, if a file differs from the
undisturbed run or was left over, or if a worker process outlives a killed command. A command that loses a
worker of its own must say so in one line; one that loses a worker of a cluster of Dask must go on.
"""

from __future__ import annotations

import argparse
import atexit
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np

from geodual.funds import synthetic_universe
from tests.dask_processes import DaskProcesses

ROOT = Path(__file__).parent.parent.parent
_MARK = "GEODUAL_KILL_ROUND"  # a variable that workers inherit, so that they can be found
_PATIENCE = 20.0  # seconds that workers may take to notice that their parent is gone
_END = 600.0  # seconds after which a command that lost a worker hangs
_MOST_IN_A_ROW = 3

# What two undisturbed runs do not share: the time of day, the run time, and what came from an earlier run.
_VARYING = re.compile(rb'"(?:seconds|finished|resumed|fetched)": [^,\n]*|Run time</dt><dd>[^<]*')

# The fake site answers as akshare would; `geodual fetch` imports it by that name.
_FAKE_SITE = """
from tests.funds.fake_akshare import make_market
market = make_market(n_funds=40, periods=120)
__version__ = market.__version__
fund_name_em = market.fund_name_em
fund_scale_open_sina = market.fund_scale_open_sina
fund_open_fund_info_em = market.fund_open_fund_info_em
stock_zh_index_hist_csindex = market.stock_zh_index_hist_csindex
"""


@dataclass(frozen=True)
class Command:
    """A command to kill: its arguments, given the folder of the data. It writes to the current folder."""

    name: str
    arguments: Callable[[Path], list[str]]


def _backtest(data: Path) -> list[str]:
    files = [str(data / "nav.csv"), "--index", str(data / "index.csv"), "--out", "run"]
    return ["backtest", *files, "--metrics", "euclidean,gmml", "--top", "3", "--jobs", "2"]


def _select(data: Path) -> list[str]:
    files = [str(data / "nav.csv"), "--csv", "picks.csv", "--html", "picks.html"]
    return ["select", *files, "--metric", "gmml", "--top", "3", "--jobs", "2"]


def _fetch(data: Path) -> list[str]:
    dates = ["--start", "2014-11-03", "--end", "2015-03-31"]
    return ["fetch", "--out", "cn-funds", *dates, "--pause", "0.02"]


def _quiet_backtest(data: Path) -> list[str]:
    return [*_backtest(data), "--quiet"]


COMMANDS = {
    command.name: command
    for command in (
        *(Command("backtest", _backtest), Command("select", _select), Command("fetch", _fetch)),
        *(Command("local worker", _quiet_backtest), Command("Dask worker", _quiet_backtest)),
    )
}


class Killer:
    """Kill one command again and again, and check what is there in the end.

    Parameters
    ----------
    command : Command
        The command.
    folder : Path
        An empty folder for the data and all runs.
    rng : numpy.random.Generator
        Draws the moments.
    """

    _more: tuple[str, ...]  # further arguments

    def __init__(self, command: Command, folder: Path, rng: np.random.Generator) -> None:
        self.command, self.folder, self.kills = command, folder, 0
        self._rng, self._data, self._more = rng, make_data(folder), ()
        started = time.perf_counter()
        self.expected = self._run(self._new_folder())
        self._usual = time.perf_counter() - started

    def round(self, times: int) -> list[float]:
        """Kill the command some times in a row, let it end, and check its files; return the moments."""
        out = self._new_folder()
        moments = [float(self._rng.uniform(0.0, self._usual)) for _ in range(times)]
        killed = [moment for moment in moments if self._kill(out, moment)]
        self.kills += len(killed)
        self._compare(out, self._run(out), killed)
        return killed

    def _compare(self, out: Path, found: dict[str, bytes], killed: list[float]) -> None:
        told = f"{self.command.name}, killed after {', '.join(f'{moment:.2f} s' for moment in killed)}"
        assert sorted(found) == sorted(self.expected), f"{told}: {sorted(set(found) ^ set(self.expected))}"
        differing = [name for name in found if found[name] != self.expected[name]]
        assert not differing, f"{told}: other bytes in {differing}, see {out}"

    def _new_folder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.folder))

    def _start(self, out: Path, mark: str) -> subprocess.Popen[str]:
        path = os.pathsep.join([str(self._data), *filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)])
        return subprocess.Popen(
            [sys.executable, "-m", "geodual", *self.command.arguments(self._data), *self._more],
            cwd=out,  # relative paths, because some files name the folder
            env=os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", _MARK: mark},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _run(self, out: Path) -> dict[str, bytes]:
        with self._start(out, "") as process:
            _, errors = process.communicate()
        assert process.returncode == 0, f"{self.command.name} failed: {errors}"
        return read_files(out)

    def _kill(self, out: Path, moment: float) -> bool:
        """Kill a run after some seconds; tell whether it was still running."""
        mark = uuid4().hex
        with self._start(out, mark) as process:
            try:
                process.wait(moment)
            except subprocess.TimeoutExpired:
                process.kill()
        wait_for_end(mark)
        return process.returncode < 0


class LocalWorkerKiller(Killer):
    """Kill a worker process of a command, which says so in one line; the next run goes on."""

    def _kill(self, out: Path, moment: float) -> bool:
        """Kill a worker after some seconds, or the first one if it starts later."""
        mark = uuid4().hex
        with self._start(out, mark) as process:
            time.sleep(moment)
            while not (workers := worker_processes(mark)) and process.poll() is None:
                time.sleep(0.01)
            for worker in workers[:1]:
                os.kill(int(worker), signal.SIGKILL)
            _, errors = process.communicate(timeout=_END)
        wait_for_end(mark)
        if process.returncode:  # the worker had work to do
            assert re.fullmatch("geodual: A worker process was killed, perhaps .*\n", errors), errors
        assert process.returncode in (0, 2)
        return bool(workers)


class DaskWorkerKiller(Killer):
    """Kill one of two workers of a cluster of Dask: the command goes on with the other one."""

    def __init__(self, command: Command, folder: Path, rng: np.random.Generator) -> None:
        super().__init__(command, folder, rng)
        self._dask = DaskProcesses(folder, 2)
        atexit.register(self._dask.__exit__)
        self._more = ("--dask", self._dask.address)

    def _kill(self, out: Path, moment: float) -> bool:
        """Kill a worker after some seconds, compare the files, and start another worker."""
        self._dask.wait_for_workers()
        with self._start(out, "") as process:
            try:
                process.wait(moment)
                return False
            except subprocess.TimeoutExpired:
                self._dask.workers.pop(0).kill()
            _, errors = process.communicate(timeout=_END)
        assert (process.returncode, errors) == (0, "")
        self._compare(out, read_files(out), [moment])
        self._dask.workers.append(self._dask.add_worker())
        return True


KILLERS = {"local worker": LocalWorkerKiller, "Dask worker": DaskWorkerKiller}


def read_files(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder by name, without what varies between undisturbed runs."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): _VARYING.sub(b"", path.read_bytes()) for path in files}


def make_data(folder: Path) -> Path:
    """Write a small table of NAVs, an index and the fake site into a new folder, and return it."""
    data = folder / "data"
    data.mkdir()
    universe = synthetic_universe(20, "2014-01-02", "2015-09-30", seed=3)
    universe.panel.nav.to_csv(data / "nav.csv")
    universe.index.to_csv(data / "index.csv")
    (data / "akshare.py").write_text(_FAKE_SITE, "utf-8")
    return data


def wait_for_end(mark: str) -> None:
    """Wait until no process with this mark is left; raise if one stays."""
    end = time.monotonic() + _PATIENCE
    while left := marked_processes(mark):
        assert time.monotonic() < end, f"worker processes outlive a killed command: {left}"
        time.sleep(0.1)


def marked_processes(mark: str) -> list[str]:
    """Return the numbers of the living processes whose environment has this mark."""
    wanted, found = f"{_MARK}={mark}".encode(), []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (place / "environ").read_bytes().split(b"\0"):
                found.append(place.name)
        except OSError:  # it ended, or is not ours
            continue
    return found


def worker_processes(mark: str) -> list[str]:
    """Return the numbers of joblib's worker processes with this mark."""
    found = []
    for number in marked_processes(mark):
        with suppress(OSError):  # it ended
            if b"popen_loky" in Path("/proc", number, "cmdline").read_bytes():
                found.append(number)
    return found


def main() -> None:
    """Kill commands as often as asked, and print how often each was killed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100, help="number of kills, of all commands together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        killers = []
        for name in options.commands:
            (Path(folder) / name).mkdir()
            killers.append(KILLERS.get(name, Killer)(COMMANDS[name], Path(folder) / name, rng))
        while sum(killer.kills for killer in killers) < options.kills:
            killer = min(killers, key=lambda killer: killer.kills)
            moments = killer.round(int(rng.integers(1, _MOST_IN_A_ROW + 1)))
            texts = ", ".join(f"{moment:.2f} s" for moment in moments) or "not at all, it was faster"
            print(f"{killer.command.name} killed after {texts}: same bytes in the end", flush=True)  # noqa: T201
        counts = ", ".join(f"{killer.command.name} {killer.kills}" for killer in killers)
        print(f"{sum(killer.kills for killer in killers)} kills survived: {counts}.")  # noqa: T201


if __name__ == "__main__":
    main()
