"""A problem to solve: min f(x) over a manifold, subject to h(x) ≤ 0 and g(x) = 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.manifolds import Manifold, as_manifold
from geodual.manifolds.frame import Point, Vector

from .ambient import pairing

_INSTALL_JAX = "write it with jax.numpy and use Problem.from_jax (pip install 'geodual[jax]')"


@dataclass(frozen=True)
class Constraint:
    """A block of m constraints c(x) ∈ Rᵐ with its Euclidean derivatives, for `Problem`.

    Use it to give more derivatives than `jacobian_product`, which makes solves with many constraints faster.

    Parameters
    ----------
    value : callable
        ``value(x)`` returns c(x), an array of shape (m,) or one number.
    jacobian_product : callable
        ``jacobian_product(x, w)`` returns Σₖ wₖ ∇cₖ(x), with the structure of a point; w has shape (m,).
    directional : callable, optional
        ``directional(x, u)`` returns Dc(x)[u], of shape (m,). Without it the m gradients are formed one by
        one.
    hessian_product : callable, optional
        ``hessian_product(x, w, u)`` returns Σₖ wₖ ∇²cₖ(x)[u]. Without it gradients are differenced.
    gradients : callable, optional
        ``gradients(x, indices)`` returns the list of ∇cₖ(x) for k in `indices`. Give it if that is cheaper
        than one `jacobian_product` per gradient.

    See Also
    --------
    Problem : Takes constraints as `inequalities` and `equalities`.
    check_gradient : Checks all these derivatives.

    Examples
    --------
    A x ≤ b on flat space; calling the block gives its values:

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
        return _as_vector(self.value(x))

    def derivative(self, x: Point, u: Vector) -> Array:
        """Return Dc(x)[u], by `directional` if it is given."""
        if self.directional is not None:
            return _as_vector(self.directional(x, u))
        rows = self.rows(x, np.arange(len(self(x))))
        return np.array([pairing(row, u) for row in rows])

    def rows(self, x: Point, indices: NDArray[np.intp]) -> Sequence[Vector]:
        """Return the gradients of the given entries, by `gradients` if it is given."""
        if self.gradients is not None:
            return self.gradients(x, indices)
        # A unit vector of weights picks out one gradient.
        return [self.jacobian_product(x, unit) for unit in np.eye(len(self(x)))[indices]]


