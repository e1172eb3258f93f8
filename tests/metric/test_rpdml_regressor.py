"""RPDMLRegressor: its program, weights and copies, predictions, and what it does with odd input."""

import warnings

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor, NearestNeighbors

from geodual.metric import RPDMLRegressor
from geodual.metric.selection.targets import counted_ranks, nearest_pairs, random_pairs
from geodual.metric.terms.graded_term import GradedTerm

ALL = 10**6  # more random pairs than there are: all of them


def in_neighbors(*args, **parameters) -> RPDMLRegressor:
    return RPDMLRegressor(*args, **parameters, predictor="neighbors")


@pytest.fixture(scope="module")
def friedman():
    return make_friedman1(120, 7, noise=0.5, random_state=0)


def all_pairs(X, y, prior):
    """Return differences and bounds of all pairs, and the mean bound, as the docstring defines them."""
    i, j = np.triu_indices(len(X), 1)
    v, ranks = X[i] - X[j], rankdata(y) / len(y)
    d0 = np.einsum("kf,fg,kg->k", v, prior, v)
    grades = (ranks[i] - ranks[j]) ** 2
    return v, grades * d0.mean() / grades.mean(), d0.mean()


def objective(W, v, b, unit, C, prior):
    ratio = np.linalg.solve(prior, W)
    divergence = np.trace(ratio) - np.linalg.slogdet(ratio)[1] - len(W)
    d = np.einsum("kf,fg,kg->k", v, W, v)
    return 0.5 * divergence + 0.5 * C * np.mean(((d - b) / unit) ** 2)


@pytest.mark.parametrize("n_samples", [40, 5])  # more and fewer samples than features
def test_the_matrix_is_optimal(n_samples: int) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(n_samples, 6)), rng.normal(size=n_samples)
    prior = np.diag(rng.uniform(0.5, 2.0, 6))
    model = RPDMLRegressor(C=30.0, prior=prior, pairs=ALL, tol=1e-12).fit(X, y)
    v, b, unit = all_pairs(X, y, prior)
    assert model.n_pairs_ == len(v)
    assert model.objective_ == pytest.approx(objective(model.W_, v, b, unit, 30.0, prior), rel=1e-9)
    # The gradient ½ (W₀⁻¹ − W⁻¹) + C/m Σ (d − b)/b̄² v vᵀ vanishes.
    excess = (np.einsum("kf,fg,kg->k", v, model.W_, v) - b) / unit**2
    gradient = 0.5 * (np.linalg.inv(prior) - np.linalg.inv(model.W_)) + 30.0 * (v.T * excess) @ v / len(v)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-5)


def test_the_dual_bounds_every_metric(friedman) -> None:
    X, y = friedman[0][:40], friedman[1][:40]
    model = RPDMLRegressor(pairs=ALL, tol=1e-3).fit(X, y)
    v, b, unit = all_pairs(X, y, np.eye(7))
    assert model.dual_objective_ <= model.objective_ <= model.dual_objective_ * (1.0 + 1.1e-3)
    best = RPDMLRegressor(pairs=ALL, tol=1e-12).fit(X, y).W_
    assert model.dual_objective_ <= objective(best, v, b, unit, 100.0, np.eye(7)) * (1.0 + 1e-12)


def test_one_feature_is_a_quadratic_equation() -> None:
    X, y = np.array([[0.0], [1.0], [3.0], [4.5]]), np.array([2.0, 1.0, 5.0, 3.0])
    model = RPDMLRegressor(C=10.0, tol=1e-11).fit(X, y)
    v, b, unit = all_pairs(X, y, np.eye(1))
    # The derivative ½ (1 − 1/w) + C mean((w v² − b) v²)/b̄² is zero; times 2 w:
    square, linear = np.mean(v[:, 0] ** 4) / unit**2, np.mean(b * v[:, 0] ** 2) / unit**2
    w = np.roots([20.0 * square, 1.0 - 20.0 * linear, -1.0]).max()
    assert model.W_[0, 0] == pytest.approx(w, rel=1e-5)


