"""RPDMLCV: a warm-started path, a choice that can be explained, a plot."""

from itertools import product

import matplotlib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from geodual.metric import RPDML, RPDMLCV, EuclideanMetric, LocalPairs, NeighborRPDML
from geodual.metric.logdet import folds as folds_module
from geodual.metric.logdet import learner as learner_module
from geodual.metric.logdet.scores import MetricNeighbors, pair_auc

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def exact_scores(learners, X, y, splits) -> np.ndarray:
    """Return the share of votes for the right class of cold, accurate fits: a row per learner."""
    rows = []
    for learner in learners:
        row = []
        for train, test in splits:
            fitted = clone(learner).fit(X[train], y[train])
            near = KNeighborsClassifier(5).fit(fitted.transform(X[train]), y[train])
            share = near.predict_proba(fitted.transform(X[test]))
            row.append(np.mean([share[k, label] for k, label in enumerate(y[test])]))
        rows.append(row)
    return np.array(rows)


def test_rough_fits_from_the_last_metric_rank_as_exact_fits_do(wine) -> None:
    X, y = wine
    splits = list(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y))
    Cs = (0.01, 1.0, 100.0)
    search = RPDMLCV(Cs=Cs[::-1], pairs=("all",)).fit(X, y)
    expected = exact_scores([RPDML(C=C, pairs="all", tol=1e-9) for C in Cs], X, y, splits)
    np.testing.assert_allclose(search.scores_[0], expected, atol=0.01)
    best = expected.mean(axis=1).argmax()
    assert (search.C_, search.best_index_) == (Cs[best], (0, best))
    assert search.best_score_ == search.scores_.mean(axis=2).max()
    np.testing.assert_array_equal(search.components_, RPDML(C=search.C_, pairs="all").fit(X, y).components_)


