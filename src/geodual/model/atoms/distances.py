"""Distances on manifolds, and other functions of points of hyperbolic space and spheres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import Euclidean, Hyperbolic, PositiveOrthant, SkewSymmetric, Sphere, Symmetric
from geodual.manifolds.frame import x_cot_x, x_coth_x

from ..atom import Atom, Bilinear, Tangents
from ..expression import Application, Constant, Expression, Parameter, Variable, as_expression
from ..facts import Curvature, Facts, Rule, Sign
from .elementwise import log
from .matrices import log_det, matrix
from .reductions import norm, sum_squares
from .sources import BHATIA, BRIDSON, FERREIRA
from .spectral import along_eigenvectors, divided_differences

_NEAR = 1e-3  # distance below which series are used; their next terms, of order d⁴, are below 1e-12


class MatrixDistance2(Atom):
    """The squared affine-invariant distances of X from fixed positive definite matrices A₁, …, Aₘ."""

    name = "distance2"

    def __init__(self, targets: Array) -> None:
        self.targets = targets
        self._roots = np.linalg.inv(np.linalg.cholesky(targets))  # L⁻¹ with A = L Lᵀ

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        if shapes[0] != self.targets.shape[-2:]:
            raise ValueError(
                f"A distance needs matrices of the same size, got {shapes[0]} and {self.targets.shape[-2:]}."
            )
        return self.targets.shape[:-2]

    def forward(self, *args: Array) -> tuple[Array, Any]:
        roots = self._roots
        seen = roots @ args[0] @ np.swapaxes(roots, -1, -2)
        eigenvalues, vectors = np.linalg.eigh(seen)
        if (eigenvalues <= 0.0).any():
            raise np.linalg.LinAlgError("The matrix is not positive definite.")
        slope = 2.0 * np.log(eigenvalues) / eigenvalues
        values = np.asarray(np.sum(np.log(eigenvalues) ** 2, axis=-1))
        return values, (eigenvalues, vectors, slope, self._back(vectors, slope))

    def _back(self, vectors: Array, spectrum: Array) -> Array:
        inner = (vectors * spectrum[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        return np.asarray(np.swapaxes(self._roots, -1, -2) @ inner @ self._roots)

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        return np.asarray(np.sum(memo[3] * tangents[0], axis=(-2, -1)))

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return _weighted(weights, memo[3])

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        eigenvalues, vectors, slope, _ = memo
        roots, transposed = self._roots, np.swapaxes(self._roots, -1, -2)
        quotients = divided_differences(eigenvalues, slope, lambda x: 2.0 * (1.0 - np.log(x)) / x**2)
        bent = along_eigenvectors(vectors, quotients, roots @ tangents[0] @ transposed)
        return _weighted(weights, transposed @ bent @ roots)

    def sign(self, *args: Facts) -> Sign:
        return Sign.NONNEGATIVE

    def rules(self, *args: Facts) -> Sequence[Rule]:
        reason = "squared distances are convex in spaces of nonpositive curvature"
        return [Rule("log", "plain", Curvature.CONVEX, (0,), reason, BHATIA)]

    def modulus(self, *args: Facts) -> dict[object, float]:
        # The Hessian of ½ d² is at least 1 if the curvature is not positive.
        return {} if args[0].isometry is None else {args[0].isometry: 2.0}

    def text(self, *args: str) -> str:
        return f"{self.name}({args[0]}, [{'x'.join(map(str, self.targets.shape))}])"


class MatrixDistance(MatrixDistance2):
    """The affine-invariant distances of X from fixed positive definite matrices."""

    name = "distance"

    @property
    def squared(self) -> Atom:
        """The atom of the squared distances."""
        return MatrixDistance2(self.targets)

    def forward(self, *args: Array) -> tuple[Array, Any]:
        squares, memo = super().forward(*args)
        lengths = np.sqrt(squares)
        return lengths, (*memo, 0.5 / np.where(lengths > 0.0, lengths, np.inf), lengths)

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        return np.asarray(memo[4] * super().tangent(args, memo, tangents))

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return super().pullback(k, args, memo, weights * memo[4])

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        change = super().tangent(args, memo, tangents)
        # The derivatives of √s are 1/(2√s) and −1/(4 s^1.5) = −2 (1/(2√s))³.
        bend = super().pullback(k, args, memo, weights * (-2.0 * memo[4] ** 3 * change))
        straight = super().second(k, args, memo[:4], tangents, weights * memo[4])
        assert straight is not None
        return straight + bend

    def rules(self, *args: Facts) -> Sequence[Rule]:
        reason = "distances are convex in spaces of nonpositive curvature"
        return [Rule("log", "plain", Curvature.CONVEX, (0,), reason, BHATIA)]

    def modulus(self, *args: Facts) -> dict[object, float]:
        return {}


class PairDistance2(Atom):
    """The squared affine-invariant distance between two variable positive definite matrices."""

    name = "distance2"

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        if shapes[0] != shapes[1]:
            raise ValueError(f"A distance needs matrices of the same size, got {shapes[0]} and {shapes[1]}.")
        return ()

    def forward(self, *args: Array) -> tuple[Array, Any]:
        x, y = args
        factor = np.linalg.cholesky(x)
        root = np.linalg.inv(factor)
        eigenvalues, vectors = np.linalg.eigh(root @ y @ root.T)
        if (eigenvalues <= 0.0).any():
            raise np.linalg.LinAlgError("The matrix is not positive definite.")
        # Y X⁻¹ = V Λ V⁻¹ with V = L U.
        basis, dual = factor @ vectors, vectors.T @ root
        logs = np.log(eigenvalues)
        # X⁻¹ = Bᵀ B and Y⁻¹ = Bᵀ Λ⁻¹ B with the rows of B = V⁻¹.
        gradient_x = -2.0 * (dual.T * logs) @ dual
        gradient_y = 2.0 * (dual.T * (logs / eigenvalues)) @ dual
        return np.asarray(np.sum(logs**2)), (eigenvalues, basis, dual, gradient_x, gradient_y)

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        parts = (np.sum(g * t) for g, t in zip(memo[3:], tangents, strict=True) if t is not None)
        return np.asarray(sum(parts))

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return np.asarray(float(weights) * memo[3 + k])

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        # In the basis V, both matrices are diagonal: X = V Vᵀ and Y = V Λ Vᵀ.
        eigenvalues, _, dual, _, _ = memo
        dx, dy = (np.zeros((len(dual),) * 2) if t is None else dual @ t @ dual.T for t in tangents)
        logs = np.log(eigenvalues)
        quotients = divided_differences(eigenvalues, logs, lambda x: 1.0 / x)
        # d log(Y X⁻¹) in the basis V, where Y X⁻¹ is Λ and changes by dy − Λ dx.
        change = quotients * (dy - eigenvalues[:, None] * dx)
        if k == 0:  # −2 X⁻¹ log(Y X⁻¹), and X⁻¹ changes by −dx
            inner = -2.0 * (change - dx * logs)
        else:  # 2 Y⁻¹ log(Y X⁻¹), and Y⁻¹ changes by −Λ⁻¹ dy Λ⁻¹
            inner = 2.0 * (change / eigenvalues[:, None] - dy * (logs / eigenvalues) / eigenvalues[:, None])
        bent = dual.T @ inner @ dual
        return np.asarray(0.5 * float(weights) * (bent + bent.T))

    def sign(self, *args: Facts) -> Sign:
        return Sign.NONNEGATIVE

    def rules(self, *args: Facts) -> Sequence[Rule]:
        reason = "the distance of two geodesics is convex in spaces of nonpositive curvature"
        return [Rule("log", "plain", Curvature.CONVEX, (0, 0), reason, BHATIA)]


class PairDistance(PairDistance2):
    """The affine-invariant distance between two variable positive definite matrices."""

    name = "distance"
    squared = PairDistance2()

    def forward(self, *args: Array) -> tuple[Array, Any]:
        square, memo = super().forward(*args)
        length = float(np.sqrt(square))
        return np.asarray(length), (memo, 0.5 / length if length > 0.0 else 0.0)

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        return np.asarray(memo[1] * super().tangent(args, memo[0], tangents))

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return super().pullback(k, args, memo[0], weights * memo[1])

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        inner, slope = memo
        change = super().tangent(args, inner, tangents)
        straight = super().second(k, args, inner, tangents, weights * slope)
        assert straight is not None
        return straight + super().pullback(k, args, inner, weights * (-2.0 * slope**3 * change))


class PointDistance2(Atom):
    """The squared distance between two points of hyperbolic space (−1) or of a sphere (1).

    Parameters
    ----------
    curvature : {-1, 1}
        The curvature of the space.
    reach : float
        On a sphere, a bound on the distance.
    """

    name = "distance2"

    def __init__(self, curvature: int, reach: float = np.inf) -> None:
        self.curvature, self.reach = curvature, reach

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return ()

    def _product(self, a: Array, b: Array) -> float:
        return float(a @ b) if self.curvature > 0 else float(a[0] * b[0] - a[1:] @ b[1:])

    def _lowered(self, a: Array) -> Array:
        """Return the gradient of `_product` in its other argument."""
        return a if self.curvature > 0 else np.concatenate([a[:1], -a[1:]])

    def forward(self, *args: Array) -> tuple[Array, Any]:
        step = args[0] - args[1]
        # cosh d − 1 or 1 − cos d from a difference of points, so that close points lose no digits.
        excess = max(0.5 * abs(self._product(step, step)), 0.0)
        if self.curvature > 0:
            d = 2.0 * np.arcsin(min(np.sqrt(0.5 * excess), 1.0))
        else:
            d = 2.0 * np.arcsinh(np.sqrt(0.5 * excess))
        return np.asarray(self._value(d)), (self._slope(d), self._bend(d))

    def _value(self, d: float) -> float:
        return float(d**2)

    def _slope(self, d: float) -> float:
        """Return the derivative of d² with respect to cosh d (or cos d)."""
        if self.curvature > 0:
            return -2.0 * (1.0 + d**2 / 6.0 if d < _NEAR else d / np.sin(d))
        return 2.0 * (1.0 - d**2 / 6.0 if d < _NEAR else d / np.sinh(d))

    def _bend(self, d: float) -> float:
        """Return the second derivative of d² with respect to cosh d (or cos d)."""
        if self.curvature > 0:
            return 2.0 / 3.0 if d < _NEAR else float(2.0 * (1.0 - x_cot_x(np.asarray(d))) / np.sin(d) ** 2)
        return -2.0 / 3.0 if d < _NEAR else float(2.0 * (1.0 - x_coth_x(np.asarray(d))) / np.sinh(d) ** 2)

    def _change(self, args: Sequence[Array], tangents: Tangents) -> float:
        x, y = args
        first = 0.0 if tangents[0] is None else self._product(tangents[0], y)
        return first + (0.0 if tangents[1] is None else self._product(x, tangents[1]))

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        return np.asarray(memo[0] * self._change(args, tangents))

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return np.asarray(float(weights) * memo[0] * self._lowered(args[1 - k]))

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        slope, bend = memo
        moved = bend * self._change(args, tangents) * self._lowered(args[1 - k])
        other = tangents[1 - k]
        return np.asarray(float(weights) * (moved if other is None else moved + slope * self._lowered(other)))

    def sign(self, *args: Facts) -> Sign:
        return Sign.NONNEGATIVE

    def rules(self, *args: Facts) -> Sequence[Rule]:
        if self.curvature > 0 and not (self.reach <= 0.5 * np.pi and any(arg.is_constant for arg in args)):
            return ()
        if any(arg.is_constant and arg.numbers is None for arg in args):
            return ()  # a parameter need not be a point of the space
        where = f"within {self.reach:.4g} < π/2 on a sphere" if self.curvature > 0 else "in hyperbolic space"
        return [Rule("own", "plain", Curvature.CONVEX, (0, 0), f"distances are convex {where}", BRIDSON)]

    def modulus(self, *args: Facts) -> dict[object, float]:
        moving = [arg for arg in args if not arg.is_constant]
        if len(moving) != 1 or moving[0].isometry is None:
            return {}
        least = 1.0 if self.curvature < 0 else float(x_cot_x(np.asarray(self.reach)))
        return {moving[0].isometry: 2.0 * least}


class PointDistance(PointDistance2):
    """The distance between two points of hyperbolic space or of a sphere."""

    name = "distance"

    @property
    def squared(self) -> Atom:
        """The atom of the squared distance."""
        return PointDistance2(self.curvature, self.reach)

    def _value(self, d: float) -> float:
        return float(d)

    def _slope(self, d: float) -> float:
        return super()._slope(d) / (2.0 * d) if d > 0.0 else 0.0

    def _bend(self, d: float) -> float:
        if d == 0.0:
            return 0.0
        # s = d² has d = √s: d″ = s″/(2d) − s′²/(4d³).
        return super()._bend(d) / (2.0 * d) - super()._slope(d) ** 2 / (4.0 * d**3)

    def modulus(self, *args: Facts) -> dict[object, float]:
        return {}


class LorentzProduct(Bilinear):
    """p₀x₀ − Σ pᵢxᵢ of a point of hyperbolic space, which is cosh d(x, p) if p is a point."""

    name = "lorentz"

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        if shapes[0] != shapes[1]:
            raise ValueError(f"`lorentz` needs vectors of the same length, got {shapes[0]} and {shapes[1]}.")
        return ()

    def apply(self, a: Array, b: Array) -> Array:
        return np.asarray(a[0] * b[0] - a[1:] @ b[1:])

    def adjoint(self, k: int, other: Array, weights: Array, shape: tuple[int, ...]) -> Array:
        return np.asarray(float(weights) * np.concatenate([other[:1], -other[1:]]))

    def sign(self, *args: Facts) -> Sign:
        return Sign.POSITIVE if self._is_causal(args) else Sign.UNKNOWN

    def _is_causal(self, args: Sequence[Facts]) -> bool:
        """Return whether each constant factor lies in the closed future cone."""
        fixed = [arg for arg in args if arg.is_constant]
        if any(arg.numbers is None for arg in fixed):
            return False
        vectors = [arg.numbers for arg in fixed if arg.numbers is not None]
        return all(v[0] > 0.0 and v[0] >= (1.0 - 1e-14) * np.linalg.norm(v[1:]) for v in vectors)

    def rules(self, *args: Facts) -> Sequence[Rule]:
        if not self._is_causal(args):
            return ()
        reason = "log cosh of a distance, or a Busemann function, is convex"
        return [Rule("own", "log", Curvature.CONVEX, (0, 0), reason, BRIDSON)]

    def rate(self, *args: Facts) -> float | None:
        # Along a geodesic of unit speed, it is a eᵗ + b e⁻ᵗ with a, b ≥ 0.
        return 1.0 if self._is_causal(args) and any(arg.is_constant for arg in args) else None


class LorentzQuadratic(Atom):
    """xᵀ A x of a point of hyperbolic space."""

    name = "lorentz_quadratic"

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        if shapes[0] != shapes[1][:1] * 2:
            raise ValueError(f"`lorentz_quadratic` needs a matrix for the point, got {shapes[0]}.")
        return ()

    def forward(self, *args: Array) -> tuple[Array, Any]:
        a, x = args
        image = a @ x
        return np.asarray(x @ image), image

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        moved = 0.0 if tangents[1] is None else 2.0 * memo @ tangents[1]
        return np.asarray(moved if tangents[0] is None else moved + args[1] @ tangents[0] @ args[1])

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        x = args[1]
        return np.asarray(float(weights) * (2.0 * memo if k == 1 else np.outer(x, x)))

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        (a, x), (ta, tx) = args, tangents
        if k == 1:
            moved = (0.0 if tx is None else a @ tx) + (0.0 if ta is None else ta @ x)
            return np.asarray(2.0 * float(weights) * moved)
        return None if tx is None else np.asarray(float(weights) * (np.outer(tx, x) + np.outer(x, tx)))

    def rules(self, *args: Facts) -> Sequence[Rule]:
        a = args[0].numbers
        if a is None or not nonnegative_on_light_cone(a):
            return ()
        reason = "the form is nonnegative on the light cone"
        return [Rule("own", "plain", Curvature.CONVEX, (0, 0), reason, FERREIRA)]


class Cosine(Bilinear):
    """pᵀx of two points of a sphere, the cosine of their distance."""

    name = "cosine"

    def __init__(self, reach: float) -> None:
        self.reach = reach

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return ()

    def apply(self, a: Array, b: Array) -> Array:
        return np.asarray(a @ b)

    def adjoint(self, k: int, other: Array, weights: Array, shape: tuple[int, ...]) -> Array:
        return np.asarray(float(weights) * other)

    def sign(self, *args: Facts) -> Sign:
        return Sign.NONNEGATIVE if self.reach <= 0.5 * np.pi else Sign.UNKNOWN

    def rules(self, *args: Facts) -> Sequence[Rule]:
        if self.reach > 0.5 * np.pi or not any(arg.is_constant for arg in args):
            return ()
        reason = f"the cosine of a distance is concave within {self.reach:.4g} < π/2"
        return [Rule("own", "plain", Curvature.CONCAVE, (0, 0), reason, BRIDSON)]


def nonnegative_on_light_cone(a: Array) -> bool:
    """Return whether xᵀAx ≥ 0 for all x with x₀² = Σ xᵢ², up to rounding errors.

    By the S-lemma, this holds if A + μ J is positive semidefinite for some μ, where J = diag(−1, 1, …, 1).
    The smallest eigenvalue is concave in μ, so its maximum is found by section search.
    """
    j = np.diag([-1.0, *np.ones(len(a) - 1)])
    size = float(np.abs(a).max(initial=0.0)) * len(a)
    low, high, golden = -2.0 * size, 2.0 * size, 0.5 * (np.sqrt(5.0) - 1.0)

    def least(mu: float) -> float:
        return float(np.linalg.eigvalsh(a + mu * j)[0])

    for _ in range(100):  # each shrinks the interval by 0.62
        third, two_thirds = high - golden * (high - low), low + golden * (high - low)
        if least(third) < least(two_thirds):
            low = third
        else:
            high = two_thirds
    return least(0.5 * (low + high)) >= -1e-12 * size


def distance(x: Any, y: Any) -> Expression:
    """Return the geodesic distance between two points.

    Parameters
    ----------
    x : Expression
        A variable on `SPD`, `PositiveOrthant`, `Euclidean`, `Hyperbolic` or `Sphere`, or an expression that
        is positive definite.
    y : Expression or array
        Another variable or expression, or a point. For positive definite matrices also a stack of m points;
        then the value is a vector.

    Returns
    -------
    Expression
        Convex if both move along geodesics. On a sphere, the variable needs a ball.

    See Also
    --------
    distance2 : The squared distance, which is smooth.
    s_divergence : Another divergence of positive definite matrices.

    Examples
    --------
    >>> import numpy as np
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(2), name="X")
    >>> median = gm.distance(X, np.eye(2)) + gm.distance(X, 2.0 * np.eye(2))
    >>> median.is_convex()
    True
    """
    x, y = _moving_first(x, y)
    if _is_definite(x) and not isinstance(y, Constant):
        return Application(PairDistance(), x, matrix(y, "distance"))
    if _is_definite(x):
        return Application(MatrixDistance(_definite_stack(y)), x)
    curved = _curvature(x)
    if curved:
        return Application(PointDistance(curved, _reach(x, y)), x, _checked_point(x, y))
    return norm(_flat_difference(x, y))


def distance2(x: Any, y: Any) -> Expression:
    """Return the squared geodesic distance between two points.

    Parameters
    ----------
    x : Expression
        A variable on `SPD`, `PositiveOrthant`, `Euclidean`, `Hyperbolic` or `Sphere`, or an expression that
        is positive definite.
    y : Expression or array
        Another variable or expression, or a point. For positive definite matrices also a stack of m points;
        then the value is a vector.

    Returns
    -------
    Expression
        Convex if both move along geodesics. On a sphere, the variable needs a ball.

    See Also
    --------
    distance : The distance itself.
    s_divergence : Another divergence of positive definite matrices.

    Examples
    --------
    >>> import numpy as np
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(2), name="X")
    >>> gm.sum(gm.distance2(X, np.stack([np.eye(2), 2.0 * np.eye(2)]))).is_convex()
    True
    """
    x, y = _moving_first(x, y)
    if _is_definite(x) and not isinstance(y, Constant):
        return Application(PairDistance2(), x, matrix(y, "distance2"))
    if _is_definite(x):
        return Application(MatrixDistance2(_definite_stack(y)), x)
    curved = _curvature(x)
    if curved:
        return Application(PointDistance2(curved, _reach(x, y)), x, _checked_point(x, y))
    return sum_squares(_flat_difference(x, y))


def s_divergence(x: Any, y: Any) -> Expression:
    """Return log det((X + Y)/2) − ½ log det X − ½ log det Y, the S-divergence of positive definite matrices.

    Parameters
    ----------
    x, y : Expression or array
        Positive definite matrices.

    Returns
    -------
    Expression
        A number, convex along geodesics of x and y.

    See Also
    --------
    distance2 : The squared geodesic distance.
    log_det : The logarithm of the determinant.

    References
    ----------
    S. Sra, "Positive definite matrices and the S-divergence", Proceedings of the AMS 144(7), 2016.

    Examples
    --------
    >>> import numpy as np
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> gm.s_divergence(gm.Variable(SPD(2)), np.eye(2)).is_convex()
    True
    """
    x, y = matrix(x, "s_divergence"), matrix(y, "s_divergence")
    middle = log_det(0.5 * (x + y))
    return middle - 0.5 * log_det(x) - 0.5 * log_det(y)


def lorentz(x: Any, y: Any) -> Expression:
    """Return x₀y₀ − Σ xᵢyᵢ for points of hyperbolic space, the hyperbolic cosine of their distance.

    Parameters
    ----------
    x : Expression
        A variable on `Hyperbolic`.
    y : Expression or array
        Another variable, or a vector in the closed future cone: a point, or a light-like vector, which
        represents a point at infinity.

    Returns
    -------
    Expression
        A positive number, log-convex along geodesics. For a light-like y, its logarithm is a Busemann
        function.

    See Also
    --------
    distance : The distance.
    lorentz_quadratic : Quadratic forms.

    Examples
    --------
    >>> import numpy as np
    >>> import geodual.model as gm
    >>> from geodual.manifolds import Hyperbolic
    >>> x = gm.Variable(Hyperbolic(2), name="x")
    >>> busemann = gm.log(gm.lorentz(x, np.array([1.0, 1.0, 0.0])))
    >>> busemann.is_convex()
    True
    """
    x, y = _moving_first(x, y)
    if _curvature(x) >= 0:
        raise ValueError("`lorentz` needs a variable on `Hyperbolic`.")
    return Application(LorentzProduct(), x, _same_space(x, y))


def lorentz_quadratic(a: Any, x: Any) -> Expression:
    """Return xᵀ A x for a point of hyperbolic space.

    Parameters
    ----------
    a : array
        A symmetric matrix.
    x : Expression
        A variable on `Hyperbolic`.

    Returns
    -------
    Expression
        A number, convex along geodesics if the form is nonnegative on the light cone.

    See Also
    --------
    lorentz : The bilinear form of hyperbolic space.

    Examples
    --------
    >>> import numpy as np
    >>> import geodual.model as gm
    >>> from geodual.manifolds import Hyperbolic
    >>> x = gm.Variable(Hyperbolic(2), name="x")
    >>> gm.lorentz_quadratic(np.diag([2.0, -1.0, 0.0]), x).is_convex()
    True
    """
    x = as_expression(x)
    if _curvature(x) >= 0:
        raise ValueError("`lorentz_quadratic` needs a variable on `Hyperbolic`.")
    return Application(LorentzQuadratic(), matrix(a, "lorentz_quadratic"), x)


def cosine(x: Any, y: Any) -> Expression:
    """Return xᵀy for points of a sphere, the cosine of their distance.

    Parameters
    ----------
    x : Expression
        A variable on `Sphere`.
    y : Expression or array
        Another variable, or a point.

    Returns
    -------
    Expression
        A number, concave while the distance is below π/2, which the ball of the variable must ensure.

    See Also
    --------
    distance : The distance.
    lorentz : The analog in hyperbolic space.

    Examples
    --------
    >>> import numpy as np
    >>> import geodual.model as gm
    >>> from geodual.manifolds import Sphere
    >>> north = np.array([0.0, 0.0, 1.0])
    >>> x = gm.Variable(Sphere(3), name="x", center=north, radius=1.0)
    >>> gm.cosine(x, north).is_concave(), gm.cosine(x, np.array([1.0, 0.0, 0.0])).is_concave()
    (True, False)
    """
    x, y = _moving_first(x, y)
    if _curvature(x) <= 0:
        raise ValueError("`cosine` needs a variable on `Sphere`.")
    return Application(Cosine(_reach(x, y)), x, _checked_point(x, y))


def _moving_first(x: Any, y: Any) -> tuple[Expression, Expression]:
    x, y = as_expression(x), as_expression(y)
    return (y, x) if isinstance(x, (Constant, Parameter)) else (x, y)


def _curvature(x: Expression) -> int:
    """Return the curvature of the manifold of a variable if it is −1 or 1; otherwise 0."""
    if not isinstance(x, Variable):
        return 0
    return -1 if isinstance(x.manifold, Hyperbolic) else int(isinstance(x.manifold, Sphere))


def _reach(x: Expression, y: Expression) -> float:
    """Return a bound on the distance between a variable in a ball and a point of the sphere."""
    if not (isinstance(x, Variable) and x.ball is not None and isinstance(y, Constant)):
        return np.inf
    center, radius = x.ball
    return radius + float(np.arccos(np.clip(center @ y.array, -1.0, 1.0)))


def _checked_point(x: Expression, y: Expression) -> Expression:
    """Return a point; raise an error if it is not on the manifold of the variable."""
    assert isinstance(x, Variable)
    if isinstance(y, Constant):
        return Constant(x.manifold.check_point(y.array), y.name)
    return _same_space(x, y)


def _same_space(x: Expression, y: Expression) -> Expression:
    """Return y if it is a constant, a parameter, or a variable on the manifold of the variable x."""
    assert isinstance(x, Variable)
    other = y.manifold if isinstance(y, Variable) else None
    alike = type(other) is type(x.manifold) or isinstance(y, (Constant, Parameter))
    if not alike or y.shape != x.shape:
        raise ValueError(f"{x} is on {x.manifold}; the other argument must be a point or a variable there.")
    return y


def _is_definite(x: Expression) -> bool:
    """Return whether an expression is a matrix with the distances of `SPD`."""
    return x.symmetric and x.facts().sign is Sign.POSITIVE


def _definite_stack(y: Constant) -> Array:
    if y.ndim not in (2, 3) or y.shape[-1] != y.shape[-2]:
        raise ValueError(f"A distance needs a positive definite matrix or a stack of them, got {y.shape}.")
    if (np.linalg.eigvalsh(y.array)[..., 0] <= 0.0).any():
        raise ValueError(
            "A distance needs positive definite matrices, but one has an eigenvalue of 0 or less."
        )
    return np.asarray(0.5 * (y.array + np.swapaxes(y.array, -1, -2)))


def _flat_difference(x: Expression, y: Expression) -> Expression:
    """Return the difference between two points, of logarithms on a `PositiveOrthant`."""
    for point in (x, y):
        if isinstance(point, Variable) and not isinstance(
            point.manifold, (Euclidean, Symmetric, SkewSymmetric, PositiveOrthant)
        ):
            raise ValueError(f"Distances on {point.manifold} are not available as expressions.")
    positive = [isinstance(p, Variable) and isinstance(p.manifold, PositiveOrthant) for p in (x, y)]
    return log(x) - log(y) if any(positive) else x - y


def _weighted(weights: Array, matrices: Array) -> Array:
    """Return Σ wᵢ Mᵢ, or w M for one matrix."""
    if matrices.ndim == 2:
        return np.asarray(float(weights) * matrices)
    return np.asarray(np.tensordot(weights, matrices, axes=1))
