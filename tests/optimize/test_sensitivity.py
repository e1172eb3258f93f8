"""Derivatives of solutions by the data: against closed forms, and differences of complete solves."""

import pickle
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pymanopt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodual.manifolds import (
    SPD,
    Euclidean,
    FixedRank,
    Grassmann,
    HermitianPD,
    Product,
    Rotations,
    Simplex,
    Sphere,
    Stiefel,
)
from geodual.optimize import (
    L1,
    Ball,
    Constraint,
    GroupL2,
    NotDifferentiableError,
    NuclearNorm,
    PositiveSemidefinite,
    Problem,
    Term,
    minimize,
    sensitivity,
    solution_map,
)
from geodual.optimize.autodiff import spd_half_squared_distance
from geodual.optimize.trees import leaves, mapped, pairing

RNG = np.random.default_rng(0)
TIGHT = 1e-11


def solved(problem: Problem, x0, tol=TIGHT):
    result = minimize(problem, x0, tol=tol)
    assert result.success, result.message
    return result


def differenced(problem: Problem, result, direction, h=2e-3):
    """Return the derivatives of x, cost and multipliers along a direction, from four complete solves."""

    def at(step: float):
        data = mapped(lambda a, d: a + step * d, problem.data, direction)
        other = solved(problem.with_data(data), result.x)
        return other.x, other.cost, other.multipliers, other.equality_multipliers

    one, two = (mapped(np.subtract, at(k * h), at(-k * h)) for k in (1, 2))
    return mapped(lambda a, b: (8.0 * a - b) / (12.0 * h), one, two)  # the error is of order h⁴


def random_like(data, seed=3):
    rng = np.random.default_rng(seed)
    return mapped(lambda a: rng.standard_normal(np.shape(a)), data)


def assert_close(found, expected, rtol=1e-6):
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=rtol * max(1.0, np.abs(b).max(initial=0.0)))


def assert_agrees_with_solves(problem: Problem, x0, symmetric=()):
    """The derivative along a random direction, and its adjoint, are those of complete solves."""
    result = solved(problem, x0)
    direction = random_like(problem.data)
    for key in symmetric:
        direction[key] = direction[key] + np.swapaxes(direction[key], -1, -2)
    found = result.jvp(direction)
    x, cost, multipliers, equality_multipliers = differenced(problem, result, direction)
    assert_close(found.x, x)
    assert_close(found.cost, cost)
    assert_close(found.multipliers, multipliers)
    assert_close(found.equality_multipliers, equality_multipliers)
    by = random_like(result.x, 4)
    lam, mu = random_like(multipliers, 5), random_like(equality_multipliers, 6)
    pulled = result.vjp(x=by, cost=0.7, multipliers=lam, equality_multipliers=mu)
    expected = pairing(by, x) + 0.7 * cost + lam @ multipliers + mu @ equality_multipliers
    assert_close(pairing(pulled, direction), expected)
    return result


def spd_matrices(n, size=2, rng=RNG):
    A = rng.standard_normal((n, size, size))
    return A @ np.swapaxes(A, -1, -2) + np.eye(size)


def mean_problem():
    def cost(x, data):
        return sum(w * spd_half_squared_distance(x, A) for w, A in zip(data["w"], data["A"], strict=True))

    data = {"w": np.array([0.5, 1.0, 2.0]), "A": spd_matrices(3, rng=np.random.default_rng(1))}
    return Problem.from_jax(SPD(2), cost, data=data)


def test_a_mean_of_positive_definite_matrices():
    result = assert_agrees_with_solves(mean_problem(), np.eye(2), symmetric=["A"])
    by_weights = result.derivative("w")
    assert by_weights.x.shape == (2, 2, 3)
    # The mean depends on the ratios of the weights only, and ∂cost/∂w is the half squared distance.
    np.testing.assert_allclose(by_weights.x @ result.problem.data["w"], 0.0, atol=1e-8)
    distances = [0.5 * SPD(2).dist(result.x, A) ** 2 for A in result.problem.data["A"]]
    np.testing.assert_allclose(by_weights.cost, distances, rtol=1e-8)