def test_the_default_chooses_the_shrinkage() -> None:
    """Thirty copies of one noisy feature, which only a covariance within the classes discounts."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    signal = 2.0 * y[:, None] + rng.standard_normal((120, 1))
    noise = rng.standard_normal((120, 1)) + 0.05 * rng.standard_normal((120, 30))
    X = StandardScaler().fit_transform(np.hstack([signal, noise]))
    search = RPDMLCV(Cs=(1.0,)).fit(X, y)
    splits = list(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y))
    learners = [NeighborRPDML(C=1.0, shrinkage=kind.shrinkage) for kind in search.kinds_]
    expected = exact_scores(learners, X, y, splits)
    # The search starts all shrinkages from the same metric, and these fits start from their priors.
    np.testing.assert_allclose(search.scores_[:, 0], expected, atol=0.05)
    assert search.shrinkage_ == search.kinds_[expected.mean(axis=1).argmax()].shrinkage < 1.0
    final = NeighborRPDML(C=1.0, shrinkage=search.shrinkage_).fit(X, y)
    np.testing.assert_array_equal(search.W_, final.W_)
    assert search.duality_gap_ <= 1e-6


def test_small_differences_of_shares_are_ties(wine) -> None:
    X, y = wine
    options = {"Cs": (1.0, 10.0, 100.0), "pairs": ("local", "all"), "cv": 2}
    searches = [RPDMLCV(scoring=scoring, **options).fit(X, y) for scoring in ("knn", "accuracy")]
    np.testing.assert_array_equal(searches[0].scores_, searches[1].scores_)
    chosen = []
    for search, tie in zip(searches, (0.005, 1e-12), strict=True):
        means = search.scores_.mean(axis=2)
        for column, row in product(range(3), range(2)):  # smaller values of C first, then earlier kinds
            if means[row, column] >= means.max() - tie:
                chosen.append((row, column))
                break
        assert search.best_index_ == chosen[-1]
        assert search.best_score_ == means[chosen[-1]]


def test_kinds_are_tried_as_given(wine) -> None:
    search = RPDMLCV(Cs=(1.0,), pairs=("all", "neighbors", 50), shrinkages=(0.3, 1.0), cv=2, random_state=0)
    search.fit(*wine)
    assert [tuple(kind) for kind in search.kinds_] == [
        ("all", None),
        ("neighbors", 0.3),
        ("neighbors", 1.0),
        (50, None),
    ]
    assert search.scores_.shape == (4, 1, 2)
    given = RPDMLCV(Cs=(1.0,), prior="identity", cv=2).fit(*wine)
    assert [tuple(kind) for kind in given.kinds_] == [("neighbors", None)]
    np.testing.assert_array_equal(given.W_, NeighborRPDML(C=1.0, prior="identity").fit(*wine).W_)
    ax = search.plot_path()
    assert [text.get_text() for text in ax.get_xticklabels()][1] == "neighbors\nshrinkage 0.3"
    matplotlib.pyplot.close(ax.figure)


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
    options = {"Cs": (1.0, 100.0), "pairs": ("all", "neighbors"), "scoring": "auc", "cv": 2}
    one, two = (RPDMLCV(**options, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.scores_, two.scores_)
    assert one.best_score_ > 0.9
    assert one.transform(X).shape == X.shape


def test_plot_path(wine) -> None:
    ax = RPDMLCV(Cs=(1.0, 100.0), pairs=("all", "local"), cv=2).fit(*wine).plot_path()
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["all", "local"]
    matplotlib.pyplot.close(ax.figure)
    split = [(range(0, 178, 2), range(1, 178, 2))]
    search = RPDMLCV(Cs=(1.0, 10.0), pairs=(LocalPairs(2, 3), 50), cv=split)
    ax = search.set_params(scoring="balanced_accuracy", random_state=0).fit(*wine).plot_path()
    assert ax.get_ylabel() == "balanced_accuracy"
    assert "LocalPairs(n_similar=2, n_dissimilar=3)" in [
        text.get_text() for text in ax.get_legend().get_texts()
    ]
    matplotlib.pyplot.close(ax.figure)


def test_what_is_learnt_is_that_of_the_best_estimator(wine) -> None:
    search = RPDMLCV(Cs=(1.0,), pairs=(200,), cv=2, random_state=0).fit(*wine)
    assert search.n_pairs_ == 200
    assert 0.0 < search.dual_objective_ <= search.objective_
    assert search.history_[-1].gap == search.duality_gap_ <= 1e-6
    assert search.bounds_ == search.best_estimator_.bounds_
    np.testing.assert_allclose(search.W_, search.get_mahalanobis_matrix(), atol=1e-12)


def test_another_fit_leaves_nothing_of_the_last_one(wine) -> None:
    search = RPDMLCV(Cs=(1.0,), pairs=("all",), cv=2).fit(*wine)
    assert search.bounds_ == search.best_estimator_.bounds_
    search.set_params(pairs=("neighbors",)).fit(*wine)
    assert not hasattr(search, "bounds_")
    assert set(vars(search)) == set(vars(clone(search).fit(*wine)))


def test_a_path_is_plotted_after_a_fit_only() -> None:
    with pytest.raises(NotFittedError):
        RPDMLCV().plot_path()


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "neg_log_loss", "callable"])
def test_scorers_see_the_neighbours_and_the_labels(wine, scoring: str) -> None:
    X, y = wine[0], np.array(["barolo", "grignolino", "barbera"])[wine[1]]
    by_name = get_scorer("balanced_accuracy" if scoring == "callable" else scoring)
    given = (lambda model, X, y: by_name(model, X, y)) if scoring == "callable" else scoring
    search = RPDMLCV(Cs=(10.0,), pairs=("all",), cv=2, n_neighbors=15, scoring=given).fit(X, y)
    for fold, (train, test) in enumerate(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y)):
        # As accurate as fits that are only compared with each other.
        model = make_pipeline(RPDML(C=10.0, pairs="all", tol=0.1), KNeighborsClassifier(15))
        model.fit(X[train], y[train])
        assert search.scores_[0, 0, fold] == pytest.approx(by_name(model, X[test], y[test]))


def test_groups_stay_together(wine) -> None:
    X, y = wine
    groups = np.arange(len(X)) % 7
    search = RPDMLCV(Cs=(10.0,), pairs=("all",), cv=GroupKFold(3)).fit(X, y, groups=groups)
    splits = list(GroupKFold(3).split(X, y, groups))
    np.testing.assert_array_equal(
        search.scores_, RPDMLCV(Cs=(10.0,), pairs=("all",), cv=splits).fit(X, y).scores_
    )
    with pytest.raises(ValueError, match="`groups` must hold one group for each of the 178 samples"):
        RPDMLCV(cv=GroupKFold(3)).fit(X, y, groups=[1, 2])
    with pytest.raises(ValueError, match="`cv` does not suit these samples: The 'groups' parameter"):
        RPDMLCV(cv=GroupKFold(3)).fit(X, y)


@pytest.mark.parametrize(
    ("scoring", "kinds"), [("knn", ("all", "local")), ("auc", ("all",)), ("votes", ("neighbors",))]
)
def test_whole_weights_are_copies_in_fits_and_scores(wine, scoring: str, kinds: tuple[str, ...]) -> None:
    X, y = wine[0][::5], wine[1][::5]
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, len(X))
    fold = rng.integers(0, 2, len(X))

    def splits(fold):
        return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in (0, 1)]

    options = {"Cs": (1.0, 1000.0), "pairs": kinds, "scoring": scoring, "n_neighbors": 7, "tol": 1e-9}
    counted = RPDMLCV(cv=splits(fold), **options).fit(X, y, sample_weight=weight)
    repeated = RPDMLCV(cv=splits(np.repeat(fold, weight)), **options)
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(counted.scores_, repeated.scores_, atol=1e-9)
    np.testing.assert_allclose(counted.W_, repeated.W_, atol=1e-4)
    assert np.ptp(counted.scores_) > 0.0


def test_votes_count_copies() -> None:
    """Against scikit-learn's neighbours of repeated rows, and with weights too small to be counts."""
    rng = np.random.default_rng(0)
    X, y, weight = rng.standard_normal((40, 3)), rng.integers(0, 3, 40), rng.integers(1, 5, 40)
    new = rng.standard_normal((30, 3))
    metric = EuclideanMetric().fit(X)
    theirs = KNeighborsClassifier(7).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    ours = MetricNeighbors(metric, 7).fit(X, y, weight.astype(float))
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new))
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
    plain = KNeighborsClassifier(7).fit(X, y).predict_proba(new)
    np.testing.assert_allclose(
        MetricNeighbors(metric, 7).fit(X, y, np.full(40, 1e-3)).predict_proba(new), plain
    )
    assert pair_auc(X, np.zeros(40, dtype=int)) == 0.5


