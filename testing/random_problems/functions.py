"""Random terms g(c(x)): norms, losses and cones of random maps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.optimize import (
    L1,
    Ball,
    Box,
    Constraint,
    Function,
    GroupL2,
    Huber,
    LInf,
    Max,
    NuclearNorm,
    PositiveSemidefinite,
    Quantile,
    SecondOrderCone,
    SimplexSet,
    SpectralNorm,
)

from ..problems.case import Array

Rng = np.random.Generator


@dataclass(frozen=True)
class FunctionKind:
    """A kind of function g, with suitable maps c.

    Attributes
    ----------
    make : callable
        ``make(rng, weight)`` returns g; constraints ignore the weight.
    index : callable
        ``index(rng)`` returns an array of any shape with the position of each entry in a vector.
    inside : callable or None
        ``inside(rng, shape)`` returns a point within a constraint; None for functions that are finite.
    """

    make: Callable[[Rng, float], Function]
    index: Callable[[Rng], NDArray[np.intp]]
    inside: Callable[[Rng, tuple[int, ...]], Array] | None = None

    def needs(self, dim: int) -> bool:
        """Return whether a manifold of this dimension is large enough."""
        return self.inside is None or dim >= 4


def arranged(block: Constraint, index: NDArray[np.intp]) -> Constraint:
    """Return a block of constraints with its values arranged in an array, some possibly twice."""
    size, second, along = int(index.max()) + 1, block.hessian_product, block.directional

    def collected(w: Array) -> Array:
        return np.bincount(index.ravel(), np.ravel(w), minlength=size)

    return Constraint(
        lambda x: block.value(x)[index],
        lambda x, w: block.jacobian_product(x, collected(w)),
        directional=None if along is None else lambda x, u: np.asarray(along(x, u))[index],
        hessian_product=None if second is None else lambda x, w, u: second(x, collected(w), u),
    )


def _vector(rng: Rng) -> NDArray[np.intp]:
    return np.arange(int(rng.integers(2, 9)))


def _short(rng: Rng) -> NDArray[np.intp]:
    return np.arange(int(rng.integers(2, 4)))


def _matrix(rng: Rng) -> NDArray[np.intp]:
    m, n = rng.integers(2, 4, 2)
    return np.arange(m * n).reshape(m, n)


def _symmetric(rng: Rng) -> NDArray[np.intp]:
    n = int(rng.integers(2, 4))
    index = np.zeros((n, n), dtype=np.intp)
    rows, columns = np.triu_indices(n)
    index[rows, columns] = index[columns, rows] = np.arange(len(rows))
    return index


def _in_ball(rng: Rng, shape: tuple[int, ...]) -> Array:
    u = rng.standard_normal(shape)
    return np.asarray(rng.uniform(0.0, 0.9) * u / np.linalg.norm(u))


def _in_cone(rng: Rng, shape: tuple[int, ...]) -> Array:
    z = rng.standard_normal(shape)
    z[0] = np.linalg.norm(z[1:]) + rng.uniform(0.05, 1.0)
    return z


def _definite(rng: Rng, shape: tuple[int, ...]) -> Array:
    root = rng.standard_normal(shape)
    return np.asarray(root @ root.T + rng.uniform(0.05, 1.0) * np.eye(shape[0]))


FINITE: dict[str, FunctionKind] = {
    "L1": FunctionKind(lambda rng, w: L1(w), _vector),
    "Quantile": FunctionKind(lambda rng, w: Quantile(float(rng.uniform(0.1, 0.9)), w), _vector),
    "Huber": FunctionKind(lambda rng, w: Huber(float(rng.uniform(0.1, 1.0)), w), _vector),
    "GroupL2": FunctionKind(lambda rng, w: GroupL2(w), _matrix),
    "NuclearNorm": FunctionKind(lambda rng, w: NuclearNorm(w), _matrix),
    "SpectralNorm": FunctionKind(lambda rng, w: SpectralNorm(w), _matrix),
    "Max": FunctionKind(lambda rng, w: Max(w), _vector),
    "LInf": FunctionKind(lambda rng, w: LInf(w), _vector),
}
"""Norms and losses."""

CONSTRAINTS: dict[str, FunctionKind] = {
    "Box": FunctionKind(
        lambda rng, w: Box(-1.0, 1.0), _vector, lambda rng, shape: rng.uniform(-0.9, 0.9, shape)
    ),
    "Ball": FunctionKind(lambda rng, w: Ball(1.0), _vector, _in_ball),
    "SecondOrderCone": FunctionKind(lambda rng, w: SecondOrderCone(), _vector, _in_cone),
    "PositiveSemidefinite": FunctionKind(lambda rng, w: PositiveSemidefinite(), _symmetric, _definite),
    "SimplexSet": FunctionKind(
        lambda rng, w: SimplexSet(), _short, lambda rng, shape: rng.dirichlet(np.full(shape, 2.0))
    ),
}
"""Sets and cones."""

KINDS: dict[str, FunctionKind] = {**FINITE, **CONSTRAINTS}


def of_points(rng: Rng, weight: float) -> tuple[str, Any]:
    """Return the name and the function of a term that acts on the point itself."""
    name = str(rng.choice(["L1", "Huber"]))
    return name, FINITE[name].make(rng, weight)