def test_an_eigenvector():
    """Dv = −(A − λI)⁺ dA v, and dλ = vᵀ dA v."""
    A = np.diag([1.0, 2.0, 4.0]) + 0.1
    problem = Problem.from_jax(Sphere(3), lambda x, A: x @ A @ x, data=A)
    result = solved(problem, np.array([0.8, 0.6, 0.0]))
    found = result.derivative()
    v = result.x
    inverse = np.linalg.pinv(A - (v @ A @ v) * np.eye(3), rcond=1e-10)
    symmetric = 0.5 * (np.einsum("ij,k->ijk", inverse, v) + np.einsum("ik,j->ijk", inverse, v))
    np.testing.assert_allclose(found.x, -symmetric, atol=1e-8)
    np.testing.assert_allclose(found.cost, np.outer(v, v), atol=1e-8)
    assert found.multipliers.shape == (0, 3, 3)


def program(rng):
    """Return a quadratic program with an equality, an active and an inactive inequality."""
    Q = np.diag([1.0, 2.0, 3.0, 4.0]) + 0.2
    return {
        "Q": Q,
        "q": rng.standard_normal(4),
        "A": rng.standard_normal((1, 4)),
        "b": np.array([1.0]),
        "G": np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]),
        "h": np.array([-1.0, 50.0]),
    }


def program_functions():
    return {
        "cost": lambda x, d: 0.5 * x @ d["Q"] @ x + d["q"] @ x,
        "inequalities": lambda x, d: d["G"] @ x - d["h"],
        "equalities": lambda x, d: d["A"] @ x - d["b"],
    }


def test_a_quadratic_program_by_hand():
    """(dx, dλ, dμ) solve the dense KKT system of the active constraints."""
    data = program(np.random.default_rng(2))
    problem = Problem.from_jax(Euclidean(4), **program_functions(), data=data)
    result = solved(problem, np.zeros(4))
    assert result.multipliers[0] > 0.1
    assert result.multipliers[1] == 0.0
    J = np.vstack([data["G"][:1], data["A"]])
    K = np.linalg.inv(np.block([[data["Q"], J.T], [J, np.zeros((2, 2))]]))
    by_q, by_h, by_b = (result.derivative(key) for key in ("q", "h", "b"))
    np.testing.assert_allclose(by_q.x, -K[:4, :4], atol=1e-8)
    np.testing.assert_allclose(by_q.multipliers, [-K[4, :4], np.zeros(4)], atol=1e-8)
    np.testing.assert_allclose(by_q.equality_multipliers, -K[5:, :4], atol=1e-8)
    np.testing.assert_allclose(by_h.x, np.column_stack([K[:4, 4], np.zeros(4)]), atol=1e-8)
    np.testing.assert_allclose(by_b.x, K[:4, 5:], atol=1e-8)
    np.testing.assert_allclose(by_h.cost, [-result.multipliers[0], 0.0], atol=1e-8)
    np.testing.assert_allclose(by_b.cost, -result.equality_multipliers, atol=1e-8)
    np.testing.assert_allclose(by_q.cost, result.x, atol=1e-8)
    # d(½ xᵀQx) by Q at fixed multipliers: −K [dQ x; 0].
    expected = -np.einsum("ij,k->ijk", K[:4, :4], result.x)
    np.testing.assert_allclose(
        result.derivative("Q").x, 0.5 * (expected + expected.swapaxes(1, 2)), atol=1e-7
    )
    assert_agrees_with_solves(problem, np.zeros(4), symmetric=["Q"])


@pytest.mark.parametrize("engine", ["torch", "family"])
def test_all_engines_agree(engine):
    data = program(np.random.default_rng(2))
    if engine == "torch":
        pytest.importorskip("torch")
        problem = Problem.from_torch(Euclidean(4), **program_functions(), data=data | {"index": 1})
    else:
        problem = Problem.from_family(by_hand, data)
    result = solved(problem, np.zeros(4))
    for part in ("x", "cost", "multipliers", "equality_multipliers"):
        assert_close(getattr(result.derivative("G"), part), getattr(LAW.derivative("G"), part), rtol=1e-7)
    by = {"x": np.arange(4.0), "cost": 2.0, "multipliers": np.array([1.0, 3.0])}
    pulled, expected = result.vjp(**by), LAW.vjp(**by)
    assert list(pulled) == list(problem.data)
    assert list(expected) == list(LAW.problem.data)
    for key, own in expected.items():
        assert_close(pulled[key], own, rtol=1e-7)


