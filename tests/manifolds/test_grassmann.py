"""Subspaces: the basis must not matter, and right angles have no logarithm."""

import numpy as np
import pytest

from geodual.manifolds import Grassmann, NoLogarithmError, Sphere
from geodual.optimize import Problem, minimize

MANIFOLDS = [Grassmann(4, 1), Grassmann(6, 2), Grassmann(5, 3), Grassmann(4, 3)]


def turn(p, seed):
    """Draw an orthogonal p × p matrix."""
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((p, p)))[0]


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_the_basis_does_not_matter(manifold, seed):
    rng = np.random.default_rng(seed)
    x, y = manifold.random_point(rng), manifold.random_point(rng)
    u = manifold.random_tangent(x, rng)
    q, r = turn(manifold.p, seed + 10), turn(manifold.p, seed + 20)
    assert manifold.dist(x @ q, y @ r) == pytest.approx(manifold.dist(x, y), rel=1e-13)
    np.testing.assert_allclose(manifold.log(x @ q, y @ r), manifold.log(x, y) @ q, atol=1e-12)
    carried = manifold.transport(x, y, u)
    np.testing.assert_allclose(manifold.transport(x @ q, y @ r, u @ q), carried @ r, atol=1e-12)
    end, turned = manifold.exp(x, u), manifold.exp(x @ q, u @ q)
    np.testing.assert_allclose(turned @ turned.T, end @ end.T, atol=1e-13)


def test_distance_is_the_norm_of_the_principal_angles():
    angles = np.array([0.3, 1.2])
    x = np.eye(5)[:, :2]
    y = np.zeros((5, 2))
    y[[0, 1], [0, 1]], y[[2, 3], [0, 1]] = np.cos(angles), np.sin(angles)
    assert Grassmann(5, 2).dist(x, y) == pytest.approx(np.linalg.norm(angles), rel=1e-15)


def test_lines_are_points_of_the_sphere_up_to_sign():
    lines, sphere, rng = Grassmann(4, 1), Sphere(4), np.random.default_rng(0)
    x, y = sphere.random_point(rng), sphere.random_point(rng)
    y *= np.sign(x @ y)
    assert lines.dist(x[:, None], -y[:, None]) == pytest.approx(sphere.dist(x, y), rel=1e-14)
    np.testing.assert_allclose(lines.log(x[:, None], -y[:, None])[:, 0], sphere.log(x, y), atol=1e-14)


def test_a_subspace_and_its_complement_move_alike():
    """A 3-dimensional subspace of R⁴ and the line orthogonal to it have the same distances."""
    spaces, lines, rng = Grassmann(4, 3), Grassmann(4, 1), np.random.default_rng(1)
    bases = [np.linalg.qr(rng.standard_normal((4, 4)))[0] for _ in range(2)]
    x, y = (basis[:, :3] for basis in bases)
    a, b = (basis[:, 3:] for basis in bases)
    assert spaces.dist(x, y) == pytest.approx(lines.dist(a, b), rel=1e-13)


def test_right_angles_have_a_distance_but_no_logarithm():
    manifold = Grassmann(4, 2)
    x, y = np.eye(4)[:, :2], np.eye(4)[:, 1:3]
    assert manifold.dist(x, y) == pytest.approx(np.pi / 2, rel=1e-15)
    for operation in (manifold.log, lambda a, b: manifold.transport(a, b, 0.0 * a)):
        with pytest.raises(NoLogarithmError, match=r"right angle.* third subspace"):
            operation(x, y)


@pytest.mark.parametrize("short", [1e-2, 1e-5, 1e-7])
def test_almost_right_angles(short):
    manifold, x = Grassmann(3, 1), np.eye(3)[:, :1]
    u = (np.pi / 2 - short) * np.eye(3)[:, 1:2]
    y = manifold.exp(x, u)
    assert manifold.dist(x, y) == pytest.approx(np.pi / 2 - short, rel=1e-15)
    np.testing.assert_allclose(manifold.log(x, -y), u, atol=1e-14)


def test_principal_components_are_found_up_to_a_rotation():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    a = basis @ np.diag([9.0, 7.0, 2.0, 1.0, 0.5, 0.1]) @ basis.T
    manifold = Grassmann(6, 2)
    problem = Problem(
        manifold,
        cost=lambda x: -0.5 * np.trace(x.T @ a @ x),
        gradient=lambda x: -a @ x,
        hessian_product=lambda x, u: -a @ u,
    )
    result = minimize(problem, manifold.random_point(rng))
    assert result.success
    assert manifold.dist(result.x, basis[:, :2]) <= 1e-6


def test_the_whole_space_is_refused():
    with pytest.raises(ValueError, match="`p` must be less than n = 3, got 3"):
        Grassmann(3, 3)
