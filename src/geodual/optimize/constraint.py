"""Blocks of constraints with their derivatives, and how they are built from the user's functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from reprlib import repr as brief
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.manifolds import NoLogarithmError, NotOnManifoldError
from geodual.manifolds.frame import Point, Vector

from .trees import pairing, scaled

INSTALL_JAX = "write it with jax.numpy and use Problem.from_jax (pip install 'geodual[jax]')"
UNDEFINED = (np.linalg.LinAlgError, NotOnManifoldError, NoLogarithmError)
"""Errors raised by functions and manifolds where they are not defined. Solvers reject such points."""

A_CONDITION = (
    "{} returns truth values such as True, but must return numbers: ≤ 0 (or 0, for equalities) where the "
    "constraint holds; return x - 1 instead of x <= 1."
)


@dataclass(frozen=True)
class Constraint:
    """A block of m constraints c(x) ∈ Rᵐ with its Euclidean derivatives, for `Problem`.

    Use it to pass more derivatives than `jacobian_product`; this makes solves with many constraints faster.

    Parameters
    ----------
    value : callable
        ``value(x)`` returns c(x), an array of shape (m,) or one number.
    jacobian_product : callable
        ``jacobian_product(x, w)`` returns Σₖ wₖ ∇cₖ(x), with the structure of a point; w has shape (m,).
    directional : callable, optional
        ``directional(x, u)`` returns Dc(x)[u], of shape (m,). Without it, the m gradients are formed one by
        one.
    hessian_product : callable, optional
        ``hessian_product(x, w, u)`` returns Σₖ wₖ ∇²cₖ(x)[u]. Without it, finite differences of gradients are
        used.
    gradients : callable, optional
        ``gradients(x, indices)`` returns the list of ∇cₖ(x) for k in `indices`. Pass it if that is cheaper
        than one `jacobian_product` per gradient.

    See Also
    --------
    Problem : Takes constraints as `inequalities` and `equalities`.
    check_gradient : Checks all these derivatives.

    Examples
    --------
    A x ≤ b on flat space; calling the block returns its values:

    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> from geodual.optimize import Constraint, Problem, minimize
    >>> A, b = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([1.0, 3.0])
    >>> below = Constraint(lambda x: A @ x - b, lambda x, w: A.T @ w, directional=lambda x, u: A @ u)
    >>> below(np.zeros(2)).tolist()
    [-1.0, -3.0]
    >>> problem = Problem(Euclidean(2), lambda x: (x - 3.0) @ (x - 3.0), gradient=lambda x: 2.0 * (x - 3.0),
    ...                   inequalities=below)
    >>> np.round(minimize(problem, np.zeros(2)).x, 6).tolist()
    [1.0, 2.0]
    """

    value: Callable[[Point], Any]
    jacobian_product: Callable[[Point, Array], Vector]
    directional: Callable[[Point, Vector], Any] | None = None
    hessian_product: Callable[[Point, Array, Vector], Vector] | None = None
    gradients: Callable[[Point, NDArray[np.intp]], Sequence[Vector]] | None = None

    def __call__(self, x: Point) -> Array:
        """Return c(x) as a vector."""
        return as_vector(self.value(x))

    def derivative(self, x: Point, u: Vector) -> Array:
        """Return Dc(x)[u], by `directional` if given."""
        if self.directional is not None:
            return as_vector(self.directional(x, u))
        rows = self.rows(x, np.arange(len(self(x))))
        return np.array([pairing(row, u) for row in rows])

    def rows(self, x: Point, indices: NDArray[np.intp]) -> Sequence[Vector]:
        """Return the gradients of the given entries, by `gradients` if given."""
        if self.gradients is not None:
            return self.gradients(x, indices)
        size = len(self(x))
        # A unit vector of weights selects one gradient. It is copied, because all gradients are kept, and a
        # function may return the same memory each time.
        return [scaled(1.0, self.jacobian_product(x, _unit(size, k))) for k in indices]

    def shape(self, x: Point) -> tuple[int, ...]:
        """Return the shape of the values: a vector, or any array if the block is the map of a `Term`."""
        return np.shape(self.value(x))

    @property
    def flat(self) -> Constraint:
        """The block with its values as a vector; the map of a `Term` may return an array of any shape."""
        return flattened(self)

    @property
    def parts(self) -> tuple[Constraint, ...]:
        """The functions joined in the block: itself, unless automatic derivatives joined several."""
        return (self,)


@dataclass(frozen=True, kw_only=True)
class FlatConstraint(Constraint):
    """A block whose values are arrays, flattened to vectors.

    Parameters
    ----------
    value, jacobian_product, directional, hessian_product, gradients : callable
        The vector and its derivatives, as in `Constraint`.
    original_shape : callable
        ``original_shape(x)`` returns the shape before flattening.
    """

    original_shape: Callable[[Point], tuple[int, ...]]

    def shape(self, x: Point) -> tuple[int, ...]:
        """Return the shape of the values before they were flattened."""
        return self.original_shape(x)


def flattened(block: Constraint) -> FlatConstraint:
    """Return a block with vectors in place of values and weights of any shape."""
    seen: list[tuple[int, ...]] = []  # determined at the first point

    def shape(x: Point) -> tuple[int, ...]:
        if not seen:
            seen.append(np.shape(block.value(x)))
        return seen[0]

    along, second = block.directional, block.hessian_product
    return FlatConstraint(
        value=lambda x: np.ravel(block.value(x)),
        jacobian_product=lambda x, w: block.jacobian_product(x, w.reshape(shape(x))),
        directional=None if along is None else lambda x, u: np.ravel(along(x, u)),
        hessian_product=None if second is None else lambda x, w, u: second(x, w.reshape(shape(x)), u),
        gradients=block.gradients,
        original_shape=shape,
    )


def _unit(size: int, k: int) -> Array:
    unit = np.zeros(size)
    unit[k] = 1.0
    return unit


def as_vector(values: Any) -> Array:
    """Return the values of a constraint as a new vector; a number becomes a vector of one entry."""
    try:
        vector = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"A constraint must return numbers, got {brief(values)}; return a vector.") from None
    if vector.ndim > 1:
        raise ValueError(
            f"A constraint must return a number or a vector, got an array of shape {vector.shape}; "
            "flatten it with numpy.ravel, in its derivatives too."
        )
    return vector if vector.ndim else vector.reshape(1)


def as_cost(value: Any) -> float:
    """Return the value of a cost as a float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"The cost must be a number, got {brief(value)}; check cost(x).") from None


