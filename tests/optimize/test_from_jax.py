"""`Problem.from_jax`: how often is compiled, data that change, sharing of code, and pymanopt's products.

Python calls a function only when jax traces it in order to compile a derivative; then compiled code runs.
"""

import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pymanopt.manifolds as peers
import pytest
from joblib.externals.loky.backend.reduction import dumps

from geodual.manifolds import Euclidean, Product, Sphere
from geodual.optimize import ConstraintVector, Lagrangian, Problem, autodiff, check_gradient, minimize
from geodual.optimize.autodiff import spd_half_squared_distance
from geodual.optimize.trees import as_data

CODE = 3  # pieces of code per problem: values, gradient, Hessian product
CALLS = (3, 4)  # of the cost and of a constraint, when all of it is traced; slopes are traced by themselves
LOOK = 1  # one more trace, which compiles nothing, shows whether compiled code can be shared


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Callable) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, *arguments):
        self.calls += 1
        return self.function(*arguments)


def lower_bounds(n: int) -> list[Counted]:
    """The functions k + 1 − xₖ for k < n."""
    return [Counted(lambda x, k=k: k + 1.0 - x[k]) for k in range(n)]


def use_everything(problem: Problem, x: np.ndarray) -> None:
    problem.cost(x), problem.gradient(x), problem.hessian_product(x, x)
    for block in problem.blocks:
        w = np.ones(len(block(x)))
        block.jacobian_product(x, w), block.derivative(x, x), block.hessian_product(x, w, x)
        block.rows(x, np.array([0]))


def compilations(caplog: pytest.LogCaptureFixture, run: Callable[[], object]) -> int:
    """Count how often jax compiles something."""
    caplog.clear()
    with jax.log_compiles():
        run()
    return sum(record.getMessage().startswith("Finished XLA compilation") for record in caplog.records)


@pytest.mark.parametrize("n", [1, 6, 30])
def test_a_problem_is_compiled_once_however_many_functions_it_has(
    n: int, caplog: pytest.LogCaptureFixture
) -> None:
    cost, bounds, x = Counted(lambda x: x @ x), lower_bounds(n), np.zeros(30)
    autodiff._compiler_options(n > 20)  # compiles something to see which options jax knows
    problem = Problem.from_jax(Euclidean(30), cost, inequalities=bounds, equalities=lambda x: x[:2])
    assert compilations(caplog, lambda: use_everything(problem, x)) == CODE
    assert compilations(caplog, lambda: use_everything(problem, x + 1.0)) == 0
    assert {(cost.calls, bound.calls) for bound in bounds} == {CALLS}


def test_derivatives_that_are_used_often_get_code_of_their_own(caplog: pytest.LogCaptureFixture) -> None:
    problem = Problem.from_jax(
        Euclidean(3), lambda x: x @ x, inequalities=[lambda x: x**2, lambda x: x[0] * x[1]]
    )
    (block,), x, u = problem.blocks, np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 2.0])
    slopes, rows = block.derivative(x, u), block.rows(x, np.array([1, 3]))

    def use_often() -> None:
        for _ in range(autodiff._RARE):
            np.testing.assert_array_equal(block.derivative(x, u), slopes)
            np.testing.assert_array_equal(block.rows(x, np.array([1, 3])), rows)

    np.testing.assert_array_equal(slopes, [2.0, -4.0, 12.0, 1.0])
    np.testing.assert_array_equal(rows, [[0.0, 4.0, 0.0], [2.0, 1.0, 0.0]])
    assert compilations(caplog, use_often) == 2
    assert compilations(caplog, use_often) == 0


def test_options_that_jax_does_not_know_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autodiff, "_USUAL", {"xla_no_such_option": True})
    assert autodiff._compiler_options.__wrapped__(False) == {}
    assert autodiff._compiler_options.__wrapped__(True) == autodiff._QUICK


