"""RPDMLClassifier: what it predicts, proves and explains; hostile samples."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_multilabel_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from geodual.metric import FeatureWeights, NeighborRPDML, RPDMLClassifier
from geodual.metric.machine.views import VIEWS


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def blobs(n: int, n_classes: int, n_noise: int = 0, seed: int = 0):
    rng = np.random.default_rng(seed)
    centers, y = 3.0 * rng.standard_normal((n_classes, 3)), np.arange(n) % n_classes
    return np.hstack([centers[y] + rng.standard_normal((n, 3)), rng.standard_normal((n, n_noise))]), y


def scores_by_hand(model, X, y, new):
    """Return scores, and scores by leave-one-out, from the settings in `mixture_` alone."""
    Y = np.eye(len(model.classes_))[y]
    total, left_out = Y.mean(axis=0), np.zeros_like(Y)
    for part in model.mixture_:
        view, kind = VIEWS[part.geometry.view.name]().fit(X, np.ones(len(X))), part.geometry.kind
        A, B = (view.transform(Z) * part.geometry.map for Z in (X, new))
        h = part.predictor.bandwidth
        if part.predictor.kernel == "laplace":
            assert kind == "l1"
            K, k = (np.exp(-cdist(Z, A, "cityblock") / h) for Z in (A, B))
        else:
            K, k = (np.exp(-cdist(Z, A, "sqeuclidean") / h**2) for Z in (A, B))
        G = np.linalg.inv(K + part.predictor.ridge * np.eye(len(X)))
        alpha = G @ (Y - Y.mean(axis=0))
        total = total + part.share * k @ alpha
        left_out += part.share * (Y - alpha / np.diag(G)[:, None])
    return total, left_out


def test_it_is_a_mixture_of_kernel_machines() -> None:
    X, y = load_iris(return_X_y=True)
    model = RPDMLClassifier().fit(X[::2], y[::2])
    assert {part.predictor.kernel for part in model.mixture_} == {"laplace", "gauss"}
    assert sum(part.share for part in model.mixture_) == pytest.approx(1.0)
    scores, left_out = scores_by_hand(model, X[::2], y[::2], X[1::2])
    np.testing.assert_allclose(model.decision_function(X[1::2]), scores, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X[1::2]), scores.argmax(axis=1))
    assert model.loo_score_ == pytest.approx((left_out.argmax(axis=1) == y[::2]).mean())
    assert model.certificates_.ridge_residual < 1e-11
    assert 0.0 <= model.certificates_.mixture_gap < 1e-8


def test_its_metric_is_that_of_feature_weights(wine) -> None:
    X, y = wine
    model = RPDMLClassifier(views=("standard",)).fit(X, y)
    weights = FeatureWeights().fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_allclose(model.feature_weights_, weights.weights_, rtol=1e-9)
    assert model.certificates_.metric_gap == pytest.approx(weights.duality_gap_, rel=1e-3)
    (learned,) = [part.geometry for part in model.mixture_ if part.geometry.metric == "l1"]
    np.testing.assert_allclose(learned.map, weights.weights_**2, rtol=1e-9)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"predictor": "neighbors"}, {"predictor": "local"}, {"metric": None}, {"metric": "full"}],
)
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
    without = RPDMLClassifier(metric=None).fit(X, y)
    assert model.metric_gain() == pytest.approx(model.loo_score_ - without.loo_score_)
    assert model.metric_gain() > 0.02
    assert set(np.argsort(model.feature_weights_)[-3:]) == {0, 1, 2}
    assert without.metric_gain() == 0.0
    assert without.certificates_.metric_gap is None
    np.testing.assert_array_equal(without.feature_weights_, 1.0)
    large = RPDMLClassifier(max_exact=100, n_landmarks=90, random_state=0).fit(X, y)
    part = large.landmarks_
    assert large.metric_gain() == pytest.approx(RPDMLClassifier().fit(X[part], y[part]).metric_gain())


def test_the_full_metric_is_that_of_neighbor_rpdml(wine) -> None:
    X, y = wine
    model = RPDMLClassifier(metric="full", views=("standard",)).fit(X, y)
    learner = NeighborRPDML().fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_allclose(model.feature_weights_, np.diag(learner.W_), rtol=1e-6)
    assert model.mixture_[0].geometry.metric == "full"
    distances, rows = model.nearest(X[:1], 2)
    Z = learner.transform(StandardScaler().fit_transform(X))
    assert distances[0, 1] == pytest.approx(np.linalg.norm(Z[0] - Z[rows[0, 1]]), rel=1e-6)


def test_neighbors_say_why(wine) -> None:
    X, y = wine
    model = RPDMLClassifier("neighbors").fit(X, y)
    distances, rows = model.nearest(X[5:7], 4)
    assert rows[:, 0].tolist() == [5, 6]
    np.testing.assert_allclose(distances[:, 0], 0.0, atol=1e-12)
    assert (np.diff(distances, axis=1) >= 0.0).all()


def test_whole_weights_are_repeated_rows() -> None:
    X, y = blobs(40, 2, n_noise=2)
    weight = np.random.default_rng(0).integers(4, size=40)
    for predictor in ("kernel", "neighbors", "local"):
        weighted = RPDMLClassifier(predictor).fit(X, y, sample_weight=weight)
        repeated = RPDMLClassifier(predictor).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        assert weighted.loo_score_ == pytest.approx(repeated.loo_score_)
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-8)
        assert set(weighted.landmarks_) == set(np.flatnonzero(weight))
        assert weighted.metric_gain() == pytest.approx(repeated.metric_gain())


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
    # Nobody has a neighbor of its class, so there is no metric to learn.
    lonely = RPDMLClassifier().fit(X[:5], np.arange(5))
    assert lonely.certificates_.metric_gap is None
    np.testing.assert_array_equal(lonely.predict(X[:5]), np.arange(5))


@pytest.mark.parametrize("predictor", ["kernel", "neighbors", "local"])
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
        ({"predictor": "forest"}, '`predictor` must be one of "kernel", "neighbors", "local"'),
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


@pytest.mark.parametrize("predictor", ["kernel", "neighbors", "local"])
def test_several_labels(predictor: str) -> None:
    X, Y = make_multilabel_classification(300, 10, n_classes=4, random_state=0)
    model = RPDMLClassifier(predictor).fit(X[:200], Y[:200])
    predicted = model.predict(X[200:])
    right = (predicted == Y[200:]).mean()
    usual = np.maximum(Y[200:].mean(axis=0), 1.0 - Y[200:].mean(axis=0)).mean()
    assert right > usual + 0.05
    margins, probabilities = model.decision_function(X[200:]), model.predict_proba(X[200:])
    np.testing.assert_array_equal(margins > 0.0, predicted == 1)
    np.testing.assert_array_equal(probabilities > 0.5, predicted == 1)
    rows = RPDMLClassifier(predictor).fit(X[:200], sparse.csr_array(Y[:200]))
    np.testing.assert_array_equal(rows.predict(X[200:]), predicted)
    assert model.score(X[200:], Y[200:]) == (predicted == Y[200:]).all(axis=1).mean()
    assert 0.0 <= model.certificates_.metric_gap <= 1e-6
    assert abs(model.loo_score_ - model.score(X[200:], Y[200:])) < 0.15


def test_several_outputs_of_any_type() -> None:
    X, y = blobs(200, 4)
    outputs = np.column_stack([np.array(["a", "b", "c", "d"])[y], np.array(["low", "high"])[y % 2]])
    model = RPDMLClassifier().fit(X[:150], outputs[:150])
    predicted = model.predict(X[150:])
    constant = RPDMLClassifier().fit(X, np.column_stack([y % 2, np.zeros(200, int), np.ones(200, int)]))
    np.testing.assert_array_equal(constant.predict(X)[:, 1:], [[0, 1]] * 200)
    assert [classes.tolist() for classes in model.classes_] == [["a", "b", "c", "d"], ["high", "low"]]
    assert (predicted == outputs[150:]).mean() > 0.8
    assert [part.shape for part in model.predict_proba(X[150:])] == [(50, 4), (50, 2)]
    assert [part.shape for part in model.decision_function(X[150:])] == [(50, 4), (50,)]
    column = RPDMLClassifier().fit(X, y[:, None])
    np.testing.assert_array_equal(column.predict(X)[:, 0], RPDMLClassifier().fit(X, y).predict(X))


def test_sparse_samples_are_as_dense_ones() -> None:
    X, y = blobs(120, 3)
    X = np.where(np.abs(X) < 1.0, 0.0, X)
    dense, rows = RPDMLClassifier().fit(X, y), sparse.csr_array(X)
    np.testing.assert_array_equal(RPDMLClassifier().fit(rows, y).predict_proba(rows), dense.predict_proba(X))
    single = dense.predict_proba(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, dense.predict_proba(X), atol=1e-4)


def test_an_imbalanced_class_is_not_lost() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((600, 4)), (np.arange(600) < 12).astype(int)
    X[y == 1, 0] += 6.0
    model = RPDMLClassifier().fit(X[::2], y[::2])
    assert model.predict(X[1::2])[y[1::2] == 1].sum() >= 5  # of 6
    assert model.predict(X[1::2])[y[1::2] == 0].mean() < 0.01


def test_parts_say_what_they_are(wine) -> None:
    model = RPDMLClassifier("neighbors").fit(*wine)
    told = str(model.mixture_[0])
    assert "in view" in told
    assert "n_neighbors" in told


def test_certificates_of_a_hundred_fits_hold_from_outside() -> None:
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n, n_classes = int(rng.integers(12, 40)), int(rng.integers(2, 4))
        X, y = blobs(n, n_classes, n_noise=int(rng.integers(0, 4)), seed=seed)
        X = np.round(X, int(rng.integers(0, 3)))  # some have copies
        model = RPDMLClassifier().fit(X, y)
        gaps = model.certificates_
        assert gaps.metric_gap is None or 0.0 <= gaps.metric_gap <= 1e-6
        assert gaps.ridge_residual <= 1e-8
        if len(np.unique(np.column_stack([X, y]), axis=0)) < n:
            continue  # the definitions below are those of distinct samples
        Y, shares = np.eye(n_classes)[y], np.array([part.share for part in model.mixture_])
        residuals = []
        for part in model.mixture_:
            A = VIEWS[part.geometry.view.name]().fit(X, np.ones(n)).transform(X) * part.geometry.map
            D = (
                cdist(A, A, {"l1": "cityblock", "l2": "euclidean"}[part.geometry.kind])
                / part.predictor.bandwidth
            )
            K = np.exp(-D if part.predictor.kernel == "laplace" else -(D**2))
            G = np.linalg.inv(K + part.predictor.ridge * np.eye(n))
            residuals.append((G @ (Y - Y.mean(axis=0)) / np.diag(G)[:, None]).ravel())
        # At the optimum all machines with a share have the same slope: that of the error itself.
        E = np.array(residuals)
        slopes, error = 2.0 * E @ (shares @ E), float((shares @ E) @ (shares @ E))
        np.testing.assert_allclose(slopes, 2.0 * error, rtol=1e-5)
        assert 0.0 <= gaps.mixture_gap <= 1e-6
