"""A dense matrix that remembers its factors: the points of `FixedRank`."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual.arrays import Array

Factors = tuple[Array, Array, Array]
"""U with orthonormal columns, the singular values s, and Vᵀ with orthonormal rows."""


class LowRankMatrix(np.ndarray):
    """The read-only array U diag(s) Vᵀ together with its factors.

    It is an ordinary dense array for the user's functions; arithmetic with it gives plain arrays. The
    manifold finds the factors in it and need not compute a singular value decomposition of the matrix.

    Parameters
    ----------
    u, s, vt : array
        The factors, of shapes (m, r), (r,) and (r, n).

    Attributes
    ----------
    factors : tuple of arrays, or None
        The same; None for copies and parts of the matrix, which may be any array.
    """

    factors: Factors | None

    def __new__(cls, u: Array, s: Array, vt: Array) -> LowRankMatrix:
        matrix = np.asarray((u * s) @ vt).view(cls)
        matrix.factors = (u, s, vt)
        matrix.flags.writeable = False  # a change of an entry would not reach the factors
        return matrix

    def __array_finalize__(self, obj: Any) -> None:
        self.factors = None

    def __array_wrap__(
        self, array: Any, context: tuple[Any, ...] | None = None, return_scalar: bool = False
    ) -> Any:
        return array[()] if return_scalar else np.asarray(array)


def truncated_svd(a: Array, rank: int) -> tuple[Factors, float]:
    """Return the factors of the matrix of a given rank nearest to `a`, and the next singular value."""
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    rest = float(s[rank]) if rank < len(s) else 0.0
    return (u[:, :rank], s[:rank], vt[:rank]), rest
