"""What is to be solved: min f(x) over a manifold, subject to h(x) ≤ 0 and g(x) = 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.manifolds import Manifold, as_manifold
from geodual.manifolds.base import Point, Vector

from .ambient import pairing

_INSTALL_JAX = "write it with jax.numpy and use Problem.from_jax (pip install 'geodual[jax]')"


@dataclass(frozen=True)
class Constraint:
    """A vector-valued constraint c(x) ∈ Rᵐ with the products of its Euclidean derivatives.

    Parameters
    ----------
    value : callable
        ``value(x)`` gives c(x), an array of m numbers (or one number).
    jacobian_product : callable
        ``jacobian_product(x, w)`` gives Σₖ wₖ ∇cₖ(x), which has the structure of a point.
    directional : callable, optional
        ``directional(x, u)`` gives Dc(x)[u], m numbers. Without it the m gradients are formed one by one.
    hessian_product : callable, optional
        ``hessian_product(x, w, u)`` gives Σₖ wₖ ∇²cₖ(x)[u]. Without it gradients are differenced.
    gradients : callable, optional
        ``gradients(x, indices)`` gives the list of ∇cₖ(x) for the given k, where that is cheaper than one
        `jacobian_product` each.
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
        """Return Dc(x)[u], by `directional` where it is given."""
        if self.directional is not None:
            return _as_vector(self.directional(x, u))
        rows = self.rows(x, np.arange(len(self(x))))
        return np.array([pairing(row, u) for row in rows])

    def rows(self, x: Point, indices: NDArray[np.intp]) -> Sequence[Vector]:
        """Return the gradients of some entries, by `gradients` where it is given."""
        if self.gradients is not None:
            return self.gradients(x, indices)
        return [self.jacobian_product(x, unit) for unit in np.eye(len(self(x)))[indices]]


class Problem:
    """Minimise f(x) over a manifold subject to h(x) ≤ 0 and g(x) = 0.

    All derivatives are Euclidean, with the structure of a point; the manifold converts them.

    Parameters
    ----------
    manifold : Manifold
        Where x lives; a pymanopt manifold is adapted.
    cost : callable
        ``cost(x)`` gives f(x).
    gradient : callable
        ``gradient(x)`` gives the Euclidean gradient of f.
    hessian_product : callable, optional
        ``hessian_product(x, u)`` gives ∇²f(x)[u]. Without it gradients are differenced.
    inequalities : callable, Constraint or sequence of them, optional
        h: each block gives a vector, all of whose entries must be ≤ 0.
    jacobian_product : callable or sequence of callables, optional
        For inequalities given as plain functions: ``jacobian_product(x, w)`` gives Σₖ wₖ ∇hₖ(x).
    equalities : callable, Constraint or sequence of them, optional
        g: all entries must be 0.
    equality_jacobian_product : callable or sequence of callables, optional
        For equalities given as plain functions, as `jacobian_product`.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.manifolds import SPD
    >>> problem = Problem(
    ...     SPD(3),
    ...     cost=lambda x: -np.linalg.slogdet(x)[1],
    ...     gradient=lambda x: -np.linalg.inv(x),
    ...     inequalities=lambda x: np.trace(x) - 6.0,
    ...     jacobian_product=lambda x, w: w[0] * np.eye(3),
    ... )
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

        Functions are compiled and run in double precision. The distance of SPD matrices and other functions
        of eigenvalues have NaN second derivatives at repeated eigenvalues under automatic differentiation;
        use `geodual.optimize.autodiff.spd_half_squared_distance` there.

        Parameters
        ----------
        manifold : Manifold
            Where x lives.
        cost : callable
            ``cost(x)`` gives a scalar.
        inequalities, equalities : callable or sequence of callables, optional
            Each gives a vector (or a scalar).

        Returns
        -------
        Problem
        """
        try:
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
        """All constraint blocks, the inequalities first."""
        return self.inequalities + self.equalities


def _as_vector(values: Any) -> Array:
    vector = np.asarray(values, dtype=float)
    if vector.ndim > 1:
        raise ValueError(
            f"A constraint must give a number or a vector, got an array of shape {vector.shape}."
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
            f"`{product_name}` must hold one function for each plain function in `{name}` ({len(plain)}), "
            f"got {len(derivatives)}: (x, w) -> the sum of w_k times the gradient of entry k. Or "
            f"{_INSTALL_JAX}."
        )
    remaining = iter(derivatives)
    return tuple(b if isinstance(b, Constraint) else Constraint(b, next(remaining)) for b in blocks)
