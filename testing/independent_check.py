"""Check the solution of a solver by finite differences of cost and constraints alone.

Neither `geodual.optimize` nor derivatives of the problem are used. A point x gets coordinates a ∈ Rᵈ:
x(a) = retract(x, Σ aᵢeᵢ) with an orthonormal basis e of the tangent space. The basis is found by differencing
points and measuring their velocities with metrics written out below. In these coordinates, a manifold is flat
space, so that gradients and Hessians at a = 0 are those of ordinary functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodual.manifolds import SPD, Grassmann, Hyperbolic, Manifold, PositiveOrthant, Power, Product, Simplex

from .term_check import TermAnswer, map_value

Array = NDArray[np.floating[Any]]

STEP = 3e-4  # of first differences: their error, of order 4, and rounding errors are both about 1e-12
WIDE_STEP = 1e-3  # of second differences: their error, of order 2, and rounding errors are below 1e-5
RELATIVE = 1e-7  # allowed error of a gradient by finite differences, relative to its terms
SLACK = 10.0  # factor by which tolerances may be exceeded, because units are measured differently here
ACTIVE = 1e-6  # relative value of an inequality above which it counts as active
CURVATURE = 1e-3  # relative negative curvature that counts as a descent direction
NEIGHBORS = (1e-2, 1e-3, 1e-4)  # distances at which to search for a feasible neighbor in a direction
TRIES = 10  # random directions for the search for neighbors

_EPS = float(np.finfo(float).eps)
_WEIGHTS = {-2: 1.0 / 12.0, -1: -2.0 / 3.0, 1: 2.0 / 3.0, 2: -1.0 / 12.0}  # central difference of order 4


@dataclass(frozen=True)
class Verdict:
    """The violation of the KKT conditions by a solution, relative to what is allowed: at most 1 in all parts.

    Attributes
    ----------
    stationarity, feasibility, complementarity : float
        The parts of the KKT residual.
    sign : float
        Infinite if an inequality has a negative multiplier, otherwise 0.
    fall : float
        Decrease of the cost at a feasible neighbor; 0 if it increases.
    terms : float
        Distance of a term's multiplier from a subgradient, or of its value from c(x).
    """

    stationarity: float
    feasibility: float
    complementarity: float
    sign: float
    fall: float
    terms: float = 0.0

    @property
    def is_kkt_point(self) -> bool:
        """Whether the KKT conditions hold."""
        parts = (self.stationarity, self.feasibility, self.complementarity, self.sign, self.terms)
        return all(part <= 1.0 for part in parts)  # False for NaN

    @property
    def is_minimum(self) -> bool:
        """Whether none of the tried neighbors is both feasible and better."""
        return self.fall <= 1.0


def check_answer(
    problem: Any,
    start: Any,
    x: Any,
    multipliers: Array,
    equality_multipliers: Array,
    tol: float,
    terms: Sequence[Any] = (),
) -> Verdict:
    """Check a point and its multipliers.

    Parameters
    ----------
    problem : Problem
        The problem; only `manifold` and the values of cost and constraints are used.
    start : point
        Start of the solver; `docs/notation.md` defines the units of residuals by the sizes there.
    x : point
        The solution.
    multipliers, equality_multipliers : array
        The multipliers of the solution.
    tol : float
        The tolerance that the solver claims to have reached.
    terms : sequence of TermValue
        The terms of the solution, each with its `value` and `multiplier`.
    """
    there = LocalFunctions(problem, start)
    here = LocalFunctions(problem, x)
    lam, n = np.concatenate([multipliers, equality_multipliers]), len(multipliers)
    m = len(lam)
    cost_unit = _unit(*(max(_cost_size(f), _term_slope(f)) for f in (there, here)))
    all_sizes = np.maximum(_constraint_sizes(there), _EPS)
    sizes, units = all_sizes[:m], _unit(all_sizes[:m], all_sizes[:m])
    c = here.values[1 : m + 1]
    excess = np.where(np.arange(m) < n, np.maximum(c, 0.0), np.abs(c))
    answers = _term_answers(here, terms, all_sizes[m:], cost_unit)
    weights = np.concatenate([[1.0], lam, *(np.ravel(answer.y) for answer in answers)])
    gradient = weights @ here.jacobian
    noise = RELATIVE * here.terms(weights)
    noise += 10.0 * _EPS / STEP * float(np.abs(weights) @ np.abs(here.values))
    active = (np.arange(m) >= n) | (c > -ACTIVE * sizes)
    return Verdict(
        stationarity=float(np.linalg.norm(gradient)) / (SLACK * tol * cost_unit + noise),
        feasibility=float(np.max(excess / (SLACK * tol * units), initial=0.0)),
        complementarity=float(np.max(np.abs(lam * c)[:n], initial=0.0)) / (SLACK * tol * cost_unit),
        sign=float(np.inf if (multipliers < 0.0).any() else 0.0),
        fall=_greatest_fall(here, weights, active, n, noise + SLACK * tol * cost_unit, answers),
        terms=max((max(a.distance, a.excess) / (SLACK * tol) for a in answers), default=0.0),
    )


def check_result(problem: Any, start: Any, result: Any) -> Verdict:
    """Check a `Result` of a solve that started at `start`."""
    answer = (result.x, result.multipliers, result.equality_multipliers)
    with np.errstate(all="ignore"):  # neighbors may lie where a logarithm has no value
        return check_answer(problem, start, *answer, result.tol, result.terms)


def _term_answers(
    here: LocalFunctions, terms: Sequence[Any], sizes: Array, cost_unit: float
) -> list[TermAnswer]:
    """Return the solver's claims about each term; the unit of a map is the median size of its entries."""
    answers, first = [], 0
    for term, said in zip(here.problem.terms, terms, strict=True):
        c = map_value(term, here.x)
        unit = float(_unit(*(2 * [np.median(sizes[first : first + c.size])])))
        answers.append(TermAnswer(term.function, c, said.value, said.multiplier, unit, float(cost_unit)))
        first += c.size
    return answers


