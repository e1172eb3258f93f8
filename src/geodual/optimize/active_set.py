"""The polish: Newton's method on the KKT system of the active constraints.

Near a solution it converges quadratically where the method of multipliers converges linearly. Second
derivatives enter through products only. The constraints may be linearly dependent: the least multipliers
are taken then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from geodual.arrays import Array
from geodual.manifolds import NotOnManifoldError

from .constraint_vector import ConstraintVector, EvaluatedPoint
from .kkt import KKT, Units, measure_kkt
from .lagrangian import Lagrangian, LocalLagrangian

_MAX_STEPS = 12
_CG_ACCURACY = (1e-10, 1e-3)
_RANK = 1e-13  # of the Gram matrix, below which gradients count as dependent
_ROUNDING = 8.0 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class Polished:
    """A point and multipliers (of the scaled problem) with their KKT residual, and the products spent."""

    point: EvaluatedPoint
    y: Array
    kkt: KKT
    n_products: int


def polish(
    constraints: ConstraintVector, units: Units, start: Polished, penalty: float, target: float
) -> Polished:
    """Improve a point while each step at least halves the KKT residual; return the best found.

    The frames must be orthonormal: tangent vectors are handled as rows of a matrix.
    """
    best = start
    for _ in range(_MAX_STEPS):
        if best.kkt.worst <= target:
            break
        trial = _step(constraints, units, best, penalty)
        if trial is None:
            break
        if not trial.kkt.worst <= 0.5 * best.kkt.worst:
            return trial if trial.kkt.worst < best.kkt.worst else best
        best = trial
    return best


def _step(constraints: ConstraintVector, units: Units, best: Polished, penalty: float) -> Polished | None:
    """Take a Newton step on the constraints that look active; None where that makes no sense."""
    model = Lagrangian(constraints, best.y, 1.0 / units.cost, 1.0 / units.constraints).at(best.point)
    active = constraints.is_equality | (best.y + penalty * model.violations > 0.0)
    system = _KKTSystem(constraints, units, model, active)
    solution = system.solve(float(np.clip(best.kkt.worst, *_CG_ACCURACY)))
    if solution is None:
        return None
    direction, multipliers, n_products = solution
    y = np.zeros(constraints.size)
    y[active] = multipliers
    try:
        point = constraints.evaluate(model.frame.move(direction))
    except (np.linalg.LinAlgError, NotOnManifoldError):
        return None  # too long a step: there is no solution nearby yet
    kkt = measure_kkt(constraints, point, units.unscaled(y), units)
    return Polished(point, y, kkt, best.n_products + n_products)


class _KKTSystem:
    """The equations H d + Jᵀ y = −g, J d = −c of the active constraints in frame coordinates."""

    def __init__(
        self, constraints: ConstraintVector, units: Units, model: LocalLagrangian, active: NDArray[np.bool_]
    ) -> None:
        self._model = model
        self._residual = model.violations[active]
        self._lower = np.where(constraints.is_equality[active], -np.inf, 0.0)
        self._gradient = self._cost_gradient(constraints, units)
        self._rows = self._active_rows(constraints, units, active)
        spectrum, basis = np.linalg.eigh(self._rows @ self._rows.T)
        kept = spectrum > _RANK * spectrum.max(initial=0.0)
        self._roots, self._basis = np.sqrt(spectrum[kept]), basis[:, kept]

    def _cost_gradient(self, constraints: ConstraintVector, units: Units) -> Array:
        frame = self._model.frame
        return np.ravel(frame.gradient(constraints.problem.gradient(frame.point))) / units.cost

    def _active_rows(self, constraints: ConstraintVector, units: Units, active: NDArray[np.bool_]) -> Array:
        """Return J: the gradients of the active constraints, one a row."""
        frame, indices = self._model.frame, np.flatnonzero(active)
        rows = [np.ravel(frame.gradient(g)) for g in constraints.gradients(frame.point, indices)]
        return np.reshape(rows, (len(indices), self._gradient.size)) / units.constraints[indices, None]

    def solve(self, accuracy: float) -> tuple[Array, Array, int] | None:
        """Return direction, multipliers and the Hessian products spent; None at negative curvature."""
        normal = -self._rows.T @ self._solve_gram(self._residual)
        force = self._gradient + self._hessian(normal)
        found = self._projected_cg(-force, accuracy)
        if found is None:
            return None
        tangential, image, n_products = found
        direction = (normal + tangential).reshape(self._model.frame.shape)
        return direction, self._multipliers(force + image), n_products + 1

    def _hessian(self, d: Array) -> Array:
        return np.ravel(self._model.hessian_product(d.reshape(self._model.frame.shape)))

    def _solve_gram(self, r: Array) -> Array:
        """Return (J Jᵀ)⁺ r."""
        return np.asarray(self._basis @ ((self._basis.T @ r) / self._roots**2))

    def _project(self, d: Array) -> Array:
        """Return the part of `d` in the null space of J."""
        return np.asarray(d - self._rows.T @ self._solve_gram(self._rows @ d))

    def _multipliers(self, force: Array) -> Array:
        """Return the y that minimises ‖force + Jᵀ y‖, with y ≥ 0 for inequalities."""
        slopes = self._rows @ force
        y = -self._solve_gram(slopes)
        if (y >= self._lower).all():
            return y
        root, target = self._roots[:, None] * self._basis.T, -(self._basis.T @ slopes) / self._roots
        free = np.isneginf(self._lower)
        try:
            found = nnls(np.hstack([root, -root[:, free]]), target)[0]
        except RuntimeError:  # it ran out of iterations: a poor step, which the residual will tell
            return np.maximum(y, self._lower)
        positive, negative = np.split(found, [len(y)])
        positive[free] -= negative
        return np.asarray(positive)

    def _projected_cg(self, force: Array, accuracy: float) -> tuple[Array, Array, int] | None:
        """Solve P H P d = P force by conjugate gradients; return d and H d, or None at negative curvature."""
        residual = self._project(force)
        step, image_sum, direction = np.zeros_like(force), np.zeros_like(force), residual
        squared = float(residual @ residual)
        enough = max(accuracy**2 * squared, _ROUNDING**2 * float(force @ force))
        budget = 2 * force.size + 20
        for products in range(budget):
            if squared <= enough:
                return step, image_sum, products
            image = self._hessian(direction)
            curvature = float(direction @ image)
            if not curvature > 0.0:
                return None
            length = squared / curvature
            step, image_sum = step + length * direction, image_sum + length * image
            residual = self._project(residual - length * image)
            previous, squared = squared, float(residual @ residual)
            direction = residual + (squared / previous) * direction
        return step, image_sum, budget
