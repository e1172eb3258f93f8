"""What a result says is true: minimum, saddle point, unbounded, converged. Each claim was once false."""

from collections.abc import Callable

import numpy as np
import pytest

from geodual.manifolds import Euclidean, Sphere
from geodual.optimize import Problem, minimize

METHODS = ("proximal-lagrangian", "interior-point")
LINE, PLANE = Euclidean(1), Euclidean(2)


def on_line(cost: Callable, gradient: Callable, **constraints) -> Problem:
    """Return a problem in one variable, with its cost and its derivative as functions of a number."""
    return Problem(LINE, lambda x: float(cost(x[0])), lambda x: np.array([gradient(x[0])]), **constraints)


class TestStartsThatAreSolutions:
    """Sizes of cost and constraints must not be those of rounding errors."""

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("n", [3, 5, 10, 20])
    def test_the_uniform_vector(self, n: int, method: str) -> None:
        for q in range(1, 25):
            problem = Problem(
                Sphere(n),
                lambda x, q=q: float(np.sum((x - q) ** 2)),
                lambda x, q=q: 2 * (x - q),
                lambda x, u: 2 * u,
                inequalities=lambda x: -x,
                jacobian_product=lambda x, w: -w,
            )
            result = minimize(problem, np.full(n, n**-0.5), method)
            assert result.success, (n, q, result.message)
            assert result.x == pytest.approx(np.full(n, n**-0.5), abs=1e-6)

    @pytest.mark.parametrize("method", METHODS)
    def test_an_expanded_power_at_its_minimum(self, method: str) -> None:
        """(x − 1)⁴ in powers of x: at 1 + 1e-12 both derivatives are rounding errors."""
        power = np.poly1d(np.poly([1.0] * 4))
        problem = on_line(power, power.deriv(), lower=-5.0)
        result = minimize(problem, [1.0 + 1e-12], method)
        assert result.success, result.message
        assert result.x[0] == pytest.approx(1.0, abs=1e-3)

    @pytest.mark.parametrize("method", METHODS)
    def test_a_maximum_of_linear_functions_ends_without_a_crash(self, method: str) -> None:
        """Between kinks the cost is a line, along which no parabola has a minimum."""
        A = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
        problem = Problem(PLANE, lambda x: float((A @ x).max()), lambda x: A[np.argmax(A @ x)])
        result = minimize(problem, np.array([1.0, 0.5]), method)
        assert result.status == "breakdown"
        lifted = np.hstack([A, -np.ones((3, 1))])  # the same as a smooth problem: x and a bound t on the cost
        smooth = Problem(
            Euclidean(3),
            lambda x: x[2],
            lambda x: np.eye(3)[2],
            inequalities=lambda x: lifted @ x,
            jacobian_product=lambda x, w: lifted.T @ w,
        )
        result = minimize(smooth, np.array([1.0, 0.5, 1.0]), method)
        assert result.success
        assert result.cost == pytest.approx(0.0, abs=1e-7)


class TestMistakesInFunctions:
    def test_a_gradient_that_writes_into_its_argument(self) -> None:
        def gradient(x):
            x -= 1.0
            return 2.0 * x

        problem = Problem(PLANE, lambda x: float(np.sum((x - 1.0) ** 2)), gradient)
        with pytest.raises(ValueError, match=r"gradient of the cost changes its argument.*copy"):
            minimize(problem, np.zeros(2))

    def test_a_constraint_that_writes_into_its_argument(self) -> None:
        def rule(x):
            x *= 2.0
            return x - 1.0

        problem = Problem(
            PLANE, lambda x: x @ x, lambda x: 2.0 * x, inequalities=rule, jacobian_product=lambda x, w: w
        )
        with pytest.raises(ValueError, match=r"inequalities\[0\] changes its argument"):
            minimize(problem, np.ones(2))

    def test_numpy_inside_a_jax_function(self) -> None:
        problem = Problem.from_jax(PLANE, lambda x: np.sum(np.exp(np.asarray(x))))
        with pytest.raises(TypeError, match=r"`cost` .*numpy.*jax\.numpy"):
            minimize(problem, np.zeros(2))

    def test_a_condition_in_place_of_a_constraint(self) -> None:
        problem = Problem(
            PLANE,
            lambda x: x @ x,
            lambda x: 2.0 * x,
            inequalities=lambda x: x[0] <= 1.0,
            jacobian_product=lambda x, w: np.zeros(2),
        )
        with pytest.raises(ValueError, match=r"inequalities\[0\] .*True.*x - 1.*x <= 1"):
            minimize(problem, np.zeros(2))

    def test_a_condition_in_place_of_a_constraint_written_with_jax(self) -> None:
        problem = Problem.from_jax(PLANE, lambda x: x @ x, inequalities=lambda x: x <= 1.0)
        with pytest.raises(ValueError, match=r"inequalities\[0\] .*x - 1.*x <= 1"):
            minimize(problem, np.zeros(2))
