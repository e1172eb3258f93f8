"""Functions g with a proximal operator for terms g(c(x)) of a problem: constraints, norms, losses, cones.

A solver needs only three methods: `value(z)`, `prox(z, t)` and `prox_derivative(z, t)`.
`docs/add_a_function.md` shows how to write a function.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from geodual.arrays import Array

LinearMap = Callable[[Array], Array]


class Function(Protocol):
    """A closed convex function g of an array, for `Term`: its value, its prox, and a derivative of the prox.

    See Also
    --------
    Term : Puts a function into a problem.

    References
    ----------
    N. Parikh, S. Boyd, "Proximal algorithms", Foundations and Trends in Optimization 1(3), 2014.

    Examples
    --------
    The three methods for half the squared norm, a smooth function:

    >>> import numpy as np
    >>> class HalfSquare:
    ...     def value(self, z):
    ...         return 0.5 * np.sum(z**2)
    ...     def prox(self, z, t):
    ...         return z / (1.0 + t)
    ...     def prox_derivative(self, z, t):
    ...         return lambda u: u / (1.0 + t)
    >>> HalfSquare().prox(np.array([3.0]), 2.0).tolist()
    [1.0]
    """

    def value(self, z: Array) -> float:
        """Return g(z); infinity where z is not allowed."""

    def prox(self, z: Array, t: float) -> Array:
        """Return the w that minimizes t g(w) + ½ ‖w − z‖²; for t = 0 the nearest w where g is finite."""

    def prox_derivative(self, z: Array, t: float) -> LinearMap:
        """Return a derivative of ``prox(·, t)`` at z, as a function of a direction.

        At a kink, any limit of nearby derivatives is valid.
        """


class Separable(ABC):
    """Base of functions that act on each entry separately: the derivative of the prox is diagonal.

    Solvers can scale the entries one by one. They can polish a solution by Newton's method if the diagonal
    has only zeros (entries fixed at a kink) and ones (free entries).
    """

    separable = True

    @abstractmethod
    def slopes(self, z: Array, t: Any) -> Array:
        """Return the derivative of the prox of each entry."""

    def prox_derivative(self, z: Array, t: Any) -> LinearMap:
        """Return the derivative of the prox at z, as a function of a direction."""
        slopes = self.slopes(z, t)
        return lambda u: slopes * u


def _check_weight(weight: Any, name: str = "weight") -> Any:
    """Return a weight (a number or an array), or raise an error if it is negative or not finite."""
    array = np.asarray(weight, dtype=float)
    if not (np.isfinite(array).all() and (array >= 0.0).all()):
        raise ValueError(f"`{name}` must be finite and not negative, got {weight!r}.")
    return float(array) if array.ndim == 0 else array


@dataclass(frozen=True, eq=False)
class NonPositive(Separable):
    """The constraint z ≤ 0, entry by entry. ``inequalities=`` is its short form.

    See Also
    --------
    Zero, Box : Other constraints on entries.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import NonPositive
    >>> NonPositive().prox(np.array([-2.0, 3.0]), 1.0).tolist()
    [-2.0, 0.0]
    """

    def value(self, z: Array) -> float:
        """Return 0 where z ≤ 0, and infinity elsewhere."""
        return 0.0 if (z <= 0.0).all() else np.inf

    def prox(self, z: Array, t: Any) -> Array:
        """Return z with positive entries replaced by 0."""
        return np.minimum(z, 0.0)

    def slopes(self, z: Array, t: Any) -> Array:
        """Return 1 for negative entries and 0 for the others."""
        return (z <= 0.0).astype(float)


@dataclass(frozen=True, eq=False)
class Zero(Separable):
    """The constraint z = 0, entry by entry. ``equalities=`` is its short form.

    See Also
    --------
    NonPositive, Box : Other constraints on entries.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import Zero
    >>> Zero().prox(np.array([-2.0, 3.0]), 1.0).tolist()
    [0.0, 0.0]
    """

    def value(self, z: Array) -> float:
        """Return 0 where z = 0, and infinity elsewhere."""
        return 0.0 if not z.any() else np.inf

    def prox(self, z: Array, t: Any) -> Array:
        """Return zeros."""
        return np.zeros_like(z)

    def slopes(self, z: Array, t: Any) -> Array:
        """Return zeros."""
        return np.zeros_like(z)


@dataclass(frozen=True, eq=False)
class Box(Separable):
    """The constraint lower ≤ z ≤ upper, entry by entry. ``lower=`` and ``upper=`` are its short forms for x.

    Parameters
    ----------
    lower, upper : float or array
        The bounds; -inf and inf where there is none.

    See Also
    --------
    NonPositive, Zero : Other constraints on entries.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import Box
    >>> Box(-1.0, 1.0).prox(np.array([-2.0, 0.5, 3.0]), 1.0).tolist()
    [-1.0, 0.5, 1.0]
    """

    lower: Any = -np.inf
    upper: Any = np.inf

    def __post_init__(self) -> None:
        low, high = (np.asarray(bound, dtype=float) for bound in (self.lower, self.upper))
        if not (low <= high).all() or (low == np.inf).any() or (high == -np.inf).any():
            raise ValueError(
                f"`lower` must not exceed `upper`, and neither may be NaN, got {self.lower!r} and "
                f"{self.upper!r}."
            )

    def value(self, z: Array) -> float:
        """Return 0 within the bounds, and infinity elsewhere."""
        return 0.0 if ((z >= self.lower) & (z <= self.upper)).all() else np.inf

    def prox(self, z: Array, t: Any) -> Array:
        """Return z with its entries clipped to the bounds."""
        return np.asarray(np.clip(z, self.lower, self.upper))

    def slopes(self, z: Array, t: Any) -> Array:
        """Return 1 for entries within the bounds and 0 for the others."""
        return np.asarray((z > self.lower) & (z < self.upper), dtype=float)


@dataclass(frozen=True, eq=False)
class L1(Separable):
    """The weighted sum of absolute values; it makes entries exactly zero.

    Parameters
    ----------
    weight : float or array
        A number for all entries, or one per entry.

    See Also
    --------
    GroupL2 : Makes whole groups zero.
    NuclearNorm : Makes singular values zero.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import L1
    >>> L1(0.5).prox(np.array([-2.0, 0.3, 3.0]), 1.0).tolist()
    [-1.5, 0.0, 2.5]
    """

    weight: Any = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", _check_weight(self.weight))

    def value(self, z: Array) -> float:
        """Return the norm."""
        return float(np.sum(self.weight * np.abs(z)))

    def prox(self, z: Array, t: Any) -> Array:
        """Return z with all entries moved toward 0 by t w."""
        cut = t * self.weight
        return np.asarray(z - np.clip(z, -cut, cut))

    def slopes(self, z: Array, t: Any) -> Array:
        """Return 0 for entries that become zero and 1 for the others."""
        return np.asarray(np.abs(z) > t * self.weight, dtype=float)


@dataclass(frozen=True, eq=False)
class Quantile(Separable):
    """The quantile loss Σ w (q max(zₖ, 0) + (1 − q) max(−zₖ, 0)), for fits that resist outliers.

    Parameters
    ----------
    level : float
        The level q, between 0 and 1; 0.5 gives half the l1 norm.
    weight : float or array
        The weight w.

    See Also
    --------
    Huber : A smooth robust loss.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import Quantile
    >>> Quantile(0.9).value(np.array([1.0, -1.0])), Quantile(0.5).prox(np.array([2.0, 0.2]), 1.0).tolist()
    (1.0, [1.5, 0.0])
    """

    level: float = 0.5
    weight: Any = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.level < 1.0:
            raise ValueError(f"`level` must be between 0 and 1, got {self.level!r}; 0.5 is the median.")
        object.__setattr__(self, "weight", _check_weight(self.weight))

    def _cuts(self, t: Any) -> tuple[Any, Any]:
        return -t * self.weight * (1.0 - self.level), t * self.weight * self.level

    def value(self, z: Array) -> float:
        """Return the loss."""
        return float(np.sum(self.weight * np.maximum(self.level * z, (self.level - 1.0) * z)))

    def prox(self, z: Array, t: Any) -> Array:
        """Return z with positive entries moved toward 0 by t w q, and negative ones by t w (1 − q)."""
        return np.asarray(z - np.clip(z, *self._cuts(t)))

    def slopes(self, z: Array, t: Any) -> Array:
        """Return 0 for entries that become zero and 1 for the others."""
        low, high = self._cuts(t)
        return np.asarray((z < low) | (z > high), dtype=float)


@dataclass(frozen=True, eq=False)
class Huber(Separable):
    """The Huber loss of each entry: w z²/2 up to the absolute value δ, and linear beyond.

    Parameters
    ----------
    width : float
        The width δ > 0.
    weight : float or array
        The weight w.

    See Also
    --------
    L1, Quantile : Robust losses with exact zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import Huber
    >>> Huber(1.0).value(np.array([0.5, 3.0])), Huber(1.0).prox(np.array([1.0, 4.0]), 1.0).tolist()
    (2.625, [0.5, 3.0])
    """

    width: float = 1.0
    weight: Any = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.width < np.inf:
            raise ValueError(f"`width` must be positive and finite, got {self.width!r}.")
        object.__setattr__(self, "weight", _check_weight(self.weight))

    def value(self, z: Array) -> float:
        """Return the loss."""
        size = np.abs(z)
        inside = np.minimum(size, self.width)
        return float(np.sum(self.weight * inside * (size - 0.5 * inside)))

    def prox(self, z: Array, t: Any) -> Array:
        """Return z shrunk by 1/(1 + t w), or moved toward 0 by t w δ where that is beyond δ."""
        cut = t * self.weight
        return np.asarray(z - np.clip(z * cut / (1.0 + cut), -cut * self.width, cut * self.width))

    def slopes(self, z: Array, t: Any) -> Array:
        """Return 1 beyond δ and 1/(1 + t w) within."""
        shrink = 1.0 / (1.0 + t * self.weight)
        return np.where(np.abs(z) * shrink > self.width, 1.0, shrink)


@dataclass(frozen=True, eq=False)
class GroupL2:
    """The sum of Euclidean norms of groups, w Σ ‖z_group‖; it makes whole groups exactly zero.

    Parameters
    ----------
    weight : float
        The weight w.
    groups : array of int, optional
        Group number of each entry, with the shape of z. By default, each row of a matrix is a group, and a
        vector is one group.

    See Also
    --------
    L1 : Makes single entries zero.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import GroupL2
    >>> GroupL2(1.0).prox(np.array([[3.0, 4.0], [0.3, 0.4]]), 1.0).round(6).tolist()
    [[2.4, 3.2], [0.0, 0.0]]
    """

    weight: float = 1.0
    groups: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", _check_weight(self.weight))
        if self.groups is not None:
            _, labels = np.unique(self.groups, return_inverse=True)
            object.__setattr__(self, "groups", labels.reshape(np.shape(self.groups)))

    def _sums(self, z: Array) -> Array:
        """Return the sum over the group of each entry, with the shape of z."""
        if self.groups is None:
            return np.broadcast_to(z.sum(axis=-1, keepdims=True), z.shape)
        if np.shape(self.groups) != z.shape:
            raise ValueError(f"`groups` must have the shape of z, {z.shape}, got {np.shape(self.groups)}.")
        return np.asarray(np.bincount(self.groups.ravel(), z.ravel())[self.groups])

    def _norms(self, z: Array) -> Array:
        return np.sqrt(self._sums(z * z))

    def value(self, z: Array) -> float:
        """Return the sum of the norms."""
        norms = self._norms(z)
        if self.groups is None:
            return float(self.weight * np.sum(norms[..., 0]))
        _, first = np.unique(self.groups, return_index=True)
        return float(self.weight * np.sum(norms.ravel()[first]))

    def prox(self, z: Array, t: float) -> Array:
        """Return z with every group shortened by t w, down to 0."""
        cut, norms = t * self.weight, self._norms(z)
        return np.asarray(z * (np.maximum(norms - cut, 0.0) / np.where(norms > 0.0, norms, 1.0)))

    def prox_derivative(self, z: Array, t: float) -> LinearMap:
        """Return the derivative of the prox at z, as a function of a direction."""
        norms = self._norms(z)
        kept = norms > t * self.weight
        share = np.where(kept, t * self.weight / np.where(kept, norms, 1.0), 1.0)
        unit = np.where(kept, z / np.where(kept, norms, 1.0), 0.0)
        return lambda u: (1.0 - share) * u + share * unit * self._sums(unit * u)


@dataclass(frozen=True, eq=False)
class NuclearNorm:
    """The sum of the singular values of a matrix times a weight; it makes the rank small.

    Parameters
    ----------
    weight : float
        The weight.

    See Also
    --------
    L1 : The same for entries.
    SpectralNorm : The largest singular value.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import NuclearNorm
    >>> NuclearNorm(1.0).prox(np.diag([3.0, 0.5]), 1.0).round(6).tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", _check_weight(self.weight))

    def value(self, z: Array) -> float:
        """Return the weighted sum of the singular values."""
        return self.weight * float(np.linalg.norm(_matrix(z), "nuc"))

    def prox(self, z: Array, t: float) -> Array:
        """Return z with its singular values reduced by t times the weight, down to 0."""
        u, s, vt = np.linalg.svd(_matrix(z), full_matrices=False)
        return np.asarray((u * np.maximum(s - t * self.weight, 0.0)) @ vt)

    def prox_derivative(self, z: Array, t: float) -> LinearMap:
        """Return the derivative of the prox at z, as a function of a direction."""
        return _singular_derivative(z, L1(self.weight), t)


