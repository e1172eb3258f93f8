"""Geodesic convexity: true declarations are not refuted, false ones are, and results say what is sure."""

import re

import numpy as np
import pymanopt.manifolds as peers
import pytest

from geodual.manifolds import SPD, Euclidean, FixedRank, Hyperbolic, PositiveOrthant, Product, Sphere, Stiefel
from geodual.optimize import Problem, Update, check_convexity, minimize

DETERMINANT = {
    "cost": lambda x: -np.linalg.slogdet(x)[1],
    "gradient": lambda x: -np.linalg.inv(x),
    "inequalities": lambda x: np.trace(x) - 6.0,
    "jacobian_product": lambda x, w: w[0] * np.eye(3),
}


def value_only(manifold, cost, **more) -> Problem:
    """A problem whose derivatives do not matter."""
    return Problem(manifold, cost, lambda x: x, **more)


def turned(spectrum: np.ndarray) -> np.ndarray:
    """A matrix with the given eigenvalues and random eigenvectors."""
    n = len(spectrum)
    q = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0]
    x = (q * spectrum) @ q.T
    return 0.5 * (x + x.T)


def cap(height: float = 0.9, **more) -> Problem:
    """The point of the cap x₂ ≥ height of the sphere that is closest to a; it is convex on a hemisphere."""
    a = np.array([0.6, 0.0, 0.8])

    def gradient(x):
        angle = np.arccos(np.clip(x @ a, -1.0, 1.0))
        return -a / np.sinc(angle / np.pi)

    return Problem(
        Sphere(3),
        lambda x: 0.5 * float(np.arccos(np.clip(x @ a, -1.0, 1.0)) ** 2),
        gradient,
        inequalities=lambda x: height - x[2],
        jacobian_product=lambda x, w: np.array([0.0, 0.0, -w[0]]),
        **more,
    )


