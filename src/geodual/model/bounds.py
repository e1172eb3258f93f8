"""Compute lower bounds on the cost of every feasible point of a problem proved to be convex.

For multipliers of the right signs, the Lagrangian L is convex, and not above the cost at feasible points. So
any lower bound on L over all points is one on the cost. Each function below bounds L from its value and
derivatives at one point x, the solver's solution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from geodual.arrays import Array
from geodual.manifolds import SPD, Euclidean, PositiveOrthant, Simplex, SkewSymmetric, Symmetric
from geodual.manifolds.frame import Coordinates, Frame
from geodual.optimize import L1, GroupL2, Max, PositiveSemidefinite, Result, SpectralNorm
from geodual.optimize.dense_hessian import tangent_basis

from .atoms.arithmetic import Add, Multiply
from .atoms.distances import MatrixDistance2, PointDistance2
from .atoms.elementwise import Log
from .atoms.matrices import Inner, LogDet, Trace
from .atoms.reductions import Norm2, Sum, SumSquares
from .compiled import Compiled, held_value
from .expression import Constant, Expression, Variable
from .facts import Facts, Geometry
from .graph import Graph

_EPS = float(np.finfo(float).eps)
_ERROR = 32.0  # rounding errors of a sum of a few hundred numbers, in units of eps times their sizes
_MOST = 500  # dimensions: an eigendecomposition of this size takes 0.1 s


@dataclass(frozen=True)
class LowerBound:
    """A lower bound on the cost of every feasible point.

    Attributes
    ----------
    value : float or None
        The bound; None if there is none.
    reason : str
        How the bound follows, or why there is none.
    """

    value: float | None
    reason: str


def lower_bound(compiled: Compiled, result: Result, geometry: Geometry) -> LowerBound:
    """Return the best known lower bound for a problem proved to be convex."""
    with np.errstate(all="ignore"):
        lagrangian = LagrangianAt(compiled, result, geometry)
        routes: list[Callable[[LagrangianAt], LowerBound]] = [_exact]
        routes += [_straight] if geometry == "euclidean" else [_strong, _self_limiting, _within_radius]
        bounds = [route(lagrangian) for route in routes]
    found = [bound for bound in bounds if bound.value is not None and np.isfinite(bound.value)]
    if found:
        return max(found, key=lambda bound: bound.value)  # type: ignore[arg-type, return-value]
    return LowerBound(None, " ".join(bound.reason for bound in bounds if bound.reason))


class LagrangianAt:
    """The Lagrangian of a form at a point, with multipliers of the right signs.

    Attributes
    ----------
    parts : list of pairs of Expression and array
        All functions with their weights.
    value : float
        L(x), minus its rounding error.
    """

    def __init__(self, compiled: Compiled, result: Result, geometry: Geometry) -> None:
        self.compiled, self.x, self.geometry = compiled, _into_balls(compiled, result.x), geometry
        form = compiled.form
        weights: list[Any] = [np.ones(())]
        weights += _split(np.maximum(result.multipliers, 0.0), form.inequalities)
        weights += _split(result.equality_multipliers, form.equalities)
        weights += [
            _dual(function, _bent_up(mapped, np.asarray(term.multiplier), geometry))
            for (function, mapped), term in zip(form.terms, result.terms, strict=True)
        ]
        outputs = [form.cost, *form.inequalities, *form.equalities, *(mapped for _, mapped in form.terms)]
        self.parts = list(zip(outputs, weights, strict=True))
        self._places = {k: np.asarray(w) for k, w in enumerate(weights) if np.any(w)}
        values = compiled.at(self.x).outputs()
        sums = [float(np.sum(w * v)) for w, v in zip(weights, values, strict=True)]
        sizes = [float(np.sum(np.abs(w * v))) for w, v in zip(weights, values, strict=True)]
        self.value = sum(sums) - _ERROR * _EPS * sum(sizes)

    @cached_property
    def frame(self) -> Frame:
        """The tangent space at x."""
        return self.compiled.manifold.frame(self.x)

    @cached_property
    def egrad(self) -> Any:
        """The Euclidean gradient, with the structure of x."""
        return self.compiled.gradient(self.x, self._places)

    @cached_property
    def slope(self) -> float:
        """Norm of the Riemannian gradient, plus the rounding errors of the parts that cancel."""
        frame, each = self.frame, []
        for k, weight in self._places.items():
            each.append(frame.norm(frame.gradient(self.compiled.gradient(self.x, {k: weight}))))
        return frame.norm(frame.gradient(self.egrad)) + _ERROR * _EPS * sum(each)

    def facts(self) -> list[tuple[Facts, Array]]:
        """Return the facts about all functions with weights."""
        return [(e.facts(self.geometry), np.asarray(w)) for e, w in self.parts if np.any(w)]

    def curvature_and_slope(self) -> tuple[float, float]:
        """Return the smallest eigenvalue of the Riemannian Hessian and the norm of the gradient.

        Affine equalities e add ρ‖e‖²/2 to L, which is 0 at feasible points and convex, without third
        derivatives. So directions that violate the equalities do not count.
        """
        frame = self.frame
        to_hessian = frame.hessian_map(self.egrad)
        basis = tangent_basis(frame, self.compiled.manifold.dim)

        def product(row: Array) -> Array:
            c: Coordinates = row.reshape(frame.shape)
            along = self.compiled.hessian_product(self.x, self._places, frame.tangent(c))
            return np.ravel(to_hessian(along, c))

        H = np.array([product(row) for row in basis]) @ basis.T
        rows, residual = self._equalities(frame)
        slope = self.slope
        if rows.size:
            J = rows @ basis.T
            rho = float(np.linalg.norm(H) / max(float(np.linalg.norm(J)) ** 2, _EPS))
            H = H + rho * J.T @ J
            slope += rho * float(np.linalg.norm(J.T @ residual))
        eigenvalues = np.linalg.eigvalsh(0.5 * (H + H.T))
        return float(eigenvalues[0] - len(basis) * _ERROR * _EPS * np.abs(eigenvalues).max()), slope

    def _equalities(self, frame: Frame) -> tuple[Array, Array]:
        """Return the gradients of all equalities as rows, and their values."""
        form, rows, values = self.compiled.form, [], []
        outputs = self.compiled.at(self.x).outputs()
        for k, equality in enumerate(form.equalities, start=1 + len(form.inequalities)):
            values.append(np.ravel(outputs[k]))
            for unit in np.eye(int(np.prod(equality.shape, dtype=int))):
                egrad = self.compiled.gradient(self.x, {k: unit.reshape(equality.shape)})
                rows.append(np.ravel(frame.gradient(egrad)))
        return np.array(rows), np.concatenate([np.zeros(0), *values])


def _exact(lagrangian: LagrangianAt) -> LowerBound:
    """Minimize L in closed form if it is linear minus multiples of log det X and log x.

    With L(Y) = L(X) + ⟨G + w X⁻¹, Y − X⟩ − w log det(X⁻¹ Y), the minimum is L(X) + w (log det(I + H) − tr H),
    where H = X^½ G X^½ / w.
    """
    weights: dict[int, float] = {}
    for expression, weight in lagrangian.parts:
        if not np.any(weight) or expression.is_affine("euclidean"):
            continue
        for part in expression.args if isinstance(expression.atom, Add) else (expression,):
            logarithm = _logarithm(part)
            if logarithm is not None and np.ndim(weight) == 0:
                variable, factor = logarithm
                weights[id(variable)] = weights.get(id(variable), 0.0) - factor * float(weight)
            elif not part.is_affine("euclidean"):
                return LowerBound(None, "")
    variables = lagrangian.compiled.variables
    if any(weights.get(id(variable), 0.0) <= 0.0 for variable in variables):
        return LowerBound(None, "")
    value = lagrangian.value
    gradients = lagrangian.compiled.parts(lagrangian.egrad)
    for variable, x, g in zip(variables, lagrangian.compiled.parts(lagrangian.x), gradients, strict=True):
        w = weights[id(variable)]
        if variable.symmetric:
            root = np.linalg.cholesky(x)
            eigenvalues = np.linalg.eigvalsh(root.T @ g @ root) / w
        else:
            eigenvalues = np.ravel(x * g) / w
        if eigenvalues.min() <= -1.0:
            return LowerBound(None, "The dual point of the linear constraints is not feasible yet.")
        value += w * float(np.sum(np.log1p(eigenvalues) - eigenvalues))
    return LowerBound(value, "The Lagrangian is linear minus log det, and was minimized in closed form.")


def _logarithm(part: Expression) -> tuple[Expression, float] | None:
    """Return X and c if a term of a sum is c log det X or c Σ log x."""
    factor = 1.0
    if isinstance(part.atom, Multiply) and isinstance(part.args[0], Constant) and not part.args[0].shape:
        factor, part = float(part.args[0].array), part.args[1]
    if isinstance(part.atom, LogDet) and isinstance(part.args[0], Variable):
        return part.args[0], factor
    if isinstance(part.atom, Sum) and isinstance(part.args[0].atom, Log):
        inner = part.args[0].args[0]
        if isinstance(inner, Variable):
            return inner, factor
    return None


def _strong(lagrangian: LagrangianAt) -> LowerBound:
    """Use strong convexity: L(y) ≥ L(x) − ‖grad L(x)‖² / 2m."""
    total: dict[object, float] = {}
    for facts, weight in lagrangian.facts():
        if not facts.plain.curvature.is_affine and (weight < 0.0).any():
            continue
        for variable, m in facts.modulus.items():
            total[variable] = total.get(variable, 0.0) + m * float(np.sum(weight))
    m = min(total.get(variable, 0.0) for variable in lagrangian.compiled.variables)
    if m <= 0.0:
        return LowerBound(None, "It is not strongly convex in all variables.")
    value = lagrangian.value - 0.5 * lagrangian.slope**2 / m
    return LowerBound(value, f"The Lagrangian is strongly convex with modulus {m:.3g}.")


def _self_limiting(lagrangian: LagrangianAt) -> LowerBound:
    """Use |φ‴| ≤ M φ″ along geodesics of unit speed, and the smallest curvature m at x.

    Then φ(t) ≥ φ(0) − g t + m (exp(−M t) + M t − 1)/M², whose minimum for g M < m is at
    t = −log(1 − g M/m)/M. Without third derivatives, φ(t) ≥ φ(0) − g t + m t²/2.
    """
    thirds = [facts.third for facts, _ in lagrangian.facts()]
    if any(third is None for third in thirds):
        return LowerBound(None, "No bound on its third derivatives is known.")
    if lagrangian.compiled.manifold.dim > _MOST or not lagrangian.frame.orthonormal:
        return LowerBound(None, f"Its curvature is computed only in up to {_MOST} dimensions.")
    M = max(third for third in thirds if third is not None)
    m, g = lagrangian.curvature_and_slope()
    if m <= 0.0:
        return LowerBound(None, "Its curvature at the solution is 0 in some direction.")
    share = g * M / m
    if share >= 1.0:
        return LowerBound(None, "Its slope is too large for its curvature; solve with a smaller `tol`.")
    drop = 0.5 * g**2 / m
    if M > 0.0:  # the larger value, because of rounding errors
        drop = max(drop, m / M**2 * (share + (1.0 - share) * float(np.log1p(-share))))
    reason = f"Its curvature is at least {m:.3g}, and its third derivatives at most {M:.3g} times the second."
    return LowerBound(lagrangian.value - drop, reason)


def _within_radius(lagrangian: LagrangianAt) -> LowerBound:
    """Use L(y) ≥ L(x) − ‖grad L(x)‖ d(x, y), if the distance of all relevant y is bounded.

    These y satisfy the constraints and cost at most as much as x. If there are none, the cost of x is a
    bound.
    """
    compiled, squares = lagrangian.compiled, 0.0
    values = compiled.at(lagrangian.x).outputs()
    cost = float(values[0]) + sum(
        float(function.value(values[-len(compiled.form.terms) + k]))
        for k, (function, _) in enumerate(compiled.form.terms)
        if not isinstance(function, PositiveSemidefinite)
    )
    limits = [(part, level) for e in compiled.form.inequalities for part, level in _levels(e, 0.0)]
    if all(_is_nonnegative(function, mapped) for function, mapped in compiled.form.terms):
        limits += [(part, level) for part, level in _levels(compiled.form.cost, cost)]
    for variable, x in zip(compiled.variables, compiled.parts(lagrangian.x), strict=True):
        radii = [_radius(part, level, variable, x) for part, level in limits]
        known = [radius for radius in radii if radius is not None]
        if variable.ball is not None:
            known.append(variable.ball[1] + variable.manifold.dist(x, variable.ball[0]))
        if not known:
            return LowerBound(None, f"No bound is known on the distance of {variable} from a point.")
        squares += min(known) ** 2
    value = min(lagrangian.value - lagrangian.slope * float(np.sqrt(squares)), cost)
    return LowerBound(value, f"All better points lie within distance {np.sqrt(squares):.3g} of x.")


def _is_nonnegative(function: Any, mapped: Expression) -> bool:
    """Return whether a term is proved to be nonnegative."""
    return not isinstance(function, Max) or mapped.facts().sign.is_nonnegative


def _levels(expression: Expression, level: float) -> list[tuple[Expression, float]]:
    """Return terms of a sum with upper bounds, given that the sum is at most a level.

    All other terms must be nonnegative or constant.
    """
    parts = expression.args if isinstance(expression.atom, Add) else (expression,)
    level -= sum(float(part.array) for part in parts if isinstance(part, Constant) and part.shape == ())
    rest = [part for part in parts if not (isinstance(part, Constant) and part.shape == ())]
    if not all(part.facts().sign.is_nonnegative for part in rest):
        return []
    found = []
    for part in rest:
        factor = 1.0
        if isinstance(part.atom, Multiply) and isinstance(part.args[0], Constant) and not part.args[0].shape:
            factor, part = float(part.args[0].array), part.args[1]
        if isinstance(part.atom, Sum):
            part = part.args[0]  # every entry is at most the sum
        if factor > 0.0:
            found.append((part, level / factor))
    return found


def _radius(part: Expression, level: float, variable: Variable, x: Array) -> float | None:
    """Return a bound on d(x, y) over the y for which a distance, or its square, is at most a level."""
    atom, arg = part.atom, part.args[0] if part.args else None
    level = max(level, 0.0)
    if isinstance(atom, (MatrixDistance2, PointDistance2)) and arg is variable:
        r = level if atom.name == "distance" else float(np.sqrt(level))
        if isinstance(atom, PointDistance2) and isinstance(part.args[1], Variable):
            return None
        targets = atom.targets if isinstance(atom, MatrixDistance2) else part.args[1].value
        target = targets if targets.shape == x.shape else targets[0]
        return r + variable.manifold.dist(x, target)
    if isinstance(atom, (SumSquares, Norm2)) and arg is not None:
        facts = arg.facts("geodesic")
        if facts.isometry is variable and facts.plain.curvature.is_affine:
            r = level if isinstance(atom, Norm2) else float(np.sqrt(level))
            return r + float(np.linalg.norm(_value_at(arg, variable, x)))
    return None


def _value_at(expression: Expression, variable: Variable, x: Array) -> Array:
    """Return the value of an expression in one variable."""
    graph = Graph([expression], [variable])
    return graph.at([x], {k: held_value(graph.nodes[k]) for k in graph.other_leaves()}).outputs()[0]


def _straight(lagrangian: LagrangianAt) -> LowerBound:
    """Use L(y) ≥ L(x) + ⟨G, y − x⟩ along straight lines, and the minimum of ⟨G, y⟩ over the set of y."""
    compiled, value = lagrangian.compiled, lagrangian.value
    points, gradients = compiled.parts(lagrangian.x), compiled.parts(lagrangian.egrad)
    for variable, x, g in zip(compiled.variables, points, gradients, strict=True):
        least = _least(variable, g, compiled.form.inequalities)
        if least is None:
            return LowerBound(None, f"No constraint such as trace({variable}) <= 1 bounds {variable}.")
        value += least - float(np.sum(g * x)) - _ERROR * _EPS * float(np.sum(np.abs(g * x)))
    return LowerBound(
        value, "A linear function below the cost was minimized over a set that contains all feasible points."
    )


def _least(variable: Variable, g: Array, inequalities: list[Expression]) -> float | None:
    """Return the minimum of ⟨g, y⟩ over the simplex, or over positive y with tr(C y) ≤ t."""
    if isinstance(variable.manifold, Simplex):
        return float(g.min())
    if isinstance(variable.manifold, (Euclidean, Symmetric, SkewSymmetric)) and not g.any():
        return 0.0
    if not isinstance(variable.manifold, (SPD, PositiveOrthant)):
        return None
    found = [_capped(e, variable, g) for e in inequalities]
    return max((least for least in found if least is not None), default=None)


def _capped(inequality: Expression, variable: Variable, g: Array) -> float | None:
    """Return the minimum of ⟨g, y⟩ over positive y if an inequality is tr(C y) ≤ t with positive C."""
    if not (isinstance(inequality.atom, Add) and len(inequality.args) == 2):
        return None
    left, bound = inequality.args
    if not isinstance(bound, Constant) or bound.shape:
        return None
    t = max(-float(bound.array), 0.0)
    if isinstance(left.atom, (Trace, Sum)) and left.args[0] is variable:
        if variable.symmetric and isinstance(left.atom, Sum):
            return None
        least = np.linalg.eigvalsh(g)[0] if variable.symmetric else g.min()
        return min(float(least), 0.0) * t
    if isinstance(left.atom, Inner) and left.args[1] is variable and isinstance(left.args[0], Constant):
        try:
            root = np.linalg.inv(np.linalg.cholesky(left.args[0].array))
        except np.linalg.LinAlgError:
            return None
        return min(float(np.linalg.eigvalsh(root @ g @ root.T)[0]), 0.0) * t
    return None


def _dual(function: Any, y: Array) -> Array:
    """Return multipliers near y with g(z) ≥ ⟨y, z⟩ for every z.

    The functions g are support functions: of a box, a ball, a simplex, or positive semidefinite matrices.
    """
    if isinstance(function, L1):
        return np.clip(y, -function.weight, function.weight)
    if isinstance(function, GroupL2):
        return np.asarray(y * min(1.0, function.weight / max(float(np.linalg.norm(y)), _EPS)))
    if isinstance(function, Max):
        positive = np.maximum(y, 0.0)
        return np.asarray(positive * (function.weight / positive.sum()))
    eigenvalues, vectors = np.linalg.eigh(0.5 * (y + y.T))
    if isinstance(function, PositiveSemidefinite):
        return np.asarray((vectors * np.minimum(eigenvalues, 0.0)) @ vectors.T)
    assert isinstance(function, SpectralNorm)
    positive = np.maximum(eigenvalues, 0.0)
    positive = positive * min(1.0, function.weight / max(float(positive.sum()), _EPS))
    return np.asarray((vectors * positive) @ vectors.T)


def _bent_up(mapped: Expression, y: Array, geometry: Geometry) -> Array:
    """Clip multipliers y so that ⟨y, mapped⟩ is convex.

    Matrices are compared as a whole; `_dual` gives their multipliers the right sign.
    """
    curvature = mapped.facts(geometry).plain.curvature
    if curvature.is_affine or mapped.symmetric:
        return y
    return np.maximum(y, 0.0) if curvature.is_convex else np.minimum(y, 0.0)


def _into_balls(compiled: Compiled, x: Any) -> Any:
    """Move the parts of a point on spheres into their balls; nothing is proved outside."""
    parts = compiled.parts(x)
    for k, (variable, part) in enumerate(zip(compiled.variables, parts, strict=True)):
        if variable.ball is not None:
            center, radius = variable.ball
            share = radius / max(variable.manifold.dist(center, part), radius)
            if share < 1.0:
                frame = variable.manifold.frame(center)
                parts[k] = np.asarray(frame.exp(share * frame.log(part)))
    return compiled.made(parts)


def _split(y: Array, outputs: list[Expression]) -> list[Array]:
    """Split multipliers into those of each output, in its shape."""
    sizes = [int(np.prod(output.shape, dtype=int)) for output in outputs]
    ends = np.cumsum(sizes)
    parts = [y[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    return [part.reshape(output.shape) for part, output in zip(parts, outputs, strict=True)]
