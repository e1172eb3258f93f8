"""Parts of the solvers by themselves: small errors in them that no other test noticed (docs/mutants.md)."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq

from geodual.manifolds import Euclidean
from geodual.optimize import Constraint, ConstraintVector, Problem, Stop, Update, corollary1_bound, minimize
from geodual.optimize.active_set import _conjugate_gradients, _shifted_factor
from geodual.optimize.barrier import Barrier
from geodual.optimize.bounds import _is_symmetric
from geodual.optimize.interior_point import _NEAR, _shorter
from geodual.optimize.kkt import Units, _evened, measure_units
from geodual.optimize.lagrangian import Lagrangian
from geodual.optimize.newton_cg import truncated_cg
from geodual.optimize.proximal_lagrangian import _GREED, FAST, PROXIMAL_WEIGHT, State, is_greedy
from geodual.optimize.quasi_newton import _FLATTER, _SUFFICIENT, _search
from geodual.optimize.second_order import _least_eigenpair


def barrier_at(value: float, *violations: float) -> SimpleNamespace:
    return SimpleNamespace(value=value, violations=np.array(violations), inequalities=slice(None))


@pytest.mark.parametrize("fraction", [1.0, 0.5])
def test_a_step_that_overshoots_is_cut_to_the_minimum_of_the_parabola(fraction: float) -> None:
    slope, best = -2.0, 0.3 * fraction
    value = slope * fraction - 0.5 * slope / best * fraction**2  # of the parabola with its minimum at best
    found = _shorter(barrier_at(1.0), barrier_at(1.0 + value), fraction, slope, np.zeros(0))
    assert found == pytest.approx(best)


@pytest.mark.parametrize("fraction", [1.0, 0.5])
def test_a_step_out_of_the_domain_is_cut_where_a_curved_inequality_is_almost_zero(fraction: float) -> None:
    h, dh, q = -1.0, 0.5, 4.0
    along = lambda t: h + dh * t + q * t**2  # noqa: E731 - a formula
    almost = brentq(lambda t: along(t) - (1.0 - _NEAR) * h, 0.0, 1.0)
    found = _shorter(barrier_at(1.0, h), barrier_at(np.inf, along(fraction)), fraction, -1.0, np.array([dh]))
    assert found == pytest.approx(np.clip(almost, 0.1 * fraction, 0.9 * fraction))


def test_a_step_to_where_only_the_constraints_have_no_value_is_refused() -> None:
    def above_zero(x: np.ndarray) -> np.ndarray:
        return -np.sqrt(x) if x[0] >= 0.0 else np.array([np.nan])

    rule = Constraint(above_zero, lambda x, w: -0.5 * w / np.sqrt(x))
    problem = Problem(Euclidean(1), lambda x: float(x @ x), gradient=lambda x: 2.0 * x, inequalities=rule)
    constraints = ConstraintVector(problem, np.ones(1))
    barrier = Barrier(constraints, Units(1.0, np.ones(1)), lambda _: lambda c: c, 0.1, 0.1, np.ones(1), True)
    local = barrier.at(constraints.evaluate(np.ones(1)), np.ones(1))
    assert local.moved(np.array([-2.0])) is None
    assert local.moved(np.array([-0.5])) is not None


def test_a_matrix_that_rounding_made_indefinite_gets_a_small_shift() -> None:
    gram = np.array([[1.0, 1.0 + 1e-7], [1.0 + 1e-7, 1.0]])  # with an eigenvalue of −1e-7
    factor = _shifted_factor(gram)
    shift = factor @ factor.T - gram
    np.testing.assert_allclose(shift, shift[0, 0] * np.eye(2), atol=1e-15)
    assert 1e-7 < shift[0, 0] < 1e-5


def test_greed_compares_violations_in_the_same_units() -> None:
    weight, start = 0.01, np.array([1e5])  # the scaled violation at the start is 1000

    def greedy(violation: float, hadamard: bool = True) -> bool:
        manifold = SimpleNamespace(hadamard=hadamard)
        constraints = SimpleNamespace(
            problem=SimpleNamespace(manifold=manifold), is_equality=np.array([False])
        )
        function = SimpleNamespace(constraints=constraints, weights=np.array([weight]))
        model = SimpleNamespace(function=function, violations=np.array([violation]))
        return is_greedy(model, SimpleNamespace(constraints=start))

    assert greedy(1.01 * _GREED * 1000.0)
    assert not greedy(0.99 * _GREED * 1000.0)
    assert not greedy(1.01 * _GREED * 1000.0, hadamard=False)


def test_each_return_to_a_feasible_point_raises_the_penalty_a_hundredfold() -> None:
    state = State(None, np.ones(2), inner_tol=1e-9, proximal_weight=0.1)
    once = state.returned("there")
    twice = once.returned("there")
    assert [once.penalty, twice.penalty] == pytest.approx([100.0 * FAST.penalty, 1e4 * FAST.penalty])
    assert (once.restorations, twice.restorations) == (1, 2)
    assert (once.point, once.proximal_weight, once.inner_tol) == ("there", 0.0, FAST.inner_tol)
    np.testing.assert_array_equal(once.y, 0.0)


def test_an_escape_raises_the_penalty_and_the_proximal_weight_if_allowed() -> None:
    state = State(None, np.ones(2), penalty=3.0, proximal_weight=0.5)
    free, held = state.after_escape(may_weigh=False), state.after_escape(may_weigh=True)
    assert (free.penalty, free.proximal_weight, free.escapes) == (300.0, 0.0, 1)
    assert (held.penalty, held.proximal_weight, held.escapes) == (300.0, 5.0, 1)
    assert State(None, np.ones(2)).after_escape(may_weigh=True).proximal_weight == 10.0 * PROXIMAL_WEIGHT


def test_steps_out_of_the_domain_are_cut_again_and_again() -> None:
    """Newton's step from 1 is −999 long, far out of the domain x > 0."""
    problem = Problem(
        Euclidean(1),
        lambda x: float(x[0] - 1e-3 * np.log(x[0])) if x[0] > 0.0 else np.nan,
        gradient=lambda x: 1.0 - 1e-3 / x,
        hessian_product=lambda x, u: 1e-3 / x**2 * u,
    )
    result = minimize(problem, np.ones(1))
    assert result.success, result.message
    assert result.x == pytest.approx([1e-3])


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_symmetry_is_judged_relative_to_the_size(scale: float) -> None:
    part = scale * np.array([[1.0, 2.0], [2.0, 3.0]])
    assert _is_symmetric(part)
    assert not _is_symmetric(part + scale * np.array([[0.0, 1e-3], [0.0, 0.0]]))


