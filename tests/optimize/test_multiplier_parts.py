"""Parts of the method of multipliers, each by itself: its tolerances, its polish, its look at curvature."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from geodual.manifolds import Euclidean
from geodual.optimize import KKT, Constraint, ConstraintVector, Lagrangian, Problem, active_set, minimize
from geodual.optimize.active_set import _MANY, _MANY_BELOW, kkt_system, polish_limit
from geodual.optimize.autodiff import _distance_gradient
from geodual.optimize.kkt import Units
from geodual.optimize.proximal_lagrangian import FAST, _ProximalLagrangian
from geodual.optimize.second_order import _least_eigenpair
from geodual.optimize.trees import as_data, total


@pytest.mark.parametrize("hadamard", [False, True])
@pytest.mark.parametrize("closed", [False, True])
def test_a_proximal_term_needs_a_smooth_distance_that_is_known(hadamard: bool, closed: bool) -> None:
    method = SimpleNamespace(manifold=SimpleNamespace(hadamard=hadamard, closed_form_log=closed))
    weight = _ProximalLagrangian._next_proximal_weight(method, SimpleNamespace(proximal_weight=0.5))
    assert weight == pytest.approx(0.05 if hadamard and closed else 0.0)


@pytest.mark.parametrize("cost", [1e-3, 5.0, 1e6])
def test_the_scaled_tolerance_is_that_of_the_kkt_residual(cost: float) -> None:
    """A gradient g of the problem is g/cost of the scaled one, and its residual is g/cost_unit."""
    units = Units(cost, np.zeros(0))
    scaled_tol = _ProximalLagrangian.scaled_tol.fget(SimpleNamespace(tol=1e-8, units=units))
    assert scaled_tol * cost / units.cost_unit == pytest.approx(1e-8)


def test_a_constraint_that_does_not_matter_costs_no_further_iteration() -> None:
    far = Constraint(lambda x: x - 100.0, lambda x, w: w)
    problem = Problem(
        Euclidean(3), lambda x: float(np.sum((x - 1.0) ** 4 + x**2)),
        gradient=lambda x: 4.0 * (x - 1.0) ** 3 + 2.0 * x, inequalities=far,
    )  # fmt: skip
    assert minimize(problem, np.array([5.0, -3.0, 2.0])).n_iter == 1


@pytest.mark.parametrize("orthonormal", [False, True])
@pytest.mark.parametrize("size", [0, 3, _MANY, _MANY + 1])
def test_a_polish_needs_constraints_and_coordinates_and_pays_late_if_there_are_many(
    orthonormal: bool, size: int
) -> None:
    point = SimpleNamespace(frame=SimpleNamespace(orthonormal=orthonormal))
    expected = 0.0 if not (orthonormal and size) else _MANY_BELOW if size > _MANY else math.inf
    assert polish_limit(SimpleNamespace(size=size), point) == expected


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("curvature", [0.05, 3.0])
def test_a_polish_solves_the_kkt_equations_in_any_units(
    curvature: float, stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gradients of the active constraints are stored, or only products with them are formed."""
    monkeypatch.setattr(active_set, "_STORED", 10 if stored else 9)
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((2, 5)), rng.standard_normal(5)
    rule = Constraint(lambda x: A @ x - 1.0, lambda x, w: w @ A, directional=lambda x, u: A @ u)
    problem = Problem(
        Euclidean(5),
        lambda x: 0.5 * curvature * float(x @ x) - float(b @ x),
        gradient=lambda x: curvature * x - b,
        hessian_product=lambda x, u: curvature * u,
        equalities=rule,
    )
    x = rng.standard_normal(5)
    constraints = ConstraintVector(problem, x)
    units = Units(7.0, np.array([0.2, 30.0]))
    weights = 1.0 / units.constraints
    model = Lagrangian(constraints, np.zeros(2), 1.0 / units.cost, weights).at(constraints.evaluate(x))
    system = kkt_system(constraints, units, model, np.array([True, True]))
    assert (type(system._jacobian).__name__ == "_Stored") is stored
    d, y, _ = system.solve(1e-12)
    J = A * weights[:, None]
    np.testing.assert_allclose(J @ d, -(A @ x - 1.0) * weights, atol=1e-10)
    np.testing.assert_allclose(curvature / 7.0 * d + J.T @ y, -(curvature * x - b) / 7.0, atol=1e-9)


def test_a_polish_gives_up_at_negative_curvature() -> None:
    problem = Problem(
        Euclidean(2),
        lambda x: -float(x @ x),
        gradient=lambda x: -2.0 * x,
        hessian_product=lambda x, u: -2.0 * u,
        equalities=Constraint(lambda x: x[:1], lambda x, w: np.array([w[0], 0.0])),
    )
    constraints = ConstraintVector(problem, np.ones(2))
    model = Lagrangian(constraints, np.zeros(1)).at(constraints.evaluate(np.ones(2)))
    system = kkt_system(constraints, Units(1.0, np.ones(1)), model, np.array([True]))
    assert system.solve(1e-6) is None