@dataclass(frozen=True, eq=False)
class SpectralNorm:
    """The largest singular value of a matrix times a weight.

    Parameters
    ----------
    weight : float
        The weight.

    See Also
    --------
    LInf : The same for entries.
    NuclearNorm : The sum of all singular values.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import SpectralNorm
    >>> SpectralNorm(1.0).prox(np.diag([3.0, 0.5]), 1.0).round(6).tolist()
    [[2.0, 0.0], [0.0, 0.5]]
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", _check_weight(self.weight))

    def value(self, z: Array) -> float:
        """Return the weighted largest singular value."""
        return self.weight * float(np.linalg.norm(_matrix(z), 2))

    def prox(self, z: Array, t: float) -> Array:
        """Return z with its largest singular values lowered to one level, by t times the weight in total."""
        u, s, vt = np.linalg.svd(_matrix(z), full_matrices=False)
        return np.asarray((u * LInf(self.weight).prox(s, t)) @ vt)

    def prox_derivative(self, z: Array, t: float) -> LinearMap:
        """Return the derivative of the prox at z, as a function of a direction."""
        return _singular_derivative(z, LInf(self.weight), t)


@dataclass(frozen=True, eq=False)
class Max:
    """The largest entry of z times a weight, for minimax problems.

    Parameters
    ----------
    weight : float
        The weight.

    See Also
    --------
    LInf : The largest absolute value.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import Max
    >>> Max().value(np.array([1.0, 3.0])), Max().prox(np.array([1.0, 3.0]), 1.0).tolist()
    (3.0, [1.0, 2.0])
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", _check_weight(self.weight))

    def value(self, z: Array) -> float:
        """Return the weighted largest entry."""
        return self.weight * float(z.max())

    def prox(self, z: Array, t: float) -> Array:
        """Return z with its largest entries lowered to one level, by t times the weight in total."""
        return z - _on_simplex(z, t * self.weight)

    def prox_derivative(self, z: Array, t: float) -> LinearMap:
        """Return the derivative of the prox at z, as a function of a direction."""
        cut = _simplex_derivative(z, t * self.weight)
        return lambda u: u - cut(u)


