"""Opposite and nearly opposite points of the sphere."""

import numpy as np
import pytest

from geodual.manifolds import SPD, Product, Sphere


@pytest.mark.parametrize("seed", range(5))
def test_opposite_points_have_a_distance_but_no_logarithm(seed):
    manifold = Sphere(5)
    x = manifold.random_point(np.random.default_rng(seed))
    assert manifold.dist(x, -x) == pytest.approx(np.pi, rel=1e-15)
    with pytest.raises(ValueError, match="no logarithm and no transport"):
        manifold.log(x, -x)
    with pytest.raises(ValueError, match="no logarithm and no transport"):
        manifold.transport(x, -x, np.zeros(5))


def test_opposite_parts_of_a_product_have_a_distance():
    manifold = Product(Sphere(3), SPD(2))
    x, y = (np.eye(3)[0], np.eye(2)), (-np.eye(3)[0], np.e * np.eye(2))
    assert manifold.dist(x, y) == pytest.approx(np.sqrt(np.pi**2 + 2.0), rel=1e-15)


@pytest.mark.parametrize("short_of_pi", [1e-1, 1e-4, 1e-7])
def test_nearly_opposite_points(short_of_pi):
    manifold, rng = Sphere(4), np.random.default_rng(0)
    x = manifold.random_point(rng)
    u = (np.pi - short_of_pi) * manifold.random_tangent(x, rng)
    y = manifold.exp(x, u)
    assert manifold.dist(x, y) == pytest.approx(np.pi - short_of_pi, rel=1e-15)
    np.testing.assert_allclose(manifold.log(x, y), u, atol=1e-14 / short_of_pi)
    assert abs(x @ manifold.log(x, y)) <= 1e-14
    velocity = manifold.transport(x, y, u)
    np.testing.assert_allclose(velocity, -manifold.log(y, x), atol=1e-14 / short_of_pi)
    assert np.linalg.norm(velocity) == pytest.approx(np.linalg.norm(u), rel=1e-14)


def test_near_points_keep_their_digits():
    manifold, x = Sphere(2), np.array([1.0, 0.0])
    y = np.array([np.cos(1e-9), np.sin(1e-9)])
    assert manifold.dist(x, y) == pytest.approx(1e-9, rel=1e-15)
