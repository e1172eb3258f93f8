"""Linear algebra on ambient vectors: arrays or, on a product, tuples of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

import numpy as np

from geodual.manifolds.frame import Vector


def total(vectors: Sequence[Vector]) -> Vector:
    """Return the sum of the vectors, in memory of its own."""
    if len(vectors) == 1:
        return scaled(1.0, vectors[0])
    if isinstance(vectors[0], (tuple, list)):
        return tuple(total(parts) for parts in zip(*vectors, strict=True))
    return reduce(add, vectors)


def scaled(weight: float, vector: Vector) -> Vector:
    """Return `vector` times `weight`."""
    if isinstance(vector, (tuple, list)):
        return tuple(scaled(weight, part) for part in vector)
    return weight * vector


def pairing(a: Vector, b: Vector) -> float:
    """Return the plain inner product of two ambient vectors; its real part if they are complex."""
    if isinstance(a, (tuple, list)):
        return sum(pairing(part, other) for part, other in zip(a, b, strict=True))
    return float(np.vdot(a, b).real)
