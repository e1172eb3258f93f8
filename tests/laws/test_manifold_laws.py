"""Laws that every manifold must satisfy, whatever its formulas are."""

import numpy as np
import pytest

from geodual.manifolds import Hyperbolic, Power, Product
from tests.manifold_cases import ALL_CASES, CASES, ROUNDING, flat, for_all, shaped_as

PARALLEL_CASES = [case for case in CASES if case.parallel]


@for_all(CASES)
def test_exp_inverts_log(case, rng, spread):
    x, y = case.points(rng, spread, 2)
    frame = case.manifold.frame(x)
    assert case.manifold.dist(frame.exp(frame.log(y)), y) <= case.tolerance(x, y)


@for_all(CASES)
def test_log_inverts_exp(case, rng, spread):
    x = case.point(rng, spread)
    frame, c = case.manifold.frame(x), case.coordinates(x, rng)
    y = frame.exp(c)
    assert frame.norm(frame.log(y) - c) <= case.tolerance(x, y)


@for_all(ALL_CASES)
def test_exp_and_retract_stay_on_the_manifold(case, rng, spread):
    x = case.point(rng, spread)
    frame, c = case.manifold.frame(x), case.coordinates(x, rng)
    for y in (frame.exp(c), frame.retract(c), frame.move(c)):
        np.testing.assert_array_equal(flat(case.manifold.check_point(y)), flat(y))


@for_all(CASES)
def test_exp_of_zero_is_the_point(case, rng, spread):
    x = case.point(rng, spread)
    frame = case.manifold.frame(x)
    zero = np.zeros(frame.shape)
    for y in (frame.exp(zero), frame.retract(zero), frame.move(zero)):
        assert frame.dist(y) <= case.tolerance(x)


@for_all(CASES)
def test_distance_is_a_metric(case, rng, spread):
    dist = case.manifold.dist
    x, y, z = case.points(rng, spread, 3)
    tolerance = case.tolerance(x, y) + case.tolerance(y, z) + case.tolerance(x, z)
    assert abs(dist(x, y) - dist(y, x)) <= tolerance
    assert dist(x, z) <= dist(x, y) + dist(y, z) + tolerance
    assert 0.0 <= dist(x, x) <= case.tolerance(x)
    assert dist(x, y) > 0.0


@for_all(CASES)
def test_distance_is_the_length_of_the_logarithm(case, rng, spread):
    x, y = case.points(rng, spread, 2)
    length = case.manifold.norm(x, case.manifold.log(x, y))
    assert length == pytest.approx(case.manifold.dist(x, y), rel=1e-12, abs=case.tolerance(x, y))


@for_all(CASES)
def test_geodesics_have_constant_speed(case, rng, spread):
    x = case.point(rng, spread)
    frame, c = case.manifold.frame(x), case.coordinates(x, rng)
    third, end = frame.exp(c / 3.0), frame.exp(c)
    assert abs(case.manifold.dist(third, end) - 2.0 / 3.0 * frame.norm(c)) <= case.tolerance(third, end)


@for_all(ALL_CASES)
def test_transport_is_an_isometry_between_tangent_spaces(case, rng, spread):
    x, y = case.points(rng, spread, 2)
    frame = case.manifold.frame(x)
    a, b = case.coordinates(x, rng, 1.0), case.coordinates(x, rng, 1.0)
    u, v = frame.transport(y, a), frame.transport(y, b)
    assert abs(case.manifold.inner(y, u, v) - frame.inner(a, b)) <= case.tolerance(x, y)
    assert_tangent(case, y, u)


@for_all(PARALLEL_CASES)
def test_transport_carries_the_velocity_of_a_geodesic_along(case, rng, spread):
    x = case.point(rng, spread)
    frame, c = case.manifold.frame(x), case.coordinates(x, rng)
    y = frame.exp(c)
    there = case.manifold.frame(y)
    velocity = there.coordinates(frame.transport(y, c))
    assert there.norm(velocity + there.log(x)) <= case.tolerance(x, y)


