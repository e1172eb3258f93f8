"""Problems with terms g(c(x)): solutions known in closed form or from a peer, and what results say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from geodual.manifolds import SPD, Euclidean, Grassmann, Product, Sphere, Stiefel
from geodual.optimize import (
    L1,
    Ball,
    Box,
    Constraint,
    GroupL2,
    Huber,
    LInf,
    Max,
    NonPositive,
    NuclearNorm,
    PositiveSemidefinite,
    Problem,
    Quantile,
    SecondOrderCone,
    SimplexSet,
    SpectralNorm,
    Term,
    Zero,
    check_convexity,
    check_gradient,
    minimize,
)

RNG = np.random.default_rng(0)
A = RNG.standard_normal((8, 5))
B = RNG.standard_normal(8)


def linear(matrix: Any, offset: Any = 0.0) -> Constraint:
    return Constraint(
        lambda x: matrix @ x + offset,
        lambda x, w: matrix.T @ w,
        lambda x, u: matrix @ u,
        lambda x, w, u: np.zeros_like(u),
    )


def nearest(target: Any, *terms: Term, **more: Any) -> Problem:
    """The prox itself: minimize ½ ‖x − target‖² plus terms."""
    return Problem(
        Euclidean(*target.shape),
        lambda x: 0.5 * float(np.sum((x - target) ** 2)),
        lambda x: x - target,
        lambda x, u: u,
        terms=terms,
        **more,
    )


FUNCTIONS = [
    (NonPositive(), (5,)),
    (Zero(), (5,)),
    (Box(-0.5, 0.3), (5,)),
    (L1(0.4), (4, 3)),
    (Quantile(0.8, 0.6), (5,)),
    (Huber(0.5, 0.7), (5,)),
    (GroupL2(1.2), (4, 3)),
    (NuclearNorm(0.9), (4, 3)),
    (SpectralNorm(0.9), (4, 3)),
    (Max(0.8), (5,)),
    (LInf(0.8), (5,)),
    (Ball(0.7), (5,)),
    (SecondOrderCone(), (4,)),
    (SimplexSet(2.0), (5,)),
    (PositiveSemidefinite(), (3, 3)),
]


@pytest.mark.parametrize(("function", "shape"), FUNCTIONS, ids=lambda value: type(value).__name__)
def test_the_nearest_point_with_a_term_is_its_prox(function: Any, shape: tuple[int, ...]) -> None:
    target = np.random.default_rng(1).standard_normal(shape)
    if isinstance(function, PositiveSemidefinite):
        target = target + target.T
    result = minimize(nearest(target, Term(function)), np.zeros(shape))
    expected = function.prox(target, 1.0)
    assert result.success
    assert result.second_order == "holds"
    assert_allclose(result.x, expected, atol=1e-7)
    (term,) = result.terms
    assert_allclose(term.value, expected, atol=1e-7)
    assert np.isfinite(function.value(term.value))
    assert_allclose(term.multiplier, target - expected, atol=1e-6)
    cost = 0.5 * np.sum((expected - target) ** 2) + function.value(expected)
    assert result.cost == pytest.approx(cost, abs=1e-6)


def test_zeros_are_exact_where_the_known_solution_has_them() -> None:
    target = np.array([2.0, 0.3, -0.1, -3.0, 0.0])
    result = minimize(nearest(target, Term(L1(0.5))), np.ones(5))
    assert result.terms[0].support.tolist() == [True, False, False, True, False]
    low_rank = minimize(nearest(np.diag([3.0, 2.0, 0.1]), Term(NuclearNorm(0.5))), np.eye(3))
    assert low_rank.terms[0].rank == 2
    rows = minimize(nearest(np.array([[3.0, 4.0], [0.1, 0.1]]), Term(GroupL2(1.0))), np.ones((2, 2)))
    assert rows.terms[0].support.tolist() == [[True, True], [False, False]]


def test_constraints_and_bounds_are_short_forms_of_terms() -> None:
    target = np.array([1.0, -2.0, 0.5, 3.0])
    block = linear(np.array([[1.0, 1.0, 1.0, 1.0]]), -1.0)
    short = minimize(nearest(target, equalities=block, lower=-1.0, upper=1.0), np.zeros(4))
    long = minimize(nearest(target, Term(Zero(), block), Term(Box(-1.0, 1.0))), np.zeros(4))
    assert_allclose(long.x, short.x, atol=1e-7)
    assert_allclose(long.terms[0].multiplier, short.equality_multipliers, atol=1e-6)
    assert_allclose(long.terms[1].multiplier, short.upper_multipliers - short.lower_multipliers, atol=1e-6)
    below = minimize(nearest(target, Term(NonPositive(), block)), np.zeros(4))
    same = minimize(nearest(target, inequalities=block), np.zeros(4))
    np.testing.assert_array_equal(below.x, same.x)
    np.testing.assert_array_equal(below.terms[0].multiplier, same.multipliers)


def test_a_robust_fit_agrees_with_a_linear_program() -> None:
    from scipy.optimize import linprog

    problem = Problem(
        Euclidean(5),
        lambda x: 0.0,
        lambda x: np.zeros(5),
        lambda x, u: np.zeros(5),
        terms=[Term(Quantile(0.7), linear(A, -B))],
    )
    result = minimize(problem, np.zeros(5))
    # min q 1ᵀu + (1 − q) 1ᵀv subject to A x − u + v = b
    c = np.concatenate([np.zeros(5), np.full(8, 0.7), np.full(8, 0.3)])
    equations = np.hstack([A, -np.eye(8), np.eye(8)])
    peer = linprog(c, A_eq=equations, b_eq=B, bounds=[(None, None)] * 5 + [(0, None)] * 16)
    assert result.success
    assert result.cost == pytest.approx(peer.fun, abs=1e-7)
    assert (~result.terms[0].support).sum() == 5  # a vertex interpolates five points exactly


def test_several_terms_with_constraints_satisfy_the_optimality_conditions() -> None:
    rows = linear(A, -B)
    problem = Problem(
        Euclidean(5),
        lambda x: 0.5 * float(x @ x),
        lambda x: x,
        lambda x, u: u,
        inequalities=linear(np.ones((1, 5)), -0.1),
        terms=[Term(L1(0.3)), Term(Huber(0.5), rows), Term(Box(-0.2, 0.2))],
        lower=np.array([-np.inf, -np.inf, 0.05, -np.inf, -np.inf]),
    )
    result = minimize(problem, np.zeros(5))
    assert result.success
    l1, huber, box = (term.multiplier for term in result.terms)
    gradient = result.x + l1 + A.T @ huber + box + result.multipliers[0] - result.lower_multipliers
    assert np.abs(gradient).max() < 1e-7
    residual = A @ result.x - B
    assert_allclose(huber, np.clip(residual, -0.5, 0.5), atol=1e-7)
    assert (np.abs(l1) <= 0.3 + 1e-9).all()
    assert ((box == 0.0) | (np.abs(result.x) > 0.2 - 1e-7)).all()


def test_sparse_principal_components_on_stiefel() -> None:
    covariance = A.T @ A
    problem = Problem(
        Stiefel(5, 2),
        lambda x: -float(np.sum(x * (covariance @ x))),
        lambda x: -2.0 * covariance @ x,
        lambda x, u: -2.0 * covariance @ u,
        terms=[Term(L1(2.0))],
    )
    result = minimize(problem, Stiefel(5, 2).random_point(np.random.default_rng(0)))
    assert (result.success, result.second_order) == (True, "holds")
    value, y = result.terms[0].value, result.terms[0].multiplier
    assert (value == 0.0).any()
    assert_allclose(result.x, value, atol=1e-8)
    gradient = -2.0 * covariance @ result.x + y
    assert np.linalg.norm(Stiefel(5, 2).gradient(result.x, gradient)) < 1e-7
    assert_allclose(y[value != 0.0], 2.0 * np.sign(value[value != 0.0]), atol=1e-12)


def test_a_matrix_inequality_on_positive_definite_matrices() -> None:
    # The largest determinant with x ≤ C as matrices is C itself.
    c = A.T @ A + np.eye(5)
    difference = Constraint(
        lambda x: c - x, lambda x, w: -w, lambda x, u: -u, lambda x, w, u: np.zeros_like(u)
    )
    problem = Problem(
        SPD(5),
        lambda x: -np.linalg.slogdet(x)[1],
        lambda x: -np.linalg.inv(x),
        lambda x, u: np.linalg.solve(x, np.linalg.solve(x, u).T),
        terms=[Term(PositiveSemidefinite(), difference)],
        geodesically_convex=False,
    )
    result = minimize(problem, np.eye(5))
    assert result.success
    assert_allclose(result.x, c, atol=1e-6)
    assert_allclose(result.terms[0].multiplier, -np.linalg.inv(c), atol=1e-6)


def test_the_largest_of_linear_functions_on_the_sphere() -> None:
    # On the circle, max(x₁, x₂) is smallest at x₁ = x₂ = −1/√2.
    problem = Problem(Sphere(2), lambda x: 0.0, np.zeros_like, lambda x, u: 0.0 * u, terms=[Term(Max())])
    result = minimize(problem, np.array([0.0, -1.0]))
    assert result.success
    assert_allclose(result.x, np.full(2, -(0.5**0.5)), atol=1e-7)
    assert_allclose(result.terms[0].multiplier, [0.5, 0.5], atol=1e-7)


def test_warm_starts_go_on_where_a_solve_ended() -> None:
    target = np.random.default_rng(2).standard_normal((6, 4))
    problem = nearest(target, Term(NuclearNorm(0.6)), Term(L1(0.1)))
    first = minimize(problem, np.zeros((6, 4)))
    again = minimize(problem, **first.warm_start())
    assert again.n_iter <= 1
    assert again.success


def test_infeasible_terms_are_called_infeasible() -> None:
    far = Constraint(
        lambda x: x[:1] ** 2 + 1.0,
        lambda x, w: 2.0 * w[0] * np.array([x[0], 0.0]),
        lambda x, u: 2.0 * x[:1] * u[:1],
    )
    problem = nearest(np.ones(2), Term(Ball(0.5), far))
    assert minimize(problem, np.ones(2)).status == "infeasible"


def test_history_callbacks_and_cost_include_the_terms() -> None:
    target, seen = np.array([2.0, 0.3]), []
    result = minimize(nearest(target, Term(L1(0.5))), np.zeros(2), callback=lambda i: seen.append(i.terms))
    assert result.history[-1].cost == result.cost == pytest.approx(0.5 * (0.25 + 0.09) + 0.75)
    assert [terms[0].name for terms in seen] == ["L1"] * result.n_iter


def test_maps_are_checked_like_constraints() -> None:
    wrong = Constraint(lambda x: x**3, lambda x, w: 2.0 * w * x**2)
    check = check_gradient(nearest(np.ones(3), Term(L1(1.0), wrong)), np.array([1.0, 2.0, 3.0]))
    assert [entry.name for entry in check.checks if not entry.passed] == ["gradient of terms[0]"]


def test_maps_must_be_affine_to_be_convex() -> None:
    assert check_convexity(nearest(np.ones(3), Term(L1(1.0), linear(np.eye(3)))), np.zeros(3))
    bent = Constraint(lambda x: x**2, lambda x, w: 2.0 * w * x)
    check = check_convexity(nearest(np.ones(3), Term(Max(9.0), bent)), np.zeros(3))
    assert "terms[0]" in str(check.worst)


@pytest.mark.parametrize("tol", [1e-8, 1e-2])
def test_the_global_gap_counts_terms(tol: float) -> None:
    terms = [Term(L1(0.3)), Term(Quantile(0.7), linear(A, -B)), Term(Box(-0.4, 0.4))]
    problem = nearest(np.ones(5), *terms, geodesically_convex=True)
    best, found = minimize(problem, np.zeros(5), tol=1e-12), minimize(problem, np.zeros(5), tol=tol)
    distance = float(np.linalg.norm(found.x - best.x))
    assert found.cost - best.cost <= found.global_gap(distance) < np.inf
    assert best.global_minimum


def test_a_function_of_your_own() -> None:
    class HalfSquare:
        def value(self, z: Any) -> float:
            return 0.5 * float(np.sum(z**2))

        def prox(self, z: Any, t: float) -> Any:
            return z / (1.0 + t)

        def prox_derivative(self, z: Any, t: float) -> Any:
            return lambda u: u / (1.0 + t)

    target = np.array([4.0, -2.0])
    assert_allclose(minimize(nearest(target, Term(HalfSquare())), np.zeros(2)).x, 0.5 * target, atol=1e-8)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda: Term(3.0),
            TypeError,
            "must have the methods value, prox, prox_derivative; float lacks value",
        ),
        (lambda: Term(L1(), 3.0), TypeError, "must be a function of x, got float"),
        (lambda: nearest(np.ones(2), L1()), TypeError, r"`terms\[0\]` must be a `Term`, got L1"),
        (lambda: nearest(np.ones(2), Term(L1(), lambda x: x)), TypeError, r"terms\[0\] needs derivatives"),
        (
            lambda: Problem(Grassmann(4, 2), lambda x: 0.0, np.zeros_like, terms=[Term(L1())]),
            ValueError,
            r"`terms\[0\]`.*quotient",
        ),
        (
            lambda: minimize(nearest(np.ones(2), Term(L1())), np.ones(2), term_multipliers=[np.ones(3)]),
            ValueError,
            r"`term_multipliers\[0\]` must be finite numbers of shape \(2,\)",
        ),
        (
            lambda: minimize(nearest(np.ones(2), Term(L1())), np.ones(2), term_multipliers=[]),
            ValueError,
            "`term_multipliers` must be 1 arrays, one per term, got 0",
        ),
        (
            lambda: minimize(nearest(np.ones(2), Term(L1())), np.ones(2), method="interior-point"),
            ValueError,
            "takes inequalities, equalities and bounds, but no other terms",
        ),
    ],
)
def test_what_is_wrong_with_a_term_is_said(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_on_a_product_a_term_without_map_acts_on_all_entries() -> None:
    a, b = np.array([2.0, 0.1]), np.array([[0.2, -3.0]])
    problem = Problem(
        Product(Euclidean(2), Euclidean(1, 2)),
        lambda x: 0.5 * float(np.sum((x[0] - a) ** 2) + np.sum((x[1] - b) ** 2)),
        lambda x: (x[0] - a, x[1] - b),
        terms=[Term(L1(0.5))],
    )
    result = minimize(problem, (np.zeros(2), np.zeros((1, 2))))
    assert_allclose(result.terms[0].value, [1.5, 0.0, 0.0, -2.5], atol=1e-8)


def test_jax_maps_may_give_matrices() -> None:
    jnp = pytest.importorskip("jax.numpy")
    target = np.random.default_rng(3).standard_normal((4, 3))
    problem = Problem.from_jax(
        Euclidean(12),
        lambda x, data: 0.5 * jnp.sum((x - jnp.ravel(data)) ** 2),
        terms=[Term(NuclearNorm(0.9), lambda x, data: jnp.reshape(x, (4, 3))), Term(Box(-1.0, 1.0))],
        data=target,
    )
    result = minimize(problem, np.zeros(12))
    assert result.success
    assert result.terms[0].value.shape == (4, 3)
    written = minimize(nearest(target, Term(NuclearNorm(0.9)), Term(Box(-1.0, 1.0))), np.zeros((4, 3)))
    assert_allclose(result.x.reshape(4, 3), written.x, atol=1e-7)
    other = minimize(problem.with_data(2.0 * target), np.zeros(12))
    assert other.success
    assert np.abs(other.x - result.x).max() > 0.1
