"""A backtest of many funds in a process of its own, also with older sources: its time and its memory.

``python -m benchmarks.scale.one_study nav.npz 2017-03-01 4 rpdml`` learns from 4 quarters at each decision
day from then on, and prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .one_fit import ROOT, peak_megabytes

STARTS = {1: "2017-09-01", 2: "2017-06-01", 9: "2015-09-01"}  # first day of a study with this many decisions
LOOSE = "rpdml_loose"
_QUARTERS = 60


def write_universe(folder: str, n_funds: int) -> Path:
    """Write the values of synthetic funds over 15 years to a file, from a process of its own."""
    path = Path(folder) / "nav.npz"
    subprocess.run(
        [sys.executable, "-m", "benchmarks.scale.one_study", str(path), str(n_funds)], cwd=ROOT, check=True
    )
    return path


def study_elsewhere(
    path: Path,
    source: Path | None = None,
    quarters: int = 1,
    days: tuple[int, int] = (1, 9),
    metric: str = "rpdml",
) -> dict[str, float]:
    """Backtest in new processes; return processor seconds for 60 quarters and per day, and peak memory.

    Parameters
    ----------
    path : Path
        File from `write_universe`.
    source : Path, optional
        Another checkout, whose folder `src` is used.
    quarters : int
        Number of quarters to learn from.
    days : (int, int)
        Numbers of decision days of two studies, from which that of 60 is extrapolated.
    metric : str
        The metric beside GMML: "rpdml", or `LOOSE` for RPDML to a gap of 1e-6, which older sources had.
    """
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if source is not None:
        environment["PYTHONPATH"] = str((source / "src").resolve())
    runs = []
    for start in (STARTS[count] for count in days):
        command = [
            sys.executable,
            "-m",
            "benchmarks.scale.one_study",
            str(path),
            start,
            str(quarters),
            metric,
        ]
        done = subprocess.run(
            command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
        )
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    short, long = runs
    per_day = (long["processor"] - short["processor"]) / (long["days"] - short["days"])
    return {
        "per_day": per_day,
        "processor": long["processor"] + (_QUARTERS - long["days"]) * per_day,
        "megabytes": long["megabytes"],
    }


def main(path: Path, start: str, quarters: int, metric: str) -> dict[str, Any]:
    """Backtest with RPDML and GMML, in one process."""
    from geodual.funds import Panel, backtest

    if metric == LOOSE:
        from geodual.metric import RPDML, register_metric

        register_metric(LOOSE, RPDML(pairs="all", tol=1e-6))
    with np.load(path) as saved:
        names = pd.Index([f"M{k:05d}" for k in range(saved["nav"].shape[1])], dtype=str)
        panel = Panel(pd.DataFrame(saved["nav"], pd.DatetimeIndex(saved["days"]), names))
    started = time.process_time()
    study = backtest(panel, metrics=[metric, "gmml"], n_jobs=1, start=start, train_quarters=quarters)
    return {
        "processor": time.process_time() - started,
        "days": len(study.ic),
        "megabytes": peak_megabytes(),
    }


def _save_universe(path: Path, n_funds: int) -> None:
    from geodual.funds import synthetic_universe

    nav = synthetic_universe(n_funds, "2003-01-02", "2017-12-29").panel.nav
    np.savez(path, nav=nav.to_numpy(), days=nav.index.to_numpy())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[2].isdigit():
        _save_universe(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        print(json.dumps(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])))
