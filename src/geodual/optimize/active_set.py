"""The polish: Newton's method on the KKT system of the active constraints, matrix-free.

Near a solution it converges quadratically where the method of multipliers converges linearly. The
constraints may be linearly dependent: the least multipliers are taken then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from geodual.manifolds import NotOnManifoldError
from geodual.manifolds.base import Array, Coordinates, Point

from .kkt import KKT, Units, measure_kkt
from .lagrangian import Lagrangian, LocalLagrangian
from .problem import ConstraintVector

_MAX_STEPS = 12
_CG_ACCURACY = 1e-10
_ROUNDING = 8.0 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class Polished:
    """A point and multipliers (of the scaled problem) with their KKT residual, and the products spent."""

    x: Point
    y: Array
    measured: tuple[float, KKT]
    n_products: int

    @property
    def residual(self) -> float:
        """The worst part of the KKT residual."""
        return self.measured[1].worst


def polish(
    constraints: ConstraintVector, units: Units, x: Point, y: Array, penalty: float, target: float
) -> Polished:
    """Improve (x, y) while each step at least halves the KKT residual; return the best found."""
    best = Polished(x, y, measure_kkt(constraints, x, _unscaled(y, units), units), 0)
    for _ in range(_MAX_STEPS):
        if best.residual <= target:
            break
        model = Lagrangian(constraints, best.y, 1.0 / units.cost, 1.0 / units.constraints)(best.x)
        active = constraints.is_equality | (best.y + penalty * model.violations > 0.0)
        step = _kkt_step(constraints, units, model, active)
        if step is None:
            break
        direction, y, n_products = step
        try:
            x = model.frame.move(direction)
            measured = measure_kkt(constraints, x, _unscaled(y, units), units)
        except (np.linalg.LinAlgError, NotOnManifoldError):
            break  # too long a step: there is no solution nearby yet
        trial = Polished(x, y, measured, best.n_products + n_products)
        if not trial.residual <= 0.5 * best.residual:
            return trial if trial.residual < best.residual else best
        best = trial
    return best


def _unscaled(y: Array, units: Units) -> Array:
    """Return the multipliers of the problem itself, given those of the scaled one."""
    return np.asarray(y * units.cost / units.constraints)


def _kkt_step(
    constraints: ConstraintVector, units: Units, model: LocalLagrangian, active: NDArray[np.bool_]
) -> tuple[Coordinates, Array, int] | None:
    """Solve the Newton equations for (d, y): H d + Jᵀ y = −g, J d = −c; None at negative curvature."""
    jacobian = _ActiveJacobian(constraints, units, model, active)
    cost_gradient = model.frame.gradient(
        constraints.lagrangian_gradient(model.frame.point, 1.0 / units.cost, np.zeros(constraints.size))
    )
    normal = jacobian.adjoint(-jacobian.solve_gram(model.violations[active]))
    force = cost_gradient + model.hessian_product(normal)
    tangential = _projected_cg(model, jacobian.project, -force)
    if tangential is None:
        return None
    shift, n_products = tangential
    direction = normal + shift
    force = cost_gradient + model.hessian_product(direction)
    y = np.zeros(constraints.size)
    y[active] = jacobian.multipliers(force)
    return direction, y, n_products + 2


class _ActiveJacobian:
    """The derivative J of the active constraints in coordinates, as products and a small Gram matrix."""

    def __init__(
        self,
        constraints: ConstraintVector,
        units: Units,
        model: LocalLagrangian,
        active: NDArray[np.bool_],
    ) -> None:
        self._constraints, self._frame, self._active = constraints, model.frame, active
        self._weights = 1.0 / units.constraints
        gram = np.array([self.apply(self.adjoint(unit)) for unit in np.eye(int(active.sum()))])
        gram = gram.reshape(len(gram), len(gram))
        spectrum, basis = np.linalg.eigh(0.5 * (gram + gram.T))
        kept = spectrum > 1e-13 * np.max(spectrum, initial=0.0)
        self._roots, self._basis = np.sqrt(spectrum[kept]), basis[:, kept]

    def apply(self, c: Coordinates) -> Array:
        """Return J c."""
        if not self._active.any():
            return np.zeros(0)
        slopes = self._constraints.derivative(self._frame.point, self._frame.tangent(c))
        return np.asarray((self._weights * slopes)[self._active])

    def adjoint(self, w: Array) -> Coordinates:
        """Return Jᵀ w."""
        full = np.zeros(self._constraints.size)
        full[self._active] = w
        x = self._frame.point
        return self._frame.gradient(self._constraints.lagrangian_gradient(x, 0.0, self._weights * full))

    def solve_gram(self, r: Array) -> Array:
        """Return (J Jᵀ)⁺ r."""
        return np.asarray(self._basis @ ((self._basis.T @ r) / self._roots**2))

    def multipliers(self, force: Coordinates) -> Array:
        """Return the y that minimises ‖force + Jᵀ y‖, with y ≥ 0 for inequalities."""
        slopes = self.apply(force)
        y = -self.solve_gram(slopes)
        lower = np.where(self._constraints.is_equality[self._active], -np.inf, 0.0)
        if (y >= lower).all():
            return y
        target = -(self._basis.T @ slopes) / self._roots
        return np.asarray(
            lsq_linear(self._roots[:, None] * self._basis.T, target, (lower, np.inf), method="bvls").x
        )

    def project(self, c: Coordinates) -> Coordinates:
        """Return the part of `c` in the null space of J."""
        return c - self.adjoint(self.solve_gram(self.apply(c)))


def _projected_cg(
    model: LocalLagrangian, project: Callable[[Coordinates], Coordinates], force: Coordinates
) -> tuple[Coordinates, int] | None:
    """Solve P H P d = P force by conjugate gradients in the null space; None at negative curvature."""
    inner = model.frame.inner
    residual = project(force)
    step, direction = 0.0 * residual, residual
    squared = inner(residual, residual)
    enough = max(_CG_ACCURACY**2 * squared, _ROUNDING**2 * inner(force, force))
    budget = 2 * int(np.size(residual)) + 20
    for products in range(budget):
        if squared <= enough:
            return step, products
        image = project(model.hessian_product(direction))
        curvature = inner(direction, image)
        if not curvature > 0.0:
            return None
        length = squared / curvature
        step, residual = step + length * direction, project(residual - length * image)
        previous, squared = squared, inner(residual, residual)
        direction = residual + (squared / previous) * direction
    return step, budget
