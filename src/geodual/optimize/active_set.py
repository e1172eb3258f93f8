"""Polish a solution: Newton's method on the KKT system of the active constraints.

Near a solution it converges quadratically, whereas the method of multipliers converges linearly. It needs
second derivatives only in products. If active constraints are linearly dependent, it takes the smallest
multipliers.

The gradients of the active constraints are the rows of a matrix J. A small J is stored, and its Gram matrix J
Jᵀ is factored once. A large J, such as that of thousands of bounds, is never formed: a product takes one
directional derivative, and Gram systems are solved by conjugate gradients.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from geodual.arrays import Array
from geodual.manifolds import Frame

from .constraint import UNDEFINED
from .kkt import KKT, Units, measure_kkt
from .lagrangian import LocalLagrangian
from .problem import ConstraintVector, EvaluatedPoint
from .trees import total

_ENOUGH = 0.1  # share to which a step must reduce the residual to be followed by another
_CG_ACCURACY = (1e-10, 1e-3)  # smallest and largest relative residual of conjugate gradients
_MANY = 100  # number of constraints from which a polish is slow
_MANY_BELOW = 1e-6  # residual below which it may then pay off
_ROUNDING = 1e-13  # of projections, relative to the projected vector
_STORED = 4_000_000  # largest number of entries of a stored J: 32 MB
_SHIFT = 1e-10  # of the Gram matrix, relative to its trace, so that dependent gradients do no harm
_ACCURACY = 1e-14  # relative residual of conjugate gradients on a Gram system
_STEPS = 30  # their maximum number: every projection takes as many products


@dataclass(frozen=True)
class Polished:
    """A point with its multipliers (of the scaled problem), KKT residual and number of Hessian products."""

    point: EvaluatedPoint
    y: Array
    kkt: KKT
    n_products: int


def polish_limit(constraints: ConstraintVector, point: EvaluatedPoint) -> float:
    """Return the KKT residual below which a polish may pay off; 0 if none is possible."""
    if not (point.frame.orthonormal and constraints.size and constraints.is_separable):
        return 0.0
    return _MANY_BELOW if constraints.size > _MANY else math.inf


def polish(
    constraints: ConstraintVector, units: Units, start: Polished, penalty: float, target: float
) -> Polished:
    """Take Newton steps while each reduces the KKT residual tenfold; return the best point found.

    The frames must be orthonormal, because tangent vectors are stored as rows of a matrix.
    """
    best = start
    while best.kkt.worst > target:
        trial = _step(constraints, units, best, penalty)
        if trial is None:
            break
        if not trial.kkt.worst <= _ENOUGH * best.kkt.worst:
            return trial if trial.kkt.worst < best.kkt.worst else best
        best = trial
    return best


def _step(constraints: ConstraintVector, units: Units, best: Polished, penalty: float) -> Polished | None:
    """Take a Newton step on the constraints that seem active; return None if it fails."""
    augmented = units.lagrangian(constraints, best.y, penalty=penalty).at(best.point)
    # An inequality is active if the method of multipliers would give it a positive multiplier. An entry of a
    # term is active if its prox does not move; for the other entries, the multipliers do not move.
    active = augmented.fixed_entries
    if active is None:
        return None
    model = units.lagrangian(constraints, best.y).at(best.point)
    system = kkt_system(constraints, units, model, active, augmented)
    solution = system.solve(float(np.clip(best.kkt.worst, *_CG_ACCURACY))) if system else None
    if solution is None:
        return None
    direction, multipliers, n_products = solution
    y = np.where(active, 0.0, augmented.estimates)
    y[active] = multipliers
    try:
        point = constraints.evaluate(model.frame.move(direction))
    except UNDEFINED:
        return None  # the step is too long: no solution is near
    kkt = measure_kkt(constraints, point, units.unscaled(y), units)
    return Polished(point, y, kkt, best.n_products + n_products)


def kkt_system(
    constraints: ConstraintVector,
    units: Units,
    model: LocalLagrangian,
    active: NDArray[np.bool_],
    augmented: LocalLagrangian | None = None,
) -> KKTSystem | None:
    """Return the KKT system of the active constraints; None if `active_jacobian` has no matrix J for it.

    If there are terms, the augmented Lagrangian assigns their entries.
    """
    jacobian = active_jacobian(constraints, model.frame, 1.0 / units.constraints, active)
    return KKTSystem(constraints, units, model, active, jacobian, augmented) if jacobian else None


class KKTSystem:
    """The equations H d + Jᵀ y = −g, J d = −c of the active constraints, in frame coordinates."""

    def __init__(
        self,
        constraints: ConstraintVector,
        units: Units,
        model: LocalLagrangian,
        active: NDArray[np.bool_],
        jacobian: StoredJacobian | JacobianProducts,
        augmented: LocalLagrangian | None,
    ) -> None:
        self._model, self.jacobian = model, jacobian
        self._active, self._augmented = active, augmented or model
        self._residual = model.violations[active]
        frame, x = model.frame, model.frame.point
        # The model is already scaled by the units of cost and constraints; the gradient of the problem is
        # not.
        if augmented is None or augmented.prox_point is None:
            egrad = constraints.problem.gradient(x)
        else:
            self._residual = (model.violations - augmented.prox_point / units.constraints)[active]
            known = units.unscaled(np.where(active, 0.0, augmented.estimates))
            egrad = constraints.lagrangian_gradient(x, 1.0, known)
        self._gradient = np.ravel(frame.gradient(egrad)) / units.cost

    def solve(self, accuracy: float) -> tuple[Array, Array, int] | None:
        """Return direction, multipliers and the number of Hessian products; None at negative curvature."""
        # The direction is the sum of a normal part, which satisfies J d = −c, and a part in the null space of
        # J.
        normal = -self.jacobian.adjoint(self.jacobian.solve_gram(self._residual))
        force = self._gradient + self.hessian(normal)
        found = self._projected_cg(-force, accuracy)
        if found is None:
            return None
        tangential, image, n_products = found
        direction = (normal + tangential).reshape(self._model.frame.shape)
        return direction, self._multipliers(force + image), n_products + 1

    def hessian(self, d: Array) -> Array:
        """Return H d."""
        return np.ravel(self._model.hessian_product(d.reshape(self._model.frame.shape)))

    def project(self, d: Array) -> Array:
        """Return the part of `d` in the null space of J."""
        jacobian = self.jacobian
        return np.asarray(d - jacobian.adjoint(jacobian.solve_gram(jacobian.apply(d))))

    def _multipliers(self, force: Array) -> Array:
        """Return least-squares multipliers of the force g + H d, clipped to subgradients of the terms.

        For inequalities, this means y ≥ 0. The result need not be optimal; the KKT residual shows whether
        clipping did harm.
        """
        # With dependent gradients there are several: take the smallest, or otherwise those closest to the
        # estimates, which are not negative.
        jacobian, estimates = self.jacobian, self._model.estimates[self._active]
        y = -jacobian.solve_gram(jacobian.apply(force))
        clipped = self._subgradient(y)
        if not np.array_equal(clipped, y):
            y = estimates - jacobian.solve_gram(jacobian.apply(force + jacobian.adjoint(estimates)))
            clipped = self._subgradient(y)
        return clipped

    def _subgradient(self, y: Array) -> Array:
        """Clip the multipliers of active entries to subgradients: at least 0 for inequalities."""
        full = np.array(self._model.estimates)
        full[self._active] = y
        return self._augmented.subgradient(full)[self._active]

    def _projected_cg(self, force: Array, accuracy: float) -> tuple[Array, Array, int] | None:
        """Return d with P H P d = P force, H d, and the number of products; None at negative curvature."""
        # Conjugate gradients in the null space of J, onto which P projects.
        residual = self.project(force)
        step, image_sum, direction = np.zeros_like(force), np.zeros_like(force), residual
        squared = float(residual @ residual)
        enough = max(accuracy**2 * squared, _ROUNDING**2 * float(force @ force))
        # In exact arithmetic, as many products as the null space has dimensions are enough.
        budget = 2 * max(self._model.frame.dim - len(self._residual), 0) + 20
        for products in range(budget):
            if squared <= enough:
                return step, image_sum, products
            image = self.hessian(direction)
            curvature = float(direction @ image)
            if not curvature > 0.0:
                return None
            length = squared / curvature
            step, image_sum = step + length * direction, image_sum + length * image
            # Project again in every step, because rounding errors lead out of the null space of J.
            residual = self.project(residual - length * image)
            previous, squared = squared, float(residual @ residual)
            direction = residual + (squared / previous) * direction
        return step, image_sum, budget


def active_jacobian(
    constraints: ConstraintVector, frame: Frame, weights: Array, active: NDArray[np.bool_]
) -> StoredJacobian | JacobianProducts | None:
    """Return J for the active constraints, each multiplied by its weight.

    Return None if J is too large to store and too ill-conditioned for conjugate gradients, or if a gradient
    is not finite.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    frame : Frame
        The frame at the point; it must be orthonormal, because tangent vectors are stored as rows.
    weights : array of shape (m,)
        Scale factors of the constraints.
    active : boolean array of shape (m,)
        Which constraints are active.
    """
    indices = np.flatnonzero(active)
    if indices.size * frame.dim > _STORED:
        products = JacobianProducts(constraints, frame, weights, indices)
        return products if products.are_well_conditioned() else None
    rows = [np.ravel(frame.gradient(g)) for g in constraints.gradients(frame.point, indices)]
    stored = np.reshape(rows, (indices.size, frame.dim))
    return StoredJacobian(stored * weights[indices, None]) if np.isfinite(stored).all() else None


class StoredJacobian:
    """The matrix J with one row per active constraint, in frame coordinates."""

    def __init__(self, rows: Array) -> None:
        self._rows, self._gram = rows, rows @ rows.T
        self._factor = shifted_cholesky(self._gram)

    def apply(self, d: Array) -> Array:
        """Return J d."""
        return np.asarray(self._rows @ d)

    def adjoint(self, w: Array) -> Array:
        """Return Jᵀ w."""
        return np.asarray(self._rows.T @ w)

    def solve_gram(self, r: Array) -> Array:
        """Return w with J Jᵀ w = r, as far as one exists."""
        if not r.size:
            return r
        # LAPACK itself: scipy's wrapper takes ten times as long for small systems.
        w = dpotrs(self._factor, r, lower=1)[0]
        # Solve again for the remainder, which undoes the shift where it is not needed.
        for _ in range(2):
            w = w + dpotrs(self._factor, r - self._gram @ w, lower=1)[0]
        return np.asarray(w)


def shifted_cholesky(gram: Array) -> Array:
    """Return a Cholesky factor of the Gram matrix with the smallest shift for which it exists.

    It has LAPACK's memory order; otherwise each call would copy the matrix.
    """
    shift = max(_SHIFT * float(gram.trace()), sys.float_info.min)
    while True:
        factor, info = dpotrf(gram + shift * np.eye(len(gram)), lower=1)
        if not info:
            return np.asarray(factor)
        shift *= 10.0  # rounding errors of many dependent rows


@dataclass(frozen=True)
class JacobianProducts:
    """The same matrix, never formed, for the constraints `indices`, each multiplied by its weight."""

    constraints: ConstraintVector
    frame: Frame
    weights: Array
    indices: NDArray[np.intp]

    def apply(self, d: Array) -> Array:
        """Return J d."""
        u = self.frame.tangent(d.reshape(self.frame.shape))
        slopes = self.constraints.derivative(self.frame.point, u)
        return np.asarray((self.weights * slopes)[self.indices])

    def adjoint(self, w: Array) -> Array:
        """Return Jᵀ w."""
        full = np.zeros(self.constraints.size)
        full[self.indices] = w * self.weights[self.indices]
        return np.ravel(self.frame.gradient(total(self.constraints.adjoint(self.frame.point, full))))

    def solve_gram(self, r: Array) -> Array:
        """Return w with J Jᵀ w = r, as far as one exists."""
        return conjugate_gradients(lambda w: self.apply(self.adjoint(w)), r)[0]

    def are_well_conditioned(self) -> bool:
        """Return whether conjugate gradients solve a random Gram system within the budget of steps."""
        r = self.apply(np.random.default_rng(0).standard_normal(int(np.prod(self.frame.shape))))
        return conjugate_gradients(lambda w: self.apply(self.adjoint(w)), r)[1]


def conjugate_gradients(product: Callable[[Array], Array], r: Array) -> tuple[Array, bool]:
    """Return the smallest w with product(w) = r, and whether the budget of steps was enough."""
    w, residual, direction = np.zeros_like(r), r, r
    squared = float(r @ r)
    enough = _ACCURACY**2 * squared
    for _ in range(_STEPS):
        if squared <= enough:
            return w, True
        image = product(direction)
        curvature = float(direction @ image)
        if not curvature > 0.0:  # only rounding errors are left
            return w, True
        length = squared / curvature
        w, residual = w + length * direction, residual - length * image
        previous, squared = squared, float(residual @ residual)
        direction = residual + (squared / previous) * direction
    return w, squared <= 1e8 * enough
