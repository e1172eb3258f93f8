"""FeatureWeights: its loss against slow loops, its certificate from outside, its optimum by other solvers."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.sparse import csc_matrix, csr_array, csr_matrix
from scipy.special import xlogy
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale

from geodual.metric import FeatureWeights, LocalPairs
from geodual.metric.geometry import feature_differences
from geodual.metric.geometry.feature_differences import FeatureDifferences
from geodual.metric.program import feature_fit, feature_program
from geodual.metric.program.certificate import CertifiedMetric
from geodual.metric.program.feature_fit import neighbor_means
from geodual.metric.program.feature_priors import FeaturePrior, LogDetPrior, SparsePrior
from geodual.metric.program.feature_program import FeatureProgram
from geodual.metric.selection import graded_neighbors as graded_neighbors_module
from geodual.metric.selection.graded_neighbors import graded_neighbors, label_set_neighbors
from geodual.metric.selection.local_pairs import grouped_neighbors
from geodual.metric.terms.neighborhoods import Neighborhoods

DISTANCES = pytest.mark.parametrize("distance", ["l1", "l2"])


def drawn(seed: int, n: int = 40, n_features: int = 4, n_classes: int = 3):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    return rng.standard_normal((n, n_features)) + y[:, None] * (np.arange(n_features) < 2), y


def differences(learner: FeatureWeights, X: np.ndarray) -> np.ndarray:
    V = np.abs(X[learner.neighbors_[:, 0]] - X[learner.neighbors_[:, 1]])
    return V if learner.distance == "l1" else V**2


def certificate(learner: FeatureWeights, X: np.ndarray, w: np.ndarray) -> tuple[float, float]:
    """Return the primal and the dual at w, by the formulas of the docstring; weighted samples count."""
    i, j = learner.neighbors_.T
    V, q, tau, m = differences(learner, X), learner.targets_, learner.widths_, learner.counts_
    total = m[np.unique(i)].sum()
    loss = conjugate = 0.0
    z = np.zeros(X.shape[1])
    for sample in np.unique(i):
        own = i == sample
        d = V[own] @ w / tau[own] - np.log(m[j[own]])
        e = np.exp(-(d - d.min()))
        p = e / e.sum()
        c = learner.C * m[sample] / total
        loss += c * (q[own] @ d - d.min() + np.log(e.sum()))
        conjugate += c * (np.sum(xlogy(p, p)) + (q[own] - p) @ np.log(m[j[own]]))
        z += c * ((p - q[own]) / tau[own]) @ V[own]
    if learner.sparsity:
        mu = learner.penalty_
        primal = np.sum(0.5 * (w - 1.0) ** 2 + mu * w) + loss
        return primal, 0.5 * np.sum(1.0 - np.maximum(1.0 - mu + z, 0.0) ** 2) - conjugate
    primal = 0.5 * np.sum(w - np.log(w) - 1.0) + loss
    feasible = bool((z < 0.5).all())
    return primal, 0.5 * np.log(1.0 - 2.0 * z).sum() - conjugate if feasible else -np.inf


@DISTANCES
@pytest.mark.parametrize("weighted", [False, True])
def test_the_certificate_can_be_checked_from_outside(distance: str, weighted: bool) -> None:
    X, y = drawn(0)
    X, y = np.vstack([X, X[:2]]), np.append(y, y[:2])  # with copies
    weight = (
        np.random.default_rng(1).uniform(0.5, 2.0, len(y)) * (np.arange(len(y)) != 5) if weighted else None
    )
    learner = FeatureWeights(distance, C=50.0, tol=1e-9).fit(X, y, sample_weight=weight)
    primal, dual = certificate(learner, X, learner.weights_)
    assert primal == pytest.approx(learner.objective_, rel=1e-10)
    assert dual <= primal
    assert (primal - dual) / primal <= 1.1e-9
    assert learner.dual_objective_ == pytest.approx(dual, rel=2e-9)


def random_fit(seed: int) -> tuple[FeatureWeights, np.ndarray]:
    """Return a fit to random samples with copies, of every kind of target, and the samples."""
    rng = np.random.default_rng(seed)
    n, n_features = int(rng.integers(25, 70)), int(rng.integers(2, 12))
    X = rng.standard_normal((n, n_features)) * 10.0 ** rng.uniform(-1.0, 1.0, n_features)
    X = X[rng.integers(n, size=n)] if seed % 3 == 0 else X  # about a third are copies
    signal = X[:, :2] / X[:, :2].std(axis=0) + 0.3 * rng.standard_normal((n, 2))
    kind = seed % 4
    y = [np.digitize(signal[:, 0], [-0.5, 0.5]), signal[:, 0], signal, (signal > 0.0).astype(int)][kind]
    weight = rng.uniform(0.2, 3.0, n) * (rng.random(n) < 0.9) if seed % 5 < 2 else None
    learner = FeatureWeights(
        str(rng.choice(["l1", "l2"])),
        C=10.0 ** rng.uniform(0.0, 4.0),
        target="numbers" if kind in (1, 2) else "classes",
        sparsity=float(rng.uniform(0.05, 0.7)) if seed % 2 else 0.0,
    )
    return learner.fit(X, y, sample_weight=weight), X


@pytest.mark.parametrize("seed", range(100))
def test_certificates_of_random_fits_hold_from_outside(seed: int) -> None:
    learner, X = random_fit(seed)
    w = learner.weights_
    primal, dual = certificate(learner, X, w)
    assert 0.0 <= learner.duality_gap_ <= 1e-6
    # Rounding errors grow with the number of terms, and the terms with C.
    rounding = 1e-12 * (learner.C + np.abs(primal) + w.sum() + X.shape[1])
    assert primal - dual >= -rounding
    assert primal == pytest.approx(learner.objective_, abs=rounding)
    assert learner.duality_gap_ * learner.objective_ == pytest.approx(
        learner.objective_ - learner.dual_objective_, abs=rounding
    )
    # The best dual of all iterates: that of the solution, unless an earlier one was higher within rounding.
    assert dual == pytest.approx(learner.dual_objective_, abs=1e-6 * primal + rounding)
    assert learner.dual_objective_ >= dual - rounding
    assert (w >= 0.0).all()
    assert (learner.penalty_ > 0.0) == (learner.sparsity > 0.0)


@DISTANCES
@pytest.mark.parametrize("sparsity", [0.4, 0.6])
def test_zeros_are_exact_and_optimal(distance: str, sparsity: float) -> None:
    rng = np.random.default_rng(12)
    X = rng.standard_normal((120, 30))
    y = X[:, 3] + X[:, 7] > 0.0
    learner = FeatureWeights(distance, sparsity=sparsity, tol=1e-12).fit(X, y)
    w = learner.weights_
    assert {3, 7} <= set(np.flatnonzero(w))
    assert 10 <= np.count_nonzero(w == 0.0) <= 28
    # No small change of a weight lowers the objective: neither of those at zero nor of the others.
    step, here = 1e-4, certificate(learner, X, w)[0]
    for f in range(30):
        for change in (step, -step):
            if w[f] + change >= 0.0:
                assert certificate(learner, X, w + change * (np.arange(30) == f))[0] >= here
    rough = FeatureWeights(distance, sparsity=sparsity).fit(X, y)
    np.testing.assert_array_equal(rough.weights_ == 0.0, w == 0.0)


def test_the_penalty_is_a_share_of_that_which_makes_all_weights_zero() -> None:
    X, y = drawn(3)
    learner = FeatureWeights(sparsity=0.25, C=50.0).fit(X, y)
    step = 1e-7
    slopes = np.array(
        [certificate(learner, X, step * e)[0] - certificate(learner, X, 0.0 * e)[0] for e in np.eye(4)]
    )
    # At w = 0 a penalty that makes no weight pay has slopes of at least zero; `slopes` include the penalty.
    enough = learner.penalty_ - slopes.min() / step
    assert learner.penalty_ == pytest.approx(0.25 * enough, rel=1e-5)


def test_few_features_are_left_as_sparsity_grows() -> None:
    X, y = load_wine(return_X_y=True)
    noise = np.random.default_rng(13).standard_normal((len(X), 50))
    X = scale(np.hstack([X, noise]))
    kept = [np.flatnonzero(FeatureWeights(sparsity=s).fit(X, y).weights_) for s in (0.1, 0.3, 0.5)]
    assert [len(k) for k in kept] == sorted((len(k) for k in kept), reverse=True)
    assert kept[1].max() < 13  # all features of noise have the weight zero
    with pytest.raises(ValueError, match=r"All weights are zero.*lower `sparsity`"):
        FeatureWeights(sparsity=1.0 - 1e-12).fit(X, y)


@DISTANCES
def test_the_optimum_is_that_of_another_solver(distance: str) -> None:
    X, y = drawn(2)
    learner = FeatureWeights(distance, C=30.0, tol=1e-12).fit(X, y)
    rival = minimize(
        lambda s: certificate(learner, X, np.exp(s))[0], np.zeros(4), method="BFGS", options={"gtol": 1e-7}
    )
    np.testing.assert_allclose(learner.weights_, np.exp(rival.x), rtol=1e-4)
    assert learner.objective_ <= rival.fun + 1e-9
    assert learner.dual_objective_ <= rival.fun


def solved(squared: bool, prior: FeaturePrior, sparse: bool = False) -> CertifiedMetric:
    X, y = drawn(4, n=60, n_features=9)
    i, j = grouped_neighbors(X, y, 3, 5, "l2" if squared else "l1")
    V = FeatureDifferences(csr_array(X) if sparse else X, i, j, squared)
    near = Neighborhoods(i, j, y[i] == y[j], V.distances(np.ones(9)), np.full(60, 2.0), None, 100.0)
    return FeatureProgram(near, V, prior).solve(np.ones(9), 1e-12, 100)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("prior", [LogDetPrior(), SparsePrior(10.0)])
@pytest.mark.parametrize("sparse", [False, True])
def test_many_features_are_learned_without_matrices(
    squared: bool, prior: FeaturePrior, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    dense = solved(squared, prior)
    np.testing.assert_allclose(solved(squared, prior, sparse).W, dense.W, rtol=1e-9)
    monkeypatch.setattr(feature_program, "_DENSE", 2)
    monkeypatch.setattr(feature_differences, "_KEPT", 10)
    monkeypatch.setattr(feature_differences, "_CHUNK", 100)
    products = solved(squared, prior, sparse)
    assert products.converged
    np.testing.assert_allclose(products.W, dense.W, rtol=1e-5)
    assert (dense.W == 0.0).any() == isinstance(prior, SparsePrior)
    assert products.primal == pytest.approx(dense.primal, rel=1e-11)


@DISTANCES
def test_weights_of_numbers_have_a_certificate_too(distance: str) -> None:
    X = np.random.default_rng(9).standard_normal((80, 5))
    y = X[:, 0] ** 3 + 0.1 * X[:, 4]
    learner = FeatureWeights(distance, C=50.0, target="numbers", tol=1e-9).fit(X, y)
    primal, dual = certificate(learner, X, learner.weights_)
    assert primal == pytest.approx(learner.objective_, rel=1e-10)
    assert 0.0 <= (primal - dual) / primal <= 1.1e-9
    assert learner.weights_.argmax() == 0
    # Only ranks count, and whole weights are repeated rows.
    weight = np.random.default_rng(0).integers(3, size=80)
    weighted = FeatureWeights(distance, C=50.0, target="numbers").fit(X, np.exp(y), sample_weight=weight)
    repeated = FeatureWeights(distance, C=50.0, target="numbers")
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-8)


def test_neighbors_of_numbers_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(10)
    Z, ranks = rng.standard_normal((30, 2)), np.append(np.linspace(0.0, 0.6, 29), 1.0)
    i, j, similar = graded_neighbors(Z, ranks, 2, 3, "l1")
    for sample in range(30):
        order = [k for k in np.abs(Z - Z[sample]).sum(axis=1).argsort().tolist() if k != sample]
        near = [k for k in order if abs(ranks[k] - ranks[sample]) <= 0.1][:2]
        far = [k for k in order if abs(ranks[k] - ranks[sample]) > 0.1][:3]
        own = i == sample
        assert set(j[own & similar]) == set(near)
        # The last sample has nobody of a near target.
        assert set(j[own & ~similar]) == (set(far) if sample < 29 else set())
    assert (np.diff(i) >= 0).all()


def nearest_of(Z: np.ndarray, sample: int, similar: np.ndarray, counts: tuple[int, int]) -> list[set[int]]:
    """Return the nearest similar and other samples by the definition, in the Euclidean distance."""
    order = [k for k in ((Z - Z[sample]) ** 2).sum(axis=1).argsort().tolist() if k != sample]
    return [
        set([k for k in order if similar[k] == kind][:count])
        for kind, count in zip((True, False), counts, strict=True)
    ]


def test_neighbors_of_several_numbers_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(14)
    Z, ranks = rng.standard_normal((45, 2)), rng.random((45, 3))
    ranks[:10] = 0.5 + 0.01 * ranks[:10]  # these are near, and the others have few so near
    i, j, similar = graded_neighbors(Z, ranks, 3, 4, "l2")
    limits = []
    for sample in range(45):
        difference = np.abs(ranks - ranks[sample]).mean(axis=1)
        limits.append(max(0.1, np.sort(difference)[4]))  # a tenth of 45, and the sample itself
        expected = nearest_of(Z, sample, difference <= limits[-1], (3, 4))
        own = i == sample
        assert [set(j[own & similar]), set(j[own & ~similar])] == expected
    assert min(limits) == 0.1 < max(limits)


def test_neighbors_of_label_sets_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(15)
    Z, sets = rng.standard_normal((40, 2)), (rng.random((40, 4)) < 0.4).astype(float)
    sets[-1] = 1.0  # a set that nobody else has
    i, j, similar = label_set_neighbors(Z, sets, 3, 4, "l2")
    limits = []
    for sample in range(40):
        different = np.array([sum(a != b for a, b in zip(row, sets[sample], strict=True)) for row in sets])
        limits.append(next(m for m in range(5) if (different <= m).sum() - 1 >= 3))
        own = i == sample
        expected = nearest_of(Z, sample, different <= limits[-1], (3, 4))
        assert [set(j[own & similar]), set(j[own & ~similar])] == expected
    assert min(limits) == 0 < max(limits)


def test_several_outputs_find_the_features_of_each() -> None:
    rng = np.random.default_rng(16)
    X = rng.standard_normal((150, 20))
    numbers = FeatureWeights(target="numbers").fit(X, np.column_stack([X[:, 2] ** 3, np.exp(X[:, 5])]))
    assert set(np.argsort(numbers.weights_)[-2:]) == {2, 5}
    sets = np.column_stack([X[:, 2] > 0.0, X[:, 5] > 0.5]).astype(int)
    labels = FeatureWeights().fit(X, sets)
    assert set(np.argsort(labels.weights_)[-2:]) == {2, 5}
    np.testing.assert_array_equal(FeatureWeights().fit(X, csr_matrix(sets)).weights_, labels.weights_)


def test_one_of_several_outputs_is_the_same_as_one() -> None:
    """Complementary labels say the same as one, and a number twice the same as once."""
    X, y = drawn(17, n_classes=2)
    one = FeatureWeights(C=50.0, pairs=LocalPairs(3, 5)).fit(X, y)
    two = FeatureWeights(C=50.0, pairs=LocalPairs(3, 5)).fit(X, np.column_stack([y, 1 - y]))
    np.testing.assert_allclose(two.weights_, one.weights_, rtol=1e-8)
    numbers = FeatureWeights(C=50.0, target="numbers")
    once = numbers.fit(X, X[:, 0]).weights_
    np.testing.assert_allclose(numbers.fit(X, np.column_stack(2 * [X[:, 0]])).weights_, once, rtol=1e-8)


def test_numbers_that_cannot_be_learned_from() -> None:
    X = np.random.default_rng(11).standard_normal((10, 2))
    with pytest.raises(ValueError, match="at least two different values"):
        FeatureWeights(target="numbers").fit(X, np.ones(10))
    with pytest.raises(ValueError, match="No two samples have similar targets"):
        FeatureWeights(target="numbers").fit(X[:2], [0.0, 1.0])
    with pytest.raises(ValueError, match="`y` must be an array of numbers"):
        FeatureWeights(target="numbers").fit(X, np.repeat("a", 10))


@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_of_very_many_samples_some_ask(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(24)
    X = rng.standard_normal((900, 5))
    signal = X @ [2.0, 1.0, 0.5, 0.0, 0.0]
    y = signal if target == "numbers" else np.digitize(signal, [-1.0, 1.0])
    everyone = FeatureWeights(target=target).fit(X, y)
    for module in (graded_neighbors_module, feature_fit):
        monkeypatch.setattr(module, "MOST_ASKING", 300)
    some = FeatureWeights(target=target).fit(X, y)
    assert len(np.unique(some.neighbors_[:, 0])) == 300
    assert len(np.unique(some.neighbors_[:, 1])) > 600
    primal, dual = certificate(some, X, some.weights_)
    assert primal == pytest.approx(some.objective_, rel=1e-10)
    assert (primal - dual) / primal <= 1.1e-6
    shares = [learner.weights_ / learner.weights_.sum() for learner in (some, everyone)]
    np.testing.assert_allclose(shares[0], shares[1], atol=0.06)


def mostly_zero(seed: int, n: int = 120, n_features: int = 25) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, n_features)) * (rng.random((n, n_features)) < 0.2)


@DISTANCES
@pytest.mark.parametrize("target", ["classes", "sets", "numbers"])
def test_sparse_samples_are_the_same_as_dense_ones(distance: str, target: str) -> None:
    X = mostly_zero(18)
    X = np.vstack([X, X[:5]])  # with copies
    signal = X[:, 0] + X[:, 1] + 0.5 * X[:, 2]
    y = {
        "classes": np.digitize(signal, [-0.5, 0.5]),
        "numbers": signal,
        "sets": (X[:, :2] > 0.0).astype(int),
    }[target]
    kind = "numbers" if target == "numbers" else "classes"
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X)) * (np.arange(len(X)) != 3)
    dense = FeatureWeights(distance, target=kind, tol=1e-10).fit(X, y, sample_weight=weight)
    long = csr_matrix(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    for given in (csr_array(X), csc_matrix(X), long):
        sparse = FeatureWeights(distance, target=kind, tol=1e-10).fit(given, y, sample_weight=weight)
        np.testing.assert_allclose(sparse.weights_, dense.weights_, rtol=1e-6)
        np.testing.assert_allclose(sparse.feature_importances_, dense.feature_importances_, rtol=1e-6)
    Z = sparse.transform(csr_array(X.astype(np.float32)))
    assert Z.format == "csr"
    assert Z.dtype == np.float32
    np.testing.assert_allclose(Z.toarray(), dense.transform(X), rtol=1e-5)


def test_features_that_matter_get_the_largest_weights() -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((150, 400))
    learner = FeatureWeights().fit(X, X[:, 3] + X[:, 7] > 0.0)
    assert set(np.argsort(learner.weights_)[-2:]) == {3, 7}
    assert learner.duality_gap_ <= 1e-6


@DISTANCES
def test_the_transformation_makes_the_distance_a_plain_one(distance: str) -> None:
    X, y = load_iris(return_X_y=True)
    learner = FeatureWeights(distance).fit(X, y)
    difference = np.abs(learner.transform(X[:1]) - learner.transform(X[1:2]))[0]
    plain = np.abs(X[0] - X[1])
    if distance == "l1":
        assert difference.sum() == pytest.approx(learner.weights_ @ plain)
    else:
        assert (difference**2).sum() == pytest.approx(learner.weights_ @ plain**2)
    assert learner.transform(X.astype(np.float32)).dtype == np.float32
    assert learner.get_feature_names_out(["a", "b", "c", "d"]).tolist() == ["a", "b", "c", "d"]
    assert learner.feature_importances_.sum() == pytest.approx(1.0)


def test_whole_weights_are_repeated_rows_in_any_order() -> None:
    X, y = drawn(6)
    weight = np.random.default_rng(0).integers(4, size=len(y))
    weighted = FeatureWeights(C=100.0).fit(X, y, sample_weight=weight)
    order = np.random.default_rng(1).permutation(weight.sum())
    repeated = FeatureWeights(C=100.0).fit(np.repeat(X, weight, axis=0)[order], np.repeat(y, weight)[order])
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-10)


def test_a_constant_feature_keeps_the_weight_one() -> None:
    X, y = drawn(7)
    X = np.column_stack([X, np.full(len(X), 5.0)])
    assert FeatureWeights().fit(X, y).weights_[-1] == pytest.approx(1.0, rel=1e-6)
    mild = FeatureWeights(C=10.0, sparsity=0.3).fit(X, y)
    assert mild.weights_[-1] == pytest.approx(max(1.0 - mild.penalty_, 0.0), abs=1e-3)
    assert FeatureWeights(sparsity=0.5).fit(X, y).weights_[-1] == 0.0


@DISTANCES
@pytest.mark.parametrize("sparsity", [0.0, 0.3])
def test_equal_features_share_their_weight_and_collinear_ones_have_a_certificate(
    distance: str, sparsity: float
) -> None:
    X, y = drawn(19)
    learner = FeatureWeights(distance, sparsity=sparsity, tol=1e-10).fit(np.column_stack([X, X[:, 0]]), y)
    assert learner.weights_[-1] == pytest.approx(learner.weights_[0], rel=1e-4)
    collinear = FeatureWeights(distance, sparsity=sparsity).fit(np.column_stack([X, X @ np.ones(4)]), y)
    assert collinear.duality_gap_ <= 1e-6


@DISTANCES
@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_one_unit_for_all_features_changes_nothing(distance: str, size: float) -> None:
    X, y = drawn(20)
    for sparsity in (0.0, 0.3):
        learner = FeatureWeights(distance, C=100.0, sparsity=sparsity, tol=1e-10)
        expected = learner.fit(X, y).weights_
        np.testing.assert_allclose(learner.fit(size * X, y).weights_, expected, rtol=1e-7, atol=1e-9)
    mixed = learner.fit(X * [size, 1.0, 1.0, 1.0], y)
    assert mixed.duality_gap_ <= 1e-10


def test_values_that_are_not_finite_are_named() -> None:
    X, y = drawn(21)
    table = pd.DataFrame(X, columns=["age", "income", "height", "weight"])
    learner = FeatureWeights().fit(table, y)
    table.loc[3, "height"] = np.nan
    told = "Input X contains NaN in feature 'height', row 3 \\(1 of all values"
    with pytest.raises(ValueError, match=told):
        learner.transform(table)
    with pytest.raises(ValueError, match=told):
        FeatureWeights().fit(table, y)
    X[5, 1] = -np.inf
    for given in (X, csr_array(X)):
        with pytest.raises(ValueError, match="Input X contains infinity in feature 1, row 5"):
            FeatureWeights().fit(given, y)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_keep_their_names(library: str) -> None:
    module = pytest.importorskip(library)
    X, y = drawn(22)
    names = ["a", "b", "c", "d"]
    table = module.DataFrame({name: X[:, k] for k, name in enumerate(names)})
    learner = FeatureWeights().set_output(transform=library).fit(table, module.Series(y))
    Z = learner.transform(table)
    assert isinstance(Z, module.DataFrame)
    assert list(Z.columns) == learner.get_feature_names_out().tolist() == names
    np.testing.assert_allclose(Z.to_numpy(), FeatureWeights().fit(X, y).transform(X))
    several = module.DataFrame({"u": X[:, 0], "v": X[:, 1]})
    np.testing.assert_allclose(
        FeatureWeights(target="numbers").fit(table, several).weights_,
        FeatureWeights(target="numbers").fit(X, X[:, :2]).weights_,
    )


def test_the_plot_shows_the_largest_importances() -> None:
    X, y = drawn(23)
    learner = FeatureWeights(sparsity=0.3).fit(pd.DataFrame(X, columns=["a", "b", "c", "d"]), y)
    ax = learner.plot_importances(3)
    largest = np.argsort(-learner.feature_importances_, kind="stable")[:3]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["abcd"[k] for k in largest]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], learner.feature_importances_[largest])
    assert ax.get_xlabel().startswith("share of the distance; 1 other features")


def test_few_distinct_rows_and_many_classes() -> None:
    """Widths of zero get a floor: integers 0/1 × 2 in six classes."""
    rng = np.random.default_rng(8)
    X, y = rng.integers(2, size=(60, 2)).astype(float), rng.integers(6, size=60)
    assert FeatureWeights().fit(X, y).duality_gap_ <= 1e-6


def test_widths_are_half_the_mean_distance_with_a_floor() -> None:
    i, similar = np.array([0, 0, 0, 1, 1, 2]), np.array([True, True, False, True, False, True])
    d = np.array([2.0, 4.0, 9.0, 0.0, 7.0, 6.0])
    # Means of the class: 3, 0 and 6, whose mean is 3.
    np.testing.assert_allclose(neighbor_means(i, similar, d, 3), [1.5, 0.5e-3 * 3.0, 3.0])


def test_unknown_labels_have_no_part() -> None:
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    part = FeatureWeights().fit(X[20:], y[20:])
    with pytest.warns(UserWarning, match="20 of 178 samples have the label −1"):
        all_ = FeatureWeights().fit(X, np.where(np.arange(178) < 20, -1, y))
    np.testing.assert_allclose(all_.weights_, part.weights_, rtol=1e-12)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"distance": "l3"}, '`distance` must be "l1" or "l2"'),
        ({"target": "y"}, '`target` must be "classes" or "numbers"'),
        ({"C": 0.0}, "`C` must be positive"),
        ({"pairs": "all"}, '`pairs` must be "local"'),
        ({"pairs": LocalPairs(anchors=50)}, "with exact index and no anchors"),
        ({"tol": -1.0}, "`tol` must be positive"),
        ({"sparsity": 1.0}, "`sparsity` must be at least 0 and less than 1, got 1.0"),
        ({"sparsity": "auto"}, "`sparsity` must be a number"),
    ],
)
def test_wrong_parameters(parameters, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        FeatureWeights(**parameters).fit(*drawn(0))


def test_samples_that_cannot_be_learned_from() -> None:
    with pytest.raises(ValueError, match="No class has two different samples"):
        FeatureWeights().fit(np.arange(6.0).reshape(3, 2), [0, 1, 2])
    with pytest.raises(ValueError, match="at least two classes"):
        FeatureWeights().fit(np.arange(6.0).reshape(3, 2), [0, 0, 0])
    with pytest.raises(ValueError, match="All samples have the same set of labels"):
        FeatureWeights().fit(drawn(0)[0], np.ones((40, 2), dtype=int))
    with pytest.raises(ValueError, match='use target="numbers" for several numbers'):
        FeatureWeights().fit(drawn(0)[0], drawn(0)[0])
    with pytest.raises(ValueError, match="standardize the features"):
        FeatureWeights("l2").fit(1e-200 * drawn(0)[0], drawn(0)[1])