def by_hand(d):
    return Problem(
        Euclidean(4),
        cost=lambda x: 0.5 * x @ d["Q"] @ x + d["q"] @ x,
        gradient=lambda x: 0.5 * (d["Q"] + d["Q"].T) @ x + d["q"],
        inequalities=lambda x: d["G"] @ x - d["h"],
        jacobian_product=lambda x, w: d["G"].T @ w,
        equalities=lambda x: d["A"] @ x - d["b"],
        equality_jacobian_product=lambda x, w: d["A"].T @ w,
    )


LAW = solved(
    Problem.from_jax(Euclidean(4), **program_functions(), data=program(np.random.default_rng(2))), np.zeros(4)
)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_vjp_is_the_transpose_of_jvp(seed):
    rng = np.random.default_rng(seed)
    direction = mapped(lambda a: rng.standard_normal(a.shape), LAW.problem.data)
    x, cost, lam, mu = (
        rng.standard_normal(4),
        rng.standard_normal(),
        rng.standard_normal(2),
        rng.standard_normal(1),
    )
    forward = LAW.jvp(direction)
    pulled = LAW.vjp(x=x, cost=cost, multipliers=lam, equality_multipliers=mu)
    paired = (
        x @ forward.x + cost * forward.cost + lam @ forward.multipliers + mu @ forward.equality_multipliers
    )
    assert pairing(pulled, direction) == pytest.approx(paired, rel=1e-10, abs=1e-10)


def test_bounds_on_a_projection_to_the_simplex():
    """On its support of k entries, the projection of a has the derivative I − 1/k."""
    a = np.array([0.9, 0.5, -0.4, 0.3])
    problem = Problem.from_jax(
        Euclidean(4),
        lambda x, a: 0.5 * jnp.sum((x - a) ** 2),
        equalities=lambda x, a: jnp.sum(x) - 1.0,
        lower=0.0,
        data=a,
    )
    result = solved(problem, np.full(4, 0.25))
    support = result.x > 1e-6
    assert support.tolist() == [True, True, False, True]
    expected = np.where(np.outer(support, support), np.eye(4) - 1.0 / 3.0, 0.0)
    found = result.derivative()
    np.testing.assert_allclose(found.x, expected, atol=1e-8)
    # The multiplier of the bound on entry 2 is μ − a₂, where μ is the mean of the others' excess.
    np.testing.assert_allclose(found.multipliers[2], [1 / 3, 1 / 3, -1.0, 1 / 3], atol=1e-8)


def test_bounds_that_are_data():
    def build(data):
        return Problem(
            Euclidean(3),
            lambda x: 0.5 * np.sum((x - data["a"]) ** 2),
            gradient=lambda x: x - data["a"],
            lower=data["low"],
        )

    data = {"a": np.array([1.0, -2.0, 3.0]), "low": 0.0}
    found = solved(Problem.from_family(build, data), np.ones(3)).derivative("low")
    np.testing.assert_allclose(found.x, [0.0, 1.0, 0.0], atol=1e-7)
    assert found.cost == pytest.approx(2.0, abs=1e-7)  # the multiplier, −a₁ − 0
    np.testing.assert_allclose(found.multipliers, [0.0, 1.0, 0.0], atol=1e-7)


def test_the_simplex_as_a_manifold():
    """The minimum of −Σ aᵢ log xᵢ is a/Σa."""
    a = np.array([1.0, 2.0, 5.0])
    problem = Problem.from_jax(Simplex(3), lambda x, a: -jnp.sum(a * jnp.log(x)), data=a)
    found = solved(problem, np.full(3, 1 / 3)).derivative()
    expected = np.eye(3) / 8.0 - np.outer(a, np.ones(3)) / 64.0
    np.testing.assert_allclose(found.x, expected, atol=1e-8)