POLE = np.array([0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("manifold", "cost", "x0"),
    [
        (Euclidean(3), lambda x: float(np.exp(x).sum()), np.zeros(3)),
        (Euclidean(3), lambda x: float(np.abs(x).sum()), np.zeros(3)),
        (Euclidean(3), lambda x: float(x @ [1.0, 2.0, 3.0]), 1e6 * np.ones(3)),
        (SPD(3), lambda x: np.linalg.slogdet(x)[1], np.diag([1e-3, 1.0, 1e3])),
        (SPD(20), lambda x: np.linalg.slogdet(x)[1], turned(np.geomspace(1.0, 1e12, 20))),  # large errors
        (SPD(3), lambda x: np.log(np.trace(x)), np.eye(3)),
        (SPD(3), lambda x: np.linalg.eigvalsh(x)[-1], np.eye(3)),
        (PositiveOrthant(3), lambda x: x[0] * x[1] / x[2] + x[2] ** 2 / x[0], np.ones(3)),  # a posynomial
        (Hyperbolic(2), lambda x: Hyperbolic(2).dist(x, [1.0, 0.0, 0.0]) ** 2, np.array([1.0, 0.0, 0.0])),
        (peers.SymmetricPositiveDefinite(3), np.trace, np.eye(3)),
    ],
)
def test_convex_costs_are_not_refuted(manifold, cost, x0) -> None:
    for seed in range(2):
        check = check_convexity(value_only(manifold, cost), x0, rng=np.random.default_rng(seed))
        assert check, f"\n{check}"
        assert check.checks[0].n_geodesics == 100


@pytest.mark.parametrize(
    ("manifold", "cost", "x0"),
    [
        (Euclidean(3), lambda x: float(np.sin(x).sum()), np.ones(3)),
        (Euclidean(3), lambda x: float(x[0] * x[1]), np.zeros(3)),
        (SPD(3), lambda x: -np.trace(x), np.eye(3)),
        (SPD(3), lambda x: x[0, 1], np.eye(3)),  # affine in the usual sense, but not along geodesics
        (PositiveOrthant(3), lambda x: x[0] - x[1], np.ones(3)),
        (Product(Euclidean(2), SPD(2)), lambda x: x[0] @ x[0] - np.trace(x[1]), (np.zeros(2), np.eye(2))),
    ],
)
def test_other_costs_are_refuted_by_a_geodesic_that_the_check_shows(manifold, cost, x0) -> None:
    check = check_convexity(value_only(manifold, cost), x0)
    assert not check
    assert check.worst.name == "cost"
    a, b = check.worst.ends
    middle = manifold.frame(a).exp(0.5 * manifold.frame(a).log(b))
    assert cost(middle) > 0.5 * (cost(a) + cost(b))
    assert "FAIL cost" in str(check)
    assert str(check).endswith("Refuted.")


def test_every_function_has_its_row() -> None:
    problem = value_only(
        SPD(2),
        np.trace,
        inequalities=[lambda x: np.trace(x) - 6.0, lambda x: np.array([x[0, 0] - 1.0, 1.0 - x[1, 1]])],
        jacobian_product=[lambda x, w: x] * 2,
        equalities=[lambda x: np.linalg.slogdet(x)[1], lambda x: np.trace(x) - 3.0],
        equality_jacobian_product=[lambda x, w: x] * 2,
        lower=[[-np.inf, 0.0], [0.0, -np.inf]],
    )
    check = check_convexity(problem, np.eye(2))
    found = {row.name: row.refuted for row in check.checks}
    assert found == {
        "cost": False,
        "inequalities[0]": False,
        "inequalities[1], entry 1": True,  # −x₁₁ is concave
        "the bounds": True,  # so is −x₀₁, somewhere
        "equalities[0]": False,
        "equalities[1]": True,  # convex, but not affine
    }


def test_on_a_sphere_only_geodesics_between_feasible_points_count() -> None:
    assert check_convexity(cap(), POLE)
    assert not check_convexity(cap(height=-2.0), -POLE)  # no function is convex on the whole sphere
    nothing = check_convexity(cap(height=2.0), POLE)
    assert not nothing.refuted
    assert "could not be checked" in str(nothing)


def test_values_that_do_not_exist_are_passed_over() -> None:
    with np.errstate(invalid="ignore", divide="ignore"):
        check = check_convexity(value_only(Euclidean(1), lambda x: float(-np.log(x[0]))), np.array([0.1]))
    assert check
    assert 0 < check.checks[0].n_geodesics < 100


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_geodesics": 0}, "`n_geodesics` must be an integer of at least 1, got 0"),
        ({"radius": -1.0}, "`radius` must be positive and finite, got -1.0"),
        ({"radius": np.nan}, "`radius` must be positive and finite, got nan"),
    ],
)
def test_wrong_arguments_are_named(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_convexity(value_only(Euclidean(1), lambda x: 0.0), np.zeros(1), **change)


@pytest.mark.parametrize(
    ("manifold", "x0"), [(FixedRank(3, 3, 1), np.ones((3, 3))), (peers.Elliptope(2, 2), np.eye(2))]
)
def test_without_geodesics_nothing_can_be_checked(manifold, x0) -> None:
    with pytest.raises(ValueError, match="no geodesics in closed form"):
        check_convexity(value_only(manifold, lambda x: 0.0), x0)


def test_a_declared_problem_has_a_global_minimum() -> None:
    result = minimize(Problem(SPD(3), **DETERMINANT, geodesically_convex=True), np.diag([1.0, 2.0, 9.0]))
    assert result.global_minimum
    assert re.search(
        r"No feasible point within distance \S+ of x costs less by more than \S+ \(", result.message
    )
    assert result.message.endswith("The declaration is not proved.")
    assert not minimize(Problem(SPD(3), **DETERMINANT), np.eye(3)).global_minimum


def test_a_solve_that_does_not_converge_claims_nothing() -> None:
    result = minimize(Problem(SPD(3), **DETERMINANT, geodesically_convex=True), np.eye(3), max_iter=0)
    assert result.status == "max_iterations"
    assert not result.global_minimum
    assert "global" not in result.message


def test_on_a_sphere_the_claim_names_the_part_that_is_meant() -> None:
    result = minimize(cap(geodesically_convex=True), POLE)
    assert result.global_minimum
    np.testing.assert_allclose(result.x, [np.sqrt(0.19), 0.0, 0.9], atol=1e-7)
    assert "No feasible point of the geodesically convex part of Sphere(3) that is meant" in result.message
    assert "is not a Hadamard manifold" in minimize(cap(), POLE).message


def test_a_false_declaration_is_a_warning_and_no_claim() -> None:
    problem = Problem(
        Euclidean(1),
        lambda x: float((x[0] ** 2 - 1.0) ** 2),
        lambda x: 4.0 * x * (x**2 - 1.0),
        geodesically_convex=True,
    )
    with pytest.warns(UserWarning, match=r"a geodesic refutes it(.|\n)*FAIL cost") as caught:
        result = minimize(problem, np.array([0.1]))
    assert caught[0].filename == __file__
    assert result.success
    assert not result.global_minimum
    assert "a geodesic refutes that" in result.message


def test_a_maximum_contradicts_a_declaration_that_geodesics_did_not_refute() -> None:
    """−cos is convex near the start of the method, which then stops at the maximum."""
    problem = Problem(
        Euclidean(1),
        lambda x: float(-np.cos(x[0])),
        lambda x: np.sin(x),
        lambda x, u: np.cos(x) * u,
        geodesically_convex=True,
    )

    def jump(constraints, start):
        while True:
            yield Update(constraints.evaluate(np.array([np.pi])), np.zeros(0))

    result = minimize(problem, np.array([0.01]), method=jump)
    assert (result.status, result.second_order, result.global_minimum) == ("converged", "fails", False)
    assert "but the second-order condition fails: no global minimum is claimed" in result.message


def test_a_better_feasible_iterate_contradicts_a_declaration() -> None:
    """A method that passes the global minimum of a tilted double well and ends at the other one."""
    problem = Problem(
        Euclidean(1),
        lambda x: float((x[0] ** 2 - 1.0) ** 2 + 0.25 * x[0]),
        lambda x: 4.0 * x * (x**2 - 1.0) + 0.25,
        lambda x, u: (12.0 * x**2 - 4.0) * u,
        geodesically_convex=True,
    )

    def passing_by(constraints, start):
        yield Update(constraints.evaluate(np.array([-1.0])), np.zeros(0))
        while True:
            yield Update(constraints.evaluate(np.array([0.96714893788303])), np.zeros(0))

    result = minimize(problem, np.array([5.0]), method=passing_by)  # no geodesic around 5 refutes it
    assert (result.status, result.second_order, result.global_minimum) == ("converged", "holds", False)
    assert "but a feasible iterate costs less" in result.message


def test_without_geodesics_the_declaration_is_unchecked() -> None:
    problem = Problem(
        FixedRank(3, 2, 1),
        lambda x: 0.5 * float(np.sum((x - 1.0) ** 2)),
        lambda x: x - 1.0,
        lambda x, u: u,
        geodesically_convex=True,
    )
    result = minimize(problem, np.outer([1.0, 2.0, 3.0], [1.0, 1.0]))
    assert result.global_minimum
    assert "not proved nor checked: FixedRank(3, 2, 1) has no geodesics in closed form" in result.message


def test_geodesics_on_which_numbers_overflow_do_not_count() -> None:
    problem = Problem(SPD(2), np.trace, gradient=lambda x: np.eye(2))
    check = check_convexity(problem, np.eye(2), radius=1e3)
    assert check
    assert 0 < check.worst.n_geodesics < 100


def test_a_convexity_check_skips_geodesics_that_overflow() -> None:
    problem = Problem(Euclidean(1), lambda x: float(x @ x), lambda x: 2.0 * x)
    check = check_convexity(problem, np.ones(1), radius=1e3)
    assert check


def test_a_manifold_without_directions_refutes_nothing() -> None:
    problem = Problem(Stiefel(1, 1), lambda x: float(x[0, 0]), lambda x: np.ones((1, 1)))
    assert check_convexity(problem, np.ones((1, 1)))
