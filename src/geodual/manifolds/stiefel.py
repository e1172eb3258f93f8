"""The Stiefel manifold: n × p matrices with orthonormal columns."""

from __future__ import annotations

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
from .frame import AmbientFrame, HessianMap, Vector
from .matrices import adjoint, expm_skew, hermitian, polar, skew

_SHOOTING_STEPS = 500  # convergence is linear, and slow for points almost π apart
_HIT = 1e-9  # largest miss of a geodesic that counts as a hit


class Stiefel(Manifold):
    """Matrices with orthonormal columns, {X ∈ Rⁿˣᵖ : XᵀX = I}, with the metric ⟨U, V⟩ = tr(UᵀV).

    Use it for principal components, orthogonal factors and rotations (n = p). The logarithm has no closed
    form; it is computed by iteration, for points closer than about π. Solvers step by the polar retraction.

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
    Grassmann : Subspaces, if only the span of the columns matters.
    ComplexStiefel : Complex matrices.
    Rotations : Square matrices of determinant 1, with closed forms throughout.

    References
    ----------
    A. Edelman, T. A. Arias, S. T. Smith, "The geometry of algorithms with orthogonality constraints", SIAM
    Journal on Matrix Analysis and Applications 20(2), 1998.

    R. Zimmermann, K. Hüper, "Computing the Riemannian logarithm on the Stiefel manifold: metrics, methods,
    and performance", SIAM Journal on Matrix Analysis and Applications 43(2), 2022.

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

    vectorized = True
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
        return self._checked(as_finite_array(x, (self.n, self.p), self), x)

    def _checked(self, x: Array, given: Any) -> Array:
        return check_orthonormal(x, given, self)

    def project(self, x: Array, v: Vector) -> Array:
        return _project(x, np.asarray(v, dtype=float))

    def random_point(self, rng: np.random.Generator) -> Array:
        # Uniform (Haar) draws require a QR decomposition with a positive diagonal of R.
        q, r = np.linalg.qr(rng.standard_normal((self.n, self.p)))
        return np.asarray(q * np.where(np.diag(r) < 0.0, -1.0, 1.0))


class StiefelFrame(AmbientFrame):
    """The tangent space at X, or at each matrix of a stack: matrices U with XᴴU skew-Hermitian."""

    def __init__(self, point: Array) -> None:
        super().__init__(point)
        self._adjoint = adjoint(point)

    def gradient(self, egrad: Vector) -> Array:
        return np.asarray(egrad - self.point @ hermitian(self._adjoint @ egrad))

    def hessian_map(self, egrad: Vector) -> HessianMap:
        # Absil, Mahony and Trumpf 2013: project ∇²f[c] − c sym(Xᴴ∇f); the second term is the curvature.
        symmetric = hermitian(self._adjoint @ egrad)
        return lambda ehess, c: self.gradient(ehess - c @ symmetric)

    def exp(self, c: Array) -> Array:
        return polar(_geodesic(self.point, c))

    def log(self, y: Array) -> Array:
        n, p = self.point.shape[-2:]
        is_real = not np.iscomplexobj(self.point)  # unitary matrices are connected
        if n == p and is_real and (np.linalg.det(self.point) * np.linalg.det(y) < 0.0).any():
            raise NoLogarithmError(
                "No curve joins square orthogonal matrices with determinants 1 and −1; "
                "change the sign of one column."
            )
        if n <= 2 * p:
            return _shoot(self.point, y)
        # The geodesic stays in the span of both points: shoot among 2p × p matrices, for any n.
        basis = _span(self.point, y)
        back = adjoint(basis)
        return np.asarray(basis @ _shoot(back @ self.point, back @ y))

    def retract(self, c: Array) -> Array:
        return polar(self.point + c)

    def move(self, c: Array) -> Array:
        return self.retract(c)

    def transport(self, y: Array, c: Array) -> Array:
        """Rotate by a unitary Q that maps this point to `y`, which preserves inner products.

        Q is the identity outside the span of both points. This is not parallel transport, which has no
        elementary closed form for this metric.
        """
        p = self.point.shape[-1]
        basis = _span(self.point, y)
        back = adjoint(basis)
        start, end = back @ self.point, back @ y
        rotation = end @ adjoint(start)
        if basis.shape[-1] > p:
            # Map the rest of the span by the rotation closest to the identity.
            start_rest, end_rest = _complement(start), _complement(end)
            rotation = rotation + end_rest @ polar(adjoint(end_rest) @ start_rest) @ adjoint(start_rest)
        inside = back @ c
        return np.asarray(c + basis @ (rotation @ inside - inside))


def _project(x: Array, v: Array) -> Array:
    """Return `v` − x sym(xᴴv), the orthogonal projection onto the tangent space at `x`."""
    return np.asarray(v - x @ hermitian(adjoint(x) @ v))


def check_orthonormal(x: Array, given: Any, owner: object) -> Array:
    """Return `x` if its columns are orthonormal, or raise an error that describes the defect.

    `x` is the array `given` in double precision.
    """
    defect = float(np.abs(adjoint(x) @ x - np.eye(x.shape[-1])).max())
    if defect > defect_tolerance(given):
        raise NotOnManifoldError(
            f"A point of {owner} must have orthonormal columns, but xᵀx differs from the identity "
            f"by up to {defect:.3g}; orthonormalize it with numpy.linalg.qr."
        )
    return polar(x) if is_single(given) else x


def _span(x: Array, y: Array) -> Array:
    """Return an orthonormal basis, with at most 2p columns, of a space that contains both points' columns."""
    return np.asarray(np.linalg.qr(np.concatenate([x, y - x @ (adjoint(x) @ y)], axis=-1))[0])