def test_rotations():
    """The rotation that maximizes ⟨M, R⟩ is UVᵀ, and UᵀdR V has the entries of UᵀdM V − (·)ᵀ over sᵢ + sⱼ."""
    M = np.diag([3.0, 2.0, 1.0]) + 0.1 * np.random.default_rng(5).standard_normal((3, 3))
    problem = Problem.from_jax(Rotations(3), lambda x, M: -jnp.sum(M * x), data=M)
    result = solved(problem, np.eye(3))
    dM = np.random.default_rng(6).standard_normal((3, 3))
    U, s, Vt = np.linalg.svd(M)
    inner = U.T @ dM @ Vt.T
    expected = U @ ((inner - inner.T) / (s[:, None] + s)) @ Vt
    np.testing.assert_allclose(result.jvp(dM).x, expected, atol=1e-8)


def test_stiefel_with_an_inequality():
    rng = np.random.default_rng(7)
    problem = Problem.from_jax(
        Stiefel(4, 2),
        lambda x, d: jnp.sum(x * (d["A"] @ x @ jnp.diag(jnp.array([1.0, 2.0])))),
        inequalities=lambda x, d: x[0, 0] - d["most"],
        data={"A": np.diag([1.0, 2.0, 3.0, 5.0]) + 0.1 * rng.standard_normal((4, 4)), "most": -0.2},
    )
    result = assert_agrees_with_solves(problem, np.linalg.qr(rng.standard_normal((4, 2)))[0])
    assert result.dual_average is None


def test_a_product_with_names():
    rng = np.random.default_rng(8)
    P = rng.standard_normal((6, 3))
    problem = Problem.from_jax(
        Product(R=Rotations(3), t=Euclidean(3)),
        lambda x, d: 0.5 * jnp.sum((d["P"] @ x["R"].T + x["t"] - d["Q"]) ** 2),
        inequalities=lambda x, d: jnp.sum(x["t"] ** 2) - d["radius"] ** 2,
        data={"P": P, "Q": P + 1.0 + 0.1 * rng.standard_normal((6, 3)), "radius": 0.8},
    )
    result = assert_agrees_with_solves(problem, {"R": np.eye(3), "t": np.zeros(3)})
    by_points = result.derivative("Q")
    assert by_points.x["R"].shape == (3, 3, 6, 3)
    assert by_points.multipliers.shape == (1, 6, 3)


def lasso_data(rng):
    A = rng.standard_normal((8, 4))
    return {"A": A, "b": A @ np.array([2.0, 0.0, -1.0, 0.0]) + 0.1 * rng.standard_normal(8), "weight": 2.0}


def lasso(d):
    return Problem(
        Euclidean(4),
        cost=lambda x: 0.5 * np.sum((d["A"] @ x - d["b"]) ** 2),
        gradient=lambda x: d["A"].T @ (d["A"] @ x - d["b"]),
        hessian_product=lambda x, u: d["A"].T @ (d["A"] @ u),
        terms=[Term(L1(d["weight"]))],
    )


def test_lasso():
    """On the support S the solution is (AᵀA)⁻¹(Aᵀb − w sign)."""
    data = lasso_data(np.random.default_rng(4))
    scaled = Problem.from_jax(
        Euclidean(4),
        lambda x, d: 0.5 * jnp.sum((d["A"] @ x - d["b"]) ** 2),
        terms=[Term(L1(1.0), lambda x, d: d["weight"] * x)],
        data=data,
    )
    for problem in (scaled, Problem.from_family(lasso, data)):
        result = solved(problem, np.zeros(4))
        S = result.terms[0].support
        assert S.tolist() == [True, False, True, False]
        inverse = np.linalg.inv(data["A"][:, S].T @ data["A"][:, S])
        by_b, by_weight = result.derivative("b"), result.derivative("weight")
        np.testing.assert_allclose(by_b.x[S], inverse @ data["A"][:, S].T, atol=1e-7)
        np.testing.assert_allclose(by_b.x[~S], 0.0, atol=1e-8)
        np.testing.assert_allclose(by_weight.x[S], -inverse @ np.sign(result.x[S]), atol=1e-7)
        assert by_weight.cost == pytest.approx(np.abs(result.x).sum(), rel=1e-7)
        assert result.vjp(x=np.ones(4))["weight"] == pytest.approx(by_weight.x.sum(), rel=1e-6)
        assert_close(by_weight.term_multipliers[0], differenced_multiplier(problem, result))


