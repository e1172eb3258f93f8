"""The loss of a pair as a function of its squared distance, the only difference of RPDML and ITML."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array

_BURG_END = 1e-9  # below this d/b, the loss of dissimilar pairs is linear


class LossTerms(NamedTuple):
    """The loss of some pairs.

    Attributes
    ----------
    value, conjugate : float
        Σ φ and Σ φ*.
    slope, curvature : array
        φ′ and φ″ of each pair, divided by `unit`; the curvature is boolean if it can only be 0 or `unit`.
    unit : float
        A factor that is faster to apply to sums than to each pair; 1 except in `tile_terms`.
    """

    value: float
    slope: Array
    curvature: NDArray[Any]
    conjugate: float
    unit: float = 1.0


class PairLoss(ABC):
    """A convex, differentiable function φ ≥ 0 of the squared distance d of a pair.

    Similar and dissimilar pairs have one function each. Subclasses implement four functions of arrays;
    `docs/add_a_pair_loss.md` is a guide.
    """

    @abstractmethod
    def value(self, d: Array, similar: bool) -> Array:
        """Return φ(d), in the shape of `d`."""

    @abstractmethod
    def slope(self, d: Array, similar: bool) -> Array:
        """Return φ′(d), whose sign must not change within a kind of pairs."""

    @abstractmethod
    def curvature(self, d: Array, similar: bool) -> Array:
        """Return φ″(d), or any one-sided value at a kink of φ′."""

    @abstractmethod
    def conjugate(self, a: Array, similar: bool) -> Array:
        """Return φ*(a) = sup over d of a d − φ(d); `a` is always a slope φ′(d)."""

    def conjugate_at(self, d: Array, slope: Array, similar: bool) -> Array:
        """Return φ*(φ′(d)), given φ′(d); override it if computing from the slope loses digits."""
        return self.conjugate(slope, similar)

    def terms(self, d: Array, similar: bool, weight: Array | None = None) -> LossTerms:
        """Evaluate everything at once; `weight` multiplies the loss of each pair; `d` may be overwritten."""
        slope = self.slope(d, similar)
        # The conjugate is needed only at the slope, the multiplier of the dual.
        value, curvature, conjugate = (
            self.value(d, similar),
            self.curvature(d, similar),
            self.conjugate_at(d, slope, similar),
        )
        if weight is None:
            return LossTerms(float(value.sum()), slope, curvature, float(conjugate.sum()))
        return LossTerms(
            float(np.vdot(weight, value)),
            weight * slope,
            weight * curvature,
            float(np.vdot(weight, conjugate)),
        )

    def tile_terms(self, d: Array, similar: bool) -> LossTerms:
        """Evaluate many pairs of weight 1.

        Small distances may be negative because of rounding. `d` may be overwritten, and `unit` need not be 1.
        """
        return self.terms(np.maximum(d, 0.0, out=d), similar)


@dataclass(frozen=True)
class SquaredHinge(PairLoss):
    """The loss of RPDML, ½ [s (d − b)]₊² / ρ, left after slacks and multipliers are eliminated.

    Attributes
    ----------
    upper, lower : float
        The bounds b: u for similar pairs (s = +1), l for dissimilar pairs (s = −1).
    upper_scale, lower_scale : float
        ρ = C₂ + b²/C₁ for similar and for dissimilar pairs.
    """

    upper: float
    lower: float
    upper_scale: float
    lower_scale: float

    @classmethod
    def weighted(cls, u: float, l: float, C1: float, C2: float) -> SquaredHinge:  # noqa: E741 - the paper's letter
        """Return the loss for the bounds u and l, the weight C₁ of the slacks and C₂ of the multipliers."""
        scales = (C2 + u**2 / C1, C2 + l**2 / C1) if C1 > 0.0 else (np.inf, np.inf)
        if not 0.0 < min(scales) <= max(scales) < np.inf:
            raise ValueError(
                f"`C` divided by the weight of all pairs is {C1:.3g}, too small or too large for the "
                f"bounds u = {u:.3g} and l = {l:.3g}; choose another `C`, or weights closer to 1."
            )
        return cls(u, l, *scales)

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
        found = self.tile_terms(d, similar)
        excess, slope, curvature = found.slope, found.slope * found.unit, found.curvature * found.unit
        if weight is None:
            return LossTerms(found.value, slope, curvature, found.conjugate)
        slope *= weight
        value, bound = 0.5 * float(np.vdot(slope, excess)), self.upper if similar else self.lower
        return LossTerms(value, slope, weight * curvature, bound * float(slope.sum()) + value)

    def tile_terms(self, d: Array, similar: bool) -> LossTerms:
        # In place, without the four methods: after matrix products, this takes most of the time of a pass.
        bound, unit = (self.upper if similar else self.lower), 1.0 / self._scale(similar)
        d -= bound
        # Here s [s (d − b)]₊ = ρ φ′; `clip` takes half the time of `maximum`.
        np.clip(d, *((0.0, np.inf) if similar else (-np.inf, 0.0)), out=d)
        value = 0.5 * unit * float(np.vdot(d, d))
        return LossTerms(value, d, d != 0.0, bound * unit * float(d.sum()) + value, unit)


@dataclass(frozen=True)
class OneSidedBurg(PairLoss):
    """The loss of ITML, γ (d/b − log(d/b) − 1) if the bound is violated and 0 otherwise.

    It is left after the slacks are eliminated. For dissimilar pairs, it would be infinite at d = 0, but no
    metric can separate equal samples. Below 1e-9 b, it therefore continues linearly.

    Attributes
    ----------
    upper, lower : float
        The bounds b of similar and of dissimilar pairs.
    gamma : float
        Weight of the loss: half of ITML's γ, because ITML's divergence has no factor ½.
    """

    upper: float
    lower: float
    gamma: float

    def _ratio(self, d: Array, similar: bool) -> Array:
        """Return d/b, clipped to the range in which the bound is violated and the loss is curved."""
        if similar:
            return np.asarray(np.maximum(d / self.upper, 1.0))
        return np.asarray(np.clip(d / self.lower, _BURG_END, 1.0))

    def value(self, d: Array, similar: bool) -> Array:
        ratio = self._ratio(d, similar)
        bound = self.upper if similar else self.lower
        # The tangent beyond the curved range; zero inside it.
        straight = (1.0 - 1.0 / ratio) * (d / bound - ratio)
        return np.asarray(self.gamma * (ratio - np.log(ratio) - 1.0 + straight))

    def slope(self, d: Array, similar: bool) -> Array:
        bound = self.upper if similar else self.lower
        return np.asarray(self.gamma / bound * (1.0 - 1.0 / self._ratio(d, similar)))

    def curvature(self, d: Array, similar: bool) -> Array:
        bound = self.upper if similar else self.lower
        ratio = self._ratio(d, similar)
        # Where the ratio is clipped, the loss is linear: zero, or the tangent.
        return np.asarray(self.gamma / bound**2 * ((ratio != 1.0) & (ratio != _BURG_END)) / ratio**2)

    def conjugate(self, a: Array, similar: bool) -> Array:
        bound = self.upper if similar else self.lower
        return np.asarray(-self.gamma * np.log1p(-a * bound / self.gamma))

    def conjugate_at(self, d: Array, slope: Array, similar: bool) -> Array:
        # 1 − a b/γ = b/d, but the difference loses digits if d is far above b.
        return np.asarray(self.gamma * np.log(self._ratio(d, similar)))
