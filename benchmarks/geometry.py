"""Time exponential, logarithm and distance of positive definite matrices against pymanopt."""

from __future__ import annotations

from functools import partial

import numpy as np
from pymanopt.manifolds import SymmetricPositiveDefinite

from geodual.manifolds import SPD

from .timing import best_seconds, format_seconds, format_table

SIZES = (10, 70)


def geometry_table(sizes: tuple[int, ...] = SIZES, seed: int = 0) -> str:
    """Time exp, log and dist of SPD(n) and return the table; ratios above 1 mean that ours is faster."""
    rows = [row for n in sizes for row in _compare(n, np.random.default_rng(seed))]
    header = ("operation", "geodual", "pymanopt", "ratio", "difference")
    return "Geometry of SPD(n): time per call\n" + format_table(header, rows)


def _compare(n: int, rng: np.random.Generator) -> list[tuple[str, ...]]:
    ours, peer = SPD(n), SymmetricPositiveDefinite(n)
    x, y = ours.random_point(rng), ours.random_point(rng)
    u = ours.log(x, y)
    rows = []
    for name, arguments in (("exp", (x, u)), ("log", (x, y)), ("dist", (x, y))):
        calls = [partial(getattr(manifold, name), *arguments) for manifold in (ours, peer)]
        results = [np.asarray(call()) for call in calls]
        difference = np.linalg.norm(results[0] - results[1]) / np.linalg.norm(results[1])
        mine, theirs = best_seconds(calls)
        ratio = f"{theirs / mine:.2f}"
        rows.append(
            (f"{name}, n={n}", format_seconds(mine), format_seconds(theirs), ratio, f"{difference:.0e}")
        )
    return rows
