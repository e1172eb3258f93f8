"""GMML against sums over explicit pairs, its Riccati equation and the geodesics of SPD."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from geodual.manifolds import SPD
from geodual.metric.base.scatter import pair_scatters
from geodual.metric.estimators.gmml import GMML
from geodual.metric.estimators.pair_gmml import PairGMML
from geodual.metric.geometric_mean import mean_factor


def explicit_scatters(X, y, weight=None):
    """Sums over pairs, one by one."""
    S = D = np.zeros((X.shape[1], X.shape[1]))
    for i in range(len(X)):
        for j in range(i):
            term = np.outer(X[i] - X[j], X[i] - X[j])
            if weight is not None:
                term = weight[i] * weight[j] * term
            if y[i] == y[j]:
                S = S + term
            else:
                D = D + term
    return S, D


def relative_error(actual, expected):
    return np.linalg.norm(actual - expected) / np.linalg.norm(expected)


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [20, 15, 10])
    return rng.standard_normal((45, 4)) @ rng.standard_normal((4, 4)) + np.eye(4)[y], y


def test_scatters_are_sums_over_pairs(samples):
    X, y = samples
    weight = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    for w in (np.ones(len(X)), weight):
        for ours, expected in zip(pair_scatters(X, y, w), explicit_scatters(X, y, w), strict=True):
            np.testing.assert_allclose(ours, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_it_solves_the_riccati_equation(load):
    X, y = load(return_X_y=True)
    X = X[::3] - X.mean(axis=0)
    S, D = explicit_scatters(X, y[::3])
    A = GMML().fit(X, y[::3]).get_mahalanobis_matrix()
    assert relative_error(A @ S @ A, D) < 1e-8


@pytest.mark.parametrize("t", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_t_walks_along_the_geodesic_of_spd(samples, t):
    X, y = samples
    S, D = explicit_scatters(X, y)
    start = np.linalg.inv(S)
    frame = SPD(4).frame(start)
    expected = frame.exp(t * frame.log(D))
    assert relative_error(GMML(t=t).fit(X, y).get_mahalanobis_matrix(), expected) < 1e-10


def test_it_minimizes_its_objective(samples):
    X, y = samples
    S, D = explicit_scatters(X, y)

    def objective(A):
        return np.trace(A @ S) + np.trace(np.linalg.solve(A, D))

    manifold, rng = SPD(4), np.random.default_rng(2)
    A = GMML().fit(X, y).get_mahalanobis_matrix()
    for _ in range(10):
        u = manifold.random_tangent(A, rng)
        assert objective(A) < min(objective(manifold.exp(A, s * u)) for s in (1e-3, -1e-3, 1.0, -1.0))


@pytest.mark.parametrize("prior", ["identity", "covariance", "matrix"])
def test_regularization_adds_the_prior_to_both_sums(samples, prior):
    X, y = samples
    A0 = {"identity": np.eye(4), "covariance": np.linalg.inv(np.cov(X.T)), "matrix": np.diag([1.0, 2, 3, 4])}[
        prior
    ]
    S, D = explicit_scatters(X, y)
    model = GMML(t=0.4, reg=50.0, prior=A0 if prior == "matrix" else prior).fit(X, y)
    frame = SPD(4).frame(np.linalg.inv(S + 50.0 * np.linalg.inv(A0)))
    expected = frame.exp(0.4 * frame.log(D + 50.0 * A0))
    assert relative_error(model.get_mahalanobis_matrix(), expected) < 1e-10


def test_components_are_the_leading_eigenvectors(samples):
    W = GMML().fit(*samples).get_mahalanobis_matrix()
    spectrum, basis = np.linalg.eigh(W)
    leading = (basis[:, 2:] * spectrum[2:]) @ basis[:, 2:].T
    model = GMML(n_components=2).fit(*samples)
    assert model.components_.shape == (2, 4)
    assert relative_error(model.get_mahalanobis_matrix(), leading) < 1e-10


def test_weights_count_as_repetitions(samples):
    X, y = samples
    weight = np.random.default_rng(3).integers(0, 3, len(X))
    weighted = GMML(t=0.3).fit(X, y, sample_weight=weight).get_mahalanobis_matrix()
    repeated = GMML(t=0.3).fit(X.repeat(weight, axis=0), y.repeat(weight)).get_mahalanobis_matrix()
    assert relative_error(weighted, repeated) < 1e-10


def test_labels_may_be_strings(samples):
    X, y = samples
    named = np.array(["growth", "value", "bond"], dtype=object)[y]
    assert relative_error(GMML().fit(X, named).components_, GMML().fit(X, y).components_) < 1e-12


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_at_one_half_the_matrix_has_no_units(samples, scale):
    X, y = samples
    A = GMML().fit(X, y).get_mahalanobis_matrix()
    assert relative_error(GMML().fit(scale * X, y).get_mahalanobis_matrix(), A) < 1e-10


@pytest.mark.parametrize("constant", [0.0, 0.1, 1e12])
def test_a_constant_feature_changes_no_distance(samples, constant):
    X, y = samples
    wider = np.column_stack([X, np.full(len(X), constant)])
    model = GMML().fit(wider, y)
    A = model.get_mahalanobis_matrix()
    assert relative_error(A[:4, :4], GMML().fit(X, y).get_mahalanobis_matrix()) < 1e-8
    assert np.linalg.eigvalsh(A)[0] > 0.0


def test_repeated_rows_change_nothing(samples):
    X, y = samples
    model = GMML().fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    assert relative_error(model.components_, GMML().fit(X, y).components_) < 1e-10


def test_collinear_features_are_a_rotation_of_fewer(samples):
    """A turned copy of the samples in more dimensions has the same distances."""
    X, y = samples
    turn = np.linalg.qr(np.random.default_rng(4).standard_normal((7, 4)))[0]
    plain, wider = GMML().fit(X, y), GMML().fit(X @ turn.T, y)
    np.testing.assert_allclose(pdist(wider.transform(X @ turn.T)), pdist(plain.transform(X)), rtol=1e-6)


def test_more_features_than_samples_separate_the_classes():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((12, 40)), np.repeat(["a", "b", "c"], 4)
    model = GMML().fit(X, y)
    distances = squareform(pdist(model.transform(X)))
    same = (y[:, None] == y) & ~np.eye(12, dtype=bool)
    assert np.isfinite(model.components_).all()
    assert 10.0 * distances[same].max() < distances[y[:, None] != y].min()


@pytest.mark.parametrize("options", [{}, {"t": 0.2}, {"reg": 3.0}, {"t": 0.8, "reg": 1e-3}])
def test_the_mean_in_the_span_is_that_of_full_matrices(options):
    """Eigenvalues of S and D that are (nearly) zero are raised to 1e-8 of the largest."""
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((9, 30)) * np.geomspace(0.2, 5.0, 30) + 4.0, np.repeat([0, 1, 2], 3)
    t, reg = options.get("t", 0.5), options.get("reg", 0.0)
    roots = []
    for scatter in explicit_scatters(X, y):
        spectrum, basis = np.linalg.eigh(scatter + reg * np.eye(30))
        roots.append((basis * np.sqrt(np.maximum(spectrum, 1e-8 * spectrum[-1]))) @ basis.T)
    # S⁻¹ #_t D = S^-½ (S^½ D S^½)^t S^-½.
    basis, values, _ = np.linalg.svd(roots[0] @ roots[1])
    half = np.linalg.solve(roots[0], basis * values**t)
    expected = half @ half.T
    assert relative_error(GMML(**options).fit(X, y).get_mahalanobis_matrix(), expected) < 1e-8
    # Copies and weights span no more.
    copied = GMML(**options).fit(np.repeat(X, 5, axis=0), np.repeat(y, 5), np.full(45, 0.2))
    assert relative_error(copied.get_mahalanobis_matrix(), expected) < 1e-8


def test_classes_of_equal_samples_are_far_apart():
    """S is zero."""
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 3, axis=0)
    model = GMML().fit(X, np.repeat([0, 1, 2], 3))
    assert np.isfinite(model.components_).all()
    assert np.linalg.eigvalsh(model.get_mahalanobis_matrix())[0] > 1.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"t": 2.0}, r"`t` must lie in \[0, 1\], got 2.0"),
        ({"t": float("nan")}, "`t` must lie"),
        ({"reg": -1.0}, "`reg` must not be negative or infinite, got -1.0"),
        ({"reg": 1.0, "prior": "diagonal"}, "`prior` must be"),
        ({"reg": 1.0, "prior": -np.eye(4)}, "`prior`.*positive definite"),
        ({"n_components": 5}, "`n_components` must be between 1 and 4, got 5"),
    ],
)
def test_parameters_are_checked(samples, parameters, message):
    with pytest.raises(ValueError, match=message):
        GMML(**parameters).fit(*samples)


def test_weights_are_checked(samples):
    X, y = samples
    with pytest.raises(ValueError, match="at least two classes"):
        GMML().fit(X, y, sample_weight=(y == 0).astype(float))


@pytest.mark.parametrize("ratio", [1.0, 1e4, 1e8, 1e12])
def test_features_of_other_sizes_keep_their_digits(ratio):
    """A S A = D, entry by entry in the units of the features."""
    rng = np.random.default_rng(0)
    sizes = rng.permutation(np.geomspace(1.0, ratio, 6))
    S, D = ((sizes[:, None] * A) @ (sizes[:, None] * A).T for A in rng.standard_normal((2, 6, 20)))
    L = mean_factor(S, D, 0.5)
    W, scales = L.T @ L, np.sqrt(np.diag(D))
    np.testing.assert_allclose((W @ S @ W - D) / np.outer(scales, scales), 0.0, atol=1e-5)
    np.testing.assert_array_equal(L, np.triu(L))
    assert (np.diag(L) > 0.0).all()


@pytest.mark.parametrize("sizes", [[1.0, 1e16, 1.0, 1.0], [1e-124, 1e-143, 1e108, 1.0]])
def test_features_of_too_different_sizes_are_refused(samples, sizes):
    """LAPACK once searched for singular values without end."""
    X, y = samples
    with pytest.raises(ValueError, match="scale the features"):
        GMML().fit(X[:, :4] * sizes[: X.shape[1]], y)


def test_equal_samples_are_refused():
    with pytest.raises(ValueError, match="All samples are equal"):
        GMML().fit(np.full((6, 2), 0.1), [0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize("shape", [(40, 5), (12, 30)])
def test_the_matrix_is_whole_also_with_fewer_components(shape) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal(shape) * np.geomspace(1.0, 3.0, shape[1]), np.arange(shape[0]) % 2
    full, few = GMML().fit(X, y), GMML(n_components=2).fit(X, y)
    np.testing.assert_allclose(full.W_, full.components_.T @ full.components_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(few.W_, full.W_, rtol=1e-9)
    leading = np.linalg.eigvalsh(full.W_)[:-3:-1]
    np.testing.assert_allclose(np.sum(few.components_**2, axis=1), leading, rtol=1e-7)
    similar = np.where(y[::2] == y[1::2], 1, -1)
    similar[:2] = 1, -1
    pairs = PairGMML().fit(X.reshape(-1, 2, shape[1]), similar)
    np.testing.assert_allclose(
        pairs.W_, pairs.get_mahalanobis_matrix(), rtol=1e-7, atol=1e-7 * pairs.W_.max()
    )
