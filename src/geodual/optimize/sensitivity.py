"""Derivatives of a solution with respect to the data of its problem, by the implicit function theorem.

A KKT point (x, y) satisfies grad L(x, y; data) = 0 and c − prox(c + t y) = 0, where L = f + ⟨y, c⟩ and c is
c(x; data). The prox is that of {z ≤ 0} for inequalities, of {0} for equalities, and of the functions of
terms, which depend on the data if the problem is from `Problem.from_family`. With the derivative P of the
prox, the changes satisfy

    H dx + Jᵀ dy = −d(grad L),    (I − P) J dx − t P dy = −dr,

where dr is the change of c − prox(c + t y) with the data at fixed x and y. An eigenvector of P with
eigenvalue p = 1 determines its part of dy (like an inactive inequality); one with p = 0 is a constraint on dx
(like an active inequality). The remaining system has a symmetric matrix, which serves both modes. See A. V.
Fiacco, *Introduction to Sensitivity and Stability Analysis in Nonlinear Programming*, Academic Press, 1983.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.linalg.lapack import dgecon, dgetrf, dgetrs

from geodual.arrays import Array
from geodual.manifolds import Frame
from geodual.manifolds.frame import Point, Vector
from geodual.manifolds.recoded import orthonormal_frame

from .automatic import DataDerivatives
from .dense_hessian import tangent_basis
from .kkt import Units, measure_units
from .problem import ConstraintVector, Problem
from .trees import as_doubles, leaves, mapped, pairing, same_structure, scaled, total

_EPS = float(np.finfo(float).eps)
_DENSE = 2000  # largest number of unknowns for which the matrix is factored: 32 MB, and 0.2 s on one core
_FREE = 1.0 - float(np.sqrt(_EPS))  # an eigenvalue of P above it counts as 1
_SINGULAR = 1e-10  # reciprocal condition number below which fewer than six digits are correct
_SINGULAR_DIFFERENCES = 1e-7  # the same for second derivatives by differences, with errors of 1e-8
_ROUNDS = 8  # of equilibration: each halves the exponents, so that 1e32 becomes 1.3
_DIFFERENCE_STEP = float(np.cbrt(_EPS))  # balances truncation and rounding of a central difference
_LARGEST = 1e300  # step along a direction that is 0
_ACCURACY = 1e-13  # of MINRES: smaller than the error that a certificate allows
_RESIDUAL = 1e-8  # relative residual at which a MINRES solution is accepted
_JUMP = 0.05  # change of P along a random vector that indicates a kink nearby
_DRAWS = 4  # random vectors to search for a kink


class NotDifferentiableError(ValueError):
    """Raised if a solution has no derivative with respect to the data, or it cannot be computed.

    See Also
    --------
    Result.derivative : Raises it.

    Examples
    --------
    The nonnegative number closest to a, at a = 0, where the solution has a kink:

    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> from geodual.optimize import NotDifferentiableError, Problem, minimize
    >>> problem = Problem.from_jax(Euclidean(1), lambda x, a: (x[0] - a) ** 2, lower=0.0, data=0.0)
    >>> try:
    ...     minimize(problem, np.ones(1)).derivative()
    ... except NotDifferentiableError as error:
    ...     print(str(error)[:54])
    Entry 0 of `multipliers` and its inequality are both 0
    """


@dataclass(frozen=True, eq=False)
class Derivative:
    """The derivative of a solution with respect to a parameter, or along one direction of the data.

    The axes of the parameter, if there is one, are the last axes of every array.

    Attributes
    ----------
    x : Vector
        Derivative of the point, an ambient vector with the structure of x.
    cost : array or float
        Derivative of the cost.
    multipliers : array of shape (n_inequalities, ...)
        Derivatives of the multipliers of inequalities, including bounds.
    equality_multipliers : array of shape (n_equalities, ...)
        Derivatives of the multipliers of equalities.
    term_multipliers : tuple of array
        Derivatives of the multipliers of terms.

    See Also
    --------
    Result.derivative : Returns a `Derivative`.

    Examples
    --------
    On the line x₀ + x₁ = b, the point closest to 0 is (b/2, b/2), with cost b²/4 and multiplier −b/2:

    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> from geodual.optimize import Problem, minimize
    >>> problem = Problem.from_jax(Euclidean(2), lambda x, b: 0.5 * x @ x,
    ...                            equalities=lambda x, b: x[0] + x[1] - b, data=3.0)
    >>> by_b = minimize(problem, np.zeros(2)).derivative()
    >>> by_b.x.round(6).tolist(), round(float(by_b.cost), 6), by_b.equality_multipliers.round(6).tolist()
    ([0.5, 0.5], 1.5, [-0.5])
    """

    x: Vector
    cost: Any
    multipliers: Array
    equality_multipliers: Array
    term_multipliers: tuple[Array, ...] = ()


class Sensitivity:
    """A KKT point of a problem with data, and its derivatives with respect to them.

    Parameters
    ----------
    problem : Problem
        The problem, with data.
    x : Point
        The point.
    multipliers : array of shape (m,)
        Its multipliers y, of inequalities, equalities and terms.
    residual : float
        The KKT residual there.
    """

    def __init__(self, problem: Problem, x: Point, multipliers: Array, residual: float) -> None:
        if problem.data is None:
            raise ValueError(
                "The problem has no data to differentiate with respect to; build it with "
                "Problem.from_jax(..., data=...), Problem.from_torch(..., data=...) or "
                "Problem.from_family(build, data)."
            )
        self._data = problem.data
        self._at = at = _KKTPoint.measured(problem, x, multipliers)
        by_data = problem.by_data
        self._changes: _Changes = _Differences(problem, at) if by_data is None else _Automatic(by_data, at)
        self._residual = residual

    @cached_property
    def _system(self) -> _System:
        _check_strict(self._at, self._residual)
        system = _System(self._at)
        if system.idle.any():
            self._check_idle(system.idle)
        return system

    def _check_idle(self, idle: Array) -> None:
        """Raise an error if data change a part that the map of a term cannot follow."""
        nothing = scaled(0.0, as_doubles(self._at.frame.point))
        everything = np.random.default_rng(0).standard_normal(idle.size)
        change, all_changes = (self._changes.cotangent(nothing, q, 0.0) for q in (idle, everything))
        if pairing(change, change) > _RESIDUAL * pairing(all_changes, all_changes):
            raise NotDifferentiableError(_DEPENDENT)

    def derivative(self, parameter: Any) -> Derivative:
        """Return the derivative with respect to one array of the data, given its key or tuple of keys."""
        leaf = self._data
        for key in () if parameter is None else parameter if isinstance(parameter, tuple) else (parameter,):
            try:
                leaf = leaf[key]
            except (KeyError, IndexError, TypeError):
                raise KeyError(
                    f"`parameter` {parameter!r} is not in the data; {_named(self._data)}"
                ) from None
        if isinstance(leaf, (dict, tuple)) or leaf.dtype.kind != "f" or not leaf.size:
            raise ValueError(f"`parameter` must be one array of real numbers; {_named(self._data)}")
        return self._along(_unit_directions(leaf, self._data), leaf.shape)

    def jvp(self, direction: Any) -> Derivative:
        """Return the derivative along one direction of the data."""
        like = same_structure(direction, self._data)
        if not like or mapped(np.shape, direction) != mapped(np.shape, self._data):
            raise ValueError("`direction` must have the structure and the shapes of the data.")
        found = self._along([as_doubles(direction)], ())
        return replace(found, cost=float(found.cost))

    def vjp(self, x: Vector | None, cost: float, multipliers: Any, equality_multipliers: Any) -> Any:
        """Pull gradients with respect to the solution back to the data; None means 0."""
        at, constraints = self._at, self._at.constraints
        y = np.zeros(constraints.size)
        n = constraints.n_inequalities
        y[:n] = _spread(multipliers, n, "multipliers")
        y[n : constraints.tail.start] = _spread(
            equality_multipliers, constraints.n_equalities, "equality_multipliers"
        )
        if x is None and not y.any():  # the cost alone needs no system, by the envelope theorem
            return self._pulled(scaled(0.0, as_doubles(at.frame.point)), 0.0 * y, cost)
        if x is not None and mapped(np.shape, x) != mapped(np.shape, at.frame.point):
            raise ValueError("`x` must have the structure and the shapes of the point.")
        force = np.zeros(at.frame.dim) if x is None else at.flat_gradient(as_doubles(x))
        c, q = self._system.adjoint(force, y * at.units.cost / at.units.constraints)
        u = scaled(1.0 / at.units.cost, at.tangent(c))
        return self._pulled(u, q / at.units.constraints, cost)

    def _pulled(self, u: Vector, q: Array, cost: float) -> Any:
        """Return the gradient by the data with its keys in the original order, which libraries may change."""
        return mapped(lambda _, own: own, self._data, self._changes.cotangent(u, q, float(cost)))

    def _along(self, directions: Iterable[Any], shape: tuple[int, ...]) -> Derivative:
        """Return the derivatives along directions of the data, stacked in the shape of a parameter."""
        at, constraints = self._at, self._at.constraints
        changes = [self._changes.tangent(direction) for direction in directions]
        count = len(changes)
        forces = np.reshape([at.flat_gradient(egrad) for egrad, _, _ in changes], (count, at.frame.dim))
        residuals = np.reshape([residual for _, residual, _ in changes], (count, constraints.size))
        C, Y = self._system.forward(forces.T / at.units.cost, residuals.T / at.units.constraints[:, None])
        Y = Y * (at.units.cost / at.units.constraints)[:, None]

        def shaped(*parts: Array) -> Array:
            return np.stack(parts, axis=-1).reshape(*np.shape(parts[0]), *shape)

        def rows(part: slice, own: tuple[int, ...]) -> Array:
            return Y[part].reshape(*own, *shape)

        n, m, end = constraints.n_inequalities, constraints.n_equalities, constraints.tail.start
        return Derivative(
            mapped(shaped, *(at.tangent(c) for c in C.T)),
            np.reshape([value for _, _, value in changes], shape),
            rows(slice(n), (n,)),
            rows(slice(n, end), (m,)),
            tuple(rows(term.part, term.shape) for term in constraints.terms),
        )


def _unit_directions(leaf: Array, data: Any) -> Iterator[Any]:
    """Yield the directions of the data along each entry of one array, identified by `is`."""
    for k in range(leaf.size):
        unit = _unit(leaf.size, k).reshape(leaf.shape)
        yield mapped(lambda a, unit=unit: unit if a is leaf else np.zeros(a.shape), data)


def _unit(size: int, k: int) -> Array:
    unit = np.zeros(size)
    unit[k] = 1.0
    return unit


def _spread(given: Any, size: int, name: str) -> Array:
    if given is None:
        return np.zeros(size)
    array = np.asarray(given, dtype=float)
    if array.shape != (size,):
        raise ValueError(f"`{name}` must be {size} numbers, one per constraint, got shape {array.shape}.")
    return array


def _named(data: Any) -> str:
    if isinstance(data, dict):
        return f"choose one of {list(data)}, or a tuple of keys."
    return f"choose an index below {len(data)}." if isinstance(data, tuple) else "leave it out."


@dataclass(frozen=True, eq=False)
class _KKTPoint:
    """A KKT point, measured in units of cost and constraints."""

    constraints: ConstraintVector
    frame: Frame
    units: Units
    y: Array
    values: Array
    """c(x)"""

    @classmethod
    def measured(cls, problem: Problem, x: Point, y: Array) -> _KKTPoint:
        constraints = ConstraintVector(problem, x)
        point = constraints.evaluate(x)
        frame: Frame | None = point.frame
        if not point.frame.orthonormal:
            frame = orthonormal_frame(point.frame, problem.manifold.dim)
        if frame is None:
            raise NotDifferentiableError(
                f"Tangent vectors of {problem.manifold} have no fixed coordinates, so derivatives are "
                "limited to 100 dimensions there; use a manifold of geodual."
            )
        point = replace(point, frame=frame)
        with np.errstate(all="ignore"):  # a term may be infinite nearby
            units = measure_units(constraints, point)
        return cls(constraints, frame, units, y, point.constraints)

    @property
    def steps(self) -> Array:
        """The t of the prox of every entry."""
        return np.asarray(self.units.constraints**2 / self.units.cost)

    @property
    def z(self) -> Array:
        """The argument c + t y of the prox."""
        return np.asarray(self.values + self.steps * self.y)

    def tangent(self, c: Array) -> Vector:
        return self.frame.tangent(c.reshape(self.frame.shape))

    def flat_gradient(self, egrad: Vector) -> Array:
        return np.ravel(self.frame.gradient(egrad))

    def apply(self, c: Array) -> Array:
        """Return J c, in units of the constraints."""
        return np.asarray(
            self.constraints.derivative(self.frame.point, self.tangent(c)) / self.units.constraints
        )

    def pull(self, w: Array) -> Array:
        """Return Jᵀ w, in units of the constraints."""
        weights = w / self.units.constraints
        return self.flat_gradient(self.constraints.lagrangian_gradient(self.frame.point, 0.0, weights))

    @cached_property
    def hessian(self) -> Callable[[Array], Array]:
        """The Hessian of the Lagrangian, in units of the cost, as a function of flat coordinates."""
        point = replace(self.constraints.evaluate(self.frame.point), frame=self.frame)
        model = self.units.lagrangian(self.constraints, self.units.scaled(self.y)).at(point)
        return lambda c: np.ravel(model.hessian_product(c.reshape(self.frame.shape)))

    @property
    def is_differenced(self) -> bool:
        """Whether second derivatives are differences of gradients."""
        weighted = self.constraints.weighted(self.y)
        return self.constraints.gradient_without_hessian(self.frame.point, 1.0, weighted) is not None


class _Changes(Protocol):
    """Changes of the equations of a KKT point and of its cost with the data, at a fixed point."""

    def tangent(self, direction: Any) -> tuple[Vector, Array, float]:
        """Return the changes of ∇L, of the residual c − prox(c + t y), and of the cost."""

    def cotangent(self, u: Vector, q: Array, s: float) -> Any:
        """Return the gradient of ⟨∇L, u⟩ + ⟨q, residual⟩ + s · cost with respect to the data."""


class _Automatic:
    """Changes by automatic derivatives; here, the functions of terms do not depend on the data."""

    def __init__(self, by_data: DataDerivatives, at: _KKTPoint) -> None:
        self._at, self._by_data = at, by_data
        blocks = at.constraints.problem.blocks
        groups = {getattr(block, "group", None): k for k, block in enumerate(blocks)}
        self._order = [groups[k] for k in sorted(key for key in groups if key is not None)]

    def _groups(self, w: Array) -> list[Array]:
        parts = self._at.constraints.split(w)
        return [parts[k] for k in self._order]

    @cached_property
    def _moved(self) -> Callable[[Array], Array]:
        derivative = self._at.constraints.prox_derivative(self._at.z, self._at.steps)
        return lambda c: c - derivative(c)

    def tangent(self, direction: Any) -> tuple[Vector, Array, float]:
        at = self._at
        egrad, vectors, value = self._by_data.tangent(at.frame.point, self._groups(at.y), direction)
        change = np.zeros(at.constraints.size)
        parts = at.constraints.split(change)  # views
        for k, vector in zip(self._order, vectors, strict=True):
            parts[k][:] = vector
        return egrad, self._moved(change), value

    def cotangent(self, u: Vector, q: Array, s: float) -> Any:
        at = self._at
        weights = self._groups(at.y), u, self._groups(self._moved(q)), s
        return self._by_data.cotangent(at.frame.point, *weights)


class _Differences:
    """Changes by central differences of the problem with respect to the data."""

    def __init__(self, problem: Problem, at: _KKTPoint) -> None:
        self._problem, self._at = problem, at

    def _local(self, step: float, direction: Any) -> tuple[Vector, Array, float]:
        """Return ∇L, the residual and the cost of the problem with other data, at the same point."""
        data = mapped(lambda a, d: a + step * d if a.dtype.kind == "f" else a, self._problem.data, direction)
        at, x = self._at, self._at.frame.point
        constraints = ConstraintVector(self._problem.with_data(data), x)
        if constraints.size != at.constraints.size:
            raise ValueError(
                f"The problem has {constraints.size} constraints, and {at.constraints.size} with data that "
                "are a little different; their number must not depend on the data."
            )
        point = constraints.evaluate(x)
        z = point.constraints + at.steps * at.y
        p = constraints.prox(z, at.steps)
        # The cost is that of the augmented Lagrangian: finite even if the data move the edge of a constraint.
        cost = point.cost + constraints.term_cost(p) + 0.5 * float(np.sum((z - p) ** 2 / at.steps))
        return constraints.lagrangian_gradient(x, 1.0, at.y), point.constraints - p, cost

    def tangent(self, direction: Any) -> tuple[Vector, Array, float]:
        ratios = leaves(mapped(_size_ratio, self._problem.data, direction))
        step = _DIFFERENCE_STEP * min([*ratios, _LARGEST])
        ahead, back = self._local(step, direction), self._local(-step, direction)
        half = 0.5 / step
        egrad = total([scaled(half, ahead[0]), scaled(-half, back[0])])
        return egrad, half * (ahead[1] - back[1]), half * (ahead[2] - back[2])

    def cotangent(self, u: Vector, q: Array, s: float) -> Any:
        return mapped(lambda leaf: self._by_leaf(leaf, u, q, s), self._problem.data)

    def _by_leaf(self, leaf: Array, u: Vector, q: Array, s: float) -> Array:
        """Return the gradient with respect to one array of the data, entry by entry."""
        if leaf.dtype.kind != "f":
            return np.zeros(leaf.shape)
        changes = map(self.tangent, _unit_directions(leaf, self._problem.data))
        slopes = [pairing(egrad, u) + float(q @ residual) + s * cost for egrad, residual, cost in changes]
        return np.reshape(slopes, leaf.shape)


def _size_ratio(a: Array, d: Array) -> float:
    """Return the size of an array of the data relative to that of a direction."""
    moved = float(np.abs(d).max(initial=0.0))
    return (float(np.abs(a).max(initial=0.0)) or 1.0) / moved if moved else np.inf


def _check_strict(at: _KKTPoint, residual: float) -> None:
    """Raise an error at a kink: if it is unclear on which side of an inequality or term x lies.

    The KKT residual bounds the product of multiplier and inequality, so each may be as large as its root.
    """
    near, n = float(np.sqrt(max(residual, _EPS))), at.constraints.n_inequalities
    sizes = np.maximum(-at.values / at.units.constraints, at.units.scaled(at.y))[:n]
    if sizes.size and sizes.min() <= near:
        raise NotDifferentiableError(
            f"Entry {int(sizes.argmin())} of `multipliers` and its inequality are both 0 up to the "
            "tolerance: the constraint is about to become active or inactive, and the solution has a kink "
            "in the data there. Change the data a little, leave the constraint out, or solve with a "
            "smaller `tol`."
        )
    rng = np.random.default_rng(0)
    for term in at.constraints.functions:
        here = term.prox_derivative(at.z, at.steps)
        for _ in range(_DRAWS):
            signs, v = rng.choice([-1.0, 1.0], at.z.size), rng.standard_normal(at.z.size)
            there = term.prox_derivative(at.z + near * at.units.constraints * signs, at.steps)
            if np.linalg.norm(there(v) - here(v)) > _JUMP:
                raise NotDifferentiableError(
                    f"The multiplier of the term {type(term.function).__name__} is at the edge of its "
                    "subgradients up to the tolerance, so the solution has a kink in the data there. "
                    "Change the data a little, or solve with a smaller `tol`."
                )


class _Split:
    """Eigenvalues p and eigenvectors of the derivative of the prox.

    For functions that act on each entry separately, the eigenvectors are unit vectors.
    """

    def __init__(self, at: _KKTPoint) -> None:
        derivative = at.constraints.prox_derivative(at.z, at.steps)
        p = derivative(np.ones(at.z.size))
        self.bases: list[tuple[slice, Array]] = []
        for term in at.constraints.functions:
            if not term.is_separable:
                size = term.part.stop - term.part.start
                if size > _DENSE:
                    raise NotDifferentiableError(
                        f"The term {type(term.function).__name__} has {size} entries; derivatives need the "
                        f"whole matrix of its prox, which is formed for at most {_DENSE}."
                    )
                own, numbers = term.prox_derivative(at.z, at.steps), range(term.part.start, term.part.stop)
                P = np.reshape([own(_unit(at.z.size, k)) for k in numbers], (size, size))
                p[term.part], basis = np.linalg.eigh(0.5 * (P + P.T))
                self.bases.append((term.part, basis))
        self.active = p < _FREE
        self.p = np.where(self.active, np.maximum(p, 0.0), 0.0)

    def parts(self, z: Array) -> Array:
        """Return the parts of vectors, one per column, along all eigenvectors."""
        found = np.array(z)
        for part, basis in self.bases:
            found[part] = basis.T @ z[part]
        return found

    def joined(self, a: Array) -> Array:
        """Return the vectors with these parts."""
        found = np.array(a)
        for part, basis in self.bases:
            found[part] = basis @ a[part]
        return found


class _System:
    """The matrix [H  JᵀQ; QᵀJ  −p/(1 − p)], where Q are the eigenvectors of P with p < 1, in units."""

    def __init__(self, at: _KKTPoint) -> None:
        self._at, self._split = at, _Split(at)
        active = self._split.active
        self._softness = (self._split.p / (1.0 - self._split.p))[active]
        d = at.constraints.problem.manifold.dim
        self.idle = np.zeros(len(active))
        """A random vector in the directions that the maps of terms cannot reach; 0 if there are none."""
        is_small = d + int(active.sum()) <= _DENSE
        self._solve = self._factored(d) if is_small else self._iterated

    def forward(self, forces: Array, residuals: Array) -> tuple[Array, Array]:
        """Return (dx, dy) for changes of the equations, one change per column."""
        split, active = self._split, self._split.active
        parts = split.parts(residuals)
        known = split.joined(np.where(active[:, None], 0.0, parts))
        pulled = [self._at.pull(w) if w.any() else np.zeros(len(forces)) for w in known.T]
        first = -forces - np.reshape(pulled, (forces.shape[1], len(forces))).T
        C, W = self._solve(first, -(parts / (1.0 - split.p)[:, None])[active])
        return C, known + self._spread(W)

    def adjoint(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Return the gradients with respect to changes of both equations, given those of dx and dy."""
        split, active = self._split, self._split.active
        C, W = self._solve(x[:, None], split.parts(y)[active][:, None])
        c = C[:, 0]
        parts = np.where(active, 0.0, split.parts(y - self._at.apply(c)))
        parts[active] = -W[:, 0] / (1.0 - split.p[active])
        return -c, split.joined(parts)

    def _spread(self, W: Array) -> Array:
        """Return vectors of all entries, given their parts along Q."""
        full = np.zeros((len(self._split.active), *W.shape[1:]))
        full[self._split.active] = W
        return self._split.joined(full)

    def _factored(self, d: int) -> Callable[[Array, Array], tuple[Array, Array]]:
        """Return a function that solves by factorizing the matrix in a basis of the tangent space."""
        at, n = self._at, len(self._softness)
        B = tangent_basis(at.frame, d)
        H = np.reshape([at.hessian(row) for row in B], B.shape) @ B.T
        rows = [at.pull(self._spread(_unit(n, k))) for k in range(n)]
        J = self._without_idle(np.reshape(rows, (n, at.frame.dim)) @ B.T)
        K = np.block([[0.5 * (H + H.T), J.T], [J, -np.diag(self._softness)]])
        if d < at.frame.dim:  # not flat: its coordinates mix, so that small entries are rounding errors
            noise = np.sqrt(_EPS) if at.is_differenced else len(K) * _EPS
            K[np.abs(K) <= noise * np.abs(K).max(initial=1.0)] = 0.0  # their unit is 1
        scale = _equilibrated(K)
        K = scale[:, None] * K * scale
        lu, pivots = dgetrf(K)[:2] if K.size else (K, K)
        _check_regular(K, lu, d, at.is_differenced)

        def solve(first: Array, second: Array) -> tuple[Array, Array]:
            right = scale[:, None] * np.concatenate([B @ first, second])
            found = scale[:, None] * (dgetrs(lu, pivots, right)[0] if right.size else right)
            return B.T @ found[:d], found[d:]

        return solve

    def _without_idle(self, J: Array) -> Array:
        """Free the multipliers that the map of a term cannot reach, such as those of antisymmetric parts.

        They belong to eigenvectors with p = 0 along which J vanishes. With p = 1/2, the smallest multiplier
        becomes the only one.
        """
        numbers = np.cumsum(self._split.active) - 1  # of active entries
        rng = np.random.default_rng(0)
        for part, basis in self._split.bases:
            own = np.flatnonzero(self._split.active[part] & (self._split.p[part] < 1.0 - _FREE))
            rows = numbers[part][own]
            turn, sizes = np.linalg.svd(J[rows])[:2] if own.size else (np.eye(0), np.zeros(0))
            basis[:, own] = basis[:, own] @ turn
            J[rows] = turn.T @ J[rows]
            idle = np.arange(own.size) >= np.count_nonzero(sizes > _SINGULAR * sizes.max(initial=0.0))
            J[rows[idle]], self._softness[rows[idle]] = 0.0, 1.0
            self.idle[part] += basis[:, own[idle]] @ rng.standard_normal(np.count_nonzero(idle))
        return J

    def _iterated(self, first: Array, second: Array) -> tuple[Array, Array]:
        """Solve by MINRES, which needs only products and finds the smallest solution."""
        from scipy.sparse.linalg import LinearOperator, minres  # slow to import

        at, n, active = self._at, len(first), self._split.active

        def product(v: Array) -> Array:
            c, w = v[:n], v[n:]
            upper = at.hessian(c) + at.pull(self._spread(w))
            return np.concatenate([upper, self._split.parts(at.apply(c))[active] - self._softness * w])

        K = LinearOperator((n + len(second),) * 2, matvec=product, dtype=float)
        columns = []
        for right in np.concatenate([first, second]).T:
            found = minres(K, right, rtol=_ACCURACY, maxiter=5 * K.shape[0])[0]
            if np.linalg.norm(product(found) - right) > _RESIDUAL * np.linalg.norm(right):
                raise NotDifferentiableError(_NOT_SOLVED)
            columns.append(found)
        solved = np.reshape(columns, (first.shape[1], K.shape[0])).T
        return solved[:n], solved[n:]


