"""Positive definite matrices of extreme scale and condition."""

import numpy as np
import pytest

from geodual.manifolds import SPD, NotOnManifoldError
from tests.manifold_cases import spd_with_condition


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_scale_of_the_matrices_does_not_matter(scale):
    rng = np.random.default_rng(0)
    manifold = SPD(4)
    x, y = manifold.random_point(rng), manifold.random_point(rng)
    u = manifold.random_tangent(x, rng)
    small = scale * x
    assert manifold.dist(small, scale * y) == pytest.approx(manifold.dist(x, y), rel=1e-13)
    assert manifold.norm(small, scale * u) == pytest.approx(1.0, rel=1e-13)
    np.testing.assert_allclose(manifold.exp(small, scale * u), scale * manifold.exp(x, u), rtol=1e-12)
    np.testing.assert_allclose(manifold.log(small, scale * y), scale * manifold.log(x, y), rtol=1e-11)


def test_points_of_opposite_extreme_scale():
    manifold, x = SPD(3), np.eye(3)
    expected = np.sqrt(3.0) * np.log(1e24)
    assert manifold.dist(1e-12 * x, 1e12 * x) == pytest.approx(expected, rel=1e-15)
    back = manifold.exp(1e-12 * x, manifold.log(1e-12 * x, 1e12 * x))
    np.testing.assert_allclose(back, 1e12 * x, rtol=1e-12)


def test_diagonal_matrices_of_extreme_condition_are_exact():
    x, y = np.diag([1e-12, 1.0, 1e12]), np.diag([1.0, 1e-12, 1e12])
    assert SPD(3).dist(x, y) == pytest.approx(np.sqrt(2.0) * np.log(1e12), rel=1e-14)


def test_the_error_names_the_eigenvalues_of_the_second_point_not_of_the_pencil():
    x, y = 1e-6 * np.eye(2), np.diag([1.0, -2.0])
    for operation in (SPD(2).dist, SPD(2).log):
        with pytest.raises(NotOnManifoldError, match="range from -2 to 1"):
            operation(x, y)


def test_retraction_is_positive_definite_for_any_step():
    rng = np.random.default_rng(1)
    manifold = SPD(4)
    x = spd_with_condition(rng, 4, 1e3)
    frame = manifold.frame(x)
    for length in [1.0, 10.0, 1e3]:
        step = length * frame.coordinates(manifold.random_tangent(x, rng))
        manifold.check_point(frame.retract(step))


def test_rounding_and_memory_order_do_not_matter():
    rng = np.random.default_rng(2)
    manifold = SPD(5)
    x, y = manifold.random_point(rng), manifold.random_point(rng)
    rounded = np.asfortranarray(y + 1e-13 * rng.standard_normal((5, 5)))
    assert manifold.dist(x, rounded) == pytest.approx(manifold.dist(x, y), rel=1e-10)
    assert manifold.dist(rounded, x) == pytest.approx(manifold.dist(x, y), rel=1e-10)
    np.testing.assert_allclose(manifold.log(x, rounded), manifold.log(x, y), atol=1e-11)
