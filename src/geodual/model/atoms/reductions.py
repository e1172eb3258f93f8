"""Functions of all entries of an array: sums, norms, maxima and stacking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geodual.arrays import Array

from ..atom import Atom, Linear, Tangents
from ..expression import Application, Expression, as_expression
from ..facts import Curvature, Facts, Rule, Sign
from .arithmetic import add, largest
from .elementwise import abs as _absolute
from .elementwise import exp, log
from .sources import BOYD, KUBO_ANDO, SRA_HOSSEINI

_GAUGE = "norms of geometric means are at most geometric means of norms"


class Sum(Linear):
    """The sum of all entries."""

    name = "sum"

    def __init__(self, size: int) -> None:
        self.size = size

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return ()

    def apply(self, x: Array) -> Array:
        return np.asarray(np.sum(x))

    def adjoint(self, weights: Array, shape: tuple[int, ...]) -> Array:
        return np.full(shape, float(weights))

    def sign(self, *args: Facts) -> Sign:
        return args[0].sign

    def rules(self, *args: Facts) -> Sequence[Rule]:
        # The sum of the entries of a matrix is 1ᵀX1, which is increasing in the Löwner order too.
        rules = [Rule("plain", "plain", Curvature.AFFINE, (1,), "a sum")]
        if args[0].sign.is_nonnegative:
            reason = "a sum of geometric means is at most the geometric mean of the sums"
            rules.append(Rule("log", "log", Curvature.CONVEX, (1,), reason, KUBO_ANDO))
        return rules

    def rate(self, *args: Facts) -> float | None:
        return args[0].rate

    def third(self, *args: Facts) -> float | None:
        return args[0].third

    def modulus(self, *args: Facts) -> dict[object, float]:
        return {variable: self.size * m for variable, m in args[0].modulus.items()}


class SumSquares(Atom):
    """The sum of the squares of all entries."""

    name = "sum_squares"

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return ()

    def forward(self, *args: Array) -> tuple[Array, Any]:
        return np.asarray(np.vdot(args[0], args[0])), None

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        return np.asarray(2.0 * np.sum(args[0] * tangents[0]))

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return np.asarray(2.0 * weights * args[0])

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        return np.asarray(2.0 * weights * tangents[0])

    def sign(self, *args: Facts) -> Sign:
        return Sign.NONNEGATIVE

    def rules(self, *args: Facts) -> Sequence[Rule]:
        grows = args[0].sign.monotone  # holds for positive semidefinite matrices too
        rules = [Rule("plain", "plain", Curvature.CONVEX, (grows,), "a sum of squares", BOYD)]
        if args[0].sign.is_nonnegative:
            rules.append(Rule("log", "log", Curvature.CONVEX, (1,), _GAUGE, SRA_HOSSEINI))
        return rules

    def rate(self, *args: Facts) -> float | None:
        return None if args[0].rate is None or args[0].is_matrix else 2.0 * args[0].rate

    def third(self, *args: Facts) -> float | None:
        return 0.0 if args[0].plain.curvature.is_affine else None

    def modulus(self, *args: Facts) -> dict[object, float]:
        kept = args[0].isometry if args[0].plain.curvature.is_affine else None
        return {} if kept is None else {kept: 2.0}


class Norm2(Atom):
    """The Euclidean norm of all entries."""

    name = "norm"
    squared = SumSquares()

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return ()

    def forward(self, *args: Array) -> tuple[Array, Any]:
        length = float(np.linalg.norm(args[0]))
        return np.asarray(length), args[0] / (length or 1.0)

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        return np.asarray(np.sum(memo * tangents[0]))

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return np.asarray(weights * memo)

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        length = float(np.linalg.norm(args[0])) or 1.0
        return np.asarray(weights * (tangents[0] - np.sum(memo * tangents[0]) * memo) / length)

    def sign(self, *args: Facts) -> Sign:
        return Sign.NONNEGATIVE

    def rules(self, *args: Facts) -> Sequence[Rule]:
        rules = [Rule("plain", "plain", Curvature.CONVEX, (args[0].sign.monotone,), "a norm", BOYD)]
        if args[0].sign.is_nonnegative:
            rules.append(Rule("log", "log", Curvature.CONVEX, (1,), _GAUGE, SRA_HOSSEINI))
        return rules


class Max(Atom):
    """The largest entry."""

    name = "max"

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return ()

    def forward(self, *args: Array) -> tuple[Array, Any]:
        where = np.unravel_index(np.argmax(args[0]), np.shape(args[0]))
        return np.asarray(args[0][where]), where

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        assert tangents[0] is not None
        return np.asarray(tangents[0][memo])

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        whole = np.zeros(np.shape(args[0]))
        whole[memo] = weights
        return whole

    def sign(self, *args: Facts) -> Sign:
        return args[0].sign

    def rules(self, *args: Facts) -> Sequence[Rule]:
        rules = [Rule("plain", "plain", Curvature.CONVEX, (1,), "a maximum", BOYD)]
        if args[0].sign.is_nonnegative:
            rules.append(Rule("log", "log", Curvature.CONVEX, (1,), "a maximum", BOYD))
        return rules


class LogSumExp(Atom):
    """The logarithm of the sum of exponentials."""

    name = "log_sum_exp"

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return ()

    def forward(self, *args: Array) -> tuple[Array, Any]:
        top = np.max(args[0])
        shares = np.exp(args[0] - top)
        total = shares.sum()
        return np.asarray(top + np.log(total)), shares / total

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        return np.asarray(np.sum(memo * tangents[0]))

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return np.asarray(weights * memo)

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        return np.asarray(weights * memo * (tangents[0] - np.sum(memo * tangents[0])))

    def rules(self, *args: Facts) -> Sequence[Rule]:
        return [Rule("plain", "plain", Curvature.CONVEX, (1,), "log-sum-exp grows and is convex", BOYD)]


class Stack(Atom):
    """Numbers and vectors, joined into one vector."""

    name = "hstack"
    by_entries = True

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return (int(np.sum([np.prod(shape, dtype=int) for shape in shapes])),)

    def forward(self, *args: Array) -> tuple[Array, Any]:
        ends = np.cumsum([np.size(arg) for arg in args])
        return np.concatenate([np.ravel(arg) for arg in args]), ends

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        parts = [
            np.zeros(np.size(a)) if t is None else np.ravel(t) for a, t in zip(args, tangents, strict=True)
        ]
        return np.concatenate(parts)

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        shape = np.shape(args[k])
        return np.asarray(weights[memo[k] - np.size(args[k]) : memo[k]]).reshape(shape)

    def sign(self, *args: Facts) -> Sign:
        signs = {arg.entries for arg in args}
        if len(signs) == 1:
            return signs.pop()
        if all(sign.is_nonnegative for sign in signs):
            return Sign.NONNEGATIVE
        return Sign.NONPOSITIVE if all(sign.is_nonpositive for sign in signs) else Sign.UNKNOWN

    def rules(self, *args: Facts) -> Sequence[Rule]:
        grows = (1,) * len(args)
        rules = [Rule("plain", "plain", Curvature.AFFINE, grows, "a vector of its entries")]
        if all(arg.entries.is_nonnegative for arg in args):
            rules.append(Rule("log", "log", Curvature.AFFINE, grows, "a vector of its entries"))
        return rules

    def rate(self, *args: Facts) -> float | None:
        return largest(arg.rate for arg in args)


def sum(x: Any) -> Expression:  # noqa: A001 - as in numpy and cvxpy
    """Return the sum of all entries, or of a list of expressions.

    Parameters
    ----------
    x : Expression or sequence of them
        The expressions to sum.

    Returns
    -------
    Expression
        A number; for a list, an expression with the shape of its members.

    See Also
    --------
    sum_squares : The sum of squares.
    trace : The sum of the diagonal.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import PositiveOrthant
    >>> x = gm.Variable(PositiveOrthant(3), name="x")
    >>> gm.log(gm.sum(x)).is_convex()
    True
    """
    if isinstance(x, (list, tuple)):
        return add(*x)
    x = as_expression(x)
    return x if x.shape == () else Application(Sum(int(np.prod(x.shape))), x)


def sum_squares(x: Any) -> Expression:
    """Return the sum of the squares of all entries.

    Parameters
    ----------
    x : Expression
        The argument.

    Returns
    -------
    Expression
        A number, convex if x is affine, or convex and nonnegative.

    See Also
    --------
    norm : Its square root.
    square : The squares.

    Examples
    --------
    >>> import numpy as np
    >>> import geodual.model as gm
    >>> from geodual.manifolds import Euclidean
    >>> x = gm.Variable(Euclidean(2), name="x")
    >>> gm.sum_squares(np.ones((3, 2)) @ x - 1.0).is_convex()
    True
    """
    return Application(SumSquares(), x)


def norm(x: Any, p: int = 2) -> Expression:
    """Return the Euclidean norm of all entries, or the sum of their absolute values.

    Parameters
    ----------
    x : Expression
        The argument.
    p : {2, 1}
        The kind of norm: Euclidean, or the sum of absolute values.

    Returns
    -------
    Expression
        A number, convex if x is affine. In a cost, zeros of x are exact.

    See Also
    --------
    sum_squares : The square of the Euclidean norm.
    abs : Absolute values.
    schatten_norm : Norms of matrices.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import Euclidean
    >>> x = gm.Variable(Euclidean(2), name="x")
    >>> print(gm.norm(x - 1.0), "and", gm.norm(x, 1))
    norm(x - 1) and sum(abs(x))
    """
    if p not in (1, 2):
        raise ValueError(f"`p` must be 1 or 2, got {p!r}.")
    if p == 2:
        return Application(Norm2(), x)
    return sum(_absolute(x))


def max(x: Any) -> Expression:  # noqa: A001 - as in numpy and cvxpy
    """Return the largest entry, or the largest of a list of numbers.

    Parameters
    ----------
    x : Expression or sequence of them
        The entries.

    Returns
    -------
    Expression
        A number, convex if all entries are convex.

    See Also
    --------
    log_sum_exp : A smooth substitute.
    lambda_max : The largest eigenvalue.

    Examples
    --------
    >>> import numpy as np
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(2), name="X")
    >>> gm.max([gm.log_det(X), gm.trace(X), 1.0]).is_convex()
    True
    """
    return Application(Max(), _entries(x, "max"))


def log_sum_exp(x: Any) -> Expression:
    """Return log Σ exp(xᵢ), without overflow.

    Parameters
    ----------
    x : Expression or sequence of them
        The exponents.

    Returns
    -------
    Expression
        A number, convex if all entries are convex.

    See Also
    --------
    max : The largest entry.
    logistic : The case of 0 and x.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import Euclidean
    >>> gm.log_sum_exp(gm.Variable(Euclidean(3))).is_convex()
    True
    """
    return Application(LogSumExp(), _entries(x, "log_sum_exp"))


def hstack(parts: Sequence[Any]) -> Expression:
    """Join numbers and vectors into one vector.

    Parameters
    ----------
    parts : sequence of Expression
        The parts, in order; arrays are flattened.

    Returns
    -------
    Expression
        A vector.

    See Also
    --------
    diag : The diagonal of a matrix.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import Euclidean
    >>> x = gm.Variable(Euclidean(2))
    >>> gm.hstack([x, x[0] + x[1], 3.0]).shape
    (4,)
    """
    if not parts:
        raise ValueError("`hstack` needs at least one part.")
    return Application(Stack(), *(_entries(part, "hstack") for part in parts))


def prod(x: Any) -> Expression:
    """Return the product of all entries of a positive vector.

    Parameters
    ----------
    x : Expression
        Positive entries.

    Returns
    -------
    Expression
        exp Σ log xᵢ, which is log-affine if x is.

    See Also
    --------
    sum : The sum.
    det : The determinant.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import PositiveOrthant
    >>> x = gm.Variable(PositiveOrthant(3), name="x")
    >>> (1.0 / gm.prod(x)).is_convex()
    True
    """
    return exp(sum(log(x)))


def _entries(x: Any, name: str) -> Expression:
    """Return a list as one vector; reject symmetric matrices, which are compared as a whole."""
    if isinstance(x, (list, tuple)):
        return hstack(x)
    entries = as_expression(x)
    if entries.symmetric and not entries.facts().is_constant:
        raise ValueError(
            f"`{name}` acts on entries; use `diag`, `lambda_max` or `trace` of a symmetric matrix."
        )
    return entries
