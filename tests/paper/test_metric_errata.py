"""Errata E15 and E16: the objective of the W step, and the percentiles u and l."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import pdist
from sklearn.datasets import load_iris

from geodual.metric import RPDML

W_T, ETA, V2, U, L = 2.0, 0.3, 1.7, 0.5, 4.0  # for one feature: Wₜ, ηₜ, a squared difference, u and l


def printed_J(w: float, lam: float, similar: bool) -> float:
    """½ d²(W, W₀) + ⟨λ, h(W)⟩ with W₀ = 1."""
    h = w * V2 - U if similar else L - w * V2
    return 0.5 * (w - np.log(w) - 1.0) + lam * h


def proximal_J(w: float, lam: float, similar: bool) -> float:
    """`printed_J` plus (1/2η) d²(Wₜ, W), with the affine-invariant distance."""
    return printed_J(w, lam, similar) + np.log(w / W_T) ** 2 / (2.0 * ETA)


def test_e15_one_step_does_not_miss_the_proximal_term() -> None:
    step = 1e-6
    slopes = [(J(W_T + step, 0.4, True) - J(W_T - step, 0.4, True)) for J in (printed_J, proximal_J)]
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-6)


def test_e15_repeated_steps_do() -> None:
    """The printed J has its minimum at P(λ)⁻¹, whatever Wₜ is; the proximal J between P(λ)⁻¹ and Wₜ."""
    printed, proximal = (
        minimize_scalar(J, bounds=(1e-3, 10.0), args=(0.4, True), method="bounded", options={"xatol": 1e-9}).x
        for J in (printed_J, proximal_J)
    )
    assert printed == pytest.approx(1.0 / (1.0 + 2.0 * 0.4 * V2), rel=1e-5)
    assert printed + 0.1 < proximal < W_T - 0.1


def test_e15_the_printed_objective_may_have_no_minimum() -> None:
    """For a dissimilar pair with λ v² > ½, the printed J is unbounded below."""
    values = [printed_J(w, 0.4, False) for w in (1e1, 1e3, 1e5)]
    assert values[0] > values[1] > values[2]
    assert values[2] < -1e3


def test_e16_only_squared_distances_keep_the_problem_when_units_change() -> None:
    """With squared distances, a unit ten times smaller keeps the same W; with distances it does not."""
    X, y = load_iris(return_X_y=True)

    def learn(scale: float, power: int):
        bounds = np.percentile(pdist(scale * X) ** power, [5, 95])
        return RPDML(pairs="all", bounds=bounds, tol=1e-10).fit(scale * X, y).W_

    np.testing.assert_allclose(learn(10.0, 2), learn(1.0, 2), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(RPDML().fit(X, y).bounds_, np.percentile(pdist(X) ** 2, [5, 95]))
    assert np.abs(learn(10.0, 1) / learn(1.0, 1) - 1.0).max() > 0.5
