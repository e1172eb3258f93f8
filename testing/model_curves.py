"""Refute the claims of `geodual.model` about an expression by its values along random curves.

A curve has five equidistant points. If |φ‴| ≤ M φ″ along a curve of unit speed, second differences of φ with
step h change by a factor of at most exp(M h) from point to point, and if φ″ ≥ m, they are at least m h². So
derivatives need not be approximated. Sums of exponentials with nonnegative weights have positive semidefinite
Hankel matrices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodual.manifolds import SPD, Hyperbolic, PositiveOrthant, Simplex
from geodual.model import Expression, Variable
from geodual.model.expression import on_convex_set
from geodual.model.facts import Curvature, Facts, Geometry, Sign
from geodual.model.graph import Evaluation, Graph, nodes_of
from geodual.model.proof import brief

TIMES = np.linspace(0.0, 1.0, 5)
_INVERT = (
    *("inv", "log_det", "trace_power", "schatten_norm", "log_norm", "sum_log_largest"),
    *("distance", "distance2"),
)


@dataclass(frozen=True)
class Curve:
    """Five points, one list of arrays each, and the speed of each variable."""

    points: list[list[np.ndarray]]
    speeds: list[float]

    @property
    def step(self) -> float:
        """Distance between consecutive points."""
        return float(np.linalg.norm(self.speeds)) / 4.0


def draw_point(variable: Variable, rng: np.random.Generator) -> np.ndarray:
    """Return a random point of the manifold of a variable, in its ball if it has one."""
    manifold = variable.manifold
    if variable.ball is not None:
        center, radius = variable.ball
        u = manifold.random_tangent(center, rng)
        return np.asarray(manifold.exp(center, radius * rng.uniform() * u / manifold.norm(center, u)))
    if isinstance(manifold, Hyperbolic):
        return np.asarray(manifold.lift(rng.standard_normal(manifold.n)))
    if isinstance(manifold, (SPD, PositiveOrthant)):
        unit = np.eye(len_of(variable)) if isinstance(manifold, SPD) else np.ones(variable.shape)
        return np.asarray(manifold.exp(unit, scaled_tangent(variable, unit, rng.uniform(0.0, 2.0), rng)))
    if isinstance(manifold, Simplex):
        return rng.dirichlet(np.ones(manifold.n))
    return np.asarray(manifold.random_point(rng))


def len_of(variable: Variable) -> int:
    """Return the number of rows of a variable."""
    return int(variable.shape[0])


def scaled_tangent(variable: Variable, x: Any, length: float, rng: np.random.Generator) -> np.ndarray:
    """Return a random tangent vector of a length."""
    u = variable.manifold.random_tangent(x, rng)
    return np.asarray(length * u / variable.manifold.norm(x, u))


def draw_curve(variables: Sequence[Variable], geometry: Geometry, rng: np.random.Generator) -> Curve:
    """Return a random geodesic of length 0.01 to 3, or a segment, in which some variables may be constant."""
    length = float(np.exp(rng.uniform(np.log(1e-2), np.log(3.0))))
    shares = rng.standard_normal(len(variables)) * (rng.uniform(size=len(variables)) < 0.8)
    shares = shares if shares.any() else np.ones(len(variables))
    shares = length * np.abs(shares) / np.linalg.norm(shares)
    drawn = [_draw_part(v, geometry, share, rng) for v, share in zip(variables, shares, strict=True)]
    parts = [points for points, _ in drawn]
    return Curve([list(at) for at in zip(*parts, strict=True)], [speed for _, speed in drawn])


def _draw_part(
    variable: Variable, geometry: Geometry, length: float, rng: np.random.Generator
) -> tuple[list[np.ndarray], float]:
    manifold, x = variable.manifold, draw_point(variable, rng)
    if geometry == "euclidean":
        y = draw_point(variable, rng) if length > 0.0 else x
        share = 1.0 if rng.uniform() < 0.7 else 0.05
        y = x + share * (y - x)
        return [x + t * (y - x) for t in TIMES], float(np.linalg.norm(y - x))
    if length == 0.0:
        return [x] * 5, 0.0
    if variable.ball is not None:
        y = draw_point(variable, rng)
        u = manifold.log(x, y)
        return [np.asarray(manifold.exp(x, t * u)) for t in TIMES], float(manifold.norm(x, u))
    u = scaled_tangent(variable, x, length, rng)
    return [np.asarray(manifold.exp(x, t * u)) for t in TIMES], length


@dataclass(frozen=True)
class Values:
    """The values of an expression along a curve, and a bound on their errors."""

    at: np.ndarray
    error: float


def values_along(outputs: Sequence[Expression], variables: Sequence[Variable], curve: Curve) -> list[Values]:
    """Return the values of expressions at the five points; NaN or an empty list where they are undefined."""
    graph = Graph(outputs, variables)
    leaves = {k: graph.nodes[k].held for k in graph.other_leaves()}
    try:
        with np.errstate(all="ignore"):
            at = [graph.at(point, leaves) for point in curve.points]
    except np.linalg.LinAlgError:
        return []
    sizes = [float(np.abs(v).max(initial=0.0)) for one in at for v in one.values]
    size = max((size for size in sizes if np.isfinite(size)), default=0.0)
    worst = _condition(at, graph)
    if not size < 1e12 or worst > 1e6:
        return [Values(np.full(5, np.nan), np.inf) for _ in outputs]
    found = [np.array(v, dtype=float) for v in zip(*(one.outputs() for one in at), strict=True)]
    relative = 1e-10 + 1e-14 * worst
    return [Values(v, 1e-12 * size + relative * float(np.abs(v).max(initial=0.0))) for v in found]


def _condition(at: Sequence[Evaluation], graph: Graph) -> float:
    """Return the largest condition number of inverted matrices along a curve, to bound errors."""
    worst = 1.0
    inverted = {
        j
        for k, node in enumerate(graph.nodes)
        if getattr(node.atom, "name", "") in _INVERT
        for j in graph.args[k]
    }
    for k, node in enumerate(graph.nodes):
        if k in inverted and node.symmetric and graph.moves[k]:
            stack = np.array([one.values[k] for one in at])
            if np.isfinite(stack).all():
                sizes = np.abs(np.linalg.eigvalsh(stack))
                worst = max(worst, float((sizes.max(axis=-1) / np.maximum(sizes.min(axis=-1), 1e-300)).max()))
    return worst


def refutations(facts: Facts, values: Values, curve: Curve, moduli: float = 0.0) -> Iterator[str]:
    """Return the claims refuted by values along a curve; `moduli` is Σ m ‖velocity‖² of the curve."""
    v, error = values.at, values.error
    matrix = facts.is_matrix
    if not _has_sign(v, facts.sign, error, matrix):
        yield f"sign {facts.sign.value}"
    if not _has_sign(v, facts.entries, error, False):
        yield f"entries {facts.entries.value}"
    yield from _plain(facts, v, error, matrix)
    if facts.log.curvature.value != "unknown":
        yield from _log(facts, v, error, matrix)
    bends = v[:-2] - 2.0 * v[1:-1] + v[2:]
    if facts.rate is not None:
        yield from _rates(facts.rate, v, error, matrix, curve.step)
    if facts.third is not None and not matrix:
        grown = np.exp(facts.third * curve.step) * (1.0 + 1e-9)
        if (bends < -4.0 * error).any():
            yield "third (not convex)"
        for a, b in ((bends[:-1], bends[1:]), (bends[1:], bends[:-1])):
            if (b > grown * a + 8.0 * grown * error).any():
                yield f"third {facts.third}"
    if moduli > 0.0 and (bends < moduli / 16.0 * (1.0 - 1e-9) - 4.0 * error).any():
        yield "modulus"


def _least(a: np.ndarray, matrix: bool) -> float:
    """Return the smallest entry, or eigenvalue."""
    return float(np.linalg.eigvalsh(a).min() if matrix else a.min(initial=np.inf))


def _has_sign(v: np.ndarray, sign: Sign, error: float, matrix: bool) -> bool:
    if sign is Sign.UNKNOWN:
        return True
    if sign.is_nonnegative:
        return _least(v, matrix) >= -error
    return _least(-v, matrix) >= -error


def _plain(facts: Facts, v: np.ndarray, error: float, matrix: bool) -> Iterator[str]:
    curvature = facts.plain.curvature
    for k, t in enumerate(TIMES[1:-1], start=1):
        above = (1.0 - t) * v[0] + t * v[-1] - v[k]
        if curvature.is_convex and _least(above, matrix) < -4.0 * error:
            yield f"plain {curvature.value}: not convex"
        if curvature.is_concave and _least(-above, matrix) < -4.0 * error:
            yield f"plain {curvature.value}: not concave"


def _log(facts: Facts, v: np.ndarray, error: float, matrix: bool) -> Iterator[str]:
    curvature, kind = facts.log.curvature, facts.log.curvature.value
    if _least(v, matrix) < -error:
        yield f"log {kind}: negative"
        return
    if matrix and _least(v, matrix) <= 1e-7 * float(np.abs(v).max(initial=0.0)):
        # Means of singular matrices are ill-conditioned. Quadratic forms of them are log-convex too.
        probes = np.random.default_rng(0).standard_normal((9, v.shape[-1]))
        v, matrix = np.einsum("pi,kij,pj->kp", probes, v, probes), False
        curvature = Curvature.CONVEX if curvature.is_convex else Curvature.UNKNOWN
    for k, t in enumerate(TIMES[1:-1], start=1):
        mean = geometric_mean(v[0], v[-1], float(t)) if matrix else _power_mean(v[0], v[-1], float(t))
        if curvature.is_convex and _least(mean - v[k], matrix) < -20.0 * error:
            yield f"log {kind}: not convex"
        if curvature.is_concave and _least(v[k] - mean, matrix) < -20.0 * error:
            yield f"log {kind}: not concave"


def _power_mean(a: np.ndarray, b: np.ndarray, t: float) -> np.ndarray:
    return np.asarray(np.maximum(a, 0.0) ** (1.0 - t) * np.maximum(b, 0.0) ** t)


def geometric_mean(a: np.ndarray, b: np.ndarray, t: float) -> np.ndarray:
    """Return A #ₜ B of positive definite matrices."""
    low, vectors = np.linalg.eigh(a)
    root, back = (vectors * np.sqrt(low)) @ vectors.T, (vectors / np.sqrt(low)) @ vectors.T
    inner, turned = np.linalg.eigh(back @ b @ back)
    return np.asarray(root @ (turned * inner**t) @ turned.T @ root)


