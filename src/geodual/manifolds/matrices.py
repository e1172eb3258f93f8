"""Linear algebra on one matrix or a stack of matrices, real or complex."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import expm

from geodual.arrays import Array

from .base import NotOnManifoldError, defect_tolerance, is_single

_SMALL = 3  # up to this many rows, and
_MANY = 100  # from this many matrices, products entry by entry are faster than BLAS (measured)


def adjoint(a: Array) -> Array:
    """Return aᴴ, the transpose if `a` is real; a real `a` is not copied."""
    return a.conj().mT


def hermitian(a: Array) -> Array:
    """Return the Hermitian (or symmetric) part of `a`."""
    return np.asarray(0.5 * (a + adjoint(a)))


def skew(a: Array) -> Array:
    """Return the skew-Hermitian (or skew-symmetric) part of `a`."""
    return np.asarray(0.5 * (a - adjoint(a)))


def product(a: Array, b: Array) -> Array:
    """Return a @ b; for long stacks of small matrices entry by entry, because numpy calls BLAS for each."""
    if a.ndim != 3 or a.shape[-1] > _SMALL or len(a) < _MANY:
        return np.asarray(a @ b)
    left, right = (np.ascontiguousarray(np.transpose(factor, (1, 2, 0))) for factor in (a, b))
    return np.ascontiguousarray(np.einsum("ijk,jlk->ilk", left, right).transpose(2, 0, 1))


def polar(a: Array) -> Array:
    """Return the matrix with orthonormal columns that is closest to `a`."""
    u, _, vt = np.linalg.svd(a, full_matrices=False)
    return np.asarray(u @ vt)


def reorthonormalized(a: Array) -> Array:
    """Return the polar factor of a matrix whose columns are orthonormal up to rounding.

    One Newton-Schulz step, which squares the defect.
    """
    return np.asarray(1.5 * a - 0.5 * product(a, product(adjoint(a), a)))


def expm_skew(a: Array) -> Array:
    """Return the exponential of a skew-Hermitian (or skew-symmetric) matrix, exact to rounding."""
    if a.ndim == 2:  # scipy is faster for one matrix, but loops over a stack
        return np.asarray(expm(a))
    angles, basis = np.linalg.eigh(-1j * a)
    turned = (basis * np.exp(1j * angles)[..., None, :]) @ adjoint(basis)
    return turned if np.iscomplexobj(a) else np.ascontiguousarray(turned.real)


def check_hermitian(x: Array, given: Any, owner: object) -> Array:
    """Return `x` if it is symmetric (or Hermitian), or raise an error that describes the defect.

    `x` is the array `given` in double precision.
    """
    if not np.array_equal(x, adjoint(x)):
        claim, remedy = "symmetric, but it differs from its transpose", "symmetrize it with (x + x.T) / 2"
        if np.iscomplexobj(x):
            claim, remedy = "Hermitian, but it differs from its adjoint", "take (x + x.conj().T) / 2"
        _check_mirror(x, adjoint(x), given, f"A point of {owner} must be {claim}", remedy)
    return hermitian(x) if is_single(given) else x


def check_skew(x: Array, given: Any, owner: object) -> Array:
    """Return `x` if it is skew-symmetric, or raise an error that describes the defect.

    `x` is the array `given` in double precision.
    """
    claim = f"A point of {owner} must be skew-symmetric, but it differs from -x.T"
    _check_mirror(x, -adjoint(x), given, claim, "take (x - x.T) / 2")
    return skew(x) if is_single(given) else x


def _check_mirror(x: Array, mirror: Array, given: Any, claim: str, remedy: str) -> None:
    """Raise an error unless a matrix, or each of a stack, equals `mirror` up to rounding."""
    difference = np.abs(x - mirror).max(axis=(-2, -1))
    if (difference > defect_tolerance(given) * np.abs(x).max(axis=(-2, -1))).any():
        raise NotOnManifoldError(f"{claim} by up to {difference.max():.3g}; {remedy}.")
