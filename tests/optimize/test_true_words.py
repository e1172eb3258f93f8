"""What a result says is true: minimum, saddle point, unbounded, converged. Each claim was once false."""

from collections.abc import Callable

import numpy as np
import pymanopt
import pytest

from geodual.manifolds import Euclidean, Sphere
from geodual.optimize import Problem, Result, minimize

METHODS = ("proximal-lagrangian", "interior-point")
LINE, PLANE = Euclidean(1), Euclidean(2)


def on_line(cost: Callable, gradient: Callable, **constraints) -> Problem:
    """Return a problem in one variable, with its cost and its derivative as functions of a number."""
    return Problem(LINE, lambda x: float(cost(x[0])), lambda x: np.array([gradient(x[0])]), **constraints)


class TestWeaklyActiveBounds:
    """A bound that is active with multiplier 0 may be left: the condition is about a cone, not a subspace."""

    @pytest.mark.parametrize("method", METHODS)
    def test_a_maximum_at_a_corner_of_the_sphere_is_left(self, method: str) -> None:
        A = np.diag([1.0, 2.0, 3.0])
        problem = Problem(
            Sphere(3), lambda x: -x @ A @ x, lambda x: -2 * A @ x, lambda x, u: -2 * A @ u, lower=0.0
        )
        result = minimize(problem, np.array([1.0, 0.0, 0.0]), method)
        assert result.cost == pytest.approx(-3.0)
        assert result.second_order == "holds"

    @pytest.mark.parametrize("method", METHODS)
    def test_a_maximum_at_a_corner_of_the_square_is_left(self, method: str) -> None:
        problem = Problem(
            PLANE, lambda x: -x[0] * x[1], lambda x: -x[::-1], lambda x, u: -u[::-1], lower=0.0, upper=1.0
        )
        result = minimize(problem, np.zeros(2), method)
        assert result.cost == pytest.approx(-1.0)

    @pytest.mark.parametrize("method", METHODS)
    def test_a_non_negative_factorization_leaves_zero(self, method: str) -> None:
        A = np.random.default_rng(0).uniform(size=(4, 3))

        def parts(x):
            return x[:8].reshape(4, 2), x[8:].reshape(2, 3)

        def gradient(x):
            W, H = parts(x)
            R = W @ H - A
            return 2.0 * np.concatenate([(R @ H.T).ravel(), (W.T @ R).ravel()])

        problem = Problem(
            Euclidean(14), lambda x: float(np.sum((A - np.matmul(*parts(x))) ** 2)), gradient, lower=0.0
        )
        result = minimize(problem, np.zeros(14), method)
        assert result.cost < 0.2 * np.sum(A**2)

    def test_random_quadratic_functions_leave_a_corner_where_they_fall(self) -> None:
        for seed in range(30):
            rng = np.random.default_rng(seed)
            A = rng.standard_normal((4, 4))
            Q = A + A.T + rng.uniform(0.0, 3.0) * np.eye(4)
            problem = Problem(
                Euclidean(4),
                lambda x, Q=Q: 0.5 * x @ Q @ x,
                lambda x, Q=Q: Q @ x,
                lambda x, u, Q=Q: Q @ u,
                lower=0.0,
                upper=1.0,
            )
            result = minimize(problem, np.zeros(4))
            near = np.clip(result.x + 1e-2 * rng.standard_normal((5000, 4)), 0.0, 1.0)
            assert (0.5 * np.einsum("ij,jk,ik->i", near, Q, near) >= result.cost - 1e-7).all(), seed

    def test_a_cone_without_descent_is_not_called_a_saddle(self) -> None:
        """x y ≥ 0 for x, y ≥ 0, although x y has negative curvature on the plane."""
        problem = Problem(PLANE, lambda x: x[0] * x[1], lambda x: x[::-1], lambda x, u: u[::-1], lower=0.0)
        result = minimize(problem, np.zeros(2))
        assert result.success
        assert result.second_order != "fails"
        assert result.x == pytest.approx(np.zeros(2))

    def test_weakly_active_bounds_of_a_minimum_do_not_hide_it(self) -> None:
        problem = Problem(PLANE, lambda x: x @ x, lambda x: 2.0 * x, lambda x, u: 2.0 * u, lower=0.0)
        assert minimize(problem, np.zeros(2)).second_order == "holds"


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


