"""What `minimize` says about functions and options that are wrong."""

import numpy as np
import pytest

from geodual.manifolds import SPD, Euclidean, Product
from geodual.optimize import Constraint, Problem, minimize, minimize_many


def block(**changes) -> Constraint:
    """The two constraints tr x ≤ 6 and x₀₁ ≤ 1 on 3 × 3 matrices."""
    parts = {
        "value": lambda x: np.array([np.trace(x) - 6.0, x[0, 1] - 1.0]),
        "jacobian_product": lambda x, w: w[0] * np.eye(3) + w[1] * np.outer(np.eye(3)[0], np.eye(3)[1]),
        "directional": lambda x, u: np.array([np.trace(u), u[0, 1]]),
        "hessian_product": lambda x, w, u: np.zeros((3, 3)),
    }
    return Constraint(**(parts | changes))


def problem(hessian_product=None, **constraints) -> Problem:
    return Problem(
        SPD(3),
        lambda x: -np.linalg.slogdet(x)[1],
        lambda x: -np.linalg.inv(x),
        hessian_product,
        **constraints,
    )


def test_right_functions_pass() -> None:
    right = problem(lambda x, u: np.linalg.inv(x) @ u @ np.linalg.inv(x), inequalities=[block(), block()])
    assert minimize(right, np.eye(3)).success


@pytest.mark.parametrize("wrong", [np.zeros(3), np.zeros((1, 3, 3)), 0.0, (np.zeros((3, 3)),)])
def test_a_hessian_product_of_the_wrong_shape_is_named(wrong) -> None:
    shape = r"has shape .*, but a point has \(3, 3\); check hessian_product"
    with pytest.raises(ValueError, match=rf"The Hessian product of the cost {shape}\(x, u\)"):
        minimize(problem(lambda x, u: wrong), np.eye(3))
    bad = block(hessian_product=lambda x, w, u: wrong)
    with pytest.raises(ValueError, match=rf"The Hessian product of inequalities\[1\] {shape}\(x, w, u\)"):
        minimize(problem(inequalities=[block(), bad]), np.eye(3))
    with pytest.raises(ValueError, match=rf"The Hessian product of equalities\[0\] {shape}\(x, w, u\)"):
        minimize(problem(inequalities=block(), equalities=bad), np.eye(3))


def test_a_hessian_product_of_the_wrong_structure_is_named() -> None:
    pair = Problem(
        Product(Euclidean(2), Euclidean(1)),
        lambda x: x[0] @ x[0] + x[1] @ x[1],
        lambda x: (2 * x[0], 2 * x[1]),
        lambda x, u: 2 * u[0],
    )
    with pytest.raises(ValueError, match=r"has shape \(2,\), but a point has \(\(2,\), \(1,\)\)"):
        minimize(pair, (np.ones(2), np.ones(1)))


def test_a_directional_derivative_of_the_wrong_length_is_named() -> None:
    bad = block(directional=lambda x, u: np.trace(u))
    with pytest.raises(ValueError, match=r"derivative of inequalities\[0\] has 1 entries, but .* have 2"):
        minimize(problem(inequalities=bad), np.eye(3))


