"""What metric-learn's documentation shows, with only the import changed; and what is refused."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

import geodual.compat.metric_learn as names
from geodual.compat.metric_learn import (
    ITML,
    LFDA,
    LMNN,
    MLKR,
    NCA,
    RCA,
    SDML,
    Covariance,
    ITML_Supervised,
    RCA_Supervised,
    SDML_Supervised,
)
from geodual.compat.metric_learn.rca import drawn_chunks
from geodual.compat.metric_learn.sdml import drawn_pairs
from geodual.metric import ITML as OURS
from geodual.metric import PairITML

X, Y = load_iris(return_X_y=True)

# Samples of which pairs with a like first feature are similar, however much the second one differs.
PAIRS = np.array(
    [[[1.0, 7.0], [1.1, 1.0]], [[6.0, 2.0], [6.2, 9.0]], [[1.0, 4.0], [3.0, 4.1]], [[6.0, 5.0], [5.0, 5.1]]]
)
SIGNS = np.array([1, 1, -1, -1])
SUPERVISED = [
    NCA(max_iter=30, random_state=42),
    LMNN(n_neighbors=5, learn_rate=1e-6),
    ITML_Supervised(n_constraints=200),
    RCA_Supervised(n_chunks=30, chunk_size=2),
    SDML_Supervised(n_constraints=200, balance_param=1e-4),
    LFDA(k=2),
    MLKR(max_iter=300, tol=1e-3),
    Covariance(),
]
over_supervised = pytest.mark.parametrize("learner", SUPERVISED, ids=repr)


@over_supervised
def test_learn_transform_and_classify(learner) -> None:
    model = clone(learner).fit(X, Y)
    assert model.transform(X).shape == X.shape
    np.testing.assert_allclose(clone(model).fit_transform(X, Y).shape, X.shape)
    L = model.components_
    np.testing.assert_allclose(model.transform(X), X @ L.T, atol=1e-12)
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), L.T @ L)
    u, v = X[0], X[80]
    expected = np.linalg.norm(L @ (u - v))
    assert model.get_metric()(u, v) == pytest.approx(expected)
    assert model.pair_distance([[u, v]]) == pytest.approx([expected])
    assert model.pair_score([[u, v]]) == pytest.approx([-expected])
    knn = make_pipeline(clone(learner), KNeighborsClassifier(n_neighbors=3))
    assert cross_val_score(knn, X, Y, cv=3).mean() > 0.85


@over_supervised
def test_indices_with_a_preprocessor_are_the_same_as_samples(learner) -> None:
    rows = np.random.default_rng(0).permutation(len(X))[:100]
    seeded = {"random_state": 0} if "random_state" in learner.get_params() else {}
    direct = clone(learner).set_params(**seeded).fit(X[rows], Y[rows])
    by_index = clone(learner).set_params(preprocessor=X, **seeded).fit(rows, Y[rows])
    np.testing.assert_allclose(by_index.components_, direct.components_)
    np.testing.assert_allclose(by_index.transform(rows), direct.transform(X[rows]))
    pairs = rows.reshape(-1, 2)
    np.testing.assert_allclose(by_index.pair_distance(pairs), direct.pair_distance(X[pairs]))


def test_clustering_with_the_function_of_a_metric() -> None:
    metric = LMNN().fit(X, Y).get_metric()
    near = np.median([metric(u, v) for u, v in zip(X[:50:2], X[1:50:2], strict=True)])
    found = DBSCAN(eps=1.5 * near, metric=metric).fit_predict(X[::2])
    assert len(set(found) - {-1}) >= 2
    assert len(set(found[:25]) - {-1}) == 1


@pytest.mark.parametrize("kind", [ITML, partial(SDML, 0.15)])
def test_pairs(kind) -> None:
    learner = kind(preprocessor=None, random_state=42).fit(PAIRS, SIGNS)
    assert set(learner.predict(PAIRS)) <= {-1, 1}
    assert learner.score(PAIRS, SIGNS) >= 0.5
    np.testing.assert_array_equal(learner.decision_function(PAIRS), -learner.pair_distance(PAIRS))
    learner.set_threshold(0.0)
    assert (learner.predict(PAIRS) == -1).all()
    learner.calibrate_threshold(PAIRS, SIGNS, strategy="f_beta", beta=2.0)
    assert (
        learner.threshold_
        == kind().fit(PAIRS, SIGNS, calibration_params={"strategy": "f_beta", "beta": 2.0}).threshold_
    )


def test_the_first_feature_matters_in_the_example_of_pairs() -> None:
    learner = ITML(gamma=10.0).fit(PAIRS, SIGNS)
    W = learner.get_mahalanobis_matrix()
    assert W[0, 0] > 10 * W[1, 1]
    np.testing.assert_array_equal(learner.predict(PAIRS), SIGNS)


def test_pairs_of_indices_in_a_search() -> None:
    wine, y = load_wine(return_X_y=True)
    wine = (wine - wine.mean(axis=0)) / wine.std(axis=0)
    pairs = np.random.default_rng(0).integers(len(wine), size=(300, 2))
    signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    train, test, y_train, y_test = train_test_split(pairs, signs, random_state=0)
    assert ITML(preprocessor=wine).fit(train, y_train).score(test, y_test) > 0.85
    assert ITML(preprocessor=lambda rows: wine[rows]).fit(train, y_train).score(test, y_test) > 0.85
    assert cross_val_score(ITML(preprocessor=wine), pairs, signs, cv=3).min() > 0.8
    search = GridSearchCV(ITML(preprocessor=wine), {"random_state": [0, 1]}, cv=2).fit(pairs, signs)
    assert search.best_estimator_.transform(np.arange(5)).shape == (5, 13)


def test_chunks() -> None:
    """Two chunks that only vary along an axis each: the metric is the inverse of these variances."""
    samples = np.array([[0.0, 3.0], [0.0, -3.0], [0.1, 0.0], [-0.1, 0.0], [5.0, 5.0]])
    learner = RCA().fit(samples, [0, 0, 1, 1, -1])
    np.testing.assert_allclose(learner.get_mahalanobis_matrix(), np.diag([4 / 0.02, 4 / 18]), rtol=1e-12)
    np.testing.assert_array_equal(
        RCA(preprocessor=samples).fit(np.arange(5), [0, 0, 1, 1, -1]).components_, learner.components_
    )


@pytest.mark.parametrize("n_components", [None, 2])
def test_a_feature_that_is_constant_in_all_chunks_changes_no_distance(n_components: int | None) -> None:
    """The mean of three numbers 0.1 is not 0.1, but a rounding error is no variance."""
    chunks = np.arange(len(X)) // 3
    plain = RCA(n_components).fit(X, chunks)
    for constant in (np.full(len(X), 0.1), 0.1 * (1 + chunks)):
        wider = RCA(n_components).fit(np.column_stack([X, constant]), chunks)
        W = wider.get_mahalanobis_matrix()
        assert np.abs(W).max() < 1e10
        if constant[0] == constant[-1]:
            np.testing.assert_allclose(W[:4, :4], plain.get_mahalanobis_matrix(), rtol=1e-6, atol=1e-6)


def test_the_names_stand_for_our_learners() -> None:
    ours = PairITML(gamma=3.0, tol=1e-3, bounds=(1.0, 9.0), max_iter=1000).fit(PAIRS, SIGNS)
    np.testing.assert_array_equal(ITML(gamma=3.0).fit(PAIRS, SIGNS, bounds=(1.0, 9.0)).W_, ours.W_)
    ours = OURS(gamma=3.0, pairs=100, tol=1e-3, random_state=5).fit(X, Y)
    theirs = ITML_Supervised(gamma=3.0, n_constraints=50, random_state=5).fit(X, Y)
    np.testing.assert_array_equal(theirs.W_, ours.W_)
    assert theirs.duality_gap_ <= 1e-3


def test_a_random_prior_is_drawn_from_the_seed() -> None:
    W = [
        ITML_Supervised(prior="random", n_constraints=3, random_state=seed).fit(X, Y).W_ for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(W[0], W[1])
    assert not np.allclose(W[0], W[2])


def test_verbose_prints_the_certificate(capsys: pytest.CaptureFixture) -> None:
    ITML(verbose=True).fit(PAIRS, SIGNS)
    assert "ITML: primal" in capsys.readouterr().out
    LMNN(verbose=True, max_iter=100).fit(X, Y)
    assert capsys.readouterr().out
    ITML().fit(PAIRS, SIGNS)
    assert not capsys.readouterr().out


def test_unlabeled_samples_make_no_constraints() -> None:
    y = Y.copy()
    y[::7] = -1
    learner = RCA_Supervised(n_chunks=20, random_state=0)
    with pytest.warns(UserWarning, match="22 of 150 samples have the label −1"):
        some = clone(learner).fit(X, y)
    np.testing.assert_allclose(some.components_, clone(learner).fit(X[y >= 0], y[y >= 0]).components_)


@pytest.mark.parametrize("bounds", [[20.0, 100.0], np.array([[20.0, 100.0]]), np.array([[20], [100]])])
def test_bounds_may_have_a_second_axis(bounds: Any) -> None:
    assert tuple(ITML().fit(PAIRS, SIGNS, bounds=bounds).bounds_) == (20.0, 100.0)
    assert tuple(ITML_Supervised().fit(X, Y, bounds=bounds).bounds_) == (20.0, 100.0)


@pytest.mark.parametrize(
    ("learner", "data", "message"),
    [
        (ITML(prior="pca"), (PAIRS, SIGNS), "`prior` must be"),
        (ITML_Supervised(n_constraints=0), (X, Y), "`n_constraints` must be at least 1"),
        (NCA(n_components=1), ([[0.0], [0.0], [1.0]], [0, 0, 1]), '`init="identity"`'),
        (RCA(), (X, Y[:3]), "`chunks` must hold a whole number for each of the 150 samples"),
        (RCA(), (X[:3], [0, 1, 2]), "a chunk of at least two different samples"),
        (RCA(), (X, np.full(150, -1)), "a chunk of at least two different samples"),
        (RCA_Supervised(n_chunks=76), (X, Y), "`n_chunks` must be at most 75"),
        (RCA_Supervised(n_chunks=9, n_components=5), (X, Y), "`n_components` must be between 1 and 4"),
    ],
)
def test_wrong_input_has_one_clear_error(learner, data, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learner.fit(*data)


def test_constraints_agree_with_the_labels() -> None:
    near, far = drawn_pairs(Y, 40, 0)
    assert len(near) == len(far) == 40
    assert (Y[near[:, 0]] == Y[near[:, 1]]).all()
    assert (Y[far[:, 0]] != Y[far[:, 1]]).all()
    chunks = drawn_chunks(Y, 70, 2, 0)
    members = [Y[chunks == k] for k in range(70)]
    assert all(len(set(labels)) == 1 and len(labels) == 2 for labels in members)


def test_all_names_are_documented() -> None:
    for name in names.__all__:
        text = getattr(names, name).__doc__
        assert "metric-learn" in text or "backed by" in text
        assert ">>>" in text


def checks():
    sparse = SDML_Supervised(1e-4, n_constraints=10)
    for learner in (NCA(max_iter=5), MLKR(max_iter=5), sparse, LFDA(), Covariance()):
        for estimator, check in estimator_checks_generator(learner):
            if check.func.__name__ != "check_array_api_input":
                yield pytest.param(estimator, check, id=f"{learner!r}-{check.func.__name__}")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:More than 5 %:UserWarning")
@pytest.mark.filterwarnings("ignore:The percentiles of the distances coincide:UserWarning")
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_conventions(estimator, check) -> None:
    check(estimator)


def test_three_samples_have_a_closed_form() -> None:
    """The margin between the near impostor and the target is 1. The search once overflowed here."""
    samples = np.array([[-0.07134591], [-0.91738802], [2.31981137]])
    near, target = (samples[0] - samples[2]) ** 2, (samples[0] - samples[1]) ** 2
    W = LMNN(convergence_tol=1e-6).fit(samples, [1, 1, 0]).get_mahalanobis_matrix()
    assert W.item() == pytest.approx((1.0 / (near - target)).item(), rel=1e-3)


def test_a_huge_tolerance_of_nca_ends_at_once_without_a_warning() -> None:
    X, y = load_iris(return_X_y=True)
    assert NCA(tol=1e300, init="identity", random_state=0).fit(X, y).n_iter_ <= 2


def test_a_trial_step_of_nca_may_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it may beside a constant feature of 1e150; what counts is the metric at the end."""
    fit = NeighborhoodComponentsAnalysis.fit

    def fit_after_an_overflow(self, X, y):
        assert np.isinf(np.full(2, 1e200) @ np.full(2, 1e200))
        return fit(self, X, y)

    monkeypatch.setattr(NeighborhoodComponentsAnalysis, "fit", fit_after_an_overflow)
    assert np.isfinite(NCA(max_iter=5).fit(X, Y).components_).all()
