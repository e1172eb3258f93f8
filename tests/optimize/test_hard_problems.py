"""Problems on which a solver may give up too early: feasible starts, long valleys, saddle points."""

import numpy as np
import pytest

from geodual.manifolds import SPD, Euclidean, Oblique, Product, Sphere
from geodual.optimize import Constraint, ConstraintVector, Problem, Update, minimize
from geodual.optimize.kkt import measure_units


def keep_out_disks(seed=1, radius_squared=0.5, n_disks=4):
    centers = np.random.default_rng(seed).uniform(-1.0, 1.0, (n_disks, 2))
    outside = Constraint(
        lambda x: radius_squared - ((x - centers) ** 2).sum(axis=1),
        lambda x, w: -2.0 * w @ (x - centers),
        directional=lambda x, u: -2.0 * (x - centers) @ u,
    )
    return Problem(Euclidean(2), lambda x: x @ x, gradient=lambda x: 2.0 * x, inequalities=outside)


def bounded_rosenbrock(n):
    def cost(x):
        return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))

    def gradient(x):
        step = x[1:] - x[:-1] ** 2
        slope = np.zeros_like(x)
        slope[1:] += 200.0 * step
        slope[:-1] -= 400.0 * step * x[:-1] + 2.0 * (1.0 - x[:-1])
        return slope

    below = Constraint(lambda x: x - 0.9, lambda x, w: w, directional=lambda x, u: u)
    return Problem(Euclidean(n), cost, gradient=gradient, inequalities=below)


def quadratic_on_sphere(A, **constraints):
    return Problem(
        Sphere(len(A)),
        lambda x: x @ A @ x,
        gradient=lambda x: 2.0 * A @ x,
        hessian_product=lambda x, u: 2.0 * A @ u,
        **constraints,
    )


def test_a_problem_with_a_feasible_start_is_not_infeasible():
    problem = keep_out_disks()
    result = minimize(problem, np.array([3.0, 2.0]))
    assert result.success
    assert (problem.inequalities[0](result.x) <= 1e-8).all()


@pytest.mark.parametrize("seed", range(30))
def test_no_feasible_start_ends_as_infeasible(seed):
    rng = np.random.default_rng(seed)
    problem = keep_out_disks(seed, rng.uniform(0.2, 0.9), int(rng.integers(3, 14)))
    direction = rng.standard_normal(2)
    result = minimize(problem, 4.0 * direction / np.linalg.norm(direction))
    assert result.status != "infeasible"
    assert result.best_feasible is not None
    assert (problem.inequalities[0](result.best_feasible.x) <= 1e-8).all()
    assert result.best_feasible.cost <= 16.0 + 1e-12


def test_a_long_valley_is_followed_to_its_end():
    result = minimize(bounded_rosenbrock(100), -np.ones(100))
    assert result.success
    assert result.cost == pytest.approx(77.972, abs=1e-3)
    assert max(row.penalty for row in result.history[1:]) < 1e6


def test_the_best_feasible_iterate_is_kept_when_the_budget_ends():
    result = minimize(keep_out_disks(), np.array([3.0, 2.0]), max_iter=1)
    assert result.status == "max_iterations"
    assert result.best_feasible.cost <= 13.0


def test_without_a_feasible_iterate_there_is_none():
    problem = Problem(
        Euclidean(1),
        lambda x: x @ x,
        gradient=lambda x: 2.0 * x,
        inequalities=lambda x: 1.0 + x**2,
        jacobian_product=lambda x, w: 2.0 * w * x,
    )
    result = minimize(problem, np.ones(1))
    assert result.status == "infeasible"
    assert result.best_feasible is None


@pytest.mark.parametrize("start", range(5))
def test_every_eigenvector_but_the_first_is_left(start):
    A = np.diag(np.arange(1.0, 6.0))
    result = minimize(quadratic_on_sphere(A), np.eye(5)[start])
    assert result.success
    assert result.cost == pytest.approx(1.0, abs=1e-8)
    assert result.second_order == "holds"


def test_a_saddle_point_of_a_constrained_problem_is_left():
    """On the circle x₂ = 0 of the sphere, the start is the maximum and satisfies the KKT conditions."""
    A = np.diag([3.0, 1.0, 2.0])
    flat = Constraint(lambda x: x[1:2], lambda x, w: w[0] * np.array([0.0, 1.0, 0.0]))
    result = minimize(quadratic_on_sphere(A, equalities=flat), np.array([1.0, 0.0, 0.0]))
    assert result.success
    assert result.cost == pytest.approx(2.0, abs=1e-8)


def test_a_maximum_that_constraints_make_a_minimum_is_kept():
    """Without room to move, a point is a minimum whatever the curvature of the cost is."""
    problem = Problem(
        Euclidean(1),
        lambda x: -x @ x,
        gradient=lambda x: -2.0 * x,
        inequalities=Constraint(lambda x: x - 1.0, lambda x, w: w),
    )
    result = minimize(problem, np.array([1.0]))
    assert result.success
    assert result.second_order == "holds"


