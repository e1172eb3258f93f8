"""Rotations by angles up to half a turn, against scipy's matrix logarithm and known angles."""

import numpy as np
import pytest
from scipy.linalg import block_diag, expm, logm

from geodual.manifolds import NoLogarithmError, NotOnManifoldError, Power, Rotations, Stiefel


def plane(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def turned(rotation, seed):
    """Write a rotation in a random orthonormal basis."""
    q = np.linalg.qr(np.random.default_rng(seed).standard_normal(rotation.shape))[0]
    return q @ rotation @ q.T


@pytest.mark.parametrize("n", [2, 3, 4, 7])
@pytest.mark.parametrize("seed", range(3))
def test_exponential_and_logarithm_are_those_of_scipy(n, seed):
    manifold, rng = Rotations(n), np.random.default_rng(seed)
    x, y = manifold.random_point(rng), manifold.random_point(rng)
    np.testing.assert_allclose(manifold.log(x, y), x @ logm(x.T @ y).real, atol=1e-10)
    u = manifold.random_tangent(x, rng)
    np.testing.assert_allclose(manifold.exp(x, u), x @ expm(x.T @ u), atol=1e-14)


@pytest.mark.parametrize("angles", [(0.5, 2.0), (1.0, 1.0), (0.0, 3.1), (1e-9, 2e-9), (3.0, -3.0)])
def test_known_angles(angles):
    rotation = turned(block_diag(*map(plane, angles), 1.0), 0)
    manifold, identity = Rotations(5), np.eye(5)
    length = np.sqrt(2.0) * np.linalg.norm(angles)
    assert manifold.dist(identity, rotation) == pytest.approx(length, rel=1e-14, abs=1e-15)
    log = manifold.log(identity, rotation)
    np.testing.assert_array_equal(log, -log.T)
    assert np.linalg.norm(log) == pytest.approx(length, rel=1e-14, abs=1e-15)
    np.testing.assert_allclose(manifold.exp(identity, log), rotation, atol=1e-14)


@pytest.mark.parametrize("short", [1e-1, 1e-4, 1e-7])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_almost_half_a_turn(short, n):
    manifold, identity = Rotations(n), np.eye(n)
    rotation = turned(block_diag(plane(np.pi - short), np.eye(n - 2)), n)
    log = manifold.log(identity, rotation)
    assert np.linalg.norm(log) == pytest.approx(np.sqrt(2.0) * (np.pi - short), rel=1e-14)
    np.testing.assert_allclose(manifold.exp(identity, log), rotation, atol=1e-14)


@pytest.mark.parametrize("other", [(), (0.7,), (np.pi,)])
def test_half_a_turn_has_a_distance_but_no_logarithm(other):
    rotation = turned(block_diag(plane(np.pi), *map(plane, other), 1.0), 3)
    n = len(rotation)
    manifold, identity = Rotations(n), np.eye(n)
    expected = np.sqrt(2.0) * np.linalg.norm([np.pi, *other])
    assert manifold.dist(identity, rotation) == pytest.approx(expected, rel=1e-13)
    for operation in (manifold.log, lambda a, b: manifold.transport(a, b, 0.0 * a)):
        with pytest.raises(NoLogarithmError, match="half a turn of some plane"):
            operation(identity, rotation)


def test_the_metric_is_that_of_square_stiefel_matrices():
    rotations, stiefel, rng = Rotations(3), Stiefel(3, 3), np.random.default_rng(0)
    x, y = rotations.random_point(rng), rotations.random_point(rng)
    u = rotations.random_tangent(x, rng)
    assert rotations.norm(x, u) == pytest.approx(stiefel.norm(x, u), rel=1e-14)
    np.testing.assert_allclose(rotations.exp(x, u), stiefel.exp(x, u), atol=1e-14)
    np.testing.assert_allclose(rotations.log(x, y), stiefel.log(x, y), atol=1e-8)


def test_the_metric_does_not_depend_on_the_side():
    manifold, rng = Rotations(4), np.random.default_rng(1)
    x, y, q = (manifold.random_point(rng) for _ in range(3))
    for a, b in ((q @ x, q @ y), (x @ q, y @ q), (x.T, y.T)):
        assert manifold.dist(a, b) == pytest.approx(manifold.dist(x, y), rel=1e-13)


def test_random_rotations_have_determinant_one():
    rng = np.random.default_rng(2)
    draws = [Rotations(n).random_point(rng) for n in (2, 3, 4) for _ in range(10)]
    np.testing.assert_allclose([np.linalg.det(x) for x in draws], 1.0, rtol=1e-13)


def test_reflections_are_refused():
    with pytest.raises(NotOnManifoldError, match="determinant 1, got -1, a reflection; change the sign"):
        Rotations(3).check_point(np.diag([1.0, 1.0, -1.0]))


def test_long_stacks_give_the_products_of_single_rotations():
    """Products of many small matrices are not those of BLAS."""
    many, one, rng = Power(Rotations(3), 150), Rotations(3), np.random.default_rng(4)
    x = many.random_point(rng)
    u, egrad, ehess = rng.standard_normal((3, *x.shape))
    u = many.project(x, u)
    retracted, hessian = many.retract(x, u), many.hessian(x, egrad, ehess, u)
    for k in (0, 77, 149):
        np.testing.assert_allclose(retracted[k], one.retract(x[k], u[k]), atol=1e-14)
        expected = one.hessian(x[k], egrad[k], ehess[k], u[k])
        np.testing.assert_allclose(hessian[k], expected, atol=1e-13)