def test_features_that_matter_are_found() -> None:
    model = RPDMLRegressor(C=1000.0).fit(*make_friedman1(400, 7, random_state=0))
    assert model.feature_importances_[5:].max() < 0.5 * model.feature_importances_[:5].min()
    assert model.duality_gap_ <= 1e-6


def test_random_pairs_find_the_direction_of_a_linear_target() -> None:
    rng = np.random.default_rng(0)
    X, slope = rng.normal(size=(500, 6)), np.array([3.0, -2.0, 0.0, 0.0, 0.0, 1.0])
    model = RPDMLRegressor(C=1e4, pairs=5000, n_components=1, random_state=0).fit(X, X @ slope)
    direction = model.components_[0] / np.linalg.norm(model.components_)
    assert abs(direction @ slope) > 0.995 * np.linalg.norm(slope)


@pytest.mark.parametrize("pairs", ["local", 300])
def test_only_ranks_of_targets_count(friedman, pairs) -> None:
    X, y = friedman
    model = RPDMLRegressor(pairs=pairs, random_state=0)
    W = model.fit(X, y).W_
    np.testing.assert_allclose(model.fit(X, np.exp(y)).W_, W, rtol=1e-9, atol=1e-12)
    outlier = np.where(y == y.max(), 1e9, y)
    np.testing.assert_allclose(model.fit(X, outlier).W_, W, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("pairs", ["local", 300])
@pytest.mark.parametrize("weights", ["distance", "uniform"])
def test_whole_weights_are_copies(friedman, pairs, weights: str) -> None:
    X, y = friedman
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, len(X))
    order = rng.permutation(int(counts.sum()))
    model = in_neighbors(5, weights, prior="covariance", pairs=pairs, random_state=0)
    weighted = model.fit(X, y, sample_weight=counts)
    W, prediction = weighted.W_, weighted.predict(X)
    repeated = model.fit(np.repeat(X, counts, axis=0)[order], np.repeat(y, counts)[order])
    np.testing.assert_allclose(repeated.W_, W, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(repeated.predict(X), prediction, rtol=1e-6)
    np.testing.assert_allclose(
        model.fit(X, y, sample_weight=1e100 * counts).predict(X), prediction, rtol=1e-6
    )


@pytest.mark.parametrize("weights", ["distance", "uniform"])
def test_predictions_are_those_of_nearest_neighbors(friedman, weights: str) -> None:
    X, y = friedman
    model = in_neighbors(4, weights, n_components=3).fit(X[:80], y[:80])
    peer = KNeighborsRegressor(4, weights=weights).fit(model.transform(X[:80]), y[:80])
    np.testing.assert_allclose(model.predict(X), peer.predict(model.transform(X)), rtol=1e-9)
    everything = in_neighbors(1000, "uniform").fit(X[:80], y[:80])
    np.testing.assert_allclose(everything.predict(X), y[:80].mean())


def test_copies_are_one_neighbor_with_their_mean_target() -> None:
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]], [2, 20, 1], axis=0)
    y = np.concatenate([[1.0, 3.0], np.arange(20.0), [50.0]])
    model = in_neighbors(2).fit(X, y)
    np.testing.assert_allclose(model.predict([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]]), [2.0, 9.5, 50.0])
    assert model.n_pairs_ == 3


def test_equal_targets_of_all_neighbors_are_no_failure() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 100.0])
    model = in_neighbors().fit(X, np.repeat([0.0, 1.0], 30))
    assert np.isfinite(model.W_).all()
    assert model.duality_gap_ <= 1e-6
    np.testing.assert_allclose(model.predict([[0.0, 0.0], [100.0, 100.0]]), [0.0, 1.0])


