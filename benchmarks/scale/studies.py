"""Backtest many funds in separate processes, and measure time and memory.

``python -m benchmarks.scale.studies nav.npz 2017-03-01 4`` learns from 4 quarters at each decision day from
that date on, and prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from geodual.funds import Panel, backtest, synthetic_universe

from .one_fit import ROOT, peak_megabytes
from .rows import Row

STARTS = {1: "2017-09-01", 2: "2017-06-01", 9: "2015-09-01"}  # first day of a study with this many decisions
_QUARTERS = 60
_MEGABYTES = 1_500.0


def study_rows(n_funds: int = 5_000, report: Callable[[str], object] = print) -> list[Row]:
    """Backtest many funds over 15 years with RPDML and GMML, learning from one and from four quarters."""
    rows, size = [], f"{n_funds:,} funds × 15 years"
    with TemporaryDirectory() as folder:
        path = Path(folder) / "nav.npz"
        _run_here(path, n_funds)
        for quarters, days in ((1, (1, 9)), (4, (1, 2))):
            name = f"backtest, {quarters} quarter{'s' if quarters > 1 else ''} to learn from, gap 1e-10"
            report(f"  {name}: {n_funds:,} funds, {days[1]} decisions …")
            found = study_elsewhere(path, quarters, days)
            note = f"{found['per_day']:.3g} s per decision; 60 decisions from runs of {days[0]} and {days[1]}"
            rows += [
                Row(name, size, found["processor"], "s", note=note),
                Row(f"{name}: peak of the process", size, found["megabytes"], "MB", at_most=_MEGABYTES),
            ]
    return rows


def study_elsewhere(path: Path, quarters: int, days: tuple[int, int]) -> dict[str, float]:
    """Backtest in new processes; return processor seconds for 60 quarters and per day, and peak memory.

    Parameters
    ----------
    path : Path
        File with the values of the funds.
    quarters : int
        Number of quarters to learn from.
    days : (int, int)
        Numbers of decision days of two studies, from which 60 are extrapolated.
    """
    short, long = (json.loads(_run_here(path, STARTS[count], quarters).splitlines()[-1]) for count in days)
    per_day = (long["processor"] - short["processor"]) / (long["days"] - short["days"])
    return {
        "per_day": per_day,
        "processor": long["processor"] + (_QUARTERS - long["days"]) * per_day,
        "megabytes": long["megabytes"],
    }


def _run_here(*arguments: object) -> str:
    """Run this file as a separate program, on one thread; return its output."""
    command = [sys.executable, "-m", "benchmarks.scale.studies", *map(str, arguments)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def main(path: Path, start: str, quarters: int) -> dict[str, Any]:
    """Backtest with RPDML and GMML, in one process."""
    with np.load(path) as saved:
        names = pd.Index([f"M{k:05d}" for k in range(saved["nav"].shape[1])], dtype=str)
        panel = Panel(pd.DataFrame(saved["nav"], pd.DatetimeIndex(saved["days"]), names))
    started = time.process_time()
    study = backtest(panel, metrics=["rpdml", "gmml"], n_jobs=1, start=start, train_quarters=quarters)
    return {
        "processor": time.process_time() - started,
        "days": len(study.ic),
        "megabytes": peak_megabytes(),
    }


def save_universe(path: Path, n_funds: int) -> None:
    """Write the values of synthetic funds over 15 years to a file."""
    nav = synthetic_universe(n_funds, "2003-01-02", "2017-12-29").panel.nav
    np.savez(path, nav=nav.to_numpy(), days=nav.index.to_numpy())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[2].isdigit():
        save_universe(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        print(json.dumps(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))