@for_all(ALL_CASES)
def test_transport_and_back_is_the_identity(case, rng, spread):
    x, y = case.points(rng, spread, 2)
    c = case.coordinates(x, rng, 1.0)
    frame, there = case.manifold.frame(x), case.manifold.frame(y)
    back = frame.coordinates(there.transport(x, there.coordinates(frame.transport(y, c))))
    assert frame.norm(back - c) <= case.tolerance(x, y)


@for_all(CASES)
def test_retraction_is_of_second_order(case, rng, spread):
    x = case.point(rng, 0.3 * spread)
    frame = case.manifold.frame(x)
    c = frame.coordinates(case.manifold.random_tangent(x, rng))

    def gap(t):
        return case.manifold.dist(frame.retract(t * c), frame.exp(t * c))

    # The gap falls like t³, so by three decades per decade of t; 2.5 leaves room for higher orders.
    coarse, fine = gap(0.1), gap(0.01)
    exact = coarse <= case.tolerance(x)
    assert exact or np.log10(coarse / fine) >= 2.5


@for_all(ALL_CASES)
def test_projection_is_orthogonal_and_idempotent(case, rng, spread):
    x = case.point(rng, spread)
    v = shaped_as(x, rng.standard_normal(flat(x).size))
    projected = case.manifold.project(x, v)
    assert_tangent(case, x, projected)
    normal = flat(v) - flat(projected)
    tangent = flat(case.manifold.random_tangent(x, rng))
    tolerance = ROUNDING * case.ambient_amplification(x) * np.linalg.norm(tangent) * np.linalg.norm(flat(v))
    assert abs(np.sum(ambient_signs(case.manifold, x) * normal * tangent)) <= tolerance


@for_all(ALL_CASES)
def test_coordinates_invert_tangent(case, rng, spread):
    x = case.point(rng, spread)
    frame, c = case.manifold.frame(x), case.coordinates(x, rng, 1.0)
    assert frame.norm(frame.coordinates(frame.tangent(c)) - c) <= case.tolerance(x)
    assert_tangent(case, x, frame.tangent(c))


@for_all(ALL_CASES)
def test_random_tangent_has_unit_length_and_is_tangent(case, rng, spread):
    x = case.point(rng, spread)
    u = case.manifold.random_tangent(x, rng)
    assert abs(case.manifold.norm(x, u) - 1.0) <= case.tolerance(x)
    assert_tangent(case, x, u)


@pytest.mark.parametrize("case", ALL_CASES, ids=str)
def test_random_tangent_prefers_no_direction(case):
    x = case.point(np.random.default_rng(1), 0.5)
    frame, rng = case.manifold.frame(x), np.random.default_rng(2)
    draws = np.array([np.ravel(frame.coordinates(case.manifold.random_tangent(x, rng))) for _ in range(400)])
    spectrum = np.linalg.svd(draws / np.sqrt(len(draws)), compute_uv=False)[: case.manifold.dim] ** 2
    np.testing.assert_allclose(spectrum * case.manifold.dim, 1.0, atol=0.7)


@pytest.mark.parametrize("case", ALL_CASES, ids=str)
def test_random_draws_follow_the_generator(case):
    def draw(seed):
        rng = np.random.default_rng(seed)
        x = case.manifold.check_point(case.manifold.random_point(rng))
        return np.concatenate([flat(x), flat(case.manifold.random_tangent(x, rng))])

    np.testing.assert_array_equal(draw(3), draw(3))
    assert not np.array_equal(draw(3), draw(4))


def assert_tangent(case, x, u):
    tolerance = ROUNDING * case.ambient_amplification(x) * max(1.0, np.linalg.norm(flat(u)))
    np.testing.assert_allclose(flat(case.manifold.project(x, u)), flat(u), rtol=0.0, atol=tolerance)


def ambient_signs(manifold, x):
    """Return the signs of the ambient inner product: all +, but Minkowski's for hyperbolic space."""
    if isinstance(manifold, Product):
        return np.concatenate([ambient_signs(m, part) for m, part in zip(manifold.factors, x, strict=True)])
    if isinstance(manifold, Power):
        return np.concatenate([ambient_signs(manifold.manifold, part) for part in x])
    signs = np.ones(flat(x).size)
    if isinstance(manifold, Hyperbolic):
        signs[0] = -1.0
    return signs
