"""Functions of one number, applied to every entry."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit

from geodual.arrays import Array

from ..atom import Atom, Tangents
from ..expression import Application, Expression, as_expression
from ..facts import Curvature, Facts, Rule, Sign
from .sources import BOYD, PRODUCTS


class Elementwise(Atom):
    """A function of one number, with its first two derivatives."""

    @abstractmethod
    def of(self, x: Array) -> Array:
        """Return the values."""

    @abstractmethod
    def slope(self, x: Array) -> Array:
        """Return the first derivatives."""

    @abstractmethod
    def bend(self, x: Array) -> Array:
        """Return the second derivatives."""

    def forward(self, *args: Array) -> tuple[Array, Any]:
        return np.asarray(self.of(args[0])), self.slope(args[0])

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        return np.asarray(memo * tangents[0])

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return np.asarray(memo * weights)

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        return np.asarray(self.bend(args[0]) * tangents[0] * weights)


class Exp(Elementwise):
    """The exponential function."""

    name = "exp"

    def of(self, x: Array) -> Array:
        return np.exp(x)

    slope = bend = of

    def sign(self, *args: Facts) -> Sign:
        return Sign.POSITIVE

    def rules(self, *args: Facts) -> Sequence[Rule]:
        reason = "exp turns arithmetic into geometric means, and grows"
        return [Rule("plain", "log", Curvature.AFFINE, (1,), reason, PRODUCTS)]


class Log(Elementwise):
    """The natural logarithm."""

    name = "log"

    def of(self, x: Array) -> Array:
        # Like a solver's cost, it is undefined outside its domain.
        return np.log(np.where(x > 0.0, x, np.nan))

    def slope(self, x: Array) -> Array:
        return np.asarray(1.0 / x)

    def bend(self, x: Array) -> Array:
        return np.asarray(-1.0 / x**2)

    def rules(self, *args: Facts) -> Sequence[Rule]:
        if not args[0].sign.is_nonnegative:
            return ()
        reason = "log turns geometric into arithmetic means, and grows"
        return [Rule("log", "plain", Curvature.AFFINE, (1,), reason, PRODUCTS)]

    def third(self, *args: Facts) -> float | None:
        # The third cumulant of a distribution of rates is at most their range times the second.
        return None if args[0].rate is None else 2.0 * args[0].rate

    def isometry(self, *args: Facts) -> object:
        return args[0].isometry if args[0].rate is not None else None


class Abs(Elementwise):
    """The absolute value."""

    name = "abs"

    def of(self, x: Array) -> Array:
        return np.abs(x)

    def slope(self, x: Array) -> Array:
        return np.sign(x)

    def bend(self, x: Array) -> Array:
        return np.zeros(np.shape(x))

    def sign(self, *args: Facts) -> Sign:
        return Sign.NONNEGATIVE

    def rules(self, *args: Facts) -> Sequence[Rule]:
        grows = args[0].sign.monotone
        return [Rule("plain", "plain", Curvature.CONVEX, (grows,), "the absolute value", BOYD)]


class Logistic(Elementwise):
    """The softplus function log(1 + eˣ)."""

    name = "logistic"

    def of(self, x: Array) -> Array:
        return np.asarray(np.logaddexp(0.0, x))

    def slope(self, x: Array) -> Array:
        return np.asarray(expit(x))

    def bend(self, x: Array) -> Array:
        return np.asarray(expit(x) * expit(-x))

    def sign(self, *args: Facts) -> Sign:
        return Sign.POSITIVE

    def rules(self, *args: Facts) -> Sequence[Rule]:
        return [Rule("plain", "plain", Curvature.CONVEX, (1,), "log(1 + exp x)", BOYD)]


class Huber(Elementwise):
    """x²/2 for absolute values up to δ, and linear beyond."""

    name = "huber"

    def __init__(self, width: float) -> None:
        if not 0.0 < width < np.inf:
            raise ValueError(f"`width` must be positive and finite, got {width!r}.")
        self.width = float(width)

    def of(self, x: Array) -> Array:
        size = np.abs(x)
        inside = np.minimum(size, self.width)
        return np.asarray(inside * (size - 0.5 * inside))

    def slope(self, x: Array) -> Array:
        return np.clip(x, -self.width, self.width)

    def bend(self, x: Array) -> Array:
        return np.asarray(np.abs(x) <= self.width, dtype=float)

    def sign(self, *args: Facts) -> Sign:
        return Sign.NONNEGATIVE

    def rules(self, *args: Facts) -> Sequence[Rule]:
        return [Rule("plain", "plain", Curvature.CONVEX, (args[0].sign.monotone,), "the Huber loss", BOYD)]


class Entropy(Elementwise):
    """−x log x."""

    name = "entr"

    def of(self, x: Array) -> Array:
        return np.asarray(-x * np.log(np.where(x > 0.0, x, np.nan)))

    def slope(self, x: Array) -> Array:
        return np.asarray(-1.0 - np.log(x))

    def bend(self, x: Array) -> Array:
        return np.asarray(-1.0 / x)

    def rules(self, *args: Facts) -> Sequence[Rule]:
        if not args[0].sign.is_nonnegative:
            return ()
        return [Rule("plain", "plain", Curvature.CONCAVE, (0,), "-x log x", BOYD)]


def _apply(atom: Elementwise, x: Any) -> Expression:
    x = as_expression(x)
    if x.symmetric and x.ndim == 2:
        raise ValueError(
            f"`{atom.name}` acts on entries, and single entries of symmetric matrices mean little here."
        )
    return Application(atom, x)


def exp(x: Any) -> Expression:
    """Return eˣ, entry by entry.

    Parameters
    ----------
    x : Expression
        The argument.

    Returns
    -------
    Expression
        Positive, and log-affine if x is affine.

    See Also
    --------
    log : The inverse function.
    log_sum_exp : The logarithm of a sum of exponentials.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(2), name="X")
    >>> gm.exp(gm.log_det(X)).is_convex()
    True
    """
    return _apply(Exp(), x)


def log(x: Any) -> Expression:
    """Return the natural logarithm, entry by entry.

    Parameters
    ----------
    x : Expression
        Positive.

    Returns
    -------
    Expression
        Convex if x is log-convex, concave if x is concave.

    See Also
    --------
    exp : The inverse function.
    log_det : The logarithm of a determinant.
    entr : The entropy.

    Examples
    --------
    >>> import numpy as np
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(2), name="X")
    >>> gm.log(gm.quad_form(np.ones(2), X)).is_convex()
    True
    """
    return _apply(Log(), x)


def sqrt(x: Any) -> Expression:
    """Return the square root, entry by entry.

    Parameters
    ----------
    x : Expression
        Nonnegative.

    Returns
    -------
    Expression
        x ** 0.5.

    See Also
    --------
    power : Any power.
    square : The inverse function.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import PositiveOrthant
    >>> x = gm.Variable(PositiveOrthant(1), name="x")
    >>> gm.sqrt(x).is_convex(), gm.sqrt(x).is_concave("euclidean")
    (True, True)
    """
    return as_expression(x) ** 0.5


def square(x: Any) -> Expression:
    """Return the square, entry by entry.

    Parameters
    ----------
    x : Expression
        The argument.

    Returns
    -------
    Expression
        x ** 2.

    See Also
    --------
    power : Any power.
    sum_squares : The sum of squares.
    sqrt : The inverse function.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import Euclidean
    >>> gm.square(gm.Variable(Euclidean(1)) - 1.0).is_convex()
    True
    """
    return as_expression(x) ** 2


def abs(x: Any) -> Expression:  # noqa: A001 - as in numpy and cvxpy
    """Return the absolute value, entry by entry.

    Parameters
    ----------
    x : Expression
        The argument.

    Returns
    -------
    Expression
        Convex if x is affine.

    See Also
    --------
    norm : The sum of absolute values, with ``p=1``.
    huber : A smooth substitute.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> gm.abs(gm.log_det(gm.Variable(SPD(2)))).is_convex()
    True
    """
    return _apply(Abs(), x)


def logistic(x: Any) -> Expression:
    """Return log(1 + eˣ), entry by entry.

    Parameters
    ----------
    x : Expression
        The argument.

    Returns
    -------
    Expression
        Convex if x is convex; increasing in x.

    See Also
    --------
    log_sum_exp : The logarithm of a sum of exponentials.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import Euclidean
    >>> gm.logistic(-gm.Variable(Euclidean(1))).is_convex()
    True
    """
    return _apply(Logistic(), x)


def huber(x: Any, width: float = 1.0) -> Expression:
    """Return the Huber loss, entry by entry: x²/2 for absolute values up to `width`, and linear beyond.

    Parameters
    ----------
    x : Expression
        The argument.
    width : float
        The absolute value from which the loss is linear.

    Returns
    -------
    Expression
        Convex if x is affine, or convex and nonnegative.

    See Also
    --------
    abs : The absolute value.
    square : The square.

    Examples
    --------
    >>> import numpy as np
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(2), name="X")
    >>> gm.huber(gm.distance(X, np.eye(2))).is_convex()
    True
    """
    return _apply(Huber(width), x)


def entr(x: Any) -> Expression:
    """Return −x log x, entry by entry.

    Parameters
    ----------
    x : Expression
        Nonnegative.

    Returns
    -------
    Expression
        Concave if x is affine along straight lines.

    See Also
    --------
    log : The natural logarithm.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import PositiveOrthant
    >>> gm.entr(gm.Variable(PositiveOrthant(2))).is_concave("euclidean")
    True
    """
    return _apply(Entropy(), x)
