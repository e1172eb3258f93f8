"""Measure the constants of the simulation: processor seconds per pair of each kind of pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from geodual.metric.logdet.cluster_percentiles import Bracket, _bin_counts, _collect
from geodual.metric.pairs.all_pairs import AllPairs
from geodual.metric.pairs.pair_loss import SquaredHinge
from geodual.metric.pairs.sample_blocks import SampleBlock

from ..timing import best_seconds
from .data import bounds_of, classes
from .simulation import Cost

SAMPLES = 4_000
FEATURES = (20, 70, 200)


def measure_costs(
    n_samples: int = SAMPLES,
    features: Sequence[int] = FEATURES,
    rounds: int = 5,
    report: Callable[[str], object] = print,
) -> dict[str, Cost]:
    """Return what a pair costs in each kind of pass, fitted to several numbers of features."""
    n_pairs = n_samples * (n_samples - 1) / 2
    seconds: dict[str, list[float]] = {}
    for n_features in features:
        functions = pass_functions(n_samples, n_features)
        with threadpool_limits(1):
            times = best_seconds(list(functions.values()), rounds, clock=time.process_time)
        for kind, found in zip(functions, times, strict=True):
            seconds.setdefault(kind, []).append(found / n_pairs)
    costs = {kind: _line(features, found) for kind, found in seconds.items()}
    for kind, cost in costs.items():
        report(f"  {kind}: {1e9 * cost.fixed:.2f} ns per pair + {1e9 * cost.per_feature:.4f} ns per feature")
    return costs


def _line(features: Sequence[int], seconds: Sequence[float]) -> Cost:
    slope, start = np.polyfit(features, seconds, 1, w=1.0 / np.array(seconds))
    return Cost(max(float(start), 0.0), float(slope))


def pass_functions(n_samples: int, n_features: int) -> dict[str, Callable[[], Any]]:
    """Return functions that do one pass of each kind over all pairs, with bounds and a loss as in a fit."""
    X, y = classes(n_samples, n_features)
    order = np.argsort(y, kind="stable")
    Z, labels = X[order], y[order]
    low, high = bounds_of(X)
    pairs, loss = AllPairs(labels), SquaredHinge.weighted(low, high, 100.0, 100.0)
    S = np.eye(n_features) + 1.0 / n_features
    losses = pairs.evaluate(Z, loss)
    block, L = SampleBlock(Z, labels, None), np.eye(n_features)
    # The bounds are looked for within 4 % of all distances to either side, and at last among few.
    wide = [Bracket(0.9 * bound, 1.1 * bound) for bound in (low, high)]
    narrow = [Bracket(bound, 1.00001 * bound) for bound in (low, high)]
    return {
        "evaluation": partial(pairs.evaluate, Z, loss),
        "product": partial(pairs.curvature_product, Z, S, loss, losses.curvatures),
        "moment": partial(pairs.curvature_moment, Z, loss, losses),
        "count": partial(_bin_counts, block, None, L, 1.0, wide),
        "collect": partial(_collect, block, None, L, 1.0, narrow),
    }
