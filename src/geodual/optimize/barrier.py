"""The barrier function of the interior-point method, its Hessian, and a preconditioner.

Cost f, inequalities h and equalities g are scaled to unit size here. For a barrier parameter μ > 0, a
regularization δ > 0 and centers z̄ and ȳ, the method seeks a point x, slacks s > 0 and multipliers z > 0 and
y with

    ∇f + Σ zₖ ∇hₖ + Σ yⱼ ∇gⱼ = 0,   s z = μ,   h + s = δ (z − z̄),   g = δ (y − ȳ).

As μ and δ decrease, these equations become the KKT conditions. If the start is strictly feasible, δ is 0 for
inequalities, so that s = −h: this is the classical barrier, which keeps all points strictly feasible. With δ
> 0, inequalities may be violated on the way.

The preconditioner is an approximate inverse of the primal-dual Hessian H + Jᵀ D J, for conjugate gradients.
Near a solution, D is huge for active constraints. Plain conjugate gradients would take very many steps, but
the large part of the matrix is known. There are two kinds of constraints:

- A *separable* constraint, such as a bound, depends on a single entry of x. It adds to one diagonal entry.
- Of the others, the gradients of the stiffest are formed, as rows of a matrix W.

H is replaced by σ I. The matrix σ I + diagonal + Wᵀ D W is inverted on the tangent space. This takes a thin
QR decomposition of Wᵀ; Woodbury's formula would lose too many digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from geodual.arrays import Array, Indices
from geodual.manifolds import Frame
from geodual.manifolds.frame import Coordinates, Vector

from .constraint import UNDEFINED
from .kkt import Units
from .lagrangian import LocalLagrangian
from .problem import ConstraintVector, EvaluatedPoint
from .trees import leaves, total

_EPS = float(np.finfo(float).eps)
_MOST_ROWS = 300  # largest number of gradients, and of normal vectors, to form
_STIFF = 3.0  # ratio of D to σ above which a gradient is worth its cost
_LEAST_CURVATURE = 1e-8  # of the scaled problem; smaller values are rounding errors
_DEPENDENT = 1e-10  # a vector extends a basis if more than this share of it is new

_INDEPENDENT = 1e-4  # share of a gradient normal to the others for which Cholesky factors keep enough digits

Function = Callable[[Array], Array]
Operator = Callable[[Coordinates], Coordinates]
"""A linear map of tangent vectors in the coordinates of a frame."""


@dataclass(frozen=True)
class Barrier:
    """The barrier function Φ, whose stationary points solve the equations above.

    For given x, all equations except the first have a closed-form solution (s, π). With it,

        Φ(x) = f(x) − μ Σ log sₖ + (δ/2) Σ (πₖ² − z̄ₖ²),

    where the last sum omits inequalities with δ = 0. Its gradient is ∇f + Σ πₖ ∇cₖ.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    units : Units
        Units by which cost and constraints are divided.
    preconditioner : callable
        Takes a `LocalBarrier` and returns an approximate inverse of its Hessian.
    mu, delta : float
        μ and δ.
    centers : array of shape (m,)
        z̄ and ȳ.
    strict : bool
        Whether δ is 0 for inequalities. Then Φ is infinite unless all of them hold strictly.
    """

    constraints: ConstraintVector
    units: Units
    preconditioner: Callable[[LocalBarrier], Operator]
    mu: float
    delta: float
    centers: Array
    strict: bool

    def at(self, point: EvaluatedPoint, multipliers: Array) -> LocalBarrier:
        """Return Φ at a point. Its Hessian uses the multipliers z and y, which need not be π."""
        return LocalBarrier(self, point, multipliers)


class LocalBarrier:
    """A `Barrier` at a point with multipliers: a model for `truncated_cg`.

    Attributes
    ----------
    violations : array of shape (m,)
        The scaled constraints h and g.
    slacks : array of shape (m,)
        s; 0 for equalities.
    estimates : array of shape (m,)
        π.
    value : float
        Φ(x).
    """

    def __init__(self, function: Barrier, point: EvaluatedPoint, multipliers: Array) -> None:
        self.function, self.point, self.multipliers = function, point, multipliers
        self.frame: Frame = point.frame
        self.weights: Array = 1.0 / function.units.constraints
        self.violations: Array = self.weights * point.constraints
        self.estimates: Array = function.centers + self.violations / function.delta
        self.slacks: Array = np.zeros_like(self.estimates)
        self._solve_for_slacks()
        self._terms = self._measure_terms()
        value = sum(self._terms)
        self.value: float = value if math.isfinite(value) else math.inf

    @property
    def inequalities(self) -> slice:
        """Positions of the inequalities in vectors of all constraints."""
        return slice(0, self.function.constraints.n_inequalities)

    @property
    def soft(self) -> slice:
        """Positions of the constraints with δ > 0."""
        return slice(self.inequalities.stop if self.function.strict else 0, None)

    def _solve_for_slacks(self) -> None:
        """Set s and π of the inequalities."""
        mu, delta, k = self.function.mu, self.function.delta, self.inequalities
        if self.function.strict:
            self.slacks[k] = -self.violations[k]
            self.estimates[k] = mu / self.slacks[k]
            return
        # π − μ/(δπ) = t: each of the two forms of the positive root is accurate for one sign of t.
        t = self.estimates[k]
        root = np.sqrt(t * t + 4.0 * mu / delta)
        self.estimates[k] = np.where(t > 0.0, 0.5 * (t + root), 2.0 * mu / delta / (root - t))
        self.slacks[k] = mu / self.estimates[k]

    def _measure_terms(self) -> tuple[float, float, float, float]:
        """Return the cost, the logarithms, and the two parts of the quadratic term."""
        # Kept separate, because their absolute values bound the rounding error of the sum.
        function, slacks = self.function, self.slacks[self.inequalities]
        if not (slacks > 0.0).all():
            return math.inf, 0.0, 0.0, 0.0
        pi, centers, half = self.estimates[self.soft], function.centers[self.soft], 0.5 * function.delta
        logarithms = -function.mu * float(np.log(slacks).sum())
        cost = self.point.cost / function.units.cost
        return cost, logarithms, half * float(pi @ pi), -half * float(centers @ centers)

    @property
    def noise(self) -> float:
        """Bound on the rounding error of the value."""
        return 16.0 * _EPS * sum(map(abs, self._terms))

    @cached_property
    def lagrangian(self) -> LocalLagrangian:
        """The scaled Lagrangian with the multipliers z and y."""
        return self.function.units.lagrangian(self.function.constraints, self.multipliers).at(self.point)

    @cached_property
    def gradient(self) -> Coordinates:
        """The Riemannian gradient of Φ."""
        constraints, units = self.function.constraints, self.function.units
        weights = self.weights * self.estimates
        return self.frame.gradient(
            constraints.lagrangian_gradient(self.frame.point, 1.0 / units.cost, weights)
        )

    @cached_property
    def stiffness(self) -> Array:
        """The diagonal D of the primal-dual Hessian: 1/(δ + s/z)."""
        function, k = self.function, self.inequalities
        stiffness = np.full(len(self.slacks), 1.0 / function.delta)
        flexibility = self.slacks[k] / self.multipliers[k]
        stiffness[k] = 1.0 / (flexibility if function.strict else function.delta + flexibility)
        return stiffness

    def slopes(self, c: Coordinates) -> Array:
        """Return J c: the derivatives of the scaled constraints along a tangent vector."""
        return self.weights * self.function.constraints.derivative(self.frame.point, self.frame.tangent(c))

    def pull(self, w: Array) -> Coordinates:
        """Return Jᵀ w: the sum of the gradients of the scaled constraints with the given weights."""
        terms = self.function.constraints.adjoint(self.frame.point, self.weights * w)
        return self.frame.gradient(total(terms))

    def hessian_product(self, c: Coordinates) -> Coordinates:
        """Return (H + Jᵀ D J) c, where H is the Hessian of the Lagrangian.

        Newton's method on the equations has this matrix after all unknowns except x are eliminated. The
        Newton step d solves (H + Jᵀ D J) d = −∇Φ, and the next multipliers are π + D J d.
        """
        product = self.lagrangian.hessian_product(c)
        if self.stiffness.size:
            product = product + self.pull(self.stiffness * self.slopes(c))
        return product

    @cached_property
    def _inverse(self) -> Operator:
        return self.function.preconditioner(self)

    def precondition(self, c: Coordinates) -> Coordinates:
        """Return an approximate inverse of the Hessian applied to `c`."""
        return self._inverse(c)

    def moved(self, c: Coordinates) -> LocalBarrier | None:
        """Return Φ after a step, with the same multipliers; None if the functions are not defined there."""
        constraints = self.function.constraints
        try:
            point = constraints.evaluate(self.frame.move(c))
        except UNDEFINED:
            return None
        defined = math.isfinite(point.cost) and bool(np.isfinite(point.constraints).all())
        return self.function.at(point, self.multipliers) if defined else None

    @property
    def limit_point(self) -> EvaluatedPoint:
        """The point with the inequalities set to 0 that become active as μ decreases: those with s < z."""
        k, values = self.inequalities, self.point.constraints.copy()
        values[k] = np.where(self.slacks[k] < self.multipliers[k], 0.0, values[k])
        return replace(self.point, constraints=values)

    @property
    def violation(self) -> float:
        """The largest violation of a scaled constraint."""
        equality = self.function.constraints.is_equality
        excess = np.where(equality, np.abs(self.violations), np.maximum(self.violations, 0.0))
        return float(excess.max(initial=0.0))

    @cached_property
    def residual(self) -> float:
        """The residual of the equations at x, z and y."""
        k = self.inequalities
        products = np.abs(self.multipliers * self.slacks - self.function.mu)[k]
        coupling = self.function.delta * np.abs(self.multipliers - self.estimates)[self.soft]
        stationarity = self.frame.norm(self.lagrangian.gradient)
        return max(stationarity, float(products.max(initial=0.0)), float(coupling.max(initial=0.0)))


class BarrierPreconditioner:
    """Make preconditioners at the points of a solve, after inspecting the constraints at the start.

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
        # Otherwise the next product would multiply rounding errors normal to the manifold by D.
        return lambda c: frame.coordinates(self.manifold.project(frame.point, frame.tangent(inverse(c))))

    def _inverse(self, model: LocalBarrier) -> Operator:
        frame, sigma = model.frame, _mean_curvature(model)
        diagonal = sigma + self._diagonal(model)
        projected = [frame.gradient(frame.tangent(v)) for v in self._draws]
        normal = np.reshape(self._draws - np.reshape(projected, self._draws.shape), (-1, frame.dim))
        stiff = self.stiff_indices(model, sigma)
        gradients = self.constraints.gradients(frame.point, stiff)
        rows = np.reshape([np.ravel(frame.gradient(g)) for g in gradients], (len(stiff), frame.dim))
        rows = rows * model.weights[stiff, None]
        return _inverted(diagonal, normal, rows, model.stiffness[stiff])

    def _diagonal(self, model: LocalBarrier) -> Array:
        """Return the part of Jᵀ D J from separable constraints."""
        if not self._separable:
            return np.zeros(model.frame.dim)
        which = self.entries >= 0
        slopes = model.slopes(np.ones(model.frame.shape))
        weights = (model.stiffness * slopes**2)[which]
        return np.asarray(np.bincount(self.entries[which], weights, model.frame.dim), dtype=float)

    def stiff_indices(self, model: LocalBarrier, sigma: float) -> Indices:
        """Return the constraints whose gradients to form, in increasing order."""
        stiff = np.flatnonzero((self.entries < 0) & (model.stiffness > _STIFF * sigma))
        stiffest = np.argsort(-model.stiffness[stiff])[:_MOST_ROWS]
        return np.sort(stiff[stiffest])

    def _inverse_by_inner_products(self, model: LocalBarrier) -> Operator:
        """Do the same in a frame whose coordinates can only be added, scaled and paired."""
        frame = model.frame
        sigma = _mean_curvature(model)
        stiff = self.stiff_indices(model, sigma)
        gradients = self.constraints.gradients(frame.point, stiff)
        rows = [w * frame.gradient(g) for w, g in zip(model.weights[stiff], gradients, strict=True)]
        basis = _orthonormalized(frame, rows)
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
    """Return the position of the only entry of x that each constraint depends on; −1 if there are more.

    Bounds know their entries. Other constraints are tested by two random directional derivatives: a gradient
    with a single entry aᵢ has the slope aᵢ along the vector of ones, and aᵢ vᵢ along v. In frames whose
    coordinates are not the entries of x, no constraint is separable.

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
    # A sum of several entries may be close to one of them by chance, but not along both vectors.
    error = np.abs(slope * first[entries] - slopes[0]) + np.abs(slope * second[entries] - slopes[1])
    return np.where((error <= 1e-12 * np.abs(slope)) & (slope != 0.0), entries, bounded)


def _mean_curvature(model: LocalBarrier) -> float:
    """Estimate the size of the Hessian of the Lagrangian from a product with a random vector."""
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
    # In the variables √B c, the matrix is I + Wᵀ D W with W = Rᵀ Qᵀ: the identity orthogonal to Q.
    onto, back, triangle = _orthogonal_factors(np.vstack([normal, rows]) / root)
    inner = triangle[len(normal) :, len(normal) :]
    factor = cho_factor(np.eye(len(inner)) + (inner * stiffness) @ inner.T) if len(inner) else None

    def apply(c: Coordinates) -> Coordinates:
        rest = np.ravel(c) / root
        parts = np.zeros(len(triangle))
        for _ in range(2):  # twice, to remove the rounding errors of the first time
            more = onto(rest)
            rest, parts = rest - back(more), parts + more
        if factor is not None:
            parts[: len(normal)] = 0.0
            parts[len(normal) :] = cho_solve(factor, parts[len(normal) :])
            rest = rest + back(parts)
        return np.reshape(rest / root, np.shape(c))

    return apply


def _orthogonal_factors(rows: Array) -> tuple[Function, Function, Array]:
    """Return the maps Qᵀ and Q, and R, with QR the transpose of a matrix.

    Orthogonalizing many rows is slow. If they are far from dependent, Rᵀ is the Cholesky factor of their Gram
    matrix, a fifth of the work, and Q is applied as a product without being formed.
    """
    lengths = np.linalg.norm(rows, axis=1)
    unit = rows / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    try:
        lower = np.linalg.cholesky(unit @ unit.T)
        independent = bool(lower.diagonal().min() > _INDEPENDENT)
    except np.linalg.LinAlgError:
        independent = False
    if not independent:
        basis, triangle = np.linalg.qr(rows.T)
        return lambda c: basis.T @ c, lambda w: basis @ w, triangle
    return (
        lambda c: solve_triangular(lower, unit @ c, lower=True, check_finite=False),
        lambda w: unit.T @ solve_triangular(lower, w, lower=True, trans=1, check_finite=False),
        lower.T * lengths,
    )


def _orthonormalized(frame: Frame, vectors: list[Coordinates]) -> list[Coordinates]:
    """Return an orthonormal basis of the span of some tangent vectors."""
    basis: list[Coordinates] = []
    for vector in vectors:
        rest, _ = _separated(frame, vector, basis)
        length = frame.norm(rest)
        if length > _DEPENDENT * frame.norm(vector):
            basis.append(rest / length)
    return basis


def _separated(frame: Frame, c: Coordinates, basis: list[Coordinates]) -> tuple[Coordinates, Array]:
    """Return the part of `c` orthogonal to the basis, and the components of the other part."""
    parts = np.zeros(len(basis))
    for _ in range(2):
        more = np.array([frame.inner(q, c) for q in basis])
        for part, q in zip(more, basis, strict=True):
            c = c - part * q
        parts = parts + more
    return c, parts


def _flat(u: Vector) -> Array:
    return np.concatenate([np.ravel(part) for part in leaves(u)])
