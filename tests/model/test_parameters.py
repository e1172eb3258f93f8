"""Parameters of formulas: solutions with other values, and derivatives with respect to them."""

from typing import Any

import numpy as np
import pytest

import geodual.model as gm
from geodual.manifolds import SPD, Euclidean, PositiveOrthant

RNG = np.random.default_rng(0)


def definite(n: int) -> np.ndarray:
    a = RNG.standard_normal((n, n + 2))
    return a @ a.T / n


def lasso() -> tuple[gm.Problem, list[gm.Parameter]]:
    x = gm.Variable(Euclidean(4), name="x")
    a = gm.Parameter(4, name="a", value=np.array([2.0, -1.5, 0.3, 1.0]))
    return gm.Problem(gm.Minimize(0.5 * gm.sum_squares(x - a) + 0.5 * gm.norm(x, 1)), [gm.sum(x) <= 0.2]), [a]


def constrained_matrix() -> tuple[gm.Problem, list[gm.Parameter]]:
    X = gm.Variable(SPD(3), name="X")
    C = gm.Parameter(3, 3, name="C", PSD=True, value=definite(3))
    t = gm.Parameter(name="t", pos=True, value=2.0)
    cost = gm.trace(C @ X) - gm.log_det(X) + t * gm.distance2(X, np.eye(3))
    return gm.Problem(gm.Minimize(cost), [gm.trace(X) <= t]), [C, t]


def geometric_program() -> tuple[gm.Problem, list[gm.Parameter]]:
    x = gm.Variable(PositiveOrthant(3), name="x")
    wall, floor = (
        gm.Parameter(name="wall", pos=True, value=10.0),
        gm.Parameter(name="floor", pos=True, value=4.0),
    )
    limits = [2.0 * x[0] * (x[1] + x[2]) <= wall, x[1] * x[2] <= floor, x[1] <= 3.0 * x[2]]
    return gm.Problem(gm.Maximize(gm.prod(x)), limits), [wall, floor]


def two_variables() -> tuple[gm.Problem, list[gm.Parameter]]:
    X, y = gm.Variable(SPD(2), name="X"), gm.Variable(Euclidean(2), name="y")
    b = gm.Parameter(2, name="b", value=np.array([1.0, -0.5]))
    cost = gm.distance2(X, definite(2)) + gm.sum_squares(y - b) + gm.trace(X)
    return gm.Problem(gm.Minimize(cost), [gm.quad_form(np.ones(2), X) + y[0] == 1.0 + b[1]]), [b]


def parts(result: Any) -> np.ndarray:
    x = result.x
    arrays = [x] if isinstance(x, np.ndarray) else list(x.values())
    return np.concatenate(
        [*map(np.ravel, arrays), [result.cost], result.multipliers, result.equality_multipliers]
    )


@pytest.mark.parametrize("make", [lasso, constrained_matrix, geometric_program, two_variables])
def test_derivatives_are_those_of_complete_solves(make: Any) -> None:
    problem, parameters = make()
    result = problem.solve(tol=1e-11)
    for parameter in parameters:
        value = np.array(parameter.value)
        direction = RNG.standard_normal(value.shape)
        direction = direction + direction.T if value.ndim == 2 else direction
        ends = []
        for step in (1e-5, -1e-5):
            parameter.value = value + step * direction
            ends.append(parts(problem.solve(tol=1e-11)))
        parameter.value = value
        found = result.derivative(parameter)
        axes = value.ndim

        def along(array: Any, direction: Any = direction, axes: int = axes) -> np.ndarray:
            return np.ravel(np.tensordot(array, direction, axes))

        moved = [found.x] if isinstance(found.x, np.ndarray) else list(found.x.values())
        ours = np.concatenate(
            [*map(along, (*moved, found.cost, found.multipliers, found.equality_multipliers))]
        )
        np.testing.assert_allclose(ours, (ends[0] - ends[1]) / 2e-5, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("make", [lasso, constrained_matrix, geometric_program, two_variables])
def test_gradients_are_transposed_derivatives(make: Any) -> None:
    problem, parameters = make()
    result = problem.solve(tol=1e-10)
    weight = {name: RNG.standard_normal(np.shape(part)) for name, part in _named(result.x).items()}
    weight = weight["x"] if isinstance(result.x, np.ndarray) else weight
    gradient = result.vjp(x=weight, cost=0.7)
    for parameter in parameters:
        found = result.derivative(parameter)
        wanted = 0.7 * np.asarray(found.cost)
        for name, part in _named(found.x).items():
            own = _named(weight)[name]
            wanted = wanted + np.tensordot(own, part, own.ndim)
        if wanted.ndim == 2:  # a symmetric parameter moves in symmetric directions only
            wanted = 0.5 * (wanted + wanted.T)
        np.testing.assert_allclose(gradient[parameter.name], wanted, rtol=1e-7, atol=1e-8)


def _named(x: Any) -> dict[str, np.ndarray]:
    return {"x": x} if isinstance(x, np.ndarray) else x


def test_the_plain_problem_takes_other_values() -> None:
    problem, (a,) = lasso()
    plain = problem.to_problem()
    assert list(plain.data) == ["a"]
    other = plain.with_data({"a": np.zeros(4)})
    assert other.cost(np.ones(4)) == pytest.approx(2.0)
    assert plain.cost(np.ones(4)) == pytest.approx(0.5 * float(np.sum((1.0 - a.value) ** 2)))


def test_one_parameter_needs_no_name_and_none_is_an_error() -> None:
    result = lasso()[0].solve()
    np.testing.assert_array_equal(result.derivative().x, result.derivative("a").x)
    x = gm.Variable(Euclidean(1), name="x")
    with pytest.raises(ValueError, match="no data"):
        gm.Problem(gm.Minimize(gm.sum_squares(x))).solve().derivative()
