"""Our manifolds against pymanopt's: the same points and vectors must give the same numbers."""

import numpy as np
import pymanopt.manifolds as peers
import pytest

from geodual.manifolds import (
    SPD,
    Euclidean,
    FixedRank,
    Grassmann,
    Hyperbolic,
    Oblique,
    PositiveOrthant,
    Power,
    Product,
    Rotations,
    Sphere,
    Stiefel,
)
from tests.manifold_cases import flat, shaped_as

PAIRS = [
    (Euclidean(4), peers.Euclidean(4)),
    (Euclidean(2, 3), peers.Euclidean(2, 3)),
    (SPD(1), peers.SymmetricPositiveDefinite(1)),
    (SPD(4), peers.SymmetricPositiveDefinite(4)),
    (Sphere(2), peers.Sphere(2)),
    (Sphere(5), peers.Sphere(5)),
    (Oblique(3, 4), peers.Oblique(3, 4)),
    (PositiveOrthant(3, 2), peers.Positive(3, 2)),
    (Power(SPD(3), 2), peers.SymmetricPositiveDefinite(3, k=2)),
    (Power(Euclidean(2), 3), peers.Euclidean(3, 2)),
    (
        Product(SPD(3), Sphere(4), Euclidean(2)),
        peers.Product([peers.SymmetricPositiveDefinite(3), peers.Sphere(4), peers.Euclidean(2)]),
    ),
]
STIEFEL_PAIRS = [(Stiefel(n, p), peers.Stiefel(n, p)) for n, p in [(4, 1), (3, 3), (5, 3), (7, 2)]]
STIEFEL_PAIRS += [(Power(Stiefel(4, 2), 3), peers.Stiefel(4, 2, k=3))]
GRASSMANN_PAIRS = [(Grassmann(n, p), peers.Grassmann(n, p)) for n, p in [(4, 1), (5, 3), (7, 2)]]
SEEDS = [0, 1, 2]


def assert_same(ours, theirs):
    ours, theirs = flat(ours), flat(theirs)
    assert np.linalg.norm(ours - theirs) <= 1e-10 * np.linalg.norm(theirs)


def point_and_tangents(manifold, seed):
    rng = np.random.default_rng(seed)
    x = manifold.random_point(rng)
    return x, manifold.random_tangent(x, rng), manifold.random_tangent(x, rng)


def ambient_like(x, seed):
    return shaped_as(x, np.random.default_rng([seed, 1]).standard_normal(flat(x).size))


def over_pairs(pairs):
    def decorate(test):
        by_pair = pytest.mark.parametrize(("ours", "theirs"), pairs, ids=[repr(ours) for ours, _ in pairs])
        return by_pair(pytest.mark.parametrize("seed", SEEDS)(test))

    return decorate


@over_pairs(PAIRS + STIEFEL_PAIRS)
def test_inner_product_and_norm(ours, theirs, seed):
    x, u, v = point_and_tangents(ours, seed)
    assert ours.inner(x, u, v) == pytest.approx(theirs.inner_product(x, u, v), rel=1e-10, abs=1e-14)
    assert ours.norm(x, u) == pytest.approx(theirs.norm(x, u), rel=1e-10)


@over_pairs(PAIRS + STIEFEL_PAIRS)
def test_exponential(ours, theirs, seed):
    x, u, _ = point_and_tangents(ours, seed)
    assert_same(ours.exp(x, u), theirs.exp(x, u))


@over_pairs(PAIRS)
def test_logarithm_and_distance(ours, theirs, seed):
    x, y = (ours.random_point(np.random.default_rng([seed, k])) for k in range(2))
    assert_same(ours.log(x, y), theirs.log(x, y))
    assert ours.dist(x, y) == pytest.approx(theirs.dist(x, y), rel=1e-10)


@over_pairs(STIEFEL_PAIRS)
def test_their_exponential_inverts_our_logarithm_on_stiefel(ours, theirs, seed):
    x, u, v = point_and_tangents(ours, seed)
    y = ours.exp(ours.exp(x, u), ours.project(ours.exp(x, u), v))
    assert_same(theirs.exp(x, ours.log(x, y)), y)


