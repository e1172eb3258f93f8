"""The interior-point method: known answers, strict feasibility, negative curvature, honest ends, parts."""

import math

import numpy as np
import pymanopt
import pytest

from geodual.manifolds import SPD, Euclidean, Product, Sphere, Stiefel
from geodual.optimize import Constraint, ConstraintVector, Problem, Result, minimize
from geodual.optimize.barrier import Barrier, BarrierPreconditioner, separable_entries
from geodual.optimize.interior_point import InteriorPoint
from geodual.optimize.kkt import Units, measure_units, refreshed_units
from testing.problems import (
    benchmark_problems,
    determinant_under_trace,
    hard_problems,
    nonnegative_pca,
    nonnegative_projection,
    rank_one_constraints,
)

from .test_benchmark_problems import kkt_parts

SOLVABLE = {case.name: case for case in benchmark_problems()}
HARD = {case.name: case for case in hard_problems()}
RUNS = [(name, start) for name, case in SOLVABLE.items() for start in case.starts]
HARD_RUNS = [(name, start) for name, case in HARD.items() for start in case.starts]


def solve(problem: Problem, x0, **settings) -> Result:
    return minimize(problem, x0, "interior-point", **settings)


@pytest.mark.parametrize("weight", [1e-3, 1.0])
@pytest.mark.parametrize(("name", "start"), RUNS)
def test_solves_the_benchmark_problems(name: str, start: str, weight: float) -> None:
    case = SOLVABLE[name].scaled(weight)
    result = solve(case.problem, case.starts[start])
    assert result.success, result.message
    assert max(kkt_parts(case, result)) <= 1e-8
    assert (result.multipliers >= 0.0).all()
    case.manifold.check_point(result.x)
    if case.cost is not None:
        assert result.cost == pytest.approx(case.cost, rel=1e-6)


@pytest.mark.parametrize("weight", [1.0, 1e3])
@pytest.mark.parametrize(("name", "start"), HARD_RUNS)
def test_problems_without_a_solution_end_in_the_right_status(name: str, start: str, weight: float) -> None:
    case = HARD[name].scaled(weight)
    result = solve(case.problem, case.starts[start])
    assert result.status == case.status
    assert len(result.message) > 40


# ------------------------------------------------------------------------------------- strict feasibility


def keep_out(centers: np.ndarray) -> Constraint:
    """Stay outside of discs: ½ − |x − cᵢ|² ≤ 0."""
    return Constraint(
        lambda x: 0.5 - ((x - centers) ** 2).sum(axis=1),
        lambda x, w: -2.0 * w @ (x - centers),
        directional=lambda x, u: -2.0 * (x - centers) @ u,
        hessian_product=lambda x, w, u: -2.0 * w.sum() * u,
    )


def disc_problem() -> tuple[Problem, np.ndarray]:
    discs = keep_out(np.random.default_rng(1).uniform(-1.0, 1.0, (4, 2)))
    problem = Problem(
        Euclidean(2), lambda x: x @ x, gradient=lambda x: 2.0 * x, inequalities=discs
    )  # without a Hessian
    return problem, np.array([3.0, 2.0])


def strict_starts() -> dict[str, tuple[Problem, object]]:
    pca, trace, rank_one = nonnegative_pca(n=40), determinant_under_trace(), rank_one_constraints()
    return {
        "discs": disc_problem(),
        "pca": (pca.problem, pca.feasible_start),
        "logdet": (trace.problem, trace.feasible_start),
        "rank-one": (rank_one.problem, rank_one.feasible_start),
    }


@pytest.mark.parametrize("name", list(strict_starts()))
def test_keeps_strictly_feasible_what_starts_so(name: str) -> None:
    problem, x0 = strict_starts()[name]
    (block,) = problem.inequalities
    assert block(x0).max() < 0.0
    seen = []
    result = solve(problem, x0, callback=lambda iterate: seen.append(block(iterate.x).max()) and None)
    assert result.success
    assert len(seen) > 3
    assert max(seen) < 0.0
    assert block(result.x).max() < 0.0


