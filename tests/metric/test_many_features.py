"""Very many features: matrices kept as a low rank plus a diagonal, and sparse samples."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

from geodual.manifolds import SPD
from geodual.metric import GMML, ITML, RPDML, LocalPairs, PairRPDML
from geodual.metric.base.maps import LowRankPlusDiagonal, feature_blocks
from geodual.metric.base.scatter import distinct_rows
from geodual.metric.program import space
from geodual.metric.program import space as space_module
from geodual.metric.program.sparse_span import sparse_span

N, F = 14, 60


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 40 features count as very many, so that the full matrices stay small."""
    monkeypatch.setattr(space_module, "MANY_FEATURES", 40)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, F)) * np.geomspace(1.0, 5.0, F) * (rng.uniform(size=(N, F)) < 0.3)
    X[:, 7] = 3.0  # a constant feature
    y = np.arange(N) % 3
    X[:, :5] += y[:, None]
    return X, y


def dense(matrix):
    return matrix.to_dense() if isinstance(matrix, LowRankPlusDiagonal) else matrix


@pytest.mark.parametrize("sparse", [False, True])
def test_it_is_the_matrix(sparse) -> None:
    rng = np.random.default_rng(1)
    d, C = rng.uniform(1.0, 2.0, 9), rng.standard_normal((3, 3))
    U, V = rng.standard_normal((2, 9, 3)) * (rng.uniform(size=(2, 9, 3)) < 0.5)
    expected = np.diag(d) + U @ C @ V.T
    matrix = LowRankPlusDiagonal(d, csr_array(U) if sparse else U, C, csr_array(V) if sparse else V)
    x, X = rng.standard_normal(9), rng.standard_normal((4, 9))
    for found, wanted in [
        (matrix @ x, expected @ x),
        (matrix @ X.T, expected @ X.T),
        (X @ matrix, X @ expected),
        (matrix.T @ x, expected.T @ x),
        (matrix.map_rows(csr_array(X)), X @ expected.T),
        (matrix.to_dense(), expected),
        (np.asarray(matrix), expected),
        (matrix.diagonal(), np.diag(expected)),
        (matrix.scaled(-2.0).to_dense(), -2.0 * expected),
        (matrix.gram().to_dense(), expected.T @ expected),
        (pickle.loads(pickle.dumps(matrix)) @ x, expected @ x),
    ]:
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    assert matrix.shape == (9, 9)
    assert len(matrix) == 9


def test_blocks_cover_all_features() -> None:
    blocks = feature_blocks(1_000_000, 200)
    assert len(blocks) == 4
    np.testing.assert_array_equal(np.concatenate([np.arange(200)[block] for block in blocks]), np.arange(200))


