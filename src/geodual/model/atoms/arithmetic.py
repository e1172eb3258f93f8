"""Python's operators: sums, products, powers, matrix products and entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geodual.arrays import Array

from ..atom import Atom, Bilinear, Linear, Tangents
from ..expression import OPERATORS, Application, Constant, Expression, as_expression
from ..facts import Curvature, Facts, Rule, Sign
from .sources import BOYD, KUBO_ANDO, PRODUCTS


class Add(Atom):
    """The sum of its arguments, which have the same shape or are numbers."""

    name = "+"
    by_entries = True

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return next((shape for shape in shapes if shape), ())

    def is_symmetric(self, *symmetric: bool) -> bool:
        return all(symmetric)

    def forward(self, *args: Array) -> tuple[Array, Any]:
        return _total(args), None

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        shape = self.shape(*map(np.shape, args))
        moved = [t for t in tangents if t is not None]
        total = _total(moved)
        return total if np.shape(total) == shape else np.broadcast_to(total, shape)

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return _summed_to(weights, np.shape(args[k]))

    def sign(self, *args: Facts) -> Sign:
        sign = args[0].sign
        for arg in args[1:]:
            sign = sign.plus(arg.sign)
        return sign

    def rules(self, *args: Facts) -> Sequence[Rule]:
        grows = (1,) * len(args)
        rules = [Rule("plain", "plain", Curvature.AFFINE, grows, "a sum")]
        if all(arg.sign.is_nonnegative for arg in args):
            reason = "a sum of geometric means is at most the geometric mean of the sums"
            rules.append(Rule("log", "log", Curvature.CONVEX, grows, reason, KUBO_ANDO))
        return rules

    def rate(self, *args: Facts) -> float | None:
        return largest(arg.rate for arg in args)

    def third(self, *args: Facts) -> float | None:
        return largest(arg.third for arg in args)

    def modulus(self, *args: Facts) -> dict[object, float]:
        total: dict[object, float] = {}
        if all(arg.plain.curvature.is_convex for arg in args):
            for arg in args:
                for variable, m in arg.modulus.items():
                    total[variable] = total.get(variable, 0.0) + m
        return total

    def isometry(self, *args: Facts) -> object:
        moving = [arg for arg in args if not arg.is_constant]
        if len(moving) != 1 or not moving[0].plain.curvature.is_affine:
            return None
        return moving[0].isometry

    def text(self, *args: str) -> str:
        first, *rest = args
        return first + "".join(_plus(text) for text in rest)


def _plus(text: str) -> str:
    if text.startswith("-1 * "):
        return f" - {text[5:]}"
    return f" - {text[1:]}" if text.startswith("-") else f" + {text}"


class Multiply(Bilinear):
    """The product of two arrays, entry by entry, or of a number and an array."""

    name = "*"
    by_entries = True

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return shapes[0] or shapes[1]

    def is_symmetric(self, *symmetric: bool) -> bool:
        return any(symmetric)  # a number times a symmetric matrix; `multiply` rejects two matrices

    def apply(self, a: Array, b: Array) -> Array:
        return np.asarray(a * b)

    def adjoint(self, k: int, other: Array, weights: Array, shape: tuple[int, ...]) -> Array:
        return _summed_to(weights * other, shape)

    def sign(self, *args: Facts) -> Sign:
        return args[0].sign.times(args[1].sign)

    def rules(self, *args: Facts) -> Sequence[Rule]:
        rules = []
        constant = next((arg for arg in args if arg.is_constant), None)
        if constant is not None:
            grows = constant.sign.monotone
            remedy = "Declare the sign of the constant."
            rules.append(
                Rule("plain", "plain", Curvature.AFFINE, (grows, grows), _TIMES[grows], BOYD, remedy)
            )
        if all(arg.sign.is_nonnegative for arg in args):
            reason = "a product of geometric means is the geometric mean of the products"
            rules.append(Rule("log", "log", Curvature.AFFINE, (1, 1), reason, PRODUCTS))
        return rules

    def rate(self, *args: Facts) -> float | None:
        if args[0].rate is None or args[1].rate is None:
            return None
        return args[0].rate + args[1].rate

    def third(self, *args: Facts) -> float | None:
        for constant, other in (args, args[::-1]):
            if constant.is_constant and constant.sign.is_nonnegative:
                return other.third
        return None

    def modulus(self, *args: Facts) -> dict[object, float]:
        for constant, other in (args, args[::-1]):
            if constant.numbers is not None and constant.numbers.ndim == 0 and constant.numbers >= 0.0:
                return {variable: float(constant.numbers) * m for variable, m in other.modulus.items()}
        return {}

    def text(self, *args: str) -> str:
        return f"{_bracketed(args[0])} * {_bracketed(args[1])}"


_TIMES = {
    1: "a product with a nonnegative constant",
    -1: "a product with a nonpositive constant",
    0: "a product with a constant of unknown sign",
}


class Power(Atom):
    """xᵖ, entry by entry, for a constant p."""

    name = "power"

    def __init__(self, p: float) -> None:
        self.p = float(p)

    def forward(self, *args: Array) -> tuple[Array, Any]:
        return np.asarray(args[0] ** self.p), None

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        return np.asarray(self._slope(args[0]) * tangents[0])

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return np.asarray(weights * self._slope(args[0]))

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        bend = self.p * (self.p - 1.0) * args[0] ** (self.p - 2.0) if self.p != 1.0 else 0.0
        return np.asarray(weights * bend * tangents[0])

    def _slope(self, x: Array) -> Array:
        return np.asarray(self.p * x ** (self.p - 1.0))

    def sign(self, *args: Facts) -> Sign:
        sign = args[0].sign
        if sign is Sign.POSITIVE or (sign.is_nonnegative and self.p < 0.0):
            return Sign.POSITIVE
        return Sign.NONNEGATIVE if sign.is_nonnegative or self._even else Sign.UNKNOWN

    @property
    def _even(self) -> bool:
        return self.p > 0.0 and self.p % 2.0 == 0.0

    def rules(self, *args: Facts) -> Sequence[Rule]:
        p, sign, rules = self.p, args[0].sign, []
        if sign.is_nonnegative:
            grows = 1 if p > 0.0 else -1
            reason = "a power of a geometric mean is the geometric mean of the powers"
            rules.append(Rule("log", "log", Curvature.AFFINE, (grows,), reason, PRODUCTS))
            curvature = Curvature.CONCAVE if 0.0 < p < 1.0 else Curvature.CONVEX
            curvature = Curvature.AFFINE if p == 1.0 else curvature
            rules.append(Rule("plain", "plain", curvature, (grows,), f"x^{p:g} for x ≥ 0", BOYD))
        elif self._even:
            rules.append(Rule("plain", "plain", Curvature.CONVEX, (sign.monotone,), f"x^{p:g}", BOYD))
        return rules

    def rate(self, *args: Facts) -> float | None:
        whole = self.p > 0.0 and self.p == int(self.p)
        single = args[0].log.curvature.is_affine  # each entry is and stays one exponential
        return None if args[0].rate is None or not (whole or single) else abs(self.p) * args[0].rate

    def third(self, *args: Facts) -> float | None:
        return 0.0 if self.p == 2.0 and args[0].plain.curvature.is_affine else None

    def text(self, *args: str) -> str:
        return f"{_bracketed(args[0], (' ',))} ** {self.p:g}"


class MatMul(Bilinear):
    """The matrix product."""

    name = "@"
    by_entries = True

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return np.shape(np.empty(shapes[0]) @ np.empty(shapes[1]))

    def apply(self, a: Array, b: Array) -> Array:
        return np.asarray(a @ b)

    def adjoint(self, k: int, other: Array, weights: Array, shape: tuple[int, ...]) -> Array:
        w = np.asarray(weights)
        if k == 0:
            if other.ndim == 1:
                return w * other if len(shape) == 1 else np.outer(w, other)
            return other @ w if len(shape) == 1 else w @ other.T
        if other.ndim == 1:
            return w * other if len(shape) == 1 else np.outer(other, w)
        return other.T @ w

    def sign(self, *args: Facts) -> Sign:
        return args[0].entries.times(args[1].entries)

    def rules(self, *args: Facts) -> Sequence[Rule]:
        constant, other = _constant_first(args)
        if constant is None:
            return ()
        grows = constant.entries.monotone
        rules = [Rule("plain", "plain", Curvature.AFFINE, (grows, grows), "a linear map", BOYD)]
        if grows == 1 and other.entries.is_nonnegative:
            reason = "a sum of geometric means is at most the geometric mean of the sums"
            rules.append(Rule("log", "log", Curvature.CONVEX, (1, 1), reason, KUBO_ANDO))
        return rules

    def rate(self, *args: Facts) -> float | None:
        constant, other = _constant_first(args)
        sums = constant is not None and constant.entries.is_nonnegative
        return other.rate if sums else None

    def third(self, *args: Facts) -> float | None:
        constant, other = _constant_first(args)
        sums = constant is not None and constant.entries.is_nonnegative
        return other.third if sums else None

    def modulus(self, *args: Facts) -> dict[object, float]:
        weights = args[0].numbers
        if weights is None or weights.ndim != 1 or (weights < 0.0).any():
            return {}
        return {variable: float(weights.sum()) * m for variable, m in args[1].modulus.items()}

    def text(self, *args: str) -> str:
        return " @ ".join(_bracketed(text, (" + ", " - ", " * ")) for text in args)


class Entry(Linear):
    """Entries of an array, by an index."""

    name = "[]"
    by_entries = True

    def __init__(self, index: Any) -> None:
        self.index = index

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return np.shape(np.empty(shapes[0])[self.index])

    def apply(self, x: Array) -> Array:
        return np.asarray(x[self.index])

    def adjoint(self, weights: Array, shape: tuple[int, ...]) -> Array:
        whole = np.zeros(shape)
        np.add.at(whole, self.index, weights)
        return whole

    def sign(self, *args: Facts) -> Sign:
        return args[0].entries

    def rules(self, *args: Facts) -> Sequence[Rule]:
        rules = [Rule("plain", "plain", Curvature.AFFINE, (1,), "entries of an array")]
        if args[0].entries.is_nonnegative:
            rules.append(Rule("log", "log", Curvature.AFFINE, (1,), "entries of an array"))
        return rules

    def rate(self, *args: Facts) -> float | None:
        return args[0].rate if args[0].entries.is_nonnegative else None

    def text(self, *args: str) -> str:
        index = self.index if isinstance(self.index, tuple) else (self.index,)
        return f"{_bracketed(args[0], (' ',))}[{', '.join(map(_index_text, index))}]"


class Transpose(Linear):
    """The transpose."""

    name = "T"

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return shapes[0][::-1]

    def apply(self, x: Array) -> Array:
        return np.asarray(x.T)

    def adjoint(self, weights: Array, shape: tuple[int, ...]) -> Array:
        return np.asarray(weights.T)

    def sign(self, *args: Facts) -> Sign:
        return args[0].entries

    def rules(self, *args: Facts) -> Sequence[Rule]:
        return [
            Rule("plain", "plain", Curvature.AFFINE, (1,), "the transpose"),
            Rule("log", "log", Curvature.AFFINE, (1,), "the transpose"),
        ]

    def rate(self, *args: Facts) -> float | None:
        return args[0].rate

    def text(self, *args: str) -> str:
        return f"{_bracketed(args[0], (' ',))}.T"


def _constant_first(args: Sequence[Facts]) -> tuple[Facts | None, Facts]:
    """Return the constant factor first, if there is one, then the other."""
    if args[0].is_constant:
        return args[0], args[1]
    return (args[1] if args[1].is_constant else None), args[0]


def add(*terms: Any) -> Expression:
    """Return a sum; nested sums are flattened."""
    parts: list[Expression] = []
    for part in map(as_expression, terms):
        parts.extend(part.args if isinstance(part.atom, Add) else [part])
    shapes = {part.shape for part in parts if part.shape}
    if len(shapes) > 1:
        raise ValueError(f"A sum needs terms of equal shape, got {' and '.join(map(str, sorted(shapes)))}.")
    if any(part.symmetric for part in parts) and any(part.shape == () for part in parts):
        raise ValueError("Add a multiple of numpy.eye(n) or numpy.ones((n, n)) to a matrix, not a number.")
    moving = [
        part for part in parts if not (isinstance(part, Constant) and not part.array.any() and not part.shape)
    ]
    if not moving:
        return Constant(0.0)
    return moving[0] if len(moving) == 1 else Application(Add(), *moving)


def multiply(a: Any, b: Any) -> Expression:
    """Return the product of two expressions, entry by entry, or of a number and an array.

    Parameters
    ----------
    a, b : Expression or array
        The factors, of the same shape, or one of them a number.

    Returns
    -------
    Expression
        The product.

    See Also
    --------
    hadamard : The entrywise product of symmetric matrices.
    kron : The Kronecker product.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import PositiveOrthant
    >>> x = gm.Variable(PositiveOrthant(2), name="x")
    >>> gm.multiply(x, x).is_convex()
    True
    """
    a, b = as_expression(a), as_expression(b)
    if isinstance(b, Constant) and not isinstance(a, Constant):
        a, b = b, a
    if a is b:
        return power(a, 2.0)
    if isinstance(a, Constant) and a.shape == ():
        return _scaled(float(a.array), b)
    if a.shape and b.shape and (a.shape != b.shape or a.symmetric or b.symmetric):
        raise ValueError(
            f"`*` multiplies arrays of the same shape by entries, got {a.shape} and {b.shape}; use `@` for "
            "matrix products and `hadamard` for entries of symmetric matrices."
        )
    return Application(Multiply(), a, b)


def _scaled(factor: float, x: Expression) -> Expression:
    """Return a multiple; for a sum, the sum of the multiples."""
    if isinstance(x, Constant):
        return Constant(factor * x.array)
    if isinstance(x.atom, Add):
        return Application(Add(), *(_scaled(factor, part) for part in x.args))
    if isinstance(x.atom, Multiply) and isinstance(x.args[0], Constant) and x.args[0].shape == ():
        return _scaled(factor * float(x.args[0].array), x.args[1])
    return x if factor == 1.0 else Application(Multiply(), factor, x)


def power(x: Any, p: float) -> Expression:
    """Return xᵖ, entry by entry.

    Parameters
    ----------
    x : Expression
        The base. It must be nonnegative, unless p is a positive integer.
    p : float
        The exponent.

    Returns
    -------
    Expression
        The power.

    See Also
    --------
    square, sqrt : Powers 2 and 0.5.
    trace_power : Powers of the eigenvalues of a matrix.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import PositiveOrthant
    >>> x = gm.Variable(PositiveOrthant(2), name="x")
    >>> gm.sum(gm.power(x, -0.5)).is_convex()
    True
    """
    x, p = as_expression(x), float(p)
    if x.symmetric and x.ndim == 2:
        raise ValueError("Powers act on entries; for matrices use `inv` or `trace_power`.")
    if isinstance(x, Constant):
        return Constant(x.array**p)
    if p == 0.0:
        return Constant(np.ones(x.shape))
    if isinstance(x.atom, Power) and x.args[0].facts().sign.is_nonnegative:
        return power(x.args[0], p * x.atom.p)
    squared = getattr(x.atom, "squared", None)  # for norms and distances: the square has no kink
    if p == 2.0 and squared is not None:
        return Application(squared, *x.args)
    return x if p == 1.0 else Application(Power(p), x)


def transpose(x: Any) -> Expression:
    """Return the transpose."""
    return Application(Transpose(), x)


def largest(numbers: Any) -> float | None:
    """Return the largest number, or None if one of them is None."""
    found = list(numbers)
    return None if any(number is None for number in found) else max(found)


def _total(parts: Sequence[Array]) -> Array:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return np.asarray(total)


def _summed_to(weights: Array, shape: tuple[int, ...]) -> Array:
    """Sum weights of a broadcast array to weights of the original."""
    return np.asarray(weights) if np.shape(weights) == shape else np.asarray(np.sum(weights))


def _bracketed(text: str, loose: Sequence[str] = (" + ", " - ")) -> str:
    """Put a text in brackets if it has one of the operators in `loose` outside of brackets."""
    depth, outside = 0, []
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        outside.append(letter if depth == 0 else "_")
    return f"({text})" if any(operator in "".join(outside) for operator in loose) else text


def _index_text(index: Any) -> str:
    if isinstance(index, slice):
        return f"{'' if index.start is None else index.start}:{'' if index.stop is None else index.stop}"
    return str(index)


OPERATORS.update({"+": add, "*": multiply, "**": power, "T": transpose})