def test_stays_strictly_feasible_where_the_equalities_contradict() -> None:
    """x₂ = 3 within the unit disc: the last iterate satisfies the inequality, too."""
    problem = Problem(
        Euclidean(2),
        lambda x: x[0],
        gradient=lambda x: np.array([1.0, 0.0]),
        inequalities=lambda x: x @ x - 1.0,
        jacobian_product=lambda x, w: 2.0 * w[0] * x,
        equalities=lambda x: x[1] - 3.0,
        equality_jacobian_product=lambda x, w: w[0] * np.array([0.0, 1.0]),
    )
    seen = []
    result = solve(problem, np.zeros(2), callback=lambda iterate: seen.append(iterate.x @ iterate.x) and None)
    assert result.status == "infeasible"
    assert max(seen) < 1.0
    assert result.x @ result.x < 1.0


def test_finds_feasible_points_where_there_is_no_interior() -> None:
    """Non-negative orthonormal columns have zeros, so no start is strictly feasible."""
    case = nonnegative_projection(n=30, k=5)
    for x0 in case.starts.values():
        result = solve(case.problem, x0)
        assert result.success
        assert result.x.min() >= -1e-8
        np.testing.assert_allclose(result.x, case.x, atol=1e-6)


# ------------------------------------------------------------------------------------ closed-form answers


def test_without_constraints_it_is_newtons_method_and_leaves_a_maximum() -> None:
    A = np.diag([1.0, 2.0, 5.0])
    problem = Problem(Sphere(3), lambda x: x @ A @ x, gradient=lambda x: 2.0 * A @ x)
    for start in ([0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.6, 0.0, 0.8]):
        result = solve(problem, np.array(start))
        assert result.success
        assert result.second_order == "holds"
        np.testing.assert_allclose(np.abs(result.x), [1.0, 0.0, 0.0], atol=1e-8)


def test_leaves_a_maximum_where_the_barrier_has_no_slope() -> None:
    """x₂ ≤ 2 does nothing, and its gradient is normal to the sphere at the start."""
    A = np.diag([1.0, 2.0, 5.0])
    problem = Problem(
        Sphere(3),
        lambda x: x @ A @ x,
        gradient=lambda x: 2.0 * A @ x,
        inequalities=lambda x: x[2] - 2.0,
        jacobian_product=lambda x, w: w[0] * np.eye(3)[2],
    )
    result = solve(problem, np.array([0.0, 0.0, 1.0]))
    assert result.second_order == "holds"
    assert result.cost == pytest.approx(1.0)


def test_bounds_as_many_as_dimensions() -> None:
    """min −aᵀx on the sphere with x ≥ 0 is solved by the positive part of a."""
    a = np.random.default_rng(0).standard_normal(1000)
    problem = Problem(Sphere(1000), lambda x: -a @ x, gradient=lambda x: -a, lower=0.0)
    result = solve(problem, np.full(1000, 1000**-0.5))
    positive = np.maximum(a, 0.0)
    assert result.success
    np.testing.assert_allclose(result.x, positive / np.linalg.norm(positive), atol=1e-6)
    np.testing.assert_allclose(result.lower_multipliers, np.maximum(-a, 0.0), atol=1e-5)
    assert result.history.to_frame()["hessian_products"].sum() < 200


def test_nonnegative_pca_satisfies_the_kkt_conditions() -> None:
    case = nonnegative_pca(n=200, snr=0.25, seed=3)
    for x0 in case.starts.values():
        result = solve(case.problem, x0)
        assert result.second_order == "holds"
        x, residual = result.x, case.objective.gradient(result.x) - result.multipliers
        assert x.min() >= -1e-8
        assert np.linalg.norm(residual - (residual @ x) * x) <= 1e-8  # λ ≥ 0 and λ x = 0 are in the next two
        assert result.multipliers.min() >= 0.0
        assert np.abs(result.multipliers * x).max() <= 1e-8


