"""Blocks of random constraints, as functions of the vector z of a point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.optimize import Constraint
from geodual.optimize.trees import scaled, total

from ..problems.case import Array
from .embedding import Embedding
from .terms import Term

_SHAPES = {"plane": 0.35, "bound": 0.3, "ball": 0.15, "keep out": 0.1, "quadric": 0.1}  # with their shares


@dataclass(frozen=True)
class Quadratics:
    """The vector ½ s ‖z‖² + ½ q (D z)² + A z − b: planes, bounds, balls, keep-out balls and quadrics.

    Attributes
    ----------
    s, q, b : array of shape (m,)
        Coefficients; a constraint is linear if its s and q are 0.
    D, A : array of shape (m, N)
        One row per constraint.
    """

    s: Array
    q: Array
    D: Array
    A: Array
    b: Array

    def value(self, z: Array) -> Array:
        """Return the m values."""
        return np.asarray(0.5 * self.s * (z @ z) + 0.5 * self.q * (self.D @ z) ** 2 + self.A @ z - self.b)

    def rows(self, z: Array) -> Array:
        """Return the m gradients, one per row."""
        return np.asarray(np.outer(self.s, z) + (self.q * (self.D @ z))[:, None] * self.D + self.A)

    def bent(self, w: Array, v: Array) -> Array:
        """Return the Hessian of the sum with weights w, applied to v."""
        return np.asarray((w @ self.s) * v + self.D.T @ (w * self.q * (self.D @ v)))

    def times(self, weights: Array | float) -> Quadratics:
        """Return the constraints multiplied by positive weights, one per constraint or one for all."""
        column = np.asarray(weights)[..., None]
        return Quadratics(self.s * weights, self.q * weights, self.D, self.A * column, self.b * weights)

    def chosen(self, indices: NDArray[np.integer[Any]]) -> Quadratics:
        """Return some of the constraints, in a given order and possibly repeated."""
        return Quadratics(*(part[indices] for part in (self.s, self.q, self.D, self.A, self.b)))

    def shifted(self, values: Array) -> Quadratics:
        """Return the constraints minus given values."""
        return Quadratics(self.s, self.q, self.D, self.A, self.b + values)


def draw_quadratics(rng: np.random.Generator, count: int, size: int) -> Quadratics:
    """Draw constraints of all shapes through the origin; `shifted` moves them."""
    shape = rng.choice(list(_SHAPES), count, p=list(_SHAPES.values()))
    A = rng.standard_normal((count, size)) / np.sqrt(size)
    unit = np.eye(size)[rng.integers(size, size=count)] * rng.choice([-1.0, 1.0], count)[:, None]
    A = np.where((shape == "bound")[:, None], unit, A)
    return Quadratics(
        s=np.select([shape == "ball", shape == "keep out"], [1.0, -1.0], 0.0),
        q=np.where(shape == "quadric", rng.choice([-1.0, 1.0], count), 0.0),
        D=rng.standard_normal((count, size)) / np.sqrt(size),
        A=A,
        b=np.zeros(count),
    )


def quadratic_block(embedding: Embedding, quadratics: Quadratics, derivatives: int) -> Constraint:
    """Return quadratics as a block with 0 to 2 of the optional `derivatives`."""

    def directional(x: Any, u: Any) -> Array:
        return quadratics.rows(embedding.embed(x)) @ embedding.push(x, u)

    def hessian_product(x: Any, w: Array, u: Any) -> Any:
        g = quadratics.rows(embedding.embed(x)).T @ w
        inner = embedding.pull(x, quadratics.bent(w, embedding.push(x, u)))
        return total([inner, embedding.bend(x, u, g)])

    return Constraint(
        lambda x: quadratics.value(embedding.embed(x)),
        lambda x, w: embedding.pull(x, quadratics.rows(embedding.embed(x)).T @ w),
        directional=directional if derivatives > 0 else None,
        hessian_product=hessian_product if derivatives > 1 else None,
    )


def term_block(embedding: Embedding, term: Term) -> Constraint:
    """Return a term as a block of one constraint."""
    value, gradient, hessian_product = composed(embedding, term)

    def weighted(x: Any, w: Array, u: Any) -> Any:
        assert hessian_product is not None
        return scaled(w[0], hessian_product(x, u))

    return Constraint(
        lambda x: np.array([value(x)]),
        lambda x, w: scaled(w[0], gradient(x)),
        hessian_product=None if hessian_product is None else weighted,
    )


def composed(
    embedding: Embedding, term: Term
) -> tuple[Callable[[Any], float], Callable[[Any], Any], Callable[[Any, Any], Any] | None]:
    """Return a term as a function of the point: value, Euclidean gradient and Hessian product if known."""
    hessian = term.hessian

    def hessian_product(x: Any, u: Any) -> Any:
        assert hessian is not None
        z = embedding.embed(x)
        inner = embedding.pull(x, hessian(z, embedding.push(x, u)))
        return total([inner, embedding.bend(x, u, term.gradient(z))])

    return (
        lambda x: term.value(embedding.embed(x)),
        lambda x: embedding.pull(x, term.gradient(embedding.embed(x))),
        None if hessian is None else hessian_product,
    )
