"""RPDMLCV: a warm-started path, a choice that can be explained, a plot."""

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from geodual.metric import RPDML, RPDMLCV

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_scores_are_those_of_cold_fits(wine) -> None:
    X, y = wine
    search = RPDMLCV(Cs=(100.0, 1.0), pairs=("all",), cv=3, tol=1e-9).fit(X, y)
    for position, C in enumerate((1.0, 100.0)):
        for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
            learner = RPDML(C=C, tol=1e-9).fit(X[train], y[train])
            knn = KNeighborsClassifier(5).fit(learner.transform(X[train]), y[train])
            expected = knn.score(learner.transform(X[test]), y[test])
            assert search.scores_[0, position, fold] == pytest.approx(expected)
    assert search.best_score_ == search.scores_.mean(axis=2).max()
    np.testing.assert_array_equal(search.components_, RPDML(C=search.C_, tol=1e-9).fit(X, y).components_)


def test_ties_go_to_the_smaller_C() -> None:
    X = np.vstack([np.zeros((10, 2)), 50.0 + np.zeros((10, 2))]) + np.random.default_rng(0).normal(
        size=(20, 2)
    )
    search = RPDMLCV(Cs=(10.0, 0.1, 1.0), pairs=("local", "all"), cv=2).fit(X, np.repeat([0, 1], 10))
    assert (search.scores_ == 1.0).all()
    assert search.C_ == 0.1
    assert search.pairs_ == "local"


def test_auc_scoring_and_processes(wine) -> None:
    X, y = wine
    one, two = (RPDMLCV(Cs=(1.0, 100.0), scoring="auc", cv=2, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.scores_, two.scores_)
    assert one.best_score_ > 0.9
    assert one.transform(X).shape == X.shape


def test_plot_path(wine) -> None:
    ax = RPDMLCV(Cs=(1.0, 100.0), cv=2).fit(*wine).plot_path()
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["all", "local"]
    matplotlib.pyplot.close(ax.figure)


def test_what_is_learnt_is_that_of_the_best_estimator(wine) -> None:
    search = RPDMLCV(Cs=(1.0,), pairs=(200,), cv=2, random_state=0).fit(*wine)
    assert search.n_pairs_ == 200
    assert 0.0 < search.dual_objective_ <= search.objective_
    assert search.history_[-1].gap == search.duality_gap_ <= 1e-6
    assert search.bounds_ == search.best_estimator_.bounds_
    np.testing.assert_allclose(search.W_, search.get_mahalanobis_matrix(), atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scoring": "f1"}, "`scoring` must be"),
        ({"pairs": ([[0, 1], [2, 3]],)}, "`pairs` must be a sequence of"),
        ({"pairs": "local"}, "`pairs` must be a sequence of .* got 'local'"),
        ({"pairs": 100}, "`pairs` must be a sequence of .* got 100"),
        ({"pairs": ()}, "`pairs` must be a sequence of"),
        ({"Cs": ()}, "`Cs` must be a sequence of numbers"),
        ({"Cs": 1.0}, "`Cs` must be a sequence of numbers"),
        ({"Cs": (1.0, -1.0)}, "`C` must be positive"),
    ],
)
def test_bad_choices_are_named(wine, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RPDMLCV(**options).fit(*wine)
