"""The open probability simplex with the log-ratio metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from geodual.arrays import Array

from .base import Manifold, NotOnManifoldError, as_finite_array, check_size, defect_tolerance, is_single
from .frame import Frame, HessianMap, Vector, dots
from .positive_orthant import FAR, log_ratio


class Simplex(Manifold):
    """Positive vectors that sum to 1, under the log-ratio (Aitchison) metric.

    Use it for mixture weights, probabilities and compositions, where ratios matter. With a = u/x and b = v/x,
    entry by entry, ⟨u, v⟩ₓ = Σ (aᵢ − ā)(bᵢ − b̄), where ā and b̄ are means. The distance d(x, y) is that of
    the centered logarithms of x and y.

    Under this metric the simplex is flat and complete: steps of any length end at positive probabilities, and
    geodesics are x·eᶜ divided by its sum, as in exponentiated gradient methods. Under the other usual metric,
    that of Fisher and Rao, the boundary is at a finite distance and long steps leave the simplex. Under both,
    all entries of a point are positive. If a solution may have zeros, use `Euclidean` with the constraints −x
    ≤ 0 and Σxᵢ = 1 instead.

    Parameters
    ----------
    n : int
        Number of entries, at least 2.

    Attributes
    ----------
    n : int
        Number of entries.
    dim : int
        n − 1.

    See Also
    --------
    PositiveOrthant : Positive numbers with any sum.

    References
    ----------
    J. Aitchison, *The Statistical Analysis of Compositional Data*, Chapman and Hall, 1986.

    J. J. Egozcue, V. Pawlowsky-Glahn, G. Mateu-Figueras, C. Barceló-Vidal, "Isometric logratio
    transformations for compositional data analysis", Mathematical Geology 35(3), 2003.

    Examples
    --------
    The steps of geodesics multiply and normalize:

    >>> from typing import Any

    import numpy as np
    >>> from geodual.manifolds import Simplex
    >>> simplex = Simplex(2)
    >>> x, y = np.array([0.5, 0.5]), np.array([0.8, 0.2])  # odds 1 : 1 and 4 : 1
    >>> np.round(simplex.exp(x, 0.5 * simplex.log(x, y)), 6).tolist()  # odds 2 : 1
    [0.666667, 0.333333]
    """

    vectorized = True
    hadamard = True

    def __init__(self, n: int) -> None:
        self.n = check_size(n, "n", least=2)
        self.dim = self.n - 1
        self.step_limit = 2.0 * float(np.sqrt(self.dim))  # all ratios change by a factor of about e²

    def __repr__(self) -> str:
        return f"Simplex({self.n})"

    def frame(self, x: Array) -> SimplexFrame:
        return SimplexFrame(x)

    def check_point(self, x: Array) -> Array:
        return self._checked(as_finite_array(x, (self.n,), self), x)

    def _checked(self, x: Array, given: Any) -> Array:
        if not (x > 0.0).all():
            raise NotOnManifoldError(
                f"A point of {self} must have positive entries, got {x.min():.6g} as the smallest; mix "
                "it with the uniform distribution, or use Euclidean with constraints if zeros are meant."
            )
        total = x.sum(axis=-1, keepdims=True)
        if (np.abs(total - 1.0) > defect_tolerance(given)).any():
            raise NotOnManifoldError(
                f"A point of {self} must have the sum 1, got {total.flat[0]:.10g}; divide it by its sum."
            )
        return x / total if is_single(given) else x

    def project(self, x: Array, v: Vector) -> Array:
        return centered(np.asarray(v, dtype=float))

    def random_point(self, rng: np.random.Generator) -> Array:
        return _closed(np.exp(rng.standard_normal(self.n)))


class SimplexFrame(Frame):
    """Tangent vectors u = x·(c − Σxᵢcᵢ) in the coordinates c, whose sum is 0.

    Distributions run along the last axis, so that a stack of them has a frame too.
    """

    def __init__(self, point: Array) -> None:
        self.point = point

    def _weighted(self, a: Array) -> Array:
        """Return x·(a − Σxᵢaᵢ): the derivative of the softmax, which is its own transpose."""
        return np.asarray(self.point * (a - dots(self.point, a)))

    def tangent(self, c: Array) -> Array:
        return self._weighted(c)

    def coordinates(self, u: Vector) -> Array:
        return centered(u / self.point)

    def random(self, rng: np.random.Generator) -> Array:
        return centered(rng.standard_normal(self.shape))

    def gradient(self, egrad: Vector) -> Array:
        return self._weighted(egrad)

    def hessian_map(self, egrad: Vector) -> HessianMap:
        # With the mean m = Σxᵢcᵢ, the second derivative of x·eᶜ/Σ is x·((c − m)² − variance of c). Paired
        # with the gradient, it is Σ wᵢcᵢ(cᵢ − m), where w is the Riemannian gradient.
        weights = self._weighted(egrad)

        def convert(ehess: Vector, c: Array) -> Array:
            apart = c - dots(self.point, c)
            shift = dots(self.point, ehess) + dots(weights, apart)
            return np.asarray(self.point * (ehess - shift) + weights * apart)

        return convert

    def exp(self, c: Array) -> Array:
        # Shifting all logarithms so that the largest is 0 does not change the normalized result.
        return _closed(self.point * np.exp(c - c.max(axis=-1, keepdims=True)))

    def log(self, y: Array) -> Array:
        return centered(log_ratio(y, self.point))

    def retract(self, c: Array) -> Array:
        return self.exp(c)

    def remoteness(self, y: Array) -> float:
        return float(np.abs(self.log(y)).max()) / FAR

    def transport(self, y: Array, c: Array) -> Array:
        return SimplexFrame(y).tangent(c)  # the space is flat


def centered(a: Array) -> Array:
    """Subtract the mean along the last axis."""
    return np.asarray(a - a.mean(axis=-1, keepdims=True))


def _closed(x: Array) -> Array:
    """Divide by the sum along the last axis."""
    return np.asarray(x / x.sum(axis=-1, keepdims=True))