def nonnegative_on(manifold, a, structure) -> Problem:
    """Return min −⟨a, x⟩ subject to x ≥ 0; `structure` makes ambient vectors of vectors."""

    def flat(x) -> np.ndarray:
        return np.concatenate([np.ravel(part) for part in x]) if isinstance(x, (tuple, list)) else np.ravel(x)

    return Problem(
        manifold,
        lambda x: -a @ flat(x),
        gradient=lambda x: structure(-a),
        inequalities=lambda x: -flat(x),
        jacobian_product=lambda x, w: structure(-w),
    )


@pytest.mark.parametrize("infeasible", [False, True])
def test_pymanopt_manifolds(infeasible: bool) -> None:
    """Their frames are not orthonormal, and coordinates on a product are objects of pymanopt's own."""
    a = np.random.default_rng(2).standard_normal(9)
    x0 = np.full(9, 1.0 / 3.0)
    x0[0] *= -1.0 if infeasible else 1.0
    result = solve(nonnegative_on(pymanopt.manifolds.Sphere(9), a, lambda v: v), x0)
    positive = np.maximum(a, 0.0)
    assert result.success
    np.testing.assert_allclose(result.x, positive / np.linalg.norm(positive), atol=1e-6)
    pair = pymanopt.manifolds.Product([pymanopt.manifolds.Sphere(4), pymanopt.manifolds.Sphere(5)])
    problem = nonnegative_on(pair, a, lambda v: (v[:4], v[4:]))
    result = solve(problem, (np.full(4, 0.5), np.full(5, 5**-0.5)))
    assert result.success
    for part, expected in zip(result.x, (positive[:4], positive[4:]), strict=True):
        np.testing.assert_allclose(part, expected / np.linalg.norm(expected), atol=1e-6)


def test_products_of_manifolds() -> None:
    """The largest determinant with trace 6, and the projection onto the positive orthant, at once."""
    a = np.array([1.0, -2.0])
    problem = Problem(
        Product(SPD(3), Euclidean(2)),
        lambda x: -np.linalg.slogdet(x[0])[1] + 0.5 * (x[1] - a) @ (x[1] - a),
        gradient=lambda x: (-np.linalg.inv(x[0]), x[1] - a),
        inequalities=lambda x: np.array([np.trace(x[0]) - 6.0, *-x[1]]),
        jacobian_product=lambda x, w: (w[0] * np.eye(3), -w[1:]),
    )
    for x0 in ((np.eye(3), np.ones(2)), (5.0 * np.eye(3), -np.ones(2))):
        result = solve(problem, x0)
        np.testing.assert_allclose(result.x[0], 2.0 * np.eye(3), atol=1e-7)
        np.testing.assert_allclose(result.x[1], [1.0, 0.0], atol=1e-7)
        np.testing.assert_allclose(result.multipliers, [0.5, 0.0, 2.0], atol=1e-7)


def test_a_warm_start_is_quick() -> None:
    case = SOLVABLE["rank-one, n=10 m=30"]
    first = solve(case.problem, case.feasible_start, tol=1e-4)
    again = solve(case.problem, **first.warm_start(), tol=1e-8)
    assert again.success
    assert again.n_iter <= solve(case.problem, case.feasible_start).n_iter // 2
    quicker = solve(case.problem, case.feasible_start, barrier=1e-3)
    assert quicker.cost == pytest.approx(case.cost, rel=1e-7)


@pytest.mark.parametrize("barrier", [0.0, -1.0, math.nan, math.inf])
def test_a_barrier_that_is_not_positive_is_refused(barrier: float) -> None:
    problem, x0 = disc_problem()
    with pytest.raises(ValueError, match="`barrier` must be positive and finite, got"):
        solve(problem, x0, barrier=barrier)


def test_a_cost_that_ends_at_the_optimum_gets_no_certificate() -> None:
    """√x has no minimum on x > 0 and no value at x < 0."""
    problem = Problem(Euclidean(1), lambda x: float(np.sqrt(x[0])), gradient=lambda x: 0.5 / np.sqrt(x))
    result = solve(problem, np.ones(1))
    assert not result.success
    assert result.status == "breakdown"


