"""RPDMLClassifier: what it predicts, proves and explains; hostile samples."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from geodual.metric import FeatureWeights, NeighborRPDML, RPDMLClassifier


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def blobs(n: int, n_classes: int, n_noise: int = 0, seed: int = 0):
    rng = np.random.default_rng(seed)
    centres, y = 3.0 * rng.standard_normal((n_classes, 3)), np.arange(n) % n_classes
    return np.hstack([centres[y] + rng.standard_normal((n, 3)), rng.standard_normal((n, n_noise))]), y


def test_the_machine_is_kernel_ridge_with_squared_weights(wine) -> None:
    X, y = wine
    model = RPDMLClassifier(views=("standard",)).fit(X[::2], y[::2])
    scaler = StandardScaler().fit(X[::2])
    weights = FeatureWeights().fit(scaler.transform(X[::2]), y[::2])
    np.testing.assert_allclose(model.feature_weights_, weights.weights_, rtol=1e-9)
    assert model.certificates_.metric_gap == pytest.approx(weights.duality_gap_, rel=1e-3)
    A, B = (scaler.transform(part) * weights.weights_**2 for part in (X[::2], X[1::2]))
    Y = np.eye(3)[y[::2]]
    K = np.exp(-cdist(A, A, "cityblock") / model.bandwidth_)
    alpha = np.linalg.solve(K + model.ridge_ * np.eye(len(A)), Y - Y.mean(axis=0))
    scores = np.exp(-cdist(B, A, "cityblock") / model.bandwidth_) @ alpha + Y.mean(axis=0)
    np.testing.assert_allclose(model.decision_function(X[1::2]), scores, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X[1::2]), scores.argmax(axis=1))
    inverse = np.linalg.inv(K + model.ridge_ * np.eye(len(A)))
    left_out = Y - alpha / np.diag(inverse)[:, None]
    assert model.loo_score_ == pytest.approx((left_out.argmax(axis=1) == y[::2]).mean())
    assert model.certificates_.ridge_residual < 1e-11


@pytest.mark.parametrize("parameters", [{}, {"predictor": "neighbors"}, {"metric": None}, {"metric": "full"}])
def test_it_predicts_well_and_its_probabilities_are_calibrated(parameters) -> None:
    X, y = load_breast_cancer(return_X_y=True)
    train, test, y_train, y_test = train_test_split(X[:300], y[:300], random_state=0, test_size=0.4)
    model = RPDMLClassifier(**parameters).fit(train, y_train)
    assert model.score(test, y_test) > 0.9
    assert model.loo_score_ > 0.9
    probabilities = model.predict_proba(test)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(test))
    np.testing.assert_array_equal(model.decision_function(test) > 0.0, model.predict(test) == 1)
    assert log_loss(y_test, probabilities) < 0.3  # that of equal probabilities is 0.69


def test_the_metric_adds_accuracy_where_most_features_are_noise() -> None:
    X, y = blobs(150, 3, n_noise=30)
    model = RPDMLClassifier().fit(X, y)
    assert model.metric_gain_ > 0.02
    assert model.loo_score_without_metric_ == pytest.approx(model.loo_score_ - model.metric_gain_)
    assert set(np.argsort(model.feature_weights_)[-3:]) == {0, 1, 2}
    without = RPDMLClassifier(metric=None).fit(X, y)
    assert without.metric_gain_ is None
    assert without.certificates_.metric_gap is None
    np.testing.assert_array_equal(without.feature_weights_, 1.0)
    # At the chosen view and ridge only, so no better than the free choice, up to the squared error.
    assert model.loo_score_without_metric_ <= without.loo_score_ + 0.02


def test_the_full_metric_is_that_of_neighbor_rpdml(wine) -> None:
    X, y = wine
    model = RPDMLClassifier(metric="full", views=("standard",)).fit(X, y)
    learner = NeighborRPDML().fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_allclose(model.feature_weights_, np.diag(learner.W_), rtol=1e-6)
    distances, rows = model.nearest(X[:1], 2)
    Z = learner.transform(StandardScaler().fit_transform(X))
    assert distances[0, 1] == pytest.approx(np.linalg.norm(Z[0] - Z[rows[0, 1]]), rel=1e-6)


def test_neighbours_say_why(wine) -> None:
    X, y = wine
    model = RPDMLClassifier("neighbors").fit(X, y)
    distances, rows = model.nearest(X[5:7], 4)
    assert rows[:, 0].tolist() == [5, 6]
    np.testing.assert_allclose(distances[:, 0], 0.0, atol=1e-12)
    assert (np.diff(distances, axis=1) >= 0.0).all()


def test_whole_weights_are_repeated_rows() -> None:
    X, y = blobs(40, 2, n_noise=2)
    weight = np.random.default_rng(0).integers(4, size=40)
    for predictor in ("kernel", "neighbors"):
        weighted = RPDMLClassifier(predictor).fit(X, y, sample_weight=weight)
        repeated = RPDMLClassifier(predictor).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        assert weighted.loo_score_ == pytest.approx(repeated.loo_score_)
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-8)
        assert set(weighted.landmarks_) == set(np.flatnonzero(weight))


def test_more_samples_than_fit_into_a_kernel_matrix() -> None:
    X, y = blobs(400, 3, n_noise=3)
    exact = RPDMLClassifier().fit(X, y)
    model = RPDMLClassifier(max_exact=100, n_landmarks=80, random_state=0).fit(X, y)
    assert len(model.landmarks_) == 80
    assert model.certificates_.ridge_residual < 1e-10
    assert model.certificates_.metric_gap <= 1e-6
    assert abs(model.loo_score_ - exact.loo_score_) < 0.05
    assert (model.predict(X) == exact.predict(X)).mean() > 0.9
    again = RPDMLClassifier(max_exact=100, n_landmarks=80, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
    voted = RPDMLClassifier("neighbors", max_exact=100, n_landmarks=80, random_state=0).fit(X, y)
    assert voted.score(X, y) > 0.8
    assert voted.certificates_.ridge_residual is None


def test_missing_values_are_medians(wine) -> None:
    X, y = wine
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    X[:, 4] = np.nan  # nothing is known of this feature
    model = RPDMLClassifier().fit(X, y)
    known = np.delete(np.arange(13), 4)
    np.testing.assert_allclose(model.medians_[known], np.nanmedian(X[:, known], axis=0))
    assert model.medians_[4] == 0.0
    completed = RPDMLClassifier().fit(np.where(np.isnan(X), model.medians_, X), y)
    np.testing.assert_array_equal(
        model.predict(X), completed.predict(np.where(np.isnan(X), model.medians_, X))
    )
    assert model.score(X, y) > 0.9


def test_tables_texts_and_float32() -> None:
    table, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = RPDMLClassifier().fit(table, pd.Series(names))
    assert model.feature_names_in_.tolist() == list(table.columns)
    assert set(model.predict(table)) == set(names)
    single = RPDMLClassifier().fit(table.to_numpy(np.float32), names)
    assert (single.predict(table.to_numpy(np.float32)) == model.predict(table)).mean() > 0.98


def test_many_classes_and_single_samples() -> None:
    X, y = blobs(300, 100, n_noise=0)
    assert RPDMLClassifier().fit(X, y).predict_proba(X[:4]).shape == (4, 100)
    # Nobody has a neighbour of its class, so there is no metric to learn.
    lonely = RPDMLClassifier().fit(X[:5], np.arange(5))
    assert lonely.certificates_.metric_gap is None
    np.testing.assert_array_equal(lonely.predict(X[:5]), np.arange(5))


@pytest.mark.parametrize("predictor", ["kernel", "neighbors"])
def test_features_without_information(predictor: str) -> None:
    X, y = np.ones((10, 3)), np.array([0] * 7 + [1] * 3)
    model = RPDMLClassifier(predictor).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), 0)
    X, y = blobs(40, 2)
    constant = RPDMLClassifier(predictor).fit(np.column_stack([X, np.full(40, 1e9)]), y)
    assert constant.score(np.column_stack([X, np.full(40, 1e9)]), y) > 0.8


def test_few_distinct_rows_in_many_classes() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.integers(2, size=(60, 2)).astype(float), rng.integers(6, size=60)
    model = RPDMLClassifier().fit(X, y)
    assert model.certificates_.metric_gap <= 1e-6
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"predictor": "forest"}, '`predictor` must be "kernel" or "neighbors"'),
        ({"metric": "l3"}, '`metric` must be "l1", "full" or None'),
        ({"C": -1.0}, "`C` must be positive"),
        ({"views": ()}, '`views` must hold "standard", "rank" or both'),
        ({"views": "rank"}, '`views` must hold "standard", "rank" or both'),
        ({"n_landmarks": 1}, "`n_landmarks` must be at least 2"),
        ({"max_exact": 0.5}, "`max_exact` must be a whole number"),
    ],
)
def test_wrong_parameters(parameters, told: str, wine) -> None:
    with pytest.raises(ValueError, match=told):
        RPDMLClassifier(**parameters).fit(*wine)


def test_one_class_is_not_enough(wine) -> None:
    X, y = wine
    with pytest.raises(ValueError, match="needs samples of at least two classes, got 1 class"):
        RPDMLClassifier().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="check `y` and `sample_weight`"):
        RPDMLClassifier().fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(ValueError, match="scale the features"):
        RPDMLClassifier().fit(1e300 * X, y)
