"""Many positive definite matrices at once: the frame of powers of `SPD`."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from geodual.arrays import Array

from .frame import Frame, HalfSquaredDistance, HessianMap, Vector
from .spd import FAR, OVERFLOW, SHORT, indefinite, x_coth_x


class CholeskyStackFrame(Frame):
    """The tangent space at a stack W = LLᵀ of matrices: stacks V = L S Lᵀ in the coordinates S.

    The formulas are those of `CholeskyFrame`; numpy's linear algebra runs over the whole stack.
    """

    def __init__(self, point: Array) -> None:
        self.point = point
        self.factor = _cholesky(point)
        self._transposed = _transposed(self.factor)

    @cached_property
    def _inverse(self) -> Array:
        return np.linalg.inv(self.factor)

    def _congruent(self, y: Array) -> Array:
        """Return L⁻¹ y L⁻ᵀ."""
        return _symmetrised(self._inverse @ y @ _transposed(self._inverse))

    def tangent(self, c: Array) -> Array:
        return np.asarray(self.factor @ c @ self._transposed)

    def coordinates(self, u: Vector) -> Array:
        return self._congruent(np.asarray(u, dtype=float))

    def random(self, rng: np.random.Generator) -> Array:
        return _symmetrised(rng.standard_normal(self.shape))

    def gradient(self, egrad: Vector) -> Array:
        return _symmetrised(self._transposed @ egrad @ self.factor)

    def hessian_map(self, egrad: Vector) -> HessianMap:
        # Second derivative of f(L(I + S + S²/2)Lᵀ) at S = 0.
        factor, transposed, gradient = self.factor, self._transposed, self.gradient(egrad)
        return lambda ehess, c: _symmetrised(transposed @ ehess @ factor + gradient @ c)

    def exp(self, c: Array) -> Array:
        spectrum, basis = np.linalg.eigh(c)
        return _square((self.factor @ basis) * np.exp(0.5 * spectrum)[:, None, :])

    def _spectral_log(self, y: Array) -> tuple[Array, Array]:
        spectrum, basis = np.linalg.eigh(self._congruent(y))
        return _log_spectrum(spectrum, y), basis

    def log(self, y: Array) -> Array:
        theta, basis = self._spectral_log(y)
        return np.asarray((basis * theta[:, None, :]) @ _transposed(basis))

    def dist(self, y: Array) -> float:
        return float(np.linalg.norm(_log_spectrum(np.linalg.eigvalsh(self._congruent(y)), y)))

    def retract(self, c: Array) -> Array:
        # W + V + ½ V W⁻¹ V, and I + S + S²/2 = (I + (I + S)²)/2 is positive definite for every S.
        return np.asarray(0.5 * (_square(self.factor) + _square(self.factor + self.factor @ c)))

    def move(self, c: Array) -> Array:
        """Retract in 2ʲ short steps at once, as `CholeskyFrame` does; j suits the longest step."""
        length = math.sqrt(float(np.einsum("kij,kij->k", c, c).max()))
        if not length < OVERFLOW:
            return np.full_like(c, np.inf)
        halvings = max(math.ceil(math.log2(length / SHORT)), 1) if length > SHORT else 1
        short = c * 0.5**halvings
        root = np.eye(c.shape[-1]) + short + 0.5 * (short @ short)
        # Square up to the half power only: the last product squares once more and keeps symmetry.
        for _ in range(halvings - 1):
            root = root @ root
        return _square(self.factor @ root)

    def remoteness(self, y: Array) -> float:
        theta = _log_spectrum(np.linalg.eigvalsh(self._congruent(y)), y)
        return float(np.linalg.norm(theta, axis=-1).max()) / (FAR * math.sqrt(y.shape[-1]))

    def transport(self, y: Array, c: Array) -> Array:
        theta, basis = self._spectral_log(y)
        half = (self.factor @ basis) * np.exp(0.5 * theta)[:, None, :] @ _transposed(basis)
        return np.asarray(half @ c @ _transposed(half))

    def half_squared_distance(self, y: Array) -> HalfSquaredDistance:
        theta, basis = self._spectral_log(y)
        # In the eigenbasis of the logarithm the Hessian scales entry ij by x coth x, x = (θᵢ − θⱼ)/2.
        weights = x_coth_x(0.5 * (theta[:, :, None] - theta[:, None, :]))
        back = _transposed(basis)

        def hessian(c: Array) -> Array:
            return np.asarray(basis @ (weights * (back @ c @ basis)) @ back)

        gradient = -(basis * theta[:, None, :]) @ back
        return HalfSquaredDistance(0.5 * float(np.vdot(theta, theta)), gradient, hessian)


def _transposed(a: Array) -> Array:
    return np.swapaxes(a, -1, -2)


def _symmetrised(a: Array) -> Array:
    return np.asarray(0.5 * (a + _transposed(a)))


def _square(half: Array) -> Array:
    """Return half·halfᵀ."""
    return np.asarray(half @ _transposed(half))


def _cholesky(x: Array) -> Array:
    try:
        return np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        raise indefinite(x[int(np.argmin(np.linalg.eigvalsh(x)[:, 0]))]) from None


def _log_spectrum(spectrum: Array, y: Array) -> Array:
    if not (spectrum > 0.0).all():
        raise indefinite(y[int(np.argmin(spectrum[:, 0]))])
    return np.log(spectrum)
