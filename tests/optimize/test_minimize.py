"""`minimize` as users see it: options, errors, statuses, callbacks, printing."""

import dataclasses

import numpy as np
import pytest

from geodual.manifolds import SPD, Euclidean, Product, Sphere, Stiefel
from geodual.optimize import Constraint, Problem, minimize


def determinant_problem(n: int = 3, c: float = 6.0, weight: float = 1.0) -> Problem:
    """−logdet x s.t. tr x ≤ c, first derivatives only: x* = (c/n) I, λ* = n/c."""
    return Problem(
        SPD(n),
        cost=lambda x: -weight * np.linalg.slogdet(x)[1],
        gradient=lambda x: -weight * np.linalg.inv(x),
        inequalities=lambda x: np.trace(x) - c,
        jacobian_product=lambda x, w: w[0] * np.eye(n),
    )


def test_second_derivatives_are_optional() -> None:
    result = minimize(determinant_problem(), np.eye(3))
    assert result.success
    np.testing.assert_allclose(result.x, 2.0 * np.eye(3), rtol=1e-8)
    assert result.multipliers == pytest.approx([0.5], rel=1e-8)


@pytest.mark.parametrize("weight", [1e-12, 1e12])
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_extreme_scales_of_cost_and_point(weight: float, scale: float) -> None:
    result = minimize(determinant_problem(3, 6.0 * scale, weight), scale * np.diag([1.0, 2.0, 3.0]))
    assert result.success, result.message
    np.testing.assert_allclose(result.x / scale, 2.0 * np.eye(3), atol=1e-6)
    assert result.multipliers[0] == pytest.approx(0.5 * weight / scale, rel=1e-6)


def test_unconstrained_problems_are_newton_solves() -> None:
    A = np.diag([1.0, 10.0, 100.0])
    problem = Problem(Euclidean(3), lambda x: 0.5 * x @ A @ x, lambda x: A @ x, lambda x, u: A @ u)
    result = minimize(problem, np.array([1e6, -1e6, 1e6]))
    assert result.success
    assert result.n_iter == 1
    assert result.multipliers.shape == (0,)


def test_start_at_the_solution() -> None:
    result = minimize(determinant_problem(), 2.0 * np.eye(3))
    assert result.success
    np.testing.assert_allclose(result.x, 2.0 * np.eye(3), rtol=1e-8)


def test_inactive_constraints_have_zero_multipliers() -> None:
    problem = Problem(
        Euclidean(2),
        lambda x: float(x @ x),
        lambda x: 2 * x,
        inequalities=lambda x: x - 5.0,
        jacobian_product=lambda x, w: w,
    )
    result = minimize(problem, np.array([9.0, 9.0]))
    assert result.success
    np.testing.assert_allclose(result.x, 0.0, atol=1e-8)
    np.testing.assert_array_equal(result.multipliers, 0.0)


def test_a_problem_whose_constraints_do_not_matter_is_solved_in_two_iterations() -> None:
    """The first inner solve is loose; the second is the same problem again, solved to the end."""
    A = np.diag([1.0, 2.0, 3.0, 4.0])
    problem = Problem(
        Sphere(4),
        lambda x: float(x @ A @ x),
        lambda x: 2.0 * A @ x,
        hessian_product=lambda x, u: 2.0 * A @ u,
        inequalities=lambda x: x - 5.0,
        jacobian_product=lambda x, w: w,
    )
    result = minimize(problem, np.array([0.1, 0.5, 0.5, 0.7]))
    assert result.success
    assert result.n_iter <= 2


def test_several_blocks_keep_their_order() -> None:
    """min ‖x‖² s.t. x₀ ≥ 1, x₁ ≥ 2, x₂ = 3: multipliers 2, 4 and −6."""
    problem = Problem(
        Euclidean(3),
        lambda x: float(x @ x),
        lambda x: 2 * x,
        inequalities=[
            lambda x: 1.0 - x[0],
            Constraint(lambda x: 2.0 - x[1], lambda x, w: -w[0] * np.eye(3)[1]),
        ],
        jacobian_product=lambda x, w: -w[0] * np.eye(3)[0],
        equalities=lambda x: x[2] - 3.0,
        equality_jacobian_product=lambda x, w: w[0] * np.eye(3)[2],
    )
    result = minimize(problem, np.zeros(3))
    assert result.success
    np.testing.assert_allclose(result.x, [1.0, 2.0, 3.0], atol=1e-8)
    np.testing.assert_allclose(result.multipliers, [2.0, 4.0], rtol=1e-7)
    np.testing.assert_allclose(result.equality_multipliers, [-6.0], rtol=1e-7)


