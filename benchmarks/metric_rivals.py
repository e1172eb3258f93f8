"""Compare our LMNN with metric-learn's."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris
from sklearn.preprocessing import StandardScaler

from geodual.metric import LMNN
from geodual.metric.margin.large_margin import LargeMargin, target_neighbors
from testing.metric_learn_shim import working_metric_learn

from .samples import synthetic_set
from .timing import format_seconds, format_table

Data = tuple[NDArray[Any], NDArray[Any]]


def digits_data() -> Data:
    """Return the standardized 1,797 digits."""
    X, y = load_digits(return_X_y=True)
    return StandardScaler().fit_transform(X), y


LMNN_CASES: dict[str, Callable[[], Data]] = {
    "synthetic 697×70": synthetic_set,
    "digits 1797×64": digits_data,
}


def lmnn_table(n_neighbors: int = 3) -> str:
    """Fit both once on each data set and return the table; ratios above 1 mean that ours is faster.

    The same code computes both objectives. The bound is our lower bound on the objective over all metrics.
    """
    with working_metric_learn() as metric_learn:
        # A first, untimed fit loads the libraries.
        for learner in (LMNN(), metric_learn.LMNN(max_iter=60)):
            learner.fit(*load_iris(return_X_y=True))
        rows = [
            _compare_lmnn(name, load(), n_neighbors, metric_learn.LMNN) for name, load in LMNN_CASES.items()
        ]
    header = (
        "data",
        "geodual",
        "metric-learn",
        "ratio",
        "objective",
        "its objective",
        "bound",
        "iterations",
        "its iterations",
    )
    title = f"LMNN with {n_neighbors} targets and default settings: time per fit\n"
    return title + format_table(header, rows)


def _compare_lmnn(name: str, data: Data, n_neighbors: int, peer: Callable[..., Any]) -> tuple[str, ...]:
    ours, seconds = _timed_fit(LMNN(n_neighbors=n_neighbors), data)
    theirs, their_seconds = _timed_fit(peer(n_neighbors=n_neighbors), data)
    return (
        name,
        format_seconds(seconds),
        format_seconds(their_seconds),
        f"{their_seconds / seconds:.1f}",
        f"{lmnn_objective(data, ours.components_, n_neighbors):.2f}",
        f"{lmnn_objective(data, theirs.components_, n_neighbors):.2f}",
        f"{ours.dual_objective_:.2f}",
        f"{ours.n_iter_}",
        f"{theirs.n_iter_}",
    )


def _timed_fit(learner: Any, data: Data) -> tuple[Any, float]:
    started = time.perf_counter()
    learner.fit(*data)
    return learner, time.perf_counter() - started


def lmnn_objective(data: Data, L: NDArray[Any], n_neighbors: int) -> float:
    """Return the objective of LMNN with equal weights for pull and push."""
    X, y = data
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    objective = LargeMargin(X, y, target_neighbors(X, y, n_neighbors), 0.5)
    return objective.value_and_gradient(L, 1e-6)[0].objective
