"""The Stiefel manifold: n × p matrices with orthonormal columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import expm

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
from .frame import AmbientFrame, HessianMap, Vector

_SHOOTING_STEPS = 500  # convergence is linear, and slow for points almost π apart


class Stiefel(Manifold):
    """Matrices with orthonormal columns, {X ∈ Rⁿˣᵖ : XᵀX = I}, with the metric ⟨U, V⟩ = tr(UᵀV).

    Use it for principal components, orthogonal factors and rotations (n = p). The logarithm has no closed
    form; it is found by iteration, for points closer than about π. Solvers step by the polar retraction.

    Parameters
    ----------
    n : int
        Number of rows.
    p : int
        Number of columns, at most n.

    Attributes
    ----------
    n, p : int
        Number of rows and columns.
    dim : int
        np − p(p + 1)/2.

    See Also
    --------
    Sphere : A single unit vector (p = 1), with closed forms throughout.
    Grassmann : Subspaces, where only the span of the columns matters.
    Rotations : Square matrices of determinant 1, with closed forms throughout.

    References
    ----------
    A. Edelman, T. A. Arias, S. T. Smith, "The geometry of algorithms with orthogonality constraints", SIAM
    Journal on Matrix Analysis and Applications 20(2), 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.manifolds import Stiefel
    >>> stiefel = Stiefel(3, 2)
    >>> x = np.eye(3)[:, :2]
    >>> u = np.array([[0.0, -1.0], [1.0, 0.0], [0.0, 0.0]])  # rotates both columns in their plane
    >>> y = stiefel.exp(x, np.pi / 2 * u)
    >>> (y.round(6) + 0.0).tolist()
    [[0.0, -1.0], [1.0, 0.0], [0.0, 0.0]]
    >>> round(stiefel.dist(x, stiefel.exp(x, u)) ** 2, 6)  # the squared length of u
    2.0
    """

    closed_form_log = False
    step_limit = np.pi / 2  # half the injectivity radius

    def __init__(self, n: int, p: int) -> None:
        self.n, self.p = check_size(n, "n"), check_size(p, "p")
        if self.p > self.n:
            raise ValueError(
                f"`p` must be at most n = {self.n}, got {self.p}; rows come first, as in Stiefel(5, 2)."
            )
        self.dim = self.n * self.p - self.p * (self.p + 1) // 2

    def __repr__(self) -> str:
        return f"Stiefel({self.n}, {self.p})"

    def frame(self, x: Array) -> StiefelFrame:
        return StiefelFrame(x)

    def check_point(self, x: Array) -> Array:
        return check_orthonormal(x, (self.n, self.p), self)

    def project(self, x: Array, v: Vector) -> Array:
        return _project(x, np.asarray(v, dtype=float))

    def random_point(self, rng: np.random.Generator) -> Array:
        # Uniform (Haar) draws need the signs of a QR decomposition with a positive diagonal of R.
        q, r = np.linalg.qr(rng.standard_normal((self.n, self.p)))
        return np.asarray(q * np.where(np.diag(r) < 0.0, -1.0, 1.0))


class StiefelFrame(AmbientFrame):
    """The tangent space at X: matrices U with XᵀU skew-symmetric."""

    def gradient(self, egrad: Vector) -> Array:
        return _project(self.point, egrad)

    def hessian_map(self, egrad: Vector) -> HessianMap:
        # Absil, Mahony and Trumpf 2013: project ∇²f[c] − c sym(Xᵀ∇f); the second term is the curvature.
        normal = self.point.T @ egrad
        symmetric = 0.5 * (normal + normal.T)
        return lambda ehess, c: _project(self.point, ehess - c @ symmetric)

    def exp(self, c: Array) -> Array:
        return polar(_geodesic(self.point, c))

    def log(self, y: Array) -> Array:
        n, p = self.point.shape
        if n == p and np.linalg.det(self.point) * np.linalg.det(y) < 0.0:
            raise NoLogarithmError(
                "No curve joins square orthogonal matrices with determinants 1 and −1; "
                "change the sign of one column."
            )
        if n <= 2 * p:
            return _shoot(self.point, y)
        # The geodesic stays in the span of both points: shoot among 2p × p matrices, whatever n is.
        basis = _span(self.point, y)
        return np.asarray(basis @ _shoot(basis.T @ self.point, basis.T @ y))

    def retract(self, c: Array) -> Array:
        return polar(self.point + c)

    def move(self, c: Array) -> Array:
        return self.retract(c)

    def transport(self, y: Array, c: Array) -> Array:
        """Rotate by an orthogonal Q that maps this point to `y`, which preserves inner products.

        Q is the identity outside the span of both points. This is not parallel transport, which has no
        elementary closed form under this metric.
        """
        p = self.point.shape[1]
        basis = _span(self.point, y)
        start, end = basis.T @ self.point, basis.T @ y
        rotation = end @ start.T
        if basis.shape[1] > p:
            # Map the rest of the span too, by the rotation closest to the identity.
            start_rest, end_rest = _complement(start), _complement(end)
            rotation = rotation + end_rest @ polar(end_rest.T @ start_rest) @ start_rest.T
        inside = basis.T @ c
        return np.asarray(c + basis @ (rotation @ inside - inside))


def _project(x: Array, v: Array) -> Array:
    """Return `v` − x sym(xᵀv), the orthogonal projection onto the tangent space at `x`."""
    normal = x.T @ v
    return np.asarray(v - x @ (0.5 * (normal + normal.T)))


def check_orthonormal(x: Any, shape: tuple[int, int], owner: object) -> Array:
    """Return `x` if its columns are orthonormal, or raise an error that names the defect."""
    matrix = as_finite_array(x, shape, owner)
    defect = float(np.abs(matrix.T @ matrix - np.eye(shape[1])).max())
    if defect > defect_tolerance(x):
        raise NotOnManifoldError(
            f"A point of {owner} must have orthonormal columns, but xᵀx differs from the identity "
            f"by up to {defect:.3g}; orthonormalise it with numpy.linalg.qr."
        )
    return polar(matrix) if is_single(x) else matrix


def polar(a: Array) -> Array:
    """Return the matrix with orthonormal columns that is closest to `a`."""
    u, _, vt = np.linalg.svd(a, full_matrices=False)
    return np.asarray(u @ vt)


def _span(x: Array, y: Array) -> Array:
    """Return an orthonormal basis, of at most 2p columns, of a space that contains both points' columns."""
    return np.asarray(np.linalg.qr(np.hstack([x, y - x @ (x.T @ y)]))[0])


