"""The errata of docs/errata.md on Algorithm 1: the printed form fails, the correction holds."""

import numpy as np
import pytest

from testing.problems import determinant_under_trace, karcher_mean_under_trace

from .algorithm1_run import run_algorithm1


def regularized_multiplier(alpha: float, n: float, c: float) -> float:
    """λ at the saddle point of eq. (2) for −logdet x, tr(Ax) ≤ c: x = A⁻¹/λ and n/λ − c = αλ."""
    return (-c + np.sqrt(c**2 + 4.0 * alpha * n)) / (2.0 * alpha)


@pytest.mark.parametrize("alpha", [0.1, 0.01])
def test_e1_algorithm_1_stalls_at_a_violation_of_alpha_lambda(alpha: float) -> None:
    """The saddle point of eq. (2) violates the constraints by αλ, so it is not the x* of the proof."""
    case = determinant_under_trace()
    run = run_algorithm1(case, n_iter=600, alpha=alpha)
    n, c = case.manifold.n, case.manifold.n / case.multipliers[0]
    lam = regularized_multiplier(alpha, n, c)
    assert run.multipliers[-1][0] == pytest.approx(lam, rel=1e-3)
    assert run.h(run.points[-1])[0] == pytest.approx(alpha * lam, rel=1e-3)


def test_e1_without_alpha_it_does_not_stall() -> None:
    case = determinant_under_trace()
    run = run_algorithm1(case, n_iter=600, alpha=0.0)
    assert abs(run.h(run.points[-1])[0]) < 1e-6
    assert run.multipliers[-1][0] == pytest.approx(case.multipliers[0], rel=1e-6)


def test_e2_theorem_1_can_hold_for_want_of_feasibility() -> None:
    """The best iterate may cost less than the optimum because it is infeasible; eq. (5) then says nothing."""
    case = karcher_mean_under_trace()
    run = run_algorithm1(case, n_iter=20)
    assert run.result is not None
    assert run.result.best_cost < case.cost - 1e-3
    assert run.h(run.result.best_x)[0] > 1e-3


def test_e4_optimality_of_the_proximal_step() -> None:
    """0 = s − (1/η) exp⁻¹ x_t holds; the printed s + η exp⁻¹ x_t is far from zero."""
    run = run_algorithm1(karcher_mean_under_trace(), n_iter=5)
    manifold = run.case.manifold
    x, x_next, lam, eta = run.points[1], run.points[2], run.multipliers[1], run.steps[1]
    s, back = run.lagrangian_gradient(x_next, lam), manifold.log(x_next, x)
    assert manifold.norm(x_next, s - back / eta) < 1e-10
    assert manifold.norm(x_next, s + eta * back) > 1e-2 * manifold.norm(x_next, s)


def test_e5_maximum_over_lambda_has_an_inverse() -> None:
    """max over λ ≥ 0 of ⟨λ, v⟩ − (b/2)‖λ‖² is ‖v₊‖²/(2b), not b‖v₊‖²/2."""
    rng = np.random.default_rng(0)
    v, b = rng.standard_normal(4), 3.7
    grid = np.linspace(0.0, 2.0, 20_001)  # the maximum separates into one per entry
    found = sum(float((grid * entry - 0.5 * b * grid**2).max()) for entry in v)
    positive = np.maximum(v, 0.0)
    correct, printed = positive @ positive / (2.0 * b), 0.5 * b * positive @ positive
    assert found == pytest.approx(correct, rel=1e-6)
    assert correct < 0.2 * printed


def test_e6_multipliers_are_bounded_by_g_over_alpha() -> None:
    """‖λ‖ is bounded only because αη ≤ 1 and |h| ≤ G: then every λ ≤ G/α, and ‖grad_λ L‖² ≤ 4mG²."""
    run = run_algorithm1(karcher_mean_under_trace(), n_iter=60, alpha=0.5)
    G = max(abs(run.h(x)[0]) for x in run.points)
    for x, lam in zip(run.points[1:], run.multipliers[:-1], strict=True):
        assert 0.0 <= lam[0] <= G / run.alpha
        assert (run.h(x)[0] - run.alpha * lam[0]) ** 2 <= 4.0 * G**2