class TestCostsThatFallForEver:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize(
        ("cost", "gradient"),
        [
            (lambda x: -np.sqrt(x + 1.0), lambda x: -0.5 / np.sqrt(x + 1.0)),
            (lambda x: -np.log1p(x), lambda x: -1.0 / (1.0 + x)),
            (lambda x: -((1.0 + x) ** 0.1), lambda x: -0.1 * (1.0 + x) ** -0.9),
        ],
    )
    def test_a_fading_slope_is_no_minimum(self, cost: Callable, gradient: Callable, method: str) -> None:
        result = minimize(on_line(cost, gradient, lower=0.0), [1.0], method)
        assert result.status == "unbounded", result.message

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize(
        ("cost", "gradient", "lower"),
        [
            (lambda x: 1.0 / x, lambda x: -(x**-2), 1.0),
            (lambda x: -np.arctan(x), lambda x: -1 / (1 + x * x), 0.0),
        ],
    )
    def test_an_infimum_that_is_not_attained_is_no_minimum(
        self, cost: Callable, gradient: Callable, lower: float, method: str
    ) -> None:
        result = minimize(on_line(cost, gradient, lower=lower), [2.0], method)
        assert result.status == "breakdown"
        assert "still decreases" in result.message

    def test_a_solution_far_from_the_start_is_one(self) -> None:
        """A slope of 1 all the way, and a short bend at the end: √(1 + (x − 1e6)²)."""
        problem = on_line(
            lambda x: np.sqrt(1.0 + (x - 1e6) ** 2), lambda x: (x - 1e6) / np.sqrt(1.0 + (x - 1e6) ** 2)
        )
        result = minimize(problem, [0.0])
        assert result.success, result.message
        assert result.x[0] == pytest.approx(1e6)


class TestGradientsThatVanishWrongly:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize(
        "gradient",
        [
            lambda x: np.zeros(3),
            lambda x: 2.0 * (x - 0.3) * [1.0, 1.0, 0.0],
            lambda x: np.trunc(2.0 * (x - 0.3)),
        ],
    )
    @pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
    def test_a_wrong_gradient_of_the_cost_is_named(
        self, gradient: Callable, scale: float, method: str
    ) -> None:
        problem = Problem(
            Euclidean(3), lambda x: scale * float(np.sum((x - 0.3) ** 2)), lambda x: scale * gradient(x)
        )
        result = minimize(problem, np.ones(3), method)
        assert not result.success
        assert "gradient of the cost" in result.message
        assert "check_gradient" in result.message

    @pytest.mark.parametrize("method", METHODS)
    def test_a_wrong_gradient_of_a_constraint_is_named(self, method: str) -> None:
        """The second constraint is active, and its gradient lacks an entry."""
        problem = Problem(
            PLANE,
            lambda x: float(np.sum((x - [2.0, 3.0]) ** 2)),
            lambda x: 2.0 * (x - [2.0, 3.0]),
            inequalities=[lambda x: x[0] - 9.0, lambda x: x @ x - 1.0],
            jacobian_product=[lambda x, w: w * [1.0, 0.0], lambda x, w: w * [2.0 * x[0], x[1]]],
        )
        result = minimize(problem, np.array([0.5, 0.4]), method)
        assert not result.success
        if result.kkt.worst <= result.tol:
            assert "gradient of inequalities[1]" in result.message

    def test_a_constraint_with_a_zero_gradient_is_not_called_infeasible(self) -> None:
        problem = Problem(
            PLANE,
            lambda x: x @ x,
            lambda x: 2.0 * x,
            inequalities=lambda x: 1.0 - x[0],
            jacobian_product=lambda x, w: np.zeros(2),
        )
        result = minimize(problem, np.zeros(2))
        assert result.status == "breakdown"
        assert "gradient of inequalities[0]" in result.message

    def test_a_kink_is_no_wrong_gradient(self) -> None:
        problem = on_line(lambda x: max(x, 0.0), lambda x: float(x > 0.0))
        assert minimize(problem, [0.0]).success

    def test_a_third_derivative_is_no_wrong_gradient(self) -> None:
        problem = on_line(lambda x: 1e3 * x**3 + x**2, lambda x: 3e3 * x**2 + 2.0 * x, lower=-1e-4)
        assert minimize(problem, [1.0]).success


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


