"""How well a fit to some samples serves all of them: when sampled pairs are the better buy."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from geodual.metric import RPDML
from geodual.metric.logdet.program import LogDetProgram
from geodual.metric.pairs.all_pairs import AllPairs
from geodual.metric.pairs.pair_loss import SquaredHinge

from .data import classes
from .fits import GAP
from .rows import Row

SHARES = (1_000, 2_000, 5_000)
_C = 100.0


def sample_rows(
    n_samples: int = 10_000,
    n_features: int = 70,
    sizes: Sequence[int] = SHARES,
    report: Callable[[str], object] = print,
) -> list[Row]:
    """Fit some of the samples, and see how far the objective of all pairs is above its optimum there.

    Parameters
    ----------
    n_samples, n_features : int
        Size of all samples.
    sizes : sequence of int
        Numbers of samples that are fitted.
    report : callable
        Receives a line for each fit.
    """
    X, y = classes(n_samples, n_features)
    full = RPDML(C=_C, pairs="all", tol=GAP).fit(X, y)
    order = np.argsort(y, kind="stable")
    pairs = AllPairs(y[order])
    loss = SquaredHinge.weighted(*full.bounds_, _C / pairs.total_weight, 0.0)
    program = LogDetProgram(X[order], pairs, loss, np.eye(n_features))
    rows = []
    for m in sizes:
        started = time.process_time()
        some = RPDML(C=_C, pairs="all", tol=GAP, bounds=full.bounds_).fit(X[:m], y[:m])
        note = f"fitted in {time.process_time() - started:.2g} s of processor time"
        excess = program(some.W_).primal / full.objective_ - 1.0
        size = f"{m:,} of {n_samples:,} × {n_features}"
        rows.append(Row("objective of all pairs above its optimum", size, 100.0 * excess, "%", note=note))
        report("  " + " ".join(rows[-1].cells()))
    return rows
