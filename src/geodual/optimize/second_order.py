"""The second-order condition: whether the cost can fall along directions that keep active constraints.

At a point that satisfies the KKT conditions, the Hessian of the Lagrangian must not have negative curvature
on the tangent vectors that are orthogonal to the gradients of all active constraints. It is necessary for a
minimum. At a maximum or a strict saddle point it fails, and the direction of least curvature leads away.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.manifolds.frame import Coordinates
from geodual.manifolds.recoded import orthonormal_frame

from .active_set import kkt_system
from .constraint import UNDEFINED
from .kkt import Units
from .lagrangian import LocalLagrangian
from .newton_cg import evaluate_trial
from .problem import ConstraintVector, EvaluatedPoint
from .result import SecondOrder

_NEGATIVE = -1e-5  # curvature of the scaled Lagrangian below which it counts as negative
_ACTIVE = 1e-6  # scaled value of an inequality from which it counts as active
_MANY = 50  # active constraints whose gradients are formed only if need be
_STEPS = 40  # of Lanczos at most: enough for the sign of an extreme eigenvalue that is not tiny
_EVERY = 4  # Lanczos steps between two estimates
_UNLUCKY = 10.0  # so many times smaller than usual may the share of an eigenvector in a random start be
_NOTHING = 1e-8  # relative length of a new direction from which it is rounding noise
_HALVINGS = 20  # of the step beside a saddle point
_PENALTY = 3.0  # of the scaled problem: the one with which the default method begins
_STIFF = 100.0  # penalty that keeps the step near the constraints


@dataclass(frozen=True)
class Curvature:
    """The least curvature found, and a direction of unit length that has it.

    Attributes
    ----------
    least : float
        Smallest eigenvalue of the Hessian of the scaled Lagrangian on the critical subspace; 0 if that is
        empty.
    direction : Coordinates
        A tangent vector with that curvature.
    """

    least: float
    direction: Coordinates

    @property
    def is_negative(self) -> bool:
        """Whether the second-order necessary condition fails."""
        return self.least < _NEGATIVE

    def lower_point(
        self, moved: Callable[[Coordinates], Any], value: float, unit: float
    ) -> EvaluatedPoint | None:
        """Return a point along the direction at which a function is lower; None if there is none.

        Parameters
        ----------
        moved : callable
            ``moved(c)`` returns the function after a step, with `value` and `point`; None where it has none.
        value : float
            What to fall below.
        unit : float
            Length of the longest step.
        """
        for length in unit * 0.5 ** np.arange(_HALVINGS):
            for sign in (1.0, -1.0):
                trial = moved(sign * length * self.direction)
                # A quarter of the fall that the curvature promises is enough.
                if trial is not None and trial.value < value + 0.125 * length**2 * self.least:
                    point: EvaluatedPoint = trial.point
                    return point
        return None


def least_curvature(
    constraints: ConstraintVector, units: Units, point: EvaluatedPoint, multipliers: Array
) -> Curvature | None:
    """Return the least curvature of the Lagrangian along the active constraints; None if it is not known.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    units : Units
        Sizes of cost and constraints.
    point : EvaluatedPoint
        A point that satisfies the KKT conditions.
    multipliers : array of shape (m,)
        Its multipliers.
    """
    if not point.frame.orthonormal:  # pymanopt's tangent vectors have no fixed coordinates
        return _least_curvature_in_a_basis(constraints, units, point, multipliers)
    y = units.scaled(multipliers)
    model = units.lagrangian(constraints, y).at(point)
    try:
        found = _least_curvature_along(constraints, units, model)
    except UNDEFINED:  # a derivative does not exist here, as that of a norm at 0
        return None
    return found if found is not None and math.isfinite(found.least) else None


def _least_curvature_in_a_basis(
    constraints: ConstraintVector, units: Units, point: EvaluatedPoint, multipliers: Array
) -> Curvature | None:
    """Return the least curvature by way of an orthonormal basis; None if that would take too long."""
    frame = orthonormal_frame(point.frame, constraints.problem.manifold.dim)
    if frame is None:
        return None
    found = least_curvature(constraints, units, replace(point, frame=frame), multipliers)
    return found and Curvature(found.least, frame.unpack(found.direction))


def _least_curvature_along(
    constraints: ConstraintVector, units: Units, model: LocalLagrangian
) -> Curvature | None:
    """Return the least curvature in directions along the active constraints; None if it is unknown."""
    active = constraints.is_equality | (model.violations > -_ACTIVE)
    # A tangent vector to start from: Krylov spaces of it hold tangent vectors only.
    start = np.ravel(model.frame.random(np.random.default_rng(0)))
    if not active.any():
        return _least_curvature_anywhere(model, start)
    if active.sum() > _MANY:
        # Along the constraints a penalty vanishes. So if nothing is negative with it, nothing is along them,
        # and their gradients, which take long to form and to factor, are not needed.
        stiff = replace(model.function, penalty=_PENALTY).at(model.point)
        with_penalty = _least_curvature_anywhere(stiff, start)
        if not with_penalty.is_negative:
            return with_penalty
    system = kkt_system(constraints, units, model, active)
    if system is None:
        return None

    def product(v: Array) -> Array:
        # Project before and after: rounding errors across the constraints would grow with every product.
        return system.project(system.hessian(system.project(v)))

    value, vector = least_eigenpair(product, system.project(start))
    return Curvature(value, vector.reshape(model.frame.shape))


def _least_curvature_anywhere(model: LocalLagrangian, start: Array) -> Curvature:
    """Return the least curvature in all directions."""
    shape = model.frame.shape
    value, vector = least_eigenpair(lambda v: np.ravel(model.hessian_product(v.reshape(shape))), start)
    return Curvature(value, vector.reshape(shape))


def judge(
    constraints: ConstraintVector, units: Units, point: EvaluatedPoint, multipliers: Array
) -> tuple[SecondOrder, EvaluatedPoint | None]:
    """Return whether the second-order condition holds at a KKT point; if it fails, return a lower point too.

    Negative curvature alone does not prove that it fails: derivatives by differences are inexact, and where
    gradients of active constraints are dependent the condition is stronger than necessary. A lower value of
    the augmented Lagrangian does.
    """
    curvature = least_curvature(constraints, units, point, multipliers)
    if curvature is None:
        return "unknown", None
    if not curvature.is_negative:
        return "holds", None
    objective = units.lagrangian(constraints, units.scaled(multipliers), penalty=_STIFF)
    model = objective.at(point)

    def moved(c: Coordinates) -> LocalLagrangian | None:
        trial = evaluate_trial(objective, point.frame.move(c))
        return None if isinstance(trial, str) else trial

    lower = curvature.lower_point(moved, model.value - model.noise, point.frame.unit)
    return ("unknown", None) if lower is None else ("fails", lower)


def least_eigenpair(product: Callable[[Array], Array], start: Array) -> tuple[float, Array]:
    """Return the smallest eigenvalue of a symmetric operator and its eigenvector, by Lanczos steps.

    They end once the sign is known: a negative estimate proves negative curvature; a positive one counts when
    a negative eigenvalue would have shown.
    """
    length = float(np.linalg.norm(start))
    if length <= _NOTHING:
        return 0.0, start
    basis, images = [start / length], []
    while True:
        images.append(product(basis[-1]))
        V = np.array(basis)
        # Orthogonalise twice against all earlier vectors: without it, rounding errors repeat eigenvalues.
        residual = images[-1] - V.T @ (V @ images[-1])
        residual -= V.T @ (V @ residual)
        length = float(np.linalg.norm(residual))
        # An invariant subspace is exact: a random start has a part in every eigenspace.
        last = length <= _NOTHING * float(np.linalg.norm(images[-1])) or len(basis) >= min(_STEPS, start.size)
        if last or len(basis) % _EVERY == 0:
            T = V @ np.array(images).T
            values, vectors = np.linalg.eigh(0.5 * (T + T.T))
            if last or values[0] < 10.0 * _NEGATIVE or would_have_shown(values, start.size):
                return float(values[0]), np.asarray(vectors[:, 0] @ V)
        basis.append(residual / length)


def would_have_shown(values: Array, n: int) -> bool:
    """Return whether k Lanczos steps, which found these eigenvalues, would have found one below 0, too.

    Its eigenvector has a share of about 1/√n in a random start. Compared with eigenvalues from a to b, that
    share grows by the factor T_{k−1}((b + a)/(b − a)), the Chebyshev polynomial (Saad, *Numerical Methods for
    Large Eigenvalue Problems*, Section 6.6).
    """
    a, b = float(values[0]), float(values[-1])
    if not a > 0.0:
        return False
    growth = (len(values) - 1) * math.acosh((b + a) / max(b - a, math.ulp(b)))
    return growth > math.log(2.0 * _UNLUCKY * math.sqrt(n))