def test_a_rare_negative_curvature_is_not_taken_for_a_positive_one() -> None:
    """The start has little of the negative eigenvector, so early estimates are positive."""
    eigenvalues = np.append(-0.05, np.geomspace(0.2, 100.0, 59))
    for part in (1.0, 0.3, 0.1):
        start = np.append(part, np.ones(59))
        value, _ = _least_eigenpair(lambda c: eigenvalues * c, start)
        assert value < 0.0


def test_a_problem_knows_whether_its_derivatives_are_automatic() -> None:
    by_hand = Problem(Euclidean(1), lambda x: float(x @ x), gradient=lambda x: 2.0 * x)
    assert by_hand.automatic is False
    assert Problem.from_jax(Euclidean(1), lambda x: (x**2).sum()).automatic is True


@pytest.mark.parametrize("gap", [0.0, 1.8e-4, 2.2e-4, 0.5])
def test_second_derivatives_of_a_distance_at_close_eigenvalues(gap: float) -> None:
    """Of ½ d²(x, y) at x = I and y = diag(1, exp(gap)), in directions off the diagonal.

    With h = gap/2, the derivative of the gradient is h/tanh h + h in x, and −h/sinh h · exp(−h) in y.
    """
    jax = pytest.importorskip("jax")
    h, off = 0.5 * gap, np.array([[0.0, 1.0], [1.0, 0.0]])
    x, y = np.eye(2), np.diag([1.0, np.exp(gap)])
    zero = np.zeros((2, 2))
    with jax.enable_x64(True):
        in_x = jax.jvp(_distance_gradient, (x, y), (off, zero))[1]
        in_y = jax.jvp(_distance_gradient, (x, y), (zero, off))[1]
    expected = (h / np.tanh(h) + h, -h / np.sinh(h) * np.exp(-h)) if gap else (1.0, -1.0)
    assert [in_x[0, 1], in_y[0, 1]] == pytest.approx(expected, rel=1e-11)


def test_vectors_of_different_parts_have_no_sum() -> None:
    with pytest.raises(ValueError, match="argument"):
        total([(np.ones(1), np.ones(2)), (np.ones(1),)])


def test_functions_are_compiled_once_for_several_problems() -> None:
    traces = []

    def cost(x: Any) -> Any:
        traces.append(1)
        return (x**2).sum()

    problem = Problem.from_jax(Euclidean(3), cost)
    problem.gradient(np.ones(3))
    first = len(traces)
    again = Problem.from_jax(Euclidean(3), cost)
    np.testing.assert_allclose(again.gradient(np.ones(3)), 2.0)
    assert len(traces) == first + 1  # one trace, to see that the function is still the same


def test_a_picture_of_a_history_names_its_lines() -> None:
    result = minimize(Problem(Euclidean(1), lambda x: float(x @ x), lambda x: 2.0 * x), np.ones(1))
    texts = [text.get_text() for text in result.history.plot(tol=1e-8).get_legend().get_texts()]
    assert texts == ["stationarity", "feasibility", "complementarity", "tolerance"]


def test_data_keep_their_kind_and_real_numbers_get_double_precision() -> None:
    given = {"x": np.ones(2, np.float32), "k": np.arange(3), "mask": np.array([True]), "z": np.array([1j])}
    frozen = as_data(given)
    assert [leaf.dtype.kind for leaf in frozen.values()] == ["f", "i", "b", "c"]
    assert frozen["x"].dtype == np.float64
    assert not frozen["k"].flags.writeable


@pytest.mark.parametrize("parts", [(9.0, 0.5, 0.5), (0.0, 2.0, 0.5), (0.0, 0.5, 2.0), (0.0, 1.0, 1.0)])
def test_feasible_means_without_violation_and_with_complementarity(parts: tuple[float, float, float]) -> None:
    update = SimpleNamespace(kkt=KKT(*parts))
    found = _ProximalLagrangian._is_feasible(SimpleNamespace(tol=1.0), update)
    assert found is (max(parts[1:]) <= 1.0)


def test_a_feasible_start_is_remembered() -> None:
    rule = Constraint(lambda x: x - 1.0, lambda x, w: w)
    problem = Problem(Euclidean(1), lambda x: float(x @ x), lambda x: 2.0 * x, inequalities=rule)
    for x, kept in ((0.5, True), (1.5, False)):
        constraints = ConstraintVector(problem, np.array([x]))
        start = constraints.evaluate(np.array([x]))
        method = _ProximalLagrangian(constraints, Units(1.0, np.ones(1)), 1e-8, 40, print, print, FAST)
        method._minimise = lambda state: 1 / 0
        with pytest.raises(ZeroDivisionError):
            next(method.iterate(start, np.zeros(1)))
        assert (method.feasible is start) is kept
