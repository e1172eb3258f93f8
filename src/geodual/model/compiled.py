"""A form with its derivatives, as a problem that `minimize` solves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import Manifold, Product
from geodual.manifolds.frame import Point, Vector
from geodual.optimize import Constraint as Block
from geodual.optimize import Problem, Term

from .expression import Expression, Leaf, Variable
from .form import Form
from .graph import Evaluation, Graph

_KEPT = 3  # points: the iterate of a solver, a trial point, and one more for differences


class Compiled:
    """Computes all functions of a form together, and keeps what it computed at the last few points.

    Parameters
    ----------
    form : Form
        The functions.
    variables : sequence of Variable
        The unknowns. One is a point by itself; several are a dictionary by name.

    Attributes
    ----------
    manifold : Manifold
        Where the point lies.
    """

    def __init__(self, form: Form, variables: Sequence[Variable]) -> None:
        self.form, self.variables = form, list(variables)
        maps = [expression for _, expression in form.terms]
        groups: list[list[Expression]] = [
            [form.cost],
            form.inequalities,
            form.equalities,
            *([m] for m in maps),
        ]
        self._graph = Graph([output for group in groups for output in group], self.variables)
        ends = np.cumsum([len(group) for group in groups])
        self._groups = [range(end - len(group), end) for end, group in zip(ends, groups, strict=True)]
        self._shapes = [output.shape for group in groups for output in group]
        graph = self._graph
        # Parameters keep these values: what is known at a point must not mix two of them.
        self._leaves = {k: held_value(graph.nodes[k]) for k in graph.other_leaves()}
        self._known: dict[bytes, Evaluation] = {}

    @property
    def manifold(self) -> Manifold:
        """Where the point lies."""
        if len(self.variables) == 1:
            return self.variables[0].manifold
        return Product({variable.name: variable.manifold for variable in self.variables})

    def problem(self, *, convex: bool) -> Problem:
        """Return the problem for `minimize`; `convex` says that it is proved along geodesics."""
        form = self.form
        return Problem(
            self.manifold,
            cost=lambda x: float(self.at(x).outputs()[0]),
            gradient=lambda x: self.gradient(x, {0: np.ones(())}),
            hessian_product=lambda x, u: self.hessian_product(x, {0: np.ones(())}, u),
            inequalities=[self._block(1)] if form.inequalities else None,
            equalities=[self._block(2)] if form.equalities else None,
            terms=[Term(g, self._block(3 + k, flat=False)) for k, (g, _) in enumerate(form.terms)] or None,
            geodesically_convex=convex,
        )

    def _block(self, group: int, flat: bool = True) -> Block:
        """Return a group of outputs as a block of constraints."""
        places = self._groups[group]
        sizes = [int(np.prod(self._shapes[k], dtype=int)) for k in places]
        ends = np.cumsum(sizes)

        def joined(parts: list[Array]) -> Array:
            chosen = [parts[k] for k in places]
            return np.concatenate([np.ravel(part) for part in chosen]) if flat else np.asarray(chosen[0])

        def split(w: Array) -> dict[int, Array]:
            parts = (np.ravel(w)[end - size : end] for end, size in zip(ends, sizes, strict=True))
            return {k: part.reshape(self._shapes[k]) for k, part in zip(places, parts, strict=True)}

        return Block(
            value=lambda x: joined(self.at(x).outputs()),
            jacobian_product=lambda x, w: self.gradient(x, split(w)),
            directional=lambda x, u: joined(self.at(x).along(self.parts(u))),
            hessian_product=lambda x, w, u: self.hessian_product(x, split(w), u),
        )

    def gradient(self, x: Point, weights: dict[int, Array]) -> Vector:
        """Return the Euclidean gradient of a weighted sum of outputs, given by their places."""
        return self.made(self.at(x).gradient(self._spread(weights)))

    def hessian_product(self, x: Point, weights: dict[int, Array], u: Vector) -> Vector:
        """Return the Euclidean Hessian of a weighted sum of outputs, applied to a direction."""
        return self.made(self.at(x).hessian_product(self._spread(weights), self.parts(u)))

    def at(self, x: Point) -> Evaluation:
        """Return the values of all outputs at a point, computed once."""
        parts = self.parts(x)
        key = b"|".join(part.tobytes() for part in parts)
        if key not in self._known:
            while len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]
            self._known[key] = self._graph.at([np.array(part) for part in parts], self._leaves)
        return self._known[key]

    def parts(self, x: Any) -> list[Array]:
        """Return a point or vector as a list of arrays, one per variable."""
        if len(self.variables) == 1:
            return [np.asarray(x)]
        return [np.asarray(x[variable.name]) for variable in self.variables]

    def made(self, parts: list[Array]) -> Any:
        """Return a list of arrays, one per variable, as a point or vector."""
        if len(self.variables) == 1:
            return parts[0]
        return {variable.name: part for variable, part in zip(self.variables, parts, strict=True)}

    def _spread(self, weights: dict[int, Array]) -> list[Array | None]:
        return [weights.get(k) for k in range(len(self._shapes))]


def held_value(leaf: Leaf) -> Array:
    """Return the value of a constant or parameter."""
    if leaf.held is None:
        raise ValueError(f"The parameter {leaf.name} has no value; set `value` before solving.")
    return leaf.held