@over_pairs(PAIRS + STIEFEL_PAIRS)
def test_projection_and_gradient(ours, theirs, seed):
    x = ours.random_point(np.random.default_rng(seed))
    v = ambient_like(x, seed)
    assert_same(ours.project(x, v), theirs.projection(x, v))
    assert_same(ours.gradient(x, v), theirs.euclidean_to_riemannian_gradient(x, v))


@over_pairs(PAIRS + STIEFEL_PAIRS)
def test_hessian(ours, theirs, seed):
    x, u, _ = point_and_tangents(ours, seed)
    egrad, ehess = ambient_like(x, seed), ambient_like(x, seed + 100)
    assert_same(ours.hessian(x, egrad, ehess, u), theirs.euclidean_to_riemannian_hessian(x, egrad, ehess, u))


class TestSubspaces:
    """Bases of the same subspace differ by a rotation, so projectors are compared."""

    @staticmethod
    def assert_same_span(ours, theirs):
        assert_same(ours @ ours.T, theirs @ theirs.T)

    @over_pairs(GRASSMANN_PAIRS)
    def test_exponential_and_retraction(self, ours, theirs, seed):
        x, u, _ = point_and_tangents(ours, seed)
        self.assert_same_span(ours.exp(x, u), theirs.exp(x, u))
        self.assert_same_span(ours.retract(x, u), theirs.retraction(x, u))

    @over_pairs(GRASSMANN_PAIRS)
    def test_logarithm_and_distance(self, ours, theirs, seed):
        x, y = (ours.random_point(np.random.default_rng([seed, k])) for k in range(2))
        assert_same(ours.log(x, y), theirs.log(x, y))
        assert ours.dist(x, y) == pytest.approx(theirs.dist(x, y), rel=1e-7)  # theirs is an arc cosine

    @over_pairs(GRASSMANN_PAIRS)
    def test_derivatives_of_a_function_of_the_subspace(self, ours, theirs, seed):
        x, u, v = point_and_tangents(ours, seed)
        half = ambient_like(np.zeros((ours.n, ours.n)), seed)
        a = half + half.T
        assert_same(ours.gradient(x, a @ x), theirs.euclidean_to_riemannian_gradient(x, a @ x))
        expected = theirs.euclidean_to_riemannian_hessian(x, a @ x, a @ u, u)
        assert_same(ours.hessian(x, a @ x, a @ u, u), expected)
        assert ours.inner(x, u, v) == pytest.approx(theirs.inner_product(x, u, v), rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [2, 3, 5])
class TestRotations:
    """pymanopt represents the tangent vector XΩ by Ω."""

    def test_exponential_logarithm_and_distance(self, n, seed):
        ours, theirs = Rotations(n), peers.SpecialOrthogonalGroup(n, retraction="polar")
        x, u, v = point_and_tangents(ours, seed)
        y = ours.exp(x, u)
        assert_same(y, theirs.exp(x, x.T @ u))
        assert_same(ours.log(x, y), x @ theirs.log(x, y))
        assert ours.dist(x, y) == pytest.approx(theirs.dist(x, y), rel=1e-10)
        expected = theirs.inner_product(x, x.T @ u, x.T @ v)
        assert ours.inner(x, u, v) == pytest.approx(expected, rel=1e-10, abs=1e-14)

    def test_derivatives(self, n, seed):
        ours, theirs = Rotations(n), peers.SpecialOrthogonalGroup(n)
        x, u, _ = point_and_tangents(ours, seed)
        egrad, ehess = ambient_like(x, seed), ambient_like(x, seed + 100)
        assert_same(ours.gradient(x, egrad), x @ theirs.euclidean_to_riemannian_gradient(x, egrad))
        converted = theirs.euclidean_to_riemannian_hessian(x, egrad, ehess, x.T @ u)
        assert_same(ours.hessian(x, egrad, ehess, u), x @ converted)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("m", "n", "r"), [(5, 4, 2), (6, 6, 1), (4, 7, 2)])