LEARNERS = [
    RPDML(C=1000.0, tol=1e-13, pairs="all"),
    RPDML(C=1000.0, tol=1e-13, pairs="all", prior="covariance", bounds=(5.0, 60.0)),
    RPDML(C=1000.0, tol=1e-13, pairs=LocalPairs(2, 4)),
    RPDML(C=1000.0, tol=1e-13, pairs=np.array([[0, 1], [0, 3], [9, 4], [13, 10]]), bounds=(5.0, 60.0)),
    RPDML(C=1000.0, tol=1e-13, pairs="all", n_components=3),
    ITML(gamma=1.0, tol=1e-13),
    GMML(),
    GMML(t=0.8, reg=5.0, n_components=2),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("kind", [np.asarray, csr_array, csr_matrix])
def test_it_is_the_fit_with_full_matrices(data, learner, kind, many, monkeypatch) -> None:
    X, y = data
    found = clone(learner).fit(kind(X), y)
    with monkeypatch.context() as patch:
        patch.setattr(space_module, "MANY_FEATURES", 10_000)
        full = clone(learner).fit(X, y)
    W = full.get_mahalanobis_matrix()
    np.testing.assert_allclose(dense(found.get_mahalanobis_matrix()), W, atol=1e-8 * np.abs(W).max())
    np.testing.assert_allclose(dense(found.W_), full.W_, atol=1e-8 * np.abs(full.W_).max())
    if hasattr(full, "objective_"):
        assert found.objective_ == pytest.approx(full.objective_, rel=1e-8)
    np.testing.assert_allclose(found.feature_importances_, full.feature_importances_, atol=1e-8)
    others = np.random.default_rng(2).standard_normal((6, F))
    Z = found.transform(kind(others))
    distance = np.linalg.norm(Z[:3] - Z[3:], axis=1)
    np.testing.assert_allclose(distance, full.pair_distance(np.stack([others[:3], others[3:]], 1)), rtol=1e-7)
    np.testing.assert_allclose(found.pair_distance(np.stack([others[:3], others[3:]], 1)), distance)
    np.testing.assert_allclose(
        found.pair_distance((csr_array(others[:3]), csr_array(others[3:]))), distance, rtol=1e-9
    )
    assert found.get_metric()(others[0], others[3]) == pytest.approx(distance[0])


def test_the_full_matrix_is_not_formed(data, many) -> None:
    X, y = data
    learner = RPDML(pairs="all").fit(X, y)
    assert isinstance(learner.W_, LowRankPlusDiagonal)
    assert isinstance(learner.components_, LowRankPlusDiagonal)
    assert isinstance(RPDML(pairs="all", n_components=2).fit(X, y).components_, np.ndarray)
    assert KNeighborsClassifier(1).fit(learner.transform(X), y).score(learner.transform(X), y) == 1.0
    restored = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(restored.transform(X), learner.transform(X))


def test_pairs_of_very_many_features(data, many) -> None:
    X, y = data
    pairs = np.array([[0, 1], [0, 3], [2, 5], [7, 4]])
    signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    learner = PairRPDML(bounds=(5.0, 60.0)).fit(X[pairs], signs)
    assert isinstance(learner.W_, LowRankPlusDiagonal)
    assert learner.transform(X[pairs]).shape == (4, 2, F)
    np.testing.assert_array_equal(learner.predict(X[pairs]), signs)


def test_what_needs_full_matrices_says_so(data, many) -> None:
    X, y = data
    learner = RPDML(pairs="all").fit(X, y)
    with pytest.raises(ValueError, match=r"`prior` must be a matrix in memory, .* `prior.to_dense\(\)`"):
        learner.partial_fit(X, y)
    with pytest.raises(ValueError, match='`n_components` needs `prior="identity"`'):
        RPDML(pairs="all", prior="covariance", bounds=(5.0, 60.0), n_components=2).fit(X, y)
    with pytest.raises(
        ValueError, match=r"two sparse arrays of shape \(n_pairs, 60\), got \(2, 60\) and \(3"
    ):
        learner.pair_distance((csr_array(X[:2]), csr_array(X[:3])))


def test_sparse_spans_are_orthonormal_for_bad_scales() -> None:
    """Directions of very different size: products of samples alone would lose eight digits."""
    rng = np.random.default_rng(3)
    X = np.geomspace(1.0, 1e-5, 8)[:, None] * rng.standard_normal((8, 50))
    span = sparse_span(csr_array(X))
    np.testing.assert_allclose(span.axes.T @ span.axes, np.eye(7), atol=1e-12)
    centered = X - X.mean(axis=0)
    np.testing.assert_allclose(span.X @ span.axes.T, centered, atol=1e-12)
    A = SPD(7).random_point(rng)
    inside = span.axes.T @ span.lift(A).to_dense() @ span.axes
    np.testing.assert_allclose(inside, A, atol=1e-8)


def test_equal_sparse_rows_are_found() -> None:
    X = np.array([[0.0, 1, 0], [2, 0, 3], [0, 1, 0], [0, 0, 0], [2, 0, 3]])
    first, place = distinct_rows(csr_array(X))
    np.testing.assert_array_equal(first, [0, 1, 3])
    np.testing.assert_array_equal(place, [0, 1, 0, 2, 1])
    # An entry that is stored but zero is no difference.
    stored = csr_array(([0.0, 1.0, 1.0], ([0, 0, 1], [0, 1, 1])), shape=(2, 3))
    np.testing.assert_array_equal(distinct_rows(stored)[1], [0, 0])


@pytest.mark.parametrize("learner", [RPDML(pairs="all"), GMML()], ids=repr)
def test_samples_without_a_metric_are_refused(learner, many) -> None:
    y = np.arange(6) % 2
    with pytest.raises(ValueError, match="All samples are equal"):
        learner.fit(csr_array(np.ones((6, F))), y)
    with pytest.raises(ValueError, match="whose squares overflow"):
        learner.fit(csr_array(1e200 * np.random.default_rng(0).standard_normal((6, F))), y)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        learner.fit(csr_array(np.full((6, F), np.nan)), y)


def test_samples_stay_sparse_if_there_are_few_of_very_many_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space, "MANY_FEATURES", 6)
    shapes = {(3, 7): True, (3, 6): False, (3, 4): False, (7, 7): False, (9, 7): False}
    assert {shape: space.stays_sparse(csr_array(shape)) for shape in shapes} == shapes
    assert not space.stays_sparse(np.zeros((3, 7)))
