"""PairRPDML: pairs instead of labels, thresholds, metric-learn's conventions."""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import StandardScaler

from geodual.metric import RPDML, PairRPDML
from geodual.metric.base.pair_classifier import best_threshold


@pytest.fixture(scope="module")
def data():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    indices = np.random.default_rng(0).integers(len(X), size=(400, 2))
    indices = indices[indices[:, 0] != indices[:, 1]]
    return X, y, indices, np.where(y[indices[:, 0]] == y[indices[:, 1]], 1, -1)


def test_equals_rpdml_on_the_same_pairs(data) -> None:
    X, y, indices, signs = data
    options = {"C": 50.0, "bounds": (5.0, 40.0), "tol": 1e-10}
    pairs = PairRPDML(**options).fit(X[indices], signs)
    labeled = RPDML(pairs=indices, **options).fit(X, y)
    np.testing.assert_allclose(pairs.get_mahalanobis_matrix(), labeled.W_, rtol=1e-5, atol=1e-7)
    assert pairs.duality_gap_ <= 1e-10
    assert pairs.n_pairs_ == len(indices)
    np.testing.assert_allclose(pairs.W_, pairs.get_mahalanobis_matrix(), rtol=1e-9)


@pytest.mark.parametrize("kind", ["array", "callable"])
def test_indices_and_a_preprocessor(data, kind: str) -> None:
    X, _, indices, signs = data
    preprocessor = X if kind == "array" else lambda rows: X[rows]
    direct = PairRPDML().fit(X[indices], signs)
    looked_up = PairRPDML(preprocessor=preprocessor).fit(indices, signs)
    np.testing.assert_array_equal(direct.components_, looked_up.components_)
    np.testing.assert_array_equal(direct.predict(X[indices]), looked_up.predict(indices))


def test_predictions_follow_the_threshold(data) -> None:
    X, _, indices, signs = data
    learner = PairRPDML().fit(X[indices], signs)
    distance = learner.pair_distance(X[indices])
    np.testing.assert_array_equal(
        learner.predict(X[indices]), np.where(distance <= learner.threshold_, 1, -1)
    )
    np.testing.assert_array_equal(learner.decision_function(X[indices]), -distance)
    assert learner.score(X[indices], signs) > 0.9
    assert (learner.set_threshold(0.0).predict(X[indices]) == -1).all()


@pytest.mark.parametrize("strategy", ["accuracy", "f_beta", "max_tpr", "max_tnr"])
def test_calibration_is_the_best_of_all_cuts(data, strategy: str) -> None:
    X, _, indices, signs = data
    learner = PairRPDML().fit(X[indices][:100], signs[:100])
    learner.calibrate_threshold(X[indices], signs, strategy, min_rate=0.9, beta=2.0)
    distance, similar = learner.pair_distance(X[indices]), signs > 0

    def value(threshold):
        called = distance <= threshold
        tpr, tnr = called[similar].mean(), (~called)[~similar].mean()
        if strategy == "accuracy":
            return (called == similar).mean()
        if strategy == "f_beta":
            return 5 * (called & similar).sum() / (4 * similar.sum() + called.sum())
        if strategy == "max_tpr":
            return tpr if tnr >= 0.9 else -1.0
        return tnr if tpr >= 0.9 else -1.0

    assert value(learner.threshold_) == pytest.approx(max(value(t) for t in np.append(distance, -1.0)))


def test_equal_distances_are_not_cut_apart() -> None:
    distance, similar = np.array([1.0, 1.0, 1.0, 2.0]), np.array([True, False, True, False])
    assert 1.0 < best_threshold(distance, similar) < 2.0


@pytest.mark.parametrize(
    "params", [{"strategy": "f_beta", "beta": 0.3}, {"strategy": "max_tnr", "min_rate": 0.8}, {}]
)
def test_fit_takes_the_parameters_of_the_calibration(data, params: dict) -> None:
    X, _, indices, signs = data
    found = PairRPDML().fit(X[indices], signs, calibration_params=params)
    expected = PairRPDML().fit(X[indices], signs).calibrate_threshold(X[indices], signs, **params)
    assert found.threshold_ == expected.threshold_
    if params:
        assert found.threshold_ != PairRPDML().fit(X[indices], signs).threshold_


def test_without_recall_the_precision_is_best() -> None:
    """The two nearest pairs are similar, so precision is 1 for both; the third is not."""
    distance, similar = np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, True, False, True])
    assert best_threshold(distance, similar, "f_beta", beta=0.0) == 2.5
    assert best_threshold(distance, similar, "max_tnr", min_rate=0.1) == 2.5
    assert best_threshold(distance, similar, "max_tpr", min_rate=1.0) == 2.5
    assert best_threshold(distance, ~similar, "f_beta", beta=0.0) == 3.5
    assert np.isfinite(best_threshold(distance, np.zeros(4, dtype=bool), "f_beta", beta=0.0))


def test_it_is_a_classifier(data) -> None:
    X, _, indices, signs = data
    order = np.argsort(signs)  # sorted pairs: only stratified folds have both kinds in each
    pairs, y = X[indices][order], signs[order]
    assert is_classifier(PairRPDML())
    np.testing.assert_array_equal(PairRPDML().fit(pairs, y).classes_, [-1, 1])
    scores = cross_val_score(PairRPDML(), pairs, y, cv=3)
    assert scores.min() > 0.8
    assert cross_val_score(PairRPDML(), pairs, y, cv=3, scoring="accuracy").min() > 0.7
    search = GridSearchCV(PairRPDML(preprocessor=X), {"C": [1.0, 100.0]}, cv=2).fit(indices[order], y)
    assert search.best_score_ > 0.8