def test_samples_alone_in_their_class_are_trained_on_but_not_tested(wine) -> None:
    X, y = wine
    alone = np.append(np.flatnonzero(y == 1), [0])  # one sample of class 0, all others of class 1
    found = RPDMLCV(Cs=(10.0,), cv=3).fit(X[alone], y[alone])
    assert (found.scores_ == 1.0).all()
    rare = np.where(np.arange(len(y)) == 70, 9, y)
    found = RPDMLCV(Cs=(10.0,), pairs=("all",), cv=StratifiedKFold(3)).fit(X, rare)
    rows = np.flatnonzero(rare != 9)
    splits = [(np.append(rows[a], 70), rows[b]) for a, b in StratifiedKFold(3).split(X[rows], rare[rows])]
    given = RPDMLCV(Cs=(10.0,), pairs=("all",), cv=splits).fit(X, rare)
    np.testing.assert_array_equal(found.scores_, given.scores_)
    with pytest.raises(ValueError, match="a class of at least two samples, but there is none"):
        RPDMLCV().fit(X[:5], np.arange(5))


def test_unknown_labels_are_trained_on_but_not_tested(wine) -> None:
    X, y = wine
    known = np.arange(len(y)) % 3 > 0
    partly = np.where(known, y, -1)
    with pytest.warns(UserWarning, match="60 of 178 samples have the label −1") as caught:
        search = RPDMLCV(Cs=(1.0, 100.0), pairs=("all", "local"), cv=2, prior="covariance").fit(X, partly)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="label −1"):
        final = RPDML(C=search.C_, pairs=search.pairs_, prior="covariance").fit(X, partly)
    np.testing.assert_array_equal(search.W_, final.W_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scoring": "best"}, "`scoring` must be .* got 'best'"),
        ({"scoring": 3}, "`scoring` must be .* got 3"),
        ({"scoring": lambda model, X, y: np.nan, "Cs": (1.0,), "cv": 2}, "`scoring` gave NaN"),
        ({"cv": 2.5}, "`cv` must be a number of folds, a splitter, or pairs of .*, got 2.5"),
        ({"cv": "five"}, "`cv` does not suit these samples: .* Got five"),
        ({"cv": [([0, 1, 60], [178])]}, "The rows of `cv` must hold row numbers from 0 to 177"),
        ({"n_neighbors": 0}, "`n_neighbors` must be at least 1"),
        ({"Cs": ("a",)}, "`Cs` must be a sequence of numbers"),
        ({"cv": 100}, "`cv` does not suit these samples: .*n_splits=100"),
        ({"cv": [(range(50), range(50, 60))]}, "Fold 0 of `cv` trains on one class only"),
        ({"cv": [(range(178), [])]}, "Fold 0 of `cv` has no sample to test"),
        ({"pairs": ([[0, 1], [2, 3]],)}, "`pairs` must be a sequence of"),
        ({"pairs": "local"}, "`pairs` must be a sequence of .* got 'local'"),
        ({"pairs": 100}, "`pairs` must be a sequence of .* got 100"),
        ({"pairs": ()}, "`pairs` must be a sequence of"),
        ({"Cs": ()}, "`Cs` must be a sequence of numbers"),
        ({"Cs": 1.0}, "`Cs` must be a sequence of numbers"),
        ({"Cs": (1.0, -1.0)}, "`C` must be positive"),
        ({"shrinkages": ()}, "`shrinkages` must be a sequence of numbers"),
        ({"shrinkages": 0.5}, "`shrinkages` must be a sequence of numbers, got 0.5"),
        ({"shrinkages": (0.5, 0.0)}, "`shrinkages` must be positive, got 0.0"),
        ({"shrinkages": (1.5,)}, r"`shrinkages` must lie in \[0, 1\], got 1.5"),
        ({"pairs": ("nearby",)}, "`pairs` must be .* got 'nearby'"),
    ],
)
def test_bad_choices_are_named(wine, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RPDMLCV(**options).fit(*wine)


def test_bounds_are_found_once_per_fold(wine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given pairs, no fit of a fold finds them again; the last fit is to other samples."""
    sizes = []
    for module in (folds_module, learner_module):
        found = module.sample_bounds
        monkeypatch.setattr(
            module, "sample_bounds", lambda Z, *rest, found=found: sizes.append(len(Z)) or found(Z, *rest)
        )
    options = {"Cs": (1.0, 10.0), "cv": 3, "percentiles": (10, 90)}
    search = RPDMLCV(pairs=("all", "local"), **options).fit(*wine)
    assert sorted(sizes) == [118, 119, 119, 178]
    i, j = np.triu_indices(178, 1)
    distances = ((wine[0][i] - wine[0][j]) ** 2).sum(axis=1)
    np.testing.assert_allclose(search.bounds_, np.percentile(distances, (10, 90)))
    RPDMLCV(pairs=("all",), bounds=(1.0, 50.0), **options).fit(*wine)
    RPDMLCV(cv=3).fit(*wine)
    assert len(sizes) == 4


def test_bounds_of_a_fold_change_nothing(wine) -> None:
    """The scores are those of fits that find their bounds themselves."""
    X, y = wine
    train, test = np.arange(0, 178, 2), np.arange(1, 178, 2)
    search = RPDMLCV(Cs=(10.0,), pairs=("all",), cv=[(train, test)], scoring="knn", tol=0.1).fit(X, y)
    metric = RPDML(C=10.0, pairs="all", tol=0.1).fit(X[train], y[train])
    classifier = KNeighborsClassifier(5).fit(metric.transform(X[train]), y[train])
    assert search.scores_[0, 0, 0] == classifier.score(metric.transform(X[test]), y[test])
