"""The second-order condition: whether a feasible point of lower cost lies close to a KKT point.

At a minimum, the Hessian of the Lagrangian has no negative curvature on the critical cone: the tangent
vectors that keep all active constraints with a multiplier and do not violate the other active ones. Without
such others, the cone is a subspace, and Lanczos steps find the smallest curvature there. With them, curvature
is first measured on the larger subspace that ignores them. If it is not negative there, the condition holds;
otherwise directions of the cone are tried. The verdict that the condition fails always rests on a feasible
point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.manifolds.frame import Coordinates
from geodual.manifolds.recoded import orthonormal_frame

from .active_set import JacobianProducts, StoredJacobian, active_jacobian
from .constraint import UNDEFINED
from .feasibility import least_violation, remaining_violation
from .kkt import Units
from .lagrangian import Lagrangian, LocalLagrangian
from .newton_cg import evaluate_trial
from .problem import ConstraintVector, EvaluatedPoint
from .result import SecondOrder

_NEGATIVE = -1e-5  # curvature of the scaled Lagrangian beyond rounding errors
_ACTIVE = 1e-6  # scaled value of an inequality above which it counts as active
_WEAK = 1e-5  # scaled multiplier up to which an active inequality is weakly active: the root of a μ of 1e-10
_MANY = 50  # number of active constraints above which gradients are formed only if needed
_STEPS = 40  # maximum of Lanczos steps: enough for the sign of an extreme eigenvalue that is not tiny
_EVERY = 4  # Lanczos steps between two estimates
_UNLUCKY = 10.0  # factor by which the share of an eigenvector in a random start may be smaller than usual
_NOTHING = 1e-6  # relative length up to which a new direction may be noise; differences have errors of 1e-8
_HALVINGS = 20  # of the step away from a saddle point
_FLAT_STEPS = np.array([0.01, 0.1])  # units of length; a fifth derivative of size 1 shows in the longer one
_FLAT = 3e-3  # curvature that a third derivative of size 1 outweighs within the shorter one
_PENALTY = 3.0  # of the scaled problem, as at the start of the default method
_STIFF = 100.0  # penalty that keeps the step near the constraints
_FEASIBLE = 1e-9  # scaled violation of a point that counts as feasible
_ATTEMPTS = 4  # points per direction from which to search for a feasible one
_DRAWS = 3  # random directions of the cone from which to search for negative curvature
_SWEEPS = 20  # of a projection onto the cone; for bounds, one is enough


@dataclass(frozen=True)
class Curvature:
    """A direction of unit length, and the curvature of the scaled Lagrangian along it.

    Attributes
    ----------
    least : float
        The curvature; inf if there is no direction.
    direction : Coordinates
        A tangent vector with that curvature.
    """

    least: float
    direction: Coordinates

    @property
    def is_negative(self) -> bool:
        """Whether the Lagrangian decreases along the direction, to second order."""
        return self.least < _NEGATIVE

    def lower_points(
        self, moved: Callable[[Coordinates], Any], value: float, unit: float
    ) -> Iterator[EvaluatedPoint]:
        """Yield points in both senses of the direction at which a function is lower.

        Parameters
        ----------
        moved : callable
            ``moved(c)`` returns the function after a step, with `value` and `point`; None where it is not
            defined.
        value : float
            The value to get below.
        unit : float
            Length of the longest step.
        """
        # Without curvature, steps must be long enough to reveal higher derivatives.
        lengths = 0.5 ** np.arange(_HALVINGS) if self.is_negative else _FLAT_STEPS
        for length in unit * lengths:
            for sign in (1.0, -1.0):
                trial = moved(sign * length * self.direction)
                # A quarter of the decrease predicted by the curvature is enough.
                if trial is not None and trial.value < value + 0.125 * length**2 * min(self.least, 0.0):
                    yield trial.point

    def lower_point(
        self, moved: Callable[[Coordinates], Any], value: float, unit: float
    ) -> EvaluatedPoint | None:
        """Return the first of `lower_points`; None if there is none."""
        return next(self.lower_points(moved, value, unit), None)


@dataclass(frozen=True)
class Judgment:
    """The verdict on a KKT point.

    Attributes
    ----------
    verdict : str
        Whether the second-order condition "holds", "fails", or is "unknown".
    lower : EvaluatedPoint or None
        If it fails, a feasible point nearby that costs less.
    curvature : Curvature or None
        The direction that leads there.
    """

    verdict: SecondOrder
    lower: EvaluatedPoint | None = None
    curvature: Curvature | None = None


def judge(constraints: ConstraintVector, units: Units, point: EvaluatedPoint, multipliers: Array) -> Judgment:
    """Judge the second-order condition at a KKT point; if it fails, find a feasible lower point.

    It is "unknown" if the curvature is negative but no lower point was found: finite differences are inexact,
    the condition is stronger than necessary if gradients of active constraints are dependent, and whether
    curvature is negative on a cone is hard to decide. It is also "unknown" if a derivative does not exist,
    and in more than 100 dimensions on pymanopt's manifolds, whose tangent vectors have no fixed coordinates.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    units : Units
        Units of cost and constraints.
    point : EvaluatedPoint
        A point that satisfies the KKT conditions.
    multipliers : array of shape (m,)
        Its multipliers.
    """
    if not point.frame.orthonormal:
        return _judge_in_a_basis(constraints, units, point, multipliers)
    try:
        around = _Surroundings(constraints, units, point, units.scaled(multipliers))
        curvature = around.least_curvature()
        if curvature is None or not curvature.least > -math.inf:
            return Judgment("unknown")
        if curvature.least > _FLAT:
            return Judgment("holds")
        for candidate in around.candidates(curvature):
            lower = around.lower_point(candidate)
            if lower is not None:
                return Judgment("fails", lower, candidate)
    except UNDEFINED:  # a derivative does not exist here, such as that of a norm at 0
        return Judgment("unknown")
    return Judgment("unknown" if curvature.is_negative else "holds")


def _judge_in_a_basis(
    constraints: ConstraintVector, units: Units, point: EvaluatedPoint, multipliers: Array
) -> Judgment:
    """Judge in an orthonormal basis of tangent vectors, if the frame's coordinates are not orthonormal."""
    frame = orthonormal_frame(point.frame, constraints.problem.manifold.dim)
    if frame is None:
        return Judgment("unknown")
    found = judge(constraints, units, replace(point, frame=frame), multipliers)
    if found.curvature is None:
        return found
    return replace(found, curvature=Curvature(found.curvature.least, frame.unpack(found.curvature.direction)))