def _complement(a: Array) -> Array:
    """Return an orthonormal basis of the orthogonal complement of the columns of `a`."""
    return np.asarray(np.linalg.qr(a, mode="complete")[0][:, a.shape[1] :])


def _geodesic(x: Array, u: Array) -> Array:
    """Follow the geodesic of the embedded metric (Edelman, Arias and Smith 1998, eq. 2.42)."""
    p = x.shape[1]
    a = x.T @ u
    block = np.block([[a, -u.T @ u], [np.eye(p), a]])
    return np.asarray(np.hstack([x, u]) @ expm(block)[:, :p] @ expm(-a))


def _shoot(x: Array, y: Array) -> Array:
    """Find u with exp(u) = y: subtract the miss exp(u) − y from u, carried back to `x`, and repeat."""
    u = _rescaled(_project(x, y - x), np.linalg.norm(y - x))
    best, best_miss = u, np.inf
    for _ in range(_SHOOTING_STEPS):
        end = _geodesic(x, u)
        miss = end - y
        size = float(np.linalg.norm(miss))
        # Go on while the miss shrinks; where it no longer does, rounding errors are reached.
        if size < 0.999 * best_miss:
            best, best_miss = u, size
        elif best_miss < 1e-9:
            return best
        if not np.isfinite(size) or size > 10.0:
            break  # diverged
        # Project at the end, halfway and at x: a cheap substitute for parallel transport of the miss.
        middle = _geodesic(x, 0.5 * u)
        carried = _project(x, _project(middle, _project(end, miss)))
        u = u - _rescaled(carried, size)  # projections shorten the miss; restore its length
    if best_miss < 1e-9:
        return best
    raise NoLogarithmError(
        f"The logarithm on the Stiefel manifold did not converge (miss {best_miss:.2g}): "
        "the points are too far apart; go by way of a point between them."
    )


def _rescaled(u: Array, length: float | np.floating) -> Array:
    """Return `u` with the given length; zero stays zero."""
    norm = np.linalg.norm(u)
    return np.asarray(u * (length / norm)) if norm > 0.0 else u
