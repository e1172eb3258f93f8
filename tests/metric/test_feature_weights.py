"""FeatureWeights: its loss against slow loops, its certificate from outside, its optimum by other solvers."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

from geodual.metric import FeatureWeights
from geodual.metric.geometry import feature_differences
from geodual.metric.geometry.feature_differences import FeatureDifferences
from geodual.metric.program import feature_program
from geodual.metric.program.certificate import CertifiedMetric
from geodual.metric.program.feature_fit import neighbour_means
from geodual.metric.program.feature_program import FeatureProgram
from geodual.metric.selection.graded_neighbours import graded_neighbours
from geodual.metric.selection.local_pairs import grouped_neighbours
from geodual.metric.terms.neighbourhoods import Neighbourhoods

DISTANCES = pytest.mark.parametrize("distance", ["l1", "l2"])


def drawn(seed: int, n: int = 40, n_features: int = 4, n_classes: int = 3):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    return rng.standard_normal((n, n_features)) + y[:, None] * (np.arange(n_features) < 2), y


def differences(learner: FeatureWeights, X: np.ndarray) -> np.ndarray:
    V = np.abs(X[learner.neighbours_[:, 0]] - X[learner.neighbours_[:, 1]])
    return V if learner.distance == "l1" else V**2


def certificate(learner: FeatureWeights, X: np.ndarray, w: np.ndarray) -> tuple[float, float]:
    """Return the primal and the dual at w, by the formulas of the docstring; weighted samples count."""
    i, j = learner.neighbours_.T
    V, q, tau, m = differences(learner, X), learner.targets_, learner.widths_, learner.counts_
    total = m[np.unique(i)].sum()
    loss = conjugate = 0.0
    z = np.zeros(X.shape[1])
    for sample in np.unique(i):
        own = i == sample
        d = V[own] @ w / tau[own] - np.log(m[j[own]])
        e = np.exp(-d)
        p = e / e.sum()
        c = learner.C * m[sample] / total
        loss += c * (q[own] @ d + np.log(e.sum()))
        conjugate += c * (p @ np.log(p) + (q[own] - p) @ np.log(m[j[own]]))
        z += c * ((p - q[own]) / tau[own]) @ V[own]
    primal = 0.5 * np.sum(w - np.log(w) - 1.0) + loss
    feasible = bool((z < 0.5).all())
    return primal, 0.5 * np.log(1.0 - 2.0 * z).sum() - conjugate if feasible else -np.inf


@DISTANCES
@pytest.mark.parametrize("weighted", [False, True])
def test_the_certificate_can_be_checked_from_outside(distance: str, weighted: bool) -> None:
    X, y = drawn(0)
    X, y = np.vstack([X, X[:2]]), np.append(y, y[:2])  # with copies
    weight = (
        np.random.default_rng(1).uniform(0.5, 2.0, len(y)) * (np.arange(len(y)) != 5) if weighted else None
    )
    learner = FeatureWeights(distance, C=50.0, tol=1e-9).fit(X, y, sample_weight=weight)
    primal, dual = certificate(learner, X, learner.weights_)
    assert primal == pytest.approx(learner.objective_, rel=1e-10)
    assert dual <= primal
    assert (primal - dual) / primal <= 1.1e-9
    assert learner.dual_objective_ == pytest.approx(dual, rel=2e-9)


@pytest.mark.parametrize("seed", range(20))
def test_gaps_are_small_and_never_negative(seed: int) -> None:
    X, y = drawn(seed, n=25 + seed, n_features=2 + seed % 7, n_classes=2 + seed % 3)
    learner = FeatureWeights("l1" if seed % 2 else "l2", C=10.0 ** (seed % 5)).fit(X, y)
    assert 0.0 <= learner.duality_gap_ <= 1e-6
    primal, dual = certificate(learner, X, learner.weights_)
    assert -1e-12 <= (primal - dual) / primal <= 1.1e-6


@DISTANCES
def test_the_optimum_is_that_of_another_solver(distance: str) -> None:
    X, y = drawn(2)
    learner = FeatureWeights(distance, C=30.0, tol=1e-12).fit(X, y)
    rival = minimize(
        lambda s: certificate(learner, X, np.exp(s))[0], np.zeros(4), method="BFGS", options={"gtol": 1e-7}
    )
    np.testing.assert_allclose(learner.weights_, np.exp(rival.x), rtol=1e-4)
    assert learner.objective_ <= rival.fun + 1e-9
    assert learner.dual_objective_ <= rival.fun


def solved(squared: bool) -> CertifiedMetric:
    X, y = drawn(4, n=60, n_features=9)
    i, j = grouped_neighbours(X, y, 3, 5, "l2" if squared else "l1")
    V = FeatureDifferences(X, i, j, squared)
    near = Neighbourhoods(i, j, y[i] == y[j], V.distances(np.ones(9)), np.full(60, 2.0), None, 100.0)
    return FeatureProgram(near, V).solve(np.ones(9), 1e-12, 100)


@pytest.mark.parametrize("squared", [False, True])
def test_many_features_are_learnt_without_matrices(squared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    dense = solved(squared)
    monkeypatch.setattr(feature_program, "_DENSE", 2)
    monkeypatch.setattr(feature_differences, "_KEPT", 10)
    monkeypatch.setattr(feature_differences, "_CHUNK", 100)
    products = solved(squared)
    assert products.converged
    np.testing.assert_allclose(products.W, dense.W, rtol=1e-5)
    assert products.primal == pytest.approx(dense.primal, rel=1e-11)


@DISTANCES
def test_weights_of_numbers_have_a_certificate_too(distance: str) -> None:
    X = np.random.default_rng(9).standard_normal((80, 5))
    y = X[:, 0] ** 3 + 0.1 * X[:, 4]
    learner = FeatureWeights(distance, C=50.0, target="numbers", tol=1e-9).fit(X, y)
    primal, dual = certificate(learner, X, learner.weights_)
    assert primal == pytest.approx(learner.objective_, rel=1e-10)
    assert 0.0 <= (primal - dual) / primal <= 1.1e-9
    assert learner.weights_.argmax() == 0
    # Only ranks count, and whole weights are repeated rows.
    weight = np.random.default_rng(0).integers(3, size=80)
    weighted = FeatureWeights(distance, C=50.0, target="numbers").fit(X, np.exp(y), sample_weight=weight)
    repeated = FeatureWeights(distance, C=50.0, target="numbers")
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-8)


def test_neighbours_of_numbers_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(10)
    Z, ranks = rng.standard_normal((30, 2)), np.append(np.linspace(0.0, 0.6, 29), 1.0)
    i, j, similar = graded_neighbours(Z, ranks, 2, 3, "l1")
    for sample in range(30):
        order = [k for k in np.abs(Z - Z[sample]).sum(axis=1).argsort().tolist() if k != sample]
        near = [k for k in order if abs(ranks[k] - ranks[sample]) <= 0.1][:2]
        far = [k for k in order if abs(ranks[k] - ranks[sample]) > 0.1][:3]
        own = i == sample
        assert set(j[own & similar]) == set(near)
        # The last sample has nobody of a near target.
        assert set(j[own & ~similar]) == (set(far) if sample < 29 else set())
    assert (np.diff(i) >= 0).all()


def test_numbers_that_cannot_be_learnt_from() -> None:
    X = np.random.default_rng(11).standard_normal((10, 2))
    with pytest.raises(ValueError, match="at least two different values"):
        FeatureWeights(target="numbers").fit(X, np.ones(10))


def test_features_that_matter_get_the_largest_weights() -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((150, 400))
    learner = FeatureWeights().fit(X, X[:, 3] + X[:, 7] > 0.0)
    assert set(np.argsort(learner.weights_)[-2:]) == {3, 7}
    assert learner.duality_gap_ <= 1e-6


@DISTANCES
def test_the_transformation_makes_the_distance_a_plain_one(distance: str) -> None:
    X, y = load_iris(return_X_y=True)
    learner = FeatureWeights(distance).fit(X, y)
    difference = np.abs(learner.transform(X[:1]) - learner.transform(X[1:2]))[0]
    plain = np.abs(X[0] - X[1])
    if distance == "l1":
        assert difference.sum() == pytest.approx(learner.weights_ @ plain)
    else:
        assert (difference**2).sum() == pytest.approx(learner.weights_ @ plain**2)
    assert learner.transform(X.astype(np.float32)).dtype == np.float32
    assert learner.get_feature_names_out(["a", "b", "c", "d"]).tolist() == ["a", "b", "c", "d"]
    assert learner.feature_importances_.sum() == pytest.approx(1.0)


def test_whole_weights_are_repeated_rows_in_any_order() -> None:
    X, y = drawn(6)
    weight = np.random.default_rng(0).integers(4, size=len(y))
    weighted = FeatureWeights(C=100.0).fit(X, y, sample_weight=weight)
    order = np.random.default_rng(1).permutation(weight.sum())
    repeated = FeatureWeights(C=100.0).fit(np.repeat(X, weight, axis=0)[order], np.repeat(y, weight)[order])
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-10)


def test_a_constant_feature_keeps_the_weight_one() -> None:
    X, y = drawn(7)
    learner = FeatureWeights().fit(np.column_stack([X, np.full(len(X), 5.0)]), y)
    assert learner.weights_[-1] == pytest.approx(1.0, rel=1e-6)


def test_few_distinct_rows_and_many_classes() -> None:
    """Widths of zero get a floor: integers 0/1 × 2 in six classes."""
    rng = np.random.default_rng(8)
    X, y = rng.integers(2, size=(60, 2)).astype(float), rng.integers(6, size=60)
    assert FeatureWeights().fit(X, y).duality_gap_ <= 1e-6


def test_widths_are_half_the_mean_distance_with_a_floor() -> None:
    i, similar = np.array([0, 0, 0, 1, 1, 2]), np.array([True, True, False, True, False, True])
    d = np.array([2.0, 4.0, 9.0, 0.0, 7.0, 6.0])
    # Means of the class: 3, 0 and 6, whose mean is 3.
    np.testing.assert_allclose(neighbour_means(i, similar, d, 3), [1.5, 0.5e-3 * 3.0, 3.0])


def test_unknown_labels_have_no_part() -> None:
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    part = FeatureWeights().fit(X[20:], y[20:])
    with pytest.warns(UserWarning, match="20 of 178 samples have the label −1"):
        all_ = FeatureWeights().fit(X, np.where(np.arange(178) < 20, -1, y))
    np.testing.assert_allclose(all_.weights_, part.weights_, rtol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"distance": "l3"}, '`distance` must be "l1" or "l2"'),
        ({"target": "y"}, '`target` must be "classes" or "numbers"'),
        ({"C": 0.0}, "`C` must be positive"),
        ({"pairs": "all"}, '`pairs` must be "local"'),
        ({"tol": -1.0}, "`tol` must be positive"),
    ],
)
def test_wrong_parameters(parameters, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        FeatureWeights(**parameters).fit(*drawn(0))


def test_samples_that_cannot_be_learnt_from() -> None:
    with pytest.raises(ValueError, match="No class has two different samples"):
        FeatureWeights().fit(np.arange(6.0).reshape(3, 2), [0, 1, 2])
    with pytest.raises(ValueError, match="at least two classes"):
        FeatureWeights().fit(np.arange(6.0).reshape(3, 2), [0, 0, 0])
    with pytest.raises(ValueError, match="standardise the features"):
        FeatureWeights("l2").fit(1e-200 * drawn(0)[0], drawn(0)[1])
