"""Measure fits to data of all shapes: local pairs against all pairs, and very many features."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from geodual.metric import GMML, ITML, RPDML

from .samples import classes, synthetic_set
from .timing import format_seconds, format_table, peak_megabytes

ROUNDS = 5
LONG = 0.5  # seconds; longer fits are timed less often
SPARSE = (200, 50_000, 0.01)  # samples, features, share of nonzero entries

Array = NDArray[np.float64]


def local_pairs_table(C: float = 100.0, report: Callable[[str], object] = print) -> str:
    """Fit RPDML to local and to all pairs of the same samples, and return the processor times as a table.

    Parameters
    ----------
    C : float
        Weight of the violations.
    report : callable
        Receives a progress line for each data set.
    """
    loaders = (load_iris, load_wine, load_breast_cancer, load_digits)
    sets: list[Callable[[], tuple[Array, Any]]] = [partial(_standardized, load) for load in loaders]
    sets += [synthetic_set, *(partial(classes, *shape) for shape in ((2000, 500), (3000, 70), (5000, 50)))]
    rows = []
    for load in sets:
        X, y = load()
        report(f"  local and all pairs of {X.shape[0]:,} × {X.shape[1]} …")
        local, everything = RPDML(C=C, pairs="local"), RPDML(C=C, pairs="all")
        seconds = [processor_seconds(partial(learner.fit, X, y)) for learner in (local, everything)]
        pairs = [f"{learner.n_pairs_:,}" for learner in (local, everything)]
        ratio = f"{seconds[0] / seconds[1]:.2f}"
        rows.append([f"{X.shape[0]:,} × {X.shape[1]}", *pairs, *map(format_seconds, seconds), ratio])
    table = format_table(["samples", "local pairs", "all pairs", "local", "all", "ratio"], rows)
    return f"RPDML(C={C:g}): processor time of a fit to local and to all pairs, both certified\n\n{table}"


def many_features_table(report: Callable[[str], object] = print) -> str:
    """Fit learners to more features than samples, dense and sparse; return times and memory as a table.

    Parameters
    ----------
    report : callable
        Receives a progress line for each fit.
    """
    cases: list[tuple[str, Any, Any]] = []
    for shape in ((500, 2000), (100, 5000)):
        X, y = _wide(*shape)
        name = f"{shape[0]} × {shape[1]:,}"
        learners = [RPDML(pairs="all"), *(ITML(gamma, pairs="all") for gamma in (1.0, 0.01)), ITML(), GMML()]
        cases += [(name, learner, (X, y)) for learner in learners]
    X, y = _sparse(*SPARSE)
    name = f"{SPARSE[0]} × {SPARSE[1]:,}, {SPARSE[2]:.0%} not zero"
    learners = [RPDML(pairs="all"), RPDML(pairs="local"), RPDML(pairs="all", n_components=10), GMML()]
    cases += [(name, learner, (X, y)) for learner in learners]
    rows = []
    for name, learner, data in cases:
        report(f"  {learner!r} on {name} …")
        seconds = processor_seconds(partial(learner.fit, *data))
        gap = f"{learner.duality_gap_:.0e}" if hasattr(learner, "duality_gap_") else "closed form"
        peak = peak_megabytes(partial(learner.fit, *data))
        rows.append([name, repr(learner), format_seconds(seconds), gap, f"{peak:.0f}"])
    table = format_table(["samples", "learner", "time", "gap", "peak MB"], rows)
    return f"More features than samples: processor time, and Python's peak memory above the data\n\n{table}"


def processor_seconds(function: Callable[[], object]) -> float:
    """Return the shortest processor time of two or more calls; a slow function is called fewer times."""
    times: list[float] = []
    while len(times) < 2 or (len(times) < ROUNDS and sum(times) < LONG):
        started = time.process_time()
        function()
        times.append(time.process_time() - started)
    return min(times)


def _standardized(load: Callable[..., Any]) -> tuple[Array, Any]:
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def _wide(n_samples: int, n_features: int) -> tuple[Array, Any]:
    y = np.arange(n_samples) % 3
    X = np.random.default_rng(0).standard_normal((n_samples, n_features))
    X[:, :20] += y[:, None]
    return X, y


def _sparse(n_samples: int, n_features: int, share: float) -> tuple[Any, Any]:
    rng, y = np.random.default_rng(0), np.arange(n_samples) % 3
    place = rng.integers(n_samples * n_features, size=int(share * n_samples * n_features))
    rows, columns = np.divmod(place, n_features)
    # Words that are common in only one class.
    common = 50 * y[:, None] + np.arange(50)
    rows = np.concatenate([rows, np.repeat(np.arange(n_samples), 50)])
    columns = np.concatenate([columns, common.ravel()])
    return csr_array((rng.uniform(0.0, 2.0, len(rows)), (rows, columns)), shape=(n_samples, n_features)), y
