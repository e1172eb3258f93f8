"""Functions of the eigenvalues of symmetric matrices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from geodual.arrays import Array

from ..atom import Atom, Tangents
from ..expression import Application, Expression
from ..facts import Curvature, Facts, Rule, Sign
from .matrices import matrix
from .sources import ANDO_HIAI, BOYD, SRA_HOSSEINI

_CLOSE = 1e-5  # relative distance below which a divided difference is the slope at the midpoint, to 1e-11
_MAJORIZED = "the eigenvalues of A #ₜ B are log-majorized by products of those of A and B"


class SpectralSum(Atom):
    """Σ f(λᵢ) over the eigenvalues of a symmetric matrix."""

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return ()

    @abstractmethod
    def of(self, eigenvalues: Array) -> Array:
        """Return f."""

    @abstractmethod
    def slope(self, eigenvalues: Array) -> Array:
        """Return f′."""

    @abstractmethod
    def bend(self, eigenvalues: Array) -> Array:
        """Return f″."""

    def forward(self, *args: Array) -> tuple[Array, Any]:
        eigenvalues, vectors = np.linalg.eigh(args[0])
        slope = self.slope(eigenvalues)
        gradient = (vectors * slope) @ vectors.T
        return np.asarray(np.sum(self.of(eigenvalues))), (eigenvalues, vectors, slope, gradient)

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        return np.asarray(np.sum(memo[3] * tangents[0]))

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return np.asarray(float(weights) * memo[3])

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        eigenvalues, vectors, slope, _ = memo
        quotients = divided_differences(eigenvalues, slope, self.bend)
        return np.asarray(float(weights) * along_eigenvectors(vectors, quotients, tangents[0]))


class TracePower(SpectralSum):
    """tr Xᵖ of a positive definite matrix."""

    name = "trace_power"

    def __init__(self, p: float) -> None:
        self.p = float(p)

    def of(self, eigenvalues: Array) -> Array:
        return np.asarray(_positive(eigenvalues) ** self.p)

    def slope(self, eigenvalues: Array) -> Array:
        return np.asarray(self.p * eigenvalues ** (self.p - 1.0))

    def bend(self, eigenvalues: Array) -> Array:
        return np.asarray(self.p * (self.p - 1.0) * eigenvalues ** (self.p - 2.0))

    def sign(self, *args: Facts) -> Sign:
        return Sign.POSITIVE if args[0].sign is Sign.POSITIVE else Sign.NONNEGATIVE

    def rules(self, *args: Facts) -> Sequence[Rule]:
        if not args[0].sign.is_nonnegative:
            return ()
        grows = 1 if self.p > 0.0 else -1
        curvature = Curvature.CONCAVE if 0.0 < self.p < 1.0 else Curvature.CONVEX
        return [
            Rule("log", "log", Curvature.CONVEX, (grows,), _MAJORIZED, ANDO_HIAI),
            Rule("plain", "plain", curvature, (grows,), f"tr X^{self.p:g} is a spectral function", BOYD),
        ]

    def text(self, *args: str) -> str:
        return f"trace_power({args[0]}, {self.p:g})"


class LogPower(SpectralSum):
    """Σ |log λᵢ|ᵖ of a positive definite matrix."""

    name = "log_power"

    def __init__(self, p: float) -> None:
        self.p = float(p)

    def of(self, eigenvalues: Array) -> Array:
        return np.asarray(np.abs(np.log(_positive(eigenvalues))) ** self.p)

    def slope(self, eigenvalues: Array) -> Array:
        logs = np.log(eigenvalues)
        return np.asarray(self.p * np.sign(logs) * np.abs(logs) ** (self.p - 1.0) / eigenvalues)

    def bend(self, eigenvalues: Array) -> Array:
        logs = np.log(eigenvalues)
        size = np.abs(logs) + (logs == 0.0)  # at the kink for p < 2, take one side
        second = (self.p - 1.0) * size ** (self.p - 2.0) - np.sign(logs) * np.abs(logs) ** (self.p - 1.0)
        return np.asarray(self.p * second / eigenvalues**2)


class PowerMeanNorm(Atom):
    """The p-th root of a spectral sum of p-th powers, (Σ λᵢᵖ)^(1/p) or (Σ |log λᵢ|ᵖ)^(1/p)."""

    def __init__(self, p: float, total: SpectralSum) -> None:
        if not 1.0 <= p < np.inf:
            raise ValueError(f"`p` must be at least 1 and finite, got {p!r}; use `lambda_max` for infinity.")
        self.p, self._sum = float(p), total

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return ()

    def forward(self, *args: Array) -> tuple[Array, Any]:
        total, memo = self._sum.forward(*args)
        value = total ** (1.0 / self.p)
        return np.asarray(value), (total, value / (self.p * total) if total > 0.0 else total, memo)

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        return np.asarray(memo[1] * self._sum.tangent(args, memo[2], tangents))

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return self._sum.pullback(k, args, memo[2], weights * memo[1])

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        total, slope, inner = memo
        change = self._sum.tangent(args, inner, tangents)
        bend = slope * (1.0 / self.p - 1.0) / (total or 1.0) * change
        straight = self._sum.second(k, args, inner, tangents, weights * slope)
        assert straight is not None
        return straight + self._sum.pullback(k, args, inner, weights * bend)

    def text(self, *args: str) -> str:
        return f"{self.name}({args[0]}, {self.p:g})"


class SchattenNorm(PowerMeanNorm):
    """(Σ λᵢᵖ)^(1/p) of a positive semidefinite matrix."""

    name = "schatten_norm"

    def __init__(self, p: float) -> None:
        super().__init__(p, TracePower(p))

    def sign(self, *args: Facts) -> Sign:
        return Sign.POSITIVE if args[0].sign is Sign.POSITIVE else Sign.NONNEGATIVE

    def rules(self, *args: Facts) -> Sequence[Rule]:
        if not args[0].sign.is_nonnegative:
            return ()
        return [
            Rule("log", "log", Curvature.CONVEX, (1,), _MAJORIZED, SRA_HOSSEINI),
            Rule("plain", "plain", Curvature.CONVEX, (1,), "a norm, which grows", BOYD),
        ]


class LogNorm(PowerMeanNorm):
    """(Σ |log λᵢ|ᵖ)^(1/p) of a positive definite matrix."""

    name = "log_norm"

    def __init__(self, p: float) -> None:
        super().__init__(p, LogPower(p))

    def sign(self, *args: Facts) -> Sign:
        return Sign.NONNEGATIVE

    def rules(self, *args: Facts) -> Sequence[Rule]:
        return [Rule("log", "plain", Curvature.CONVEX, (0,), _MAJORIZED, SRA_HOSSEINI)]


class ExtremeEigenvalues(Atom):
    """The sum of the k largest eigenvalues or of their logarithms, or the smallest eigenvalue.

    It has kinks where the last chosen eigenvalue equals the next one. There, the derivatives are those of one
    smooth piece.
    """

    def __init__(self, k: int, *, logarithms: bool = False, smallest: bool = False) -> None:
        self.k, self.logarithms, self.smallest = int(k), logarithms, smallest
        self.name = "sum_log_largest" if logarithms else "lambda_max" if k == 1 else "lambda_sum_largest"
        self.name = "lambda_min" if smallest else self.name

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        if not 1 <= self.k <= shapes[0][0]:
            raise ValueError(f"`k` must be between 1 and {shapes[0][0]}, got {self.k}.")
        return ()

    def forward(self, *args: Array) -> tuple[Array, Any]:
        eigenvalues, vectors = np.linalg.eigh(args[0])
        chosen = np.zeros(len(eigenvalues))
        chosen[: self.k] = 1.0
        chosen = chosen if self.smallest else chosen[::-1]
        picked = eigenvalues[chosen > 0.0]
        value = np.sum(np.log(_positive(picked)) if self.logarithms else picked)
        slope = chosen / eigenvalues if self.logarithms else chosen
        return np.asarray(value), (eigenvalues, vectors, slope, (vectors * slope) @ vectors.T)

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        return np.asarray(np.sum(memo[3] * tangents[0]))

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return np.asarray(float(weights) * memo[3])

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        eigenvalues, vectors, slope, _ = memo
        inside = np.outer(slope, slope) != 0.0  # both eigenvalues are chosen
        bend = np.where(inside, -np.outer(slope, slope), 0.0) if self.logarithms else np.zeros(inside.shape)
        quotients = divided_differences(eigenvalues, slope, lambda middle: bend)
        return np.asarray(float(weights) * along_eigenvectors(vectors, quotients, tangents[0]))

    def sign(self, *args: Facts) -> Sign:
        return Sign.UNKNOWN if self.logarithms else args[0].sign

    def rules(self, *args: Facts) -> Sequence[Rule]:
        if self.logarithms:
            return [Rule("log", "plain", Curvature.CONVEX, (1,), _MAJORIZED, SRA_HOSSEINI)]
        curvature = Curvature.CONCAVE if self.smallest else Curvature.CONVEX
        reason = "a minimum of quadratic forms" if self.smallest else "a maximum of traces (Ky Fan)"
        rules = [Rule("plain", "plain", curvature, (1,), reason, BOYD)]
        if args[0].sign.is_nonnegative:
            rules.append(Rule("log", "log", curvature, (1,), _MAJORIZED, SRA_HOSSEINI))
        return rules

    def text(self, *args: str) -> str:
        return f"{self.name}({args[0]})" if self.k == 1 else f"{self.name}({args[0]}, {self.k})"


def trace_power(x: Any, p: float) -> Expression:
    """Return tr Xᵖ of a positive definite matrix.

    Parameters
    ----------
    x : Expression
        A positive definite matrix.
    p : float
        The exponent.

    Returns
    -------
    Expression
        A positive number, log-convex along geodesics.

    See Also
    --------
    schatten_norm : The p-th root of the sum of p-th powers.
    trace : The trace.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(2), name="X")
    >>> gm.trace_power(X, 0.5).is_convex(), gm.trace_power(X, 0.5).is_concave("euclidean")
    (True, True)
    """
    if p == 0.0:
        raise ValueError("`p` must not be 0, for which the trace is constant.")
    return Application(TracePower(p), matrix(x, "trace_power"))


def schatten_norm(x: Any, p: float = 2.0) -> Expression:
    """Return the Schatten norm (Σ λᵢᵖ)^(1/p) of a positive semidefinite matrix.

    Parameters
    ----------
    x : Expression
        A positive definite matrix.
    p : float
        The exponent, at least 1; 1 is the trace, 2 the Frobenius norm.

    Returns
    -------
    Expression
        A positive number, log-convex along geodesics and convex along straight lines.

    See Also
    --------
    trace_power : The sum of powers.
    log_norm : The norm of the logarithms.
    lambda_max : The limit for large p.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> gm.log(gm.schatten_norm(gm.Variable(SPD(2)), 3.0)).is_convex()
    True
    """
    return Application(SchattenNorm(p), matrix(x, "schatten_norm"))


def log_norm(x: Any, p: float = 2.0) -> Expression:
    """Return the Schatten norm of log X, the p-norm of the logarithms of the eigenvalues.

    Parameters
    ----------
    x : Expression
        A positive definite matrix.
    p : float
        The exponent, at least 1; with 2, the value is the geodesic distance from the identity.

    Returns
    -------
    Expression
        A nonnegative number, convex along geodesics.

    See Also
    --------
    schatten_norm : The norm of the eigenvalues.
    distance : The distance between two matrices.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> gm.log_norm(gm.inv(gm.Variable(SPD(2))), 3.0).is_convex()
    True
    """
    return Application(LogNorm(p), matrix(x, "log_norm"))


def lambda_max(x: Any) -> Expression:
    """Return the largest eigenvalue.

    Parameters
    ----------
    x : Expression
        A symmetric matrix.

    Returns
    -------
    Expression
        A number, convex, and log-convex if x is positive semidefinite.

    See Also
    --------
    lambda_min : The smallest eigenvalue.
    lambda_sum_largest : The sum of the largest ones.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(2), name="X")
    >>> condition_number = gm.lambda_max(X) * gm.lambda_max(gm.inv(X))
    >>> condition_number.is_convex()
    True
    """
    return Application(ExtremeEigenvalues(1), matrix(x, "lambda_max"))


def lambda_min(x: Any) -> Expression:
    """Return the smallest eigenvalue.

    Parameters
    ----------
    x : Expression
        A symmetric matrix.

    Returns
    -------
    Expression
        A number, concave, and log-concave if x is positive semidefinite.

    See Also
    --------
    lambda_max : The largest eigenvalue.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(2), name="X")
    >>> gm.log(gm.lambda_min(X)).is_concave()
    True
    """
    return Application(ExtremeEigenvalues(1, smallest=True), matrix(x, "lambda_min"))


def lambda_sum_largest(x: Any, k: int) -> Expression:
    """Return the sum of the k largest eigenvalues.

    Parameters
    ----------
    x : Expression
        A symmetric matrix.
    k : int
        Number of eigenvalues.

    Returns
    -------
    Expression
        A number, convex, and log-convex if x is positive semidefinite.

    See Also
    --------
    lambda_max : The largest eigenvalue.
    sum_log_largest : The sum of logarithms.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> gm.lambda_sum_largest(gm.Variable(SPD(3)), 2).is_convex()
    True
    """
    return Application(ExtremeEigenvalues(k), matrix(x, "lambda_sum_largest"))


def sum_log_largest(x: Any, k: int) -> Expression:
    """Return the sum of the logarithms of the k largest eigenvalues of a positive definite matrix.

    Parameters
    ----------
    x : Expression
        A positive definite matrix.
    k : int
        Number of eigenvalues.

    Returns
    -------
    Expression
        A number, convex along geodesics.

    See Also
    --------
    lambda_sum_largest : The sum of the eigenvalues.
    log_det : The sum of all logarithms.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> gm.sum_log_largest(gm.Variable(SPD(3)), 2).is_convex()
    True
    """
    return Application(ExtremeEigenvalues(k, logarithms=True), matrix(x, "sum_log_largest"))


def divided_differences(points: Array, values: Array, slope: Any) -> Array:
    """Return (vᵢ − vⱼ)/(pᵢ − pⱼ) for all pairs along the last axis; the slope if points are close."""
    p, q = points[..., :, None], points[..., None, :]
    gap = p - q
    close = np.abs(gap) <= _CLOSE * np.maximum(np.abs(p), np.abs(q))
    middle = slope(0.5 * (p + q))
    jump = values[..., :, None] - values[..., None, :]
    return np.asarray(np.where(close, middle, jump / np.where(close, 1.0, gap)))


def along_eigenvectors(vectors: Array, quotients: Array, direction: Any) -> Array:
    """Return the derivative of a function of a symmetric matrix along a direction (Daleckii and Krein)."""
    transposed = np.swapaxes(vectors, -1, -2)
    return np.asarray(vectors @ (quotients * (transposed @ direction @ vectors)) @ transposed)


def _positive(eigenvalues: Array) -> Array:
    """Replace eigenvalues that are not positive by NaN, so that solvers reject the point."""
    return np.where(eigenvalues > 0.0, eigenvalues, np.nan)
