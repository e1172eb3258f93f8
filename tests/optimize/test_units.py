"""The sizes of cost and constraints, and what is measured in them."""

from types import SimpleNamespace

import numpy as np
import pytest

from geodual.manifolds import Euclidean
from geodual.optimize import Constraint, ConstraintVector, Lagrangian, Problem
from geodual.optimize.kkt import Units, measure_units
from geodual.optimize.proximal_lagrangian.state import Solve


def test_multipliers_are_scaled_by_the_units_of_constraint_and_cost_and_back() -> None:
    units, multipliers = Units(4.0, np.array([0.5, 10.0])), np.array([2.0, 3.0])
    # Of the Lagrangian f/4 + Σ y g/unit, so y = λ · unit/4.
    np.testing.assert_allclose(units.scaled(multipliers), [2.0 * 0.5 / 4.0, 3.0 * 10.0 / 4.0])
    np.testing.assert_allclose(units.unscaled(units.scaled(multipliers)), multipliers)


def test_sizes_of_constraints_that_vanish_or_are_flat_at_the_start() -> None:
    """The first is 5 + x², the second always 0, the third 2 x; sizes alike become their median."""
    rule = Constraint(
        lambda x: np.array([5.0 + x[0] ** 2, 0.0, 2.0 * x[0]]), lambda x, w: 2.0 * w[0] * x + 2.0 * w[2]
    )
    problem = Problem(Euclidean(1), lambda x: float(x[0]), gradient=np.ones_like, inequalities=rule)
    constraints = ConstraintVector(problem, np.zeros(1))
    units = measure_units(constraints, constraints.evaluate(np.zeros(1)))
    assert units.cost == pytest.approx(1.0)
    np.testing.assert_allclose(units.constraints, 5.0, rtol=1e-6)


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


def test_without_constraints_there_is_no_violation() -> None:
    problem = Problem(Euclidean(1), lambda x: float(x @ x), lambda x: 2.0 * x)
    constraints = ConstraintVector(problem, np.ones(1))
    assert Lagrangian(constraints, np.zeros(0)).at(constraints.evaluate(np.ones(1))).violation == 0.0


@pytest.mark.parametrize("cost", [1e-3, 5.0, 1e6])
def test_the_scaled_tolerance_is_that_of_the_kkt_residual(cost: float) -> None:
    """A gradient g of the problem is g/cost of the scaled one, and its residual is g/cost_unit."""
    units = Units(cost, np.zeros(0))
    scaled_tol = Solve.scaled_tol.fget(SimpleNamespace(tol=1e-8, units=units))
    assert scaled_tol * cost / units.cost_unit == pytest.approx(1e-8)
