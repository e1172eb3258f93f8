"""LMNN against sums over explicit triples, closed-form optima and its own bound."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from geodual.manifolds import Euclidean
from geodual.metric.estimators.lmnn import LMNN
from geodual.metric.margin.large_margin import LargeMargin, target_neighbors
from geodual.optimize import Problem, check_gradient


def explicit_targets(X, y, k):
    targets = []
    for i in range(len(X)):
        members = [j for j in range(len(X)) if y[j] == y[i] and j != i]
        targets.append(sorted(members, key=lambda j: np.linalg.norm(X[i] - X[j]))[:k])
    return targets


def explicit_objective(X, y, L, k, regularization=0.5, weight=None):
    """The sum over triples, one by one."""
    weight = np.ones(len(X)) if weight is None else weight
    D = cdist(X @ L.T, X @ L.T, "sqeuclidean")
    pull = push = 0.0
    for i, targets in enumerate(explicit_targets(X, y, k)):
        for j in targets:
            pull += weight[i] * D[i, j]
            hinges = [max(1.0 + D[i, j] - D[i, m], 0.0) for m in range(len(X)) if y[m] != y[i]]
            push += weight[i] * sum(hinges)
    return regularization * pull + (1.0 - regularization) * push


def make_samples(seed=0, sizes=(14, 10, 8), n_features=4):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.standard_normal((len(y), n_features)) @ rng.standard_normal((n_features, n_features))
    return X + rng.standard_normal((len(sizes), n_features))[y], y


@pytest.mark.parametrize("sizes", [(14, 10, 8), (6, 2, 1), (1, 1, 4)])
@pytest.mark.parametrize("scale", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_is_the_sum_over_triples(sizes, scale, weighted):
    X, y = make_samples(1, sizes)
    L = scale * np.random.default_rng(2).standard_normal((3, 4))
    weight = np.random.default_rng(3).uniform(0.5, 4.0, len(X)) if weighted else None
    objective = LargeMargin(X, y, target_neighbors(X, y, 3), 0.3, weight)
    result, _ = objective.value_and_gradient(L, 0.2)
    assert result.objective == pytest.approx(explicit_objective(X, y, L, 3, 0.3, weight), rel=1e-12)


def test_smoothing_is_from_above_and_falls_with_the_width():
    X, y = make_samples(3)
    objective = LargeMargin(X, y, target_neighbors(X, y, 3), 0.5)
    L = 0.5 * np.random.default_rng(4).standard_normal((4, 4))
    passes = [objective.value_and_gradient(L, width)[0] for width in (1.0, 0.3, 0.1, 0.01)]
    n_triples = 3 * int((y[:, None] != y).sum())
    for width, result in zip((1.0, 0.3, 0.1, 0.01), passes, strict=True):
        assert result.objective <= result.smoothed <= result.objective + 0.5 * n_triples * width / 8.0
    smoothed = [result.smoothed for result in passes]
    assert smoothed == sorted(smoothed, reverse=True)
    assert smoothed[0] > smoothed[-1]


@pytest.mark.parametrize("n_components", [1, 4])
@pytest.mark.parametrize("scale", [0.2, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gradient_passes_the_slope_check(n_components, scale, weighted):
    X, y = make_samples(5, sizes=(14, 10, 1))
    weight = np.random.default_rng(7).uniform(0.5, 4.0, len(X)) if weighted else None
    objective = LargeMargin(X, y, target_neighbors(X, y, 3), 0.4, weight)
    problem = Problem(
        Euclidean(n_components, 4),
        lambda L: objective.value_and_gradient(L, 0.5)[0].smoothed,
        gradient=lambda L: objective.value_and_gradient(L, 0.5)[1],
    )
    L = scale * np.random.default_rng(6).standard_normal((n_components, 4))
    assert check_gradient(problem, L), str(check_gradient(problem, L))


def test_two_classes_on_a_line():
    """Pull 4w/2 against hinges that vanish one by one, the last at w = 1/80, where the minimum is."""
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    model = LMNN(n_neighbors=1, tol=1e-6).fit(X, ["a", "a", "b", "b"])
    assert model.get_mahalanobis_matrix().item() == pytest.approx(1.0 / 80.0, rel=1e-3)
    assert model.objective_ == pytest.approx(2.0 / 80.0, rel=1e-3)


def test_a_feature_that_only_separates_targets_gets_no_weight():
    """Classes differ in the first feature; the second is noise, of which the optimum is free."""
    rng = np.random.default_rng(7)
    y = np.repeat([0, 1], 30)
    X = np.column_stack([y + 0.1 * rng.standard_normal(60), rng.standard_normal(60)])
    W = LMNN().fit(X, y).get_mahalanobis_matrix()
    assert W[1, 1] < 1e-2 * W[0, 0]


def test_attributes_belong_together():
    X, y = make_samples(8, sizes=(40, 30, 30))
    model = LMNN(n_neighbors=2, regularization=0.6).fit(X, y)
    assert model.objective_ == pytest.approx(explicit_objective(X, y, model.components_, 2, 0.6), rel=1e-10)
    assert 0.0 <= model.dual_objective_ <= model.objective_
    gap = (model.objective_ - model.dual_objective_) / model.objective_
    assert model.duality_gap_ == pytest.approx(gap)
    assert model.duality_gap_ < 0.05
    assert len(model.history_) == model.n_iter_ + 1
    assert model.history_[-1] == model.objective_
    assert (np.diff(model.history_) <= 0.0).all()
    assert model.history_[0] > 1.1 * model.objective_


def test_a_smaller_tolerance_gets_nearer_to_the_optimum():
    X, y = make_samples(9, sizes=(40, 30, 30))
    loose, tight = (LMNN(tol=tol).fit(X, y) for tol in (1e-1, 1e-5))
    assert tight.objective_ < loose.objective_
    assert loose.dual_objective_ <= tight.objective_
    assert tight.duality_gap_ < 1e-3


def test_a_spent_budget_is_said():
    X, y = make_samples(10, sizes=(40, 30, 30))
    with pytest.warns(ConvergenceWarning, match=r"LMNN stopped after 3 iterations.*can decrease by at most"):
        model = LMNN(max_iter=3).fit(X, y)
    assert model.n_iter_ == 3
    assert (np.diff(model.history_) <= 0.0).all()


@pytest.mark.parametrize("distance", [1e4, 1e6])
def test_clusters_far_apart_do_not_pass_for_an_optimum(distance):
    """Two pairs of classes: how far apart the pairs are hardly matters for the optimum, which is 1111."""
    X, y = np.random.default_rng(1).normal(size=(120, 3)), np.repeat([0, 1, 2, 3], 30)
    near, far = X + [[10.0, 0.0, 0.0]] * (y > 1)[:, None], X + [[distance, 0.0, 0.0]] * (y > 1)[:, None]
    assert LMNN().fit(near, y).objective_ == pytest.approx(1111.1, rel=1e-3)
    with pytest.warns(ConvergenceWarning, match="clusters that are far apart") as caught:
        model = LMNN().fit(far, y)
    assert caught[0].filename == __file__
    assert model.duality_gap_ > 0.5


def test_a_spent_budget_says_truly_how_far_a_small_objective_can_fall():
    """Below 1 the gap is absolute, so that it is no share of the objective."""
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    with pytest.warns(ConvergenceWarning, match="LMNN stopped") as caught:
        model = LMNN(n_neighbors=1, tol=1e-9, max_iter=4).fit(X, [0, 0, 1, 1])
    assert model.objective_ < 1.0
    fall = model.objective_ - model.dual_objective_
    assert f"at most {fall:.3g};" in str(caught[0].message)


def test_fits_are_repeatable_and_do_not_depend_on_the_order_of_samples():
    X, y = make_samples(11, sizes=(40, 30, 30))
    order = np.random.default_rng(12).permutation(len(X))
    first, again, shuffled = LMNN().fit(X, y), LMNN().fit(X, y), LMNN().fit(X[order], y[order])
    np.testing.assert_array_equal(first.components_, again.components_)
    assert shuffled.objective_ == pytest.approx(first.objective_, rel=1e-3)


def test_labels_may_be_strings():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    np.testing.assert_array_equal(LMNN().fit(X, names).components_, LMNN().fit(X, y).components_)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_scale_of_the_samples_does_not_matter(scale):
    X, y = make_samples(13, sizes=(40, 30, 30))
    plain, scaled = LMNN().fit(X, y), LMNN().fit(scale * X, y)
    np.testing.assert_allclose(scaled.transform(scale * X), plain.transform(X), rtol=1e-6, atol=1e-8)
    assert scaled.objective_ == pytest.approx(plain.objective_, rel=1e-9)


def test_features_may_have_units_far_apart():
    """Targets are the neighbors along the huge feature; tiny ones still matter for the metric."""
    rng = np.random.default_rng(14)
    y = np.repeat([0, 1], 40)
    X = np.column_stack([1e12 * rng.standard_normal(80), 1e-12 * (y + 0.1 * rng.standard_normal(80))])
    Z = LMNN().fit(X, y).transform(X)
    assert KNeighborsClassifier(3).fit(Z, y).score(Z, y) == 1.0


def test_constant_and_collinear_features_change_nothing():
    X, y = make_samples(15, sizes=(40, 30, 30))
    turn = np.linalg.qr(np.random.default_rng(16).standard_normal((7, 4)))[0]
    plain = LMNN().fit(X, y)
    wider = LMNN().fit(np.column_stack([X @ turn.T, np.full(len(X), 0.1)]), y)
    assert wider.components_.shape == (8, 8)
    assert wider.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    np.testing.assert_array_equal(wider.components_[:, 7], 0.0)


def test_rows_that_are_all_repeated_have_the_metric_of_the_rows():
    """A copy is no target: at distance zero it would say nothing about the metric."""
    X, y = make_samples(17)
    model, repeated = LMNN().fit(X, y), LMNN().fit(np.repeat(X, 4, axis=0), np.repeat(y, 4))
    np.testing.assert_array_equal(repeated.W_, model.W_)
    assert repeated.objective_ == model.objective_


@pytest.mark.parametrize("unit", [1.0, 0.3, 1e-50])
def test_whole_weights_are_copies(unit: float) -> None:
    X, y = make_samples(24, sizes=(20, 15, 10))
    rng = np.random.default_rng(25)
    weight = rng.integers(0, 4, len(X))
    order = rng.permutation(int(weight.sum()))
    counted = LMNN().fit(X, y, sample_weight=unit * weight)
    repeated = LMNN().fit(np.repeat(X, weight, axis=0)[order], np.repeat(y, weight)[order])
    np.testing.assert_allclose(counted.W_, repeated.W_, rtol=1e-3, atol=1e-3 * np.abs(repeated.W_).max())
    assert counted.objective_ == pytest.approx(repeated.objective_, rel=1e-3)
    np.testing.assert_allclose(counted.feature_importances_, repeated.feature_importances_, atol=1e-3)
    if unit == 1.0:  # the same steps
        np.testing.assert_array_equal(counted.W_, repeated.W_)


@pytest.mark.parametrize("unit", [1.0, 7.0, 1e-50])
def test_equal_weights_are_none_and_zeros_leave_out(unit: float) -> None:
    X, y = make_samples(26, sizes=(20, 15, 10))
    used = np.arange(len(X)) % 4 > 0
    plain, some = LMNN().fit(X, y), LMNN().fit(X[used], y[used])
    np.testing.assert_array_equal(LMNN().fit(X, y, sample_weight=np.full(len(X), unit)).W_, plain.W_)
    np.testing.assert_array_equal(LMNN().fit(X, y, sample_weight=unit * used).W_, some.W_)


def test_weighted_attributes_belong_together() -> None:
    X, y = make_samples(27, sizes=(40, 30, 30))
    weight = np.where(y == 0, 5.0, 0.5) * np.random.default_rng(28).uniform(0.5, 2.0, len(X))
    model = LMNN(tol=1e-4).fit(X, y, sample_weight=weight)
    relative = weight / weight.mean()
    expected = explicit_objective(X, y, model.components_, 3, weight=relative)
    assert model.objective_ == pytest.approx(expected, rel=1e-10)
    assert 0.0 <= model.dual_objective_ <= model.objective_
    assert model.duality_gap_ < 0.02
    # The metric without weights is not the optimum with weights, and the bound holds for it too.
    plain = explicit_objective(X, y, LMNN(tol=1e-4).fit(X, y).components_, 3, weight=relative)
    assert model.dual_objective_ < model.objective_ < 0.999 * plain


def test_weights_are_checked() -> None:
    X, y = make_samples()
    with pytest.raises(ValueError, match="positive for samples of at least two classes"):
        LMNN().fit(X, y, sample_weight=y == 0)
    with pytest.raises(ValueError, match="a class of at least two different samples"):
        LMNN().fit(X, y, sample_weight=np.isin(np.arange(len(X)), [0, 20]))


def test_equal_samples_of_different_classes_cost_a_margin():
    """Each of 20 points is there in both classes: 1 + d(i, j) for each target j, and no metric helps."""
    X = np.random.default_rng(18).standard_normal((20, 3))
    model = LMNN(n_neighbors=1, tol=1e-5).fit(np.vstack([X, X]), np.repeat([0, 1], 20))
    assert model.dual_objective_ >= 20.0
    assert model.duality_gap_ < 0.05


def test_more_features_than_samples_are_separated_by_the_margin():
    X, y = np.random.default_rng(19).standard_normal((30, 100)), np.repeat([0, 1, 2], 10)
    model = LMNN().fit(X, y)
    assert model.objective_ == pytest.approx(0.0, abs=1e-3)
    D = cdist(model.transform(X), model.transform(X), "sqeuclidean")
    assert D[y[:, None] != y].min() > 0.9
    assert model.components_.shape == (100, 100)


def test_small_classes_use_the_targets_they_have():
    X, y = make_samples(20, sizes=(30, 2, 1))
    model = LMNN(n_neighbors=5).fit(X, y)
    assert model.objective_ == pytest.approx(explicit_objective(X, y, model.components_, 5), rel=1e-10)


def test_fewer_components_are_a_harder_program():
    X, y = make_samples(21, sizes=(40, 30, 30))
    full = LMNN().fit(X, y)
    for n_components in (1, 2, 3):
        model = LMNN(n_components=n_components).fit(X, y)
        assert model.components_.shape == (n_components, 4)
        assert full.dual_objective_ <= model.objective_
        assert model.objective_ == pytest.approx(explicit_objective(X, y, model.components_, 3), rel=1e-10)


def test_it_improves_nearest_neighbors():
    X, y = make_classification(
        300, 30, n_informative=6, n_redundant=0, class_sep=1.0, n_clusters_per_class=3, random_state=0
    )
    plain = cross_val_score(KNeighborsClassifier(), X, y)
    learned = cross_val_score(make_pipeline(LMNN(), KNeighborsClassifier()), X, y)
    assert learned.mean() > plain.mean() + 0.03


def test_verbose_prints_a_line_per_iteration(capsys):
    model = LMNN(verbose=1).fit(*make_samples(22))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("LMNN: iteration 1, objective ")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "`n_neighbors` must be at least 1, got 0"),
        ({"regularization": 1.0}, "`regularization` must lie between 0 and 1, got 1.0"),
        ({"max_iter": 0}, "`max_iter` must be at least 1, got 0"),
        ({"tol": 0.0}, "`tol` must be positive, got 0.0"),
        ({"n_components": 5}, "`n_components` must be between 1 and 4, got 5"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        LMNN(**parameters).fit(*make_samples())


def test_classes_of_one_sample_each_are_refused():
    with pytest.raises(ValueError, match="a class of at least two different samples"):
        LMNN().fit(np.eye(4), [0, 1, 2, 3])


def test_equal_samples_are_refused():
    with pytest.raises(ValueError, match="All samples are equal"):
        LMNN().fit(np.full((6, 2), 0.1), [0, 0, 0, 1, 1, 1])


def test_a_huge_tolerance_ends_at_once_and_does_not_overflow() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="a smaller `tol` may help"):
        assert LMNN(tol=1e300).fit(X, y).n_iter_ <= 10


@pytest.mark.parametrize("n_components", [None, 2])
def test_the_matrix_is_that_of_the_map(n_components) -> None:
    X, y = make_samples(23)
    model = LMNN(n_components=n_components).fit(X, y)
    i, j = np.triu_indices(len(X), 1)
    V = X[i] - X[j]
    Z = model.transform(X)
    squares = np.sum((Z[i] - Z[j]) ** 2, axis=1)
    np.testing.assert_allclose(np.einsum("kf,fg,kg->k", V, model.W_, V), squares, atol=1e-10 * squares.max())
    assert np.linalg.matrix_rank(model.W_) <= (n_components or 4)
