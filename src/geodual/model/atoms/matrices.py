"""Linear functions of symmetric matrices, and their inverse and determinant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geodual.arrays import Array

from ..atom import Atom, Bilinear, Linear, Tangents
from ..expression import OPERATORS, Application, Constant, Expression, as_expression
from ..facts import Curvature, Facts, Rule, Sign
from .arithmetic import Entry, MatMul
from .elementwise import exp
from .sources import ANDO, BHATIA, BOYD, KUBO_ANDO

_POSITIVE_MAP = "a positive linear map Φ has Φ(A #ₜ B) ≼ Φ(A) #ₜ Φ(B)"


class Trace(Linear):
    """The trace."""

    name = "trace"

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return ()

    def apply(self, x: Array) -> Array:
        return np.asarray(np.trace(x))

    def adjoint(self, weights: Array, shape: tuple[int, ...]) -> Array:
        return float(weights) * np.eye(shape[0])

    def sign(self, *args: Facts) -> Sign:
        return args[0].sign

    def rules(self, *args: Facts) -> Sequence[Rule]:
        rules = [Rule("plain", "plain", Curvature.AFFINE, (1,), "the trace is linear and grows", BOYD)]
        if args[0].sign.is_nonnegative:
            rules.append(Rule("log", "log", Curvature.CONVEX, (1,), _POSITIVE_MAP, ANDO))
        return rules

    def rate(self, *args: Facts) -> float | None:
        return args[0].rate


class Inner(Bilinear):
    """tr(C X) of two symmetric matrices."""

    name = "inner"

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return ()

    def apply(self, a: Array, b: Array) -> Array:
        return np.asarray(np.vdot(a, b))

    def adjoint(self, k: int, other: Array, weights: Array, shape: tuple[int, ...]) -> Array:
        return np.asarray(float(weights) * other)

    def sign(self, *args: Facts) -> Sign:
        sign = args[0].sign.times(args[1].sign)
        for one, other in (args, args[::-1]):
            nonzero = one.numbers is not None and one.numbers.any()
            if sign is Sign.NONNEGATIVE and nonzero and other.sign is Sign.POSITIVE:
                return Sign.POSITIVE
        return sign

    def rules(self, *args: Facts) -> Sequence[Rule]:
        rules = []
        constant = next((arg for arg in args if arg.is_constant), None)
        if constant is not None:
            grows = constant.sign.monotone
            kind = {1: "a positive semidefinite", -1: "a negative semidefinite", 0: "an indefinite"}[grows]
            reason = f"tr(C X) with {kind} C is linear"
            remedy = "A positive semidefinite C would help."
            rules.append(Rule("plain", "plain", Curvature.AFFINE, (grows, grows), reason, BOYD, remedy))
        if all(arg.sign.is_nonnegative for arg in args):
            rules.append(Rule("log", "log", Curvature.CONVEX, (1, 1), _POSITIVE_MAP, ANDO))
        return rules

    def rate(self, *args: Facts) -> float | None:
        return None if args[0].rate is None or args[1].rate is None else args[0].rate + args[1].rate

    def text(self, *args: str) -> str:
        return f"trace({args[0]} @ {args[1]})"


class Congruence(Atom):
    """A X Aᵀ for a symmetric matrix X."""

    name = "congruence"

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        a, x = shapes
        if len(a) != 2 or len(x) != 2 or a[1] != x[0]:
            raise ValueError(f"A X Aᵀ needs matrices of matching sizes, got {a} and {x}.")
        return (a[0], a[0])

    def is_symmetric(self, *symmetric: bool) -> bool:
        return True

    def forward(self, *args: Array) -> tuple[Array, Any]:
        a, x = args
        return _symmetric(a @ x @ a.T), None

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        (a, x), (ta, tx) = args, tangents
        total = np.zeros((len(a), len(a)))
        if tx is not None:
            total = total + a @ tx @ a.T
        if ta is not None:
            total = total + ta @ x @ a.T + a @ x @ ta.T
        return total

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        a, x = args
        return np.asarray(a.T @ weights @ a if k == 1 else (weights + weights.T) @ a @ x)

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        (a, x), (ta, tx) = args, tangents
        if k == 1:
            return None if ta is None else np.asarray(ta.T @ weights @ a + a.T @ weights @ ta)
        moved = (0.0 if ta is None else ta @ x) + (0.0 if tx is None else a @ tx)
        return np.asarray((weights + weights.T) @ moved)

    def sign(self, *args: Facts) -> Sign:
        kept = args[1].sign
        if kept is Sign.UNKNOWN or _row_rank_is_full(args[0]):
            return kept
        return Sign.NONNEGATIVE if kept.is_nonnegative else Sign.NONPOSITIVE

    def rules(self, *args: Facts) -> Sequence[Rule]:
        if not args[0].is_constant:
            return ()
        rules = [Rule("plain", "plain", Curvature.AFFINE, (0, 1), "A X Aᵀ is linear in X and grows", BOYD)]
        if args[1].sign.is_nonnegative:
            if _is_invertible(args[0]):
                reason = "A (X #ₜ Y) Aᵀ = (A X Aᵀ) #ₜ (A Y Aᵀ) for invertible A"
                rules.append(Rule("log", "log", Curvature.AFFINE, (0, 1), reason, BHATIA))
            else:
                rules.append(Rule("log", "log", Curvature.CONVEX, (0, 1), _POSITIVE_MAP, ANDO))
        return rules

    def rate(self, *args: Facts) -> float | None:
        return args[1].rate if args[0].is_constant else None

    def text(self, *args: str) -> str:
        return f"{args[0]} @ {args[1]} @ {args[0]}.T"


class QuadForms(Atom):
    """vᵢᵀ X vᵢ for the rows vᵢ of a matrix, or vᵀ X v for one vector."""

    name = "quad_form"

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        v, x = shapes
        if len(x) != 2 or v[-1:] != x[:1] or len(v) not in (1, 2):
            raise ValueError(f"vᵀ X v needs a vector and a matrix of matching sizes, got {v} and {x}.")
        return v[:-1]

    def forward(self, *args: Array) -> tuple[Array, Any]:
        v, x = args
        image = v @ x
        return np.asarray(np.sum(image * v, axis=-1)), image

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        (v, _), (tv, tx) = args, tangents
        total: Any = 0.0
        if tx is not None:
            total = total + np.sum((v @ tx) * v, axis=-1)
        if tv is not None:
            total = total + 2.0 * np.sum(memo * tv, axis=-1)
        return np.asarray(total)

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        v = args[0]
        w = np.asarray(weights)[..., None]
        return np.asarray(2.0 * w * memo if k == 0 else _outer(w * v, v))

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        (v, x), (tv, tx) = args, tangents
        w = np.asarray(weights)[..., None]
        if k == 1:
            if tv is None:
                return None
            half = _outer(w * tv, v)
            return np.asarray(half + half.T)
        moved = (0.0 if tv is None else tv @ x) + (0.0 if tx is None else v @ tx)
        return np.asarray(2.0 * w * moved)

    def sign(self, *args: Facts) -> Sign:
        v, sign = args[0].numbers, args[1].sign
        if sign is Sign.UNKNOWN or (v is not None and (v != 0.0).any(axis=-1).all()):
            return sign
        return Sign.NONNEGATIVE if sign.is_nonnegative else Sign.NONPOSITIVE

    def rules(self, *args: Facts) -> Sequence[Rule]:
        v, x = args
        if v.is_constant:
            rules = [
                Rule("plain", "plain", Curvature.AFFINE, (0, 1), "vᵀ X v is linear in X and grows", BOYD)
            ]
            if x.sign.is_nonnegative:
                rules.append(Rule("log", "log", Curvature.CONVEX, (0, 1), _POSITIVE_MAP, ANDO))
            return rules
        if x.is_constant and x.sign is not Sign.UNKNOWN:
            curvature = Curvature.CONVEX if x.sign.is_nonnegative else Curvature.CONCAVE
            return [Rule("plain", "plain", curvature, (0, 0), "a quadratic form", BOYD)]
        return ()

    def rate(self, *args: Facts) -> float | None:
        return args[1].rate if args[0].is_constant else None

    def third(self, *args: Facts) -> float | None:
        quadratic = args[1].is_constant and args[1].sign.is_nonnegative
        return 0.0 if quadratic and args[0].plain.curvature.is_affine else None


class Inverse(Atom):
    """The inverse of a positive definite matrix."""

    name = "inv"

    def is_symmetric(self, *symmetric: bool) -> bool:
        return True

    def forward(self, *args: Array) -> tuple[Array, Any]:
        inverse = _inverse(args[0])
        return inverse, inverse

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        return -memo @ tangents[0] @ memo  # type: ignore[no-any-return]

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return -memo @ weights @ memo  # type: ignore[no-any-return]

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        half = memo @ tangents[0] @ memo @ (0.5 * (weights + weights.T)) @ memo
        return np.asarray(half + half.T)

    def sign(self, *args: Facts) -> Sign:
        return Sign.POSITIVE

    def rules(self, *args: Facts) -> Sequence[Rule]:
        if not args[0].sign.is_nonnegative:
            return ()
        reason = "(A #ₜ B)⁻¹ = A⁻¹ #ₜ B⁻¹, and the inverse falls"
        return [Rule("log", "log", Curvature.AFFINE, (-1,), reason, BHATIA)]

    def rate(self, *args: Facts) -> float | None:
        return args[0].rate if args[0].log.curvature.is_affine else None


class LogDet(Atom):
    """The logarithm of the determinant of a positive definite matrix."""

    name = "log_det"

    def __init__(self, size: int) -> None:
        self.size = size

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return ()

    def forward(self, *args: Array) -> tuple[Array, Any]:
        factor = np.linalg.cholesky(args[0])
        return np.asarray(2.0 * np.sum(np.log(np.diagonal(factor)))), _inverse(args[0])

    def tangent(self, args: Sequence[Array], memo: Any, tangents: Tangents) -> Array:
        return np.asarray(np.sum(memo * tangents[0]))

    def pullback(self, k: int, args: Sequence[Array], memo: Any, weights: Array) -> Array:
        return np.asarray(float(weights) * memo)

    def second(
        self, k: int, args: Sequence[Array], memo: Any, tangents: Tangents, weights: Array
    ) -> Array | None:
        return np.asarray(-float(weights) * (memo @ tangents[0] @ memo))

    def rules(self, *args: Facts) -> Sequence[Rule]:
        if not args[0].sign.is_nonnegative:
            return ()
        reason = "log det(A #ₜ B) = (1 − t) log det A + t log det B, and it grows"
        return [Rule("log", "plain", Curvature.AFFINE, (1,), reason, BHATIA)]

    def third(self, *args: Facts) -> float | None:
        # A determinant is a positive sum of exponentials; each rate is a sum of as many rates as there are
        # rows.
        return None if args[0].rate is None else 2.0 * self.size * args[0].rate


class MatrixProduct(Bilinear):
    """A product of symmetric matrices that is positive, and increasing in each, if both are positive."""

    log_rule: Rule

    def is_symmetric(self, *symmetric: bool) -> bool:
        return all(symmetric)

    def sign(self, *args: Facts) -> Sign:
        return args[0].sign.times(args[1].sign)

    def rules(self, *args: Facts) -> Sequence[Rule]:
        rules = []
        constant = next((arg for arg in args if arg.is_constant), None)
        if constant is not None:
            grows = constant.sign.monotone
            rules.append(Rule("plain", "plain", Curvature.AFFINE, (grows, grows), "a linear map", BOYD))
        return [*rules, self.log_rule] if all(arg.sign.is_nonnegative for arg in args) else rules

    def rate(self, *args: Facts) -> float | None:
        return None if args[0].rate is None or args[1].rate is None else args[0].rate + args[1].rate


class Hadamard(MatrixProduct):
    """The product of two symmetric matrices, entry by entry."""

    name = "hadamard"
    log_rule = Rule("log", "log", Curvature.CONVEX, (1, 1), "(A #ₜ B) ∘ (C #ₜ D) ≼ (A ∘ C) #ₜ (B ∘ D)", ANDO)

    def apply(self, a: Array, b: Array) -> Array:
        return np.asarray(a * b)

    def adjoint(self, k: int, other: Array, weights: Array, shape: tuple[int, ...]) -> Array:
        return np.asarray(weights * other)


class Kronecker(MatrixProduct):
    """The Kronecker product of two symmetric matrices."""

    name = "kron"
    log_rule = Rule(
        "log", "log", Curvature.AFFINE, (1, 1), "(A #ₜ B) ⊗ (C #ₜ D) = (A ⊗ C) #ₜ (B ⊗ D)", KUBO_ANDO
    )

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        size = shapes[0][0] * shapes[1][0]
        return (size, size)

    def apply(self, a: Array, b: Array) -> Array:
        return np.kron(a, b)

    def adjoint(self, k: int, other: Array, weights: Array, shape: tuple[int, ...]) -> Array:
        n, m = (shape[0], len(other)) if k == 0 else (len(other), shape[0])
        blocks = weights.reshape(n, m, n, m)
        return np.asarray(np.einsum("iajb,ab->ij" if k == 0 else "iajb,ij->ab", blocks, other))


class Diagonal(Linear):
    """The diagonal of a matrix."""

    name = "diag"

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return shapes[0][:1]

    def apply(self, x: Array) -> Array:
        return np.diagonal(x).copy()

    def adjoint(self, weights: Array, shape: tuple[int, ...]) -> Array:
        return np.diag(weights)

    def sign(self, *args: Facts) -> Sign:
        return args[0].sign

    def rules(self, *args: Facts) -> Sequence[Rule]:
        rules = [Rule("plain", "plain", Curvature.AFFINE, (1,), "the diagonal is linear and grows", BOYD)]
        if args[0].sign.is_nonnegative:
            rules.append(Rule("log", "log", Curvature.CONVEX, (1,), _POSITIVE_MAP, ANDO))
        return rules

    def rate(self, *args: Facts) -> float | None:
        return args[0].rate


class DiagonalMatrix(Linear):
    """The matrix with a given diagonal."""

    name = "diag"

    def shape(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        return shapes[0] * 2

    def is_symmetric(self, *symmetric: bool) -> bool:
        return True

    def apply(self, x: Array) -> Array:
        return np.diag(x)

    def adjoint(self, weights: Array, shape: tuple[int, ...]) -> Array:
        return np.diagonal(weights).copy()

    def sign(self, *args: Facts) -> Sign:
        return args[0].sign

    def rules(self, *args: Facts) -> Sequence[Rule]:
        rules = [Rule("plain", "plain", Curvature.AFFINE, (1,), "a diagonal matrix", BOYD)]
        if args[0].sign.is_nonnegative:
            reason = "geometric means of diagonal matrices are those of their entries"
            rules.append(Rule("log", "log", Curvature.AFFINE, (1,), reason, BHATIA))
        return rules

    def rate(self, *args: Facts) -> float | None:
        return args[0].rate


def trace(x: Any) -> Expression:
    """Return the trace of a matrix, such as ``trace(C @ X)``.

    Parameters
    ----------
    x : Expression
        A square matrix.

    Returns
    -------
    Expression
        A number. For positive semidefinite C, tr(C X) is log-convex in a positive definite X.

    See Also
    --------
    quad_form : Quadratic forms.
    trace_power : The trace of a power.
    sum : The sum of all entries.

    Examples
    --------
    >>> import numpy as np
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(2), name="X")
    >>> gm.trace(np.diag([1.0, 2.0]) @ X).is_convex(), gm.trace(np.diag([1.0, -2.0]) @ X).is_convex()
    (True, False)
    """
    x = as_expression(x)
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise ValueError(f"The trace needs a square matrix, got the shape {x.shape}.")
    if isinstance(x.atom, MatMul):
        a, b = x.args
        if isinstance(b, Constant) and not isinstance(a, Constant):
            a, b = b, a
        if isinstance(a, Constant) and not a.symmetric and b.symmetric:
            a = Constant(0.5 * (a.array + a.array.T), a.name)  # the rest does not affect tr(C X)
        if a.symmetric and b.symmetric:
            return Application(Inner(), a, b)
    return Application(Trace(), x)


def congruence(x: Any, a: Any) -> Expression:
    """Return A X Aᵀ, the same as ``A @ X @ A.T``.

    Parameters
    ----------
    x : Expression
        X, a symmetric matrix.
    a : array or Parameter
        A.

    Returns
    -------
    Expression
        A symmetric matrix. If A is invertible, geodesics of X are mapped to geodesics.

    See Also
    --------
    quad_form : The same with a vector.

    Examples
    --------
    >>> import numpy as np
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(2), name="X")
    >>> gm.log_det(gm.congruence(X, np.ones((1, 2)))).is_convex()
    True
    """
    x = matrix(x, "congruence")
    return Application(Congruence(), a, x)


def quad_form(v: Any, x: Any) -> Expression:
    """Return vᵀ X v or, for a matrix with rows vᵢ, the vector of all vᵢᵀ X vᵢ.

    Parameters
    ----------
    v : Expression or array
        A vector, or a matrix of row vectors.
    x : Expression or array
        A symmetric matrix.

    Returns
    -------
    Expression
        A number or a vector, log-convex in a positive definite X, and convex in v.

    See Also
    --------
    congruence : The same with a matrix.
    trace : Linear functions of matrices.

    Examples
    --------
    >>> import numpy as np
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(3), name="X")
    >>> tyler = gm.sum(gm.log(gm.quad_form(np.eye(3), gm.inv(X)))) + gm.log_det(X)
    >>> tyler.is_convex()
    True
    """
    return Application(QuadForms(), v, matrix(x, "quad_form"))


def inv(x: Any) -> Expression:
    """Return the inverse of a positive definite matrix.

    Parameters
    ----------
    x : Expression
        A positive definite matrix.

    Returns
    -------
    Expression
        A positive definite matrix.

    See Also
    --------
    log_det, det : The determinant.
    trace_power : The trace of a power, such as −1.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(2), name="X")
    >>> gm.trace(gm.inv(X)).is_convex(), gm.trace(gm.inv(X)).is_convex("euclidean")
    (True, True)
    """
    x = matrix(x, "inv")
    return x.args[0] if isinstance(x.atom, Inverse) else Application(Inverse(), x)


def log_det(x: Any) -> Expression:
    """Return the logarithm of the determinant of a positive definite matrix.

    Parameters
    ----------
    x : Expression
        A positive definite matrix.

    Returns
    -------
    Expression
        A number, affine along geodesics of X and concave along straight lines.

    See Also
    --------
    det : The determinant itself.
    s_divergence : A divergence of two matrices.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(2), name="X")
    >>> gm.log_det(X).is_affine(), gm.log_det(X).is_concave("euclidean")
    (True, True)
    """
    x = matrix(x, "log_det")
    return Application(LogDet(len(x)), x)


def det(x: Any) -> Expression:
    """Return the determinant of a positive definite matrix.

    Parameters
    ----------
    x : Expression
        A positive definite matrix.

    Returns
    -------
    Expression
        A positive number, exp(log_det(x)).

    See Also
    --------
    log_det : Its logarithm.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> gm.det(gm.Variable(SPD(2))).is_convex()
    True
    """
    return exp(log_det(x))


def hadamard(a: Any, b: Any) -> Expression:
    """Return the product of two symmetric matrices, entry by entry.

    Parameters
    ----------
    a, b : Expression or array
        Symmetric matrices of the same size.

    Returns
    -------
    Expression
        A symmetric matrix; positive definite if both are.

    See Also
    --------
    multiply : The entrywise product of other arrays.
    kron : The Kronecker product.

    Examples
    --------
    >>> import numpy as np
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(2), name="X")
    >>> gm.log_det(gm.hadamard(np.eye(2), X)).is_convex()
    True
    """
    a, b = matrix(a, "hadamard"), matrix(b, "hadamard")
    if a.shape != b.shape:
        raise ValueError(f"`hadamard` needs matrices of the same size, got {a.shape} and {b.shape}.")
    return Application(Hadamard(), a, b)


def kron(a: Any, b: Any) -> Expression:
    """Return the Kronecker product of two symmetric matrices.

    Parameters
    ----------
    a, b : Expression or array
        Symmetric matrices.

    Returns
    -------
    Expression
        A symmetric matrix. Geodesics of positive definite factors are mapped to geodesics.

    See Also
    --------
    hadamard : The entrywise product.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X, Y = gm.Variable(SPD(2), name="X"), gm.Variable(SPD(3), name="Y")
    >>> gm.log_det(gm.kron(X, Y)).is_affine()
    True
    """
    return Application(Kronecker(), matrix(a, "kron"), matrix(b, "kron"))


def diag(x: Any) -> Expression:
    """Return the diagonal of a matrix, or the matrix with a given diagonal.

    Parameters
    ----------
    x : Expression
        A matrix or a vector.

    Returns
    -------
    Expression
        A vector or a matrix.

    See Also
    --------
    trace : The sum of the diagonal.

    Examples
    --------
    >>> import geodual.model as gm
    >>> from geodual.manifolds import SPD
    >>> X = gm.Variable(SPD(3), name="X")
    >>> gm.diag(X).shape, gm.diag(gm.diag(X)).shape
    ((3,), (3, 3))
    """
    x = as_expression(x)
    if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[0] != x.shape[1]):
        raise ValueError(f"`diag` needs a vector or a square matrix, got the shape {x.shape}.")
    return Application(DiagonalMatrix() if x.ndim == 1 else Diagonal(), x)


def matmul(a: Any, b: Any) -> Expression:
    """Return a matrix product; A @ X @ A.T of a symmetric X is symmetric."""
    a, b = as_expression(a), as_expression(b)
    if not a.shape or not b.shape or a.shape[-1] != b.shape[0]:
        raise ValueError(f"A matrix product needs matching sizes, got {a.shape} and {b.shape}.")
    if isinstance(a.atom, MatMul) and a.args[1].symmetric and _transposed(a.args[0], b):
        return Application(Congruence(), a.args[0], a.args[1])
    return Application(MatMul(), a, b)


def entry(x: Expression, index: Any) -> Expression:
    """Return entries of an array; diagonal entries of a symmetric matrix become quadratic forms."""
    row, column = index if isinstance(index, tuple) and len(index) == 2 else (None, None)
    if x.symmetric and isinstance(row, (int, np.integer)) and row == column:
        return quad_form(np.eye(len(x))[row], x)
    return Application(Entry(index), x)


def _transposed(a: Expression, b: Expression) -> bool:
    """Return whether b is the transpose of a."""
    if isinstance(a, Constant) and isinstance(b, Constant):
        return a.shape == b.shape[::-1] and bool((a.array == b.array.T).all())
    return b.atom is not None and b.atom.name == "T" and b.args[0] is a


def matrix(x: Any, name: str) -> Expression:
    """Return a symmetric matrix; raise an error that names the function if it is not one."""
    found = as_expression(x)
    if not (found.symmetric and found.ndim == 2):
        raise ValueError(f"`{name}` needs a symmetric matrix, got an expression of shape {found.shape}.")
    return found


def _is_invertible(a: Facts) -> bool:
    return a.numbers is not None and a.numbers.shape[0] == a.numbers.shape[1] and _row_rank_is_full(a)


def _row_rank_is_full(a: Facts) -> bool:
    return a.numbers is not None and np.linalg.matrix_rank(a.numbers) == len(a.numbers)


def _inverse(x: Array) -> Array:
    factor = np.linalg.cholesky(x)  # fails if x is not positive definite, as solvers expect
    half = np.linalg.inv(factor)
    return np.asarray(half.T @ half)


def _symmetric(a: Array) -> Array:
    return np.asarray(0.5 * (a + a.T))


def _outer(a: Array, b: Array) -> Array:
    """Return Σ aᵢ bᵢᵀ over rows, or a bᵀ for two vectors."""
    return np.outer(a, b) if a.ndim == 1 else np.asarray(a.T @ b)


OPERATORS.update({"@": matmul, "[]": entry})