def differenced_multiplier(problem, result, h=1e-4):
    ahead, back = (
        solved(problem.with_data(problem.data | {"weight": problem.data["weight"] + step}), result.x)
        for step in (h, -h)
    )
    return (ahead.terms[0].multiplier - back.terms[0].multiplier) / (2.0 * h)


TERMS = {
    "nuclear norm": (NuclearNorm(1.0), lambda x, d: x, False),
    "groups": (GroupL2(1.5), lambda x, d: x, False),
    "ball": (Ball(1.0), lambda x, d: d["scale"] * x, False),
    "cone": (PositiveSemidefinite(), lambda x, d: 0.5 * (x + x.T) + d["scale"] * jnp.eye(3), True),
    "cone of diagonals": (PositiveSemidefinite(), lambda x, d: jnp.diag(jnp.diag(x) - 0.1), True),
}


@pytest.mark.parametrize("name", TERMS)
def test_terms_that_join_entries(name):
    function, own, _ = TERMS[name]
    target = np.diag([3.0, 2.0, 0.3]) - 1.2 * np.diag([0.0, 0.0, 1.0]) + 0.2
    problem = Problem.from_jax(
        Euclidean(3, 3),
        lambda x, d: 0.5 * jnp.sum((x - d["target"]) ** 2),
        terms=[Term(function, own)],
        data={"target": target, "scale": 0.5},
    )
    result = solved(problem, np.zeros((3, 3)), tol=1e-9)
    direction = random_like(problem.data)
    h = 1e-4
    ends = [
        solved(
            problem.with_data(mapped(lambda a, d, s=s: a + s * h * d, problem.data, direction)),
            result.x,
            1e-9,
        )
        for s in (1.0, -1.0)
    ]
    found = result.jvp(direction)
    assert_close(found.x, (ends[0].x - ends[1].x) / (2.0 * h))
    assert_close(found.cost, (ends[0].cost - ends[1].cost) / (2.0 * h))
    by = random_like(result.x, 4)
    assert pairing(result.vjp(x=by), direction) == pytest.approx(pairing(by, found.x), rel=1e-7)


def test_data_that_move_a_matrix_where_its_map_cannot_follow():
    """At the edge of the cone, the off-diagonal entries of diag(x) + data·(1 − I) decide what is feasible."""
    problem = Problem.from_jax(
        Euclidean(2),
        lambda x, d: 0.5 * jnp.sum((x + 1.0) ** 2),
        terms=[Term(PositiveSemidefinite(), lambda x, d: jnp.diag(x) + d * (1.0 - jnp.eye(2)))],
        data=0.0,
    )
    with pytest.raises(
        NotDifferentiableError, match="gradients of active constraints are linearly dependent"
    ):
        solved(problem, np.ones(2), 1e-9).derivative()


def test_the_radius_of_a_ball_is_data():
    """The nearest point of the ball has norm r, and its cost ½(‖a‖ − r)² falls by ‖a‖ − r."""
    a = np.array([3.0, 4.0])

    def build(radius):
        return Problem(
            Euclidean(2),
            lambda x: 0.5 * np.sum((x - a) ** 2),
            gradient=lambda x: x - a,
            terms=[Term(Ball(radius))],
        )

    result = solved(Problem.from_family(build, 2.0), np.zeros(2), tol=1e-10)
    np.testing.assert_allclose(result.derivative().x, a / 5.0, atol=1e-6)
    assert result.derivative().cost == pytest.approx(-3.0, abs=1e-6)
    assert result.vjp(x=np.ones(2)) == pytest.approx(1.4, abs=1e-6)


def test_quotients_have_the_derivative_of_the_subspace():
    A = np.diag([1.0, 2.0, 5.0, 6.0]) + 0.1
    problem = Problem.from_jax(Grassmann(4, 2), lambda x, A: jnp.trace(x.T @ A @ x), data=A)
    result = solved(problem, np.eye(4)[:, :2])
    dA = np.random.default_rng(1).standard_normal((4, 4))
    dA = dA + dA.T
    found = result.jvp(dA).x
    np.testing.assert_allclose(result.x.T @ found, 0.0, atol=1e-10)  # horizontal: no turn within the subspace
    h = 1e-5
    projectors = []
    for step in (h, -h):
        v = np.linalg.eigh(A + step * dA)[1][:, :2]
        projectors.append(v @ v.T)
    np.testing.assert_allclose(
        found @ result.x.T + result.x @ found.T, (projectors[0] - projectors[1]) / (2.0 * h), atol=1e-7
    )


