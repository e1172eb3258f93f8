"""Random real manifolds of `geodual.manifolds`, and some of pymanopt's.

Complex manifolds and flat spaces of matrices are missing: they came later, and adding them would change the
problem of every seed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pymanopt

from geodual.manifolds import (
    SPD,
    Euclidean,
    FixedRank,
    Grassmann,
    Hyperbolic,
    Manifold,
    Oblique,
    PositiveOrthant,
    Power,
    Product,
    PymanoptManifold,
    Rotations,
    Simplex,
    Sphere,
    Stiefel,
)

Rng = np.random.Generator

_SIZE = 8  # rows and columns of the largest matrices


def _between(rng: Rng, least: int, most: int) -> int:
    return int(rng.integers(least, most + 1))


def _tall(rng: Rng, most: int, strictly: bool) -> tuple[int, int]:
    n = _between(rng, 2, most)
    return n, _between(rng, 1, min(n - strictly, 3))


def _fixed_rank(rng: Rng, most: int) -> FixedRank:
    m, n = _between(rng, 2, most), _between(rng, 2, most)
    return FixedRank(m, n, _between(rng, 1, min(m, n, 3)))


def _adapted(rng: Rng, most: int) -> PymanoptManifold:
    n, p = _tall(rng, most, strictly=True)
    kinds = (
        lambda: pymanopt.manifolds.Sphere(n),
        lambda: pymanopt.manifolds.Stiefel(n, p),
        lambda: pymanopt.manifolds.Oblique(n, p),
    )
    return PymanoptManifold(kinds[_between(rng, 0, 2)]())


SINGLE: dict[str, Callable[[Rng, int], Manifold]] = {
    "Euclidean": lambda rng, most: Euclidean(_between(rng, 1, 3 * most)),
    "Sphere": lambda rng, most: Sphere(_between(rng, 2, 2 * most)),
    "SPD": lambda rng, most: SPD(_between(rng, 1, most)),
    "Stiefel": lambda rng, most: Stiefel(*_tall(rng, most, strictly=False)),
    "Grassmann": lambda rng, most: Grassmann(*_tall(rng, most, strictly=True)),
    "Rotations": lambda rng, most: Rotations(_between(rng, 2, most)),
    "Oblique": lambda rng, most: Oblique(_between(rng, 2, most), _between(rng, 1, most)),
    "Hyperbolic": lambda rng, most: Hyperbolic(_between(rng, 1, most)),
    "FixedRank": _fixed_rank,
    "PositiveOrthant": lambda rng, most: PositiveOrthant(_between(rng, 1, 2 * most)),
    "Simplex": lambda rng, most: Simplex(_between(rng, 2, 2 * most)),
}
"""Draw a manifold of each kind with sizes up to about `most`."""


def _single(rng: Rng, most: int) -> Manifold:
    return SINGLE[str(rng.choice(list(SINGLE)))](rng, most)


def _power(rng: Rng, most: int) -> Power:
    return Power(_single(rng, most // 2), _between(rng, 2, 5))


def _product(rng: Rng, most: int) -> Product:
    factors = [_single(rng, most // 2) for _ in range(_between(rng, 2, 3))]
    if rng.random() < 0.3:
        factors[0] = Power(factors[0], 2)
    return Product(factors)


_DRAWS: dict[str, Callable[[Rng, int], Manifold]] = {
    **SINGLE,
    "Power": _power,
    "Product": _product,
    "pymanopt": _adapted,
}

KINDS = tuple(_DRAWS)


def draw_manifold(kind: str, rng: Rng) -> Manifold:
    """Return a manifold of one of the `KINDS`."""
    return _DRAWS[kind](rng, _SIZE)
