"""Arrays of positive numbers with the logarithmic metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual.arrays import Array

from .base import Manifold, NotOnManifoldError, as_finite_array, check_size
from .frame import Frame, HessianMap, Vector

FAR = 200.0  # logarithm of a ratio beyond which numbers are close to overflow
_TINY = float(np.finfo(float).tiny)


class PositiveOrthant(Manifold):
    """Arrays of positive numbers with the metric ⟨u, v⟩ₓ = Σ uᵢvᵢ/xᵢ², so that d(x, y) = ‖log y − log x‖.

    Use it for scales, rates and variances: positive numbers whose ratios matter, not their differences. It
    corresponds to the diagonal matrices of `SPD`. Zero is infinitely far away: if a solution may have zeros,
    use `Euclidean` with the constraint −x ≤ 0 instead.

    The frame at x writes a tangent vector as u = x·c, entry by entry. In c, the metric is the plain inner
    product.

    Parameters
    ----------
    *shape : int
        Shape of the arrays: points of ``PositiveOrthant(3)`` are vectors, those of ``PositiveOrthant(3, 4)``
        matrices.

    Attributes
    ----------
    shape : tuple of int
        Shape of a point.
    dim : int
        Number of entries of a point.

    See Also
    --------
    Simplex : Positive numbers that sum to 1.
    SPD : Positive definite matrices.

    References
    ----------
    X. Pennec, P. Fillard, N. Ayache, "A Riemannian framework for tensor computing", International Journal of
    Computer Vision 66(1), 2006, for diagonal matrices.

    Examples
    --------
    The geodesic passes through the geometric mean:

    >>> from typing import Any

    import numpy as np
    >>> from geodual.manifolds import PositiveOrthant
    >>> orthant = PositiveOrthant(2)
    >>> x, y = np.array([1.0, 4.0]), np.array([4.0, 9.0])
    >>> np.round(orthant.exp(x, 0.5 * orthant.log(x, y)), 6).tolist()
    [2.0, 6.0]
    """

    vectorized = True
    hadamard = True

    def __init__(self, *shape: int) -> None:
        if not shape:
            raise ValueError("`PositiveOrthant` needs a shape, as in PositiveOrthant(3).")
        self.shape = tuple(check_size(n, "shape") for n in shape)
        self.dim = int(np.prod(self.shape))
        self.step_limit = 2.0 * float(np.sqrt(self.dim))  # all entries change by a factor of e²

    def __repr__(self) -> str:
        return f"PositiveOrthant({', '.join(map(str, self.shape))})"

    def frame(self, x: Array) -> PositiveFrame:
        return PositiveFrame(x)

    def check_point(self, x: Array) -> Array:
        return self._checked(as_finite_array(x, self.shape, self), x)

    def _checked(self, x: Array, given: Any) -> Array:
        if not (x > 0.0).all():
            raise NotOnManifoldError(
                f"A point of {self} must have positive entries, got {x.min():.6g} as the smallest; raise it, "
                "or use Euclidean with the constraint -x <= 0 if zeros are meant."
            )
        return x

    def project(self, x: Array, v: Vector) -> Array:
        return np.asarray(v, dtype=float)

    def random_point(self, rng: np.random.Generator) -> Array:
        return np.exp(rng.standard_normal(self.shape))


class PositiveFrame(Frame):
    """Tangent vectors u = x·c in the coordinates c."""

    def __init__(self, point: Array) -> None:
        self.point = point

    def tangent(self, c: Array) -> Array:
        return np.asarray(self.point * c)

    def coordinates(self, u: Vector) -> Array:
        return np.asarray(u / self.point)

    def gradient(self, egrad: Vector) -> Array:
        return np.asarray(self.point * egrad)

    def hessian_map(self, egrad: Vector) -> HessianMap:
        # Second derivative of f(x·eᶜ) at c = 0.
        gradient = self.gradient(egrad)
        return lambda ehess, c: self.point * ehess + gradient * c

    def exp(self, c: Array) -> Array:
        return np.asarray(self.point * np.exp(c))

    def log(self, y: Array) -> Array:
        return log_ratio(y, self.point)

    def retract(self, c: Array) -> Array:
        return np.asarray(self.point * (1.0 + c + 0.5 * c**2))  # positive for every c

    def remoteness(self, y: Array) -> float:
        return float(np.abs(self.log(y)).max()) / FAR

    def transport(self, y: Array, c: Array) -> Array:
        return np.asarray(y * c)  # the space is flat


def log_ratio(y: Array, x: Array) -> Array:
    """Return log(y/x), entry by entry, even where y/x overflows or underflows."""
    with np.errstate(over="ignore", under="ignore"):
        ratio = y / x
    if ratio.min() > _TINY and ratio.max() < np.inf:  # the ratio keeps the digits of close numbers
        return np.asarray(np.log(ratio))
    return np.asarray(np.log(y) - np.log(x))