def _rates(rate: float, v: np.ndarray, error: float, matrix: bool, step: float) -> Iterator[str]:
    grown = np.exp(rate * step) * (1.0 + 1e-9)
    for a, b in ((v[:-1], v[1:]), (v[1:], v[:-1])):
        if _least(grown * a - b, matrix) < -4.0 * grown * error:
            yield f"rate {rate}"
    flat = v.reshape(5, -1) if not matrix else np.einsum("kii->ki", v)
    for entry in flat.T:
        hankel = np.array([[entry[i + j] for j in range(3)] for i in range(3)])
        if np.linalg.eigvalsh(hankel)[0] < -10.0 * error:
            yield "rate: weights below 0"


def refute(expression: Expression, rng: np.random.Generator, curves: int) -> tuple[list[str], int]:
    """Return the claims about an expression and its parts refuted by curves, and how many had values."""
    variables, nodes = expression.variables(), nodes_of([expression])
    nodes = [node for node in nodes if node.variables()]
    geometries: list[Geometry] = ["geodesic"]
    if all(map(on_convex_set, variables)):
        geometries.append("euclidean")
    found, used = [], 0
    for geometry in geometries * curves:
        curve = draw_curve(variables, geometry, rng)
        values = values_along(nodes, variables, curve)
        used += bool(values) and bool(np.isfinite(values[-1].at).all())
        for node, along in zip(nodes, values, strict=bool(values)):
            if not np.isfinite(along.at).all():
                continue
            facts = node.facts(geometry)
            speeds = zip(variables, curve.speeds, strict=True)
            moduli = sum(facts.modulus.get(variable, 0.0) * speed**2 for variable, speed in speeds)
            claims = refutations(facts, along, curve, moduli)
            found += [f"{geometry}, {brief(node)}: {claim}" for claim in claims]
    return found, used


def is_refuted(expression: Expression, rng: np.random.Generator, curves: int) -> bool:
    """Return whether a geodesic shows that a number is not convex."""
    variables = expression.variables()
    for _ in range(curves):
        for values in values_along([expression], variables, draw_curve(variables, "geodesic", rng)):
            v = values.at
            if not np.isfinite(v).all():
                continue
            above = (1.0 - TIMES[1:-1]) * v[0] + TIMES[1:-1] * v[-1] - v[1:-1]
            if above.min() < -1e-6 * np.abs(v).max() - 100.0 * values.error:
                return True
    return False