def listed(functions: Any) -> list[Any]:
    """Return a list of functions and blocks, given None, a single one, or a sequence."""
    if functions is None:
        return []
    return list(functions) if isinstance(functions, Sequence) else [functions]


def check_function(function: Any, name: str) -> None:
    """Raise a `TypeError` unless an argument is a function."""
    if not callable(function):
        raise TypeError(f"`{name}` must be a function, got {type(function).__name__}; write it with def.")


def blocks_of(functions: Any, products: Any, name: str, product_name: str) -> tuple[Constraint, ...]:
    """Combine functions and their derivatives into blocks; blocks stay as they are.

    Parameters
    ----------
    functions : callable, Constraint or sequence of them, or None
        The constraints.
    products : callable or sequence of callables, or None
        One ``jacobian_product`` per plain function, in order.
    name, product_name : str
        The user's names for both.

    Returns
    -------
    tuple of Constraint
        One block per function or block.
    """
    blocks, derivatives = listed(functions), listed(products)
    plain = [block for block in blocks if not isinstance(block, Constraint)]
    if len(derivatives) != len(plain):
        raise ValueError(
            f"`{product_name}` must hold one function per plain function in `{name}` ({len(plain)}), "
            f"got {len(derivatives)}. Give (x, w) -> the sum of w_k times the gradient of entry k, or "
            f"{INSTALL_JAX}."
        )
    for function in plain:
        check_function(function, name)
    for function in derivatives:
        check_function(function, product_name)
    # A `Constraint` has its own derivatives; plain functions take theirs in order.
    remaining = iter(derivatives)
    return tuple(b if isinstance(b, Constraint) else Constraint(b, next(remaining)) for b in blocks)


def parts_of(blocks: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """Return the functions joined in the blocks."""
    return tuple(part for block in blocks for part in block.parts)
