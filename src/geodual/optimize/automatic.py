"""The interface between `Problem` and libraries for automatic derivatives, such as jax and torch.

A library is an `Engine`. It returns all inequalities as one `JoinedConstraint`, and all equalities as
another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.manifolds.frame import Point, Vector

from .constraint import Constraint, check_function, listed
from .term import Term

Function = Callable[..., Any]


@dataclass(frozen=True)
class Engine:
    """A library that differentiates functions.

    Functions are prepared once, and bound to data each time the data change.

    Attributes
    ----------
    place : callable
        ``place(data)`` returns the data in the form that the library uses.
    prepare : callable
        ``prepare(groups)`` takes the functions by the name of their group: a single "cost", "inequalities"
        and "equalities" if there are any, and the maps of terms. It returns an object whose ``bind(data)``
        returns the arguments of `Problem` for placed data, with each group of constraints as one
        `JoinedConstraint`; "joint", which evaluates all groups together, or None; and "by_data", the
        `DataDerivatives`.
    """

    place: Callable[[Any], Any]
    prepare: Callable[[Mapping[str, Sequence[Function]]], Any]


class Joint(Protocol):
    """The cost f and the vectors of constraints c₁, c₂, … of a problem, evaluated together.

    Weights are a number for the cost, and one vector per vector of constraints.
    """

    def values(self, x: Point) -> tuple[Any, Sequence[Array]]:
        """Return f(x) and all c(x)."""

    def gradient(self, x: Point, a: float, w: Sequence[Array]) -> Vector:
        """Return the gradient of a f + Σ ⟨w, c⟩."""

    def hessian(
        self, x: Point, a: float, w: Sequence[Array], s: Sequence[Array], u: Vector
    ) -> tuple[Vector, Sequence[Array]]:
        """Return the Hessian of a f + Σ ⟨w, c⟩ plus Jᵀ diag(s) J, applied to u, and the slopes J u."""


class DataDerivatives(Protocol):
    """Derivatives of f and of the vectors of constraints c₁, c₂, … with respect to the data of a problem.

    L is the Lagrangian f + Σ ⟨w, c⟩, with one vector of weights w per vector of constraints.
    """

    def tangent(self, x: Point, w: Sequence[Array], direction: Any) -> tuple[Vector, Sequence[Array], float]:
        """Return the derivatives of ∇L(x), of all c(x) and of L(x) along a direction of the data."""

    def cotangent(self, x: Point, w: Sequence[Array], u: Vector, v: Sequence[Array], s: float) -> Any:
        """Return the gradient of ⟨∇L(x), u⟩ + Σ ⟨v, c(x)⟩ + s L(x) with respect to the data."""


class PreparedFunctions:
    """The functions of a problem, prepared by an engine.

    Parameters
    ----------
    engine : Engine
        The library.
    cost : callable
        The cost.
    inequalities, equalities : callable or sequence of callables, optional
        The constraints.
    terms : tuple of Term
        The terms, with plain functions as maps.
    """

    def __init__(
        self, engine: Engine, cost: Any, inequalities: Any, equalities: Any, terms: tuple[Term, ...] = ()
    ) -> None:
        self._place = engine.place
        check_function(cost, "cost")
        groups = {"cost": [cost]}
        for name, functions in (("inequalities", listed(inequalities)), ("equalities", listed(equalities))):
            for k, function in enumerate(functions):
                check_function(function, f"{name}[{k}]")
            if functions:
                groups[name] = functions
        self._terms = terms
        groups |= {map_name(k): [term.map] for k, term in enumerate(terms) if term.map is not None}
        self._prepared = engine.prepare(groups)

    def bound(self, data: Any) -> dict[str, Any]:
        """Return the arguments of `Problem` for the given data, "joint" and "by_data"."""
        arguments: dict[str, Any] = self._prepared.bind(self._place(data))
        terms = [Term(term.function, arguments.pop(map_name(k), None)) for k, term in enumerate(self._terms)]
        return arguments | {"terms": terms}


def map_name(k: int) -> str:
    """Return the name of the group that is the map of the k-th term."""
    return f"terms[{k}].map"


def part_name(name: str, k: int) -> str:
    """Return the name of the k-th function of a group in messages; the map of a term has one of its own."""
    return name if name.endswith(".map") else f"{name}[{k}]"


def called(function: Function, name: str, x: Point, data: Any) -> Any:
    """Call a user's function at a point, with the data if there are any; errors name the function."""
    try:
        return function(x) if data is None else function(x, data)
    except Exception as error:
        arguments = "x" if data is None else "x, data"
        error.add_note(f"`{name}` was called as {name}({arguments}), in double precision.")
        raise


@dataclass(frozen=True, kw_only=True)
class JoinedConstraint(Constraint):
    """A block c = (c₁, …, c_n) of n functions, with derivatives of the whole vector.

    Solvers see one block, so that 200 functions are compiled once and called once. Users see the n functions
    as `parts`, which `Problem.inequalities` and `Problem.equalities` list.

    Parameters
    ----------
    value, jacobian_product, directional, hessian_product, gradients : callable
        The whole vector and its derivatives, as in `Constraint`.
    shapes : callable
        ``shapes(x)`` returns the shape of each function's result; it must not depend on x.
    n_parts : int
        The number n of functions.
    group : int, optional
        The number of the vector among those of a `Joint` and of `DataDerivatives`.
    """

    shapes: Callable[[Point], Sequence[tuple[int, ...]]]
    n_parts: int
    group: int | None = None

    def shape(self, x: Point) -> tuple[int, ...]:
        """Return the shape of the result if there is a single function."""
        (shape,) = self.shapes(x)
        return shape

    @property
    def flat(self) -> Constraint:
        """The block itself, whose values are flat already."""
        return self

    def sizes(self, x: Point) -> list[int]:
        """Return the number of entries of each function."""
        return [math.prod(shape) for shape in self.shapes(x)]

    @cached_property
    def parts(self) -> tuple[Constraint, ...]:
        """The n functions, with derivatives taken from those of the whole vector."""
        if self.n_parts == 1:
            return (self,)
        layout = _Layout(self.sizes)
        return tuple(_part(self, layout, k) for k in range(self.n_parts))


class _Layout:
    """Positions of each function's entries in the whole vector, determined at the first point."""

    def __init__(self, sizes: Callable[[Point], Sequence[int]]) -> None:
        self._sizes = sizes
        self._ends: list[int] = []

    def span(self, x: Point, k: int) -> slice:
        if not self._ends:
            self._ends = np.cumsum([0, *self._sizes(x)]).tolist()
        return slice(self._ends[k], self._ends[k + 1])

    def padded(self, x: Point, k: int, w: Array) -> Array:
        """Return weights for the whole vector that are 0 outside function k."""
        span = self.span(x, k)
        whole = np.zeros(self._ends[-1])
        whole[span] = w
        return whole


def _part(whole: JoinedConstraint, layout: _Layout, k: int) -> Constraint:
    second = whole.hessian_product

    def rows(x: Point, indices: NDArray[np.intp]) -> Sequence[Vector]:
        return whole.rows(x, indices + layout.span(x, k).start)

    return Constraint(
        value=lambda x: whole(x)[layout.span(x, k)],
        jacobian_product=lambda x, w: whole.jacobian_product(x, layout.padded(x, k, w)),
        directional=lambda x, u: whole.derivative(x, u)[layout.span(x, k)],
        hessian_product=None if second is None else lambda x, w, u: second(x, layout.padded(x, k, w), u),
        gradients=rows,
    )