def _equilibrated(K: Array) -> Array:
    """Return factors that scale the entries of a symmetric matrix to at most about 1."""
    factors = np.ones(len(K))
    for _ in range(_ROUNDS):  # D. Ruiz, RAL-TR-2001-034
        size = np.abs(factors[:, None] * K * factors).max(axis=1, initial=0.0)
        factors = factors / np.sqrt(np.where(size > 0.0, size, 1.0))
    return np.asarray(factors)


def _check_regular(K: Array, lu: Array, d: int, is_differenced: bool) -> None:
    """Raise an error that gives the reason if the matrix is singular."""
    if not K.size:
        return
    if not np.isfinite(K).all():
        raise NotDifferentiableError(
            "A second derivative at the solution is not finite; check the functions."
        )
    condition = float(dgecon(lu, np.abs(K).sum(axis=0).max())[0])
    if condition > (_SINGULAR_DIFFERENCES if is_differenced else _SINGULAR):
        return
    values, vectors = np.linalg.eigh(K)
    null = vectors[:, np.abs(values).argmin()]
    is_flat = np.linalg.norm(null[:d]) > np.linalg.norm(null[d:])
    raise NotDifferentiableError(_FLAT if is_flat else _DEPENDENT)


_FLAT = (
    "The Lagrangian has no curvature along a direction of the active constraints: the solution may not be "
    "the only one nearby, or it lies at the edge of the manifold. Add a small multiple of a strictly convex "
    "function to the cost, use a quotient manifold such as `Grassmann` if the cost has a symmetry, or bound "
    "x away from the edge."
)

_DEPENDENT = (
    "The gradients of active constraints are linearly dependent, so the multipliers are not unique. Leave "
    "out constraints that follow from the others."
)

_NOT_SOLVED = (
    "The system of the derivative could not be solved by MINRES: it is singular or ill-conditioned. Check "
    "that the second-order condition holds strictly and that no active constraint follows from others, or "
    "scale the variables."
)
