"""Building problems: errors name what is missing, blocks are joined, jax gives all derivatives."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pymanopt
import pytest

from geodual.manifolds import SPD, Euclidean, Product
from geodual.manifolds.adapter import PymanoptManifold
from geodual.optimize import Constraint, Problem, check_gradient, minimize
from geodual.optimize.autodiff import spd_half_squared_distance
from geodual.optimize.problem import ConstraintVector
from geodual.optimize.trees import total


def test_a_missing_gradient_names_the_extra() -> None:
    with pytest.raises(ValueError, match=r"`gradient` is missing.*geodual\[jax\]"):
        Problem(SPD(2), lambda x: 0.0)


@pytest.mark.parametrize("kind", ["inequalities", "equalities"])
def test_a_missing_jacobian_names_the_extra(kind: str) -> None:
    with pytest.raises(ValueError, match=r"jacobian_product.*geodual\[jax\]"):
        Problem(SPD(2), lambda x: 0.0, lambda x: x, **{kind: lambda x: 0.0})


def test_without_jax_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "geodual.optimize.autodiff")
    with pytest.raises(ImportError, match=r"geodual\[jax\]"):
        Problem.from_jax(SPD(2), jnp.trace)


def test_something_else_is_not_a_manifold() -> None:
    with pytest.raises(TypeError, match="geodual or pymanopt manifold, got str"):
        Problem("SPD", lambda x: 0.0, lambda x: x)


def test_pymanopt_manifolds_are_adapted() -> None:
    problem = Problem(
        pymanopt.manifolds.SymmetricPositiveDefinite(3),
        cost=lambda x: -np.linalg.slogdet(x)[1],
        gradient=lambda x: -np.linalg.inv(x),
        inequalities=lambda x: np.trace(x) - 6.0,
        jacobian_product=lambda x, w: w[0] * np.eye(3),
    )
    assert isinstance(problem.manifold, PymanoptManifold)
    result = minimize(problem, np.eye(3))
    assert result.success, result.message
    np.testing.assert_allclose(result.x, 2.0 * np.eye(3), rtol=1e-7)


def test_a_pymanopt_manifold_without_logarithm_works_but_for_algorithm_1() -> None:
    target = np.diag([1.0, -1.0, 1.0])
    problem = Problem(
        pymanopt.manifolds.Oblique(3, 3),
        lambda x: -float(np.vdot(x, target)),
        lambda x: -target,
        inequalities=lambda x: -x.ravel(),
        jacobian_product=lambda x, w: -w.reshape(3, 3),
    )
    start = np.full((3, 3), 3**-0.5)
    assert minimize(problem, start).success
    stiefel = Problem(pymanopt.manifolds.Stiefel(3, 2), lambda x: 0.0, np.zeros_like)
    with pytest.raises(ValueError, match="Algorithm 1 needs distances"):
        minimize(stiefel, np.eye(3)[:, :2], method="primal-dual")


def test_blocks_are_one_vector() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2, 3)), rng.standard_normal((4, 3))
    problem = Problem(
        Euclidean(3),
        lambda x: 0.0,
        np.zeros_like,
        inequalities=Constraint(lambda x: A @ x, lambda x, w: w @ A, lambda x, u: A @ u),
        equalities=lambda x: B @ x,
        equality_jacobian_product=lambda x, w: w @ B,
    )
    x, u, w = rng.standard_normal(3), rng.standard_normal(3), rng.standard_normal(6)
    constraints, both = ConstraintVector(problem, x), np.vstack([A, B])
    assert (constraints.size, constraints.n_inequalities) == (6, 2)
    np.testing.assert_array_equal(constraints.is_equality, [False] * 2 + [True] * 4)
    np.testing.assert_allclose(constraints.value(x), both @ x)
    np.testing.assert_allclose(constraints.derivative(x, u), both @ u)
    np.testing.assert_allclose(sum(constraints.adjoint(x, w)), w @ both)
    np.testing.assert_allclose(constraints.gradients(x, np.array([0, 3, 5])), both[[0, 3, 5]])


def jax_problem(n: int = 3) -> Problem:
    return Problem.from_jax(
        SPD(n),
        lambda x: -jnp.linalg.slogdet(x)[1] + 0.1 * jnp.sum(x**2),
        inequalities=[lambda x: jnp.trace(x) - 2.0, lambda x: jnp.diag(x) - 0.6],
        equalities=lambda x: x[0, 1] - 0.1,
    )


def test_jax_derivatives_pass_the_check() -> None:
    problem = jax_problem()
    check = check_gradient(problem, SPD(3).random_point(np.random.default_rng(2)))
    assert check, f"\n{check}"
    assert len(check.checks) == 2 + 3 * 4


def test_jax_problems_reach_high_accuracy() -> None:
    """jax's default is single precision; we use double precision and leave the default unchanged."""
    with jax.enable_x64(False):
        result = minimize(jax_problem(), np.eye(3), tol=1e-10)
        assert jnp.ones(1).dtype == jnp.float32
    assert result.success, result.message
    assert result.x[0, 1] == pytest.approx(0.1, abs=1e-10)


def test_jax_works_on_products() -> None:
    manifold = Product(SPD(2), Euclidean(2))
    problem = Problem.from_jax(
        manifold,
        lambda x: -jnp.linalg.slogdet(x[0])[1] + x[1] @ x[1],
        inequalities=lambda x: jnp.trace(x[0]) - x[1].sum(),
    )
    result = minimize(problem, (np.eye(2), np.ones(2)))
    assert result.success
    np.testing.assert_allclose(result.x[1], result.x[1][::-1], rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_spd_distance_under_jax(seed: int) -> None:
    rng, manifold = np.random.default_rng(seed), Product(SPD(4), SPD(4))
    target = SPD(4).random_point(rng)
    problem = Problem.from_jax(
        manifold,
        lambda x: spd_half_squared_distance(x[0], x[1]) + spd_half_squared_distance(target, x[1]),
    )
    x = manifold.random_point(rng)
    expected = 0.5 * SPD(4).dist(*x) ** 2 + 0.5 * SPD(4).dist(target, x[1]) ** 2
    assert problem.cost(x) == pytest.approx(expected, rel=1e-12)
    assert check_gradient(problem, x)


def test_spd_distance_under_jax_has_derivatives_at_repeated_eigenvalues() -> None:
    problem = Problem.from_jax(SPD(3), lambda x: spd_half_squared_distance(x, 2.0 * np.eye(3)))
    check = check_gradient(problem, np.eye(3))
    assert check, f"\n{check}"
    u = np.ones((3, 3))
    at_the_target = problem.hessian_product(2.0 * np.eye(3), u)
    np.testing.assert_allclose(at_the_target, u / 4.0, rtol=1e-12)


def test_spd_distance_maps_over_constants() -> None:
    targets = np.array([SPD(3).random_point(np.random.default_rng(seed)) for seed in range(4)])
    problem = Problem.from_jax(
        SPD(3), lambda x: jax.vmap(lambda y: spd_half_squared_distance(x, y))(targets).sum()
    )
    expected = sum(0.5 * SPD(3).dist(np.eye(3), y) ** 2 for y in targets)
    assert problem.cost(np.eye(3)) == pytest.approx(expected, rel=1e-12)


def test_vectors_of_different_parts_have_no_sum() -> None:
    with pytest.raises(ValueError, match="argument"):
        total([(np.ones(1), np.ones(2)), (np.ones(1),)])
