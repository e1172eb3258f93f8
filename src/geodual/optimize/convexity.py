"""Geodesic convexity: search for geodesics that refute it; no number of them can prove it.

`check_convexity` is for users. `Declaration` determines what a result says about global minima: whether the
problem is declared convex, whether a geodesic refutes it, and how much less than x other points can then cost
(`GlobalBound`).
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np

from geodual.arrays import Array, Indices
from geodual.manifolds import Frame, Manifold, PymanoptManifold
from geodual.manifolds.base import check_size
from geodual.manifolds.frame import Point, Vector

from .checks import check_positive, named_constraints
from .constraint import UNDEFINED
from .kkt import random_direction
from .problem import ConstraintVector, EvaluatedPoint, Problem
from .trees import leaves, mapped

_EPS = float(np.finfo(float).eps)
_NOISE = 1e-8  # largest violation, relative to the size of the function, that counts as rounding error
_STEP = 1e-13  # length of a step, relative to a geodesic, that changes values only by rounding errors
_MARGIN = 100.0  # largest violation, relative to such a change, that counts as rounding error
_SHORTEST = 0.01  # length of the shortest geodesics, relative to the longest
_GEODESICS = 8  # that `minimize` checks: less work than a few iterations


@dataclass(frozen=True)
class FunctionConvexity:
    """The check of one function.

    Attributes
    ----------
    name : str
        The function.
    violation : float
        The largest f(m) − ½ (f(a) + f(b)) over all geodesics from a to b with midpoint m, relative to the
        largest |f| seen (or more, if f has large rounding errors). For an equality, which must be affine, the
        largest absolute value. It is −inf if nothing could be checked.
    n_geodesics : int
        Number of geodesics on which the function was checked.
    ends : tuple of two points, or None
        a and b of the largest violation.
    """

    name: str
    violation: float
    n_geodesics: int
    ends: tuple[Point, Point] | None = field(repr=False)

    @property
    def refuted(self) -> bool:
        """Whether the violation exceeds rounding errors."""
        return self.violation > _NOISE

    def __str__(self) -> str:
        if self.ends is None:
            return f"?    {self.name:<28} could not be checked near this point"
        row = f"{self.name:<28} largest violation {self.violation:9.2e} on {self.n_geodesics} geodesics"
        if not self.refuted:
            return f"ok   {row}"
        return "\n".join([f"FAIL {row}", *map(_shown, ("     between ", "         and "), self.ends)])


@dataclass(frozen=True)
class ConvexityCheck:
    """The result of `check_convexity`: false if a geodesic refutes convexity; prints as a table.

    Attributes
    ----------
    checks : tuple
        One check per function, each with `name`, `violation`, `n_geodesics`, `ends` and `refuted`.
    refuted : bool
        Whether a geodesic refutes convexity. False does not prove it.
    worst : object
        The check with the largest violation.

    See Also
    --------
    check_convexity : Returns a `ConvexityCheck`.

    Examples
    --------
    A parabola that opens downward is not convex, as the two ends show:

    >>> import numpy as np
    >>> from geodual.manifolds import Euclidean
    >>> from geodual.optimize import Problem, check_convexity
    >>> problem = Problem(Euclidean(1), lambda x: -x @ x, gradient=lambda x: -2.0 * x)
    >>> check = check_convexity(problem, np.zeros(1))
    >>> bool(check), check.refuted, check.worst.name
    (False, True, 'cost')
    >>> a, b = check.worst.ends
    >>> middle = 0.5 * (a + b)
    >>> bool(-middle @ middle > 0.5 * (-a @ a - b @ b))
    True
    """

    checks: tuple[FunctionConvexity, ...]

    @property
    def refuted(self) -> bool:
        """Whether a geodesic refutes convexity."""
        return any(check.refuted for check in self.checks)

    @property
    def worst(self) -> FunctionConvexity:
        """The check with the largest violation."""
        return max(self.checks, key=lambda check: check.violation)

    def __bool__(self) -> bool:
        return not self.refuted

    def __str__(self) -> str:
        end = "Refuted." if self.refuted else "Not refuted, which is no proof."
        return "\n".join([*map(str, self.checks), end])


def check_convexity(
    problem: Problem,
    x0: Point,
    *,
    n_geodesics: int = 100,
    radius: float | None = None,
    rng: np.random.Generator | None = None,
) -> ConvexityCheck:
    """Search for geodesics that refute the geodesic convexity of a problem.

    Along every geodesic from a to b with midpoint m, a convex function has f(m) ≤ ½ (f(a) + f(b)). This must
    hold for the cost and all inequalities, and with equality for equalities and maps of terms, which must be
    affine. Then every KKT point is a global minimum. The check draws geodesics of different lengths around
    `x0`. One violation refutes convexity; no number of geodesics proves it. In many dimensions, random
    geodesics easily miss a single direction in which a function is not convex.

    On a Hadamard manifold, geodesics may lie anywhere. On others, such as a sphere, only constants are convex
    everywhere, so a problem can be convex only on a geodesically convex part, such as the interior of a
    hemisphere. There, only geodesics whose ends satisfy all inequalities (and bounds) count: state the part
    that you mean as an inequality, or choose a small `radius`.

    Parameters
    ----------
    problem : Problem
        The problem.
    x0 : Point
        Point around which to draw geodesics.
    n_geodesics : int
        Number of geodesics. A geodesic does not count for functions without a finite value on it, and not at
        all if numbers overflow.
    radius : float, optional
        Largest distance of midpoints from `x0`, and half the length of the longest geodesic. The default is 1
        or, at a large point of flat space, its largest entry; it is smaller on small manifolds.
    rng : numpy Generator, optional
        Draws the geodesics; a fixed seed by default.

    Returns
    -------
    ConvexityCheck
        False if convexity is refuted; print it to see for which function and between which points.

    See Also
    --------
    Problem : Takes the declaration `geodesically_convex`, which `minimize` checks on a few geodesics.

    References
    ----------
    N. Boumal, *An Introduction to Optimization on Smooth Manifolds*, Cambridge University Press, 2023,
    Chapter 11.

    Examples
    --------
    Along geodesics of positive definite matrices, the logarithm of the determinant is affine, although it is
    concave in the usual sense, and the trace is convex:

    >>> import numpy as np
    >>> from geodual.manifolds import SPD
    >>> from geodual.optimize import Problem, check_convexity
    >>> problem = Problem(SPD(2), np.trace, gradient=lambda x: np.eye(2),
    ...                   equalities=lambda x: np.linalg.slogdet(x)[1],
    ...                   equality_jacobian_product=lambda x, w: w[0] * np.linalg.inv(x))
    >>> bool(check_convexity(problem, np.eye(2)))
    True
    """
    if not has_geodesics(problem.manifold):
        raise ValueError(
            f"{problem.manifold} has no geodesics in closed form, so convexity cannot be checked along them."
        )
    check_size(n_geodesics, "n_geodesics")
    check_positive("radius", radius)
    rng = np.random.default_rng(0) if rng is None else rng
    x0 = problem.manifold.check_point(x0)
    seeds = rng.integers(2**63, size=n_geodesics)
    with np.errstate(all="ignore"):  # functions may be undefined at some ends
        return _Search(problem, x0, radius).run(seeds)


def has_geodesics(manifold: Manifold) -> bool:
    """Return whether the `exp` of a manifold follows geodesics, not only a retraction."""
    if not isinstance(manifold, PymanoptManifold):
        return manifold.has_log
    return all(factor.implements("exp") for factor in manifold.factors)


class _Search:
    """Find the largest violations of all functions, as one vector: f first, then the constraints."""

    def __init__(self, problem: Problem, x0: Point, radius: float | None) -> None:
        self._problem, self._manifold = problem, problem.manifold
        self._center = problem.manifold.frame(x0)
        self._constraints = ConstraintVector(problem, x0)
        default = min(1.0, 0.5 * problem.manifold.step_limit) * self._center.unit
        self._radius = default if radius is None else radius
        size = 1 + self._constraints.size
        self._affine = np.arange(size) > self._constraints.n_inequalities  # equalities and maps of terms
        self._worst, self._largest, self._error = np.full(size, -np.inf), np.zeros(size), np.zeros(size)
        self._used, self._found = np.zeros(size, dtype=int), np.zeros(size, dtype=np.intp)

    def run(self, seeds: Any) -> ConvexityCheck:
        for k, seed in enumerate(seeds):
            try:
                points = self._geodesic(seed)
            except UNDEFINED:  # so long that numbers overflow
                continue
            values = np.array([self._values(x) for x in points])
            if self._counts(values):
                self._note(k, values)
        scale = self._largest + _MARGIN / _NOISE * self._error
        relative = self._worst / np.where(scale > 0.0, scale, 1.0)
        return ConvexityCheck(tuple(self._row(name, part, relative, seeds) for name, part in self._names()))

    def _geodesic(self, seed: int) -> tuple[Point, Point, Point, Point]:
        """Return one end, the midpoint, the other end, and the midpoint again, without a logarithm.

        The last one is computed in the same way as the ends, so that its values differ by rounding errors.
        """
        rng = np.random.default_rng(seed)
        scale = self._radius * _SHORTEST ** rng.uniform()  # of all orders: short geodesics stay in small sets
        middle = self._center.exp(scale * random_direction(self._center, rng))
        frame = self._manifold.frame(middle)
        velocity = scale * random_direction(frame, rng)
        return frame.exp(-velocity), middle, frame.exp(velocity), frame.exp(_STEP * velocity)

    def _values(self, x: Point) -> Array:
        try:
            point = self._constraints.evaluate(x)
        except UNDEFINED:
            return np.full(len(self._worst), np.nan)
        return np.concatenate([[point.cost], point.constraints])

    def _counts(self, values: Array) -> bool:
        """Return whether the declaration applies at the ends."""
        ends = values[[0, 2], 1 : 1 + self._constraints.n_inequalities]
        return self._manifold.hadamard or bool((ends <= 0.0).all())

    def _note(self, k: int, values: Array) -> None:
        gap = values[1] - 0.5 * (values[0] + values[2])
        gap = np.where(self._affine, np.abs(gap), gap)
        valid = np.isfinite(values).all(axis=0)
        higher = valid & (gap > self._worst)
        self._worst[higher], self._found[higher] = gap[higher], k
        self._used = self._used + valid
        self._largest = np.maximum(self._largest, np.where(valid, np.abs(values).max(axis=0), 0.0))
        self._error = np.maximum(self._error, np.where(valid, np.abs(values[3] - values[1]), 0.0))

    def _names(self) -> list[tuple[str, Indices]]:
        """Return the names of the functions and the positions of their entries."""
        names, end = [("cost", np.arange(1))], 1
        for name, block in named_constraints(self._problem):
            size = len(block(self._center.point))
            names.append((name, np.arange(end, end + size)))
            end += size
        return names

    def _row(self, name: str, part: Indices, relative: Array, seeds: Any) -> FunctionConvexity:
        worst = int(part[np.argmax(relative[part])]) if part.size else 0
        if not part.size or not self._used[worst]:
            return FunctionConvexity(name, -np.inf, 0, None)
        a, _, b, _ = self._geodesic(seeds[self._found[worst]])
        entry = f"{name}, entry {worst - part[0]}" if part.size > 1 else name
        return FunctionConvexity(entry, float(relative[worst]), int(self._used[worst]), (a, b))


def _shown(prefix: str, x: Point) -> str:
    """Format a point in a few lines after a prefix, one part of a product below the other."""
    parts = [np.array2string(np.asarray(p), precision=4, threshold=12, prefix=prefix) for p in leaves(x)]
    return prefix + ("\n" + " " * len(prefix)).join(parts)


@dataclass(frozen=True)
class Declaration:
    """The declaration `geodesically_convex` of a problem.

    Attributes
    ----------
    problem : Problem
        The problem.
    state : str
        "none" if nothing is declared, "open" if no geodesic refuted it, "refuted", or "unchecked".
    """

    problem: Problem
    state: Literal["none", "open", "refuted", "unchecked"]

    @classmethod
    def examined(cls, problem: Problem, x0: Point) -> Self:
        """Check the declaration on a few geodesics around the start; warn if one refutes it.

        This is a warning, not an error, because the solve still finds the same as without the declaration,
        and because inexactly computed functions may only seem not to be convex.
        """
        if not problem.geodesically_convex:
            return cls(problem, "none")
        if not has_geodesics(problem.manifold):
            return cls(problem, "unchecked")
        check = check_convexity(problem, x0, n_geodesics=_GEODESICS)
        if check.refuted:
            warnings.warn(_WARNING.format(check.worst), UserWarning, stacklevel=3)
        return cls(problem, "refuted" if check.refuted else "open")

    @property
    def stands(self) -> bool:
        """Whether convexity is declared and not refuted."""
        return self.state in ("open", "unchecked")

    def bound(
        self, constraints: ConstraintVector, point: EvaluatedPoint, multipliers: Array, x0: Point
    ) -> GlobalBound:
        """Return how much less than a given point others can cost, if the declaration is true.

        Parameters
        ----------
        constraints : ConstraintVector
            The constraints of the problem, in the metric of the solve.
        point : EvaluatedPoint
            The point x, with its frame in that metric.
        multipliers : array of shape (m,)
            λ, at least 0 for inequalities.
        x0 : Point
            The start of the solve.
        """
        x, manifold = point.x, self.problem.manifold
        own = manifold.frame(x)
        terms = np.array([point.cost, *(multipliers * point.constraints)])
        slack = float(
            16.0 * _EPS * np.abs(terms).sum() - terms[1:].sum()
        )  # 16: as in `LocalLagrangian.noise`
        gradients = constraints.lagrangian_gradient(x, 1.0, multipliers), self.problem.gradient(x)
        slopes = [_norm_with_rounding(frame, *gradients) for frame in (own, point.frame)]
        radii = [reach(frame, x0, self.problem) for frame in (own, point.frame)]
        is_scaled = (slopes[0], radii[0]) != (slopes[1], radii[1])
        return GlobalBound(
            slopes[0],
            slack,
            radii[1],
            slopes[1],
            "" if manifold.hadamard else f" of the geodesically convex part of {manifold} that is meant",
            " (in scaled variables)" if is_scaled else "",
        )

    def words(self, contradiction: str, bound: GlobalBound | None, is_global: bool) -> str:
        """Return the text for a converged point, given what, if anything, contradicts the declaration there.

        The text begins with a space; it is empty if nothing is declared.
        """
        if self.state == "none":
            return ""
        if self.state == "refuted":
            contradiction = "a geodesic refutes that (see check_convexity)"
        if bound is None:
            return f" It is declared geodesically convex, but {contradiction}: no global minimum is claimed."
        manifold = self.problem.manifold
        checked = "" if self.state == "open" else f" nor checked: {manifold} has no geodesics in closed form"
        large = "" if is_global else " That is too much for a global minimum: try a smaller `tol`."
        return f" {bound}{large} The declaration is not proved{checked}."


@dataclass(frozen=True)
class GlobalBound:
    """The most by which a feasible point within distance R can cost less than x: `slope` R + `slack`.

    Along the geodesic from x to a feasible y, a convex Lagrangian lies above its tangent, and at y it is at
    most f(y). So f(y) ≥ f(x) + Σ λₖ hₖ(x) + Σ μⱼ gⱼ(x) − ‖grad L(x)‖ d(x, y).

    Attributes
    ----------
    slope : float
        ‖grad L(x)‖ in the metric of the user, with its rounding error.
    slack : float
        −Σ λₖ hₖ(x) − Σ μⱼ gⱼ(x), with its rounding error.
    radius, scaled_slope : float
        A radius that suits the problem, and the slope, both in the metric of the solve.
    region, metric : str
        Text for messages: where the declaration applies, and the metric of the radius.
    """

    slope: float
    slack: float
    radius: float
    scaled_slope: float
    region: str = ""
    metric: str = ""

    def gap(self, radius: float) -> float:
        """Return how much less a feasible point within a distance, in the metric of the user, can cost."""
        return _gap(self.slope, radius, self.slack)

    @property
    def usual_gap(self) -> float:
        """The gap at the radius that suits the problem."""
        return _gap(self.scaled_slope, self.radius, self.slack)

    def is_small(self, cost: float, share: float, unit: float) -> bool:
        """Return whether the usual gap is at most a share of the cost, or of its unit if that is larger."""
        return self.usual_gap <= share * max(abs(cost), min(unit, 1.0))

    def __str__(self) -> str:
        return (
            f"No feasible point{self.region} within distance {self.radius:.3g} of x{self.metric} costs less "
            f"by more than {self.usual_gap:.2g} (if the declaration of convexity is true)."
        )


def _gap(slope: float, radius: float, slack: float) -> float:
    gap = slope * radius + slack
    return max(gap, 0.0) if np.isfinite(gap) else np.inf


def _norm_with_rounding(frame: Frame, egrad: Vector, part: Vector) -> float:
    """Return the norm of a gradient plus its rounding error, given one of the terms that cancel."""
    return frame.norm(frame.gradient(egrad)) + _EPS * frame.norm(frame.gradient(part))


def reach(frame: Frame, x0: Point, problem: Problem) -> float:
    """Return a radius that suits a problem, from the size of x, its bounds and its distance from the start.

    If all entries of x have two bounds, it covers all points within them. In flat space the start does not
    count, because there x has a size.
    """
    lengths = [frame.unit]
    if problem.bounds is not None:
        lengths.append(frame.norm(frame.coordinates(_widest(frame.point, problem.bounds))))
    if problem.manifold.has_log and np.isfinite(problem.manifold.step_limit):
        with suppress(*UNDEFINED):
            lengths.append(frame.dist(x0))
    return max(lengths)


def _widest(x: Point, bounds: Any) -> Vector:
    """Return the distance of each entry from the farther of its finite bounds; 0 where there is none."""
    parts = zip(leaves(x), leaves(bounds.lower), leaves(bounds.upper), strict=True)
    widths = (np.abs(np.stack([low - part, high - part])) for part, low, high in parts)
    found = iter([np.where(np.isfinite(width), width, 0.0).max(axis=0) for width in widths])
    return mapped(lambda _: next(found), x)


_WARNING = (
    "The problem is declared geodesically convex, but a geodesic refutes it, so the result claims no global "
    "minimum. Correct the problem, or leave out `geodesically_convex`; see check_convexity.\n{}"
)
