"""The oblique manifold is a product of spheres, computed all at once."""

import numpy as np
import pytest

from geodual.manifolds import NoLogarithmError, NotOnManifoldError, Oblique, Product, Sphere

N, M = 3, 5


@pytest.fixture(params=range(3))
def drawn(request):
    """Return two points, a tangent vector, and two ambient matrices."""
    manifold, rng = Oblique(N, M), np.random.default_rng(request.param)
    x, y = manifold.random_point(rng), manifold.random_point(rng)
    return x, y, manifold.random_tangent(x, rng), *rng.standard_normal((2, N, M))


def columns(matrix):
    return tuple(matrix.T)


def matrix(parts):
    return np.array(parts).T


def test_every_operation_is_that_of_the_spheres(drawn):
    x, y, u, egrad, ehess = drawn
    ours, spheres = Oblique(N, M), Product([Sphere(N)] * M)
    cx, cy, cu = columns(x), columns(y), columns(u)

    def same(a, b):
        np.testing.assert_allclose(a, matrix(b), rtol=0.0, atol=1e-14)

    same(ours.exp(x, u), spheres.exp(cx, cu))
    same(ours.retract(x, u), spheres.retract(cx, cu))
    same(ours.log(x, y), spheres.log(cx, cy))
    same(ours.transport(x, y, u), spheres.transport(cx, cy, cu))
    same(ours.project(x, egrad), spheres.project(cx, columns(egrad)))
    same(ours.gradient(x, egrad), spheres.gradient(cx, columns(egrad)))
    hessian = spheres.hessian(cx, columns(egrad), columns(ehess), cu)
    same(ours.hessian(x, egrad, ehess, u), hessian)
    assert ours.dist(x, y) == pytest.approx(spheres.dist(cx, cy), rel=1e-15)
    assert (ours.dim, ours.step_limit) == (spheres.dim, pytest.approx(spheres.step_limit, rel=1e-15))


def test_coordinates_are_those_of_the_spheres_as_columns(drawn):
    x, y, u, egrad, _ = drawn
    ours, spheres = Oblique(N, M).frame(x), Product([Sphere(N)] * M).frame(columns(x))
    np.testing.assert_allclose(ours.gradient(egrad).T.ravel(), spheres.gradient(columns(egrad)), atol=1e-15)
    term, terms = ours.half_squared_distance(y), spheres.half_squared_distance(columns(y))
    assert term.value == pytest.approx(terms.value, rel=1e-14)
    np.testing.assert_allclose(term.gradient.T.ravel(), terms.gradient, atol=1e-14)
    np.testing.assert_allclose(term.hessian(u).T.ravel(), terms.hessian(u.T.ravel()), atol=1e-14)


def test_equal_columns_and_opposite_columns():
    manifold = Oblique(3, 3)
    x = np.eye(3)
    y = x * [1.0, -1.0, 1.0]
    assert manifold.dist(x, y) == pytest.approx(np.pi, rel=1e-15)
    for operation in (manifold.log, lambda a, b: manifold.transport(a, b, 0.0 * a)):
        with pytest.raises(NoLogarithmError, match=r"1 of the unit vectors are opposite, .* index 1"):
            operation(x, y)
    turned = manifold.exp(x, np.array([[0.0, 0.3, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    np.testing.assert_array_equal(manifold.log(x, turned)[:, [0, 2]], 0.0)


def test_the_worst_column_is_named():
    with pytest.raises(NotOnManifoldError, match=r"columns of norm 1, got 2 for column 1; divide"):
        Oblique(2, 3).check_point([[1.0, 0.0, 0.6], [0.0, 2.0, 0.8]])
