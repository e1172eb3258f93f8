"""The gradients of the active constraints at a point, as the matrix J of the KKT system.

Small ones are stored; the Gram matrix J Jᵀ is then factored once. Large ones, such as thousands of bounds,
are never formed: products take one directional derivative, and Gram systems are solved by conjugate
gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from geodual.arrays import Array
from geodual.manifolds import Frame

from .ambient import total
from .constraint_vector import ConstraintVector

_STORED = 4_000_000  # entries of J up to which it is stored: 32 MB
_RANK = 1e-13  # relative eigenvalue of the Gram matrix below which gradients count as dependent
_WELL_CONDITIONED = 1e-5  # ratio of the pivots of a Cholesky factor from which it needs no second look
_ACCURACY = 1e-14  # relative residual of conjugate gradients on a Gram system
_STEPS = 100  # of them at most


class ActiveJacobian(Protocol):
    """The matrix J with one row per active constraint, in frame coordinates."""

    def apply(self, d: Array) -> Array:
        """Return J d."""

    def adjoint(self, w: Array) -> Array:
        """Return Jᵀ w."""

    def solve_gram(self, r: Array) -> Array:
        """Return (J Jᵀ)⁺ r."""

    @property
    def root(self) -> tuple[Array, Array] | None:
        """Singular values s and vectors B with J Jᵀ = B diag(s²) Bᵀ if rows may be dependent; None if not."""


def active_jacobian(
    constraints: ConstraintVector, frame: Frame, weights: Array, active: NDArray[np.bool_]
) -> ActiveJacobian:
    """Return J for the constraints that are marked, each multiplied by its weight.

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
        return _Products(constraints, frame, weights, indices)
    rows = [np.ravel(frame.gradient(g)) for g in constraints.gradients(frame.point, indices)]
    stored = np.reshape(rows, (indices.size, int(np.prod(frame.shape))))
    return _Stored(stored * weights[indices, None])


class _Stored:
    def __init__(self, rows: Array) -> None:
        self._rows = rows
        self._factor, self._root = _factored(rows @ rows.T)

    def apply(self, d: Array) -> Array:
        return np.asarray(self._rows @ d)

    def adjoint(self, w: Array) -> Array:
        return np.asarray(self._rows.T @ w)

    def solve_gram(self, r: Array) -> Array:
        if self._root is None:
            return np.asarray(cho_solve(self._factor, r, check_finite=False))
        roots, basis = self._root
        return np.asarray(basis @ ((basis.T @ r) / roots**2))

    @property
    def root(self) -> tuple[Array, Array] | None:
        return self._root


def _factored(gram: Array) -> tuple[tuple[Array, bool] | None, tuple[Array, Array] | None]:
    """Return a Cholesky factor of the Gram matrix, or its eigenvalues' roots if rows may be dependent."""
    try:  # ten times faster than eigenvalues
        factor = cho_factor(gram, lower=True, check_finite=False)
        pivots = np.diag(factor[0])
        if pivots.min(initial=1.0) > _WELL_CONDITIONED * pivots.max(initial=1.0):
            return factor, None
    except LinAlgError:
        pass
    spectrum, basis = np.linalg.eigh(gram)
    kept = spectrum > _RANK * spectrum.max(initial=0.0)
    return None, (np.sqrt(spectrum[kept]), basis[:, kept])


class _Products:
    root = None

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
        return _conjugate_gradients(lambda w: self.apply(self.adjoint(w)), r)


def _conjugate_gradients(product: Callable[[Array], Array], r: Array) -> Array:
    """Return the smallest w with product(w) = r, as far as the budget of steps allows."""
    w, residual, direction = np.zeros_like(r), r, r
    squared = float(r @ r)
    enough = _ACCURACY**2 * squared
    for _ in range(_STEPS):
        if squared <= enough:
            break
        image = product(direction)
        curvature = float(direction @ image)
        if not curvature > 0.0:  # only rounding errors are left
            break
        length = squared / curvature
        w, residual = w + length * direction, residual - length * image
        previous, squared = squared, float(residual @ residual)
        direction = residual + (squared / previous) * direction
    return w