def test_fixed_rank_and_complex_points():
    rng = np.random.default_rng(3)
    target = rng.standard_normal((4, 3))
    problem = Problem.from_jax(FixedRank(4, 3, 2), lambda x, A: 0.5 * jnp.sum((x - A) ** 2), data=target)
    start = FixedRank(4, 3, 2).random_point(rng)
    assert_agrees_with_solves(problem, start)
    complex_problem = Problem.from_jax(
        HermitianPD(2),
        lambda x, d: jnp.real(jnp.trace(jnp.linalg.inv(d) @ x) - jnp.linalg.slogdet(x)[1]),
        data=np.array([[2.0, 0.5j], [-0.5j, 1.0]]),
    )
    result = solved(complex_problem, np.eye(2, dtype=complex))
    direction = np.array([[1.0, 0.3 + 0.2j], [0.3 - 0.2j, -0.5]])
    np.testing.assert_allclose(result.jvp(direction).x, direction, atol=1e-7)  # the minimum is the data
    by = rng.standard_normal((2, 2)) + 1j * rng.standard_normal((2, 2))
    assert pairing(result.vjp(x=by), direction) == pytest.approx(pairing(by, direction), abs=1e-7)


def test_manifolds_of_pymanopt():
    A = np.diag([1.0, 2.0, 4.0]) + 0.1
    sphere = pymanopt.manifolds.Sphere(3)
    ours, theirs = (
        solved(Problem.from_jax(m, lambda x, A: x @ A @ x, data=A), np.array([0.8, 0.6, 0.0]), tol=1e-10)
        for m in (Sphere(3), sphere)
    )
    np.testing.assert_allclose(theirs.derivative().x, ours.derivative().x, atol=1e-8)


@pytest.mark.parametrize("build", [mean_problem, lambda: LAW.problem], ids=["mean", "program"])
def test_large_systems_are_solved_by_products(build, monkeypatch):
    problem = build()
    x0 = np.eye(2) if isinstance(problem.manifold, SPD) else np.zeros(4)
    direction = random_like(problem.data)
    factored = solved(problem, x0)
    expected, by = factored.jvp(direction), random_like(factored.x, 4)
    pulled = factored.vjp(x=by)
    monkeypatch.setattr(sensitivity, "_DENSE", 0)
    iterated = solved(problem, x0)
    found = iterated.jvp(direction)
    assert_close(found.x, expected.x, rtol=1e-8)
    assert_close(found.multipliers, expected.multipliers, rtol=1e-8)
    assert_close(iterated.vjp(x=by), pulled, rtol=1e-8)


# What jax sees.


def ridge_map(**options):
    """Return the map from (weight, target) to the ridge solution target/(1 + weight)."""
    problem = Problem.from_jax(
        Euclidean(2),
        lambda x, d: 0.5 * jnp.sum((x - d["target"]) ** 2) + 0.5 * d["weight"] * x @ x,
        data={"target": np.array([1.0, 2.0]), "weight": 0.0, "index": 1},
    )
    return solution_map(problem, np.zeros(2), **options)


def test_gradients_through_a_solve_compiled_and_not():
    solve = ridge_map()
    target = np.array([3.0, 4.0])

    def loss(weight, target):
        solution = solve({"target": target, "weight": weight, "index": 1})
        return solution.x[1] ** 2 + solution.cost

    # x = target/(1 + w), and the cost is ½ w/(1 + w) ‖target‖².
    with jax.enable_x64(True):
        for gradient in (jax.grad(loss, (0, 1)), jax.jit(jax.grad(loss, (0, 1)))):
            by_weight, by_target = gradient(1.0, target)
            assert float(by_weight) == pytest.approx(-2.0 * 16.0 / 8.0 + 0.5 * 25.0 / 4.0, rel=1e-7)
            np.testing.assert_allclose(by_target, [1.5, 2.0 * 4.0 / 4.0 + 2.0], rtol=1e-7)
    with jax.enable_x64(False):
        single = jax.grad(loss)(1.0, target)
    assert single.dtype == np.float32
    assert float(single) == pytest.approx(-4.0 + 3.125, rel=1e-5)


