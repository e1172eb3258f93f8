"""Bounds on the entries of x: no derivatives are asked for, and multipliers have the structure of x."""

import pickle

import jax.numpy as jnp
import numpy as np
import pymanopt.manifolds as peers
import pytest
from joblib.externals.loky.backend.reduction import dumps
from scipy.optimize import lsq_linear

from geodual.manifolds import SPD, Euclidean, FixedRank, Grassmann, Power, Product, Sphere
from geodual.optimize import ConstraintVector, Problem, check_gradient, minimize
from geodual.optimize.bounds import Layout

INF = np.inf


class Lines(Sphere):
    """Lines through the origin: x and −x are one point, which only the class itself can know."""

    quotient = True


def least_squares(n: int, seed: int, **bounds) -> tuple[Problem, np.ndarray, np.ndarray]:
    """min ½‖A x − b‖² within bounds."""
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((n + 3, n)), 2.0 * rng.standard_normal(n + 3)
    problem = Problem(
        Euclidean(n),
        lambda x: 0.5 * float(np.sum((A @ x - b) ** 2)),
        lambda x: A.T @ (A @ x - b),
        lambda x, u: A.T @ (A @ u),
        **bounds,
    )
    return problem, A, b


@pytest.mark.parametrize("seed", range(4))
def test_least_squares_agree_with_scipy(seed: int) -> None:
    rng = np.random.default_rng([7, seed])
    lower, upper = rng.uniform(-1.0, 0.0, 8), rng.uniform(0.0, 1.0, 8)
    lower[:2], upper[1:4] = -INF, INF
    problem, A, b = least_squares(8, seed, lower=lower, upper=upper)
    result = minimize(problem, 5.0 * np.ones(8))  # outside the bounds
    expected = lsq_linear(A, b, (lower, upper), method="bvls", tol=1e-14).x
    assert result.success, result.message
    np.testing.assert_allclose(result.x, expected, atol=1e-7)
    assert len(result.multipliers) == np.isfinite(lower).sum() + np.isfinite(upper).sum()
    low, high = result.lower_multipliers, result.upper_multipliers
    np.testing.assert_allclose(A.T @ (A @ result.x - b), low - high, atol=1e-6)
    assert (low >= 0.0).all()
    assert (high >= 0.0).all()
    at_lower, at_upper = np.isclose(expected, lower, atol=1e-9), np.isclose(expected, upper, atol=1e-9)
    np.testing.assert_array_equal(low > 1e-6, at_lower)
    np.testing.assert_array_equal(high > 1e-6, at_upper)


def test_a_warm_start_needs_no_iteration() -> None:
    problem, *_ = least_squares(5, 0, lower=0.0, upper=0.3)
    first = minimize(problem, np.zeros(5))
    again = minimize(problem, **first.warm_start())
    assert (again.status, again.n_iter) == ("converged", 0)
    np.testing.assert_array_equal(again.lower_multipliers, first.lower_multipliers)


def test_equal_bounds_are_equalities_with_one_multiplier() -> None:
    """min ½‖x − t‖² with x₀ = 1 and x₂ = 2 has the multipliers t₀ − 1 and t₂ − 2."""
    t = np.array([3.0, 5.0, -1.0])
    problem = Problem(
        Euclidean(3),
        lambda x: 0.5 * float((x - t) @ (x - t)),
        lambda x: x - t,
        lower=[1, -INF, 2],
        upper=[1, 4, 2],
    )
    result = minimize(problem, np.zeros(3))
    assert result.success
    np.testing.assert_allclose(result.x, [1.0, 4.0, 2.0], atol=1e-8)
    np.testing.assert_allclose(result.equality_multipliers, [2.0, -3.0], atol=1e-7)
    np.testing.assert_allclose(result.upper_multipliers, [2.0, 1.0, 0.0], atol=1e-7)
    np.testing.assert_allclose(result.lower_multipliers, [0.0, 0.0, 3.0], atol=1e-7)