def test_a_solver_evaluates_all_functions_together() -> None:
    """The sums over blocks with bounds between them are those of the functions one by one."""
    problem = Problem.from_jax(
        Euclidean(3),
        lambda x: jnp.sum(x**3),
        inequalities=[lambda x: x[:2] ** 2, lambda x: x[0] * x[2]],
        equalities=lambda x: jnp.sin(x[1]),
        lower=-5.0,
    )
    by_hand = Problem(
        Euclidean(3),
        problem.cost,
        problem.gradient,
        problem.hessian_product,
        inequalities=problem.blocks[:1],
        equalities=problem.blocks[2:],
        lower=-5.0,
    )
    rng = np.random.default_rng(0)
    x, u = rng.standard_normal((2, 3))
    y = np.abs(rng.standard_normal(7))
    ours, theirs = (
        Lagrangian(ConstraintVector(each, x), y, 0.5, penalty=3.0)(x) for each in (problem, by_hand)
    )
    assert problem.joint is not None
    assert by_hand.joint is None
    np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-14)
    np.testing.assert_allclose(ours.gradient, theirs.gradient, rtol=1e-13)
    np.testing.assert_allclose(ours.hessian_product(u), theirs.hessian_product(u), rtol=1e-13)


def test_functions_of_a_list_by_themselves_use_the_code_of_the_whole(
    caplog: pytest.LogCaptureFixture,
) -> None:
    problem, x = Problem.from_jax(Euclidean(6), lambda x: x @ x, inequalities=lower_bounds(6)), np.zeros(6)
    use_everything(problem, x)

    def use_each() -> None:
        for position, block in enumerate(problem.inequalities):
            w, row = np.array([2.0]), np.eye(6)[position]
            np.testing.assert_array_equal(block(x), [position + 1.0])
            np.testing.assert_array_equal(block.jacobian_product(x, w), -2.0 * row)
            np.testing.assert_array_equal(block.derivative(x, np.arange(6.0)), [-float(position)])
            np.testing.assert_array_equal(block.hessian_product(x, w, row), np.zeros(6))
            np.testing.assert_array_equal(block.rows(x, np.array([0]))[0], -row)

    assert len(problem.inequalities) == 6
    assert compilations(caplog, use_each) == 0


