"""NeighborRPDML: its loss against a slow loop, its optimum against another solver, its prior."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, load_wine
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler

from geodual.metric import LocalPairs, NeighborRPDML
from geodual.metric.program.space import within_space
from geodual.metric.terms.neighbor_term import NeighborTerm, neighbor_widths

COUNTS = (2, 3)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def small_problem(weighted: bool):
    rng = np.random.default_rng(3)
    Z, labels = rng.standard_normal((12, 3)), np.repeat([0, 1, 2], [6, 5, 1])
    weight = rng.uniform(0.5, 3.0, 12) if weighted else None
    return Z, labels, weight, rng.uniform(1.0, 4.0, 12)


def slow_loss(W, Z, labels, weight, width, C) -> float:
    """Return the loss by definition, with neighbors and targets under the Euclidean distance."""
    weight = np.ones(len(Z)) if weight is None else weight
    total = mass = 0.0
    for i, label in enumerate(labels):
        near = sorted((j for j in range(len(Z)) if j != i), key=lambda j: np.sum((Z[i] - Z[j]) ** 2))
        same = [j for j in near if labels[j] == label][: COUNTS[0]]
        other = [j for j in near if labels[j] != label][: COUNTS[1]]
        if not same:
            continue
        q = np.array([weight[j] * np.exp(-np.sum((Z[i] - Z[j]) ** 2) / width[i]) for j in same])
        d = {j: (Z[i] - Z[j]) @ W @ (Z[i] - Z[j]) / width[i] for j in same + other}
        value = sum(share * (d[j] - np.log(weight[j])) for share, j in zip(q / q.sum(), same, strict=True))
        total += weight[i] * (value + np.log(sum(weight[j] * np.exp(-d[j]) for j in d)))
        mass += weight[i]
    return C * total / mass


@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_and_its_derivatives(weighted: bool) -> None:
    Z, labels, weight, width = small_problem(weighted)
    near = NeighborTerm.find(Z, labels, LocalPairs(*COUNTS), width, weight, 7.0)
    rng = np.random.default_rng(0)
    root = np.linalg.qr(rng.standard_normal((3, 3)))[0] * [0.5, 1.0, 1.5]
    W = root @ root.T
    found = near.evaluate(Z @ root)

    def loss(V):
        return slow_loss(V, Z, labels, weight, width, 7.0)

    assert found.value == pytest.approx(loss(W), rel=1e-12)
    S = rng.standard_normal((3, 3))
    S, t = S + S.T, 1e-4
    there, here, back = (loss(W + step * root @ S @ root.T) for step in (t, 0.0, -t))
    assert np.vdot(found.slope_sum, S) == pytest.approx((there - back) / (2 * t), rel=1e-6)
    bend = near.curvature_product(Z @ root, S, found)
    assert np.vdot(bend, S) == pytest.approx((there - 2 * here + back) / t**2, rel=1e-4)
    # Fenchel's equality: the value and the conjugate at the slope add up to the slope times the distances.
    assert found.value + found.conjugate == pytest.approx(np.trace(found.slope_sum), rel=1e-12)


def kept_loss(learner, W, X) -> tuple[float, np.ndarray]:
    """Return the term at W from what the fit kept, and its slope for each pair, as the docstring says."""
    (i, j), q, tau, w = learner.neighbors_.T, learner.targets_, learner.widths_, learner.counts_
    V = X[i] - X[j]
    e = np.log(w[j]) - np.einsum("kf,fg,kg->k", V, W, V) / tau
    total, value, slope = w[np.unique(i)].sum(), 0.0, np.empty(len(i))
    for sample in np.unique(i):
        own = i == sample
        p = np.exp(e[own]) / np.exp(e[own]).sum()
        value += w[sample] * (np.log(np.exp(e[own]).sum()) - q[own] @ e[own])
        slope[own] = learner.C / total * w[sample] / tau[own] * (q[own] - p)
    return learner.C / total * value, slope


@pytest.mark.parametrize("prior", ["identity", "within"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_certificate_can_be_checked_from_outside(weighted: bool, prior: str) -> None:
    Z, labels, weight, _ = small_problem(weighted)
    Z, labels = np.vstack([Z, Z[:2]]), np.append(labels, labels[:2])  # with copies
    weight = None if weight is None else np.append(weight, [0.0, 2.0])
    learner = NeighborRPDML(C=20.0, prior=prior, pairs=LocalPairs(*COUNTS), tol=1e-9)
    check_certificate(learner.fit(Z, labels, sample_weight=weight), Z)


def check_certificate(learner, Z) -> None:
    """Compute objective and dual from what the fit kept."""
    W, W0 = learner.W_, learner.prior_
    value, slope = kept_loss(learner, W, Z)
    ratio = W @ np.linalg.inv(W0)
    objective = 0.5 * (np.trace(ratio) - np.linalg.slogdet(ratio)[1] - len(W)) + value
    assert objective == pytest.approx(learner.objective_, rel=1e-10)
    V = Z[learner.neighbors_[:, 0]] - Z[learner.neighbors_[:, 1]]
    P = np.linalg.inv(W0) + 2.0 * (V.T * slope) @ V
    # φ* at the slope, by Fenchel's equality.
    conjugate = slope @ np.einsum("kf,fg,kg->k", V, W, V) - value
    dual = 0.5 * np.linalg.slogdet(W0 @ P)[1] - conjugate
    assert dual <= objective
    assert (objective - dual) / objective <= 1.1 * learner.tol


@pytest.mark.parametrize("unit", [1.0, 0.1, 1e6])
def test_few_distinct_rows_of_many_classes_have_widths(unit: float) -> None:
    """Each of four places has samples of all six classes, so the five nearest are at distance zero."""
    places = unit * (0.3 + np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]))
    X, y = np.repeat(places, 18, axis=0), np.tile(np.repeat(np.arange(6), 3), 4)
    learner = NeighborRPDML().fit(X, y)
    assert learner.duality_gap_ <= 1e-6
    # Each feature varies by a quarter of its squared unit, in each class and in all; the prior W₀ makes that
    # the same number v in both. A tenth of four times the mean squared distance, 2 · 2 v, is the width.
    v = learner.prior_[0, 0] * 0.25 * unit**2
    np.testing.assert_allclose(learner.widths_, 1.6 * v, rtol=1e-9)
    check_certificate(learner, X)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("unit", [1.0, 0.1])
def test_rounding_errors_are_no_widths(seed: int, unit: float) -> None:
    rng = np.random.default_rng(seed)
    X, y = unit * (0.3 + rng.integers(0, 2, (60, 2))), rng.integers(0, 6, 60)
    learner = NeighborRPDML().fit(X, y)
    assert learner.widths_.min() > 0.05 * learner.widths_.max()
    check_certificate(learner, X)


def test_a_class_may_have_one_distinct_row_but_not_each() -> None:
    X = np.vstack([np.zeros((10, 3)), np.random.default_rng(0).standard_normal((10, 3))])
    learner = NeighborRPDML().fit(X, np.repeat([0, 1], 10))
    check_certificate(learner, X)
    with pytest.raises(ValueError, match="No class has two different samples"):
        NeighborRPDML().fit(np.repeat(np.eye(3), 10, axis=0), np.repeat([0, 1, 2], 10))


def test_the_optimum_is_that_of_another_solver() -> None:
    Z, labels, _, _ = small_problem(weighted=False)
    Z -= Z.mean(axis=0)
    learner = NeighborRPDML(C=20.0, prior="identity", pairs=LocalPairs(*COUNTS), tol=1e-12).fit(Z, labels)

    def objective(entries):
        L = entries.reshape(3, 3)
        divergence = np.sum(L**2) - 2.0 * np.linalg.slogdet(L)[1] - 3.0
        return 0.5 * divergence + kept_loss(learner, L @ L.T, Z)[0]

    rival = minimize(objective, np.eye(3).ravel(), method="BFGS", options={"gtol": 1e-7})
    assert learner.objective_ == pytest.approx(rival.fun, rel=1e-6)
    assert learner.objective_ <= rival.fun + 1e-9
    L = rival.x.reshape(3, 3)
    np.testing.assert_allclose(learner.W_, L @ L.T, atol=1e-4)
    assert learner.dual_objective_ <= rival.fun


def test_widths_are_those_of_the_definition() -> None:
    Z = np.random.default_rng(0).standard_normal((30, 4))
    Z[1] = Z[0]  # a sample with a copy in another class
    distances = np.sort(np.sum((Z[:, None] - Z) ** 2, axis=2), axis=1)
    expected = 4.0 * distances[:, 1]
    expected = np.maximum(expected, 0.1 * np.median(expected))
    np.testing.assert_allclose(neighbor_widths(Z, 1, np.arange(len(Z))), expected)
    # With fewer samples than neighbors, the farthest counts.
    np.testing.assert_allclose(
        neighbor_widths(Z[2:5], 9, np.arange(3)),
        [4.0 * max(np.sum((Z[2:5] - z) ** 2, axis=1)) for z in Z[2:5]],
    )
    with pytest.raises(ValueError, match="The samples are equal"):
        neighbor_widths(np.ones((4, 2)), 1, np.arange(4))


@pytest.mark.parametrize("shrinkage", [0.2, 1.0])
def test_the_prior_is_the_shrunk_covariance_within_classes(shrinkage: float) -> None:
    X, y = load_iris(return_X_y=True)
    X = X * [1.0, 10.0, 0.1, 1.0]
    units = X.std(axis=0, ddof=1)
    residual = np.vstack([X[y == c] - X[y == c].mean(axis=0) for c in range(3)]) / units
    R = residual.T @ residual
    M = (1.0 - shrinkage) * R * 4 / np.trace(R) + shrinkage * np.eye(4)
    expected = np.linalg.inv(M) / np.outer(units, units)
    space = within_space(X, y, None, shrinkage)
    np.testing.assert_allclose(space.lift(space.prior), expected, rtol=1e-9)
    np.testing.assert_allclose(space.prior_inverse, np.linalg.inv(expected), rtol=1e-9)


def test_more_features_than_samples_are_the_same_program() -> None:
    """In the span of the samples, against the prior as a dense matrix."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((20, 30)), np.arange(20) % 2
    X[:, 0] += 2.0 * y
    units = X.std(axis=0, ddof=1)
    residual = np.vstack([X[y == c] - X[y == c].mean(axis=0) for c in range(2)]) / units
    R = residual.T @ residual
    W0 = np.linalg.inv(0.5 * R * 30 / np.trace(R) + 0.5 * np.eye(30)) / np.outer(units, units)
    space = within_space(X, y, None, 0.5)
    np.testing.assert_allclose(space.lift(space.prior), W0, atol=1e-9)
    ours, dense = (NeighborRPDML(C=50.0, prior=prior, tol=1e-11).fit(X, y) for prior in ("within", W0))
    assert ours.objective_ == pytest.approx(dense.objective_, rel=1e-8)
    np.testing.assert_allclose(ours.W_, dense.W_, atol=1e-5)
    np.testing.assert_allclose(ours.components_.T @ ours.components_, ours.W_, atol=1e-9)