def test_products_work_with_tuples() -> None:
    """A matrix whose trace is bounded by a scalar variable, which has a cost of its own."""
    problem = Problem(
        Product(SPD(2), Euclidean(1)),
        cost=lambda x: -np.linalg.slogdet(x[0])[1] + float(x[1] @ x[1]),
        gradient=lambda x: (-np.linalg.inv(x[0]), 2 * x[1]),
        inequalities=lambda x: np.trace(x[0]) - x[1][0],
        jacobian_product=lambda x, w: (w[0] * np.eye(2), -w),
    )
    result = minimize(problem, (np.eye(2), np.array([0.1])))
    assert result.success
    # t minimizes −2 log(t/2) + t², so t = 1.
    assert result.x[1][0] == pytest.approx(1.0, rel=1e-7)
    np.testing.assert_allclose(result.x[0], 0.5 * np.eye(2), atol=1e-8)


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1.0, 1e3, 1e9])
def test_constraints_may_be_written_in_any_unit(scale: float) -> None:
    problem = Problem(
        Euclidean(2),
        lambda x: float(x @ x),
        lambda x: 2 * x,
        inequalities=lambda x: scale * (1.0 - x.sum()),
        jacobian_product=lambda x, w: -scale * w[0] * np.ones(2),
    )
    result = minimize(problem, np.array([3.0, -5.0]))
    assert result.success
    np.testing.assert_allclose(result.x, 0.5, rtol=1e-6)
    assert result.multipliers[0] * scale == pytest.approx(1.0, rel=1e-6)


def test_concave_costs_do_not_escape() -> None:
    """−x⁴ over [−1, 1]: far out every penalty is too weak, but the start is inside."""
    problem = Problem(
        Euclidean(1),
        lambda x: -float(x[0] ** 4),
        lambda x: -4 * x**3,
        inequalities=lambda x: np.array([x[0] - 1.0, -x[0] - 1.0]),
        jacobian_product=lambda x, w: np.array([w[0] - w[1]]),
    )
    result = minimize(problem, np.array([0.3]))
    assert result.success, result.message
    assert abs(result.x[0]) == pytest.approx(1.0, abs=1e-8)


def test_no_feasible_point_at_infinity_is_infeasible() -> None:
    """tr x ≤ −1 on SPD: the violation tends to its infimum as x tends to zero, and never reaches it."""
    problem = Problem(
        SPD(2),
        lambda x: float(np.trace(x)),
        lambda x: np.eye(2),
        inequalities=lambda x: np.trace(x) + 1.0,
        jacobian_product=lambda x, w: w[0] * np.eye(2),
    )
    result = minimize(problem, np.eye(2))
    assert result.status == "infeasible"


def test_contradicting_equalities_are_infeasible() -> None:
    problem = Problem(
        Euclidean(2),
        lambda x: float(x @ x),
        lambda x: 2 * x,
        equalities=lambda x: np.array([x[0], x[0] - 1.0]),
        equality_jacobian_product=lambda x, w: np.array([w.sum(), 0.0]),
    )
    assert minimize(problem, np.ones(2)).status == "infeasible"


def test_compact_manifolds_say_that_the_theory_does_not_apply() -> None:
    problem = Problem(
        Sphere(3),
        lambda x: float(x @ [1.0, 2.0, 3.0]),
        lambda x: np.array([1.0, 2.0, 3.0]),
        inequalities=lambda x: -x,
        jacobian_product=lambda x, w: -w,
    )
    result = minimize(problem, np.full(3, 3**-0.5))
    assert result.success
    assert "not a Hadamard manifold" in result.message
    np.testing.assert_allclose(result.x, [1.0, 0.0, 0.0], atol=1e-7)


def test_stiefel_eigenvectors() -> None:
    A = np.diag([5.0, 4.0, 2.0, 1.0, 0.5])
    problem = Problem(
        Stiefel(5, 2), lambda x: -float(np.vdot(x, A @ x)), lambda x: -2 * A @ x, lambda x, u: -2 * A @ u
    )
    result = minimize(problem, Stiefel(5, 2).random_point(np.random.default_rng(0)))
    assert result.success
    assert result.cost == pytest.approx(-9.0, rel=1e-10)


def test_out_of_budget_says_so() -> None:
    result = minimize(determinant_problem(), np.eye(3), method="primal-dual", max_iter=5)
    assert result.status == "max_iterations"
    assert not result.success
    assert "5 iterations" in result.message
    assert result.n_iter == 5
    assert len(result.history) == 6


def test_zero_iterations_return_the_start() -> None:
    result = minimize(determinant_problem(), np.eye(3), max_iter=0)
    np.testing.assert_array_equal(result.x, np.eye(3))
    assert result.status == "max_iterations"


def test_divergence_is_a_breakdown_with_the_last_finite_iterate() -> None:
    result = minimize(determinant_problem(), np.eye(3), method="primal-dual-linearized", step=3.0)
    assert result.status == "breakdown"
    assert np.isfinite(result.cost)
    assert np.isfinite(result.x).all()


