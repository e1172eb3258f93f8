"""Several constraint functions as one block, which is evaluated and differentiated at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array
from geodual.manifolds.frame import Point, Vector

from .constraint import Constraint


@dataclass(frozen=True, kw_only=True)
class JoinedConstraint(Constraint):
    """A block c = (c₁, …, c_n) made of n functions, whose derivatives are those of the whole vector.

    Solvers see one block, so that 200 functions are compiled once and called once. Users see n functions:
    `parts`, which `Problem.inequalities` and `Problem.equalities` list.

    Parameters
    ----------
    value, jacobian_product, directional, hessian_product, gradients : callable
        The whole vector and its derivatives, as in `Constraint`.
    sizes : callable
        ``sizes(x)`` returns the number of entries of each function; it must not depend on x.
    n_parts : int
        Number n of functions.
    """

    sizes: Callable[[Point], Sequence[int]]
    n_parts: int

    @cached_property
    def parts(self) -> tuple[Constraint, ...]:
        """The n functions, each with derivatives that are parts of those of the whole vector."""
        if self.n_parts == 1:
            return (self,)
        layout = _Layout(self.sizes)
        return tuple(_part(self, layout, k) for k in range(self.n_parts))


class _Layout:
    """Where the entries of each function are in the whole vector, learnt at the first point seen."""

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
