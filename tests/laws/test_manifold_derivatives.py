"""Gradients and Hessians against finite differences along geodesics."""

import numpy as np
import pytest

from geodual.manifolds import Grassmann, Oblique, Sphere, Stiefel
from tests.manifold_cases import ALL_CASES, CASES, flat, for_all, shaped_as

EXACT_HESSIAN_CASES = [case for case in CASES if case.exact_distance_hessian]
TAME = 0.3
"""Largest spread of the points, so that rounding does not hide the differences of the functions below."""
ACCURACY = 1e-8
"""Relative error of the fourth-order differences below."""


def first_difference(f, h=1e-3):
    return (8.0 * (f(h) - f(-h)) - (f(2.0 * h) - f(-2.0 * h))) / (12.0 * h)


def second_difference(f, h=1e-2):
    return (16.0 * (f(h) + f(-h)) - (f(2.0 * h) + f(-2.0 * h)) - 30.0 * f(0.0)) / (12.0 * h**2)


class AmbientQuadratic:
    """f(x) = ⟨a, x⟩ + ½ ⟨x, Bx⟩ on the entries of x, scaled to order one at a given point."""

    def __init__(self, x, rng):
        size = flat(x).size
        length = max(1.0, float(np.linalg.norm(flat(x))))
        self.linear = rng.standard_normal(size) / length
        half = rng.standard_normal((size, size)) / (length * np.sqrt(size))
        self.quadratic = half + half.T

    def __call__(self, x):
        return float(self.linear @ flat(x) + 0.5 * flat(x) @ self.quadratic @ flat(x))

    def gradient(self, x):
        return shaped_as(x, self.linear + self.quadratic @ flat(x))

    def hessian(self, u):
        return shaped_as(u, self.quadratic @ flat(u))


def setting(case, rng, spread):
    """Return a point, a function, and the coordinates of two unit tangent vectors."""
    x = case.point(rng, TAME * spread)
    frame = case.manifold.frame(x)
    a, b = (frame.coordinates(case.manifold.random_tangent(x, rng)) for _ in range(2))
    return x, AmbientQuadratic(x, rng), a, b


def riemannian_hessian(frame, f, c):
    return frame.hessian(f.gradient(frame.point), f.hessian(frame.tangent(c)), c)


def scale(f, frame):
    """Return the order of magnitude of f and its derivatives near a point."""
    egrad, x = flat(f.gradient(frame.point)), np.linalg.norm(flat(frame.point))
    return 1.0 + np.linalg.norm(egrad) * x + np.linalg.norm(f.quadratic) * x**2


@for_all(ALL_CASES)
def test_gradient_is_the_derivative_along_geodesics(case, rng, spread):
    x, f, a, _ = setting(case, rng, spread)
    frame = case.manifold.frame(x)
    slope = first_difference(lambda t: f(frame.exp(t * a)))
    assert abs(frame.inner(frame.gradient(f.gradient(x)), a) - slope) <= ACCURACY * scale(f, frame)


@for_all(ALL_CASES)
def test_hessian_is_the_second_derivative_along_geodesics(case, rng, spread):
    x, f, a, _ = setting(case, rng, spread)
    frame = case.manifold.frame(x)
    curvature = second_difference(lambda t: f(frame.exp(t * a)))
    assert abs(frame.inner(riemannian_hessian(frame, f, a), a) - curvature) <= ACCURACY * scale(f, frame)


@for_all(ALL_CASES)
def test_hessian_is_symmetric(case, rng, spread):
    x, f, a, b = setting(case, rng, spread)
    frame = case.manifold.frame(x)
    left = frame.inner(riemannian_hessian(frame, f, a), b)
    right = frame.inner(a, riemannian_hessian(frame, f, b))
    assert abs(left - right) <= case.tolerance(x) * scale(f, frame)


@for_all(ALL_CASES)
def test_public_conversions_return_tangent_vectors(case, rng, spread):
    x, f, a, _ = setting(case, rng, spread)
    frame, u = case.manifold.frame(x), case.manifold.frame(x).tangent(a)
    pairs = [
        (case.manifold.gradient(x, f.gradient(x)), frame.gradient(f.gradient(x))),
        (case.manifold.hessian(x, f.gradient(x), f.hessian(u), u), riemannian_hessian(frame, f, a)),
    ]
    for vector, coordinates in pairs:
        assert frame.norm(frame.coordinates(vector) - coordinates) <= case.tolerance(x) * scale(f, frame)
        projected = flat(case.manifold.project(x, vector))
        np.testing.assert_allclose(projected, flat(vector), rtol=1e-9, atol=1e-9 * scale(f, frame))


@for_all(CASES)
def test_gradient_of_half_squared_distance(case, rng, spread):
    x, y = distant_pair(case, rng, spread)
    frame = case.manifold.frame(x)
    c = frame.coordinates(case.manifold.random_tangent(x, rng))
    term = frame.half_squared_distance(y)
    slope = first_difference(lambda t: 0.5 * case.manifold.dist(frame.exp(t * c), y) ** 2)
    assert abs(frame.inner(term.gradient, c) - slope) <= ACCURACY * (1.0 + case.reach**2)
    assert abs(term.value - 0.5 * frame.dist(y) ** 2) <= case.tolerance(x, y) * (1.0 + case.reach)


@for_all(EXACT_HESSIAN_CASES)
def test_hessian_of_half_squared_distance(case, rng, spread):
    x, y = distant_pair(case, rng, spread)
    frame = case.manifold.frame(x)
    a, b = (frame.coordinates(case.manifold.random_tangent(x, rng)) for _ in range(2))
    hessian = frame.half_squared_distance(y).hessian
    curvature = second_difference(lambda t: 0.5 * case.manifold.dist(frame.exp(t * a), y) ** 2)
    assert abs(frame.inner(hessian(a), a) - curvature) <= 10.0 * ACCURACY * (1.0 + case.reach**2)
    assert abs(frame.inner(hessian(a), b) - frame.inner(a, hessian(b))) <= case.tolerance(x) * case.reach


def distant_pair(case, rng, spread):
    """Draw two points, each far enough from the cut locus of the other for differences of d²."""
    x = case.point(rng, TAME * spread)
    return x, case.manifold.frame(x).exp(case.coordinates(x, rng, 0.8 * case.reach))


@pytest.mark.parametrize("manifold", [Sphere(6), Oblique(3, 8), Stiefel(7, 3), Grassmann(7, 3)], ids=repr)
def test_long_chains_of_hessian_products_stay_tangent(manifold):
    # Lanczos and conjugate gradients apply the Hessian again and again: rounding errors in normal directions
    # must not grow with every product. Here normal directions would be a hundred times more curved.
    rng = np.random.default_rng(0)
    x = manifold.random_point(rng)
    frame = manifold.frame(x)
    c = frame.coordinates(manifold.random_tangent(x, rng))
    for _ in range(100):
        c = frame.hessian(100.0 * x, 99.0 * frame.tangent(c) + 0.1 * rng.standard_normal(x.shape), c)
        c /= np.linalg.norm(c)
    np.testing.assert_allclose(manifold.project(x, c), c, atol=1e-12)
