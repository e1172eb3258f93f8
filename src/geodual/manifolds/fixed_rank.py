"""Matrices of fixed rank with the embedded metric."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

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
from .grassmann import GrassmannFrame
from .low_rank_matrix import Factors, LowRankMatrix, thin_qr, truncated_svd

_LARGE = 100_000  # number of entries above which products with a matrix outweigh a sparse array's overhead
_THIN = 0.05  # largest share of nonzeros at which a sparse array pays off after five products (500 × 500)
_SINGULAR = 1e-13  # singular value, relative to the largest, that counts as 0


class FixedRank(Manifold):
    """The m × n matrices of rank r with the metric ⟨U, V⟩ = tr(UᵀV) of the space of matrices.

    Use it for low-rank completion and approximation, with or without constraints on the entries. Points and
    gradients are dense m × n arrays, so cost and constraints are plain functions of the matrix. Points that
    the manifold returns keep their factors, ``u, s, vt = x.factors``, with x = u·diag(s)·vt. All internal
    work is done on the factors: tangent vectors have (m + n + r) r coordinates, and no m × n matrix is
    decomposed after the start. Gradients may also be scipy's sparse arrays.

    Geodesics have no closed form. `exp` and solvers' steps use the matrix of rank r nearest to X + U, which
    agrees with the geodesic to second order. There is no logarithm and no distance, and `transport` rotates
    the row and column spaces; it is not parallel transport. The set of these matrices is not closed: if the
    solution has a smaller rank, solvers converge to it slowly. Choose r no larger than the rank you expect. A
    good start for completion is ``nearest(a)``, with zeros for unknown entries.

    Parameters
    ----------
    m, n : int
        Number of rows and columns.
    r : int
        The rank, at most the smaller of m and n.

    Attributes
    ----------
    m, n, r : int
        Number of rows and columns, and the rank.
    dim : int
        (m + n − r) r.

    See Also
    --------
    Grassmann : Subspaces, such as the span of the columns of such a matrix.
    Euclidean : Matrices of any rank.

    References
    ----------
    B. Vandereycken, "Low-rank matrix completion by Riemannian optimization", SIAM Journal on Optimization
    23(2), 2013.

    P.-A. Absil, J. Malick, "Projection-like retractions on matrix manifolds", SIAM Journal on Optimization
    22(1), 2012.

    Examples
    --------
    A matrix of rank 1 from five of its nine entries:

    >>> import numpy as np
    >>> from geodual.manifolds import FixedRank
    >>> from geodual.optimize import Problem, minimize
    >>> A = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 1.0])
    >>> known = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 0]])
    >>> problem = Problem(
    ...     FixedRank(3, 3, 1),
    ...     cost=lambda x: 0.5 * np.sum((known * (x - A)) ** 2),
    ...     gradient=lambda x: known * (x - A),
    ...     hessian_product=lambda x, u: known * u,
    ... )
    >>> result = minimize(problem, np.ones((3, 3)))
    >>> np.round(result.x, 6).tolist()
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [3.0, 6.0, 3.0]]
    """

    has_log = False
    closed_form_log = False

    def __init__(self, m: int, n: int, r: int) -> None:
        self.m, self.n, self.r = check_size(m, "m"), check_size(n, "n"), check_size(r, "r")
        if self.r > min(self.m, self.n):
            raise ValueError(
                f"`r` must be at most {min(self.m, self.n)}, the rank of a full {self.m} × {self.n} matrix, "
                f"got {self.r}; sizes come first, as in FixedRank(20, 16, 3)."
            )
        self.dim = (self.m + self.n - self.r) * self.r

    def __repr__(self) -> str:
        return f"FixedRank({self.m}, {self.n}, {self.r})"

    def frame(self, x: Array) -> FixedRankFrame:
        return FixedRankFrame(x, self.r)

    def check_point(self, x: Array) -> Array:
        matrix = as_finite_array(x, (self.m, self.n), self)
        if isinstance(x, LowRankMatrix) and x.factors and len(x.factors[1]) == self.r:
            return x
        factors, rest = truncated_svd(matrix, self.r)
        _check_rank(factors, self)
        if rest > defect_tolerance(x) * factors[1][0]:
            raise NotOnManifoldError(
                f"A point of {self} must have rank {self.r}, but the ratio of its singular value "
                f"{self.r + 1} to the largest is {rest / factors[1][0]:.3g}; nearest(x) gives the nearest "
                "point."
            )
        return LowRankMatrix(*factors) if is_single(x) else matrix

    def nearest(self, a: Array) -> LowRankMatrix:
        """Return the matrix of rank r nearest to the m × n matrix `a`, by a truncated SVD."""
        factors, _ = truncated_svd(as_finite_array(a, (self.m, self.n), self), self.r)
        _check_rank(factors, self)
        return LowRankMatrix(*factors)

    def project(self, x: Array, v: Vector) -> Array:
        frame = self.frame(x)
        return frame.tangent(frame.gradient(v))

    def random_point(self, rng: np.random.Generator) -> LowRankMatrix:
        u = np.linalg.qr(rng.standard_normal((self.m, self.r)))[0]
        v = np.linalg.qr(rng.standard_normal((self.n, self.r)))[0]
        s = np.sort(rng.uniform(1.0, 2.0, self.r))[::-1]
        return LowRankMatrix(u, s, v.T)


class FixedRankFrame(Frame):
    """The tangent space at X = U diag(s) Vᵀ: matrices U M Vᵀ + A Vᵀ + U Bᵀ with UᵀA = 0 and VᵀB = 0.

    The coordinates are A (m × r), M (r × r) and B (n × r), one below the other.
    """

    def __init__(self, point: Array, rank: int) -> None:
        self.point = point
        known = point.factors if isinstance(point, LowRankMatrix) else None
        factors = known or truncated_svd(point, rank)[0]
        _check_rank(factors, "FixedRank")
        self._u, self._s, vt = factors
        self._v = vt.T
        self._ends = [len(self._u), len(self._u) + rank]

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._ends[1] + len(self._v), len(self._s))

    @property
    def unit(self) -> float:
        return float(self._s[0])

    @property
    def first_radius(self) -> float:
        return float(self._s[-1])  # the radius of curvature of the manifold

    def _parts(self, c: Array) -> tuple[Array, Array, Array]:
        first, second = self._ends
        return c[:first], c[first:second], c[second:]

    def tangent(self, c: Array) -> Array:
        a, m, b = self._parts(c)
        # Otherwise rounding errors along U and V would return as tangent vectors and grow.
        a, b = _across(self._u, a), _across(self._v, b)
        # A single product of rank 2r writes the dense matrix only once.
        left, right = np.concatenate((self._u @ m + a, self._u), axis=1), np.concatenate((self._v, b), axis=1)
        return np.asarray(left @ right.T)

    def _projected(self, z: Vector) -> tuple[Array, Array, Array]:
        """Return the coordinates of the orthogonal projection of an ambient matrix."""
        right, left = z @ self._v, z.T @ self._u
        m = self._u.T @ right
        return right - self._u @ m, m, left - self._v @ m.T

    def coordinates(self, u: Vector) -> Array:
        return np.concatenate(self._projected(u))

    def gradient(self, egrad: Vector) -> Array:
        return np.concatenate(self._projected(egrad))

    def random(self, rng: np.random.Generator) -> Array:
        a, m, b = self._parts(rng.standard_normal(self.shape))
        return np.concatenate((_across(self._u, a), m, _across(self._v, b)))

    def hessian_map(self, egrad: Vector) -> HessianMap:
        # The curvature term of Vandereycken 2013: the normal part of the gradient, divided by the singular
        # values.
        u, v, s = self._u, self._v, self._s
        egrad = _sparse_if_thin(egrad)

        def convert(ehess: Vector, c: Array) -> Array:
            across, _, down = self._parts(c)
            right, left = ehess @ v, ehess.T @ u
            a = _across(u, right + egrad @ (down / s))
            b = _across(v, left + egrad.T @ (across / s))
            return np.concatenate((a, u.T @ right, b))

        return convert

    def exp(self, c: Array) -> LowRankMatrix:
        """Return the nearest matrix of rank r to X + U; the geodesic has no closed form."""
        return self.retract(c)

    def retract(self, c: Array) -> LowRankMatrix:
        a, m, b = self._parts(c)
        rank = len(self._s)
        # X + U = [U A] core [V B]ᵀ; after two thin QR decompositions only a 2r × 2r SVD remains.
        left, left_core = thin_qr(np.concatenate((self._u, a), axis=1))
        right, right_core = thin_qr(np.concatenate((self._v, b), axis=1))
        # The core is [[diag(s) + M, I], [I, 0]].
        first, second = left_core[:, :rank], left_core[:, rank:]
        core = np.concatenate((first @ (np.diag(self._s) + m) + second, first), axis=1)
        (u, s, vt), _ = truncated_svd(core @ right_core.T, rank)
        return LowRankMatrix(left @ u, s, vt @ right.T)

    def log(self, y: Array) -> Array:
        raise NoLogarithmError(
            "Matrices of fixed rank have no closed-form logarithm or distance; use a method that "
            "needs neither, such as the default."
        )

    def transport(self, y: Array, c: Array) -> Array:
        """Rotate the column and row spaces of this matrix to those of `y`, and `c` with them."""
        a, m, b = self._parts(c)
        there = FixedRankFrame(y, len(self._s))
        turn_u = GrassmannFrame(self._u).rotation_to(there._u)
        turn_v = GrassmannFrame(self._v).rotation_to(there._v)
        u, v = turn_u(self._u), turn_v(self._v)
        return np.asarray((u @ m + turn_u(a)) @ v.T + u @ turn_v(b).T)


def _sparse_if_thin(a: Vector) -> Vector:
    """Return a matrix with few nonzero entries as a sparse array, for faster products."""
    thin = isinstance(a, np.ndarray) and a.size >= _LARGE and np.count_nonzero(a) <= _THIN * a.size
    return csr_array(a) if thin else a


def _across(basis: Array, a: Array) -> Array:
    """Return the part of `a` orthogonal to the columns of `basis`."""
    return np.asarray(a - basis @ (basis.T @ a))


def _check_rank(factors: Factors, owner: object) -> None:
    singular = factors[1]
    if not singular[-1] > _SINGULAR * singular[0]:
        raise NotOnManifoldError(
            f"A point of {owner} must have rank {len(singular)}, but its singular values fall from "
            f"{singular[0]:.3g} to {singular[-1]:.3g}; choose a smaller rank or start elsewhere."
        )
