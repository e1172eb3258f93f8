"""The polish: Newton's method on the KKT system of the active constraints, and its Gram systems."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from geodual.manifolds import Euclidean
from geodual.optimize import Constraint, ConstraintVector, Lagrangian, Problem, active_set
from geodual.optimize.active_set import (
    StoredJacobian,
    conjugate_gradients,
    kkt_system,
    polish_limit,
    shifted_cholesky,
)
from geodual.optimize.kkt import Units


@pytest.mark.parametrize("orthonormal", [False, True])
@pytest.mark.parametrize("size", [0, 3, 100, 101])
def test_a_polish_needs_constraints_and_coordinates_and_pays_late_if_there_are_many(
    orthonormal: bool, size: int
) -> None:
    point = SimpleNamespace(frame=SimpleNamespace(orthonormal=orthonormal))
    expected = 0.0 if not (orthonormal and size) else 1e-6 if size > 100 else math.inf
    assert polish_limit(SimpleNamespace(size=size, is_separable=True), point) == expected
    assert polish_limit(SimpleNamespace(size=size, is_separable=False), point) == 0.0


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
    assert isinstance(system.jacobian, StoredJacobian) is stored
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


def test_a_matrix_that_rounding_made_indefinite_gets_a_small_shift() -> None:
    gram = np.array([[1.0, 1.0 + 1e-7], [1.0 + 1e-7, 1.0]])  # with an eigenvalue of −1e-7
    factor = shifted_cholesky(gram)
    shift = factor @ factor.T - gram
    np.testing.assert_allclose(shift, shift[0, 0] * np.eye(2), atol=1e-15)
    assert 1e-7 < shift[0, 0] < 1e-5


def testconjugate_gradients_find_the_smallest_solution_of_a_singular_system() -> None:
    J = np.random.default_rng(0).standard_normal((12, 5))
    r = J @ np.arange(1.0, 6.0)
    w, found = conjugate_gradients(lambda v: J @ (J.T @ v), r)
    assert found
    np.testing.assert_allclose(w, np.linalg.pinv(J @ J.T) @ r, atol=1e-9)


@pytest.mark.parametrize(("condition", "found"), [(1.0, True), (5.0, True), (1000.0, False)])
def test_a_gram_system_counts_as_solved_near_the_accuracy(condition: float, found: bool) -> None:
    """For the condition 5, thirty steps leave a residual of about 1e-12: more than asked, but good enough."""
    A = np.linspace(1.0, condition, 60)
    r = np.random.default_rng(0).standard_normal(60)
    w, solved = conjugate_gradients(lambda v: A * v, r)
    assert solved is found
    if condition == 5.0:
        assert 1e-14 < np.linalg.norm(A * w - r) / np.linalg.norm(r) < 1e-10


def test_a_gram_system_is_solved_in_spite_of_its_shift() -> None:
    rows = np.diag([1.0, 1e-3]) @ np.array([[1.0, 0.0, 0.0], [0.5, 1.0, 0.0]])
    r = np.array([1.0, 2.0])
    np.testing.assert_allclose(rows @ rows.T @ StoredJacobian(rows).solve_gram(r), r, rtol=1e-9)
