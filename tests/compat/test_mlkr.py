"""Metric learning for kernel regression: the objective, its gradient, and starts."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning

from geodual.compat.metric_learn import MLKR
from geodual.compat.metric_learn.mlkr import regression_errors

X, Y = make_friedman1(60, n_features=6, random_state=0)


def errors(L, X, y) -> float:
    """Squared errors of the regression that leaves one out, sample by sample."""
    total = 0.0
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        distance = (((X[others] - X[i]) @ L.T) ** 2).sum(axis=1)
        weight = np.exp(distance.min() - distance)  # the factor cancels
        total += (weight @ y[others] / weight.sum() - y[i]) ** 2
    return total


def test_the_objective_is_that_of_the_article() -> None:
    L = np.random.default_rng(0).standard_normal((2, 6))
    assert regression_errors(L, X, Y)[0] == pytest.approx(errors(L, X, Y), rel=1e-10)


@pytest.mark.parametrize("entries", [60 * 60, 60 * 7])
def test_the_gradient_is_that_of_finite_differences(entries: int) -> None:
    start = np.random.default_rng(1).standard_normal(12)

    def loss(flat):
        return regression_errors(flat.reshape(2, 6), X, Y, entries)

    difference = check_grad(lambda flat: loss(flat)[0], lambda flat: loss(flat)[1], start)
    assert difference < 1e-4 * np.linalg.norm(loss(start)[1])


def test_features_without_effect_count_less() -> None:
    samples, targets = make_friedman1(300, random_state=0)
    importances = MLKR(max_iter=50, tol=1e-3).fit(samples, targets).feature_importances_
    assert importances[5:].max() < importances[:5].min()


def test_targets_of_any_size_give_an_equally_good_metric() -> None:
    best = errors(MLKR().fit(X, Y).components_, X, Y)
    for scale, shift in ((1e150, 0.0), (1e-150, 0.0), (1.0, 1e6)):
        found = MLKR().fit(X, scale * Y + shift).components_
        assert errors(found, X, Y) == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("init", ["auto", "pca", "identity", "random", np.eye(3, 6)])
def test_starts(init) -> None:
    learner = MLKR(3, init, random_state=0, max_iter=500).fit(X, Y)
    assert learner.components_.shape == (3, 6)
    assert errors(learner.components_, X, Y) < 0.5 * ((Y - Y.mean()) ** 2).sum()


def test_few_samples_start_from_features_instead_of_axes() -> None:
    few = np.random.default_rng(0).standard_normal((3, 6))
    assert MLKR(5).fit(few, [0.0, 1.0, 3.0]).components_.shape == (5, 6)
    with pytest.raises(ValueError, match="needs at least 5 samples for 5 components, got 3"):
        MLKR(5, "pca").fit(few, [0.0, 1.0, 3.0])


def test_a_huge_tolerance_ends_at_once_without_a_warning() -> None:
    assert MLKR(tol=1e300).fit(X, Y).n_iter_ <= 2


def test_an_early_end_is_told(capsys: pytest.CaptureFixture) -> None:
    with pytest.warns(ConvergenceWarning, match="MLKR stopped after 2 iterations"):
        learner = MLKR(max_iter=2, verbose=True).fit(X, Y)
    assert learner.n_iter_ == 2
    assert capsys.readouterr().out.count("MLKR: objective") == 2


@pytest.mark.parametrize(
    ("parameters", "targets", "message"),
    [
        ({}, np.ones(60), "`y` must hold at least two different numbers"),
        ({}, np.full(60, "a"), "`y` must be an array of numbers|could not convert"),
        ({"init": "best"}, Y, "`init` must be one of"),
        ({"init": np.eye(2)}, Y, r"`init` must be a finite array of shape \(6, 6\)"),
        ({"tol": 0.0}, Y, "`tol` must be positive"),
        ({"max_iter": 0}, Y, "`max_iter` must be at least 1"),
        ({"n_components": 7}, Y, "`n_components` must be between 1 and 6"),
    ],
)
def test_wrong_input_is_named(parameters, targets, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MLKR(**parameters).fit(X, targets)