class LocalFunctions:
    """Cost and constraints around a point, as functions of coordinates a ∈ Rᵈ."""

    def __init__(self, problem: Any, x: Any) -> None:
        self.problem, self.x = problem, x
        self.basis = _orthonormal_tangents(problem.manifold, x)
        self.values = self(np.zeros(len(self.basis)))
        """Cost, inequalities, equalities and the maps of terms at the point."""
        self.jacobian = self.derivative(np.eye(len(self.basis)))
        """Their gradients, one per row."""

    def __call__(self, a: Array) -> Array:
        """Return cost, inequalities, equalities and the maps of terms at x(a)."""
        y = self.problem.manifold.retract(self.x, _combined(a, self.basis)) if a.any() else self.x
        blocks = (*self.problem.inequalities, *self.problem.equalities)
        maps = [np.ravel(map_value(term, y)) for term in self.problem.terms]
        values = [np.atleast_1d(block.value(y)) for block in blocks]
        return np.concatenate([[self.problem.cost(y)], *values, *maps])

    def term_cost(self, values: Array) -> float:
        """Return Σ g(c), given the result of a call at a point."""
        shapes = [map_value(term, self.x).shape for term in self.problem.terms]
        return sum(
            term.function.value(c) for term, c in zip(self.problem.terms, _split(values, shapes), strict=True)
        )

    def _along(self, direction: Array, t: float) -> Array:
        return self(t * direction)

    def derivative(self, directions: Array) -> Array:
        """Return the derivatives along directions, one column per direction."""
        columns = [_differenced(partial(self._along, d)) for d in directions]
        return np.reshape(columns, (len(directions), len(self.values))).T

    def terms(self, weights: Array) -> float:
        """Return the size of the gradients in a weighted sum, before they cancel."""
        return float(np.abs(weights) @ np.linalg.norm(self.jacobian, axis=1))

    def hessian(self, weights: Array, directions: Array) -> Array:
        """Return the Hessian of the weighted sum of all functions, restricted to orthonormal directions."""
        k = len(directions)
        bends = np.array([self._bend(weights, d) for d in directions])
        hessian = np.diag(bends)
        for i, j in zip(*np.triu_indices(k, 1), strict=True):
            both = self._bend(weights, directions[i] + directions[j])
            hessian[i, j] = hessian[j, i] = 0.5 * (both - bends[i] - bends[j])
        return hessian

    def _bend(self, weights: Array, direction: Array) -> float:
        """Return the second derivative of a weighted sum along a direction."""
        d = WIDE_STEP * direction
        return float(weights @ (self(d) + self(-d) - 2.0 * self.values)) / WIDE_STEP**2


