"""The structural constraint that fixes the trace (a diagonal, blocks, or the trace), and its manifold.

A factor Y of X = YYᵀ is the linear image of a point x of the manifold, and the multipliers of the constraint
have a closed form. So these constraints never appear in the problem passed to `minimize`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import scipy.sparse as sp

from geodual.arrays import Array
from geodual.manifolds import Manifold, Power, Sphere, Stiefel


class Structure(ABC):
    """A linear constraint B(X) = b on X = YYᵀ, which fixes the trace.

    Attributes
    ----------
    n : int
        Number of rows of X.
    trace : float
        The trace of every X that satisfies the constraint.
    size : int
        Number of scalar equations.
    least_rank : int
        The smallest number of columns that a factor may have.
    first_rank : int or None
        The number of columns to start with, if the structure suggests one.
    """

    n: int
    trace: float
    size: int
    least_rank: int = 2  # a sphere of dimension 0 is not connected
    first_rank: int | None = None

    @abstractmethod
    def manifold(self, rank: int) -> Manifold:
        """Return the manifold of points for factors with `rank` columns."""

    @abstractmethod
    def factor(self, x: Array) -> Array:
        """Return the factor Y, of shape (n, rank), of a point or the image of a vector."""

    @abstractmethod
    def pulled(self, G: Array) -> Array:
        """Return the adjoint of `factor` at G: it maps a gradient in Y to one in x."""

    @abstractmethod
    def point(self, Y: Array) -> Array:
        """Return the point whose factor is nearest to Y, up to the scale of rows."""

    @abstractmethod
    def multipliers(self, G: Array, Y: Array) -> Array:
        """Return y for which ‖(M − B*(y)) Y‖ is least, where G = MY; exact where Y is stationary."""

    @abstractmethod
    def matrix(self, y: Array) -> sp.csr_array:
        """Return B*(y)."""

    @abstractmethod
    def terms(self, y: Array) -> Array:
        """Return the terms of the sum bᵀy."""


class Diagonal(Structure):
    """diag(X) = d: rows of Y are points of spheres."""

    def __init__(self, d: Array) -> None:
        self.n = self.size = len(d)
        self.d, self.trace = d, float(d.sum())
        self._radius = np.sqrt(d)[:, None]

    def manifold(self, rank: int) -> Manifold:
        return Power(Sphere(rank), self.n)

    def factor(self, x: Array) -> Array:
        return np.asarray(self._radius * x)

    def pulled(self, G: Array) -> Array:
        return np.asarray(self._radius * G)

    def point(self, Y: Array) -> Array:
        return np.asarray(Y / np.linalg.norm(Y, axis=1, keepdims=True))

    def multipliers(self, G: Array, Y: Array) -> Array:
        return np.asarray(np.einsum("ij,ij->i", G, Y) / self.d)

    def matrix(self, y: Array) -> sp.csr_array:
        return sp.diags_array(y).tocsr()

    def terms(self, y: Array) -> Array:
        return self.d * y


class Blocks(Structure):
    """The d × d diagonal blocks of X are identities: blocks of d rows of Y are orthonormal."""

    def __init__(self, n: int, d: int) -> None:
        self.n, self.d, self.trace = n, d, float(n)
        self.size = n // d * (d * (d + 1) // 2)
        self.least_rank = max(d, 2)
        # If blocks stand for rotations, X usually has rank d, and two more columns leave room to escape
        # saddles: SE-Sync (Rosen, Carlone, Bandeira, Leonard, 2019) starts with 5 for d = 3.
        self.first_rank = d + 2

    def manifold(self, rank: int) -> Manifold:
        return Power(Stiefel(rank, self.d), self.n // self.d)

    def factor(self, x: Array) -> Array:
        return np.ascontiguousarray(x.transpose(0, 2, 1)).reshape(self.n, -1)

    def pulled(self, G: Array) -> Array:
        return np.ascontiguousarray(self._split(G).transpose(0, 2, 1))

    def point(self, Y: Array) -> Array:
        left, _, right = np.linalg.svd(self.pulled(Y), full_matrices=False)
        return np.asarray(left @ right)

    def multipliers(self, G: Array, Y: Array) -> Array:
        y = self._split(G) @ self._split(Y).transpose(0, 2, 1)
        return np.asarray(y + y.transpose(0, 2, 1)) / 2.0

    def matrix(self, y: Array) -> sp.csr_array:
        return sp.block_diag(list(y), "csr")

    def terms(self, y: Array) -> Array:
        return np.asarray(np.einsum("kii->ki", y).ravel())

    def _split(self, Y: Array) -> Array:
        return Y.reshape(self.n // self.d, self.d, -1)


class Trace(Structure):
    """trace(X) = t: Y is a point of one sphere."""

    def __init__(self, n: int, t: float) -> None:
        self.n, self.trace, self.size = n, t, 1
        self._radius = np.sqrt(t)

    def manifold(self, rank: int) -> Manifold:
        return Sphere(self.n * rank)

    def factor(self, x: Array) -> Array:
        return np.asarray(self._radius * x.reshape(self.n, -1))

    def pulled(self, G: Array) -> Array:
        return np.asarray(self._radius * G.ravel())

    def point(self, Y: Array) -> Array:
        return np.asarray(Y.ravel() / np.linalg.norm(Y))

    def multipliers(self, G: Array, Y: Array) -> Array:
        return np.array([np.vdot(G, Y) / self.trace])

    def matrix(self, y: Array) -> sp.csr_array:
        return (y[0] * sp.eye_array(self.n)).tocsr()

    def terms(self, y: Array) -> Array:
        return self.trace * y
