"""Equal points, zero vectors and repeated eigenvalues, where naive formulas divide by zero."""

import numpy as np
import pytest

from geodual.manifolds import SPD, Hyperbolic
from tests.manifold_cases import CASES, for_all


@for_all(CASES)
def test_everything_is_right_at_the_point_itself(case, rng, spread):
    x = case.point(rng, spread)
    frame, c = case.manifold.frame(x), case.coordinates(x, rng, 1.0)
    term = frame.half_squared_distance(x)
    tolerance = case.tolerance(x)
    assert frame.norm(frame.log(x)) <= tolerance
    assert 0.0 <= term.value <= tolerance**2
    assert frame.norm(term.gradient) <= tolerance
    assert frame.norm(term.hessian(c) - c) <= tolerance
    assert frame.norm(frame.coordinates(frame.transport(x, c)) - c) <= tolerance


@for_all(CASES)
def test_zero_vectors_stay_zero(case, rng, spread):
    x, y = case.points(rng, spread, 2)
    frame = case.manifold.frame(x)
    zero = np.zeros(frame.shape)
    there = case.manifold.frame(y)
    assert there.norm(there.coordinates(frame.transport(y, zero))) == 0.0
    assert frame.norm(frame.coordinates(frame.tangent(zero))) == 0.0
    assert frame.norm(frame.half_squared_distance(y).hessian(zero)) == 0.0


@for_all(CASES)
def test_tiny_steps_keep_their_digits(case, rng, spread):
    x = case.point(rng, spread)
    frame = case.manifold.frame(x)
    step = 1e-7 * frame.coordinates(case.manifold.random_tangent(x, rng))
    y = frame.exp(step)
    assert frame.norm(frame.log(y) - step) <= case.tolerance(x)
    hessian = frame.half_squared_distance(y).hessian
    assert frame.norm(hessian(step) - step) <= case.tolerance(x)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_spd_with_repeated_eigenvalues(n):
    manifold, x, y = SPD(n), np.eye(n), 2.0 * np.eye(n)
    frame = manifold.frame(x)
    c = manifold.random_tangent(x, np.random.default_rng(0))
    term = frame.half_squared_distance(y)
    np.testing.assert_allclose(manifold.log(x, y), np.log(2.0) * x, atol=1e-15)
    assert manifold.dist(x, y) == pytest.approx(np.sqrt(n) * np.log(2.0), rel=1e-15)
    assert term.value == pytest.approx(0.5 * n * np.log(2.0) ** 2, rel=1e-14)
    np.testing.assert_allclose(term.gradient, -np.log(2.0) * x, atol=1e-15)
    np.testing.assert_allclose(term.hessian(c), c, atol=1e-14)
    np.testing.assert_allclose(manifold.transport(x, y, c), 2.0 * c, atol=1e-14)


@pytest.mark.parametrize("n", [1, 3])
def test_hyperbolic_origin(n):
    manifold = Hyperbolic(n)
    origin = manifold.lift(np.zeros(n))
    c = np.random.default_rng(0).standard_normal(n)
    frame = manifold.frame(origin)
    y = frame.exp(c)
    np.testing.assert_allclose(y[1:], np.sinh(np.linalg.norm(c)) * c / np.linalg.norm(c), rtol=1e-15)
    np.testing.assert_allclose(frame.log(y), c, rtol=1e-14)
    np.testing.assert_array_equal(manifold.log(origin, origin), np.zeros(n + 1))
    back = manifold.exp(y, manifold.log(y, origin))
    np.testing.assert_allclose(back, origin, atol=1e-14)