def _differenced(curve: Callable[[float], Array]) -> Array:
    """Return the derivative of a curve at 0, by a central difference of order 4."""
    return np.asarray(np.sum([weight * curve(k * STEP) for k, weight in _WEIGHTS.items()], axis=0) / STEP)


def _orthonormal_tangents(manifold: Manifold, x: Any) -> list[Any]:
    """Return an orthonormal basis of the tangent space, from the velocities of random curves."""
    rng = np.random.default_rng(0)
    drawn = [manifold.random_tangent(x, rng) for _ in range(2 * manifold.dim)]
    chart = _isometric_chart(manifold, x)

    def position(u: Any, t: float) -> Array:
        return chart(manifold.retract(x, _combined([t], [u])))

    velocities = [_differenced(partial(position, u)) for u in drawn]
    # V = P S Qᵀ: the combinations P/S of the tangent vectors have the orthonormal velocities Q.
    p, s, _ = np.linalg.svd(np.array(velocities), full_matrices=False)
    rank = int(np.sum(s > 1e-6 * s[0]))
    if rank != manifold.dim:
        raise ValueError(f"{manifold} has dimension {manifold.dim}, but its curves span {rank}; check it.")
    return [_combined(p[:, k] / s[k], drawn) for k in range(rank)]


def _isometric_chart(manifold: Manifold, x: Any) -> Callable[[Any], Array]:
    """Return a map of points to vectors that preserves the lengths of tangent vectors at `x`."""
    if isinstance(manifold, (Product, Power)):
        factors = manifold.factors if isinstance(manifold, Product) else [manifold.manifold] * manifold.n
        charts = [_isometric_chart(factor, part) for factor, part in zip(factors, x, strict=True)]
        return lambda y: np.concatenate([chart(part) for chart, part in zip(charts, y, strict=True)])
    if isinstance(manifold, SPD):
        inverse = np.linalg.inv(np.linalg.cholesky(x))
        return lambda y: (0.5 * inverse @ (y + y.T) @ inverse.T).ravel()
    if isinstance(manifold, PositiveOrthant):
        return lambda y: (y / x).ravel()
    if isinstance(manifold, Simplex):
        return lambda y: np.log(y) - np.mean(np.log(y))
    if isinstance(manifold, Grassmann):
        return lambda y: (y @ y.T).ravel() / np.sqrt(2.0)
    if isinstance(manifold, Hyperbolic):
        # The Poincaré ball has the metric 2/(1 − |p|²) times the flat one, and 1 − |p|² = 2/(1 + x₀).
        return lambda y: (1.0 + x[0]) * y[1:] / (1.0 + y[0])
    return lambda y: np.asarray(y).ravel()


def _combined(weights: Sequence[float] | Array, vectors: Sequence[Any]) -> Any:
    """Return a weighted sum of ambient vectors."""
    if isinstance(vectors[0], (tuple, list)):
        return tuple(_combined(weights, parts) for parts in zip(*vectors, strict=True))
    return np.tensordot(weights, np.array(vectors), 1)


def _unit(size: Any, size_at_end: Any) -> Any:
    """Return the unit of residuals: the size below 1, 1 up to 10⁴, and 10⁻⁴ of it beyond."""
    large = np.maximum(1.0, 1e-4 * np.minimum(size, size_at_end))
    return np.where(np.asarray(size) < 1.0, size, large)


def _cost_size(functions: LocalFunctions) -> float:
    """Return the larger of slope and curvature."""
    slope = functions.jacobian[0]
    length = float(np.linalg.norm(slope))
    directions = [slope / length] if length > 0.0 else list(np.eye(len(slope))[:3])
    only_cost = np.eye(1, len(functions.values))[0]
    bends = np.abs(np.diag(functions.hessian(only_cost, np.array(directions))))
    return float(max(length, *bends))


def _constraint_sizes(functions: LocalFunctions) -> Array:
    """Return the larger of gradient, value and change after a step of length 1, for each constraint."""
    size, values = np.linalg.norm(functions.jacobian[1:], axis=1), functions.values[1:]
    rng = np.random.default_rng(0)
    for _ in range(3):
        direction = rng.standard_normal(len(functions.basis))
        change = functions(direction / np.linalg.norm(direction))[1:] - values
        size = np.maximum(size, np.nan_to_num(np.abs(change), posinf=0.0))
    return np.asarray(np.maximum(size, np.abs(values)))