def test_a_method_that_cannot_leave_a_maximum_says_so():
    def stay(constraints, start):
        while True:
            yield Update(start, np.zeros(0))

    result = minimize(quadratic_on_sphere(np.diag([1.0, 2.0, 3.0])), np.eye(3)[2], method=stay)
    assert result.success, "the KKT conditions hold"
    assert result.second_order == "fails"
    assert "maximum or a saddle point" in result.message


def test_flat_directions_are_no_negative_curvature():
    """A minimum that is not isolated: the cost of two points of a sphere depends on their angle only."""
    problem = Problem(
        Product(Sphere(3), Sphere(3)),
        lambda x: float(x[0] @ x[1]),
        gradient=lambda x: (x[1], x[0]),
        hessian_product=lambda x, u: (u[1], u[0]),
    )
    rng = np.random.default_rng(0)
    result = minimize(problem, problem.manifold.random_point(rng))
    assert result.success
    assert result.cost == pytest.approx(-1.0)
    assert result.second_order == "holds"


def system_identification(seed, d=4):
    """A = (J − R)Q with J skew, R and Q positive definite, fitted to samples; its entries have bounds."""
    rng = np.random.default_rng(seed)
    upper = np.triu_indices(d, 1)

    def skew(j):
        S = np.zeros((d, d))
        S[upper] = j
        return S - S.T

    def positive():
        B = rng.standard_normal((d, d))
        return B @ B.T / d + 0.3 * np.eye(d)

    x0 = (rng.standard_normal(len(upper[0])), positive(), positive())

    def system(x):
        return (skew(x[0]) - x[1]) @ x[2]

    def pulled_back(x, G):
        left, GQ = skew(x[0]) - x[1], G @ x[2]
        inner = left.T @ G
        return GQ[upper] - GQ.T[upper], -0.5 * (GQ + GQ.T), 0.5 * (inner + inner.T)

    A = system(x0)
    X = rng.standard_normal((d, 50))
    Y = A @ X + 0.05 * rng.standard_normal((d, 50))

    def signed(w):
        return (w[: d * d] - w[d * d :]).reshape(d, d)

    bounds = Constraint(
        lambda x: np.concatenate([(system(x) - A - 0.1).ravel(), (A - 0.1 - system(x)).ravel()]),
        lambda x, w: pulled_back(x, signed(w)),
    )
    problem = Problem(
        Product(Euclidean(len(x0[0])), SPD(d), SPD(d)),
        lambda x: 0.5 * float(np.mean((system(x) @ X - Y) ** 2)),
        gradient=lambda x: pulled_back(x, (system(x) @ X - Y) @ X.T / Y.size),
        inequalities=bounds,
    )
    return problem, x0


@pytest.mark.parametrize("seed", range(4))
def test_a_stable_system_is_identified_from_a_feasible_start(seed):
    problem, x0 = system_identification(seed)
    result = minimize(problem, x0, tol=1e-6)
    assert result.success
    assert result.cost <= problem.cost(x0)


def test_a_solve_goes_on_where_another_ended():
    problem = bounded_rosenbrock(30)
    first = minimize(problem, -np.ones(30), max_iter=3)
    assert first.status == "max_iterations"
    whole, rest = minimize(problem, -np.ones(30)), minimize(problem, **first.warm_start())
    assert rest.success
    assert rest.cost == pytest.approx(whole.cost, abs=1e-7)
    again = minimize(problem, **rest.warm_start())
    assert again.n_iter == 0, "the solution with its multipliers satisfies the KKT conditions at once"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"multipliers": [1.0]}, "`multipliers` must be 4 finite numbers"),
        ({"multipliers": [1.0, np.nan, 0.0, 0.0]}, "`multipliers` must be 4 finite numbers"),
        ({"multipliers": [1.0, -1.0, 0.0, 0.0]}, "must not be negative, got -1"),
        ({"equality_multipliers": [1.0]}, "`equality_multipliers` must be 0 finite numbers"),
        ({"max_time": 0.0}, "`max_time` must be a positive number"),
        ({"penalty": -1.0}, "`penalty` must be positive"),
    ],
)
def test_wrong_starts_and_options_are_named(given, message):
    with pytest.raises(ValueError, match=message):
        minimize(keep_out_disks(), np.array([3.0, 2.0]), **given)


def test_a_solve_ends_when_its_time_is_over():
    result = minimize(bounded_rosenbrock(100), -np.ones(100), max_time=1e-9)
    assert result.status == "max_time"
    assert result.n_iter == 1
    assert "max_time" in result.message