def test_a_block_is_a_dense_matrix_that_is_never_formed() -> None:
    rng = np.random.default_rng(0)
    lower = np.array([[0.0, -INF, 1.0], [2.0, -INF, -INF]])
    upper = np.array([[5.0, INF, INF], [INF, 3.0, 4.0]])
    problem = Problem(Euclidean(2, 3), lambda x: 0.0, np.zeros_like, lower=lower, upper=upper)
    # Entries in the order of ravel: the lower bounds of 0, 2, 3, then the upper bounds of 0, 4, 5.
    J = np.zeros((6, 6))
    J[[0, 1, 2], [0, 2, 3]], J[[3, 4, 5], [0, 4, 5]] = -1.0, 1.0
    offsets = np.array([0.0, 1.0, 2.0, -5.0, -3.0, -4.0])
    (block,), x, u, w = problem.blocks, *rng.standard_normal((2, 2, 3)), rng.standard_normal(6)
    np.testing.assert_allclose(block(x), J @ x.ravel() + offsets)
    np.testing.assert_allclose(block.derivative(x, u), J @ u.ravel())
    np.testing.assert_allclose(block.jacobian_product(x, w), (w @ J).reshape(2, 3))
    np.testing.assert_array_equal(block.hessian_product(x, w, u), np.zeros((2, 3)))
    np.testing.assert_array_equal(np.reshape(block.rows(x, np.arange(6)), (6, 6)), J)
    np.testing.assert_array_equal(problem.bounds.lower, lower)
    assert problem.n_inequality_blocks == 1


def test_bounds_come_after_the_inequalities_of_the_user() -> None:
    problem = Problem(
        Euclidean(2),
        lambda x: float(x @ x),
        lambda x: 2 * x,
        inequalities=lambda x: 3.0 - x.sum(),
        jacobian_product=lambda x, w: -w[0] * np.ones(2),
        equalities=lambda x: x[0] - x[1] - 1.0,
        equality_jacobian_product=lambda x, w: w[0] * np.array([1.0, -1.0]),
        upper=[1.5, INF],
        lower=[-INF, -1.0],
    )
    constraints = ConstraintVector(problem, np.zeros(2))
    np.testing.assert_allclose(constraints.value(np.zeros(2)), [3.0, -1.0, -1.5, -1.0])
    assert (constraints.n_inequalities, len(problem.inequalities), len(problem.equalities)) == (3, 1, 1)
    assert minimize(problem, np.zeros(2)).status == "infeasible"  # x₁ = x₀ − 1 ≤ 0.5, so the sum is at most 2