class Problem:
    """The problem to minimise f(x) over a manifold subject to h(x) ≤ 0 and g(x) = 0.

    All derivatives are Euclidean and have the structure of a point; the manifold converts them. Check those
    you wrote by hand with `check_gradient`, or let `Problem.from_jax` derive them.

    Parameters
    ----------
    manifold : Manifold
        The manifold that x lies on; a pymanopt manifold is adapted.
    cost : callable
        ``cost(x)`` returns the number f(x).
    gradient : callable
        ``gradient(x)`` returns the Euclidean gradient of f.
    hessian_product : callable, optional
        ``hessian_product(x, u)`` returns ∇²f(x)[u]. Without it gradients are differenced.
    inequalities : callable, Constraint or sequence of them, optional
        h: each block returns a vector (or a number), all of whose entries must be ≤ 0.
    jacobian_product : callable or sequence of callables, optional
        For inequalities given as plain functions: ``jacobian_product(x, w)`` returns Σₖ wₖ ∇hₖ(x), where w
        has one weight per entry of h.
    equalities : callable, Constraint or sequence of them, optional
        g: all entries must be 0.
    equality_jacobian_product : callable or sequence of callables, optional
        For equalities given as plain functions: ``equality_jacobian_product(x, w)`` returns Σⱼ wⱼ ∇gⱼ(x).

    Attributes
    ----------
    manifold : Manifold
        The manifold.
    inequalities, equalities : tuple of Constraint
        The blocks of constraints; `blocks` has all of them, inequalities first.

    See Also
    --------
    minimize : Solves it.
    check_gradient : Checks its derivatives.
    Constraint : A block of constraints with more derivatives.

    Examples
    --------
    The matrix of determinant 1 that is closest to A in the Frobenius norm:

    >>> import numpy as np
    >>> from geodual.manifolds import SPD
    >>> from geodual.optimize import Problem, minimize
    >>> A = np.diag([4.0, 1.0])
    >>> problem = Problem(
    ...     SPD(2),
    ...     cost=lambda x: 0.5 * np.sum((x - A) ** 2),
    ...     gradient=lambda x: x - A,
    ...     equalities=lambda x: np.linalg.slogdet(x)[1],
    ...     equality_jacobian_product=lambda x, w: w[0] * np.linalg.inv(x),
    ... )
    >>> result = minimize(problem, np.eye(2))
    >>> result.success, round(float(np.linalg.det(result.x)), 6)
    (True, 1.0)
    """

    def __init__(
        self,
        manifold: Manifold | Any,
        cost: Callable[[Point], float],
        gradient: Callable[[Point], Vector] | None = None,
        hessian_product: Callable[[Point, Vector], Vector] | None = None,
        *,
        inequalities: Any = None,
        jacobian_product: Any = None,
        equalities: Any = None,
        equality_jacobian_product: Any = None,
    ) -> None:
        if gradient is None:
            raise ValueError(
                f"`gradient` is missing: give the Euclidean gradient of the cost, or {_INSTALL_JAX}."
            )
        self.manifold = as_manifold(manifold)
        self.cost = cost
        self.gradient = gradient
        self.hessian_product = hessian_product
        self.inequalities = _blocks(inequalities, jacobian_product, "inequalities", "jacobian_product")
        self.equalities = _blocks(
            equalities, equality_jacobian_product, "equalities", "equality_jacobian_product"
        )

    @classmethod
    def from_jax(
        cls,
        manifold: Manifold | Any,
        cost: Callable[[Point], Any],
        *,
        inequalities: Any = None,
        equalities: Any = None,
    ) -> Problem:
        """Build a problem from functions written with `jax.numpy`; all derivatives are automatic.

        Functions are compiled and run in double precision. Functions of eigenvalues, such as the distance
        between SPD matrices, have NaN second derivatives at repeated eigenvalues under automatic
        differentiation; for the distance use `geodual.optimize.autodiff.spd_half_squared_distance`.

        Parameters
        ----------
        manifold : Manifold
            The manifold that x lies on.
        cost : callable
            ``cost(x)`` returns a scalar.
        inequalities, equalities : callable or sequence of callables, optional
            Each returns a vector (or a scalar).

        Returns
        -------
        Problem
            The problem with all first and second derivatives.
        """
        try:  # jax is an extra, and takes long to import
            from .autodiff import constraint_derivatives, cost_derivatives
        except ImportError as error:
            raise ImportError("Problem.from_jax needs jax: pip install 'geodual[jax]'.") from error
        return cls(
            manifold,
            *cost_derivatives(cost),
            inequalities=[Constraint(*constraint_derivatives(h)) for h in _sequence(inequalities)],
            equalities=[Constraint(*constraint_derivatives(g)) for g in _sequence(equalities)],
        )

    @cached_property
    def blocks(self) -> tuple[Constraint, ...]:
        """All constraint blocks, inequalities first."""
        return self.inequalities + self.equalities


def _as_vector(values: Any) -> Array:
    vector = np.asarray(values, dtype=float)
    if vector.ndim > 1:
        raise ValueError(
            f"A constraint must give a number or a vector, got an array of shape {vector.shape}; "
            "flatten it with numpy.ravel, in its derivatives too."
        )
    return vector if vector.ndim else vector.reshape(1)


def _sequence(functions: Any) -> list[Any]:
    if functions is None:
        return []
    return list(functions) if isinstance(functions, Sequence) else [functions]


def _blocks(functions: Any, products: Any, name: str, product_name: str) -> tuple[Constraint, ...]:
    blocks, derivatives = _sequence(functions), _sequence(products)
    plain = [block for block in blocks if not isinstance(block, Constraint)]
    if len(derivatives) != len(plain):
        raise ValueError(
            f"`{product_name}` must hold one function per plain function in `{name}` ({len(plain)}), "
            f"got {len(derivatives)}. Give (x, w) -> the sum of w_k times the gradient of entry k, or "
            f"{_INSTALL_JAX}."
        )
    # A `Constraint` brings its own derivatives; plain functions take theirs in order.
    remaining = iter(derivatives)
    return tuple(b if isinstance(b, Constraint) else Constraint(b, next(remaining)) for b in blocks)
