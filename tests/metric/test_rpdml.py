"""RPDML as its users meet it: certificates, pairs, bounds, options, errors."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.preprocessing import StandardScaler

from geodual.metric import ITML, RPDML
from geodual.metric.selection.chosen_pairs import sampled_pairs
from geodual.metric.selection.local_pairs import LocalPairs


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("pairs", ["all", "local", 500])
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0, 1e4])
def test_the_gap_falls_below_the_tolerance(wine, pairs, C: float) -> None:
    learner = RPDML(C=C, pairs=pairs, random_state=0).fit(*wine)
    assert 0.0 <= learner.duality_gap_ <= 1e-6
    assert learner.dual_objective_ <= learner.objective_
    gaps = [row.gap for row in learner.history_]
    assert all(np.isfinite(gaps))
    primal = [row.primal for row in learner.history_]
    assert (np.diff(primal) <= 1e-12 * np.abs(primal[:-1])).all()
    assert (np.diff([row.dual for row in learner.history_]) >= 0.0).all()


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6])
def test_ill_conditioned_features(condition: float) -> None:
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X) * np.geomspace(1.0, condition, 4)
    for prior in ("identity", "covariance"):
        assert RPDML(C=100.0, pairs="all", prior=prior).fit(X, y).duality_gap_ <= 1e-6


def test_more_features_than_samples_and_duplicates() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 50))
    X = np.vstack([X, X[:5]])
    y = np.arange(25) % 2
    for prior in ("identity", "covariance"):
        learner = RPDML(pairs="all", prior=prior).fit(X, y)
        assert learner.duality_gap_ <= 1e-6
        assert np.linalg.eigvalsh(learner.get_mahalanobis_matrix())[0] > 0.0


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_unit_of_the_features_does_not_matter_under_the_covariance_prior(wine, scale: float) -> None:
    X, y = wine
    plain, scaled = (
        RPDML(pairs="all", prior="covariance", tol=1e-10).fit(data, y) for data in (X, scale * X)
    )
    np.testing.assert_allclose(
        scaled.get_mahalanobis_matrix() * scale**2, plain.get_mahalanobis_matrix(), rtol=1e-4, atol=1e-6
    )
    assert RPDML().fit(scale * X, y).duality_gap_ <= 1e-6


def test_the_order_of_samples_does_not_matter(wine) -> None:
    X, y = wine
    order = np.random.default_rng(0).permutation(len(X))
    first, second = (
        RPDML(pairs="all", tol=1e-10).fit(X[rows], y[rows]) for rows in (np.arange(len(X)), order)
    )
    np.testing.assert_allclose(first.get_mahalanobis_matrix(), second.get_mahalanobis_matrix(), atol=1e-5)


@pytest.mark.parametrize("pairs", ["all", "local", 300])
def test_the_origin_does_not_matter(wine, pairs) -> None:
    X, y = wine
    here, far = (RPDML(pairs=pairs, random_state=0, tol=1e-9).fit(data, y) for data in (X, X + 1e6))
    np.testing.assert_allclose(here.W_, far.W_, rtol=1e-4, atol=1e-5)


def test_given_pairs_equal_all_pairs_when_they_are_all(wine) -> None:
    X, y = wine
    every = np.column_stack(np.triu_indices(len(X), 1))
    listed, streamed = (RPDML(pairs=pairs, tol=1e-10).fit(X, y) for pairs in (every, "all"))
    assert listed.n_pairs_ == streamed.n_pairs_ == len(every)
    np.testing.assert_allclose(
        listed.get_mahalanobis_matrix(), streamed.get_mahalanobis_matrix(), rtol=1e-5, atol=1e-7
    )


def test_weights_count_copies(wine) -> None:
    """Among given pairs, a sample weight of 2 on one end of a pair is the pair twice."""
    X, y = wine
    pairs = np.array([[0, 1], [2, 60], [3, 150], [61, 62], [63, 155]])
    weight = np.ones(len(X))
    weight[60] = 2.0
    twice = np.vstack([pairs, [[2, 60]]])
    options = {"bounds": (2.0, 30.0), "C": 50.0, "tol": 1e-12}
    first = RPDML(pairs=pairs, **options).fit(X, y, sample_weight=weight)
    second = RPDML(pairs=twice, **options).fit(X, y)
    np.testing.assert_allclose(first.get_mahalanobis_matrix(), second.get_mahalanobis_matrix(), atol=1e-6)


def test_bounds_are_percentiles_of_squared_distances(wine) -> None:
    X, y = wine
    i, j = np.triu_indices(len(X), 1)
    expected = np.percentile(((X[i] - X[j]) ** 2).sum(axis=1), [10, 80])
    learner = RPDML(pairs="all", percentiles=(10, 80)).fit(X, y)
    np.testing.assert_allclose(learner.bounds_, expected)
    assert learner.bounds_are_exact_
    assert RPDML(bounds=(1.0, 2.0)).fit(X, y).bounds_ == (1.0, 2.0)


def test_a_looser_prior_is_left_alone_when_nothing_is_violated(wine) -> None:
    X, y = wine
    learner = RPDML(bounds=(1e6, 2e6), pairs=[[0, 1], [2, 3]]).fit(X, y)
    np.testing.assert_allclose(learner.get_mahalanobis_matrix(), np.eye(13), atol=1e-12)
    assert learner.objective_ == learner.dual_objective_ == pytest.approx(0.0, abs=1e-12)


def test_n_components_keeps_the_leading_directions(wine) -> None:
    X, y = wine
    full, two = RPDML(pairs="local").fit(X, y), RPDML(pairs="local", n_components=2).fit(X, y)
    assert two.transform(X).shape == (len(X), 2)
    spectrum = np.linalg.eigvalsh(full.get_mahalanobis_matrix())
    np.testing.assert_allclose(np.linalg.eigvalsh(two.get_mahalanobis_matrix())[-2:], spectrum[-2:])


def test_feature_importances_sum_to_one_and_find_the_feature() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.standard_normal((200, 5))
    X[:, 3] += 4.0 * y
    learner = RPDML(C=1000.0, pairs="all").fit(X, y)
    assert learner.feature_importances_.sum() == pytest.approx(1.0)
    assert learner.feature_importances_.argmax() == 3


def test_out_of_budget_warns_with_the_gap(wine) -> None:
    with pytest.warns(ConvergenceWarning, match="relative duality gap of"):
        learner = RPDML(C=1e4, pairs="all", max_iter=1).fit(*wine)
    assert np.isfinite(learner.duality_gap_)


def test_local_pairs_are_the_nearest() -> None:
    rng = np.random.default_rng(0)
    Z, labels = rng.standard_normal((60, 3)), np.arange(60) % 3
    pairs = {tuple(pair) for pair in LocalPairs().find(Z, labels).tolist()}
    distance = ((Z[:, None] - Z) ** 2).sum(axis=2)
    expected = set()
    for i in range(60):
        same = np.flatnonzero((labels == labels[i]) & (np.arange(60) != i))
        other = np.flatnonzero(labels != labels[i])
        near = [*same[distance[i, same].argsort()[:5]], *other[distance[i, other].argsort()[:15]]]
        expected |= {(min(i, j), max(i, j)) for j in near}
    assert pairs == expected


@pytest.mark.parametrize(
    ("sizes", "wanted"), [((30, 30), 100), ((300, 300), 400), ((59, 1), 200), ((5, 5), 1000)]
)
def test_sampled_pairs_are_distinct_and_half_of_each_kind(sizes, wanted: int) -> None:
    labels = np.repeat([0, 1], sizes)
    pairs = sampled_pairs(labels, wanted, np.random.RandomState(0))
    assert len({tuple(sorted(pair)) for pair in pairs.tolist()}) == len(pairs)
    assert (pairs[:, 0] != pairs[:, 1]).all()
    same = int((labels[pairs[:, 0]] == labels[pairs[:, 1]]).sum())
    n_same = sum(n * (n - 1) // 2 for n in sizes)
    n_other = sizes[0] * sizes[1]
    assert len(pairs) == min(wanted, n_same + n_other)
    assert same == min(max((len(pairs) + 1) // 2, len(pairs) - n_other), n_same)


def test_local_pairs_of_many_small_classes() -> None:
    """Classes of one, two, seven and ninety samples; ties aside, neighbors are those of a full search."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(24), [1] * 10 + [2] * 10 + [7] * 3 + [90]))
    Z = rng.standard_normal((len(labels), 3))
    distance = ((Z[:, None] - Z) ** 2).sum(axis=2)
    np.fill_diagonal(distance, np.inf)
    expected = set()
    for i in range(len(labels)):
        for kind, count in ((labels == labels[i], 5), (labels != labels[i], 15)):
            others = np.flatnonzero(kind & np.isfinite(distance[i]))
            near = others[distance[i, others].argsort()[:count]]
            expected |= {(min(i, j), max(i, j)) for j in near}
    assert {tuple(pair) for pair in LocalPairs().find(Z, labels).tolist()} == expected


