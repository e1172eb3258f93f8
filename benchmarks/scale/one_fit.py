"""One fit in a separate process: its time and memory as one line of JSON.

``python -m benchmarks.scale.one_fit '{"samples": "X.npz", "learner": {"C": 100.0}}'``
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from geodual.metric import RPDML, NeighborRPDML

from ..samples import classes

ROOT = Path(__file__).parents[2]


def write_samples(folder: str, n_samples: int, n_features: int, make: Callable[..., Any] = classes) -> Path:
    """Write samples to a file for `main`."""
    path = Path(folder) / f"{n_samples}.npz"
    X, y = make(n_samples, n_features)
    np.savez(path, X=X, y=y)
    return path


def fit_elsewhere(
    samples: Path, learner: Mapping[str, Any], one_thread: bool = True, kind: str = "RPDML"
) -> dict[str, Any]:
    """Fit a learner in a new process, and return the output of `main`.

    Parameters
    ----------
    samples : Path
        A file with the arrays X and y.
    learner : mapping
        The parameters of the learner.
    one_thread : bool
        Whether to limit BLAS to one thread.
    kind : "RPDML" or "NeighborRPDML"
        The kind of learner.
    """
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    if one_thread:
        environment |= {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
    task = json.dumps({"samples": str(samples.resolve()), "learner": dict(learner), "kind": kind})
    command = [sys.executable, "-m", "benchmarks.scale.one_fit", task]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main(task: Mapping[str, Any]) -> dict[str, Any]:
    """Fit a learner to samples from a file; return times, peak memory above the data, and the result."""
    with np.load(task["samples"]) as saved:
        X, y = saved["X"], saved["y"]
    RPDML(pairs="all").fit(X[:500, :5], y[:500])  # imports everything that a fit needs
    before, processor, started = peak_megabytes(), time.process_time(), time.perf_counter()
    kind = {"RPDML": RPDML, "NeighborRPDML": NeighborRPDML}[task.get("kind", "RPDML")]
    learner = kind(**task["learner"]).fit(X, y)
    processor, seconds = time.process_time() - processor, time.perf_counter() - started
    return {
        "processor": processor,
        "seconds": seconds,
        "solve": processor * learner.history_[-1].seconds / seconds,  # without checks and bounds
        "megabytes": peak_megabytes() - before,
        "passes": learner.history_[-1].passes,
        "gap": learner.duality_gap_,
        "objective": learner.objective_,
        "pairs": learner.n_pairs_,
        "anchors": learner.n_anchors_,
    }


def peak_megabytes() -> float:
    """Return the peak memory of this process so far."""
    # `resource.getrusage` would also count the parent process.
    status = Path("/proc/self/status").read_text("utf-8")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024  # type: ignore[index]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(main(json.loads(sys.argv[1]))))