class TestDegeneratePoints:
    @pytest.mark.parametrize("method", METHODS)
    def test_the_cusp_of_kuhn_and_tucker_is_no_saddle_point(self, method: str) -> None:
        """No multipliers exist at the minimum (1, 0) of −x under y ≤ (1 − x)³ and y ≥ 0."""
        problem = Problem(
            PLANE,
            lambda x: -x[0],
            lambda x: np.array([-1.0, 0.0]),
            inequalities=lambda x: np.array([x[1] - (1.0 - x[0]) ** 3, -x[1]]),
            jacobian_product=lambda x, w: np.array([3.0 * w[0] * (1.0 - x[0]) ** 2, w[0] - w[1]]),
        )
        result = minimize(problem, np.random.default_rng(39).uniform(-1.0, 1.5, 2), method)
        assert result.success
        assert result.second_order == "unknown"
        assert result.x == pytest.approx(np.array([1.0, 0.0]), abs=0.05)

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("power", [3, 5])
    @pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
    def test_a_point_of_inflection_is_left(self, scale: float, power: int, method: str) -> None:
        problem = on_line(lambda x: scale * x**power, lambda x: scale * power * x ** (power - 1), lower=-2.0)
        result = minimize(problem, [0.0], method)
        assert result.x[0] == pytest.approx(-2.0)

    def test_an_inflection_along_one_of_many_flat_directions_is_left(self) -> None:
        problem = Problem(Euclidean(6), lambda x: x[0] ** 3, lambda x: 3.0 * x**2 * np.eye(6)[0], lower=-1.0)
        assert minimize(problem, np.zeros(6)).cost == pytest.approx(-1.0)

    def test_a_flat_minimum_is_one(self) -> None:
        result = minimize(on_line(lambda x: x**4, lambda x: 4.0 * x**3), [0.0])
        assert result.success
        assert result.second_order == "holds"

    def test_a_valley_of_minima_is_one(self) -> None:
        problem = Problem.from_jax(PLANE, lambda x: (x @ x - 1.0) ** 2)
        result = minimize(problem, np.array([0.3, 0.4]))
        assert result.success
        assert result.second_order == "holds"


class TestPymanoptManifolds:
    """Their tangent vectors have no fixed coordinates, but inner products."""

    A = np.diag([1.0, 2.0, 3.0])

    def solved(self, x0: np.ndarray, **constraints) -> Result:
        problem = Problem(
            pymanopt.manifolds.Sphere(3),
            lambda x: float(-x @ self.A @ x),
            lambda x: -2 * self.A @ x,
            lambda x, u: -2 * self.A @ u,
            **constraints,
        )
        return minimize(problem, x0)

    def test_a_maximum_is_left(self) -> None:
        result = self.solved(np.array([1.0, 0.0, 0.0]))
        assert result.cost == pytest.approx(-3.0)
        assert result.second_order == "holds"

    def test_active_constraints_count(self) -> None:
        """With x₃ = 0 the minimum is at ±e₂, where the Lagrangian has negative curvature along e₃ only."""
        equalities = {
            "equalities": lambda x: x[2],
            "equality_jacobian_product": lambda x, w: w * np.array([0.0, 0.0, 1.0]),
        }
        result = self.solved(np.array([0.6, 0.8, 0.0]), **equalities)
        assert result.cost == pytest.approx(-2.0)
        assert result.second_order == "holds"


