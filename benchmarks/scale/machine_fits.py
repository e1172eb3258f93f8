"""Machines: time and memory of a fit from a thousand samples to a million, and with a thousand classes.

``python -m benchmarks.scale.machine_fits '{"learner": "RPDMLClassifier", "n_samples": 1000, ...}'``
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from geodual import metric

from .one_fit import ROOT, peak_megabytes
from .rows import Row

_NEW = 10_000  # number of predictions
_BARS = (600.0, 4096.0)  # "minutes" and 4 GB for a million samples, of issue 28


def machine_rows(
    sizes: Sequence[int] = (1_000, 5_000, 10_000, 100_000, 1_000_000),
    n_features: int = 30,
    report: Callable[[str], object] = print,
) -> list[Row]:
    """Fit both machines with default settings to increasing numbers of samples, on one thread."""
    names = ("RPDMLClassifier", "RPDMLRegressor")
    return [row for n in sizes for name in names for row in _rows(name, n, n_features, 2, report)]


def class_rows(
    sizes: Sequence[int] = (5_000, 100_000),
    n_features: int = 20,
    n_classes: int = 1_000,
    report: Callable[[str], object] = print,
) -> list[Row]:
    """Fit the classifier to samples of many classes."""
    return [row for n in sizes for row in _rows("RPDMLClassifier", n, n_features, n_classes, report)]


def _rows(name: str, n: int, n_features: int, n_classes: int, report: Callable[[str], object]) -> list[Row]:
    found = _fit_elsewhere(
        {"learner": name, "n_samples": n, "n_features": n_features, "n_classes": n_classes}
    )
    size = f"{n:,} × {n_features}" + (f", {n_classes:,} classes" if n_classes > 2 else "")
    seconds, megabytes = _BARS if n == 1_000_000 else (None, None)
    note = f"score {found['score']:.3f}; {_NEW:,} predictions take {found['predict']:.2g} s"
    rows = [
        Row(f"{name}: processor time", size, found["processor"], "s", at_most=seconds, note=note),
        Row(f"{name}: peak above the data", size, found["megabytes"], "MB", at_most=megabytes),
    ]
    report("  " + "; ".join(" ".join(row.cells()[:3]) for row in rows))
    return rows


def _fit_elsewhere(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the output of `main` in a separate process, with one thread."""
    limits = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
    command = [sys.executable, "-m", "benchmarks.scale.machine_fits", json.dumps(task)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | limits, check=True, stdout=subprocess.PIPE, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main(task: Mapping[str, Any]) -> dict[str, Any]:
    """Fit a machine to drawn samples; return its time, its peak memory above the data, and its score."""
    learner, n, n_classes = (
        getattr(metric, task["learner"])(random_state=0),
        task["n_samples"],
        task["n_classes"],
    )
    X, z, y = _samples(n + _NEW, task["n_features"], n_classes)
    y = z if task["learner"] == "RPDMLRegressor" else y
    type(learner)().fit(X[:100], y[:100])  # imports everything that a fit needs
    before, started = peak_megabytes(), time.process_time()
    learner.fit(X[:n], y[:n])
    fitted = time.process_time()
    megabytes = peak_megabytes() - before
    score = learner.score(X[n:], y[n:])
    return {
        "processor": fitted - started,
        "predict": time.process_time() - fitted,
        "megabytes": megabytes,
        "score": score,
    }


def _samples(n: int, n_features: int, n_classes: int) -> tuple[Any, Any, Any]:
    """Return samples with a number, which depends on four features plus noise, and a class.

    Two classes are the signs of the numbers; more classes have centers, with samples around them.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, n_features))
    z = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + 0.3 * rng.standard_normal(n)
    if n_classes == 2:
        return X, z, z > 0.0
    y, centers = rng.integers(n_classes, size=n), 1.5 * rng.standard_normal((n_classes, n_features))
    X += centers[y]
    return X, z, y


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(main(json.loads(sys.argv[1]))))