def test_a_callback_sees_every_iterate_and_may_stop() -> None:
    seen = []

    def callback(state) -> bool:
        seen.append(state.iteration)
        return state.iteration == 3

    result = minimize(determinant_problem(), np.eye(3), method="primal-dual", callback=callback)
    assert seen == [1, 2, 3]
    assert result.status == "stopped"
    assert not result.success


def test_verbose_prints_one_line_per_iteration(capsys: pytest.CaptureFixture) -> None:
    result = minimize(determinant_problem(), np.eye(3), method="primal-dual", max_iter=4, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert lines == str(result.history).splitlines()
    assert len({len(line) for line in lines}) == 1
    minimize(determinant_problem(), np.eye(3))
    assert capsys.readouterr().out == ""


def test_inputs_are_not_mutated() -> None:
    x0 = np.eye(3)
    minimize(determinant_problem(), x0)
    np.testing.assert_array_equal(x0, np.eye(3))


def test_a_result_does_not_change_with_an_array_that_the_start_is_a_view_of() -> None:
    base = 2.0 * np.eye(3)
    x0 = base.view()
    x0.flags.writeable = False
    result = minimize(determinant_problem(), x0)
    base[:] = 7.0
    np.testing.assert_allclose(result.x, 2.0 * np.eye(3), rtol=1e-8)


def test_repeated_solves_are_identical() -> None:
    first, second = (minimize(determinant_problem(), np.diag([1.0, 2.0, 3.0])) for _ in range(2))
    np.testing.assert_array_equal(first.x, second.x)
    # As texts: rows may contain NaN, which is equal to nothing.
    rows = [[repr(dataclasses.replace(row, seconds=0.0)) for row in one.history] for one in (first, second)]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "newton"}, "`method` must be one of 'proximal-lagrangian'"),
        ({"tol": 0.0}, "`tol` must be a positive and finite number, got 0.0"),
        ({"tol": np.inf}, "`tol` must be a positive and finite number"),
        ({"max_iter": -1}, "`max_iter` must be a whole number of at least 0, got -1"),
        ({"x0": -np.eye(3)}, "positive definite"),
        ({"x0": np.eye(4)}, r"must have shape \(3, 3\), got \(4, 4\)"),
        ({"method": "primal-dual", "alpha": -1.0}, "`alpha` must not be negative"),
        ({"method": "primal-dual", "step": "fast"}, '`step` must be "sqrt"'),
        ({"method": "primal-dual", "step": -1.0}, "`step` must be positive"),
        ({"method": "primal-dual", "step": lambda t: np.nan}, "`step` must be positive"),
    ],
)
def test_bad_arguments_are_named(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        minimize(**({"problem": determinant_problem(), "x0": np.eye(3)} | change))


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TypeError, match="stepp"):
        minimize(determinant_problem(), np.eye(3), method="primal-dual", stepp=1.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_functions_that_are_not_finite_at_the_start(bad: float) -> None:
    ok = {"cost": lambda x: 0.0, "gradient": np.zeros_like}
    with pytest.raises(ValueError, match="cost must be finite at `x0`"):
        minimize(Problem(Euclidean(2), **(ok | {"cost": lambda x: bad})), np.zeros(2))
    with pytest.raises(ValueError, match="gradient of the cost is not finite"):
        minimize(Problem(Euclidean(2), **(ok | {"gradient": lambda x: np.full(2, bad)})), np.zeros(2))
    constrained = Problem(
        Euclidean(2), **ok, inequalities=lambda x: np.array([0.0, bad]), jacobian_product=lambda x, w: w
    )
    with pytest.raises(ValueError, match="Constraint 1 is"):
        minimize(constrained, np.zeros(2))


def test_a_cost_undefined_beyond_a_wall_is_still_minimized() -> None:
    """log is NaN for negative arguments, where a long step may land."""
    problem = Problem(Euclidean(1), lambda x: float(x[0] - np.log(x[0])), lambda x: 1.0 - 1.0 / x)
    result = minimize(problem, np.array([50.0]))
    assert result.success, result.message
    assert result.x[0] == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("method", ["primal-dual", "primal-dual-linearized"])
def test_algorithm_1_starts_from_the_multipliers_that_are_given(method: str) -> None:
    """With λ₀ = λ* at x* it stays there; x² is least under x ≥ 1 at 1 with λ* = 2."""
    problem = Problem(
        Euclidean(1),
        lambda x: float(x @ x),
        lambda x: 2.0 * x,
        inequalities=lambda x: 1.0 - x,
        jacobian_product=lambda x, w: -w,
    )
    seen = []
    near = {"x0": np.array([1.0]), "multipliers": np.array([2.0 + 1e-6])}
    minimize(problem, **near, method=method, step=0.1, max_iter=3, callback=seen.append)
    assert max(abs(iterate.multipliers[0] - 2.0) for iterate in seen) < 1e-5