def test_pairs_of_a_rare_kind_are_drawn_without_listing_all() -> None:
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(20_000), 2))
    pairs = sampled_pairs(labels, 1000, np.random.RandomState(0))
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    assert same.sum() == 500
    assert len({tuple(sorted(pair)) for pair in pairs.tolist()}) == 1000


def test_every_pair_is_as_likely_to_be_drawn() -> None:
    labels = np.array([1, 0, 0, 1, 0])
    rng = np.random.RandomState(0)
    counts = np.zeros((5, 5))
    for _ in range(3000):
        i, j = np.sort(sampled_pairs(labels, 4, rng), axis=1).T
        counts[i, j] += 1.0
    i, j = np.triu_indices(5, 1)
    expected = np.where(labels[i] == labels[j], 2 / 4, 2 / 6) * 3000
    np.testing.assert_allclose(counts[i, j], expected, rtol=0.1)


def test_many_equal_samples_warn_and_work() -> None:
    X = np.repeat(np.random.default_rng(0).standard_normal((6, 3)), 5, axis=0)
    y = np.repeat([0, 1, 1, 0, 1, 0], 5)
    with pytest.warns(UserWarning, match="distance zero"):
        learner = RPDML(pairs="all", percentiles=(5, 95)).fit(X, y)
    assert learner.duality_gap_ <= 1e-6