class _Surroundings:
    """A KKT point with multipliers y of the scaled problem, and its neighborhood."""

    def __init__(self, constraints: ConstraintVector, units: Units, point: EvaluatedPoint, y: Array) -> None:
        self.constraints, self.units, self.point, self.y = constraints, units, point, y
        # Start from a tangent vector: its Krylov spaces contain only tangent vectors.
        self.start = np.ravel(point.frame.random(np.random.default_rng(0)))
        model = units.lagrangian(constraints, y).at(point)
        active = constraints.is_equality | (model.violations > -_ACTIVE)
        active[constraints.tail] = False  # terms have no sides; their curvature is that of the envelope
        self.weak = active & ~constraints.is_equality & (y <= _WEAK)
        self.kept = active & ~self.weak
        # Treat weakly active inequalities as amply satisfied, so that no penalty hides what lies beyond.
        values = np.where(self.weak, -units.constraints, point.constraints)
        self.model = units.lagrangian(constraints, np.where(self.weak, 0.0, y)).at(
            replace(point, constraints=values)
        )

    def least_curvature(self) -> Curvature | None:
        """Return the smallest curvature along the constraints that are kept; None if it is unknown."""
        if self.constraints.functions:
            return self._least_with_terms()
        if not self.kept.any():
            return self._least(self.hessian, self.start)
        if self.kept.sum() > _MANY:
            # A penalty vanishes along the constraints. So if no curvature is negative with it, none is along
            # them, and their gradients, which are slow to form and factor, are not needed.
            stiff = replace(self.model.function, penalty=_PENALTY).at(self.model.point)
            with_penalty = self._least(partial(_product, stiff), self.start)
            if not with_penalty.is_negative:
                return with_penalty
        if self._kept_jacobian is None:
            return None
        # Project before and after; otherwise rounding errors normal to the constraints grow with every
        # product.
        return self._least(lambda v: self.along(self.hessian(self.along(v))), self.along(self.start))

    def _least_with_terms(self) -> Curvature:
        """Return the smallest curvature of the augmented Lagrangian, whose minima are minima of the problem.

        The envelopes have the curvature of the terms, which matters for cones and norms. At a kink that can
        be left, where y is on the boundary of the subgradients, the curvature on every side counts.
        """
        rng, tail = np.random.default_rng(0), self.constraints.tail
        sides = [0.0, 1.0, -1.0, *rng.choice([-1.0, 1.0], (_DRAWS, tail.stop - tail.start))]
        found = Curvature(math.inf, self.point.frame.random(rng))
        seen: list[Array] = []
        for side in sides:
            y = np.array(self.model.function.multipliers)
            y[tail] += _WEAK * side
            function = replace(self.model.function, multipliers=y)
            curved = replace(function, penalty=_STIFF).at(self.model.point).penalty_map
            probe = np.zeros(0) if curved is None else curved(np.ones(len(y)))
            if not any(np.allclose(probe, other) for other in seen):
                seen.append(probe)
                found = min(found, self._least_with_penalty(function), key=lambda c: c.least)
        return found

    def _least_with_penalty(self, function: Lagrangian) -> Curvature:
        """Return the smallest curvature with a penalty; larger penalties only increase it, so try several."""
        for penalty in (_PENALTY, _STIFF, _STIFF**2):
            stiff = replace(function, penalty=penalty).at(self.model.point)
            found = self._least(partial(_product, stiff), self.start)
            if not found.is_negative:
                break
        return found

    def _least(self, product: Callable[[Array], Array], start: Array) -> Curvature:
        value, vector = least_eigenpair(product, start)
        return Curvature(value, vector.reshape(self.point.frame.shape))

    def hessian(self, v: Array) -> Array:
        """Return the Hessian of the Lagrangian times `v`."""
        return _product(self.model, v)

    def _jacobian(self, chosen: NDArray[np.bool_]) -> StoredJacobian | JacobianProducts | None:
        return active_jacobian(self.constraints, self.point.frame, 1.0 / self.units.constraints, chosen)

    @cached_property
    def _kept_jacobian(self) -> StoredJacobian | JacobianProducts | None:
        return self._jacobian(self.kept)

    @cached_property
    def _weak_jacobian(self) -> StoredJacobian | JacobianProducts | None:
        return self._jacobian(self.weak)

    def along(self, v: Array) -> Array:
        """Return the part of `v` along the constraints that are kept."""
        J = self._kept_jacobian if self.kept.any() else None
        return v if J is None else np.asarray(v - J.adjoint(J.solve_gram(J.apply(v))))

    def candidates(self, curvature: Curvature) -> Iterable[Curvature]:
        """Return directions of the critical cone along which the Lagrangian may decrease."""
        J = self._weak_jacobian if self.weak.any() else None
        if J is None:
            return (curvature,)
        cone = _Cone(J, int(self.weak.sum()), self.along)
        first, shape = np.ravel(curvature.direction), self.point.frame.shape
        if not curvature.is_negative:
            return [Curvature(0.0, d.reshape(shape)) for d in map(cone.into, (first, -first))]
        found = (cone.least_curvature(self.hessian, start) for start in cone.starts(first))
        return (Curvature(value, v.reshape(shape)) for value, v in found if value < _NEGATIVE)

    def lower_point(self, candidate: Curvature) -> EvaluatedPoint | None:
        """Return a feasible point along a direction whose lower cost is not explained by residuals."""
        objective = self.units.lagrangian(self.constraints, self.y, penalty=_STIFF)
        here = objective.at(self.point)

        def moved(c: Coordinates) -> LocalLagrangian | None:
            trial = evaluate_trial(objective, self.point.frame.move(c))
            return None if isinstance(trial, str) else trial

        trials = candidate.lower_points(moved, here.value - here.noise, self.point.frame.unit)
        for trial in islice(trials, _ATTEMPTS):
            back = least_violation(self.constraints, self.units, trial, _FEASIBLE)
            if remaining_violation(back) <= _FEASIBLE and self._is_lower(back.model.point):
                return back.model.point
        return None

    def _is_lower(self, other: EvaluatedPoint) -> bool:
        """Return whether a point costs less by more than the residual here and both violations explain."""
        frame, model = self.point.frame, self.units.lagrangian(self.constraints, self.y).at(self.point)
        sizes = self._violations(self.point) + self._violations(other)
        explained = float(np.abs(self.y) @ (sizes / self.units.constraints))
        explained += frame.norm(model.gradient) * frame.unit + model.noise
        fall = self.constraints.total_cost(self.point) - self.constraints.total_cost(other)
        return fall / self.units.cost > explained

    def _violations(self, point: EvaluatedPoint) -> Array:
        """Return the distances of constraints from 0, and of the maps of terms from their domain."""
        off = np.abs(point.constraints)
        tail = self.constraints.tail
        off[tail] = np.abs(point.constraints - self.constraints.prox(point.constraints, 0.0))[tail]
        return off


