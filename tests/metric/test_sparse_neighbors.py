"""NeighborRPDML of sparse samples: the same metric as of dense ones, in memory for the samples only."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, random_array

from geodual.metric import LocalPairs, NeighborRPDML
from geodual.metric.base.maps import LowRankPlusDiagonal
from geodual.metric.program import space as space_module

N, MANY = 40, 300  # so many features count as many here


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space_module, "MANY_FEATURES", 100)


def problem():
    rng = np.random.default_rng(0)
    X = random_array((N, MANY), density=0.1, rng=rng, format="csr")
    y = np.arange(N) % 3
    X = X.toarray()
    X[:, :3] += np.eye(3)[y]
    X[:, 3] = 0.3  # constant, without zeros
    X[:, 4] = 0.0
    X[:, 5] *= 1e6
    return csr_array(X), y


def dense_matrices(learner) -> tuple[np.ndarray, ...]:
    return tuple(np.asarray(M) for M in (learner.W_, learner.prior_, learner.components_))


@pytest.mark.parametrize("prior", ["within", "identity"])
@pytest.mark.parametrize("copies", [False, True])
def test_sparse_samples_give_the_metric_of_dense_ones(prior: str, copies: bool, few_are_many) -> None:
    X, y = problem()
    weight = np.random.default_rng(1).integers(0, 3, N).astype(float) if copies else None
    if copies:
        X = csr_array(X[np.r_[0:30, 0:10]])
        y = y[np.r_[0:30, 0:10]]
    options = {"C": 50.0, "prior": prior, "tol": 1e-10, "pairs": LocalPairs(2, 4)}
    if prior == "identity":
        X = csr_array(X.toarray() * np.where(np.arange(MANY) == 5, 1e-6, 1.0))
    sparse = NeighborRPDML(**options).fit(X, y, sample_weight=weight)
    dense = NeighborRPDML(**options).fit(X.toarray(), y, sample_weight=weight)
    assert isinstance(sparse.W_, LowRankPlusDiagonal)
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-9)
    assert {tuple(pair) for pair in sparse.neighbors_.tolist()} == {
        tuple(pair) for pair in dense.neighbors_.tolist()
    }
    np.testing.assert_array_equal(sparse.counts_, dense.counts_)
    (W, W0, L), (V, V0, _) = dense_matrices(sparse), dense_matrices(dense)
    units = np.sqrt(np.outer(np.diag(V0), np.diag(V0)))
    np.testing.assert_allclose(W0 / units, V0 / units, atol=1e-9)
    np.testing.assert_allclose(W / units, V / units, atol=1e-5)
    np.testing.assert_allclose(L.T @ L / units, W / units, atol=1e-9)
    np.testing.assert_allclose(sparse.transform(X), X.toarray() @ L.T, atol=1e-9 * np.abs(X @ L.T).max())
    np.testing.assert_allclose(sparse.feature_importances_, dense.feature_importances_, atol=1e-6)


def test_the_sparse_certificate_can_be_checked_from_outside(few_are_many) -> None:
    from .test_neighbor_rpdml import check_certificate

    X, y = problem()
    X = csr_array(X.toarray() * np.where(np.arange(MANY) == 5, 1e-6, 1.0))
    learner = NeighborRPDML(C=20.0, pairs=LocalPairs(2, 4), tol=1e-9).fit(X, y)
    learner.W_, learner.prior_, _ = dense_matrices(learner)
    check_certificate(learner, X.toarray())


@pytest.mark.parametrize("make", [csr_array, coo_array, lambda X: csr_array(X).tocsc()])
@pytest.mark.parametrize("prior", ["within", "covariance"])
def test_few_features_become_an_array(make, prior: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 4)).astype(float), np.arange(60) % 2
    X[:, 0] += y
    learner = NeighborRPDML(C=20.0, prior=prior)
    dense, W = learner.fit(X, y).transform(X), learner.W_
    np.testing.assert_array_equal(learner.fit(make(X), y).W_, W)
    np.testing.assert_allclose(learner.transform(make(X)), dense, rtol=1e-12, atol=1e-12)


def test_what_sparse_samples_cannot_do_is_named(few_are_many) -> None:
    X, y = problem()
    with pytest.raises(ValueError, match=r'`n_components` needs `prior="identity"` .*, got 2'):
        NeighborRPDML(n_components=2).fit(X, y)
    equal = csr_array(np.repeat([[0.0, 0.3] * 150], 6, axis=0))
    with pytest.raises(ValueError, match="No class has two different samples"):
        NeighborRPDML().fit(equal, [0, 0, 0, 1, 1, 1])


def test_a_size_that_memory_cannot_hold_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    X = csr_array((np.ones(4), (np.arange(4), np.arange(4))), shape=(10_000, 6_000))

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(csr_array, "toarray", fail)
    with pytest.raises(ValueError, match=r"shape \(10000, 6000\) take 0.48 GB as an array"):
        NeighborRPDML().fit(X, np.arange(10_000) % 2)
