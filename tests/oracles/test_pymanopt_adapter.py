"""A pymanopt manifold behind our interface gives the same numbers as pymanopt itself."""

import copy
import pickle

import numpy as np
import pymanopt.manifolds as peers
import pytest

from geodual.manifolds import SPD, NotOnManifoldError, PymanoptManifold, as_manifold
from geodual.optimize import Problem, minimize
from tests.manifold_cases import flat, shaped_as

WITH_LOG = [
    peers.Sphere(5),
    peers.Grassmann(5, 2),
    peers.Oblique(4, 3),
    peers.SymmetricPositiveDefinite(3),
    peers.SpecialOrthogonalGroup(3),
    peers.Product([peers.Sphere(4), peers.SymmetricPositiveDefinite(2)]),
]
WITHOUT_LOG = [
    peers.Stiefel(5, 2),
    peers.Elliptope(4, 2),
    peers.Product([peers.Sphere(4), peers.Stiefel(3, 2)]),
]
WITHOUT_EXP = [peers.Elliptope(4, 2)]
EVERY = WITH_LOG + WITHOUT_LOG


def assert_same(ours, theirs):
    np.testing.assert_allclose(flat(ours), flat(theirs), rtol=1e-12, atol=1e-13)


def over(manifolds):
    return pytest.mark.parametrize("peer", manifolds, ids=str)


def drawn(peer, seed=0):
    """Return the adapter, a point, and two tangent vectors in pymanopt's own form."""
    manifold, rng = PymanoptManifold(peer), np.random.default_rng(seed)
    x = manifold.random_point(rng)
    frame = manifold.frame(x)
    return manifold, x, *(frame.coordinates(manifold.random_tangent(x, rng)) for _ in range(2))


@over(EVERY)
def test_metric(peer):
    manifold, x, a, b = drawn(peer)
    u, v = peer.embedding(x, a), peer.embedding(x, b)
    assert manifold.dim == peer.dim
    assert manifold.inner(x, u, v) == pytest.approx(peer.inner_product(x, a, b), rel=1e-12, abs=1e-14)
    assert manifold.norm(x, u) == pytest.approx(1.0, rel=1e-12)


@over(EVERY)
def test_coordinates_invert_tangent(peer):
    manifold, x, a, _ = drawn(peer)
    frame = manifold.frame(x)
    assert_same(frame.coordinates(frame.tangent(a)), a)


@over([peer for peer in EVERY if type(peer) not in map(type, WITHOUT_EXP)])
def test_exponential(peer):
    manifold, x, a, _ = drawn(peer)
    assert_same(manifold.exp(x, peer.embedding(x, a)), peer.exp(x, a))


@over(WITHOUT_EXP)
def test_retraction_replaces_a_missing_exponential(peer):
    manifold, x, a, _ = drawn(peer)
    assert_same(manifold.exp(x, peer.embedding(x, a)), peer.retraction(x, a))


@over(EVERY)
def test_retraction_moves_and_transport(peer):
    manifold, x, a, b = drawn(peer)
    frame = manifold.frame(x)
    y = peer.retraction(x, a)
    assert_same(frame.retract(a), y)
    assert_same(frame.move(a), y)
    assert_same(frame.transport(y, b), peer.embedding(y, peer.transport(x, y, b)))


@over(WITH_LOG)
def test_logarithm_and_distance(peer):
    manifold, x, a, _ = drawn(peer)
    y = peer.exp(x, a)
    assert manifold.has_log
    assert_same(manifold.log(x, y), peer.embedding(x, peer.log(x, y)))
    assert manifold.dist(x, y) == pytest.approx(peer.dist(x, y), rel=1e-10)
    assert manifold.frame(x).half_squared_distance(y).value == pytest.approx(0.5 * peer.dist(x, y) ** 2)