def test_a_grid_search_chooses_its_parameters(friedman) -> None:
    search = GridSearchCV(in_neighbors(tol=1e-3), {"C": [1.0, 100.0], "n_neighbors": [1, 5]}, cv=3)
    assert search.fit(*friedman).best_params_ == {"C": 100.0, "n_neighbors": 5}


def test_a_short_budget_gives_a_warning(friedman) -> None:
    with pytest.warns(ConvergenceWarning, match="RPDMLRegressor stopped at a relative duality gap"):
        model = RPDMLRegressor(C=1e4, max_iter=1).fit(*friedman)
    assert model.duality_gap_ > 1e-6


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "`n_neighbors` must be at least 1, got 0"),
        ({"weights": "near"}, '`weights` must be "distance" or "uniform", got \'near\''),
        ({"C": -1.0}, "`C` must be positive, got -1.0"),
        ({"pairs": "all"}, "`pairs` must be \"local\" or a number of pairs, got 'all'"),
        ({"pairs": np.array([[0, 1]])}, '`pairs` must be "local" or a number of pairs'),
        ({"pairs": 0}, "`pairs` must be at least 1, got 0"),
        ({"tol": 0.0}, "`tol` must be positive, got 0.0"),
        ({"prior": "diagonal"}, "`prior` must be"),
        ({"n_components": 8}, "`n_components` must be between 1 and 7, got 8"),
    ],
)
def test_wrong_parameters_are_errors(friedman, parameters, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RPDMLRegressor(**parameters).fit(*friedman)


def test_data_without_differences_are_errors(friedman) -> None:
    X, y = friedman
    with pytest.raises(ValueError, match="`y` must have at least two different values"):
        RPDMLRegressor().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="`y` must have at least two different values"):
        RPDMLRegressor().fit(X, y, sample_weight=np.eye(len(X))[0])
    with pytest.raises(ValueError, match="All samples are equal"):
        RPDMLRegressor().fit(np.ones((5, 2)), np.arange(5.0))
    with pytest.raises(ValueError, match="scale the features"):
        RPDMLRegressor().fit(1e-90 * X, y)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        RPDMLRegressor().fit(X, np.full(len(X), np.nan))


@pytest.mark.parametrize("size", [1e160, 1e308])
def test_samples_too_far_away_for_a_prediction_are_an_error(friedman, size: float) -> None:
    model = in_neighbors().fit(*friedman)
    with pytest.raises(ValueError, match=r"`X` has values up to .*; scale the features"):
        model.predict(np.full((1, 7), size))
    small = in_neighbors(prior=1e30 * np.eye(7)).fit(1e-15 * friedman[0], friedman[1])
    with pytest.raises(ValueError, match=r"distances of the samples are too .* large"):
        small.predict(np.full((1, 7), 1e149))


@pytest.mark.parametrize("pairs", ["local", 300])
@pytest.mark.parametrize(("largest", "others"), [(1e200, 1e-200), (1.0, 1e-310), (1e-300, 1e-320)])
def test_weights_whose_products_vanish(friedman, pairs, largest: float, others: float) -> None:
    """Only the ratios of the pairs that weigh most are left: those with the first sample."""
    X, y = friedman
    first = np.arange(len(X)) == 0
    model = RPDMLRegressor(pairs=pairs, random_state=0)
    expected = model.fit(X, y, sample_weight=np.where(first, 1.0, 1e-12)).W_
    found = model.fit(X, y, sample_weight=np.where(first, largest, others))
    assert found.duality_gap_ <= 1e-6
    np.testing.assert_allclose(found.W_, expected, rtol=1e-4, atol=1e-4)


def test_ranks_count_copies() -> None:
    rng = np.random.default_rng(0)
    values, counts = rng.integers(0, 5, 20).astype(float), rng.integers(1, 4, 20)
    repeated = np.repeat(values, counts)
    expected = (rankdata(repeated) - 0.5) / len(repeated)
    np.testing.assert_allclose(np.repeat(counted_ranks(values, counts), counts), expected)