def test_a_directional_derivative_that_is_not_finite_is_named() -> None:
    bad = block(directional=lambda x, u: np.array([np.nan, 0.0]))
    with pytest.raises(
        ValueError, match=r"directional derivative of inequalities\[0\] is not finite at `x0`"
    ):
        minimize(problem(inequalities=bad), np.eye(3))


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"hessian_product": lambda x, u: np.eye(4) @ u}, "The Hessian product of the cost failed at `x0`"),
        (
            {"inequalities": block(hessian_product=lambda x, u: u)},
            r"The Hessian product of inequalities\[0\] failed at `x0`; check hessian_product\(x, w, u\)",
        ),
        (
            {"equalities": [block(), block(jacobian_product=lambda x, w: np.eye(4) @ x)]},
            r"The gradient of equalities\[1\] failed at `x0`; check jacobian_product\(x, w\)",
        ),
    ],
)
def test_functions_that_raise_are_named(functions: dict, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        minimize(problem(**functions), np.eye(3))


def test_the_function_of_a_constraint_that_is_not_finite_is_named() -> None:
    bad = block(value=lambda x: np.array([0.0, np.nan]))
    with pytest.raises(ValueError, match=r"Constraint 5 is nan at `x0`, in equalities\[0\]"):
        minimize(problem(inequalities=[block(), block()], equalities=bad), np.eye(3))


def test_a_wrong_option_names_the_method_and_its_options() -> None:
    with pytest.raises(TypeError, match="`nonsense` is not an option of the method 'proximal-lagrangian'"):
        minimize(problem(), np.eye(3), nonsense=1)
    with pytest.raises(TypeError, match=r"`stepp` is not .* 'primal-dual'; its options are `alpha`, `step`"):
        minimize(problem(), np.eye(3), method="primal-dual", stepp=1.0)
    with pytest.raises(TypeError, match="`units` is not an option"):
        minimize(problem(), np.eye(3), units=1.0)


def test_options_of_a_method_of_ones_own() -> None:
    seen = {}

    def strict(constraints, start, *, tol, width=1.0):
        seen.update(width=width)
        yield from ()

    def open_to_all(constraints, start, **options):
        seen.update(options)
        yield from ()

    with pytest.raises(TypeError, match=r"`depth` is not an option of the method 'strict'; .* are `width`"):
        minimize(problem(), np.eye(3), method=strict, depth=1)
    minimize(problem(), np.eye(3), method=strict, width=2.0)
    minimize(problem(), np.eye(3), method=open_to_all, depth=3)
    assert seen == {"width": 2.0, "depth": 3}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_iter": 1.5}, "`max_iter` must be a whole number of at least 0, got 1.5"),
        ({"tol": "a"}, "`tol` must be a positive and finite number, got 'a'"),
        ({"max_time": None}, "`max_time` must be a positive number"),
        ({"callback": 3}, "`callback` must be a function, got 3"),
        ({"inner_callback": 3}, "`inner_callback` must be a function, got 3"),
        ({"multipliers": "a"}, "`multipliers` must be 0 numbers"),
    ],
)
def test_arguments_of_the_wrong_type_are_named(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        minimize(Problem(Euclidean(2), lambda x: x @ x, gradient=lambda x: 2.0 * x), np.ones(2), **options)


def test_a_cost_that_turns_nan_is_not_certified() -> None:
    """Its gradient goes on to look right, so the KKT residual is small."""
    target = np.array([3.0, 1.0])
    for n_good in range(3, 30):
        calls = iter(range(1000))

        def cost(x, calls=calls, n_good=n_good) -> float:
            return float(np.sum((x - target) ** 2)) if next(calls) < n_good else np.nan

        ball = Constraint(lambda x: x @ x - 1.0, lambda x, w: 2.0 * w[0] * x)
        problem = Problem(Euclidean(2), cost, gradient=lambda x: 2.0 * (x - target), inequalities=[ball])
        result = minimize(problem, np.zeros(2), max_iter=50)
        assert np.isfinite(result.cost)
        assert result.x == pytest.approx(target / np.sqrt(10.0), abs=1e-6) or not result.success


@pytest.mark.parametrize(
    ("gradients", "message"),
    [
        (lambda x, indices: [np.eye(3), np.eye(3)], "are 2 for 1 index; return one per index"),
        (lambda x, indices: [np.ones(3) for _ in indices], r"has shape \(3,\), but a point has \(3, 3\)"),
    ],
)
def test_separate_gradients_of_the_wrong_number_or_shape_are_named(gradients, message: str) -> None:
    with pytest.raises(ValueError, match=rf"gradients of inequalities\[0\] {message}"):
        minimize(problem(inequalities=block(gradients=gradients)), np.eye(3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "a"}, "`penalty` must be positive and finite, got 'a'"),
        ({"penalty": -1.0}, "`penalty` must be positive and finite, got -1.0"),
        ({"inner_iterations": 2.5}, "`inner_iterations` must be an integer of at least 1, got 2.5"),
        ({"method": "interior-point", "barrier": "a"}, "`barrier` must be positive and finite, got 'a'"),
        ({"method": "primal-dual", "alpha": "a"}, "`alpha` must not be negative, got 'a'"),
        ({"method": "primal-dual", "step": None}, "`step` must be .* got None"),
        ({"method": ["primal-dual"]}, r"`method` must be one of .*, got \['primal-dual'\]"),
    ],
)
def test_options_of_the_wrong_type_are_named(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        minimize(problem(), np.eye(3), **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: minimize(None, np.eye(3)), "`problem` must be a `Problem`, got NoneType"),
        (lambda: minimize_many(None, 3), "`problem` must be a `Problem` or a list of them"),
        (lambda: Problem(SPD(3), 3.0, gradient=lambda x: x), "`cost` must be a function, got float"),
        (lambda: Problem(SPD(3), np.trace, gradient=np.eye(3)), "`gradient` must be a function, got ndarray"),
        (
            lambda: problem(inequalities=3.0, jacobian_product=lambda x, w: x),
            "`inequalities` must be a function, got float",
        ),
        (
            lambda: problem(equalities=np.trace, equality_jacobian_product=np.eye(3)),
            "`equality_jacobian_product` must be a function, got ndarray",
        ),
    ],
)
def test_what_is_no_problem_and_no_function_is_named(make, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


def test_starts_that_are_none_are_named() -> None:
    with pytest.raises(ValueError, match="`starts` must hold one start per problem"):
        minimize_many(problem(), None)
