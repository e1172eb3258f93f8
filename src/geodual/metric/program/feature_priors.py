"""Priors that keep feature weights near 1: values, duals, and coordinates for Newton steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.manifolds.euclidean import EuclideanFrame
from geodual.manifolds.frame import Frame
from geodual.manifolds.positive_orthant import PositiveFrame

_SHRINKAGES = 1.0 - np.geomspace(1.0, 1e-3, 24)[1:]  # of multipliers, almost up to the largest feasible
_NEAR_ZERO = 0.1  # weights up to this may go to zero independently of the others; usual weights are near 1
_SNAP = 0.1  # share of the way to zero after which such a weight becomes zero, because steps are rough


class LocalPrior(NamedTuple):
    """Coordinates c at weights w in which the program of prior and term has simple derivatives.

    Attributes
    ----------
    frame : Frame
        The frame, which takes steps.
    gradient : array of shape (n_features,)
        Gradient of the full program.
    scale : array of shape (n_features,)
        Change of each weight per coordinate, for the term.
    curvature : array of shape (n_features,)
        Second derivatives of the prior.
    settled : bool
        Whether all weights that should be zero are: those that are zero where the dual is attained.
    """

    frame: Frame
    gradient: Array
    scale: Array
    curvature: Array
    settled: bool = True


class FeaturePrior(Protocol):
    """A nonnegative convex function of feature weights that keeps them near 1."""

    def parts(self, w: Array) -> tuple[float, ...]:
        """Return the terms of the value; rounding errors grow with each of them."""

    def dual(self, sums: Array, conjugate: float) -> float:
        """Return a lower bound on the optimum, given Vᵀλ and φ*(λ) for multipliers λ of the distances V w."""

    def local(self, w: Array, sums: Array) -> LocalPrior:
        """Return coordinates at w, given the gradient Vᵀλ of the term."""


class LogDetPrior:
    """½ Σ (w − log w − 1) on w > 0. The dual is ½ Σ log(1 + 2 Vᵀλ) − φ*(λ)."""

    def parts(self, w: Array) -> tuple[float, ...]:
        """Return the terms of the value."""
        # In two parts, because rounding errors grow with each part, not with the sum.
        return 0.5 * float((w - 1.0).sum()), -0.5 * float(np.log(w).sum())

    def dual(self, sums: Array, conjugate: float) -> float:
        """Return the dual at λ, or at a smaller one that is feasible."""
        sums = 2.0 * sums
        least = float(sums.min())
        if least > -1.0:
            return 0.5 * float(np.log1p(sums).sum()) - conjugate
        # φ* is convex, and φ*(0) ≤ 0 because φ ≥ 0, so φ*(s λ) ≤ s φ*(λ).
        s = (1.0 - 1e-9) / -least * _SHRINKAGES
        return float((0.5 * np.log1p(s[:, None] * sums).sum(axis=1) - s * conjugate).max())

    def local(self, w: Array, sums: Array) -> LocalPrior:
        """Return coordinates at w: the change is w c."""
        return LocalPrior(StraightPositiveFrame(w), 0.5 * (w - 1.0) + w * sums, w, np.full(len(w), 0.5))


@dataclass(frozen=True)
class SparsePrior:
    """½ Σ (w − 1)² + μ Σ w on w ≥ 0, under which weights may be exactly zero.

    At multipliers λ, the prior plus wᵀVᵀλ is smallest at w = max(a, 0) with a = 1 − μ − Vᵀλ, so the dual is
    ½ Σ (1 − max(a, 0)²) − φ*(λ). No λ is infeasible.

    Attributes
    ----------
    penalty : float
        μ.
    """

    penalty: float

    def parts(self, w: Array) -> tuple[float, ...]:
        """Return the terms of the value."""
        return 0.5 * float(np.square(w - 1.0).sum()), self.penalty * float(w.sum())

    def dual(self, sums: Array, conjugate: float) -> float:
        """Return the dual at λ."""
        free = np.maximum(1.0 - self.penalty - sums, 0.0)
        return 0.5 * float((1.0 - free**2).sum()) - conjugate

    def local(self, w: Array, sums: Array) -> LocalPrior:
        """Return coordinates at w: small decreasing weights go to zero and do not affect the others.

        So steps descend for any number of weights that reach zero (Bertsekas 1982, projected Newton steps).
        """
        gradient = w - 1.0 + self.penalty + sums
        residual = float(np.linalg.norm(w - np.maximum(w - gradient, 0.0)))  # of a projected gradient step
        falling = (gradient > 0.0) & (w <= min(_NEAR_ZERO, residual))
        curvature = np.ones(len(w))
        leaving = falling & (w > 0.0)
        curvature[leaving] = gradient[leaving] / w[leaving]  # the step of these is −w
        settled = not ((w > 0.0) & (gradient >= w)).any()
        gradient = np.where(falling & ~leaving, 0.0, gradient)
        frame = NonNegativeFrame(w, leaving)
        return LocalPrior(frame, gradient, np.where(falling, 0.0, 1.0), curvature, settled)


class StraightPositiveFrame(PositiveFrame):
    """The coordinates c of w (1 + c), with steps along straight lines, where distances are linear.

    Below −½, a hyperbola takes over, so that weights stay positive: −1/(4 c) has the same value and slope at
    −½.
    """

    def move(self, c: Array) -> Array:
        return np.asarray(self.point * np.where(c >= -0.5, 1.0 + c, -0.25 / np.minimum(c, -0.5)))


class NonNegativeFrame(EuclideanFrame):
    """The coordinates c of w + c, with steps that stop where a weight would become negative.

    Parameters
    ----------
    point : array of shape (n_features,)
        The weights w.
    leaving : array of bool of shape (n_features,)
        Weights that should become zero.
    """

    def __init__(self, point: Array, leaving: NDArray[np.bool_]) -> None:
        super().__init__(point)
        self._leaving = leaving

    def move(self, c: Array) -> Array:
        left = np.maximum(self.point + c, 0.0)
        return np.where(self._leaving & (c < -_SNAP * self.point), 0.0, left)