class TestFixedRank:
    """pymanopt represents points and tangent vectors by factors; it has no Hessian."""

    def test_projection_and_retraction(self, m, n, r, seed):
        ours, theirs, rng = FixedRank(m, n, r), peers.FixedRankEmbedded(m, n, r), np.random.default_rng(seed)
        x = ours.random_point(rng)
        u, s, vt = x.factors
        point = type(theirs.random_point())(u, s, vt)
        z = ambient_like(x, seed)
        tangent = theirs.projection(point, z)
        left, middle, right = theirs.embedding(point, tangent)
        assert_same(ours.project(x, z), left @ middle @ right.T)
        assert ours.norm(x, ours.project(x, z)) == pytest.approx(theirs.norm(point, tangent), rel=1e-12)
        u, s, vt = theirs.retraction(point, tangent)
        assert_same(ours.retract(x, ours.project(x, z)), (u * s) @ vt)


class TestHyperboloidAgainstPoincareBall:
    """The isometry x ↦ x₁…ₙ / (1 + x₀) maps our model to theirs."""

    @staticmethod
    def to_ball(x):
        return x[1:] / (1.0 + x[0])

    @staticmethod
    def push(x, u):
        """Map the tangent vector `u` at `x` to the ball."""
        return u[1:] / (1.0 + x[0]) - x[1:] * (u[0] / (1.0 + x[0]) ** 2)

    @staticmethod
    def pull(x, w):
        """Apply the transposed differential to the covector `w` of the ball."""
        return np.concatenate([[-(x[1:] @ w) / (1.0 + x[0]) ** 2], w / (1.0 + x[0])])

    @staticmethod
    def derivative_of_pull(x, u, w):
        """Differentiate ``pull(x, w)`` along `u`."""
        scale = 1.0 + x[0]
        first = 2.0 * (x[1:] @ w) * u[0] / scale**3 - (u[1:] @ w) / scale**2
        return np.concatenate([[first], -w * (u[0] / scale**2)])

    @pytest.fixture(params=[1, 2, 5])
    def ours(self, request):
        return Hyperbolic(request.param)

    @pytest.fixture
    def theirs(self, ours):
        return peers.PoincareBall(ours.n)

    @pytest.fixture(params=SEEDS)
    def seed(self, request):
        return request.param

    def test_inner_product(self, ours, theirs, seed):
        x, u, v = point_and_tangents(ours, seed)
        expected = theirs.inner_product(self.to_ball(x), self.push(x, u), self.push(x, v))
        assert ours.inner(x, u, v) == pytest.approx(expected, rel=1e-10)

    def test_exponential(self, ours, theirs, seed):
        x, u, _ = point_and_tangents(ours, seed)
        assert_same(self.to_ball(ours.exp(x, u)), theirs.exp(self.to_ball(x), self.push(x, u)))

    def test_logarithm_and_distance(self, ours, theirs, seed):
        x, y = (ours.random_point(np.random.default_rng([seed, k])) for k in range(2))
        assert_same(self.push(x, ours.log(x, y)), theirs.log(self.to_ball(x), self.to_ball(y)))
        assert ours.dist(x, y) == pytest.approx(theirs.dist(self.to_ball(x), self.to_ball(y)), rel=1e-10)

    def test_gradient(self, ours, theirs, seed):
        x = ours.random_point(np.random.default_rng(seed))
        w = ambient_like(x[1:], seed)
        expected = theirs.euclidean_to_riemannian_gradient(self.to_ball(x), w)
        assert_same(self.push(x, ours.gradient(x, self.pull(x, w))), expected)

    def test_hessian(self, ours, theirs, seed):
        x, u, _ = point_and_tangents(ours, seed)
        w, dw = ambient_like(x[1:], seed), ambient_like(x[1:], seed + 100)
        ehess = self.pull(x, dw) + self.derivative_of_pull(x, u, w)
        expected = theirs.euclidean_to_riemannian_hessian(self.to_ball(x), w, dw, self.push(x, u))
        assert_same(self.push(x, ours.hessian(x, self.pull(x, w), ehess, u)), expected)