def test_equal_samples_only_are_an_error() -> None:
    with pytest.raises(ValueError, match="All samples are equal"):
        RPDML().fit(np.ones((6, 2)), [0, 1] * 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.0}, "`C` must be positive, got 0.0"),
        ({"C": -1.0}, "`C` must be positive, got -1.0"),
        ({"alpha": -1.0}, "`alpha` must not be negative"),
        ({"solver": "sgd"}, "`solver` must be"),
        ({"errata": "mine"}, "`errata` must be"),
        ({"tol": 0.0}, "`tol` must be positive"),
        ({"max_iter": 0}, "`max_iter` must be at least 1, got 0"),
        ({"max_iter": -1}, "`max_iter` must be at least 1, got -1"),
        ({"max_iter": 2.5}, "`max_iter` must be a whole number, got 2.5"),
        ({"n_components": 2.0}, "`n_components` must be a whole number, got 2.0"),
        ({"percentiles": (5, 50, 95)}, "`percentiles` must be a pair"),
        ({"bounds": (1.0, 1e200)}, "too small or too large"),
        ({"prior": "euclid"}, "`prior` must be"),
        ({"prior": -np.eye(13)}, "`prior`: A point of SPD"),
        ({"pairs": "some"}, "`pairs` must be"),
        ({"pairs": 0}, "`pairs` must be positive"),
        ({"pairs": [[0, 1000]]}, "row numbers from 0 to 177"),
        ({"pairs": [[3, 3]]}, "Pair 0 of `pairs` joins sample 3 with itself"),
        ({"pairs": [[0.5, 1.0]]}, "integer array of shape"),
        ({"bounds": (2.0, 1.0)}, "0 < u < l"),
        ({"bounds": "ab"}, "`bounds` must be a pair"),
        ({"percentiles": (95, 5)}, "`percentiles` must satisfy"),
        ({"n_components": 14}, "`n_components` must be between 1 and 13"),
    ],
)
def test_bad_parameters_are_named(wine, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RPDML(**options).fit(*wine)


@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1e100, 1e160])
@pytest.mark.parametrize("learner", [RPDML(), ITML()])
def test_features_whose_squares_overflow_are_refused(wine, learner, scale: float) -> None:
    X, y = wine
    with pytest.raises(ValueError, match=r"scale the features|All samples are equal"):
        learner.fit(scale * X, y)


def test_equal_distances_are_noticed() -> None:
    """More features than samples: under the inverse covariance all samples are equally far apart."""
    X = np.random.default_rng(0).standard_normal((30, 200))
    with pytest.warns(UserWarning, match="percentiles of the distances coincide") as caught:
        learner = RPDML(prior="covariance").fit(X, np.arange(30) % 2)
    assert caught[0].filename == __file__
    u, l = learner.bounds_  # noqa: E741
    assert l == pytest.approx(2 * u)
    assert learner.objective_ > 1.0
    assert learner.duality_gap_ <= 1e-6


def test_one_class_is_an_error(wine) -> None:
    with pytest.raises(ValueError, match="at least two classes, got 1 class"):
        RPDML().fit(wine[0], np.zeros(len(wine[0])))


def test_string_labels(wine) -> None:
    X, y = wine
    named = RPDML().fit(X, np.array(["barolo", "grignolino", "barbera"])[y])
    plain = RPDML().fit(X, y)
    np.testing.assert_allclose(named.get_mahalanobis_matrix(), plain.get_mahalanobis_matrix(), rtol=1e-6)


def test_itml_is_certified_too(wine) -> None:
    for gamma in (1e-3, 1.0, 10.0):
        assert ITML(gamma=gamma, pairs="all").fit(*wine).duality_gap_ <= 1e-6
    with pytest.raises(ValueError, match="`gamma` must be positive"):
        ITML(gamma=0.0).fit(*wine)


def test_a_learner_that_has_not_learned_says_so() -> None:
    with pytest.raises(NotFittedError):
        RPDML().get_mahalanobis_matrix()
    with pytest.raises(NotFittedError):
        RPDML().transform(np.eye(2))
    with pytest.raises(NotFittedError):
        RPDML().get_metric()


@pytest.mark.parametrize("verbose", [0, 1])
def test_iterations_are_printed_if_asked_for(wine, verbose: int, capsys: pytest.CaptureFixture) -> None:
    learner = RPDML(verbose=verbose).fit(*wine)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == verbose * len(learner.history_)
