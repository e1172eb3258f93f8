"""Functions of users that return nonsense: the error says which one, and what to do. Found by `make fuzz`."""

import numpy as np
import pymanopt
import pytest

from geodual.manifolds import Euclidean
from geodual.optimize import Constraint, Problem, check_convexity, check_gradient, minimize, newton_cg


def problem(cost=lambda x: float(x @ x), block: Constraint | None = None) -> Problem:
    return Problem(Euclidean(2), cost, gradient=lambda x: 2.0 * x, inequalities=block)


@pytest.mark.parametrize("call", [minimize, check_gradient, check_convexity])
@pytest.mark.parametrize("value", ["a", None, [1.0, 2.0]])
def test_a_cost_that_is_no_number_is_named(call, value: object) -> None:
    with pytest.raises(ValueError, match="The cost must be a number"):
        call(problem(cost=lambda x: value), np.ones(2))


@pytest.mark.parametrize("call", [minimize, check_gradient, check_convexity])
@pytest.mark.parametrize("value", ["a", None, [[1.0], [1.0, 2.0]]])
def test_a_constraint_that_is_no_vector_is_named(call, value: object) -> None:
    # None becomes NaN in numpy.
    block = Constraint(lambda x: ["a"] if value is None else value, lambda x, w: 0.0 * x)
    with pytest.raises(ValueError, match="A constraint must return numbers"):
        call(problem(block=block), np.ones(2))


def test_a_constraint_that_grows_is_named_by_the_check_too() -> None:
    count = iter(range(1, 1000))
    block = Constraint(lambda x: -np.ones(next(count)), lambda x, w: 0.0 * x)
    with pytest.raises(ValueError, match=r"inequalities\[0\] returned 2 numbers, but 1 at `x`"):
        check_gradient(problem(block=block), np.ones(2))


@pytest.mark.parametrize("wrong", [(), 1.0, np.ones((9, 9)), np.ones(2)], ids=repr)
def test_derivatives_of_the_wrong_shape_are_named_on_manifolds_of_pymanopt_too(wrong: object) -> None:
    # A number would do on this sphere: numpy spreads it over all entries.
    sphere, x = pymanopt.manifolds.Sphere(3), np.array([1.0, 0.0, 0.0])
    bad_gradient = Problem(sphere, lambda x: x[0], gradient=lambda x: wrong)
    bad_product = Problem(
        sphere, lambda x: x[0], gradient=lambda x: np.eye(3)[0], hessian_product=lambda x, u: wrong
    )
    for call in (minimize, check_gradient):
        with pytest.raises(ValueError, match=r"The gradient of .* has shape .* but a point has \(3,\)"):
            call(bad_gradient, x)
        with pytest.raises(ValueError, match=r"The Hessian product of .* but a point has \(3,\)"):
            call(bad_product, x)


def test_an_infinite_cost_fails_the_check_without_a_warning() -> None:
    assert not check_gradient(problem(cost=lambda x: np.inf), np.ones(2))


def test_a_stationary_start_that_only_stop_may_accept_stalls() -> None:
    class Flat:
        value, noise, gradient = 0.0, 0.0, np.zeros(2)
        frame = Euclidean(2).frame(np.zeros(2))

    found = newton_cg(lambda x: Flat(), Flat(), tol=None, stop=lambda model: False)
    assert found.status == "stalled"
    assert newton_cg(lambda x: Flat(), Flat(), tol=None, stop=lambda model: True).status == "converged"