# ------------------------------------------------------------------------------------------ the parts


def small_problem() -> tuple[ConstraintVector, np.ndarray]:
    """A problem on the sphere with two curved inequalities and an equality, and a strictly feasible point."""
    A = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.5], [0.0, 0.5, -1.0]])
    problem = Problem(
        Sphere(3),
        lambda x: x @ A @ x,
        gradient=lambda x: 2.0 * A @ x,
        hessian_product=lambda x, u: 2.0 * A @ u,
        inequalities=Constraint(
            lambda x: np.array([x[0] ** 2 - 0.9, x[1] * x[2] - 0.7]),
            lambda x, w: np.array([2.0 * w[0] * x[0], w[1] * x[2], w[1] * x[1]]),
            hessian_product=lambda x, w, u: np.array([2.0 * w[0] * u[0], w[1] * u[2], w[1] * u[1]]),
        ),
        equalities=lambda x: x[0] - x[1] ** 2,
        equality_jacobian_product=lambda x, w: w[0] * np.array([1.0, -2.0 * x[1], 0.0]),
    )
    x = np.array([0.6, 0.48, 0.64])
    return ConstraintVector(problem, x), x


@pytest.mark.parametrize("strict", [True, False])
def test_the_barrier_function_has_the_derivatives_it_claims(strict: bool) -> None:
    """With the estimates as multipliers the primal-dual Hessian is the Hessian of Φ."""
    constraints, x = small_problem()
    units = Units(2.0, np.array([0.5, 1.0, 3.0]))
    centers = np.array([0.3, 0.1, -0.4])
    function = Barrier(constraints, units, lambda model: lambda c: c, 0.2, 0.1, centers, strict)
    point = constraints.evaluate(x)
    model = function.at(point, function.at(point, np.ones(3)).estimates)
    c = point.frame.random(np.random.default_rng(0))

    def along(t: float) -> float:
        moved = constraints.evaluate(point.frame.exp(t * c))
        return function.at(moved, model.multipliers).value

    t = 1e-4
    slope = (8.0 * (along(t) - along(-t)) - along(2.0 * t) + along(-2.0 * t)) / (12.0 * t)
    assert point.frame.inner(model.gradient, c) == pytest.approx(slope, rel=1e-8)
    curvature = (along(t) - 2.0 * model.value + along(-t)) / t**2
    assert c @ model.hessian_product(c) == pytest.approx(curvature, rel=1e-5)


def test_slacks_and_estimates_solve_the_equations() -> None:
    constraints, x = small_problem()
    units, mu, delta, centers = Units(1.0, np.ones(3)), 0.02, 0.3, np.array([0.5, 0.0, 2.0])
    model = Barrier(constraints, units, lambda model: lambda c: c, mu, delta, centers, False).at(
        constraints.evaluate(x), np.ones(3)
    )
    h, g = model.violations[:2], model.violations[2:]
    s, pi = model.slacks[:2], model.estimates[:2]
    np.testing.assert_allclose(s * pi, mu, rtol=1e-12)
    np.testing.assert_allclose(h + s, delta * (pi - centers[:2]), rtol=1e-12)
    np.testing.assert_allclose(g, delta * (model.estimates[2:] - centers[2:]), rtol=1e-12)