@pytest.mark.parametrize("least", [-0.5, 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_the_sign_of_the_least_eigenvalue_is_right(seed: int, least: float) -> None:
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((30, 30)))[0]
    A = (Q * np.append(least, np.linspace(1.0, 10.0, 29))) @ Q.T
    value, vector = _least_eigenpair(lambda c: A @ c, rng.standard_normal(30))
    assert np.sign(value) == np.sign(least)
    assert vector @ A @ vector == pytest.approx(value)
    assert vector @ vector == pytest.approx(1.0)
    assert value >= least - 1e-12


@pytest.mark.parametrize("n", [50, 200, 1000])
def test_a_single_negative_eigenvalue_is_found_in_many_dimensions(n: int) -> None:
    """The estimate is positive for the first steps, until its eigenvector has grown."""
    values = np.append(-0.2, np.linspace(1.0, 10.0, n - 1))
    value, _ = _least_eigenpair(lambda c: values * c, np.random.default_rng(0).standard_normal(n))
    assert value < 0.0


def test_a_positive_definite_operator_takes_few_products() -> None:
    products = []
    values = np.linspace(1.0, 10.0, 1000)
    _least_eigenpair(
        lambda c: products.append(1) or values * c, np.random.default_rng(0).standard_normal(1000)
    )
    assert len(products) <= 16


def test_multipliers_are_scaled_by_the_units_of_constraint_and_cost_and_back() -> None:
    units, multipliers = Units(4.0, np.array([0.5, 10.0])), np.array([2.0, 3.0])
    # Of the Lagrangian f/4 + Σ y g/unit, so y = λ · unit/4.
    np.testing.assert_allclose(units.scaled(multipliers), [2.0 * 0.5 / 4.0, 3.0 * 10.0 / 4.0])
    np.testing.assert_allclose(units.unscaled(units.scaled(multipliers)), multipliers)


def test_conjugate_gradients_find_the_smallest_solution_of_a_singular_system() -> None:
    J = np.random.default_rng(0).standard_normal((12, 5))
    r = J @ np.arange(1.0, 6.0)
    w, found = _conjugate_gradients(lambda v: J @ (J.T @ v), r)
    assert found
    np.testing.assert_allclose(w, np.linalg.pinv(J @ J.T) @ r, atol=1e-9)


def test_the_residual_of_a_barrier_vanishes_on_its_central_path() -> None:
    """Of x ≥ 0 with cost x: x = μ and z = 1."""
    rule = Constraint(lambda x: -x, lambda x, w: -w)
    problem = Problem(Euclidean(1), lambda x: float(x[0]), gradient=np.ones_like, inequalities=rule)
    constraints = ConstraintVector(problem, np.ones(1))
    barrier = Barrier(constraints, Units(1.0, np.ones(1)), lambda _: lambda c: c, 0.1, 0.1, np.ones(1), True)
    point = constraints.evaluate(np.array([0.1]))
    assert barrier.at(point, np.ones(1)).residual == pytest.approx(0.0, abs=1e-15)
    assert barrier.at(point, np.array([1.2])).residual == pytest.approx(0.2)
    assert barrier.at(constraints.evaluate(np.array([0.5])), np.ones(1)).residual == pytest.approx(0.4)


@pytest.mark.parametrize("radius", [0.1, 1.0, 3.0])
def test_a_step_cut_short_ends_on_the_boundary_and_a_full_one_solves_the_system(radius: float) -> None:
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0]
    A, g = (Q * np.geomspace(1.0, 30.0, 8)) @ Q.T, 3.0 * Q.sum(axis=1)
    model = SimpleNamespace(
        frame=Euclidean(8).frame(np.zeros(8)),
        gradient=g,
        hessian_product=lambda c: A @ c,
        precondition=lambda c: c,
        noise=0.0,
    )
    short, full = truncated_cg(model, radius, 1e-10), truncated_cg(model, 1e3, 1e-10)
    assert short.at_boundary
    assert np.linalg.norm(short.direction) == pytest.approx(radius)
    assert short.slope == pytest.approx(g @ short.direction)
    assert short.decrease == pytest.approx(-g @ short.direction - 0.5 * short.direction @ A @ short.direction)
    assert not full.at_boundary
    np.testing.assert_allclose(full.direction, -np.linalg.solve(A, g), rtol=1e-8)