def test_batches_of_data():
    solve = ridge_map()
    weights = np.array([0.0, 1.0, 3.0])

    def first(weight):
        return solve({"target": np.array([3.0, 4.0]), "weight": weight, "index": 1}).x[0]

    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.vmap(first)(weights), [3.0, 1.5, 0.75], rtol=1e-7)
        np.testing.assert_allclose(jax.vmap(jax.grad(first))(weights), [-3.0, -0.75, -3.0 / 16.0], rtol=1e-7)


def test_multipliers_are_differentiable_too_and_hand_written_problems_serve():
    def build(b):
        return Problem(
            Euclidean(2),
            lambda x: 0.5 * float(x @ x),
            gradient=lambda x: x,
            equalities=lambda x: x[0] + x[1] - b,
            equality_jacobian_product=lambda x, w: np.array([w[0], w[0]]),
        )

    solve = solution_map(Problem.from_family(build, 3.0), np.zeros(2))
    slope = jax.grad(lambda b: solve(b).equality_multipliers[0])(4.0)
    assert float(slope) == pytest.approx(-0.5, rel=1e-5)


def test_what_a_map_refuses():
    with pytest.raises(ValueError, match="`problem` must have data; build it with"):
        solution_map(Problem(Euclidean(1), lambda x: x @ x, gradient=lambda x: 2.0 * x), np.zeros(1))
    with pytest.raises(ValueError, match="the structure and the shapes of the problem's data"):
        ridge_map()({"target": np.ones(3), "weight": 0.0, "index": 1})
    with pytest.raises(Exception, match="A solve of `solution_map` ended as 'max_iterations'"):
        ridge_map(max_iter=0)({"target": np.ones(2), "weight": 0.0, "index": 1})


# What is not differentiable, and what is wrong.


def distance_to(a, **constraints):
    return Problem.from_jax(
        Euclidean(len(a)), lambda x, a: 0.5 * jnp.sum((x - a) ** 2), data=np.array(a), **constraints
    )


def test_a_kink_is_named_but_the_cost_has_a_gradient():
    result = solved(distance_to([0.0, 2.0], lower=0.0), np.ones(2), 1e-8)
    with pytest.raises(
        NotDifferentiableError, match="Entry 0 of `multipliers` and its inequality are both 0"
    ):
        result.derivative()
    np.testing.assert_allclose(result.vjp(cost=1.0), result.x - result.problem.data, atol=1e-8)
    lasso = solved(distance_to([1.0, 3.0], terms=[Term(L1(1.0))]), np.zeros(2), 1e-8)
    with pytest.raises(NotDifferentiableError, match="The multiplier of the term L1 is at the edge"):
        lasso.derivative()


def test_dependent_gradients_are_named():
    twice = distance_to([1.0, 2.0], equalities=lambda x, a: jnp.stack([x[0] + x[1], 2.0 * (x[0] + x[1])]))
    with pytest.raises(
        NotDifferentiableError, match="gradients of active constraints are linearly dependent"
    ):
        solved(twice, np.zeros(2), 1e-8).derivative()


def test_a_flat_direction_is_named():
    flat = Problem.from_jax(Euclidean(2), lambda x, a: (x[0] + x[1] - a) ** 2, data=1.0)
    with pytest.raises(
        NotDifferentiableError, match="no curvature along a direction of the active constraints"
    ):
        solved(flat, np.zeros(2), 1e-8).derivative()
    by_hand = Problem.from_family(
        lambda a: Problem(
            Euclidean(2),
            lambda x: (x[0] + x[1] - a) ** 2,
            gradient=lambda x: 2.0 * (x[0] + x[1] - a) * np.ones(2),
        ),
        1.0,
    )
    with pytest.raises(
        NotDifferentiableError, match="no curvature along a direction of the active constraints"
    ):
        solved(by_hand, np.zeros(2), 1e-8).derivative()