@dataclass(frozen=True, eq=False)
class LInf:
    """The largest absolute value of an entry of z times a weight.

    Parameters
    ----------
    weight : float
        The weight.

    See Also
    --------
    Max : The largest entry.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import LInf
    >>> LInf().prox(np.array([1.0, -3.0]), 1.0).tolist()
    [1.0, -2.0]
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", _check_weight(self.weight))

    def value(self, z: Array) -> float:
        """Return the weighted largest absolute value."""
        return self.weight * float(np.abs(z).max())

    def prox(self, z: Array, t: float) -> Array:
        """Return z with its largest entries shrunk to one size, by t times the weight in total."""
        cut, size = t * self.weight, np.abs(z)
        if size.sum() <= cut:
            return np.zeros_like(z)
        return z - np.sign(z) * _on_simplex(size, cut)

    def prox_derivative(self, z: Array, t: float) -> LinearMap:
        """Return the derivative of the prox at z, as a function of a direction."""
        cut, size, sign = t * self.weight, np.abs(z), np.sign(z)
        if size.sum() <= cut:
            return np.zeros_like
        derivative = _simplex_derivative(size, cut)
        return lambda u: u - sign * derivative(sign * u)


@dataclass(frozen=True, eq=False)
class Ball:
    """The constraint ‖z − center‖ ≤ radius in the Euclidean (Frobenius) norm.

    Parameters
    ----------
    radius : float
        The radius.
    center : float or array
        The center; 0 by default.

    See Also
    --------
    SecondOrderCone : The same with a variable radius.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import Ball
    >>> Ball(1.0).prox(np.array([3.0, 4.0]), 1.0).round(6).tolist()
    [0.6, 0.8]
    """

    radius: float = 1.0
    center: Any = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _check_weight(self.radius, "radius"))

    def value(self, z: Array) -> float:
        """Return 0 in the ball, up to rounding errors, and infinity elsewhere."""
        return 0.0 if np.linalg.norm(z - self.center) <= self.radius * (1.0 + 1e-12) else np.inf

    def prox(self, z: Array, t: float) -> Array:
        """Return the nearest point of the ball."""
        offset = z - self.center
        length = float(np.linalg.norm(offset))
        return z if length <= self.radius else self.center + offset * (self.radius / length)

    def prox_derivative(self, z: Array, t: float) -> LinearMap:
        """Return the derivative of the prox at z, as a function of a direction."""
        offset = z - self.center
        length = float(np.linalg.norm(offset))
        if length <= self.radius:
            return np.copy
        unit = offset / length
        return lambda u: (self.radius / length) * (u - unit * np.sum(unit * u))


@dataclass(frozen=True, eq=False)
class SecondOrderCone:
    """The constraint z₀ ≥ ‖(z₁, …, zₙ)‖ on a vector.

    See Also
    --------
    Ball : The same with a fixed radius.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import SecondOrderCone
    >>> SecondOrderCone().prox(np.array([1.0, 3.0, 0.0]), 1.0).tolist()
    [2.0, 2.0, 0.0]
    """

    def value(self, z: Array) -> float:
        """Return 0 in the cone, up to rounding errors, and infinity elsewhere."""
        length = np.linalg.norm(z[1:])
        return 0.0 if length - z[0] <= 1e-12 * max(length, abs(z[0])) else np.inf

    def prox(self, z: Array, t: float) -> Array:
        """Return the nearest point of the cone."""
        length = float(np.linalg.norm(z[1:]))
        if length <= z[0]:
            return z
        if length <= -z[0]:
            return np.zeros_like(z)
        half = 0.5 * (z[0] + length)
        return np.concatenate([[half], (half / length) * z[1:]])

    def prox_derivative(self, z: Array, t: float) -> LinearMap:
        """Return the derivative of the prox at z, as a function of a direction."""
        length = float(np.linalg.norm(z[1:]))
        if length <= z[0]:
            return np.copy
        if length <= -z[0]:
            return np.zeros_like
        unit, ratio = z[1:] / length, z[0] / length

        def derivative(u: Array) -> Array:
            along = float(unit @ u[1:])
            rest = (1.0 + ratio) * u[1:] + (u[0] - ratio * along) * unit
            return 0.5 * np.concatenate([[u[0] + along], rest])

        return derivative


@dataclass(frozen=True, eq=False)
class PositiveSemidefinite:
    """The constraint that a symmetric matrix has no negative eigenvalue: a linear matrix inequality.

    See Also
    --------
    NonPositive : The same for numbers, with the other sign.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import PositiveSemidefinite
    >>> PositiveSemidefinite().prox(np.diag([-1.0, 2.0]), 1.0).tolist()
    [[0.0, 0.0], [0.0, 2.0]]
    """

    def value(self, z: Array) -> float:
        """Return 0 for semidefinite matrices, up to rounding errors, and infinity for others."""
        spectrum = np.linalg.eigvalsh(_symmetric(z))
        return 0.0 if spectrum[0] >= -1e-12 * np.abs(spectrum).max() else np.inf

    def prox(self, z: Array, t: float) -> Array:
        """Return z with negative eigenvalues replaced by 0."""
        spectrum, basis = np.linalg.eigh(_symmetric(z))
        return np.asarray((basis * np.maximum(spectrum, 0.0)) @ basis.T)

    def prox_derivative(self, z: Array, t: float) -> LinearMap:
        """Return the derivative of the prox at z, as a function of a direction."""
        spectrum, basis = np.linalg.eigh(_symmetric(z))
        factors = _divided(np.maximum(spectrum, 0.0), spectrum, np.diag((spectrum > 0.0).astype(float)))

        def derivative(u: Array) -> Array:
            return np.asarray(basis @ (factors * (basis.T @ _symmetric(u) @ basis)) @ basis.T)

        return derivative


@dataclass(frozen=True, eq=False)
class SimplexSet:
    """The constraint that entries are nonnegative and sum to a total.

    Parameters
    ----------
    total : float
        The sum of the entries.

    See Also
    --------
    geodual.manifolds.Simplex : Probability vectors with positive entries, as a manifold.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.optimize import SimplexSet
    >>> SimplexSet().prox(np.array([2.0, 1.5, 0.0]), 1.0).tolist()
    [0.75, 0.25, 0.0]
    """

    total: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", _check_weight(self.total, "total"))

    def value(self, z: Array) -> float:
        """Return 0 in the set, up to rounding errors, and infinity elsewhere."""
        inside = (z >= 0.0).all() and abs(z.sum() - self.total) <= 1e-12 * z.size * max(self.total, 1.0)
        return 0.0 if inside else np.inf

    def prox(self, z: Array, t: float) -> Array:
        """Return the nearest point of the set."""
        return _on_simplex(z, self.total)

    def prox_derivative(self, z: Array, t: float) -> LinearMap:
        """Return the derivative of the prox at z, as a function of a direction."""
        return _simplex_derivative(z, self.total)


def _matrix(z: Array) -> Array:
    if z.ndim != 2:
        raise ValueError(f"This function needs a matrix, got shape {z.shape}; reshape it in the map.")
    return z


def _symmetric(z: Array) -> Array:
    if z.ndim != 2 or z.shape[0] != z.shape[1]:
        raise ValueError(f"This function needs a square matrix, got shape {z.shape}; reshape it in the map.")
    return 0.5 * (z + z.T)


def _divided(f: Array, s: Array, slopes: Array) -> Array:
    """Return the divided differences (fᵢ − fⱼ)/(sᵢ − sⱼ), with their limit where sᵢ = sⱼ.

    `slopes` is the matrix of derivatives of f with respect to s.
    """
    gap = s[:, None] - s
    near = np.abs(gap) <= 1e-12 * np.abs(s).max(initial=0.0)
    own = np.diag(slopes)
    limit = 0.5 * (own[:, None] + own) - np.where(np.eye(len(s), dtype=bool), 0.0, slopes)
    return np.where(near, limit, (f[:, None] - f) / np.where(near, 1.0, gap))


def _singular_derivative(z: Array, function: Function, t: float) -> LinearMap:
    """Return the derivative of applying the prox of a function to the singular values of z."""
    if z.shape[0] < z.shape[1]:
        transposed = _singular_derivative(z.T, function, t)
        return lambda h: transposed(h.T).T
    u, s, vt = np.linalg.svd(z, full_matrices=False)
    f, slopes = function.prox(s, t), function.prox_derivative(s, t)
    # Off the diagonal: differences for the symmetric part of Uᵀ H V, sums for its antisymmetric part.
    even_factors = _divided(f, s, np.array([slopes(e) for e in np.eye(len(s))]))
    total = s[:, None] + s
    odd_factors = np.where(total > 0.0, (f[:, None] + f) / np.where(total > 0.0, total, 1.0), 1.0)
    outer = np.where(s > 0.0, f / np.where(s > 0.0, s, 1.0), 0.0)

    def derivative(h: Array) -> Array:
        right = h @ vt.T
        inner = u.T @ right
        even, odd = 0.5 * (inner + inner.T), 0.5 * (inner - inner.T)
        image = even_factors * even + odd_factors * odd
        np.fill_diagonal(image, slopes(np.diag(inner)))
        return np.asarray((u @ image + (right - u @ inner) * outer) @ vt)

    return derivative


def _simplex_level(z: Array, total: float) -> float:
    """Return the θ with Σ max(zₖ − θ, 0) = total (Held, Wolfe and Crowder 1974)."""
    falling = np.sort(z, axis=None)[::-1]
    levels = (np.cumsum(falling) - total) / np.arange(1, z.size + 1)
    return float(levels[np.count_nonzero(falling > levels) - 1])


def _on_simplex(z: Array, total: float) -> Array:
    """Return the nearest point with nonnegative entries that sum to the total."""
    return np.maximum(z - _simplex_level(z, total), 0.0) if total > 0.0 else np.zeros_like(z)


def _simplex_derivative(z: Array, total: float) -> LinearMap:
    if not total > 0.0:
        return np.zeros_like
    support = z > _simplex_level(z, total)
    n = np.count_nonzero(support)
    return lambda u: np.where(support, u - np.sum(u, where=support) / n, 0.0)
