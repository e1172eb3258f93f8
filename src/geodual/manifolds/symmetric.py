"""Symmetric and skew-symmetric matrices: flat spaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from geodual.arrays import Array

from .base import Manifold, as_finite_array, check_size
from .euclidean import EuclideanFrame
from .frame import HessianMap, Vector
from .matrices import check_hermitian, check_skew, hermitian, skew


class Symmetric(Manifold):
    """Symmetric n × n matrices with the metric ⟨U, V⟩ = tr(UV), a flat space.

    Use it for quadratic forms, adjacency matrices and other symmetric matrices of any signature. Gradients
    may be any matrices; their symmetric parts count. If matrices must be positive definite, use `SPD`.

    Parameters
    ----------
    n : int
        Number of rows.

    Attributes
    ----------
    n : int
        Number of rows.
    dim : int
        n(n + 1)/2.

    See Also
    --------
    SPD : Symmetric positive definite matrices.
    SkewSymmetric : Matrices with Xᵀ = −X.

    Examples
    --------
    The nearest symmetric matrix to A is its symmetric part:

    >>> import numpy as np
    >>> from geodual.manifolds import Symmetric
    >>> from geodual.optimize import Problem, minimize
    >>> A = np.array([[1.0, 4.0], [0.0, 3.0]])
    >>> problem = Problem(Symmetric(2), lambda x: 0.5 * np.sum((x - A) ** 2), lambda x: x - A)
    >>> np.round(minimize(problem, np.zeros((2, 2))).x, 6).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """

    vectorized = True
    hadamard = True

    def __init__(self, n: int) -> None:
        self.n = check_size(n, "n")
        self.dim = self.n * (self.n + 1) // 2

    def __repr__(self) -> str:
        return f"Symmetric({self.n})"

    def frame(self, x: Array) -> SubspaceFrame:
        return SubspaceFrame(x, hermitian)

    def check_point(self, x: Array) -> Array:
        return self._checked(as_finite_array(x, (self.n, self.n), self), x)

    def _checked(self, x: Array, given: Any) -> Array:
        return check_hermitian(x, given, self)

    def project(self, x: Array, v: Vector) -> Array:
        return hermitian(np.asarray(v, dtype=float))

    def random_point(self, rng: np.random.Generator) -> Array:
        return hermitian(rng.standard_normal((self.n, self.n)))


class SkewSymmetric(Manifold):
    """Skew-symmetric n × n matrices, Xᵀ = −X, with the metric ⟨U, V⟩ = tr(UᵀV), a flat space.

    Use it for angular velocities and generators of rotations. Gradients may be any matrices; their
    skew-symmetric parts count.

    Parameters
    ----------
    n : int
        Number of rows, at least 2.

    Attributes
    ----------
    n : int
        Number of rows.
    dim : int
        n(n − 1)/2.

    See Also
    --------
    Rotations : The exponentials of these matrices.
    Symmetric : Matrices with Xᵀ = X.

    Examples
    --------
    The nearest skew-symmetric matrix to A is its skew-symmetric part:

    >>> import numpy as np
    >>> from geodual.manifolds import SkewSymmetric
    >>> from geodual.optimize import Problem, minimize
    >>> A = np.array([[1.0, 4.0], [0.0, 3.0]])
    >>> problem = Problem(SkewSymmetric(2), lambda x: 0.5 * np.sum((x - A) ** 2), lambda x: x - A)
    >>> (np.round(minimize(problem, np.zeros((2, 2))).x, 6) + 0.0).tolist()
    [[0.0, 2.0], [-2.0, 0.0]]
    """

    vectorized = True
    hadamard = True

    def __init__(self, n: int) -> None:
        self.n = check_size(n, "n", least=2)
        self.dim = self.n * (self.n - 1) // 2

    def __repr__(self) -> str:
        return f"SkewSymmetric({self.n})"

    def frame(self, x: Array) -> SubspaceFrame:
        return SubspaceFrame(x, skew)

    def check_point(self, x: Array) -> Array:
        return self._checked(as_finite_array(x, (self.n, self.n), self), x)

    def _checked(self, x: Array, given: Any) -> Array:
        return check_skew(x, given, self)

    def project(self, x: Array, v: Vector) -> Array:
        return skew(np.asarray(v, dtype=float))

    def random_point(self, rng: np.random.Generator) -> Array:
        return skew(rng.standard_normal((self.n, self.n)))


class SubspaceFrame(EuclideanFrame):
    """The tangent space of a linear space of matrices: the space itself. `part` projects onto it."""

    def __init__(self, point: Array, part: Callable[[Array], Array]) -> None:
        super().__init__(point)
        self._part = part

    def gradient(self, egrad: Vector) -> Array:
        return self._part(np.asarray(egrad))

    def hessian_map(self, egrad: Vector) -> HessianMap:
        return lambda ehess, c: self._part(np.asarray(ehess))