class _Cone:
    """The vectors d along the constraints that are kept, with J d ≤ 0 for the weakly active ones.

    Parameters
    ----------
    J : StoredJacobian or JacobianProducts
        Gradients of the weakly active constraints.
    size : int
        Number of weakly active constraints.
    along : callable
        Projects onto the vectors along the constraints that are kept.
    """

    def __init__(
        self, J: StoredJacobian | JacobianProducts, size: int, along: Callable[[Array], Array]
    ) -> None:
        self._J, self._size, self._along = J, size, along
        self._stiffness = self._greatest_eigenvalue()

    def _pull(self, w: Array) -> Array:
        return self._along(self._J.adjoint(w))

    def _greatest_eigenvalue(self) -> float:
        """Return the largest eigenvalue of the Gram matrix of the gradients, by the power method."""
        w: Array = np.ones(self._size)
        value = 0.0
        for _ in range(_SWEEPS):
            w = self._J.apply(self._pull(w))
            value = float(np.linalg.norm(w))
            if value == 0.0:
                break
            w = w / value
        return value

    def into(self, d: Array) -> Array:
        """Project `d` onto the cone (Hildreth's dual method), and scale it to length 1 unless it is 0."""
        d = self._along(d)
        slopes, w = self._J.apply(d), np.zeros(self._size)
        for _ in range(_SWEEPS if self._stiffness > 0.0 else 0):
            w = np.maximum(0.0, w + (slopes - self._J.apply(self._pull(w))) / self._stiffness)
        d = d - self._pull(w)
        length = float(np.linalg.norm(d))
        return d / length if length > _NOTHING else 0.0 * d

    def starts(self, first: Array) -> Iterator[Array]:
        """Yield vectors from which to search for negative curvature: both ways, then inward."""
        yield first
        yield -first
        draws = np.random.default_rng(0).exponential(size=(_DRAWS, self._size))
        for w in (np.ones(self._size), *draws):
            yield -self._pull(w)

    def least_curvature(self, product: Callable[[Array], Array], start: Array) -> tuple[float, Array]:
        """Return the smallest curvature that projected gradient steps from a vector find, with direction."""
        best, direction, slope, step = math.inf, start, 0.0 * start, 1.0
        for _ in range(_SWEEPS):
            d = self.into(direction - step * slope)
            image = product(d)
            value, length = float(d @ image), float(np.linalg.norm(image))
            if value < best:
                best, direction, slope = value, d, image / length if length > 0.0 else image
            else:
                step *= 0.5
        return best, direction


