"""Whole fits: scaling with the number of samples, memory, threads, and the quality of sampled pairs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.linalg import eigh

from geodual.metric import RPDML, LocalPairs
from geodual.metric.geometry.all_pairs import AllPairs
from geodual.metric.losses import SquaredHinge
from geodual.metric.program.logdet_program import LogDetProgram
from geodual.metric.terms.term import PairTerm

from ..samples import classes, four_classes
from ..timing import fitted_exponent
from .one_fit import fit_elsewhere, write_samples
from .rows import Row, cores_in_use, trust

SIZES = (1_000, 2_000, 5_000, 8_000, 10_000, 20_000)
CS = (100.0, 1000.0)
GAP = 1e-6
_TURNS = 3  # of short fits; the shortest time counts
_LONG = 1.0  # processor seconds above which a fit is timed once
_GROWTH = 8_000  # samples of the bar of memory
_MEGABYTES = 818.0 / 5.0
_EXPONENT = 2.0
_THREAD_TURNS = 2
_SPIN = "while True: pass"
_SHARES = (1_000, 2_000, 5_000)
_MANY_BARS = (600.0, 4096.0)  # "minutes" and 4 GB for a million samples, of issue 28
_LOCAL_BEFORE = 435.0  # processor seconds of local pairs, 200,000 × 50, when issue 14 was written


def fit_rows(
    sizes: Sequence[int] = SIZES,
    Cs: Sequence[float] = CS,
    n_features: int = 70,
    report: Callable[[str], object] = print,
) -> list[Row]:
    """Fit RPDML to all pairs of increasing numbers of samples, on one thread.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of samples.
    Cs : sequence of float
        Weights of the violations.
    n_features : int
        Number of features.
    report : callable
        Receives a line for each fit.
    """
    rows: list[Row] = []
    solves: dict[float, list[tuple[int, float]]] = {C: [] for C in Cs}
    for n in sizes:
        for C in Cs:
            found = _shortest_fit(n, n_features, C)
            solves[C].append((n, found["solve"]))
            rows += _rows_of_fit(n, n_features, C, found)
            report("  " + "; ".join(" ".join(row.cells()[:3]) for row in rows[-2:]))
    for C, points in solves.items():
        large = [(n, seconds) for n, seconds in points if n >= 5_000]
        if len(large) > 1:
            exponent = fitted_exponent(*zip(*large, strict=True))
            size = f"{large[0][0]:,} to {large[-1][0]:,} × {n_features}"
            rows.append(Row(f"exponent of the solve, C = {C:g}", size, exponent, at_most=_EXPONENT))
    return rows


def _shortest_fit(n: int, n_features: int, C: float) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = write_samples(folder, n, n_features)
        turns = [_fit_all_pairs(path, C=C)]
        while len(turns) < _TURNS and turns[0]["processor"] < _LONG:
            turns.append(_fit_all_pairs(path, C=C))
    return min(turns, key=lambda fit: fit["processor"])


def _fit_all_pairs(path: Path, one_thread: bool = True, **learner: Any) -> dict[str, Any]:
    return fit_elsewhere(path, {"C": 100.0, "pairs": "all", "tol": GAP, **learner}, one_thread)


def _rows_of_fit(n: int, n_features: int, C: float, found: dict[str, Any]) -> list[Row]:
    size, name = f"{n:,} × {n_features}", f"C = {C:g}"
    note = f"{found['passes']} passes over all pairs, gap {found['gap']:.0e}"
    limit = _MEGABYTES if n == _GROWTH else None
    return [
        Row(f"fit, {name}", size, found["processor"], "s", note=note),
        Row(f"peak above the data, {name}", size, found["megabytes"], "MB", at_most=limit),
    ]


def thread_rows(
    n_samples: int = 20_000, n_features: int = 70, report: Callable[[str], object] = print
) -> list[Row]:
    """Fit with one and with two threads, in turn; needs a quiet machine."""
    # Later, the fits themselves are part of the load, so measure the load before them.
    size, note = f"{n_samples:,} × {n_features}", trust([cores_in_use()])
    with TemporaryDirectory() as folder:
        path = write_samples(folder, n_samples, n_features)
        turns = []
        for _ in range(_THREAD_TURNS):
            turns.append([_fit_all_pairs(path, n_jobs=jobs)["seconds"] for jobs in (1, 2)])
            report(f"  {size}: one thread {turns[-1][0]:.3g} s, two {turns[-1][1]:.3g} s")
    one, two = (min(times) for times in zip(*turns, strict=True))
    return [Row("one thread ÷ two threads", size, one / two, at_least=1.6, note=note)]


def busy_rows(
    n_samples: int = 5_000, n_features: int = 70, report: Callable[[str], object] = print
) -> list[Row]:
    """Fit with default settings and with one thread, next to one busy process per core."""
    size, note = f"{n_samples:,} × {n_features}", trust([cores_in_use()])
    with TemporaryDirectory() as folder, busy_cores():
        path = write_samples(folder, n_samples, n_features)
        turns = [
            [_fit_all_pairs(path, one_thread=limited)["seconds"] for limited in (False, True)]
            for _ in range(_THREAD_TURNS)
        ]
    default, one = (min(times) for times in zip(*turns, strict=True))
    row = Row("beside busy cores: default ÷ one thread", size, default / one, at_most=1.5, note=note)
    report("  " + " ".join(row.cells()))
    return [row]


@contextmanager
def busy_cores() -> Iterator[None]:
    """Keep every core busy with a process in an endless loop."""
    processes = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def sample_rows(
    n_samples: int = 10_000,
    n_features: int = 70,
    sizes: Sequence[int] = _SHARES,
    report: Callable[[str], object] = print,
) -> list[Row]:
    """Fit some of the samples, and measure how far the objective of all pairs is above its optimum.

    Parameters
    ----------
    n_samples, n_features : int
        Size of all samples.
    sizes : sequence of int
        Numbers of samples in the fits.
    report : callable
        Receives a line for each fit.
    """
    X, y = classes(n_samples, n_features)
    C = 100.0
    full = RPDML(C=C, pairs="all", tol=GAP).fit(X, y)
    order = np.argsort(y, kind="stable")
    pairs = AllPairs(y[order])
    loss = SquaredHinge.weighted(*full.bounds_, C / pairs.total_weight, 0.0)
    program = LogDetProgram(X[order], PairTerm(pairs, loss), np.eye(n_features))
    rows = []
    for m in sizes:
        started = time.process_time()
        some = RPDML(C=C, pairs="all", tol=GAP, bounds=full.bounds_).fit(X[:m], y[:m])
        note = f"fitted in {time.process_time() - started:.2g} s of processor time"
        excess = program(some.W_).primal / full.objective_ - 1.0
        size = f"{m:,} of {n_samples:,} × {n_features}"
        rows.append(Row("objective of all pairs above its optimum", size, 100.0 * excess, "%", note=note))
        report("  " + " ".join(rows[-1].cells()))
    return rows


def all_pairs_row(
    n_samples: int = 100_000, n_features: int = 70, n_jobs: int = 2, report: Callable[[str], object] = print
) -> list[Row]:
    """Fit all pairs of many samples to a gap of 1e-4."""
    size = f"{n_samples:,} × {n_features}"
    report(f"  all pairs of {size} …")
    with TemporaryDirectory() as folder:
        path = write_samples(folder, n_samples, n_features)
        found = _fit_all_pairs(path, tol=1e-4, n_jobs=n_jobs)
    note = f"{found['pairs']:,} pairs, gap {found['gap']:.0e}, {n_jobs} threads, {found['passes']} passes"
    return [
        Row("all pairs, gap 1e-4", size, found["seconds"], "s", note=note),
        Row("all pairs, gap 1e-4: processor time", size, found["processor"], "s"),
        Row("all pairs, gap 1e-4: peak above the data", size, found["megabytes"], "MB"),
    ]


def local_pairs_row(
    n_samples: int = 200_000, n_features: int = 50, report: Callable[[str], object] = print
) -> list[Row]:
    """Fit local pairs of many samples on one thread."""
    size = f"{n_samples:,} × {n_features}"
    report(f"  local pairs of {size} …")
    with TemporaryDirectory() as folder:
        path = write_samples(folder, n_samples, n_features, four_classes)
        found = fit_elsewhere(path, {"C": 100.0, "pairs": "local", "random_state": 0})
    note = f"{found['pairs']:,} pairs, gap {found['gap']:.0e}; {_LOCAL_BEFORE:g} s before, measured elsewhere"
    bar = _LOCAL_BEFORE / 3.0 if (n_samples, n_features) == (200_000, 50) else None
    return [
        Row("local pairs: processor time", size, found["processor"], "s", at_most=bar, note=note),
        Row("local pairs: peak above the data", size, found["megabytes"], "MB"),
    ]


def neighbor_rows(
    sizes: Sequence[int] = (1_000, 10_000, 100_000, 1_000_000),
    n_features: int = 20,
    report: Callable[[str], object] = print,
) -> list[Row]:
    """Fit the learners for neighbors with default settings to increasing numbers of samples."""
    rows = []
    for n in sizes:
        size, bars = f"{n:,} × {n_features}", _MANY_BARS if n == 1_000_000 else (None, None)
        for kind in ("RPDML", "NeighborRPDML"):
            with TemporaryDirectory() as folder:
                path = write_samples(folder, n, n_features, four_classes)
                found = fit_elsewhere(path, {}, kind=kind)
            note = f"{found['pairs']:,} pairs of {found['anchors']:,} anchors, gap {found['gap']:.0e}"
            seconds, megabytes = found["processor"], found["megabytes"]
            rows += [
                Row(f"{kind}: processor time", size, seconds, "s", at_most=bars[0], note=note),
                Row(f"{kind}: peak above the data", size, megabytes, "MB", at_most=bars[1]),
            ]
            report("  " + "; ".join(" ".join(row.cells()[:3]) for row in rows[-2:]))
    return rows


def anchor_rows(
    n_samples: int = 100_000,
    n_features: int = 20,
    anchors: Sequence[int] = (5_000, 10_000, 20_000),
    report: Callable[[str], object] = print,
) -> list[Row]:
    """Fit the neighbors of some samples, and compare the metric with that of all neighbors."""
    X, y = classes(n_samples, n_features)
    every = RPDML(pairs=LocalPairs(anchors="all")).fit(X, y).W_
    rows = []
    for some in anchors:
        started = time.process_time()
        W = RPDML(pairs=LocalPairs(anchors=some)).fit(X, y).W_
        note = f"fitted in {time.process_time() - started:.2g} s of processor time"
        # Ratios of squared distances in all principal directions of the two metrics.
        ratios = np.log(eigh(W, every, eigvals_only=True))
        error = 100.0 * float(np.sqrt(np.mean(ratios**2)))
        size = f"{some:,} of {n_samples:,} × {n_features}"
        rows.append(Row("squared distances against those of all anchors", size, error, "%", note=note))
        report("  " + " ".join(rows[-1].cells()))
    return rows
