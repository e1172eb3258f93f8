"""Appendix A: each numbered inequality of the proof of Theorem 1 holds along the iterates of Algorithm 1."""

import numpy as np
import pytest

from testing.problems import determinant_under_trace, hyperbolic_mean_in_ball, karcher_mean_under_trace

from .algorithm1_run import Run, run_algorithm1

CASES = [determinant_under_trace, karcher_mean_under_trace, hyperbolic_mean_in_ball]
STEPS = 25
ROUNDING = 1e-9
LAMBDAS = [0.0, 0.3, 2.0, 40.0]  # the proof is about every λ ≥ 0


@pytest.fixture(scope="module", params=CASES, ids=lambda build: build.__name__)
def run(request: pytest.FixtureRequest) -> Run:
    return run_algorithm1(request.param(), n_iter=STEPS, alpha=0.1)


def steps(run: Run):
    """The quadruples x_t, x_{t+1}, λ_t, η_t."""
    return zip(run.points[:-1], run.points[1:], run.multipliers[:-1], run.steps, strict=True)


def some_points(run: Run) -> list:
    """Points x of the manifold: the optimum, and points up to a distance of 2 from it."""
    manifold, rng, best = run.case.manifold, np.random.default_rng(0), run.case.x
    moves = [radius * manifold.random_tangent(best, rng) for radius in (0.1, 0.5, 1.0, 2.0)]
    return [best, *(manifold.exp(best, move) for move in moves)]


def squared(run: Run, x, y) -> float:
    return run.case.manifold.dist(x, y) ** 2


def dual_gradient(run: Run, x, lam):
    return run.h(x) - run.alpha * lam


def dual_drift(run: Run) -> float:
    """½ Σ ηₜ² ‖grad_λ L(x_{t+1}, λₜ)‖²."""
    return 0.5 * sum(eta**2 * np.sum(dual_gradient(run, x, lam) ** 2) for _, x, lam, eta in steps(run))


def bound_on_drift(run: Run) -> float:
    """2 m G² Σ ηₜ², with G over the iterates."""
    values = np.array([run.h(x) for x in run.points])
    return 2.0 * values.shape[1] * np.abs(values).max() ** 2 * (run.steps**2).sum()


def travelled(run: Run) -> float:
    """½ Σ (d²(x*, xₜ) − d²(x*, x_{t+1}))."""
    return 0.5 * sum(squared(run, run.case.x, a) - squared(run, run.case.x, b) for a, b, _, _ in steps(run))


def sum_of_gaps(run: Run, dual) -> float:
    """Σ ηₜ (L(x_{t+1}, dual) − L(x*, λₜ))."""
    best = run.case.x
    gaps = (eta * (run.lagrangian(x, dual) - run.lagrangian(best, lam)) for _, x, lam, eta in steps(run))
    return float(sum(gaps))


def test_eqs_11_to_13_hold_at_any_point(run: Run) -> None:
    """Convexity, the law of cosines of Hadamard manifolds, and their sum, with 1/η as erratum E4 says."""
    manifold = run.case.manifold
    for x_t, x_next, lam, eta in steps(run):
        s, back = run.lagrangian_gradient(x_next, lam), manifold.log(x_next, x_t)
        for x in some_points(run):
            ahead = manifold.log(x_next, x)
            tangent = run.lagrangian(x_next, lam) + manifold.inner(x_next, s, ahead)
            assert run.lagrangian(x, lam) >= tangent - ROUNDING  # Eq. (11)
            flat = squared(run, x, x_next) + squared(run, x_next, x_t)
            flat -= 2.0 * manifold.inner(x_next, back, ahead)
            assert squared(run, x, x_t) >= flat - ROUNDING  # Eq. (12)
            left = run.lagrangian(x, lam) + squared(run, x, x_t) / (2.0 * eta)
            right = run.lagrangian(x_next, lam)
            right += (squared(run, x, x_next) + squared(run, x_next, x_t)) / (2.0 * eta)
            right += manifold.inner(x_next, s - back / eta, ahead)
            assert left >= right - ROUNDING / eta  # Eq. (13)


def test_eqs_14_and_15_bound_the_primal_gap(run: Run) -> None:
    best, total = run.case.x, 0.0
    for x_t, x_next, lam, eta in steps(run):
        gap = run.lagrangian(x_next, lam) - run.lagrangian(best, lam)
        nearer = squared(run, best, x_t) - squared(run, best, x_next)
        assert gap <= nearer / (2.0 * eta) + ROUNDING  # Eq. (14)
        total += eta * gap
    assert total <= travelled(run) + ROUNDING  # Eq. (15)


@pytest.mark.parametrize("size", LAMBDAS)
def test_eqs_16_and_17_bound_the_dual_gap(run: Run, size: float) -> None:
    dual = np.full(len(run.multipliers[0]), size)
    right = 0.5 * dual @ dual + dual_drift(run)
    slopes = gaps = 0.0
    for _, x, lam, eta in steps(run):
        slopes += eta * dual_gradient(run, x, lam) @ (dual - lam)
        gaps += eta * (run.lagrangian(x, dual) - run.lagrangian(x, lam))
    assert slopes <= right + ROUNDING  # Eq. (16), halved
    assert gaps <= slopes + ROUNDING  # L is concave in λ
    assert gaps <= right + ROUNDING  # Eq. (17)


@pytest.mark.parametrize("size", LAMBDAS)
def test_eqs_18_to_22_bound_both_gaps(run: Run, size: float) -> None:
    dual, best = np.full(len(run.multipliers[0]), size), run.case.x
    norm, left = 0.5 * float(dual @ dual), sum_of_gaps(run, dual)
    exact = travelled(run) + norm + dual_drift(run)
    assert left <= exact + ROUNDING  # Eq. (18)
    bound = 0.5 * squared(run, best, run.x0) + norm + bound_on_drift(run)
    assert exact <= bound + ROUNDING  # Eq. (20)
    costs = np.array([run.f(x) for x in run.points[1:]]) - run.f(best)
    values = np.array([run.h(x) for x in run.points[1:]])
    kept = float(run.steps @ (costs + values @ dual - run.alpha * norm))
    assert kept <= left + ROUNDING  # what the proof removes is positive, since h(x*) ≤ 0
    assert kept <= bound + ROUNDING  # Eq. (21)
    moved = float(run.steps @ costs + (run.steps @ values) @ dual)
    moved -= (run.alpha * run.steps.sum() + 1.0) * norm
    assert moved <= bound - norm + ROUNDING  # Eq. (22)


def test_eq_24_bounds_the_best_iterate_by_the_mean(run: Run) -> None:
    costs = np.array([run.f(x) for x in run.points[1:]]) - run.f(run.case.x)
    mean = float(run.steps @ costs) / run.steps.sum()
    bound = (0.5 * squared(run, run.case.x, run.x0) + bound_on_drift(run)) / run.steps.sum()
    assert costs.min() <= mean <= bound


def test_appendix_b_bounds_the_sums_of_the_steps() -> None:
    eta = 1.0 / np.sqrt(np.arange(1.0, 2001.0))
    T = np.arange(1, 2001)
    assert (np.cumsum(eta) >= 2.0 * (np.sqrt(T) - 1.0)).all()
    assert (np.cumsum(eta**2) <= 1.0 + np.log(T) + 1e-12).all()
