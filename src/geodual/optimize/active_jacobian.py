"""The gradients of the active constraints at a point, as the matrix J of the KKT system.

Small ones are stored, and their Gram matrix J Jᵀ is factored once. Large ones, such as thousands of bounds,
are never formed: products take one directional derivative, and Gram systems are solved by conjugate
gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrs

from geodual.arrays import Array
from geodual.manifolds import Frame

from .ambient import total
from .constraint_vector import ConstraintVector

_STORED = 4_000_000  # entries of J up to which it is stored: 32 MB
_SHIFT = 1e-10  # of the Gram matrix, relative to its trace: it makes dependent gradients no obstacle
_ACCURACY = 1e-14  # relative residual of conjugate gradients on a Gram system
_STEPS = 30  # of them at most: every projection takes as many products


class ActiveJacobian(Protocol):
    """The matrix J with one row per active constraint, in frame coordinates."""

    def apply(self, d: Array) -> Array:
        """Return J d."""

    def adjoint(self, w: Array) -> Array:
        """Return Jᵀ w."""

    def solve_gram(self, r: Array) -> Array:
        """Return a w with J Jᵀ w = r, as far as there is one."""


def active_jacobian(
    constraints: ConstraintVector, frame: Frame, weights: Array, active: NDArray[np.bool_]
) -> ActiveJacobian | None:
    """Return J for the constraints that are marked, each multiplied by its weight.

    None means that it is too large to be stored and too ill-conditioned for conjugate gradients, or that a
    gradient is not finite.

    Parameters
    ----------
    constraints : ConstraintVector
        The constraints of the problem.
    frame : Frame
        The frame at the point; it must be orthonormal, because tangent vectors are stored as rows.
    weights : array of shape (m,)
        Scale factors of the constraints.
    active : boolean array of shape (m,)
        Which constraints count.
    """
    indices = np.flatnonzero(active)
    if indices.size * np.prod(frame.shape) > _STORED:
        products = _Products(constraints, frame, weights, indices)
        return products if products.are_well_conditioned() else None
    rows = [np.ravel(frame.gradient(g)) for g in constraints.gradients(frame.point, indices)]
    stored = np.reshape(rows, (indices.size, int(np.prod(frame.shape))))
    return _Stored(stored * weights[indices, None]) if np.isfinite(stored).all() else None


class _Stored:
    def __init__(self, rows: Array) -> None:
        self._rows, self._gram = rows, rows @ rows.T
        self._factor = _shifted_factor(self._gram)

    def apply(self, d: Array) -> Array:
        return np.asarray(self._rows @ d)

    def adjoint(self, w: Array) -> Array:
        return np.asarray(self._rows.T @ w)

    def solve_gram(self, r: Array) -> Array:
        if not r.size:
            return r
        # LAPACK itself: scipy's wrapper takes ten times as long for small systems.
        w = dpotrs(self._factor, r, lower=1)[0]
        # Solve again for what is left, which undoes the shift where it is not needed.
        for _ in range(2):
            w = w + dpotrs(self._factor, r - self._gram @ w, lower=1)[0]
        return np.asarray(w)


def _shifted_factor(gram: Array) -> Array:
    """Return a Cholesky factor of the Gram matrix plus the smallest shift with which it exists."""
    shift = max(_SHIFT * float(np.trace(gram)), float(np.finfo(float).tiny))
    while True:
        try:
            return np.linalg.cholesky(gram + shift * np.eye(len(gram)))
        except np.linalg.LinAlgError:  # rounding errors of many dependent rows
            shift *= 10.0


class _Products:
    def __init__(
        self, constraints: ConstraintVector, frame: Frame, weights: Array, indices: NDArray[np.intp]
    ) -> None:
        self._constraints, self._frame = constraints, frame
        self._weights, self._indices = weights, indices

    def apply(self, d: Array) -> Array:
        u = self._frame.tangent(d.reshape(self._frame.shape))
        slopes = self._constraints.derivative(self._frame.point, u)
        return np.asarray((self._weights * slopes)[self._indices])

    def adjoint(self, w: Array) -> Array:
        full = np.zeros(self._constraints.size)
        full[self._indices] = w * self._weights[self._indices]
        return np.ravel(self._frame.gradient(total(self._constraints.adjoint(self._frame.point, full))))

    def solve_gram(self, r: Array) -> Array:
        return _conjugate_gradients(lambda w: self.apply(self.adjoint(w)), r)[0]

    def are_well_conditioned(self) -> bool:
        """Tell whether conjugate gradients solve a random Gram system within their budget."""
        r = self.apply(np.random.default_rng(0).standard_normal(int(np.prod(self._frame.shape))))
        return _conjugate_gradients(lambda w: self.apply(self.adjoint(w)), r)[1]


def _conjugate_gradients(product: Callable[[Array], Array], r: Array) -> tuple[Array, bool]:
    """Return the smallest w with product(w) = r, and whether it was found within the budget of steps."""
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
