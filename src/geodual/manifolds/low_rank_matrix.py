"""A dense matrix that keeps its factors: the points of `FixedRank`."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgeqrf, dgesvd, dorgqr

from geodual.arrays import Array

_SMALL = 400  # number of entries below which numpy's checks take longer than the decomposition

Factors = tuple[Array, Array, Array]
"""U with orthonormal columns, the singular values s, and Vᵀ with orthonormal rows."""


class LowRankMatrix(np.ndarray):
    """The read-only array U diag(s) Vᵀ together with its factors.

    For the user's functions it is an ordinary dense array; arithmetic with it returns plain arrays. The
    manifold reads the factors from it, without a singular value decomposition of the matrix.

    Parameters
    ----------
    u, s, vt : array
        The factors, of shapes (m, r), (r,) and (r, n).

    Attributes
    ----------
    factors : tuple of arrays, or None
        The factors; None for copies and parts of the matrix, which may be any array.
    """

    factors: Factors | None

    def __new__(cls, u: Array, s: Array, vt: Array) -> LowRankMatrix:
        dense = np.asarray((u * s) @ vt)
        dense.flags.writeable = False  # changing an entry would not change the factors
        matrix = dense.view(cls)
        matrix.factors = (u, s, vt)
        return matrix

    def __array_finalize__(self, obj: Any) -> None:
        self.factors = None

    def __array_wrap__(
        self, array: Any, context: tuple[Any, ...] | None = None, return_scalar: bool = False
    ) -> Any:
        return array[()] if return_scalar else np.asarray(array)


def thin_qr(a: Array) -> tuple[Array, Array]:
    """Return Q with orthonormal columns and an upper triangular R with QR = `a`, which is m × n."""
    # LAPACK itself: numpy's wrapper takes three times as long for the thin matrices in every step.
    packed, tau, _, _ = dgeqrf(a)
    size = min(a.shape)
    return dorgqr(packed[:, :size], tau)[0], packed[:size] * _upper(size, a.shape[1])


@cache
def _upper(m: int, n: int) -> Array:
    return np.triu(np.ones((m, n)))


def truncated_svd(a: Array, rank: int) -> tuple[Factors, float]:
    """Return the factors of the nearest matrix of the given rank to `a`, and the next singular value."""
    u, s, vt = _small_svd(a) if a.size <= _SMALL else np.linalg.svd(a, full_matrices=False)
    rest = float(s[rank]) if rank < len(s) else 0.0
    return (u[:, :rank], s[:rank], vt[:rank]), rest


def _small_svd(a: Array) -> Factors:
    # LAPACK itself, as above; for large matrices this routine is slower.
    u, s, vt, info = dgesvd(a, full_matrices=0)
    if info or not math.isfinite(s[0]):
        raise np.linalg.LinAlgError("The singular value decomposition did not converge.")
    return u, s, vt
