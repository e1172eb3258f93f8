"""Matrices of fixed rank: the retraction, the factors, and completion with bounds."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

from geodual.manifolds import FixedRank, NoLogarithmError, NotOnManifoldError
from geodual.manifolds.low_rank_matrix import LowRankMatrix, thin_qr, truncated_svd
from geodual.optimize import Constraint, Problem, minimize


@pytest.mark.parametrize(("m", "n", "r"), [(5, 4, 2), (3, 3, 2), (3, 6, 1), (4, 3, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_a_step_ends_at_the_nearest_matrix_of_the_rank(m, n, r, seed):
    manifold, rng = FixedRank(m, n, r), np.random.default_rng(seed)
    x = manifold.random_point(rng)
    u = 0.7 * manifold.random_tangent(x, rng)
    left, singular, right = np.linalg.svd(x + u)
    expected = (left[:, :r] * singular[:r]) @ right[:r]
    for y in (manifold.exp(x, u), manifold.retract(x, u), manifold.nearest(x + u)):
        np.testing.assert_allclose(y, expected, atol=1e-13)
        factor_u, factor_s, factor_vt = y.factors
        np.testing.assert_allclose(factor_u.T @ factor_u, np.eye(r), atol=1e-14)
        np.testing.assert_allclose((factor_u * factor_s) @ factor_vt, expected, atol=1e-13)


def test_the_retraction_has_no_tangential_acceleration():
    """It then agrees with the geodesic to second order, as geodesics do not accelerate either."""
    manifold, rng = FixedRank(6, 5, 2), np.random.default_rng(0)
    x = manifold.random_point(rng)
    u = manifold.random_tangent(x, rng)
    for t in (1e-2, 1e-3):
        acceleration = (manifold.retract(x, t * u) - 2.0 * x + manifold.retract(x, -t * u)) / t**2
        assert np.linalg.norm(acceleration) > 0.1
        assert np.linalg.norm(manifold.project(x, acceleration)) <= t + 1e-8


@pytest.mark.parametrize("shape", [(7, 4), (4, 4), (3, 5), (1, 2), (60, 40)])
def test_small_decompositions_agree_with_numpy(shape):
    a = np.random.default_rng(0).standard_normal(shape)
    q, r = thin_qr(a)
    np.testing.assert_allclose(q.T @ q, np.eye(min(shape)), atol=1e-14)
    np.testing.assert_allclose(q @ r, a, atol=1e-14)
    np.testing.assert_array_equal(r, np.triu(r))
    (u, s, vt), rest = truncated_svd(a, 1)
    expected = np.linalg.svd(a, compute_uv=False)
    np.testing.assert_allclose([s[0], rest], np.append(expected, 0.0)[:2], rtol=1e-12)
    np.testing.assert_allclose(u.T @ a @ vt.T, [[expected[0]]], rtol=1e-12)


def test_a_matrix_that_is_not_finite_has_no_decomposition():
    with pytest.raises(np.linalg.LinAlgError):
        truncated_svd(np.full((2, 2), np.nan), 1)


def test_the_first_step_is_no_longer_than_the_radius_of_curvature():
    """That is the smallest singular value: a matrix of lower rank is no further away."""
    frame = FixedRank(3, 3, 2).frame(np.diag([5.0, 0.5, 0.0]))
    assert frame.first_radius == pytest.approx(0.5)


def test_a_start_keeps_its_factors():
    """A copy would not, and needed another decomposition; points cannot be changed, so they are shared."""
    manifold = FixedRank(4, 3, 1)
    x = manifold.random_point(np.random.default_rng(0))
    problem = Problem(manifold, lambda y: 0.5 * np.sum((y - x) ** 2), gradient=lambda y: y - x)
    assert minimize(problem, x).x is x


def test_a_zero_step_stays():
    manifold, rng = FixedRank(5, 4, 2), np.random.default_rng(0)
    x = manifold.random_point(rng)
    frame = manifold.frame(x)
    np.testing.assert_allclose(frame.move(np.zeros(frame.shape)), x, atol=1e-15)
    np.testing.assert_allclose(manifold.transport(x, x, x), x, atol=1e-14)


def test_coordinates_do_not_depend_on_known_factors():
    """A plain array gets factors by an SVD, whose signs and order may differ."""
    manifold, rng = FixedRank(5, 4, 2), np.random.default_rng(1)
    x = manifold.random_point(rng)
    z, w = rng.standard_normal((2, 5, 4))
    plain = np.array(x)
    assert not isinstance(plain, LowRankMatrix)
    np.testing.assert_allclose(manifold.gradient(plain, z), manifold.gradient(x, z), atol=1e-14)
    u = manifold.project(x, w)
    np.testing.assert_allclose(manifold.hessian(plain, z, w, u), manifold.hessian(x, z, w, u), atol=1e-13)


def test_a_point_is_an_ordinary_array_that_cannot_be_changed():
    x = FixedRank(4, 3, 1).random_point(np.random.default_rng(0))
    assert type(2.0 * x) is type(x @ x.T) is type(np.abs(x)) is np.ndarray
    assert isinstance(np.sum(x), float)
    assert x[:2].factors is None is x.copy().factors
    assert pickle.loads(pickle.dumps(x)).factors is None
    with pytest.raises(ValueError, match="read-only"):
        x[0, 0] = 1.0


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.eye(3), r"must have rank 2, but the ratio of its singular value 3 .* is 1; nearest"),
        (np.ones((3, 3)), "must have rank 2, but its singular values fall from 3 to"),
        (np.zeros((3, 3)), "fall from 0 to 0"),
        (np.ones((2, 3)), r"shape \(3, 3\)"),
    ],
)
def test_other_ranks_are_refused(x, message):
    with pytest.raises(NotOnManifoldError, match=message):
        FixedRank(3, 3, 2).check_point(x)


def test_impossible_ranks_are_refused():
    with pytest.raises(ValueError, match="`r` must be at most 3, the rank of a full 3 × 4 matrix, got 4"):
        FixedRank(3, 4, 4)


def test_there_is_no_logarithm():
    manifold, rng = FixedRank(3, 3, 1), np.random.default_rng(0)
    x, y = manifold.random_point(rng), manifold.random_point(rng)
    for operation in (manifold.log, manifold.dist):
        with pytest.raises(NoLogarithmError, match="no closed-form logarithm or distance"):
            operation(x, y)


def completion(seed):
    """Return a non-negative matrix of rank 2 with many zeros and some noise, and the known entries."""
    rng = np.random.default_rng(seed)
    left, right = (np.maximum(rng.standard_normal(shape), 0.0) for shape in ((20, 2), (2, 16)))
    a = left @ right + 0.05 * rng.standard_normal((20, 16))
    return a, (rng.uniform(size=a.shape) < 0.7).astype(float)


@pytest.mark.parametrize("seed", [0, 1])
def test_completion_with_every_entry_bounded(seed):
    a, known = completion(seed)
    manifold = FixedRank(20, 16, 2)
    problem = Problem(
        manifold,
        cost=lambda x: 0.5 * np.sum((known * (x - a)) ** 2),
        gradient=lambda x: known * (x - a),
        hessian_product=lambda x, u: known * u,
        inequalities=Constraint(
            lambda x: -np.ravel(x),
            lambda x, w: -w.reshape(20, 16),
            directional=lambda x, u: -np.ravel(u),
            hessian_product=lambda x, w, u: 0.0 * u,
        ),
    )
    result = minimize(problem, manifold.nearest(known * a))
    assert result.success
    assert result.x.min() >= -1e-6
    assert np.count_nonzero(result.multipliers > 1e-6) >= 5  # the bounds matter
    assert np.linalg.matrix_rank(np.array(result.x), tol=1e-8) == 2
    # The gradient of the Lagrangian is normal: orthogonal to both the row and the column space.
    residual = known * (result.x - a) - result.multipliers.reshape(20, 16)
    assert np.linalg.norm(manifold.project(result.x, residual)) <= 1e-5


def test_gradients_may_be_sparse():
    a, known = completion(2)
    rows, columns = np.nonzero(known)
    manifold = FixedRank(20, 16, 2)

    def on_known(values):
        return csr_array((values, (rows, columns)), shape=a.shape)

    problem = Problem(
        manifold,
        cost=lambda x: 0.5 * np.sum((x - a)[rows, columns] ** 2),
        gradient=lambda x: on_known((x - a)[rows, columns]),
        hessian_product=lambda x, u: on_known(u[rows, columns]),
    )
    result = minimize(problem, manifold.nearest(known * a))
    assert result.success
    assert np.linalg.norm(manifold.project(result.x, known * (result.x - a))) <= 1e-6


def test_large_gradients_with_few_entries_give_the_same_hessian_as_dense_ones():
    """The curvature term is linear in the gradient: a dense one is the sum of two with few entries."""
    manifold, rng = FixedRank(320, 320, 2), np.random.default_rng(0)
    frame = manifold.frame(manifold.random_point(rng))
    thin, rest = np.zeros((2, 320, 320))
    thin[::40], rest[1::2] = rng.standard_normal((8, 320)), rng.standard_normal((160, 320))
    c, nothing = frame.random(rng), np.zeros((320, 320))
    parts = frame.hessian(thin, nothing, c) + frame.hessian(rest, nothing, c)
    np.testing.assert_allclose(frame.hessian(thin + rest, nothing, c), parts, atol=1e-12)
