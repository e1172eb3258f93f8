"""All constraints of a problem as one vector, and points with the values there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodual.arrays import Array, Indices
from geodual.manifolds import Frame
from geodual.manifolds.frame import Point, Vector

from .ambient import pairing, scaled, total
from .constraint import as_cost
from .problem import Constraint, Problem


@dataclass(frozen=True, slots=True)
class EvaluatedPoint:
    """A point with the values of cost and constraints there, so that nothing is computed twice.

    Methods of your own get one as their start, make new ones by ``constraints.evaluate(x)``, and yield them
    in an `Update`.

    Attributes
    ----------
    frame : Frame
        The frame at the point.
    cost : float
        f(x).
    constraints : array of shape (m,)
        c(x) = (h(x), g(x)), inequalities first.
    x : Point
        The point.

    See Also
    --------
    ConstraintVector : Its `evaluate` makes evaluated points.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.manifolds import SPD
    >>> from geodual.optimize import ConstraintVector, Problem
    >>> problem = Problem(SPD(2), lambda x: -np.linalg.slogdet(x)[1], gradient=lambda x: -np.linalg.inv(x),
    ...                   inequalities=lambda x: np.trace(x) - 6.0,
    ...                   jacobian_product=lambda x, w: w[0] * np.eye(2))
    >>> point = ConstraintVector(problem, np.eye(2)).evaluate(np.diag([1.0, 3.0]))
    >>> round(point.cost, 6), point.constraints.tolist()
    (-1.098612, [-2.0])
    """

    frame: Frame
    cost: float
    constraints: Array

    @property
    def x(self) -> Point:
        """The point."""
        return self.frame.point


class ConstraintVector:
    """All constraints of a problem as one vector c(x) = (h(x), g(x)), as methods see them.

    Parameters
    ----------
    problem : Problem
        The problem.
    x : Point
        Any point; the constraints are evaluated there once to learn their number.

    Attributes
    ----------
    problem : Problem
        The problem.
    size : int
        Number m of constraints.
    n_inequalities : int
        Number of inequalities, which come first.
    is_equality : array of shape (m,)
        Whether each constraint is an equality.

    See Also
    --------
    Lagrangian : Combines cost and constraints into one function.
    EvaluatedPoint : What `evaluate` returns.

    Examples
    --------
    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> from geodual.optimize import ConstraintVector, Problem
    >>> problem = Problem(Euclidean(2), lambda x: x @ x, gradient=lambda x: 2.0 * x,
    ...                   inequalities=lambda x: 1.0 - x, jacobian_product=lambda x, w: -w,
    ...                   equalities=lambda x: x[0] - x[1],
    ...                   equality_jacobian_product=lambda x, w: w[0] * np.array([1.0, -1.0]))
    >>> constraints = ConstraintVector(problem, np.zeros(2))
    >>> constraints.size, constraints.is_equality.tolist()
    (3, [False, False, True])
    >>> constraints.value(np.array([3.0, 0.0])).tolist()
    [-2.0, 1.0, 3.0]
    >>> constraints.nonnegative(np.array([-1.0, 2.0, -3.0])).tolist()
    [0.0, 2.0, -3.0]
    """

    def __init__(self, problem: Problem, x: Point) -> None:
        self.problem = problem
        sizes = [len(block(x)) for block in problem.blocks]
        ends = np.cumsum(sizes, dtype=int)
        self._slices = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
        self.size = int(sum(sizes))
        self.n_inequalities = int(sum(sizes[: problem.n_inequality_blocks]))
        self.is_equality = np.arange(self.size) >= self.n_inequalities
        self._only_inequalities = self.n_inequalities == self.size
        # Gradients of blocks without `directional`, at the last point they were asked for.
        self._rows_at: Point = None
        self._rows: dict[int, Sequence[Vector]] = {}

    @property
    def bounded_entries(self) -> Indices:
        """The position in x of the entry that each constraint bounds; −1 for those that are no bounds."""
        bounds, n = self.problem.bounds, self.n_inequalities
        return bounds.positions(n, self.size - n) if bounds else np.full(self.size, -1)

    def evaluate(self, x: Point) -> EvaluatedPoint:
        """Return `x` with its frame, cost and constraints."""
        return EvaluatedPoint(self.problem.manifold.frame(x), as_cost(self.problem.cost(x)), self.value(x))

    def value(self, x: Point) -> Array:
        """Return c(x)."""
        values = _joined([block(x) for block in self.problem.blocks])
        if len(values) != self.size:
            raise ValueError(
                f"The constraints gave {len(values)} numbers, but {self.size} at the start; "
                "return vectors of the same length everywhere."
            )
        return values

    def nonnegative(self, y: Array) -> Array:
        """Return the multipliers with negative ones of inequalities replaced by 0."""
        cut = np.maximum(y, 0.0)
        return cut if self._only_inequalities else np.where(self.is_equality, y, cut)

    def derivative(self, x: Point, u: Vector) -> Array:
        """Return Dc(x)[u]; gradients formed for lack of `directional` are kept while `x` is the same."""
        return _joined([self._block_derivative(k, x, u) for k in range(len(self._slices))])

    def _block_derivative(self, k: int, x: Point, u: Vector) -> Array:
        block = self.problem.blocks[k]
        if block.directional is not None:
            return block.derivative(x, u)
        # Compare identity, not entries: conjugate gradients ask again and again at the same object.
        if self._rows_at is not x:
            self._rows_at, self._rows = x, {}
        if k not in self._rows:
            size = self._slices[k].stop - self._slices[k].start
            self._rows[k] = block.rows(x, np.arange(size))
        return np.array([pairing(row, u) for row in self._rows[k]])

    def weighted(self, w: Array) -> list[tuple[Constraint, Array]]:
        """Return the blocks that have a non-zero weight, with their weights."""
        return [(block, part) for block, part in self._parts(w) if part.any()]

    def lagrangian_gradient(self, x: Point, cost_weight: float, w: Array) -> Vector:
        """Return the Euclidean gradient of a f + ⟨w, c⟩."""
        terms = [block.jacobian_product(x, part) for block, part in self.weighted(w)]
        if cost_weight or not terms:  # without any term, 0 · ∇f gives zero the structure of a point
            terms.append(scaled(cost_weight, self.problem.gradient(x)))
        return total(terms)

    def lagrangian_hessian(
        self, x: Point, cost_weight: float, weighted: list[tuple[Constraint, Array]], u: Vector
    ) -> list[Vector]:
        """Return terms whose sum is the Euclidean Hessian of a f + ⟨w, c⟩ times `u`, as far as it is given.

        `weighted` is the result of ``weighted(w)``, which is computed once for many products.
        """
        terms = [b.hessian_product(x, part, u) for b, part in weighted if b.hessian_product is not None]
        if cost_weight and self.problem.hessian_product is not None:
            terms.append(scaled(cost_weight, self.problem.hessian_product(x, u)))
        return terms

    def gradient_without_hessian(
        self, x: Point, cost_weight: float, weighted: list[tuple[Constraint, Array]]
    ) -> Vector | None:
        """Return the Euclidean gradient of all parts without a second derivative; None if there are none."""
        terms = [b.jacobian_product(x, part) for b, part in weighted if b.hessian_product is None]
        if cost_weight and self.problem.hessian_product is None:
            terms.append(scaled(cost_weight, self.problem.gradient(x)))
        return total(terms) if terms else None

    def adjoint(self, x: Point, w: Array) -> list[Vector]:
        """Return terms whose sum is Σₖ wₖ ∇cₖ(x)."""
        return [block.jacobian_product(x, part) for block, part in self._parts(w)]

    def gradients(self, x: Point, indices: NDArray[np.intp]) -> list[Vector]:
        """Return ∇cₖ(x) for k in `indices`, given in increasing order."""
        rows: list[Vector] = []
        for block, part in zip(self.problem.blocks, self._slices, strict=True):
            within = indices[(indices >= part.start) & (indices < part.stop)] - part.start
            rows.extend(block.rows(x, within) if within.size else ())
        return rows

    def split(self, values: Array) -> list[Array]:
        """Return the parts of a vector that belong to each block."""
        return [values[part] for part in self._slices]

    def _parts(self, w: Array) -> list[tuple[Constraint, Array]]:
        return [(block, w[part]) for block, part in zip(self.problem.blocks, self._slices, strict=True)]


def _joined(parts: list[Array]) -> Array:
    if len(parts) == 1:  # the usual case, and this is called at every trial point
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0)
