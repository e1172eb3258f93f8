"""The cost of one pass over all pairs, relative to its bare matrix products, and per pair and feature."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from geodual.metric.geometry.all_pairs import AllPairs, form_block
from geodual.metric.geometry.tiles import class_tiles
from geodual.metric.losses import SquaredHinge

from ..samples import classes
from ..timing import best_seconds
from .rows import Row

ROUNDS = 5
SIZES = (2_000, 5_000, 10_000, 20_000)

Array = NDArray[Any]


class Pass(NamedTuple):
    """Processor seconds of an evaluation and a Hessian product, and of their bare matrix products."""

    evaluation: float
    its_products: float
    hessian: float
    its_single_products: float


def time_pass(n_samples: int, n_features: int, rounds: int = ROUNDS) -> Pass:
    """Time one evaluation and one Hessian product over all pairs, on one thread.

    Both are compared with the two matrix products that they need at least: the distances or forms of each
    tile, and their sum over samples. These use the same tiles, the same precision, and memory that is already
    allocated. Hessian products of many pairs are in single precision, and so are the bare products.

    Parameters
    ----------
    n_samples, n_features : int
        Size of the samples.
    rounds : int
        Number of timings of each; the shortest counts.
    """
    X, y = classes(n_samples, n_features)
    order = np.argsort(y, kind="stable")
    Z, labels = X[order], y[order]
    S = np.random.default_rng(0).normal(size=(n_features, n_features))
    S += S.T
    pairs, loss = AllPairs(labels), SquaredHinge.weighted(*_bounds_of(X), 100.0, 100.0)
    with threadpool_limits(1):
        kept = pairs.evaluate(Z, loss).curvatures
        single = form_block(Z, None, S, pairs.n_pairs).Z
        functions = [
            partial(pairs.evaluate, Z, loss),
            bare_products(Z, labels),
            partial(pairs.curvature_product, Z, S, loss, kept),
            bare_products(single, labels),
        ]
        return Pass(*best_seconds(functions, rounds, clock=time.process_time))


def _bounds_of(X: Array) -> tuple[float, float]:
    """Return the 5th and the 95th percentile of some squared distances, close to the bounds of a fit."""
    # Consecutive samples are independent, so these are random pairs.
    low, high = np.percentile(((X[1:] - X[:-1]) ** 2).sum(axis=1), [5.0, 95.0]).tolist()
    return low, high


def bare_products(Z: Array, labels: Array) -> Callable[[], None]:
    """Return a function that computes only the two matrix products of every tile."""
    tiles = list(class_tiles(labels))
    space = np.empty(max(tile.size for tile in tiles), dtype=Z.dtype)
    sums = np.empty((max(tile.shape[0] for tile in tiles), Z.shape[1]), dtype=Z.dtype)

    def products() -> None:
        for tile in tiles:
            d = space[: tile.size].reshape(tile.shape)
            np.matmul(Z[tile.rows], Z[tile.columns].T, out=d)
            np.matmul(d, Z[tile.columns], out=sums[: tile.shape[0]])

    return products


def pass_rows(
    sizes: Sequence[int] = SIZES, n_features: int = 70, report: Callable[[str], object] = print
) -> list[Row]:
    """Measure passes over increasing numbers of samples."""
    rows = []
    for n in sizes:
        found, size = time_pass(n, n_features, ROUNDS if n < 20_000 else 2), f"{n:,} × {n_features}"
        rows += [
            Row("evaluation ÷ bare products", size, found.evaluation / found.its_products, at_most=1.5),
            Row(
                "Hessian product ÷ bare products",
                size,
                found.hessian / found.its_single_products,
                at_most=1.6,
            ),
            Row("evaluation", size, found.evaluation, "s"),
            Row("Hessian product", size, found.hessian, "s"),
        ]
        report("  " + "; ".join(" ".join(row.cells()[:3]) for row in rows[-4:]))
    return rows
