"""What a pair costs at a given squared distance: the part in which the learners differ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from geodual.arrays import Array

_BURG_END = 1e-9  # of d/b, below which the loss of dissimilar pairs is straight


class LossTerms(NamedTuple):
    """The loss of some pairs: its sum, slope and curvature at each, and the sum of the conjugates."""

    value: float
    slope: Array
    curvature: Array
    conjugate: float


class PairLoss(ABC):
    """A convex, once differentiable function φ ≥ 0 of the squared distance d of a pair.

    Similar and dissimilar pairs have each their own. Subclasses give four functions of arrays; see
    `docs/add_a_pair_loss.md`.
    """

    @abstractmethod
    def value(self, d: Array, similar: bool) -> Array:
        """Return φ(d)."""

    @abstractmethod
    def slope(self, d: Array, similar: bool) -> Array:
        """Return φ′(d)."""

    @abstractmethod
    def curvature(self, d: Array, similar: bool) -> Array:
        """Return φ″(d), or a generalised derivative of φ′ where it has a kink."""

    @abstractmethod
    def conjugate(self, a: Array, similar: bool) -> Array:
        """Return φ*(a) = sup over d of a d − φ(d), for values a of the slope."""

    def terms(self, d: Array, similar: bool, weight: Array | None = None) -> LossTerms:
        """Evaluate all at once; `d` may be overwritten. Weights multiply the loss of each pair."""
        slope = self.slope(d, similar)
        value, curvature, conjugate = (
            self.value(d, similar),
            self.curvature(d, similar),
            self.conjugate(slope, similar),
        )
        if weight is None:
            return LossTerms(float(value.sum()), slope, curvature, float(conjugate.sum()))
        return LossTerms(
            float(np.vdot(weight, value)),
            weight * slope,
            weight * curvature,
            float(np.vdot(weight, conjugate)),
        )


@dataclass(frozen=True)
class SquaredHinge(PairLoss):
    """½ [s (d − b)]₊² / ρ: what is left of RPDML's slack and multipliers when they are eliminated.

    Attributes
    ----------
    upper, lower : float
        The bounds b: u for similar pairs, whose s is +1, and l for dissimilar ones, whose s is −1.
    upper_scale, lower_scale : float
        ρ = C₂ + b²/C₁ of each kind.
    """

    upper: float
    lower: float
    upper_scale: float
    lower_scale: float

    def _excess(self, d: Array, similar: bool) -> Array:
        return np.asarray(np.maximum(d - self.upper if similar else self.lower - d, 0.0))

    def _scale(self, similar: bool) -> float:
        return self.upper_scale if similar else self.lower_scale

    def value(self, d: Array, similar: bool) -> Array:
        return np.asarray(0.5 * self._excess(d, similar) ** 2 / self._scale(similar))

    def slope(self, d: Array, similar: bool) -> Array:
        sign = 1.0 if similar else -1.0
        return np.asarray(sign * self._excess(d, similar) / self._scale(similar))

    def curvature(self, d: Array, similar: bool) -> Array:
        return np.asarray((self._excess(d, similar) > 0.0) / self._scale(similar))

    def conjugate(self, a: Array, similar: bool) -> Array:
        bound = self.upper if similar else self.lower
        return np.asarray(a * bound + 0.5 * self._scale(similar) * a**2)

    def terms(self, d: Array, similar: bool, weight: Array | None = None) -> LossTerms:
        # In place, because this is most of a pass that is not a matrix product.
        bound, inverse = (self.upper if similar else self.lower), 1.0 / self._scale(similar)
        d -= bound
        (np.maximum if similar else np.minimum)(d, 0.0, out=d)  # now s [s (d − b)]₊ = ρ φ′
        curvature = (d != 0.0) * inverse
        slope = d * inverse if weight is None else weight * d * inverse
        square = 0.5 * float(np.vdot(slope, d))
        if weight is not None:
            curvature *= weight
        return LossTerms(square, slope, curvature, bound * float(slope.sum()) + square)


@dataclass(frozen=True)
class OneSidedBurg(PairLoss):
    """γ (d/b − log(d/b) − 1) on the violated side, else 0: ITML's slack eliminated.

    For dissimilar pairs it is infinite at d = 0, which no metric could mend; below 1e-9 b it therefore goes
    on as a straight line, so that a pair of nearly equal samples is given up.

    Attributes
    ----------
    upper, lower : float
        The bounds b of similar and dissimilar pairs.
    gamma : float
        Weight of the loss. ITML's own γ is twice this, for its divergence has no factor ½.
    """

    upper: float
    lower: float
    gamma: float

    def _ratio(self, d: Array, similar: bool) -> Array:
        """Return d/b where it violates the bound and the loss is curved, else the end of that range."""
        if similar:
            return np.asarray(np.maximum(d / self.upper, 1.0))
        return np.asarray(np.clip(d / self.lower, _BURG_END, 1.0))

    def value(self, d: Array, similar: bool) -> Array:
        ratio = self._ratio(d, similar)
        bound = self.upper if similar else self.lower
        straight = (1.0 - 1.0 / ratio) * (d / bound - ratio)
        return np.asarray(self.gamma * (ratio - np.log(ratio) - 1.0 + straight))

    def slope(self, d: Array, similar: bool) -> Array:
        bound = self.upper if similar else self.lower
        return np.asarray(self.gamma / bound * (1.0 - 1.0 / self._ratio(d, similar)))

    def curvature(self, d: Array, similar: bool) -> Array:
        bound = self.upper if similar else self.lower
        ratio = self._ratio(d, similar)
        return np.asarray(self.gamma / bound**2 * ((ratio != 1.0) & (ratio != _BURG_END)) / ratio**2)

    def conjugate(self, a: Array, similar: bool) -> Array:
        bound = self.upper if similar else self.lower
        return np.asarray(-self.gamma * np.log1p(-a * bound / self.gamma))
