"""Terms g(c(x)) of a problem: a function with a proximal operator, and a smooth map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import Manifold

from .bounds import all_entries
from .constraint import INSTALL_JAX, Constraint
from .functions import Function, LinearMap, NonPositive, Zero

_METHODS = ("value", "prox", "prox_derivative")


@dataclass(frozen=True, eq=False)
class Term:
    """A term g(c(x)) of the cost: a function g with a proximal operator, applied to a smooth map c.

    The function may have kinks, like norms, or infinite values, like constraints.

    Parameters
    ----------
    function : Function
        g: a function from `geodual.optimize`, such as `L1` or `PositiveSemidefinite`, or your own.
    map : callable or Constraint, optional
        c: a function of x that returns an array of any shape. In `Problem.from_jax` and `Problem.from_torch`,
        it is a plain function, like the cost; otherwise it is a `Constraint`, with its derivatives. Without a
        map, g acts on x itself (on a product: on all entries as one vector).

    Attributes
    ----------
    function, map : object
        As above.
    name : str
        Name of the function.

    See Also
    --------
    Problem : Takes a list of terms.
    Function : Base class of functions; its three methods define your own.
    TermValue : A term at the solution.

    Examples
    --------
    A sparse unit vector close to a given vector:

    >>> import numpy as np
    >>> from geodual.manifolds import Sphere
    >>> from geodual.optimize import L1, Problem, Term, minimize
    >>> a = np.array([3.0, 0.1, 4.0, -0.2])
    >>> problem = Problem(Sphere(4), lambda x: -a @ x, gradient=lambda x: -a, terms=[Term(L1(0.5))])
    >>> result = minimize(problem, np.full(4, 0.5))
    >>> result.terms[0].value.round(4).tolist()
    [0.5812, 0.0, 0.8137, 0.0]
    >>> result.terms[0].support.tolist(), bool(np.abs(result.x - result.terms[0].value).max() < 1e-8)
    ([True, False, True, False], True)
    """

    function: Function
    map: Any = None

    def __post_init__(self) -> None:
        missing = [name for name in _METHODS if not callable(getattr(self.function, name, None))]
        if missing:
            raise TypeError(
                f"The function of a `Term` must have the methods {', '.join(_METHODS)}; "
                f"{type(self.function).__name__} lacks {missing[0]}. See docs/add_a_function.md."
            )
        if not (self.map is None or callable(self.map)):
            raise TypeError(f"The map of a `Term` must be a function of x, got {type(self.map).__name__}.")

    @property
    def name(self) -> str:
        """Name of the function."""
        return type(self.function).__name__


def check_terms(terms: Any) -> tuple[Term, ...]:
    """Return the given terms; raise an error if one of them is not a `Term`."""
    given = () if terms is None else (terms,) if isinstance(terms, Term) else tuple(terms)
    for k, term in enumerate(given):
        if not isinstance(term, Term):
            raise TypeError(f"`terms[{k}]` must be a `Term`, got {type(term).__name__}; write Term(L1(0.1)).")
    return given


def is_constraint(term: Term) -> bool:
    """Return whether a term is c(x) ≤ 0 or c(x) = 0, which solvers treat as a constraint."""
    return type(term.function) in (NonPositive, Zero)


def term_block(term: Term, manifold: Manifold, position: int) -> Constraint:
    """Return the map of a term as a block of constraints with flat values.

    Parameters
    ----------
    term : Term
        The term.
    manifold : Manifold
        The manifold of the problem.
    position : int
        The number of the term, for messages.
    """
    if term.map is None:
        return all_entries(manifold, f"terms[{position}]")
    if not isinstance(term.map, Constraint):
        raise TypeError(
            f"The map of terms[{position}] needs derivatives: pass a `Constraint`, or {INSTALL_JAX}."
        )
    return term.map.flat


@dataclass(frozen=True, eq=False)  # users' functions need not be comparable
class PlacedFunction:
    """A function that acts on a part of the vector of all constraints.

    Attributes
    ----------
    function : Function
        g.
    part : slice
        The part.
    shape : tuple of int
        The shape of z.
    """

    function: Function
    part: slice
    shape: tuple[int, ...]

    @property
    def is_separable(self) -> bool:
        """Whether the function acts on each entry separately."""
        return getattr(self.function, "separable", False)

    def of(self, z: Array) -> Array:
        """Return the part of the whole vector on which the function acts, in its shape."""
        return z[self.part].reshape(self.shape)

    def value(self, z: Array) -> float:
        """Return g(z)."""
        return float(self.function.value(self.of(z)))

    def prox(self, z: Array, t: Array | float) -> Array:
        """Return the prox of t g, where t has one number for all entries."""
        return np.ravel(self.function.prox(self.of(z), self._step(t)))

    def prox_derivative(self, z: Array, t: Array | float) -> LinearMap:
        """Return the derivative of the prox, as a function of a flat direction."""
        derivative = self.function.prox_derivative(self.of(z), self._step(t))
        return lambda u: np.ravel(derivative(self.of(u)))

    def _step(self, t: Array | float) -> float:
        return float(t[self.part.start]) if isinstance(t, np.ndarray) and t.ndim else float(t)
