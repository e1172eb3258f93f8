"""What every metric learner promises: scikit-learn's conventions, and distances that fit the matrix."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from geodual.metric import (
    GMML,
    ITML,
    LMNN,
    RPDML,
    EuclideanMetric,
    FeatureWeights,
    MahalanobisMetric,
    NeighborRPDML,
    RPDMLClassifier,
    RPDMLRegressor,
)

# Every learner that fits to samples and labels; add new ones here.
LEARNERS = [
    EuclideanMetric(),
    MahalanobisMetric(),
    GMML(),
    GMML(t=0.3, reg=1.0, prior="covariance", n_components=1),
    LMNN(),
    LMNN(n_neighbors=1, n_components=1),
    RPDML(),
    RPDML(n_components=2, pairs="all"),
    NeighborRPDML(),
    ITML(),
    ITML(pairs="all"),
]
# These keep the conventions too, but learn little.
PAPER = [
    RPDML(solver="paper", max_iter=10),
    RPDML(solver="paper", errata="printed", step=1e-3, max_iter=10),
]
# These keep the conventions too, but learn from numbers instead of labels.
REGRESSORS = [RPDMLRegressor(), RPDMLRegressor(pairs=100, weights="uniform", random_state=0)]
KERNEL = RPDMLRegressor(predictor="kernel")
# These keep the conventions too, but learn no matrix.
OTHERS = [FeatureWeights(), RPDMLClassifier()]
UNSUPERVISED = (EuclideanMetric, MahalanobisMetric)
# Runs with SCIPY_ARRAY_API in the environment only, and is for estimators that support other arrays.
NOT_APPLICABLE = {"check_array_api_input"}

over_learners = pytest.mark.parametrize("learner", LEARNERS, ids=repr)


def checks():
    """The checks of scikit-learn for one learner of each class, and for the solver of the paper.

    Other parameters of a class do not change what is checked: input, names, copies and errors.
    """
    one_each = {type(learner): learner for learner in reversed(LEARNERS + REGRESSORS + OTHERS)}
    for learner in [*one_each.values(), PAPER[0], KERNEL]:
        for estimator, check in estimator_checks_generator(learner):
            name = check.func.__name__
            if name not in NOT_APPLICABLE:
                yield pytest.param(estimator, check, id=f"{learner!r}-{name}")


# The data of the checks are not made for metric learning, and the paper's updates do not converge.
@pytest.mark.filterwarnings("ignore:More than 5 %:UserWarning")
@pytest.mark.filterwarnings("ignore:.* have a copy in another class:UserWarning")
@pytest.mark.filterwarnings("ignore:The percentiles of the distances coincide:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture
def samples():
    X, y = load_iris(return_X_y=True)
    return X[::2], np.array(["setosa", "versicolor", "virginica"])[y[::2]]


@over_learners
def test_distances_are_those_of_the_matrix(learner, samples):
    X, y = samples
    model = clone(learner).fit(X, y)
    pairs = np.random.default_rng(0).choice(X, (20, 2))
    v = pairs[:, 0] - pairs[:, 1]
    expected = np.sqrt(np.einsum("ki,ij,kj->k", v, model.get_mahalanobis_matrix(), v).clip(0.0))
    close = {"rtol": 1e-7, "atol": 1e-7 * expected.max()}
    Z = model.transform(pairs.reshape(40, -1)).reshape(20, 2, -1)
    metric = model.get_metric()
    np.testing.assert_allclose(np.linalg.norm(Z[:, 0] - Z[:, 1], axis=1), expected, **close)
    np.testing.assert_allclose(model.pair_distance(pairs), expected, **close)
    np.testing.assert_allclose(model.pair_score(pairs), -expected, **close)
    np.testing.assert_allclose([metric(a, b) for a, b in pairs], expected, **close)
    np.testing.assert_allclose([metric(a, b, squared=True) for a, b in pairs], expected**2, **close)
    assert metric(pairs[0, :1], pairs[0, 1]) == metric(*pairs[0])
    with pytest.raises(ValueError, match=r"`v` must be one sample of 4 features, got shape \(3,\)"):
        metric(pairs[0, 0], pairs[0, 1, :3])


@over_learners
def test_a_metric_outlives_its_learner(learner, samples):
    X, y = samples
    model = clone(learner).fit(X, y)
    metric = model.get_metric()
    before = metric(X[0], X[1])
    model.components_[:] = 0.0
    assert metric(X[0], X[1]) == before


@over_learners
def test_pairs_are_checked(learner, samples):
    model = clone(learner).fit(*samples)
    with pytest.raises(ValueError, match=r"`pairs` must have shape \(n_pairs, 2, n_features\), got \(2, 4\)"):
        model.pair_distance(np.ones((2, 4)))
    with pytest.raises(ValueError, match="`pairs` has 3 features, but the metric was learned on 4"):
        model.pair_distance(np.ones((5, 2, 3)))
    with pytest.raises(ValueError, match="`pairs` must be finite"):
        model.pair_score(np.full((1, 2, 4), np.nan))


@over_learners
def test_importances_are_shares(learner, samples):
    importances = clone(learner).fit(*samples).feature_importances_
    assert importances.shape == (4,)
    assert (importances >= 0.0).all()
    assert importances.sum() == pytest.approx(1.0)


@over_learners
def test_it_serves_nearest_neighbors_in_a_pipeline(learner, samples):
    model = make_pipeline(StandardScaler(), clone(learner), KNeighborsClassifier(3))
    assert cross_val_score(model, *samples).mean() > 0.8


@over_learners
def test_grid_search_reaches_its_parameters(learner, samples):
    model = make_pipeline(StandardScaler(), clone(learner), KNeighborsClassifier())
    step = type(learner).__name__.lower()
    grid = {f"{step}__n_components": [1, 2], "kneighborsclassifier__n_neighbors": [5]}
    search = GridSearchCV(model, grid, cv=2).fit(*samples)
    assert search.best_score_ > 0.8
    assert len(search.best_estimator_[1].components_) == search.best_params_[f"{step}__n_components"]


@over_learners
def test_tables_keep_their_names(learner, samples):
    X, y = samples
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    table = pd.DataFrame(X, columns=names, index=np.arange(len(X)) + 1000)
    model = clone(learner).set_output(transform="pandas").fit(table, y)
    Z = model.transform(table)
    expected = [f"{type(learner).__name__.lower()}{i}" for i in range(len(model.components_))]
    assert list(model.feature_names_in_) == names
    assert list(model.get_feature_names_out()) == list(Z.columns) == expected
    assert Z.index.equals(table.index)
    np.testing.assert_allclose(Z.to_numpy(), clone(learner).fit(X, y).transform(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(table.rename(columns={"petal width": "weight"}))


@over_learners
def test_it_can_be_pickled_and_cloned(learner, samples):
    X, y = samples
    model = clone(learner).fit(X, y)
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.transform(X), model.transform(X))
    copy = clone(model)
    assert not hasattr(copy, "components_")
    assert repr(copy.get_params()) == repr(learner.get_params())


@over_learners
def test_the_number_of_features_is_checked(learner, samples):
    model = clone(learner).fit(*samples)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
        model.transform(np.ones((2, 3)))


@over_learners
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_samples_must_be_finite(learner, samples, bad):
    X, y = samples
    X = X.copy()
    X[3, 1] = bad
    with pytest.raises(ValueError, match="Input X contains"):
        clone(learner).fit(X, y)


@over_learners
def test_inputs_are_left_as_they_are(learner, samples):
    X, y = samples
    X, y = X.copy(), y.copy()
    X.setflags(write=False)
    y.setflags(write=False)
    clone(learner).fit(X, y).transform(X)


@over_learners
def test_one_class_is_an_error_where_labels_matter(learner, samples):
    X, _ = samples
    one_class = np.repeat("fund", len(X))
    if isinstance(learner, UNSUPERVISED):
        clone(learner).fit(X, one_class)
    else:
        with pytest.raises(ValueError, match=r"at least two classes, got 1 class: .*'fund'"):
            clone(learner).fit(X, one_class)


@over_learners
def test_labels_may_be_of_any_type(learner, samples):
    X, y = samples
    codes = np.unique(y, return_inverse=True)[1]
    W = clone(learner).fit(X, y).get_mahalanobis_matrix()
    for labels in (codes, codes - 10, codes.astype(float), y.astype(object), pd.Categorical(y)):
        other = clone(learner).fit(X, labels).get_mahalanobis_matrix()
        np.testing.assert_allclose(other, W, rtol=1e-8, atol=1e-8 * np.abs(W).max())


def test_labels_are_required() -> None:
    assert RPDML().__sklearn_tags__().target_tags.required is True