@pytest.mark.parametrize(("value", "lam", "expected"), [(-1.0, 0.0, 0.0), (-1.0, 8.0, 1.0), (-5.0, 8.0, 2.0)])
def test_the_violation_of_an_inequality_includes_complementarity(
    value: float, lam: float, expected: float
) -> None:
    """It is |max(c, −λ/ρ)|, here with ρ = 4."""
    rule = Constraint(lambda x: np.array([value]), lambda x, w: 0.0 * x)
    problem = Problem(Euclidean(1), lambda x: float(x[0]), gradient=np.ones_like, inequalities=rule)
    constraints = ConstraintVector(problem, np.ones(1))
    function = Lagrangian(constraints, np.array([lam]), penalty=4.0)
    assert function.at(constraints.evaluate(np.ones(1))).violation == expected


@pytest.mark.parametrize("length", [1e-4, 1.0, 90.0, 1e4])
def test_a_line_search_ends_where_the_value_fell_and_the_slope_is_flatter(length: float) -> None:
    """Of ½ (x − 100)² from 0, in steps that are much too short, right or much too long."""

    def objective(x: np.ndarray) -> SimpleNamespace:
        frame = Euclidean(1).frame(x)
        return SimpleNamespace(
            frame=frame, value=0.5 * float((x[0] - 100.0) ** 2), gradient=x - 100.0, noise=0.0
        )

    found = _search(objective, objective(np.zeros(1)), np.array([length]), 1e9)
    x, slope = found.fraction * length, -100.0 * length
    assert found.end.frame.point == pytest.approx([x])
    assert 0.5 * (x - 100.0) ** 2 <= 0.5 * 100.0**2 + _SUFFICIENT * found.fraction * slope
    assert (x - 100.0) * length >= _FLATTER * slope