def test_multipliers_of_a_list_keep_their_order() -> None:
    """min ‖x‖² s.t. xₖ ≥ k + 1, as a scalar, a vector and a scalar, and x₄ = 5: λₖ = 2 (k + 1)."""
    problem = Problem.from_jax(
        Euclidean(5),
        lambda x: x @ x,
        inequalities=[lambda x: 1.0 - x[0], lambda x: jnp.array([2.0, 3.0]) - x[1:3], lambda x: 4.0 - x[3]],
        equalities=[lambda x: x[4] - 5.0],
    )
    result = minimize(problem, np.zeros(5))
    assert result.success, result.message
    np.testing.assert_allclose(result.x, [1.0, 2.0, 3.0, 4.0, 5.0], atol=1e-8)
    np.testing.assert_allclose(result.multipliers, [2.0, 4.0, 6.0, 8.0], rtol=1e-7)
    np.testing.assert_allclose(result.equality_multipliers, [-10.0], rtol=1e-7)
    names = [check.name for check in check_gradient(problem, np.ones(5)).checks]
    assert "Hessian of inequalities[2]" in names
    assert "gradient of equalities[0]" in names


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ([lambda x: x, lambda x: x[:2] @ x], r"`inequalities\[1\]` was called as inequalities\[1\]\(x\)"),
        ([lambda x: x, 3.0], r"`inequalities\[1\]` must be a function, got float"),
        ([lambda x: x, lambda x: jnp.log(x[2:])], r"Constraint 3 is -inf at `x0`, in inequalities\[1\]"),
        ([lambda x: x, lambda x: jnp.sqrt(x[0])], r"gradient of inequalities\[1\] is not finite"),
    ],
)
def test_errors_name_the_function_of_the_list(functions: list, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        minimize(Problem.from_jax(Euclidean(3), lambda x: x @ x, inequalities=functions), np.zeros(3))


def test_a_function_without_derivative_does_not_spoil_the_others() -> None:
    """At 0 the root has an infinite derivative, and 0 · ∞ is not a number."""
    problem = Problem.from_jax(
        Euclidean(2), lambda x: x @ x, inequalities=[lambda x: jnp.sqrt(x[0]), lambda x: x[1] ** 2]
    )
    (block,), x, u, w = problem.blocks, np.array([0.0, 3.0]), np.ones(2), np.array([0.0, 2.0])
    np.testing.assert_array_equal(block.jacobian_product(x, w), [0.0, 12.0])
    np.testing.assert_array_equal(block.hessian_product(x, w, u), [0.0, 4.0])
    np.testing.assert_array_equal(block.derivative(x, np.array([0.0, 1.0]))[1], 6.0)
    np.testing.assert_array_equal(block.rows(x, np.array([1]))[0], [0.0, 6.0])


def test_a_function_that_does_not_take_the_data_is_named() -> None:
    problem = Problem.from_jax(Euclidean(3), lambda x: x @ x, data=np.ones(3))
    with pytest.raises(TypeError, match=r"`cost` was called as cost\(x, data\)"):
        minimize(problem, np.zeros(3))


def projection(cost: Callable, bound: Callable) -> Problem:
    data = {"target": np.array([3.0, 4.0]), "radius": 1}
    return Problem.from_jax(Euclidean(2), cost, inequalities=bound, data=data)


def test_new_data_of_the_same_shapes_are_not_compiled_again() -> None:
    cost = Counted(lambda x, data: jnp.sum((x - data["target"]) ** 2))
    bound = Counted(lambda x, data: x @ x - data["radius"] ** 2)
    problem = projection(cost, bound)
    np.testing.assert_allclose(minimize(problem, np.zeros(2)).x, [0.6, 0.8], atol=1e-8)
    before = cost.calls, bound.calls
    assert before == CALLS
    for radius in (2, 3):
        other = problem.with_data({"target": [3.0, 4.0] @ np.eye(2), "radius": radius})
        result = minimize(other, np.zeros(2))
        np.testing.assert_allclose(result.x, radius * np.array([0.6, 0.8]), atol=1e-8)
        assert int(other.data["radius"]) == radius
    assert (cost.calls, bound.calls) == before
    assert int(problem.data["radius"]) == 1


def test_new_data_of_other_shapes_are_compiled_once_more() -> None:
    bound = Counted(lambda x, data: data[0] @ x - data[1])
    problem = Problem.from_jax(
        Euclidean(2), lambda x, data: x @ x, inequalities=bound, data=(np.ones((1, 2)), -2.0 * np.ones(1))
    )
    np.testing.assert_allclose(minimize(problem, np.ones(2)).x, [-1.0, -1.0], atol=1e-8)
    before = bound.calls
    data = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([-1.0, -2.0, 5.0])
    result = minimize(problem.with_data(data), np.ones(2))
    np.testing.assert_allclose(result.x, [-1.0, -2.0], atol=1e-8)
    assert result.multipliers.shape == (3,)
    assert before < bound.calls <= 2 * CALLS[1]


def test_data_are_copied_and_in_double_precision() -> None:
    weights = np.full(2, 1.0 / 3.0, dtype=np.float32)
    problem = Problem.from_jax(Euclidean(2), lambda x, data: data @ x, data=weights)
    expected = float(weights[0]) + float(weights[1])
    weights[:] = 0.0
    assert float(problem.cost(np.ones(2))) == expected
    assert problem.gradient(np.ones(2)).dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        problem.data[0] = 1.0


def test_data_that_cannot_be_used_are_refused() -> None:
    problem = projection(lambda x, data: x @ x, lambda x, data: x - data["radius"])
    with pytest.raises(ValueError, match="structure of the original data of the problem"):
        problem.with_data((np.zeros(2), 1.0))
    with pytest.raises(ValueError, match=r"`data` must consist of numbers.*got str"):
        problem.with_data({"target": np.zeros(2), "radius": "small"})
    with pytest.raises(ValueError, match="has no data"):
        Problem.from_jax(Euclidean(2), lambda x: x @ x).with_data(1.0)
    with pytest.raises(ValueError, match="has no data"):
        Problem(Euclidean(2), lambda x: x @ x, lambda x: 2 * x).with_data(1.0)


def test_problems_of_the_same_functions_share_their_code(caplog: pytest.LogCaptureFixture) -> None:
    cost, bounds = Counted(lambda x: x @ x), lower_bounds(3)

    def solve() -> None:  # the problem is gone before the next one is built
        result = minimize(Problem.from_jax(Euclidean(3), cost, inequalities=bounds), np.zeros(3))
        np.testing.assert_allclose(result.x, [1.0, 2.0, 3.0], atol=1e-8)

    assert compilations(caplog, solve) > 0
    before = cost.calls, bounds[0].calls
    assert compilations(caplog, solve) == 0
    assert (cost.calls, bounds[0].calls) == (before[0] + LOOK, before[1] + LOOK)


@pytest.mark.parametrize("change", ["number", "array", "entry", "index"])
def test_code_is_not_shared_if_what_a_function_uses_has_changed(change: str) -> None:
    """Otherwise a new problem would be solved, and certified, with old numbers."""
    used = {"number": 1.0, "array": np.array([2.0, 3.0]), "index": 0}

    def cost(x):
        return jnp.sum((x - used["array"]) ** 2) + used["number"] * x[used["index"]]

    x = np.array([0.5, 0.25])
    assert float(Problem.from_jax(Euclidean(2), cost).cost(x)) == 2.25 + 7.5625 + 0.5
    if change == "number":
        used["number"] = 3.0
    elif change == "array":
        used["array"] = np.array([2.0, 4.0])
    elif change == "entry":
        used["array"][1] = 4.0  # the same object with another content
    else:
        used["index"] = 1
    expected = np.sum((x - used["array"]) ** 2) + used["number"] * x[used["index"]]
    assert float(Problem.from_jax(Euclidean(2), cost).cost(x)) == expected


def test_shared_code_keeps_no_function_alive() -> None:
    def run() -> weakref.ref:
        target = np.ones(2)
        cost = Counted(lambda x: jnp.sum((x - target) ** 2))
        minimize(Problem.from_jax(Euclidean(2), cost, inequalities=[cost, lambda x: x]), np.zeros(2))
        return weakref.ref(cost)

    gone = run()
    gc.collect()
    assert gone() is None


def test_functions_without_weak_references_work() -> None:
    class Rigid:
        __slots__ = ("target",)

        def __init__(self, target: float) -> None:
            self.target = target

        def __call__(self, x, data):
            return jnp.sum((x - self.target * data) ** 2)

    problem = Problem.from_jax(Euclidean(2), Rigid(3.0), data=1.0)
    np.testing.assert_allclose(minimize(problem.with_data(2.0), np.zeros(2)).x, 6.0, atol=1e-8)


def test_problems_travel_to_other_processes() -> None:
    problem = Problem.from_jax(
        Euclidean(3), lambda x, d: x @ x, inequalities=[lambda x, d: d - x], data=np.full(3, 1.0 / 3.0)
    )
    copy = pickle.loads(dumps(problem))  # as joblib does
    np.testing.assert_array_equal(copy.blocks[0](np.zeros(3)), np.full(3, 1.0 / 3.0))
    np.testing.assert_array_equal(minimize(copy, np.zeros(3)).x, minimize(problem, np.zeros(3)).x)


def test_pymanopt_products_work_as_ours_do() -> None:
    """Tangent vectors of pymanopt's products are lists of a class of its own, which jax does not look into.

    min ⟨b, y⟩ + ‖z‖² s.t. y ≥ z₀ ≥ z₁ on Sphere(3) × R².
    """
    b = np.array([1.0, 2.0, 3.0])

    def build(manifold) -> Problem:
        return Problem.from_jax(
            manifold,
            lambda x: b @ x[0] + x[1] @ x[1],
            inequalities=[lambda x: x[1][0] - x[0], lambda x: x[1][1] - x[1][0]],
        )

    start = [np.full(3, 3**-0.5), np.ones(2)]
    theirs = build(peers.Product([peers.Sphere(3), peers.Euclidean(2)]))
    result = minimize(theirs, start)
    assert result.success, result.message
    ours = minimize(build(Product(Sphere(3), Euclidean(2))), tuple(start))
    assert result.cost == pytest.approx(ours.cost, abs=1e-7)
    np.testing.assert_allclose(result.multipliers, ours.multipliers, atol=1e-6)
    assert check_gradient(theirs, start)


def test_complex_entries_have_the_gradients_of_the_adapter() -> None:
    """Closest to a under Re z₀ ≤ 0, as two functions: the derivative by Re z plus i times that by Im z."""
    a = np.array([np.exp(0.5j), np.exp(2.0j)])
    problem = Problem.from_jax(
        peers.ComplexCircle(2),
        lambda z: jnp.sum(jnp.abs(z - a) ** 2),
        inequalities=[lambda z: z[0].real, lambda z: -10.0 - jnp.imag(z[1] ** 2)],
    )
    start = np.exp(1j * np.array([2.0, 1.0]))
    check = check_gradient(problem, start)
    assert check, f"\n{check}"
    np.testing.assert_allclose(problem.gradient(start), 2.0 * (start - a), rtol=1e-12)
    result = minimize(problem, start)
    assert result.success, result.message
    np.testing.assert_allclose(result.x, [1j, a[1]], atol=1e-7)


def test_a_problem_knows_whether_its_derivatives_are_automatic() -> None:
    by_hand = Problem(Euclidean(1), lambda x: float(x @ x), gradient=lambda x: 2.0 * x)
    assert by_hand.automatic is False
    assert Problem.from_jax(Euclidean(1), lambda x: (x**2).sum()).automatic is True


@pytest.mark.parametrize("gap", [0.0, 1.8e-4, 2.2e-4, 0.5])
def test_second_derivatives_of_a_distance_at_close_eigenvalues(gap: float) -> None:
    """Of ½ d²(x, y) at x = I and y = diag(1, exp(gap)), in directions off the diagonal.

    With h = gap/2, the derivative of the gradient is h/tanh h + h in x, and −h/sinh h · exp(−h) in y.
    """
    h, off = 0.5 * gap, np.array([[0.0, 1.0], [1.0, 0.0]])
    x, y = np.eye(2), np.diag([1.0, np.exp(gap)])
    with jax.enable_x64(True):
        gradient = jax.grad(spd_half_squared_distance)
        in_x = jax.jvp(lambda a: gradient(a, y), (x,), (off,))[1]
        in_y = jax.jvp(lambda b: gradient(x, b), (y,), (off,))[1]
    expected = (h / np.tanh(h) + h, -h / np.sinh(h) * np.exp(-h)) if gap else (1.0, -1.0)
    assert [in_x[0, 1], in_y[0, 1]] == pytest.approx(expected, rel=1e-11)


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


def test_data_keep_their_kind_and_real_numbers_get_double_precision() -> None:
    given = {"x": np.ones(2, np.float32), "k": np.arange(3), "mask": np.array([True]), "z": np.array([1j])}
    frozen = as_data(given)
    assert [leaf.dtype.kind for leaf in frozen.values()] == ["f", "i", "b", "c"]
    assert frozen["x"].dtype == np.float64
    assert not frozen["k"].flags.writeable