def test_its_probabilities_can_be_calibrated(data) -> None:
    X, _, indices, signs = data
    for learner, pairs in ((PairRPDML(), X[indices]), (PairRPDML(preprocessor=X), indices)):
        model = CalibratedClassifierCV(learner, cv=3).fit(pairs[:300], signs[:300])
        share = model.predict_proba(pairs[300:])[:, 1]
        np.testing.assert_array_equal(model.classes_, [-1, 1])
        assert roc_auc_score(signs[300:], share) > 0.8


def test_pairs_and_indices_are_transformed(data) -> None:
    X, _, indices, signs = data
    learner = PairRPDML(preprocessor=X, n_components=2)
    Z = learner.fit_transform(indices, signs)
    assert Z.shape == (len(indices), 2, 2)
    np.testing.assert_allclose(np.linalg.norm(Z[:, 0] - Z[:, 1], axis=1), learner.pair_distance(indices))
    np.testing.assert_array_equal(learner.transform([3, 5]), learner.transform(X[[3, 5]]))
    np.testing.assert_allclose(learner.transform(X[indices]), Z)
    given = PairRPDML(n_components=2).fit_transform(X[indices], signs, sample_weight=np.ones(len(signs)))
    np.testing.assert_allclose(given, Z)
    assert learner.pair_distance([[4, 4]]) == 0.0


def test_errors_are_named(data) -> None:
    X, _, indices, signs = data
    with pytest.raises(ValueError, match="need `preprocessor`"):
        PairRPDML().fit(indices, signs)
    with pytest.raises(ValueError, match=r"\+1 or −1 for each of the"):
        PairRPDML().fit(X[indices], np.zeros(len(indices)))
    with pytest.raises(ValueError, match=r"shape \(n_pairs, 2, n_features\)"):
        PairRPDML().fit(X[indices][:, :1], signs)
    for options, message in (
        ({"C": -1.0}, "`C` must be positive"),
        ({"alpha": np.nan}, "`alpha` must not be negative"),
        ({"tol": 0.0}, "`tol` must be positive"),
        ({"max_iter": 0}, "`max_iter` must be at least 1"),
        ({"max_iter": -3}, "`max_iter` must be at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            PairRPDML(**options).fit(X[indices], signs)
    with pytest.raises(ValueError, match="row numbers from 0 to 177, got -1"):
        PairRPDML(preprocessor=X).fit([[0, -1], [1, 2]], [1, -1])
    with pytest.raises(ValueError, match=r"shape \(n_pairs, 2, n_features\), got \(0, 2, 13\)"):
        PairRPDML().fit(X[indices][:0], signs[:0])
    with pytest.raises(ValueError, match="weight ≥ 0 for each of the"):
        PairRPDML().fit(X[indices], signs, sample_weight=[1.0])
    learner = PairRPDML().fit(X[indices], signs)
    with pytest.raises(ValueError, match="`strategy` must be one of"):
        learner.calibrate_threshold(X[indices], signs, "best")
    with pytest.raises(ValueError, match="`min_rate` must lie in"):
        learner.calibrate_threshold(X[indices], signs, "max_tpr")
    with pytest.raises(ValueError, match="learned on 13"):
        learner.pair_distance(X[indices][:, :, :3])


@pytest.mark.parametrize(("scale", "message"), [(1e-200, "All pairs are equal"), (1e160, "too far apart")])
def test_features_whose_squares_overflow_are_refused(data, scale: float, message: str) -> None:
    X, _, indices, signs = data
    with pytest.raises(ValueError, match=message):
        PairRPDML().fit(scale * X[indices], signs)


def test_wrong_types_are_named(data) -> None:
    X, _, indices, signs = data
    learner = PairRPDML().fit(X[indices], signs)
    for options, message in (
        ({"strategy": "max_tpr", "min_rate": "a"}, "`min_rate` must be a number, got 'a'"),
        ({"strategy": "max_tpr", "min_rate": 1.5}, r"`min_rate` must lie in \[0, 1\], got 1.5"),
        ({"strategy": "f_beta", "beta": "a"}, "`beta` must be a number, got 'a'"),
        ({"strategy": "f_beta", "beta": -1.0}, "`beta` must not be negative"),
        ({"strategy": ["accuracy"]}, "`strategy` must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            learner.calibrate_threshold(X[indices], signs, **options)
        with pytest.raises(ValueError, match=message):
            PairRPDML().fit(X[indices], signs, calibration_params=options)
    for params in ({"level": 1}, "accuracy"):
        with pytest.raises(ValueError, match="`calibration_params` must be a dict with keys among"):
            PairRPDML().fit(X[indices], signs, calibration_params=params)
    with pytest.raises(ValueError, match="`threshold` must be a number, got 'far'"):
        learner.set_threshold("far")
    with pytest.raises(ValueError, match="`pairs` must be an array of numbers"):
        learner.predict([[["a"] * 13, ["b"] * 13]])
    with pytest.raises(ValueError, match=r"\+1 or −1 for each of the"):
        PairRPDML().fit(X[indices])
    for preprocessor, message in (
        (lambda rows: X[:3], "must return one row per index, but returned 3 rows for"),
        (lambda rows: X[rows, 0], "must return samples as rows of a table"),
        (np.array([["a", "b"]] * len(X)), "`preprocessor` must return numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            PairRPDML(preprocessor=preprocessor).fit(indices, signs)
    with pytest.raises(ValueError, match="Indices into `preprocessor` must be whole numbers"):
        PairRPDML(preprocessor=X).fit(indices + 0.5, signs)