def test_sizes_of_constraints_that_vanish_or_are_flat_at_the_start() -> None:
    """The first is 5 + x², the second always 0, the third 2 x."""
    rule = Constraint(
        lambda x: np.array([5.0 + x[0] ** 2, 0.0, 2.0 * x[0]]), lambda x, w: 2.0 * w[0] * x + 2.0 * w[2]
    )
    problem = Problem(Euclidean(1), lambda x: float(x[0]), gradient=np.ones_like, inequalities=rule)
    constraints = ConstraintVector(problem, np.zeros(1))
    units = measure_units(constraints, constraints.evaluate(np.zeros(1)))
    assert units.cost == pytest.approx(1.0)
    np.testing.assert_allclose(units.constraints, _evened(np.array([5.0, 5.0, 2.0])), rtol=1e-6)


@pytest.mark.parametrize("values", [[3.0, 1.0, 2.0], [1.5, 3.0, 2.0]])
def test_the_best_iterate_is_kept_but_the_start_does_not_count(values: list[float]) -> None:
    def walk(constraints, start):  # from 0.5, where the cost is lowest
        for value in values:
            yield Update(constraints.evaluate(np.array([value])), np.zeros(0))
        yield Stop("breakdown", "the end of the walk")

    problem = Problem(Euclidean(1), lambda x: float(x @ x), gradient=lambda x: 2.0 * x)
    result = minimize(problem, np.array([0.5]), method=walk)
    assert result.best_cost == min(values) ** 2
    assert result.best_x == [min(values)]


def test_the_bound_of_the_corollary_needs_two_iterations() -> None:
    with pytest.raises(ValueError, match="`n_iter` must be at least 2"):
        corollary1_bound(np.array([1, 5]), 2.0, 3, 0.5)


@pytest.mark.parametrize("diameter", [0.0, 3.0])
def test_the_bound_of_the_corollary_written_out(diameter: float) -> None:
    expected = (diameter * diameter / 2.0 + 2.0 * 5.0 * 0.3 * 0.3 * (1.0 + np.log(9.0))) / (2.0 * (3.0 - 1.0))
    assert corollary1_bound(9, diameter, 5, 0.3) == pytest.approx(expected)


def test_the_interior_point_method_counts_its_hessian_products() -> None:
    asked = []

    def curve(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        asked.append(u)
        return 2.0 * u

    rule = Constraint(lambda x: 1.0 - x, lambda x, w: -w)
    problem = Problem(
        Euclidean(1),
        lambda x: float(x @ x),
        gradient=lambda x: 2.0 * x,
        hessian_product=curve,
        inequalities=rule,
    )
    result = minimize(problem, np.array([3.0]), "interior-point")
    assert result.x == pytest.approx([1.0])
    assert result.n_iter < sum(row.hessian_products for row in result.history) <= len(asked)