def _complement(a: Array) -> Array:
    """Return an orthonormal basis of the orthogonal complement of the columns of `a`."""
    return np.asarray(np.linalg.qr(a, mode="complete")[0][..., a.shape[-1] :])


def _geodesic(x: Array, u: Array) -> Array:
    """Follow the geodesic of the embedded metric.

    This is the formula of Zimmermann and Hüper 2022, with exponentials of skew-Hermitian matrices only.
    """
    n, p = x.shape[-2:]
    a = skew(adjoint(x) @ u)
    left, sizes, right = np.linalg.svd(u - x @ a, full_matrices=False)
    rest = min(p, n - p)  # dimension of the space outside the columns of x that u can reach
    left, low = left[..., :rest], (sizes[..., None] * right)[..., :rest, :]
    corner = np.zeros((*x.shape[:-2], rest, rest))
    block = np.concatenate(
        [np.concatenate([2.0 * a, -adjoint(low)], axis=-1), np.concatenate([low, corner], axis=-1)], axis=-2
    )
    return np.asarray(np.concatenate([x, left], axis=-1) @ expm_skew(block)[..., :p] @ expm_skew(-a))


def _shoot(x: Array, y: Array) -> Array:
    """Find u with exp(u) = y: transport the miss exp(u) − y back to `x`, subtract it from u, and repeat."""
    u = _rescaled(_project(x, y - x), _norms(y - x))
    best, best_miss = u, np.full((*u.shape[:-2], 1, 1), np.inf)
    for _ in range(_SHOOTING_STEPS):
        end = _geodesic(x, u)
        miss = end - y
        size = _norms(miss)
        # Continue while the miss shrinks; if it no longer does, only rounding errors are left.
        better = size < 0.999 * best_miss
        best, best_miss = np.where(better, u, best), np.where(better, size, best_miss)
        if (~better & (best_miss < _HIT)).all():
            break
        if not (size <= 10.0).all():
            break  # diverged
        # Project at the end, halfway and at x: a cheap substitute for parallel transport of the miss.
        middle = _geodesic(x, 0.5 * u)
        carried = _project(x, _project(middle, _project(end, miss)))
        u = u - _rescaled(carried, size)  # projections shorten the miss; restore its length
    worst = float(best_miss.max())
    if worst < _HIT:
        return best
    raise NoLogarithmError(
        f"The logarithm on the Stiefel manifold did not converge (miss {worst:.2g}): "
        "the points are too far apart; go through a point between them."
    )


def _norms(a: Array) -> Array:
    return np.asarray(np.linalg.norm(a, axis=(-2, -1), keepdims=True))


def _rescaled(u: Array, length: Array) -> Array:
    """Return `u` with the given length; zero stays zero."""
    norm = _norms(u)
    return np.asarray(u * np.divide(length, norm, out=np.zeros_like(norm), where=norm > 0.0))