def rosenbrock() -> Problem:
    """Far out in its valley, curvatures across it are 1e14 and more."""
    return Problem(
        Euclidean(2),
        lambda x: float(100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2),
        lambda x: np.array(
            [-400.0 * x[0] * (x[1] - x[0] ** 2) - 2.0 * (1.0 - x[0]), 200.0 * (x[1] - x[0] ** 2)]
        ),
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("distance", [1e6, 1e8, 1e9])
def test_a_gradient_that_is_small_only_beside_a_large_unit_is_no_certificate(
    distance: float, method: str
) -> None:
    result = minimize(rosenbrock(), np.array([distance, -distance]), method=method)
    assert not result.success
    assert "a short step leads to a much lower cost" in result.message


def with_hessian(problem: Problem) -> Problem:
    problem.hessian_product = lambda x, u: np.array(
        [
            (1200.0 * x[0] ** 2 - 400.0 * x[1] + 2.0) * u[0] - 400.0 * x[0] * u[1],
            -400.0 * x[0] * u[0] + 200.0 * u[1],
        ]
    )
    return problem


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("signs", [(1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])
@pytest.mark.parametrize("distance", [1e6, 1e8, 1e10, 1e12, 1e15, 1e50])
def test_far_starts_make_no_claim_false(distance: float, signs: tuple[float, float], method: str) -> None:
    """From 1e10 on, doubles resolve no curvature along the valley, and six of nine starts "converged"."""
    for problem in (rosenbrock(), with_hessian(rosenbrock())):
        result = minimize(problem, distance * np.array(signs), method)
        assert not result.success or result.cost <= 1e-6


@pytest.mark.parametrize("signs", [(1.0, -1.0), (-1.0, 1.0)])
@pytest.mark.parametrize("distance", [1e10, 1e12, 1e15])
def test_a_metric_from_far_away_is_renewed(distance: float, signs: tuple[float, float]) -> None:
    """The solve ended where the slope was 0.5: it was small in the metric of the start only."""
    problem = rosenbrock()
    problem = Problem(
        PLANE,
        problem.cost,
        problem.gradient,
        inequalities=lambda x: x[0] + x[1] - 10.0,
        jacobian_product=lambda x, w: w[0] * np.ones(2),
    )
    result = minimize(problem, distance * np.array(signs))
    assert not result.success or result.cost <= 1e-6
    assert result.success or distance > 1e12


def test_sizes_that_overflow_certify_nothing() -> None:
    """The curvature was infinite one unit of length away, so the start counted as stationary."""
    problem = Problem(PLANE, lambda x: float(np.cosh(x).sum()), np.sinh)
    assert not minimize(problem, np.array([300.0, 1.0])).success


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("distance", [1e3, 1e6, 1e12])
def test_far_starts_of_easy_problems_converge(distance: float, method: str) -> None:
    square = Problem(PLANE, lambda x: float((x - 1.0) @ (x - 1.0)), lambda x: 2.0 * (x - 1.0))
    fourth = Problem(PLANE, lambda x: float(np.sum(x**4)), lambda x: 4.0 * x**3)
    for problem in (square, fourth):
        result = minimize(problem, distance * np.array([1.0, -0.3]), method)
        assert result.success
        assert result.cost <= 1e-6


@pytest.mark.parametrize("signs", [(1.0, 1.0), (-1.0, 0.5)])
@pytest.mark.parametrize("distance", [1e3, 1e6, 1e10])
def test_a_valley_to_infinity_has_no_minimum_far_out(distance: float, signs: tuple[float, float]) -> None:
    """Beale's function tends to 0.452 as b tends to 1 and a(1 − b) to 111/112; its minimum is 0 at (3, ½)."""
    targets, powers = np.array([1.5, 2.25, 2.625]), np.arange(1.0, 4.0)

    def gradient(x: np.ndarray) -> np.ndarray:
        r = targets - x[0] + x[0] * x[1] ** powers
        return 2.0 * np.array([r @ (x[1] ** powers - 1.0), r @ (x[0] * powers * x[1] ** (powers - 1.0))])

    problem = Problem(PLANE, lambda x: float(np.sum((targets - x[0] + x[0] * x[1] ** powers) ** 2)), gradient)
    result = minimize(problem, distance * np.array(signs))
    assert not result.success or result.cost <= 1e-6


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("scale", "size"), [(1.0, 1e8), (1e4, 1e4), (1e8, 1.0)])
def test_the_curvature_of_least_squares_is_no_rounding_error(scale: float, size: float, method: str) -> None:
    """Curvatures differ by 1e8, which differences of gradients hardly resolve; the minimum is 0."""
    rng = np.random.default_rng(5)
    U, V = (np.linalg.qr(rng.standard_normal((n, 5)))[0] for n in (20, 5))
    A, x = scale * (U * np.geomspace(1.0, 1e-4, 5)) @ V.T, size * rng.standard_normal(5)
    b = A @ x
    problem = Problem(
        Euclidean(5), lambda x: 0.5 * float(np.sum((A @ x - b) ** 2)), lambda x: A.T @ (A @ x - b)
    )
    result = minimize(problem, np.zeros(5), method)
    assert result.success
    assert result.cost <= 1e-6