def test_a_wrong_gradient_is_suspected():
    problem = Problem(Euclidean(3), lambda x: np.sum((x - 1.0) ** 2), gradient=lambda x: -2.0 * (x - 1.0))
    result = minimize(problem, np.zeros(3))
    assert not result.success
    assert "check_gradient" in result.message


def test_a_feasible_valley_beyond_an_infeasible_one_is_found():
    """The violation has a minimum of 0.3 near x = 1, but near x = −1 the constraint holds."""
    problem = Problem(
        Euclidean(1),
        lambda x: x @ x,
        gradient=lambda x: 2.0 * x,
        inequalities=lambda x: x**4 - 2.0 * x**2 + 0.3 * x + 1.0,
        jacobian_product=lambda x, w: w * (4.0 * x**3 - 4.0 * x + 0.3),
    )
    result = minimize(problem, np.array([1.2]))
    assert result.success
    assert -1.4 < result.x[0] < -0.6


def balanced_cut(n_nodes, *, squared, seed=0):
    """A relaxed balanced cut of a random graph: min ¼ tr(X L Xᵀ) over unit columns that sum to zero."""
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.uniform(size=(n_nodes, n_nodes)) < 4.0 / n_nodes, 1).astype(float)
    weights += weights.T
    laplacian = np.diag(weights.sum(axis=0)) - weights
    columns = np.ones(n_nodes)
    if squared:
        centered = Constraint(
            lambda x: np.sum(x.sum(axis=1) ** 2), lambda x, w: 2.0 * w[0] * np.outer(x.sum(axis=1), columns)
        )
    else:
        centered = Constraint(lambda x: x.sum(axis=1), lambda x, w: np.outer(w, columns))
    problem = Problem(
        Oblique(3, n_nodes),
        lambda x: 0.25 * np.sum((x @ laplacian) * x),
        gradient=lambda x: 0.5 * x @ laplacian,
        hessian_product=lambda x, u: 0.5 * u @ laplacian,
        equalities=centered,
    )
    return problem, problem.manifold.random_point(rng)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_balanced_cuts_are_solved_in_both_forms(seed, squared):
    # All rotations of a solution are solutions, so the Hessian is singular. In the squared form the gradient
    # of the constraint vanishes where it holds, so multipliers grow without bound.
    problem, start = balanced_cut(60, squared=squared, seed=seed)
    result = minimize(problem, start, tol=1e-6)
    assert result.success
    assert result.second_order == "holds"
    assert result.n_iter <= 60


def test_many_alike_constraints_are_scaled_alike():
    # Their sizes are estimated from a few random slopes; differences by chance would ruin the conditioning.
    d = 300
    below = Constraint(lambda x: -x, lambda x, w: -w, directional=lambda x, u: -u)
    problem = quadratic_on_sphere(np.eye(d), inequalities=below)
    start = np.full(d, d**-0.5)
    constraints = ConstraintVector(problem, start)
    sizes = measure_units(constraints, constraints.evaluate(start)).constraints
    assert np.ptp(sizes) == 0.0
    assert 0.5 < sizes[0] < 2.0


def test_constraints_of_other_sizes_keep_them():
    scales = np.array([1e-3, 1.0, 1.0, 1.0, 1e4])
    below = Constraint(lambda x: scales * x, lambda x, w: scales * w, directional=lambda x, u: scales * u)
    problem = Problem(Euclidean(5), lambda x: x @ x, gradient=lambda x: 2.0 * x, inequalities=below)
    start = np.ones(5)
    constraints = ConstraintVector(problem, start)
    sizes = measure_units(constraints, constraints.evaluate(start)).constraints
    np.testing.assert_allclose(np.log10(sizes / scales), 0.0, atol=0.7)


def test_ten_thousand_bounds_need_no_matrix_of_their_size():
    rng = np.random.default_rng(0)
    d = 10_000
    samples = rng.standard_normal((50, d)) / np.sqrt(d)
    samples[:, : d // 10] += rng.standard_normal((50, 1)) / np.sqrt(50.0 * d / 10.0)
    problem = Problem(
        Sphere(d),
        lambda x: -np.sum((samples @ x) ** 2),
        gradient=lambda x: -2.0 * (samples.T @ (samples @ x)),
        hessian_product=lambda x, u: -2.0 * (samples.T @ (samples @ u)),
        lower=0.0,
    )
    result = minimize(problem, np.full(d, d**-0.5), tol=1e-6)
    assert result.success
    assert result.second_order == "holds"
    # The certificate, computed without the solver: −2 SᵀSx − λ is a multiple of x, with λ ≥ 0 and λᵀx = 0.
    force = problem.gradient(result.x) - result.lower_multipliers
    assert np.linalg.norm(force - (force @ result.x) * result.x) <= 1e-5
    assert result.lower_multipliers.min() >= 0.0
    assert result.x.min() >= -1e-6