@pytest.mark.parametrize("manifold", [Euclidean(6), Sphere(6), Stiefel(4, 2)])
def test_the_preconditioner_inverts_what_it_stands_for(manifold) -> None:
    """It stands for σ I + Jᵀ D J on tangent vectors, where σ I replaces the Hessian of the Lagrangian."""
    rng = np.random.default_rng(0)
    x = manifold.random_point(rng)
    A, n = rng.standard_normal((3, x.size)), x.size
    # Constraints that are neither separable nor stiff are left out, so make the last three stiff.
    slacks = 10.0 ** np.concatenate([rng.uniform(-6.0, 2.0, n), rng.uniform(-6.0, -4.0, 3)])
    levels = np.concatenate([-np.ravel(x), A @ np.ravel(x)]) + slacks
    mixed = Constraint(
        lambda x: np.concatenate([-np.ravel(x), A @ np.ravel(x)]) - levels,
        lambda x, w: (-w[:n] + A.T @ w[n:]).reshape(x.shape),
    )
    problem = Problem(manifold, lambda x: 1.5 * np.vdot(x, x), gradient=lambda x: 3.0 * x, inequalities=mixed)
    constraints = ConstraintVector(problem, x)
    point = constraints.evaluate(x)
    preconditioner = BarrierPreconditioner(constraints, point)
    assert preconditioner.entries.tolist() == [*range(n), -1, -1, -1]
    units, ones = Units(1.0, np.ones(n + 3)), np.ones(n + 3)
    model = Barrier(constraints, units, preconditioner.at, 1e-3, 1.0, ones, True).at(point, ones)
    inverse, frame = preconditioner.at(model), point.frame
    basis = np.linalg.qr(np.transpose([np.ravel(frame.random(rng)) for _ in range(manifold.dim)]))[0]
    J = np.array([model.slopes(b.reshape(frame.shape)) for b in basis.T]).T
    stiff = J.T * model.stiffness @ J
    found = basis.T @ np.transpose([np.ravel(inverse(b.reshape(frame.shape))) for b in basis.T])
    rest = np.linalg.inv(found) - stiff
    sigma = np.trace(rest) / manifold.dim
    assert sigma > 0.1
    np.testing.assert_allclose(rest, sigma * np.eye(manifold.dim), atol=1e-10 * np.abs(stiff).max())


def test_separable_constraints_are_recognized() -> None:
    rows = {
        "x₂ ≤ 1": [0.0, 0.0, 1.0, 0.0],
        "−5 x₀ ≤ 2": [-5.0, 0.0, 0.0, 0.0],
        "x₀ + x₁ ≤ 3": [1.0, 1.0, 0.0, 0.0],
        "0 ≤ 1": [0.0, 0.0, 0.0, 0.0],
    }
    A = np.array(list(rows.values()))

    def entries(manifold, x) -> list[int]:
        problem = Problem(
            manifold,
            lambda x: 0.0,
            gradient=lambda x: 0.0 * x,
            inequalities=lambda x: A @ np.ravel(x) - 9.0,
            jacobian_product=lambda x, w: np.reshape(A.T @ w, np.shape(x)),
        )
        constraints = ConstraintVector(problem, x)
        return separable_entries(constraints, constraints.evaluate(x)).tolist()

    assert entries(Euclidean(4), np.ones(4)) == [2, 0, -1, -1]
    assert entries(Sphere(4), np.full(4, 0.5)) == [2, 0, -1, -1]
    # Coordinates of positive definite matrices are not their entries.
    assert entries(SPD(2), np.diag([1.0, 2.0])) == [-1, -1, -1, -1]


def test_a_restart_is_measured_in_the_units_of_its_own_point() -> None:
    """The start has a violation of 10¹², which must not loosen the certificate of a feasible point."""
    problem = Problem(
        Euclidean(1),
        lambda x: float(x[0] ** 2),
        gradient=lambda x: 2.0 * x,
        inequalities=Constraint(lambda x: x**2 - 1.0, lambda x, w: 2.0 * w * x),
    )
    start = ConstraintVector(problem, np.ones(1)).evaluate(np.array([1e6]))
    constraints = ConstraintVector(problem, start.x)
    method = InteriorPoint(constraints, start, measure_units(constraints, start), 1e-8, None)
    first = method.units
    restarted = method.restarted(method.started(start, np.zeros(1)))
    assert abs(restarted.update.point.x[0]) < 1e5
    expected = refreshed_units(first, constraints, restarted.update.point)
    assert method.units.constraints == pytest.approx(expected.constraints)
    assert (expected.constraints < 0.1 * first.constraints).all()