def test_whole_weights_are_copies(wine) -> None:
    X, y = wine[0][::4], wine[1][::4]
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    counted = NeighborRPDML(C=100.0, tol=1e-10).fit(X, y, sample_weight=weight)
    repeated = NeighborRPDML(C=100.0, tol=1e-10).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(counted.W_, repeated.W_, rtol=1e-4, atol=1e-5)


def test_units_of_features_do_not_matter(wine) -> None:
    X, y = wine
    scale = np.geomspace(1e-3, 1e3, X.shape[1])
    plain, scaled = (NeighborRPDML(C=100.0, tol=1e-10).fit(data, y) for data in (X, X * scale))
    np.testing.assert_allclose(scaled.W_ * np.outer(scale, scale), plain.W_, rtol=1e-4, atol=1e-6)


def test_the_likelihood_is_better_than_that_of_an_early_metric(wine) -> None:
    """On the training samples, a larger C gives the right neighbors more probability, as NCA wants it."""
    X, y = wine

    def likelihood(Z):
        d = np.sum((Z[:, None] - Z) ** 2, axis=2)
        np.fill_diagonal(d, np.inf)
        p = np.exp(-d / (4.0 * np.sort(d, axis=1)[:, 4:5]))
        return np.mean((p * (y[:, None] == y)).sum(axis=1) / p.sum(axis=1))

    found = [likelihood(NeighborRPDML(C=C).fit_transform(X, y)) for C in (1.0, 100.0, 3000.0)]
    assert found == sorted(found)
    assert found[-1] > likelihood(NeighborhoodComponentsAnalysis(random_state=0).fit_transform(X, y))