def _split(values: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Return the maps of terms, which come last among the values, in their shapes."""
    sizes = [int(np.prod(shape)) for shape in shapes]
    first, parts = len(values) - sum(sizes), []
    for shape, size in zip(shapes, sizes, strict=True):
        parts.append(values[first : first + size].reshape(shape))
        first += size
    return parts


def _term_slope(functions: LocalFunctions) -> float:
    """Return the slope of the terms from their changes along random unit directions; 0 where infinite."""
    rng, dim = np.random.default_rng(1), len(functions.basis)
    if not functions.problem.terms:
        return 0.0
    directions = rng.standard_normal((6, dim))
    steps = (directions / np.linalg.norm(directions, axis=1)[:, None]) @ functions.jacobian.T
    before = functions.term_cost(functions.values)
    changes = np.array([functions.term_cost(functions.values + step) - before for step in steps])
    return float(np.sqrt(dim * np.mean(np.where(np.isfinite(changes), changes, 0.0) ** 2)))


def _greatest_fall(
    here: LocalFunctions,
    weights: Array,
    active: NDArray[np.bool_],
    n_inequalities: int,
    slope: float,
    answers: Sequence[TermAnswer],
) -> float:
    """Return the decrease of the cost at a feasible neighbor, relative to what is allowed."""
    rows, shapes = here.jacobian[1 : len(active) + 1][active], [answer.c.shape for answer in answers]
    maps = [_split(column, shapes) for column in here.jacobian.T]
    for k, answer in enumerate(answers):
        rows = np.vstack([rows, answer.normals @ np.array([np.ravel(parts[k]) for parts in maps]).T])
    normal, free = _row_space_and_complement(rows, len(here.basis))
    if not len(free):
        return 0.0
    curvatures, vectors = np.linalg.eigh(here.hessian(weights, free))
    rng = np.random.default_rng(0)
    directions = np.vstack([vectors[:, :1].T, rng.standard_normal((TRIES, len(free)))]) @ free
    size = max(float(np.abs(curvatures).max()), here.terms(weights))
    falls = [0.0]
    for d in np.vstack([directions, -directions]):
        for length in NEIGHBORS:
            allowed = length * slope + CURVATURE * length**2 * size + 10.0 * _EPS * abs(here.values[0])
            step = length / np.linalg.norm(d) * d
            falls.append(_fall(here, step, weights, active, n_inequalities, normal, answers) / allowed)
            if np.isfinite(falls[-1]):
                break
    return float(max(falls))


def _row_space_and_complement(rows: Array, d: int) -> tuple[Array, Array]:
    """Return the pseudo-inverse of J and an orthonormal basis of its null space, as rows."""
    if not len(rows):
        return np.zeros((d, 0)), np.eye(d)
    scale = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    _, s, vt = np.linalg.svd(rows / scale[:, None])
    rank = int(np.sum(s > 1e-6 * max(s[0], 1.0)))
    return np.linalg.pinv(rows / scale[:, None], rcond=1e-6) / scale, vt[rank:]


def _fall(
    here: LocalFunctions,
    a: Array,
    weights: Array,
    active: NDArray[np.bool_],
    n_inequalities: int,
    normal: Array,
    answers: Sequence[TermAnswer],
) -> float:
    """Move a neighbor onto the feasible set and return the decrease of its cost; −∞ if that fails."""
    m, shapes = len(active), [answer.c.shape for answer in answers]
    lam, is_equality = weights[1 : m + 1], np.arange(m) >= n_inequalities
    for _ in range(4):
        values = here(a)
        c = values[1 : m + 1]
        excess = np.where(is_equality, c, np.maximum(c, 0.0))
        maps = _split(values, shapes)
        off = [answer.off(each) for answer, each in zip(answers, maps, strict=True)]
        wrong = np.concatenate([excess[active], *off])
        if not wrong.any():
            break
        a = a - normal @ wrong
    if (np.abs(excess[~active]) > 0.0).any() or not np.isfinite(values).all():
        return -np.inf
    # The violation allowed by the tolerance lowers the cost of the solution by ⟨λ, c⟩: add this again. The
    # remaining violation of the neighbor counts at twice its price.
    cost = here.values[0] + lam @ here.values[1 : m + 1] + sum(answer.cost for answer in answers)
    there = values[0] + sum(answer.cost_at(each) for answer, each in zip(answers, maps, strict=True))
    return float(cost - there - 2.0 * np.abs(lam) @ np.abs(excess))
