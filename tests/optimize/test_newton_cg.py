"""Newton-CG on functions with known minima, and on functions without one."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from geodual.manifolds import SPD, Euclidean, Frame
from geodual.optimize.newton_cg import newton_cg, truncated_cg


@dataclass
class Model:
    frame: Frame
    value: float
    gradient: Any
    hessian: Any
    noise: float = 1e-15

    def hessian_product(self, c):
        return self.hessian(c)

    def precondition(self, c):
        return c


def quadratic(A: np.ndarray, b: np.ndarray):
    def objective(x):
        return Model(Euclidean(len(b)).frame(x), 0.5 * x @ A @ x - b @ x, A @ x - b, lambda c: A @ c)

    return objective


def rosenbrock(x: np.ndarray) -> Model:
    a, b = x
    gradient = np.array([-400 * a * (b - a**2) - 2 * (1 - a), 200 * (b - a**2)])
    hessian = np.array([[1200 * a**2 - 400 * b + 2, -400 * a], [-400 * a, 200.0]])
    value = 100 * (b - a**2) ** 2 + (1 - a) ** 2
    return Model(Euclidean(2).frame(x), value, gradient, lambda c: hessian @ c, 1e-15 * (1 + value))


def spread_matrix(condition: float, n: int = 30) -> np.ndarray:
    q = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0]
    return (q * np.geomspace(1.0, condition, n)) @ q.T


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6])
def test_quadratics(condition: float) -> None:
    A, b = spread_matrix(condition), np.ones(30)
    minimum = newton_cg(quadratic(A, b), quadratic(A, b)(np.zeros(30)), tol=1e-9)
    assert minimum.status == "converged"
    np.testing.assert_allclose(A @ minimum.point, b, atol=1e-8)


def test_convergence_is_superlinear_on_a_curved_valley() -> None:
    minimum = newton_cg(rosenbrock, rosenbrock(np.array([-1.2, 1.0])), tol=1e-12)
    assert minimum.status == "converged"
    np.testing.assert_allclose(minimum.point, 1.0, rtol=1e-10)
    assert minimum.n_iter < 40


def test_saddles_are_left_by_negative_curvature() -> None:
    def saddle(x):
        a, b = x
        value = a**4 / 4 - a**2 / 2 + b**2
        gradient = np.array([a**3 - a, 2 * b])
        return Model(
            Euclidean(2).frame(x), value, gradient, lambda c: np.array([(3 * a**2 - 1) * c[0], 2 * c[1]])
        )

    minimum = newton_cg(saddle, saddle(np.array([1e-6, 1.0])), tol=1e-10)
    assert minimum.model.value == pytest.approx(-0.25)


def test_functions_without_a_lower_bound_run_away() -> None:
    def falling(x):
        return Model(Euclidean(1).frame(x), -float(x[0]), np.array([-1.0]), lambda c: 0 * c)

    assert newton_cg(falling, falling(np.zeros(1)), tol=1e-8, fall_limit=1e9).status == "runaway"


def test_a_budget_is_kept() -> None:
    minimum = newton_cg(rosenbrock, rosenbrock(np.array([-1.2, 1.0])), tol=1e-12, max_iter=3)
    assert (minimum.status, minimum.n_iter) == ("max_iterations", 3)


def test_watch_observes_stop_decides_and_prepare_comes_before_every_step() -> None:
    calls: list[str] = []
    seen: list[np.ndarray] = []

    def watch(model: Model) -> bool:
        calls.append("watch")
        seen.append(model.frame.point)
        return True  # which ends nothing

    def stop(model: Model) -> bool:
        calls.append("stop")
        return model.value < 1.0

    minimum = newton_cg(
        rosenbrock,
        rosenbrock(np.array([-1.2, 1.0])),
        tol=None,
        stop=stop,
        prepare=lambda model: calls.append("prepare"),
        watch=watch,
    )
    assert (minimum.status, minimum.model.value < 1.0) == ("converged", True)
    assert calls == ["watch", "stop", "prepare"] * minimum.n_iter + ["watch", "stop"]
    values = [rosenbrock(x).value for x in seen]
    assert values == sorted(values, reverse=True)
    assert values[-2] >= 1.0


def test_no_progress_below_rounding_is_a_stall() -> None:
    def noisy(x):
        value = 1e16 + 0.5 * float(x @ x)
        return Model(Euclidean(2).frame(x), value, np.ones(2), lambda c: c, noise=4.0)

    assert newton_cg(noisy, noisy(np.array([1e-3, 1e-3])), tol=1e-12).status == "stalled"


def test_truncated_cg_stays_within_the_radius() -> None:
    A, b = spread_matrix(100.0), np.ones(30)
    model = quadratic(A, b)(np.zeros(30))
    step = truncated_cg(model, radius=0.1, accuracy=1e-10)
    assert step.at_boundary
    assert np.linalg.norm(step.direction) == pytest.approx(0.1)
    free = truncated_cg(model, radius=1e9, accuracy=1e-12)
    assert not free.at_boundary
    np.testing.assert_allclose(free.direction, np.linalg.solve(A, b), rtol=1e-8)
    assert free.decrease == pytest.approx(0.5 * b @ np.linalg.solve(A, b), rel=1e-8)


def test_steps_that_leave_the_manifold_are_shortened() -> None:
    """The value is infinite beyond a wall; the minimum is in front of it."""

    def walled(x):
        frame = SPD(1).frame(x)
        s = np.log(x[0, 0])
        value = np.cosh(s) if s < 1.0 else np.inf
        return Model(frame, float(value), np.array([[np.sinh(s)]]), lambda c: 1e-3 * c)

    minimum = newton_cg(walled, walled(np.array([[0.2]])), tol=1e-10, max_iter=500)
    assert minimum.status == "converged"
    assert minimum.point[0, 0] == pytest.approx(1.0)


@pytest.mark.parametrize("radius", [0.1, 1.0, 3.0])
def test_a_step_cut_short_ends_on_the_boundary_and_a_full_one_solves_the_system(radius: float) -> None:
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0]
    A, g = (Q * np.geomspace(1.0, 30.0, 8)) @ Q.T, 3.0 * Q.sum(axis=1)
    model = SimpleNamespace(
        frame=Euclidean(8).frame(np.zeros(8)),
        gradient=g,
        hessian_product=lambda c: A @ c,
        precondition=lambda c: c,
        noise=0.0,
    )
    short, full = truncated_cg(model, radius, 1e-10), truncated_cg(model, 1e3, 1e-10)
    assert short.at_boundary
    assert np.linalg.norm(short.direction) == pytest.approx(radius)
    assert short.slope == pytest.approx(g @ short.direction)
    assert short.decrease == pytest.approx(-g @ short.direction - 0.5 * short.direction @ A @ short.direction)
    assert not full.at_boundary
    np.testing.assert_allclose(full.direction, -np.linalg.solve(A, g), rtol=1e-8)
