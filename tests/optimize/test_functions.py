"""The functions of terms: value, prox and its derivative, against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from geodual.optimize import (
    L1,
    Ball,
    Box,
    GroupL2,
    Huber,
    LInf,
    Max,
    NonPositive,
    NuclearNorm,
    PositiveSemidefinite,
    Quantile,
    SecondOrderCone,
    SimplexSet,
    SpectralNorm,
    Zero,
)

WEIGHTS = np.array([0.3, 0.0, 1.2, 0.7, 0.2])
FUNCTIONS = [
    (NonPositive(), (5,)),
    (Zero(), (5,)),
    (Box(-0.5, np.array([0.1, 0.2, np.inf, 0.0, 1.0])), (5,)),
    (L1(0.4), (3, 2)),
    (L1(WEIGHTS), (5,)),
    (Quantile(0.8, 0.6), (5,)),
    (Huber(0.5, 0.7), (5,)),
    (GroupL2(0.6), (4, 3)),
    (GroupL2(0.6, [0, 1, 0, 2, 1]), (5,)),
    (NuclearNorm(0.5), (4, 3)),
    (NuclearNorm(0.5), (2, 4)),
    (SpectralNorm(0.9), (4, 3)),
    (SpectralNorm(0.9), (2, 4)),
    (Max(0.8), (5,)),
    (LInf(0.8), (5,)),
    (Ball(0.7, 0.2), (5,)),
    (SecondOrderCone(), (4,)),
    (PositiveSemidefinite(), (3, 3)),
    (SimplexSet(2.0), (5,)),
]
IDS = [f"{type(function).__name__}{shape}" for function, shape in FUNCTIONS]


def point_of(function: Any, shape: tuple[int, ...], seed: int) -> Any:
    z = np.random.default_rng(seed).standard_normal(shape)
    return 0.5 * (z + z.T) if isinstance(function, PositiveSemidefinite) else z


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("t", [0.3, 1.7])
@pytest.mark.parametrize(("function", "shape"), FUNCTIONS, ids=IDS)
def test_the_prox_beats_every_point_nearby(
    function: Any, shape: tuple[int, ...], t: float, seed: int
) -> None:
    z, rng = point_of(function, shape, seed), np.random.default_rng(seed + 100)
    p = function.prox(z, t)

    def objective(w: Any) -> float:
        return float(t * function.value(w) + 0.5 * np.sum((w - z) ** 2))

    least = objective(p)
    assert np.isfinite(least)
    # Other points at which g is finite: prox points of random points, near and far.
    for scale in (1e-3, 0.1, 1.0):
        for _ in range(20):
            other = function.prox(p + scale * point_of(function, shape, int(rng.integers(2**31))), 0.3)
            mixed = p + 0.01 * (other - p)  # between two such points g is finite too, as it is convex
            assert least <= objective(other) + 1e-10
            assert (
                least
                <= t * (0.99 * function.value(p) + 0.01 * function.value(other))
                + 0.5 * np.sum((mixed - z) ** 2)
                + 1e-10
            )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("function", "shape"), FUNCTIONS, ids=IDS)
def test_the_derivative_of_the_prox_is_its_slope(function: Any, shape: tuple[int, ...], seed: int) -> None:
    z, u = (point_of(function, shape, seed + offset) for offset in (0, 50))
    step = 1e-6
    difference = (function.prox(z + step * u, 0.4) - function.prox(z - step * u, 0.4)) / (2.0 * step)
    np.testing.assert_allclose(function.prox_derivative(z, 0.4)(u), difference, atol=2e-8)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("function", "shape"), FUNCTIONS, ids=IDS)
def test_the_derivative_is_symmetric_and_between_0_and_1(
    function: Any, shape: tuple[int, ...], seed: int
) -> None:
    z, u, v = (point_of(function, shape, seed + offset) for offset in (0, 50, 60))
    derivative = function.prox_derivative(z, 0.4)
    assert np.sum(v * derivative(u)) == pytest.approx(np.sum(u * derivative(v)), abs=1e-12)
    assert -1e-12 <= np.sum(u * derivative(u)) <= np.sum(u * u) + 1e-12


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("function", "shape"), FUNCTIONS, ids=IDS)
def test_the_prox_is_firmly_nonexpansive(function: Any, shape: tuple[int, ...], seed: int) -> None:
    a, b = (point_of(function, shape, seed + offset) for offset in (0, 50))
    p, q = function.prox(a, 0.9), function.prox(b, 0.9)
    assert np.sum((p - q) ** 2) <= np.sum((p - q) * (a - b)) + 1e-12


@pytest.mark.parametrize(("function", "shape"), FUNCTIONS, ids=IDS)
def test_with_t_0_the_prox_projects_to_where_the_function_is_finite(
    function: Any, shape: tuple[int, ...]
) -> None:
    z = point_of(function, shape, 3)
    p = function.prox(z, 0.0)
    assert np.isfinite(function.value(p))
    if np.isfinite(function.value(z)):
        np.testing.assert_allclose(p, z, atol=1e-14)
    np.testing.assert_allclose(function.prox(p, 0.0), p, atol=1e-12)


@pytest.mark.parametrize(("function", "shape"), FUNCTIONS, ids=IDS)
def test_derivatives_exist_at_kinks(function: Any, shape: tuple[int, ...]) -> None:
    for z in (np.zeros(shape), np.ones(shape), -np.ones(shape)):
        u = point_of(function, shape, 1)
        assert np.isfinite(function.prox(z, 0.5)).all()
        assert np.isfinite(function.prox_derivative(z, 0.5)(u)).all()


@pytest.mark.parametrize(
    "function", [NuclearNorm(0.5), SpectralNorm(2.0)], ids=["NuclearNorm", "SpectralNorm"]
)
def test_the_derivative_is_right_at_equal_singular_values(function: Any) -> None:
    q = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    z, u = q[:, :3] @ np.diag([2.0, 2.0, 0.3]), point_of(function, (5, 3), 1)
    step = 1e-6
    difference = (function.prox(z + step * u, 1.0) - function.prox(z - step * u, 1.0)) / (2.0 * step)
    np.testing.assert_allclose(function.prox_derivative(z, 1.0)(u), difference, atol=2e-8)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: L1(-1.0), "`weight` must be finite and not negative"),
        (lambda: L1(np.nan), "`weight` must be finite"),
        (lambda: Box(1.0, 0.0), "must not exceed"),
        (lambda: Box(np.nan, 0.0), "must not exceed"),
        (lambda: Quantile(1.0), "`level` must be between 0 and 1"),
        (lambda: Huber(0.0), "`width` must be positive"),
        (lambda: Ball(-1.0), "`radius` must be finite"),
        (lambda: NuclearNorm().prox(np.ones(3), 1.0), "needs a matrix"),
        (lambda: PositiveSemidefinite().prox(np.ones((2, 3)), 1.0), "needs a square matrix"),
        (lambda: GroupL2(1.0, [0, 1]).prox(np.ones(3), 1.0), "`groups` must have the shape"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()
