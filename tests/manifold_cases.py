"""The manifolds under test, with random points, near and far, and tolerances for rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodual.manifolds import (
    SPD,
    ComplexStiefel,
    Euclidean,
    FixedRank,
    Grassmann,
    HermitianPD,
    Hyperbolic,
    Manifold,
    Oblique,
    PositiveOrthant,
    Power,
    Product,
    Rotations,
    Simplex,
    SkewSymmetric,
    Sphere,
    Stiefel,
    Symmetric,
    UnitCircle,
)
from geodual.manifolds.low_rank_matrix import LowRankMatrix

ROUNDING = 1e-13
"""Allowed relative error of a well-conditioned operation: some hundred times the machine precision."""


@dataclass(frozen=True)
class Case:
    """A manifold with a way to draw points.

    Attributes
    ----------
    manifold : Manifold
        The manifold under test.
    point : callable
        ``point(rng, spread)`` draws a point. `spread` is between 0 (well-conditioned) and 1 (as far out or
        ill-conditioned as the manifold must support).
    amplification : callable
        Factor by which the geometry at the given points magnifies rounding errors.
    ambient_amplification : callable
        The same factor for the orthogonal projection.
    reach : float
        Largest length of tangent vectors, below the injectivity radius if there is one.
    parallel : bool
        Whether `transport` is parallel transport.
    exact_distance_hessian : bool
        Whether the Hessian of the half squared distance is exact.
    """

    manifold: Manifold
    point: Callable[[np.random.Generator, float], Any]
    amplification: Callable[..., float]
    ambient_amplification: Callable[[Any], float]
    reach: float
    parallel: bool = True
    exact_distance_hessian: bool = True

    def __str__(self) -> str:
        return repr(self.manifold)

    def tolerance(self, *points: Any) -> float:
        return ROUNDING * self.amplification(*points)

    def coordinates(self, x: Any, rng: np.random.Generator, longest: float | None = None) -> Any:
        """Draw the coordinates of a tangent vector at `x`, at most as long as `longest` (default `reach`)."""
        frame = self.manifold.frame(x)
        length = rng.uniform(0.0, self.reach if longest is None else longest)
        return length * frame.coordinates(self.manifold.random_tangent(x, rng))

    def points(self, rng: np.random.Generator, spread: float, count: int) -> list[Any]:
        """Draw points with unique shortest geodesics between them."""
        if self.manifold.hadamard:
            return [self.point(rng, spread) for _ in range(count)]
        x = self.point(rng, spread)
        frame = self.manifold.frame(x)
        return [frame.exp(self.coordinates(x, rng, self.reach / 2)) for _ in range(count)]


def for_all(cases: list[Case]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test that takes `case`, `rng` and `spread` on all cases, with many draws per case."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)
        drawn = given(rng=generators, spread=st.floats(0.0, 1.0))(test)
        return pytest.mark.parametrize("case", cases, ids=str)(drawn)

    return decorate


def flat(v: Any) -> np.ndarray:
    """Return the entries of a point or ambient vector, nested or not, as one array.

    Complex numbers become pairs of real numbers.
    """
    if isinstance(v, (tuple, list)):
        return np.concatenate([flat(part) for part in v])
    return np.ravel(np.ascontiguousarray(v).view(float) if np.iscomplexobj(v) else v)


def shaped_as(pattern: Any, entries: np.ndarray) -> Any:
    """Undo `flat`: give `entries` the structure of `pattern`."""
    if not isinstance(pattern, tuple):
        kind = complex if np.iscomplexobj(pattern) else float
        return np.ascontiguousarray(entries).view(kind).reshape(np.shape(pattern))
    ends = np.cumsum([flat(part).size for part in pattern])[:-1]
    return tuple(shaped_as(p, e) for p, e in zip(pattern, np.split(entries, ends), strict=True))


def spd_with_condition(rng: np.random.Generator, n: int, condition: float) -> np.ndarray:
    """Draw a positive definite matrix whose eigenvalues lie between condition^±½."""
    exponents = rng.uniform(-0.5, 0.5, n)
    exponents[[0, -1]] = -0.5, 0.5  # the condition is reached exactly
    half = np.linalg.qr(rng.standard_normal((n, n)))[0] * condition ** (0.5 * exponents)
    return half @ half.T


def hyperbolic_at(manifold: Hyperbolic, rng: np.random.Generator, distance: float) -> np.ndarray:
    """Draw a point at a given distance from the origin (1, 0, …, 0)."""
    direction = rng.standard_normal(manifold.n)
    return manifold.lift(direction * (np.sinh(distance) / np.linalg.norm(direction)))


def euclidean_case(*shape: int) -> Case:
    return Case(
        Euclidean(*shape),
        point=lambda rng, spread: 10.0 ** (6.0 * spread) * rng.standard_normal(shape),
        amplification=lambda *points: max(1.0, *(float(np.linalg.norm(x)) for x in points)),
        ambient_amplification=lambda x: 1.0,
        reach=5.0,
    )


def spd_case(n: int) -> Case:
    return Case(
        SPD(n),
        point=lambda rng, spread: rng.uniform(0.1, 10.0) * spd_with_condition(rng, n, 10.0 ** (6.0 * spread)),
        amplification=lambda *points: float(np.prod([np.linalg.cond(x) for x in points])),
        ambient_amplification=lambda x: 1.0,
        reach=4.0,
    )


def hyperbolic_case(n: int) -> Case:
    manifold = Hyperbolic(n)
    return Case(
        manifold,
        point=lambda rng, spread: hyperbolic_at(manifold, rng, 10.0 * spread + rng.uniform()),
        amplification=lambda *points: float(np.prod([x[0] for x in points])),
        ambient_amplification=lambda x: float(x[0]) ** 2,
        reach=6.0,
    )


def compact_case(manifold: Sphere | Stiefel | ComplexStiefel) -> Case:
    """Return a case with injectivity radius π (for Stiefel see Zimmermann and Stoye 2024).

    The reach on Stiefel manifolds is shorter, because their logarithm, a shooting method, is slow close to
    this radius if there are few columns.
    """
    is_sphere = isinstance(manifold, Sphere)
    return Case(
        manifold,
        point=lambda rng, spread: manifold.random_point(rng),
        amplification=lambda *points: 1.0,
        ambient_amplification=lambda x: 1.0,
        reach=(0.95 if is_sphere else 0.8) * np.pi,
        parallel=is_sphere,
        exact_distance_hessian=is_sphere,
    )


def log_ratio_case(manifold: PositiveOrthant | Simplex, size: int) -> Case:
    """Return a case whose points have entries of very different size."""

    def point(rng: np.random.Generator, spread: float) -> np.ndarray:
        x = np.exp((0.5 + 10.0 * spread) * rng.standard_normal(size))
        return x / x.sum() if isinstance(manifold, Simplex) else x

    def ambient_amplification(x: np.ndarray) -> float:
        # The entries of a tangent vector of the simplex cancel if one probability is almost 1.
        return float(1.0 / np.sort(x)[:-1].sum()) if isinstance(manifold, Simplex) else 1.0

    return Case(
        manifold,
        point=point,
        amplification=lambda *points: 1.0,
        ambient_amplification=ambient_amplification,
        reach=4.0,
    )


def symmetric_space_case(manifold: Manifold, injectivity_radius: float) -> Case:
    """Return a case of a compact symmetric space, where all operations are in closed form."""
    return Case(
        manifold,
        point=lambda rng, spread: manifold.random_point(rng),
        amplification=lambda *points: 1.0,
        ambient_amplification=lambda x: 1.0,
        reach=0.95 * injectivity_radius,
    )


def fixed_rank_case(m: int, n: int, r: int) -> Case:
    """Return a case without logarithm, whose singular values are longer than its tangent vectors."""

    def point(rng: np.random.Generator, spread: float) -> np.ndarray:
        u, v = (np.linalg.qr(rng.standard_normal((size, r)))[0] for size in (m, n))
        return LowRankMatrix(u, 10.0 ** rng.uniform(0.0, 2.0 * spread, r), v.T)

    return Case(
        FixedRank(m, n, r),
        point=point,
        amplification=lambda *points: max(1.0, *(float(np.linalg.norm(x)) for x in points)),
        ambient_amplification=lambda x: 1.0,
        reach=0.8,
        parallel=False,
        exact_distance_hessian=False,
    )


def power_case(case: Case, n: int) -> Case:
    """Return n copies of a case as one array."""
    return Case(
        Power(case.manifold, n),
        point=lambda rng, spread: np.stack([case.point(rng, spread) for _ in range(n)]),
        amplification=lambda *points: max(case.amplification(*part) for part in zip(*points, strict=True)),
        ambient_amplification=lambda x: max(case.ambient_amplification(part) for part in x),
        reach=case.reach,
        parallel=case.parallel,
        exact_distance_hessian=case.exact_distance_hessian,
    )


def hermitian_case(n: int) -> Case:
    manifold = HermitianPD(n)

    def point(rng: np.random.Generator, spread: float) -> np.ndarray:
        q = np.linalg.qr(rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)))[0]
        turned = q @ spd_with_condition(rng, n, 10.0 ** (6.0 * spread)) @ q.conj().T
        return 0.5 * (turned + turned.conj().T)

    return replace(spd_case(n), manifold=manifold, point=point)


def flat_case(manifold: Symmetric | SkewSymmetric) -> Case:
    def point(rng: np.random.Generator, spread: float) -> np.ndarray:
        return 10.0 ** (6.0 * spread) * manifold.random_point(rng)

    return replace(euclidean_case(manifold.n, manifold.n), manifold=manifold, point=point)


def product_case(*cases: Case) -> Case:
    def amplification(*points: Any) -> float:
        parts = zip(cases, zip(*points, strict=True), strict=True)
        return max(case.amplification(*part) for case, part in parts)

    def ambient_amplification(x: Any) -> float:
        return max(case.ambient_amplification(part) for case, part in zip(cases, x, strict=True))

    return Case(
        Product(*(case.manifold for case in cases)),
        point=lambda rng, spread: tuple(case.point(rng, spread) for case in cases),
        amplification=amplification,
        ambient_amplification=ambient_amplification,
        reach=min(case.reach for case in cases),
        parallel=all(case.parallel for case in cases),
        exact_distance_hessian=all(case.exact_distance_hessian for case in cases),
    )


HADAMARD_CASES = [
    euclidean_case(1),
    euclidean_case(3),
    euclidean_case(2, 3),
    spd_case(1),
    spd_case(2),
    spd_case(5),
    hyperbolic_case(1),
    hyperbolic_case(2),
    hyperbolic_case(5),
    hermitian_case(3),
    flat_case(Symmetric(3)),
    flat_case(SkewSymmetric(3)),
    log_ratio_case(PositiveOrthant(3), 3),
    log_ratio_case(Simplex(2), 2),
    log_ratio_case(Simplex(5), 5),
    power_case(euclidean_case(2), 3),
    power_case(spd_case(3), 2),
    power_case(log_ratio_case(Simplex(3), 3), 2),
    power_case(hyperbolic_case(2), 2),
    power_case(hermitian_case(2), 2),
    product_case(spd_case(2), euclidean_case(3)),
    product_case(hyperbolic_case(2), product_case(spd_case(3), euclidean_case(1))),
]

COMPACT_CASES = [
    compact_case(Sphere(2)),
    compact_case(Sphere(6)),
    compact_case(Stiefel(4, 1)),
    compact_case(Stiefel(3, 3)),
    compact_case(Stiefel(5, 3)),
    compact_case(Stiefel(4, 2)),
    compact_case(Stiefel(7, 2)),
    compact_case(ComplexStiefel(4, 2)),
    compact_case(ComplexStiefel(2, 2)),
    symmetric_space_case(UnitCircle(3), np.pi),
    power_case(symmetric_space_case(UnitCircle(2), np.pi), 2),
    symmetric_space_case(Oblique(3, 4), np.pi),
    symmetric_space_case(Oblique(2, 1), np.pi),
    symmetric_space_case(Grassmann(4, 1), np.pi / 2),
    symmetric_space_case(Grassmann(6, 2), np.pi / 2),
    symmetric_space_case(Grassmann(5, 3), np.pi / 2),  # subspaces that share a line
    symmetric_space_case(Rotations(2), np.sqrt(2.0) * np.pi),
    symmetric_space_case(Rotations(3), np.sqrt(2.0) * np.pi),
    symmetric_space_case(Rotations(6), np.sqrt(2.0) * np.pi),
    power_case(compact_case(Sphere(3)), 3),
    power_case(symmetric_space_case(Oblique(2, 2), np.pi), 2),
    power_case(symmetric_space_case(Rotations(3), np.sqrt(2.0) * np.pi), 2),
    power_case(symmetric_space_case(Rotations(4), np.sqrt(2.0) * np.pi), 2),
    power_case(symmetric_space_case(Grassmann(5, 2), np.pi / 2), 2),
    power_case(compact_case(Stiefel(4, 2)), 2),
    power_case(power_case(compact_case(Sphere(3)), 2), 2),
]

CASES = [
    *HADAMARD_CASES,
    *COMPACT_CASES,
    product_case(compact_case(Sphere(3)), spd_case(2)),
    product_case(symmetric_space_case(UnitCircle(2), np.pi), euclidean_case(2)),
    product_case(compact_case(Stiefel(4, 2)), product_case(hyperbolic_case(2), compact_case(Sphere(3)))),
    product_case(symmetric_space_case(Oblique(3, 2), np.pi), power_case(spd_case(2), 2)),
]

CASES_WITHOUT_LOG = [
    fixed_rank_case(5, 4, 2),
    fixed_rank_case(3, 6, 1),
    fixed_rank_case(4, 3, 3),  # of full rank: an open set of matrices
    power_case(fixed_rank_case(4, 3, 2), 2),
    product_case(fixed_rank_case(4, 3, 1), euclidean_case(2)),
]

ALL_CASES = CASES + CASES_WITHOUT_LOG
