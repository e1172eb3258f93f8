"""Complex numbers of absolute value 1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from geodual.arrays import Array

from .base import (
    Manifold,
    NoLogarithmError,
    NotOnManifoldError,
    as_finite_array,
    check_size,
    defect_tolerance,
    is_single,
)
from .frame import Frame, HessianMap, Vector

_HALF_TURN = 1e-8  # an angle this close to π counts as π


class UnitCircle(Manifold):
    """Phases: n complex numbers of absolute value 1, with the metric ⟨u, v⟩ = Re Σ ūₖvₖ; a flat torus.

    Use it for phase retrieval and to synchronize clocks or rotations of the plane. A Euclidean gradient is
    the derivative with respect to the real parts plus i times that with respect to the imaginary parts;
    `Problem.from_jax` computes it so.

    The frame at x writes a tangent vector as uₖ = i tₖxₖ with real numbers t. In t, the metric is the plain
    inner product, exp turns xₖ by the angle tₖ, and the logarithm of y consists of the angles between xₖ and
    yₖ. It is unique unless one of them is π.

    Parameters
    ----------
    n : int
        Number of complex numbers.

    Attributes
    ----------
    n, dim : int
        Number of complex numbers.

    See Also
    --------
    ComplexStiefel : Orthonormal complex vectors.
    Rotations : ``Power(Rotations(2), n)`` has the same points, as matrices.

    References
    ----------
    N. Boumal, "Nonconvex phase synchronization", SIAM Journal on Optimization 26(4), 2016.

    Examples
    --------
    The first of two numbers turns by a right angle:

    >>> import numpy as np
    >>> from geodual.manifolds import UnitCircle
    >>> circle = UnitCircle(2)
    >>> x, y = np.array([1.0, 1.0j]), np.array([1.0j, 1.0j])
    >>> round(circle.dist(x, y) / np.pi, 6), np.round(circle.log(x, y) / np.pi, 6).tolist()
    (0.5, [0.5j, 0j])
    """

    vectorized = True

    def __init__(self, n: int) -> None:
        self.n = self.dim = check_size(n, "n")
        self.step_limit = math.pi / 2 * math.sqrt(self.n)  # every number may turn by a right angle

    def __repr__(self) -> str:
        return f"UnitCircle({self.n})"

    def frame(self, x: Array) -> UnitCircleFrame:
        return UnitCircleFrame(x)

    def check_point(self, x: Array) -> Array:
        return self._checked(as_finite_array(x, (self.n,), self, complex), x)

    def _checked(self, x: Array, given: Any) -> Array:
        sizes = np.abs(x)
        worst = int(np.argmax(np.abs(sizes - 1.0)))
        if abs(sizes.flat[worst] - 1.0) > defect_tolerance(given):
            raise NotOnManifoldError(
                f"A point of {self} must have entries of absolute value 1, got {sizes.flat[worst]:.10g} for "
                f"entry {worst}; divide it by abs(x)."
            )
        return x / sizes if is_single(given) else x

    def project(self, x: Array, v: Vector) -> Array:
        frame = UnitCircleFrame(x)
        return frame.tangent(frame.gradient(v))

    def random_point(self, rng: np.random.Generator) -> Array:
        return np.asarray(np.exp(1j * rng.uniform(-np.pi, np.pi, self.n)))


class UnitCircleFrame(Frame):
    """Tangent vectors u = itx in the coordinates t, which are real."""

    def __init__(self, point: Array) -> None:
        self.point = point
        self._conjugate = point.conj()

    def tangent(self, c: Array) -> Array:
        return np.asarray(1j * c * self.point)

    def coordinates(self, u: Vector) -> Array:
        return self.gradient(u)

    def gradient(self, egrad: Vector) -> Array:
        return np.asarray((self._conjugate * egrad).imag)

    def hessian_map(self, egrad: Vector) -> HessianMap:
        # Second derivative of f(x·exp(it)) at t = 0.
        normal = (self._conjugate * egrad).real
        return lambda ehess, c: (self._conjugate * ehess).imag - normal * c

    def exp(self, c: Array) -> Array:
        y = self.point * np.exp(1j * c)
        return np.asarray(y / np.abs(y))  # prevents drift over many steps

    def _angles(self, y: Array) -> Array:
        return np.angle(self._conjugate * y)

    def log(self, y: Array) -> Array:
        angles = self._angles(y)
        if (np.abs(angles) > np.pi - _HALF_TURN).any():
            raise NoLogarithmError(
                "The points differ by half a turn in some entry, where both directions are equally short, so "
                "there is no logarithm; go through a third point."
            )
        return angles

    def dist(self, y: Array) -> float:
        return float(np.linalg.norm(self._angles(y)))

    def retract(self, c: Array) -> Array:
        return self.exp(c)

    def transport(self, y: Array, c: Array) -> Array:
        return UnitCircleFrame(y).tangent(c)  # the space is flat
