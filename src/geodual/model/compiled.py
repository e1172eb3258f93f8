"""A form with its derivatives, as a problem for `minimize`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import Manifold, Product
from geodual.manifolds.frame import Point, Vector
from geodual.optimize import Constraint as Block
from geodual.optimize import Problem, Term

from .expression import Expression, Leaf, Parameter, Variable
from .form import Form
from .graph import Evaluation, Graph

_KEPT = 3  # points: a solver's iterate, a trial point, and one more for differences


@dataclass(frozen=True, kw_only=True)
class Group(Block):
    """A group of outputs as one vector.

    Parameters
    ----------
    value, jacobian_product, directional, hessian_product, gradients : callable
        The vector and its derivatives.
    group : int
        Its number among the vectors whose derivatives by parameters are taken.
    array_shape : tuple of int
        Shape of the values as an array, for the map of a term.
    """

    group: int
    array_shape: tuple[int, ...]

    def shape(self, x: Point) -> tuple[int, ...]:
        """Return the shape of the values as an array."""
        return self.array_shape

    @property
    def flat(self) -> Block:
        """The block itself, whose values are a vector."""
        return self


class Compiled:
    """Compute all functions of a form together, and cache the last few points.

    It also computes the derivatives of all functions with respect to parameters, the data of the problem.

    Parameters
    ----------
    form : Form
        The functions.
    variables : sequence of Variable
        The unknowns. A single variable is the point itself; several are a dictionary by name.
    data : mapping, optional
        The values of parameters by name; by default the current ones.

    Attributes
    ----------
    manifold : Manifold
        Where the point lies.
    """

    def __init__(
        self, form: Form, variables: Sequence[Variable], data: Mapping[str, Any] | None = None
    ) -> None:
        self.form, self.variables = form, list(variables)
        maps = [expression for _, expression in form.terms]
        groups: list[list[Expression]] = [
            [form.cost],
            form.inequalities,
            form.equalities,
            *([mapped] for mapped in maps),
        ]
        self._outputs = [output for group in groups for output in group]
        self._graph = Graph(self._outputs, self.variables)
        ends = np.cumsum([len(group) for group in groups])
        self._groups = [range(end - len(group), end) for end, group in zip(ends, groups, strict=True)]
        self._shapes = [output.shape for output in self._outputs]
        nodes = self._graph.nodes
        self.parameters = [node for node in nodes if isinstance(node, Parameter)]
        given = {} if data is None else data
        # Parameters keep these values, because cached points must not mix different values.
        self.data = {p.name: np.asarray(given.get(p.name, held_value(p)), float) for p in self.parameters}
        self._leaves = {
            k: self.data[nodes[k].name] if isinstance(nodes[k], Parameter) else held_value(nodes[k])
            for k in self._graph.other_leaves()
        }
        self._known: dict[bytes, Evaluation] = {}

    @property
    def manifold(self) -> Manifold:
        """The manifold of the point."""
        if len(self.variables) == 1:
            return self.variables[0].manifold
        return Product({variable.name: variable.manifold for variable in self.variables})

    def problem(self, *, convex: bool) -> Problem:
        """Return the problem for `minimize`; `convex` means that convexity along geodesics is proved."""
        form = self.form
        problem = Problem(
            self.manifold,
            cost=lambda x: float(self.at(x).outputs()[0]),
            gradient=lambda x: self.gradient(x, {0: np.ones(())}),
            hessian_product=lambda x, u: self.hessian_product(x, {0: np.ones(())}, u),
            inequalities=[self._block(1)] if form.inequalities else None,
            equalities=[self._block(2)] if form.equalities else None,
            terms=[Term(g, self._block(3 + k)) for k, (g, _) in enumerate(form.terms)] or None,
            geodesically_convex=convex,
        )
        if not self.parameters:
            return problem
        return problem.with_derivatives_by_data(
            self.data, self, lambda data: Compiled(form, self.variables, data).problem(convex=convex)
        )

    def _block(self, group: int) -> Group:
        """Return a group of outputs as a block of constraints."""
        return Group(
            value=lambda x: self._joined(group, self.at(x).outputs()),
            jacobian_product=lambda x, w: self.gradient(x, self._split(group, w)),
            directional=lambda x, u: self._joined(group, self.at(x).along(self.parts(u))),
            hessian_product=lambda x, w, u: self.hessian_product(x, self._split(group, w), u),
            group=group,
            array_shape=self._shapes[self._groups[group][0]],
        )

    def _joined(self, group: int, parts: list[Array]) -> Array:
        """Return the outputs of a group as one vector."""
        return np.concatenate([np.ravel(parts[k]) for k in self._groups[group]])

    def _split(self, group: int, w: Array) -> dict[int, Array]:
        """Split a vector into the parts of each output of a group, by position."""
        found, start = {}, 0
        for k in self._groups[group]:
            size = int(np.prod(self._shapes[k], dtype=int))
            found[k] = w[start : start + size].reshape(self._shapes[k])
            start += size
        return found

    @cached_property
    def _by_parameters(self) -> Graph:
        return Graph(self._outputs, [*self.variables, *self.parameters])

    def _at_parameters(self, x: Point) -> Evaluation:
        """Return the values at a point, for derivatives by variables and parameters."""
        graph = self._by_parameters
        leaves = {k: held_value(graph.nodes[k]) for k in graph.other_leaves()}
        return graph.at([*self.parts(x), *self.data.values()], leaves)

    def _weights(self, cost: float, vectors: Sequence[Array]) -> dict[int, Array]:
        """Return the weights of all outputs, given one vector per nonempty group of constraints."""
        weights = {0: np.asarray(cost)}
        groups = (group for group, places in enumerate(self._groups) if group and len(places))
        for group, w in zip(groups, vectors, strict=True):
            weights |= self._split(group, w)
        return weights

    def tangent(self, x: Point, w: Sequence[Array], direction: Any) -> tuple[Vector, Sequence[Array], float]:
        """Return the derivatives of ∇L, of all constraints and of L along a direction of the parameters."""
        evaluation, weights = self._at_parameters(x), self._weights(1.0, w)
        moved = [np.zeros(np.shape(part)) for part in self.parts(x)]
        moved += [np.asarray(direction[name], dtype=float) for name in self.data]
        changes = evaluation.along(moved)
        bent = evaluation.hessian_product(self._spread(weights), moved)[: len(self.variables)]
        slope = sum(float(np.sum(weight * changes[k])) for k, weight in weights.items())
        groups = [group for group, places in enumerate(self._groups) if group and len(places)]
        return self.made(bent), [self._joined(group, changes) for group in groups], slope

    def cotangent(self, x: Point, w: Sequence[Array], u: Vector, v: Sequence[Array], s: float) -> Any:
        """Return the gradient of ⟨∇L, u⟩ + Σ ⟨v, c⟩ + s L with respect to the parameters."""
        evaluation, n = self._at_parameters(x), len(self.variables)
        moved = [*self.parts(u), *(np.zeros(value.shape) for value in self.data.values())]
        bent = evaluation.hessian_product(self._spread(self._weights(1.0, w)), moved)[n:]
        both = [own + s * weight for own, weight in zip(v, w, strict=True)]
        straight = evaluation.gradient(self._spread(self._weights(s, both)))[n:]
        return {name: a + b for name, a, b in zip(self.data, bent, straight, strict=True)}

    def gradient(self, x: Point, weights: dict[int, Array]) -> Vector:
        """Return the Euclidean gradient of a weighted sum of outputs, given by their positions."""
        return self.made(self.at(x).gradient(self._spread(weights)))

    def hessian_product(self, x: Point, weights: dict[int, Array], u: Vector) -> Vector:
        """Return the Euclidean Hessian of a weighted sum of outputs, applied to a direction."""
        return self.made(self.at(x).hessian_product(self._spread(weights), self.parts(u)))

    def at(self, x: Point) -> Evaluation:
        """Return the values of all outputs at a point, cached."""
        parts = self.parts(x)
        key = b"|".join(part.tobytes() for part in parts)
        if key not in self._known:
            while len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]
            self._known[key] = self._graph.at([np.array(part) for part in parts], self._leaves)
        return self._known[key]

    def parts(self, x: Any) -> list[Array]:
        """Split a point or vector into a list of arrays, one per variable."""
        if len(self.variables) == 1:
            return [np.asarray(x)]
        return [np.asarray(x[variable.name]) for variable in self.variables]

    def made(self, parts: list[Array]) -> Any:
        """Join a list of arrays, one per variable, into a point or vector."""
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
