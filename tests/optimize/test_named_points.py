"""Points that are dictionaries, alone and nested, are as good as tuples."""

import pickle

import jax.numpy as jnp
import numpy as np
import pytest

from geodual.manifolds import SPD, Euclidean, NotOnManifoldError, Product, Rotations, Sphere
from geodual.optimize import (
    Problem,
    check_convexity,
    check_gradient,
    minimize,
    minimize_many,
)

RNG = np.random.default_rng(0)
CLOUD = RNG.standard_normal((20, 3))
TURN = Rotations(3).random_point(RNG)
SHIFT = np.array([1.0, -2.0, 0.5])
SEEN = CLOUD @ TURN.T + SHIFT


def rigid_cost(x):
    return 0.5 * ((CLOUD @ x["R"].T + x["t"] - SEEN) ** 2).sum()


def rigid_gradient(x):
    miss = CLOUD @ x["R"].T + x["t"] - SEEN
    return {"t": miss.sum(axis=0), "R": miss.T @ CLOUD}  # not in the order of the point


def rigid_hessian(x, u):
    change = CLOUD @ u["R"].T + u["t"]
    return {"t": change.sum(axis=0), "R": change.T @ CLOUD}


MOTIONS = Product(R=Rotations(3), t=Euclidean(3))
START = {"t": np.zeros(3), "R": np.eye(3)}


def hand_written(**bounds):
    return Problem(MOTIONS, rigid_cost, rigid_gradient, rigid_hessian, **bounds)


BY_JAX = Problem.from_jax(MOTIONS, rigid_cost)


@pytest.mark.parametrize("problem", [BY_JAX, hand_written()], ids=["jax", "hand"])
@pytest.mark.parametrize("method", ["proximal-lagrangian", "interior-point"])
def test_a_rigid_motion_is_found(problem, method):
    assert check_gradient(problem, START).passed
    result = minimize(problem, START, record={"shift": lambda x: float(x["t"][0])}, method=method)
    assert result.success
    assert result.second_order == "holds"
    assert list(result.x) == ["R", "t"]
    np.testing.assert_allclose(result.x["R"], TURN, atol=1e-7)
    np.testing.assert_allclose(result.x["t"], SHIFT, atol=1e-7)
    assert result.history[-1].recorded["shift"] == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_array_equal(START["t"], np.zeros(3))


def test_the_result_is_that_of_a_tuple():
    named = minimize(BY_JAX, START)
    plain = Problem.from_jax(
        Product(Rotations(3), Euclidean(3)), lambda x: rigid_cost({"R": x[0], "t": x[1]})
    )
    unnamed = minimize(plain, (np.eye(3), np.zeros(3)))
    np.testing.assert_array_equal(named.x["R"], unnamed.x[0])
    np.testing.assert_array_equal(named.x["t"], unnamed.x[1])


def test_bounds_by_name():
    result = minimize(hand_written(lower={"t": -1.0}, upper={"t": [0.5, np.inf, np.inf]}), START)
    assert result.success
    np.testing.assert_allclose(result.x["t"][:2], [0.5, -1.0], atol=1e-8)
    assert result.lower_multipliers["t"][1] > 0.1
    assert result.upper_multipliers["t"][0] > 0.1
    np.testing.assert_array_equal(result.lower_multipliers["R"], np.zeros((3, 3)))
    with pytest.raises(ValueError, match="`lower` has the unknown key 'shift'; those of a point are"):
        hand_written(lower={"shift": 0.0})
    with pytest.raises(ValueError, match="must be a number or a tuple of 2 parts"):
        hand_written(lower=[0.0])


def test_constraints_get_dictionaries():
    problem = Problem.from_jax(MOTIONS, rigid_cost, inequalities=lambda x: jnp.sum(x["t"] ** 2) - 1.0)
    result = minimize(problem, START)
    assert result.success
    assert np.linalg.norm(result.x["t"]) == pytest.approx(1.0, abs=1e-7)


def test_dictionaries_inside_tuples_and_the_other_way_round():
    a = SPD(2).random_point(np.random.default_rng(1))
    nested = Product(Product({"W": SPD(2), "pair": Product(Sphere(3), Euclidean(2))}), Euclidean(1))

    def cost(x):
        first, (direction, flat) = x[0]["W"], x[0]["pair"]
        fit = jnp.trace(jnp.linalg.solve(a, first)) - jnp.linalg.slogdet(first)[1]
        return fit - direction[0] + jnp.sum((flat - 1.0) ** 2) + jnp.sum((x[1] - 2.0) ** 2)

    problem = Problem.from_jax(nested, cost, lower=({"pair": (None, 0.5)}, None))
    result = minimize(problem, nested.random_point(np.random.default_rng(2)))
    assert result.success
    np.testing.assert_allclose(result.x[0]["W"], a, atol=1e-6)
    np.testing.assert_allclose(result.x[0]["pair"][0], [1.0, 0.0, 0.0], atol=1e-6)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again.x[0]["W"], result.x[0]["W"])


def test_many_starts_and_convexity():
    many = minimize_many(BY_JAX, 3, seed=1)
    np.testing.assert_allclose(many.best.x["t"], SHIFT, atol=1e-6)
    flat = Product(a=Euclidean(2), b=Euclidean(1))
    convex = Problem.from_jax(flat, lambda x: jnp.sum(x["a"] ** 2) + x["b"][0] ** 4)
    assert check_convexity(convex, {"a": np.ones(2), "b": np.ones(1)})


def test_wrong_points_and_vectors_are_named():
    with pytest.raises(
        NotOnManifoldError, match=r"a dictionary with the keys \['R', 't'\], got the keys \['R'\]"
    ):
        MOTIONS.check_point({"R": np.eye(3)})
    with pytest.raises(NotOnManifoldError, match="got tuple; give one point per factor"):
        MOTIONS.check_point((np.eye(3), np.zeros(3)))
    with pytest.raises(NotOnManifoldError, match=r"Part 'R' of the point: .* orthonormal columns"):
        MOTIONS.check_point({"R": 2.0 * np.eye(3), "t": np.zeros(3)})
    with pytest.raises(ValueError, match=r"must be a dictionary with the keys \['R', 't'\]"):
        MOTIONS.exp(START, {"R": np.zeros((3, 3))})
    with pytest.raises(ValueError, match="named or unnamed factors, got both"):
        Product(SPD(2), mean=Euclidean(2))
    assert repr(MOTIONS) == "Product(R=Rotations(3), t=Euclidean(3))"
