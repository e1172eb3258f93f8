"""Points of the Stiefel manifold that are far apart, and the special cases p = 1 and p = n."""

import numpy as np
import pytest

from geodual.manifolds import Sphere, Stiefel


def test_orthogonal_frames():
    manifold = Stiefel(4, 2)
    x, y = np.eye(4)[:, :2], np.eye(4)[:, 2:]
    u, v = (manifold.random_tangent(x, np.random.default_rng(seed)) for seed in range(2))
    carried = manifold.transport(x, y, u)
    assert manifold.inner(y, carried, manifold.transport(x, y, v)) == pytest.approx(manifold.inner(x, u, v))
    np.testing.assert_allclose(manifold.project(y, carried), carried, atol=1e-15)
    assert manifold.dist(x, y) == pytest.approx(np.pi / np.sqrt(2.0), rel=1e-14)


def test_one_column_is_a_sphere():
    stiefel, sphere, rng = Stiefel(5, 1), Sphere(5), np.random.default_rng(0)
    x, y = sphere.random_point(rng), sphere.random_point(rng)
    u = sphere.random_tangent(x, rng)
    np.testing.assert_allclose(stiefel.exp(x[:, None], u[:, None])[:, 0], sphere.exp(x, u), atol=1e-15)
    np.testing.assert_allclose(stiefel.log(x[:, None], y[:, None])[:, 0], sphere.log(x, y), atol=1e-14)


def test_rotations_of_the_plane():
    angle = 2.0
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    assert Stiefel(2, 2).dist(np.eye(2), rotation) == pytest.approx(np.sqrt(2.0) * angle, rel=1e-14)


def test_a_rotation_and_a_reflection_are_not_connected():
    with pytest.raises(ValueError, match="determinants 1 and −1; change the sign of one column"):
        Stiefel(3, 3).log(np.eye(3), np.diag([1.0, 1.0, -1.0]))


def test_too_distant_points_have_no_logarithm():
    x = np.eye(4)[:, :2]
    with pytest.raises(ValueError, match=r"did not converge .* go through a point between them"):
        Stiefel(4, 2).log(x, -x)


def test_two_isolated_points():
    manifold, x = Stiefel(1, 1), np.array([[-1.0]])
    assert manifold.dim == 0
    np.testing.assert_array_equal(manifold.random_tangent(x, np.random.default_rng(0)), [[0.0]])
    assert manifold.dist(x, x) == 0.0