@pytest.mark.parametrize("seed", range(3))
def test_nonnegative_pca(seed: int) -> None:
    """On its support the solution is the leading eigenvector of that part of the matrix."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((12, 12))
    A = A + A.T
    problem = Problem(
        Sphere(12), lambda x: -x @ A @ x, lambda x: -2 * A @ x, lambda x, u: -2 * A @ u, lower=0.0
    )
    result = minimize(problem, np.full(12, 12**-0.5))
    assert result.success, result.message
    support = result.x > 1e-6
    assert 0 < support.sum() < 12
    assert -result.cost == pytest.approx(np.linalg.eigvalsh(A[np.ix_(support, support)])[-1], abs=1e-7)
    # With λ = xᵀAx, stationarity is −2Ax + 2λx = multipliers of x ≥ 0.
    slope = -2 * A @ result.x - 2 * result.cost * result.x
    np.testing.assert_allclose(result.lower_multipliers, slope, atol=1e-6)


def test_mirror_images_on_symmetric_matrices_are_one_entry() -> None:
    """min tr(Sx) − log det x with off-diagonal entries of at most 0; then x⁻¹ = S + multipliers."""
    S = np.array([[1.0, 0.5, -0.2], [0.5, 1.0, 0.3], [-0.2, 0.3, 1.0]])
    upper = np.where(np.eye(3) > 0.0, INF, 0.0)
    upper[0, 2] = 7.0  # the bound of the mirror image is tighter, and holds
    problem = Problem(
        SPD(3),
        lambda x: float(np.vdot(S, x) - np.linalg.slogdet(x)[1]),
        lambda x: S - np.linalg.inv(x),
        upper=upper,
    )
    result = minimize(problem, np.eye(3))
    assert result.success
    assert len(result.multipliers) == 3
    assert result.x[0, 2] == pytest.approx(0.0, abs=1e-8)
    np.testing.assert_allclose(np.linalg.inv(result.x), S + result.upper_multipliers, atol=1e-6)
    assert result.upper_multipliers[0, 2] > 0.1
    np.testing.assert_array_equal(result.upper_multipliers, result.upper_multipliers.T)
    assert (
        len(Problem(Power(SPD(3), 2), lambda x: 0.0, np.zeros_like, upper=1.0).blocks[0](np.ones((2, 3, 3))))
        == 12
    )


@pytest.mark.parametrize("kind", ["ours", "pymanopt's"])
def test_products_take_tuples_and_none(kind: str) -> None:
    a = np.array([3.0, -1.0, 4.0])
    manifold = (
        Product(Sphere(3), Euclidean(2))
        if kind == "ours"
        else peers.Product([peers.Sphere(3), peers.Euclidean(2)])
    )
    problem = Problem(
        manifold,
        lambda x: float(-a @ x[0] + x[1] @ x[1]),
        lambda x: (-a, 2 * x[1]),
        lower=(0.0, [1.0, -INF]),
        upper=(None, 5.0),
    )
    result = minimize(problem, (np.full(3, 3**-0.5), np.zeros(2)))
    assert result.success, result.message
    np.testing.assert_allclose(result.x[0], [0.6, 0.0, 0.8], atol=1e-7)
    np.testing.assert_allclose(result.x[1], [1.0, 0.0], atol=1e-7)
    np.testing.assert_allclose(result.lower_multipliers[0], [0.0, 1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(result.lower_multipliers[1], [2.0, 0.0], atol=1e-6)
    assert [part.shape for part in result.upper_multipliers] == [(3,), (2,)]


def test_entries_of_low_rank_matrices_can_be_bounded() -> None:
    T = np.outer([1.0, -0.2, 2.0], [1.0, 0.5])
    problem = Problem(
        FixedRank(3, 2, 1),
        lambda x: 0.5 * float(np.sum((x - T) ** 2)),
        lambda x: x - T,
        lambda x, u: u,
        lower=0.0,
    )
    result = minimize(problem, np.outer([1.0, 1.0, 1.0], [1.0, 1.0]))
    assert result.success, result.message
    np.testing.assert_allclose(result.x, np.outer([1.0, 0.0, 2.0], [1.0, 0.5]), atol=1e-6)


def test_without_finite_bounds_there_are_no_constraints() -> None:
    problem, *_ = least_squares(3, 0, lower=-INF)
    result = minimize(problem, np.zeros(3))
    assert problem.blocks == ()
    np.testing.assert_array_equal(result.lower_multipliers, np.zeros(3))
    assert minimize(least_squares(3, 0)[0], np.zeros(3)).lower_multipliers is None


def test_automatic_derivatives_keep_bounds_when_data_change() -> None:
    problem = Problem.from_jax(
        Euclidean(2),
        lambda x, t: jnp.sum((x - t) ** 2),
        lower=0.0,
        upper=1.0,
        geodesically_convex=True,
        data=np.zeros(2),
    )
    other = problem.with_data(np.array([2.0, -2.0]))
    result = minimize(other, np.zeros(2))
    np.testing.assert_allclose(result.x, [1.0, 0.0], atol=1e-8)
    np.testing.assert_allclose(result.upper_multipliers, [2.0, 0.0], atol=1e-7)
    np.testing.assert_allclose(result.lower_multipliers, [0.0, 4.0], atol=1e-7)
    assert result.global_minimum
    copy = pickle.loads(dumps(other))  # as joblib does
    np.testing.assert_array_equal(minimize(copy, np.zeros(2)).x, result.x)


def test_torch_takes_bounds() -> None:
    torch = pytest.importorskip("torch")
    problem = Problem.from_torch(Euclidean(2), lambda x: torch.sum((x - 2.0) ** 2), upper=[1.0, INF])
    np.testing.assert_allclose(minimize(problem, np.zeros(2)).x, [1.0, 2.0], atol=1e-8)


def test_derivatives_of_bounds_need_no_check() -> None:
    problem, *_ = least_squares(3, 0, lower=0.0)
    assert [row.name for row in check_gradient(problem, np.ones(3)).checks] == [
        "gradient of cost",
        "Hessian of cost",
    ]


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"lower": [0, 2, 0], "upper": 1}, "`lower` must not exceed `upper`, got 2 > 1 at entry 1;"),
        ({"lower": np.nan}, "`lower` must not hold nan; use -inf"),
        ({"lower": [0.0, None, 0.0]}, "`lower` must not hold nan; use -inf"),
        ({"lower": INF}, "`lower` must not hold inf; use -inf"),
        ({"upper": -INF}, "`upper` must not hold -inf; use inf"),
        ({"upper": [1.0, 2.0]}, r"`upper` must be a number or an array of numbers of shape \(3,\)"),
        ({"upper": "all"}, r"`upper` must be a number or an array of numbers .*, got 'all'"),
    ],
)
def test_wrong_bounds_are_named(bounds: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        least_squares(3, 0, **bounds)


@pytest.mark.parametrize(
    ("manifold", "bounds", "message"),
    [
        (
            Product(Sphere(3), Euclidean(2)),
            {"lower": (0, 1, 2)},
            "tuple of 2 parts, one per factor, got 3 parts",
        ),
        (
            Product(Sphere(3), Euclidean(2)),
            {"upper": np.ones(5)},
            "tuple of 2 parts, one per factor, got ndarray",
        ),
        (Product(Sphere(3), Euclidean(1, 2)), {"lower": 1, "upper": (2, 0)}, r"entry \(0, 0\) of part 1"),
        (Grassmann(3, 2), {"lower": 0}, "Grassmann.* a quotient"),
        (Power(Grassmann(3, 2), 2), {"lower": 0}, "Power.* a quotient"),
        (
            Product(Euclidean(2), Grassmann(3, 2)),
            {"upper": (None, 1)},
            "of Grassmann.* a quotient",
        ),
        (peers.Product([peers.Sphere(3), peers.PSDFixedRank(3, 2)]), {"lower": 0}, "psd.* a quotient"),
        (Power(Lines(3), 2), {"lower": 0}, "Power.* a quotient"),
        (peers.ComplexCircle(2), {"lower": 0}, "needs real entries"),
    ],
)
def test_points_without_such_entries_are_refused(manifold, bounds: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Problem(manifold, lambda x: 0.0, lambda x: x, **bounds)


def test_parts_that_are_not_bounded_may_be_anything() -> None:
    mixed = Problem(Product(Grassmann(3, 2), Euclidean(2)), lambda x: 0.0, lambda x: x, lower=(None, 0.0))
    assert len(mixed.blocks[0]((np.eye(3)[:, :2], np.ones(2)))) == 2


def test_bounds_know_their_entries_and_other_constraints_have_none() -> None:
    """The preconditioner of the interior-point method takes them from here."""
    problem = Problem(
        Euclidean(4),
        lambda x: 0.0,
        lambda x: 0.0 * x,
        inequalities=lambda x: x.sum(),
        jacobian_product=lambda x, w: w[0] * np.ones(4),
        lower=[0.0, -INF, 0.0, 1.0],
        upper=[INF, 2.0, 2.0, 1.0],
    )
    assert ConstraintVector(problem, np.zeros(4)).bounded_entries.tolist() == [-1, 0, 2, 1, 2, 3]


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_symmetry_is_judged_relative_to_the_size(scale: float) -> None:
    part = scale * np.array([[1.0, 2.0], [2.0, 3.0]])
    assert Layout(part).mirrored(part).tolist() == [0, 2, 1, 3]
    crooked = part + scale * np.array([[0.0, 1e-3], [0.0, 0.0]])
    assert Layout(part).mirrored(crooked).tolist() == [0, 1, 2, 3]