def test_the_edge_of_a_manifold():
    """The point of the simplex closest to a has the derivative I − 1/2 on its support of two entries."""
    problem = Problem.from_jax(
        Simplex(3), lambda x, a: jnp.sum((x - a) ** 2), data=np.array([1.0, 0.5, -0.3])
    )
    near = solved(problem, np.full(3, 1 / 3), 1e-8)
    expected = np.array([[0.5, -0.5, 0.0], [-0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(near.derivative().x, expected, atol=1e-7)
    with pytest.raises(NotDifferentiableError, match="or it lies at the edge of the manifold"):
        solved(
            problem, np.full(3, 1 / 3)
        ).derivative()  # the last entry is 1e-12, as is the curvature along it


def test_rounding_errors_are_no_curvature():
    """Along the circle the cost is constant, up to rounding errors."""
    ring = Problem.from_jax(Sphere(2), lambda x, a: a * jnp.sum(x**2) + 1.0 / (1.0 + jnp.sum(x**2)), data=3.0)
    with pytest.raises(
        NotDifferentiableError, match="no curvature along a direction of the active constraints"
    ):
        solved(ring, np.array([0.6, 0.8]), 1e-8).derivative()


def test_products_find_no_solution_of_a_singular_system(monkeypatch):
    monkeypatch.setattr(sensitivity, "_DENSE", 0)
    saddle = Problem.from_jax(Euclidean(2), lambda x, a: (x[0] - a[0]) ** 2 + a[1] * x[1], data=np.zeros(2))
    with pytest.raises(NotDifferentiableError, match="could not be solved by MINRES"):
        solved(saddle, np.zeros(2), 1e-8).derivative()


def test_only_a_converged_result_that_knows_its_problem_has_derivatives():
    problem = distance_to([1.0, 2.0])
    with pytest.raises(NotDifferentiableError, match="The solve ended as 'max_iterations'"):
        minimize(problem, np.zeros(2), max_iter=0).derivative()
    result = solved(problem, np.zeros(2))
    result.derivative()
    again = pickle.loads(pickle.dumps(result))
    with pytest.raises(ValueError, match=r"has lost its problem.*dataclasses\.replace"):
        again.derivative()
    np.testing.assert_allclose(replace(again, problem=problem).derivative().x, np.eye(2), atol=1e-8)
    with pytest.raises(ValueError, match="The problem has no data to differentiate with respect to"):
        minimize(Problem(Euclidean(1), lambda x: x @ x, gradient=lambda x: 2.0 * x), np.ones(1)).derivative()


def test_wrong_names_and_shapes_are_named():
    with pytest.raises(KeyError, match="'z' is not in the data; choose one of"):
        LAW.derivative("z")
    with pytest.raises(ValueError, match="must be one array of real numbers; choose one of"):
        LAW.derivative()
    with pytest.raises(ValueError, match="`direction` must have the structure and the shapes of the data"):
        LAW.jvp({"Q": np.eye(4)})
    with pytest.raises(ValueError, match="`multipliers` must be 2 numbers"):
        LAW.vjp(multipliers=np.ones(3))
    with pytest.raises(ValueError, match="`x` must have the structure and the shapes of the point"):
        LAW.vjp(x=np.ones(3))
    with pytest.raises(TypeError, match="`build` must return a `Problem`, got float"):
        Problem.from_family(lambda a: a, 1.0)


def test_the_number_of_constraints_must_not_depend_on_the_data():
    def build(a):
        rows = np.eye(2)[: 1 if a <= 1.0 else 2]
        block = Constraint(lambda x: rows @ x - 5.0, lambda x, w: rows.T @ w)
        return Problem(Euclidean(2), lambda x: x @ x, gradient=lambda x: 2.0 * x, inequalities=block)

    with pytest.raises(ValueError, match="their number must not depend on the data"):
        solved(Problem.from_family(build, 1.0), np.ones(2)).derivative()


def test_nested_data_have_paths():
    problem = Problem.from_jax(
        Euclidean(1), lambda x, d: (x[0] - d["a"][1] * d["a"][0]) ** 2, data={"a": (2.0, 3.0), "n": 4}
    )
    result = solved(problem, np.zeros(1))
    np.testing.assert_allclose(result.derivative(("a", 0)).x, [3.0], atol=1e-8)
    assert result.vjp(x=np.ones(1))["n"] == 0.0