def test_samples_alone_in_their_class_are_neighbors_only(wine) -> None:
    X, y = wine
    assert NeighborRPDML().fit(X, np.where(np.arange(len(y)) == 70, 9, y)).duality_gap_ <= 1e-6
    with pytest.raises(ValueError, match="No class has two different samples"):
        NeighborRPDML().fit(X[:4], np.arange(4))
    with pytest.raises(ValueError, match="No class has two different samples"):
        NeighborRPDML().fit(np.repeat(X[:2], 3, axis=0), np.repeat([0, 1], 3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.0}, "`C` must be positive"),
        ({"shrinkage": 0.0}, "`shrinkage` must be positive, got 0.0"),
        ({"shrinkage": 2.0}, r"`shrinkage` must lie in \[0, 1\], got 2.0"),
        ({"prior": "between"}, "`prior` must be \"within\", .* got 'between'"),
        ({"prior": -np.eye(13)}, "`prior`"),
        ({"pairs": "all"}, "`pairs` must be \"local\" or LocalPairs, got 'all'"),
        ({"pairs": [[0, 1]]}, '`pairs` must be "local" or LocalPairs'),
        ({"tol": 0.0}, "`tol` must be positive"),
    ],
)
def test_bad_parameters_are_named(wine, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NeighborRPDML(**options).fit(*wine)


def test_unknown_labels_change_nothing(wine) -> None:
    X, y = wine
    partly = np.where(np.arange(len(y)) % 3 > 0, y, -1)
    with pytest.warns(UserWarning, match="60 of 178 samples have the label −1"):
        learner = NeighborRPDML().fit(X, partly)
    np.testing.assert_array_equal(learner.W_, NeighborRPDML().fit(X[partly >= 0], y[partly >= 0]).W_)


@pytest.mark.parametrize("scale", [1e-3, 1.0])
def test_widths_follow_the_median_and_not_the_largest(scale: float) -> None:
    Z = scale * np.append(np.arange(12.0), [1e3])[:, None]
    d = np.sort(cdist(Z, Z, "sqeuclidean"), axis=1)[:, 2]
    np.testing.assert_allclose(
        neighbor_widths(Z, 2, np.arange(len(Z))), 4.0 * np.maximum(d, 0.1 * np.median(d)), rtol=1e-9
    )
