"""The losses of the LogDet programs, one object per pair or comparison, for an independent check."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf, log
from typing import Any

import numpy as np

_STRAIGHT = 1e-9  # below this d/b, the loss of ITML for dissimilar pairs is a straight line


@dataclass(frozen=True)
class Term(ABC):
    """A convex loss φ of t = vᵀWv − wᵀWw, which grows where sign (t − bound) does.

    Attributes
    ----------
    v, w : array of shape (n_features,)
        The differences of the two pairs; w is 0 if there is only one.
    sign, bound : float
        The numbers above.
    """

    v: Any
    w: Any
    sign: float
    bound: float

    def measured(self, W: Any) -> float:
        """Return t = vᵀWv − wᵀWw."""
        return float(self.v @ W @ self.v - self.w @ W @ self.w)

    def size(self, W: Any) -> float:
        """Return the size of the terms of t, before they cancel."""
        v, w, W = np.abs(self.v), np.abs(self.w), np.abs(W)
        return float(v @ W @ v + w @ W @ w)

    @property
    @abstractmethod
    def unit(self) -> float:
        """Unit of slopes in which φ* has the curvature 1 at slope 0."""

    @property
    def steepest(self) -> float:
        """The largest absolute slope that φ takes, or nearly so."""
        return inf

    @abstractmethod
    def value(self, t: float) -> float:
        """Return φ(t)."""

    @abstractmethod
    def slope(self, t: float) -> float:
        """Return φ′(t)."""

    @abstractmethod
    def conjugate(self, a: float) -> float:
        """Return φ*(a)."""

    @abstractmethod
    def conjugate_slope(self, a: float) -> float:
        """Return the derivative of φ* at a."""

    @abstractmethod
    def conjugate_curvature(self, a: float) -> float:
        """Return the second derivative of φ* at a."""


@dataclass(frozen=True)
class Hinge(Term):
    """The loss ½ [sign (t − bound)]₊² / scale."""

    scale: float

    def excess(self, t: float) -> float:
        """Return [sign (t − bound)]₊."""
        return max(self.sign * (t - self.bound), 0.0)

    @property
    def unit(self) -> float:
        """Unit of slopes."""
        return float(self.scale**-0.5)

    def value(self, t: float) -> float:
        """Return φ(t)."""
        return 0.5 * self.excess(t) ** 2 / self.scale

    def slope(self, t: float) -> float:
        """Return φ′(t)."""
        return self.sign * self.excess(t) / self.scale

    def conjugate(self, a: float) -> float:
        """Return φ*(a)."""
        return a * self.bound + 0.5 * self.scale * a**2

    def conjugate_slope(self, a: float) -> float:
        """Return the derivative of φ* at a."""
        return self.bound + self.scale * a

    def conjugate_curvature(self, a: float) -> float:
        """Return the second derivative of φ* at a."""
        return self.scale


@dataclass(frozen=True)
class Burg(Term):
    """The loss gamma (t/bound − log(t/bound) − 1) where the bound is violated, and 0 elsewhere.

    For dissimilar pairs it is a straight line below 1e-9 of the bound, as the docstring of ITML says.
    """

    gamma: float

    def _ratio(self, t: float) -> float:
        """Return t/bound, or the nearest number where the loss is curved."""
        ratio = t / self.bound
        return max(ratio, 1.0) if self.sign > 0.0 else min(max(ratio, _STRAIGHT), 1.0)

    @property
    def unit(self) -> float:
        """Unit of slopes."""
        return float(self.gamma**0.5 / self.bound)

    @property
    def steepest(self) -> float:
        """The largest absolute slope that φ takes, or nearly so."""
        return self.gamma / self.bound * (1.0 - 1e-12 if self.sign > 0.0 else 1.0 / _STRAIGHT - 1.0)

    def value(self, t: float) -> float:
        """Return φ(t)."""
        ratio = self._ratio(t)
        straight = self.slope(t) * (t - ratio * self.bound)  # 0 where the loss is curved
        return self.gamma * (ratio - log(ratio) - 1.0) + straight

    def slope(self, t: float) -> float:
        """Return φ′(t)."""
        return self.gamma / self.bound * (1.0 - 1.0 / self._ratio(t))

    def conjugate(self, a: float) -> float:
        """Return φ*(a)."""
        left = 1.0 - a * self.bound / self.gamma
        return -self.gamma * log(left) if left > 0.0 else inf

    def conjugate_slope(self, a: float) -> float:
        """Return the derivative of φ* at a."""
        return self.bound / (1.0 - a * self.bound / self.gamma)

    def conjugate_curvature(self, a: float) -> float:
        """Return the second derivative of φ* at a."""
        return self.conjugate_slope(a) ** 2 / self.gamma