@over(WITHOUT_LOG)
def test_missing_logarithm_is_a_clear_error(peer):
    manifold, x, a, _ = drawn(peer)
    y = peer.retraction(x, a)
    assert not manifold.has_log
    for operation in (manifold.log, manifold.dist):
        with pytest.raises(ValueError, match="has no `log`"):
            operation(x, y)


@over(EVERY)
def test_gradient_and_projection(peer):
    manifold, x, a, _ = drawn(peer)
    egrad, u = ambient_like(x, 1), peer.embedding(x, a)
    assert_same(
        manifold.gradient(x, egrad), peer.embedding(x, peer.euclidean_to_riemannian_gradient(x, egrad))
    )
    assert_same(manifold.project(x, u), peer.embedding(x, peer.projection(x, u)))


@over(EVERY)
def test_hessian(peer):
    manifold, x, a, _ = drawn(peer)
    egrad, ehess = ambient_like(x, 1), ambient_like(x, 2)
    converted = peer.euclidean_to_riemannian_hessian(x, egrad, ehess, a)
    assert_same(manifold.hessian(x, egrad, ehess, peer.embedding(x, a)), peer.embedding(x, converted))


@over(EVERY)
def test_draws_follow_the_generator_and_leave_the_global_one_alone(peer):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    draws = [np.concatenate([flat(part) for part in drawn(peer, seed)[1:]]) for seed in (7, 7, 8)]
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


@over(EVERY)
def test_points_must_be_finite(peer):
    manifold, x, _, _ = drawn(peer)
    broken = (
        shaped_as(tuple(x), np.full(flat(x).size, np.nan)) if isinstance(x, (tuple, list)) else x * np.nan
    )
    with pytest.raises(NotOnManifoldError, match="must be finite"):
        manifold.check_point(broken)


def test_missing_transport_is_a_clear_error():
    manifold, x, a, b = drawn(peers.PoincareBall(2))
    with pytest.raises(ValueError, match="has no `transport`"):
        manifold.transport(x, manifold.exp(x, a), b)


def test_jax_derives_on_a_product_of_pymanopt():
    peer = peers.Product([peers.Sphere(3), peers.SpecialOrthogonalGroup(2)])
    problem = Problem.from_jax(peer, lambda x: -x[0][0] - x[1][0, 0], inequalities=lambda x: x[0][0] - 0.5)
    result = minimize(problem, problem.manifold.random_point(np.random.default_rng(0)))
    assert result.success
    np.testing.assert_allclose([result.x[0][0], result.x[1][0, 0]], [0.5, 1.0], atol=1e-6)


def test_hadamard_is_known_by_name():
    flat_and_spd = peers.Product([peers.Euclidean(2), peers.SymmetricPositiveDefinite(2)])
    hadamard = [peers.SymmetricPositiveDefinite(3), peers.PoincareBall(2), flat_and_spd]
    assert all(PymanoptManifold(peer).hadamard for peer in hadamard)
    assert not any(PymanoptManifold(peer).hadamard for peer in [peers.Sphere(3), WITH_LOG[-1]])


def test_as_manifold_adapts_what_it_must():
    ours, peer = SPD(2), peers.Sphere(3)
    assert as_manifold(ours) is ours
    assert as_manifold(peer).wrapped is peer
    with pytest.raises(TypeError, match="geodual or pymanopt manifold, got str"):
        as_manifold("sphere")


def ambient_like(x, seed):
    """Draw a vector with the structure of `x`, which may be a list in pymanopt."""
    pattern = tuple(x) if isinstance(x, (tuple, list)) else x
    return shaped_as(pattern, np.random.default_rng(seed).standard_normal(flat(x).size))


@over(EVERY)
def test_copies_and_pickles_work(peer):
    """Solves in other processes need them."""
    manifold, x, _, _ = drawn(peer)
    for again in (copy.deepcopy(manifold), pickle.loads(pickle.dumps(manifold))):
        assert repr(again) == repr(manifold)
        assert_same(again.check_point(x), x)
