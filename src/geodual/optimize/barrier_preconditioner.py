"""An approximate inverse of the matrix H + Jᵀ D J of the interior-point method, for conjugate gradients.

Near a solution D is huge for active constraints. Plain conjugate gradients would take very many steps, but
the large part of the matrix is known. Constraints are told apart:

- A *separable* one depends on a single entry of x, as a bound does. It adds to one diagonal entry.
- Of the others, the gradients of the stiffest are formed, as rows of a matrix W.

H is replaced by σ I. The matrix σ I + diagonal + Wᵀ D W is inverted on the tangent space. It takes a thin QR
decomposition of W; Woodbury's formula would lose too many digits.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from geodual.arrays import Array, Indices
from geodual.manifolds import Frame
from geodual.manifolds.frame import Coordinates, Vector

from .barrier import LocalBarrier, Operator
from .constraint_vector import ConstraintVector, EvaluatedPoint

_MOST_ROWS = 300  # gradients, and normal vectors, that may be formed
_STIFF = 3.0  # ratio of D to σ from which a gradient is worth its cost
_LEAST_CURVATURE = 1e-8  # of the scaled problem; smaller ones are rounding errors
_DEPENDENT = 1e-10  # share of a vector that must be left for it to extend a basis


class BarrierPreconditioner:
    """Makes preconditioners at the points of a solve, after a look at the constraints at the start.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    start : EvaluatedPoint
        Where to look.

    Attributes
    ----------
    entries : array of shape (m,)
        The entry of x that each constraint depends on; −1 if it is not separable.
    """

    def __init__(self, constraints: ConstraintVector, start: EvaluatedPoint) -> None:
        self.constraints, self.manifold = constraints, constraints.problem.manifold
        self.entries = separable_entries(constraints, start)
        self._separable = bool((self.entries >= 0).any())
        self._redundant = start.frame.dim - self.manifold.dim
        # With separable constraints, random vectors whose normal parts span the normal space.
        n = self._redundant if self._separable and self._redundant <= _MOST_ROWS else 0
        shape = (n, *start.frame.shape) if n else 0
        self._draws = np.random.default_rng(0).standard_normal(shape)

    def at(self, model: LocalBarrier) -> Operator:
        """Return the approximate inverse at a point."""
        frame = model.frame
        if not self.constraints.size:
            return lambda c: c
        inverse = self._inverse(model) if frame.orthonormal else self._inverse_by_inner_products(model)
        if frame.orthonormal and not self._redundant:
            return inverse
        # Rounding errors normal to the manifold would be multiplied by D in the next product.
        return lambda c: frame.coordinates(self.manifold.project(frame.point, frame.tangent(inverse(c))))

    def _inverse(self, model: LocalBarrier) -> Operator:
        frame, sigma = model.frame, _mean_curvature(model)
        diagonal = sigma + self._diagonal(model)
        projected = [frame.gradient(frame.tangent(v)) for v in self._draws]
        normal = np.reshape(self._draws - np.reshape(projected, self._draws.shape), (-1, frame.dim))
        stiff = self._stiff(model, sigma)
        gradients = self.constraints.gradients(frame.point, stiff)
        rows = np.reshape([np.ravel(frame.gradient(g)) for g in gradients], (len(stiff), frame.dim))
        rows = rows * model.weights[stiff, None]
        return _inverted(diagonal, normal, rows, model.stiffness[stiff])

    def _diagonal(self, model: LocalBarrier) -> Array:
        """Return the part of Jᵀ D J that belongs to separable constraints."""
        if not self._separable:
            return np.zeros(model.frame.dim)
        which = self.entries >= 0
        slopes = model.slopes(np.ones(model.frame.shape))
        weights = (model.stiffness * slopes**2)[which]
        return np.asarray(np.bincount(self.entries[which], weights, model.frame.dim), dtype=float)

    def _stiff(self, model: LocalBarrier, sigma: float) -> Indices:
        """Return the constraints whose gradients to form, in increasing order."""
        stiff = np.flatnonzero((self.entries < 0) & (model.stiffness > _STIFF * sigma))
        stiffest = np.argsort(-model.stiffness[stiff])[:_MOST_ROWS]
        return np.sort(stiff[stiffest])

    def _inverse_by_inner_products(self, model: LocalBarrier) -> Operator:
        """Do the same in a frame whose coordinates may only be added, scaled and paired."""
        frame = model.frame
        sigma = _mean_curvature(model)
        stiff = self._stiff(model, sigma)
        gradients = self.constraints.gradients(frame.point, stiff)
        rows = [w * frame.gradient(g) for w, g in zip(model.weights[stiff], gradients, strict=True)]
        basis = _orthonormalised(frame, rows)
        if not basis:
            return lambda c: c / sigma
        inner = np.array([[frame.inner(q, row) for row in rows] for q in basis])
        factor = cho_factor(sigma * np.eye(len(basis)) + (inner * model.stiffness[stiff]) @ inner.T)

        def apply(c: Coordinates) -> Coordinates:
            rest, parts = _separated(frame, c, basis)
            result = rest / sigma
            for part, q in zip(cho_solve(factor, parts), basis, strict=True):
                result = result + part * q
            return result

        return apply


def separable_entries(constraints: ConstraintVector, start: EvaluatedPoint) -> Indices:
    """Return the only entry of x that each constraint depends on, as a position in x; −1 if there are more.

    Bounds know their entries. For other constraints two random directional derivatives tell: a gradient with
    a single entry aᵢ has the slope aᵢ along the vector of ones, and aᵢ vᵢ along v. Frames whose coordinates
    are not the entries of x have none.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    start : EvaluatedPoint
        Where to look.

    Returns
    -------
    array of shape (m,)
        The positions.
    """
    frame, none = start.frame, np.full(constraints.size, -1)
    if not constraints.size or not frame.orthonormal:
        return none
    first, second = np.random.default_rng(0).standard_normal((2, frame.dim))
    tangents = [frame.tangent(v.reshape(frame.shape)) for v in (np.ones(frame.dim), first, second)]
    if not np.array_equal(_flat(tangents[1]), first):
        return none
    bounded = constraints.bounded_entries
    if (bounded >= 0).all():
        return bounded
    slope, *slopes = (constraints.derivative(start.x, u) for u in tangents)
    with np.errstate(all="ignore"):
        ratios = np.nan_to_num(slopes[0] / slope)
    order = np.argsort(first)
    between = 0.5 * (first[order][1:] + first[order][:-1])
    entries = order[np.searchsorted(between, ratios)]
    # A sum of several entries may come near one of them by chance, but not along both vectors.
    error = np.abs(slope * first[entries] - slopes[0]) + np.abs(slope * second[entries] - slopes[1])
    return np.where((error <= 1e-12 * np.abs(slope)) & (slope != 0.0), entries, bounded)


def _mean_curvature(model: LocalBarrier) -> float:
    """Return the size of the Hessian of the Lagrangian, from its product with a random vector."""
    probe = model.frame.random(np.random.default_rng(0))
    length = model.frame.norm(probe)
    if not length > 0.0:  # on a manifold of dimension 0
        return 1.0
    return max(model.frame.norm(model.lagrangian.hessian_product(probe)) / length, _LEAST_CURVATURE)


def _inverted(diagonal: Array, normal: Array, rows: Array, stiffness: Array) -> Operator:
    """Return the inverse of B + Wᵀ D W on the vectors orthogonal to some others, for diagonal B and D."""
    root = np.sqrt(diagonal)
    if not len(normal) and not len(rows):
        return lambda c: c / np.reshape(diagonal, np.shape(c))
    # In the variables √B c the matrix is I + Wᵀ D W with W = Rᵀ Qᵀ: the identity across Q.
    basis, triangle = np.linalg.qr((np.vstack([normal, rows]) / root).T)
    inner = triangle[len(normal) :, len(normal) :]
    factor = cho_factor(np.eye(len(inner)) + (inner * stiffness) @ inner.T) if len(inner) else None

    def apply(c: Coordinates) -> Coordinates:
        rest = np.ravel(c) / root
        parts = np.zeros(basis.shape[1])
        for _ in range(2):  # a second time for the rounding errors of the first
            more = basis.T @ rest
            rest, parts = rest - basis @ more, parts + more
        if factor is not None:
            rest = rest + basis[:, len(normal) :] @ cho_solve(factor, parts[len(normal) :])
        return np.reshape(rest / root, np.shape(c))

    return apply


def _orthonormalised(frame: Frame, vectors: list[Coordinates]) -> list[Coordinates]:
    """Return an orthonormal basis of the span of some tangent vectors."""
    basis: list[Coordinates] = []
    for vector in vectors:
        rest, _ = _separated(frame, vector, basis)
        length = frame.norm(rest)
        if length > _DEPENDENT * frame.norm(vector):
            basis.append(rest / length)
    return basis


def _separated(frame: Frame, c: Coordinates, basis: list[Coordinates]) -> tuple[Coordinates, Array]:
    """Return the part of `c` that is orthogonal to the basis, and the components of the other part."""
    parts = np.zeros(len(basis))
    for _ in range(2):
        more = np.array([frame.inner(q, c) for q in basis])
        for part, q in zip(more, basis, strict=True):
            c = c - part * q
        parts = parts + more
    return c, parts


def _flat(u: Vector) -> Array:
    if isinstance(u, (tuple, list)):
        return np.concatenate([_flat(part) for part in u])
    return np.ravel(u)