def _product(model: LocalLagrangian, v: Array) -> Array:
    """Return the Hessian of a function times a vector."""
    return np.ravel(model.hessian_product(v.reshape(model.frame.shape)))


def least_eigenpair(product: Callable[[Array], Array], start: Array) -> tuple[float, Array]:
    """Return the smallest eigenvalue of a symmetric operator and its eigenvector, by Lanczos steps.

    They end once the sign is known: a negative estimate proves negative curvature; a positive one counts once
    a negative eigenvalue would have shown.
    """
    length = float(np.linalg.norm(start))
    if length <= _NOTHING:
        return math.inf, start
    basis, images, largest = [start / length], [], 0.0
    while True:
        images.append(product(basis[-1]))
        largest = max(largest, float(np.linalg.norm(images[-1])))
        V = np.array(basis)
        # Orthogonalize twice against all earlier vectors; otherwise rounding errors repeat eigenvalues.
        residual = images[-1] - V.T @ (V @ images[-1])
        residual -= V.T @ (V @ residual)
        length = float(np.linalg.norm(residual))
        # An invariant subspace is exact: a random start has a part in every eigenspace.
        last = length <= _NOTHING * largest or len(basis) >= min(_STEPS, start.size)
        if last or len(basis) % _EVERY == 0:
            T = V @ np.array(images).T
            values, vectors = np.linalg.eigh(0.5 * (T + T.T))
            if last or values[0] < 10.0 * _NEGATIVE or would_have_shown(values, start.size):
                return float(values[0]), np.asarray(vectors[:, 0] @ V)
        basis.append(residual / length)


def would_have_shown(values: Array, n: int) -> bool:
    """Return whether the k Lanczos steps that found these eigenvalues would have found one below 0, too.

    Its eigenvector has a share of about 1/√n in a random start. Relative to eigenvalues from a to b, this
    share grows by the factor T_{k−1}((b + a)/(b − a)), the Chebyshev polynomial (Saad, *Numerical Methods for
    Large Eigenvalue Problems*, Section 6.6).
    """
    a, b = float(values[0]), float(values[-1])
    if not a > 0.0:
        return False
    growth = (len(values) - 1) * math.acosh((b + a) / max(b - a, math.ulp(b)))
    return growth > math.log(2.0 * _UNLUCKY * math.sqrt(n))