def test_random_pairs_are_different_pairs() -> None:
    some = random_pairs(50, 300, np.random.RandomState(0))
    assert len(np.unique(some, axis=0)) == 300
    assert ((some[:, 0] >= 0) & (some[:, 0] < some[:, 1]) & (some[:, 1] < 50)).all()
    everything = random_pairs(6, 100, np.random.RandomState(0))
    np.testing.assert_array_equal(np.unique(everything, axis=0), np.column_stack(np.triu_indices(6, 1)))


def test_nearest_pairs_are_those_of_a_slow_search() -> None:
    Z = np.random.default_rng(0).normal(size=(30, 3))
    near = NearestNeighbors(n_neighbors=4).fit(Z).kneighbors(return_distance=False)
    expected = sorted({(min(i, j), max(i, j)) for i in range(30) for j in near[i].tolist()})
    np.testing.assert_array_equal(nearest_pairs(Z, 4), expected)
    assert len(nearest_pairs(Z[:3], 100)) == 3


@pytest.mark.parametrize("n_features", [3, 20])  # sums from differences, and from products over samples
@pytest.mark.parametrize("far", [0.0, 1e7])  # far clusters: products over samples would lose digits
def test_sums_over_graded_pairs_are_those_of_a_loop(n_features: int, far: float) -> None:
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(40, n_features)) + far * (np.arange(40) < 20)[:, None]
    indices = np.vstack([random_pairs(20, 90, np.random.RandomState(k)) + 20 * k for k in (0, 1)])
    bounds, weight = rng.uniform(0.0, 9.0, 180), rng.uniform(0.1, 2.0, 180)
    pairs, rho = GradedTerm(indices, bounds, weight, 3.0), 3.0
    S = rng.normal(size=(n_features, n_features))
    S = S + S.T
    value = conjugate = 0.0
    slope_sum, product, moment = np.zeros((3, n_features, n_features))
    for (i, j), b, w in zip(indices, bounds, weight, strict=True):
        v = Z[i] - Z[j]
        a = w * (v @ v - b) / rho
        value += 0.5 * w * (v @ v - b) ** 2 / rho
        conjugate += a * (v @ v) - 0.5 * w * (v @ v - b) ** 2 / rho  # equality of Fenchel and Young
        slope_sum += a * np.outer(v, v)
        product += w / rho * (v @ S @ v) * np.outer(v, v)
        moment += w / rho * np.outer(v, v)
    found = pairs.evaluate(Z)
    close = {"rtol": 1e-9, "atol": 1e-9 * np.abs(slope_sum).max()}
    assert found.value == pytest.approx(value)
    assert found.conjugate == pytest.approx(conjugate)
    assert found.curvature_total == pytest.approx(weight.sum() / rho)
    np.testing.assert_allclose(found.slope_sum, slope_sum, **close)
    np.testing.assert_allclose(pairs.curvature_product(Z, S, found), product, **close)
    if not far:
        np.testing.assert_allclose(pairs.curvature_moment(Z, found), moment, rtol=1e-9, atol=1e-9)


def test_clusters_far_apart_still_get_a_certificate() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 20)) + 1e6 * (np.arange(60) < 30)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RPDMLRegressor().fit(X, X[:, 0] + X[:, 1] ** 2)
    assert model.duality_gap_ <= 1e-6


def test_a_fit_that_needs_no_step_has_taken_one_iteration(friedman) -> None:
    assert RPDMLRegressor(C=1e-12, tol=0.5).fit(*friedman).n_iter_ == 1


def test_predictions_need_the_features_of_the_fit(friedman) -> None:
    X, y = friedman
    learner = RPDMLRegressor().fit(X[:, :3], y)
    with pytest.raises(ValueError, match="3 features"):
        learner.predict(X[:, :2])
    assert learner.n_features_in_ == 3
