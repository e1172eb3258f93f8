"""More features than samples: the fit in the span of the samples is the fit in all features."""

from itertools import product

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from geodual.manifolds import SPD
from geodual.metric import ITML, RPDML, LocalPairs, PairRPDML, TripletRPDML
from geodual.metric.estimators import logdet_learner
from geodual.metric.program import pair_fit
from geodual.metric.program.logdet_program import LogDetProgram
from geodual.metric.program.space import FeatureSpace, SampleSpan, choose_space, prior_matrices

N, F = 12, 20


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, F)) * np.geomspace(1.0, 5.0, F) + 3.0
    X[:, 4] = 7.0  # a constant feature
    return X, np.arange(N) % 3


PRIORS = {
    "identity": "identity",
    "covariance": "covariance",
    "given": SPD(F).random_point(np.random.default_rng(1)),
}
LEARNERS = {
    "RPDML": RPDML(C=1000.0, pairs="all"),
    "ITML": ITML(gamma=10.0),
    "local": RPDML(C=1000.0, pairs=LocalPairs(2, 3)),
    "drawn": RPDML(C=1000.0, pairs=20, random_state=0),
}
# Under the inverse covariance all samples are equally far apart, so there are no nearest ones.
CASES = [case for case in product(PRIORS, LEARNERS) if case != ("covariance", "local")]


@pytest.fixture
def in_all_features(monkeypatch: pytest.MonkeyPatch):
    """Return a function that fits in the features, without reduction."""

    def fit(learner, *data, **options):
        with monkeypatch.context() as patch:
            for module in (logdet_learner, pair_fit):
                patch.setattr(
                    module, "choose_space", lambda *given, reduce=False: choose_space(*given, reduce=False)
                )
            return clone(learner).fit(*data, **options)

    return fit


# With this tolerance the fit goes on until rounding errors end it.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("prior", "kind"), CASES)
def test_it_is_the_fit_in_all_features(
    data, prior: str, kind: str, in_all_features, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without the rough first fit, which may end at different points and so lead to other neighbors.
    monkeypatch.setattr(LogDetProgram, "solve_lightly", lambda self, W, max_iter: (W, 0))
    learner = clone(LEARNERS[kind]).set_params(prior=PRIORS[prior], tol=1e-16)
    if prior == "covariance":
        learner.set_params(bounds=(5.0, 60.0))
    full, found = in_all_features(learner, *data), clone(learner).fit(*data)
    size = np.abs(full.W_).max()
    np.testing.assert_allclose(found.W_, full.W_, atol=1e-8 * size, rtol=0)
    np.testing.assert_array_equal(found.W_, found.W_.T)
    assert found.objective_ == pytest.approx(full.objective_, rel=1e-8)
    np.testing.assert_allclose(found.bounds_, full.bounds_)
    np.testing.assert_allclose(found.get_mahalanobis_matrix(), found.W_, atol=1e-9 * size)
    np.testing.assert_allclose(found.feature_importances_, full.feature_importances_, atol=1e-7)
    others = np.random.default_rng(2).standard_normal((5, F))
    np.testing.assert_allclose(pdist(found.transform(others)), pdist(full.transform(others)), rtol=1e-7)


@pytest.mark.parametrize("prior", PRIORS)
def test_the_certificate_holds_in_all_features(data, prior: str) -> None:
    """The objective and the dual of the lifted W, from difference vectors."""
    X, y = data
    learner = RPDML(pairs="all", prior=PRIORS[prior], bounds=(5.0, 60.0)).fit(X, y)
    W0, inverse = prior_matrices(PRIORS[prior], X - X.mean(axis=0))
    i, j = np.triu_indices(N, 1)
    V, s = X[i] - X[j], np.where(y[i] == y[j], 1.0, -1.0)
    b = np.where(s > 0, 5.0, 60.0)
    rho = b**2 * len(s) / learner.C
    lam = np.maximum(s * (np.einsum("ki,ij,kj->k", V, learner.W_, V) - b), 0.0) / rho
    P = inverse + 2.0 * (V.T * (lam * s)) @ V
    log_det = np.linalg.slogdet(W0)[1]
    divergence = np.vdot(inverse, learner.W_) - np.linalg.slogdet(learner.W_)[1] + log_det - F
    primal = 0.5 * divergence + 0.5 * rho @ lam**2
    dual = 0.5 * (np.linalg.slogdet(P)[1] + log_det) - lam @ (s * b) - 0.5 * rho @ lam**2
    assert learner.objective_ == pytest.approx(primal, rel=1e-6)
    assert (primal - dual) / primal <= 2e-6


def test_outside_the_span_nothing_changes(data) -> None:
    X, y = data
    learner = RPDML(pairs="all").fit(X, y)
    v = np.random.default_rng(3).standard_normal(F)
    v -= np.linalg.lstsq((X - X[0]).T, v, rcond=None)[0] @ (X - X[0])
    np.testing.assert_allclose(learner.W_ @ v, v, atol=1e-12)
    np.testing.assert_allclose(learner.components_ @ v, v, atol=1e-12)


@pytest.mark.parametrize("n_components", [1, 4, 13, F])
def test_leading_components_are_those_of_the_matrix(data, n_components: int) -> None:
    """Some eigenvalues in the span are above 1 and some below, so directions outside are needed for many."""
    learner = RPDML(pairs="all", n_components=n_components).fit(*data)
    spectrum = np.linalg.eigvalsh(learner.W_)[::-1]
    assert spectrum[1] > 1.0 > spectrum[-1]
    L = learner.components_
    assert L.shape == (n_components, F)
    np.testing.assert_allclose(np.linalg.svd(L)[1] ** 2, spectrum[:n_components], rtol=1e-9)
    np.testing.assert_allclose(L @ learner.W_ @ L.T, (L @ L.T) @ (L @ L.T), atol=1e-9 * spectrum[0] ** 2)


def test_copies_and_many_samples_decide_by_distinct_samples(data) -> None:
    X, _ = data
    copies = np.repeat(X, np.arange(N) % 4 + 1, axis=0)
    space = choose_space("identity", copies)
    assert isinstance(space, SampleSpan)
    assert space.X.shape == (len(copies), N)
    np.testing.assert_array_equal(
        np.unique(space.X, axis=0), np.unique(choose_space("identity", X).X, axis=0)
    )
    assert isinstance(choose_space("identity", X[:, :N]), FeatureSpace)
    assert isinstance(choose_space("identity", X, reduce=False), FeatureSpace)


def test_pairs_of_many_features(data, in_all_features) -> None:
    X, y = data
    pairs = np.array([[0, 1], [0, 3], [2, 5], [7, 4]])
    signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    learner = PairRPDML(C=1000.0, tol=1e-14)
    full, found = in_all_features(learner, X[pairs], signs), learner.fit(X[pairs], signs)
    np.testing.assert_allclose(found.W_, full.W_, atol=1e-7)
    assert found.threshold_ == pytest.approx(full.threshold_, rel=1e-6)


@pytest.mark.parametrize("errata", ["corrected", "printed"])
def test_the_updates_of_the_paper_are_not_reduced(data, errata: str, in_all_features) -> None:
    learner = RPDML(solver="paper", pairs="all", errata=errata, step=1e-3, max_iter=3)
    with pytest.warns(ConvergenceWarning):
        full = in_all_features(learner, *data)
    with pytest.warns(ConvergenceWarning):
        np.testing.assert_array_equal(learner.fit(*data).W_, full.W_)


@pytest.mark.parametrize("n_features", [3, 20])  # the features as coordinates, or the span of the samples
@pytest.mark.parametrize("value", [1.0, 0.1, -1.1e140])
def test_a_feature_that_does_not_vary_says_nothing_however_large(n_features, value):
    """The rounding error of a mean is no distance: it once spoilt the metric and its lower bound."""
    rng = np.random.default_rng(0)
    triplets = rng.normal(size=(5, 3, n_features))
    fits = []
    for constant in (0.0, value):
        samples = np.concatenate([triplets, np.full((5, 3, 1), constant)], axis=2)
        fits.append(TripletRPDML(C=1e3, tol=1e-9).fit(samples))
    np.testing.assert_allclose(fits[1].W_, fits[0].W_, rtol=0.0, atol=1e-12 * np.abs(fits[0].W_).max())
    assert fits[1].dual_objective_ <= fits[1].objective_
    assert fits[1].duality_gap_ <= 1e-9


def test_a_prior_that_rounding_made_singular_has_coordinates_too() -> None:
    """As a metric learned before may be, which is the prior of the next step."""
    v = np.array([1.0, 2.0, -1.0])
    prior = np.outer(v, v) - 1e-16 * np.eye(3)
    X = np.random.default_rng(0).standard_normal((4, 3))
    Z = FeatureSpace(X, prior, np.eye(3)).Z
    np.testing.assert_allclose(Z @ Z.T, X @ prior @ X.T, atol=1e-12)


def test_a_sample_very_far_away_does_not_make_others_equal() -> None:
    X = np.random.default_rng(0).standard_normal((8, 3))
    X[4, 2] = 1e150
    Z = choose_space("identity", X).X
    np.testing.assert_allclose(Z[2] - Z[3], X[2] - X[3], rtol=1e-12)
    usual = np.delete(X, 4, axis=0)
    np.testing.assert_array_equal(choose_space("identity", usual).X, usual - usual.mean(axis=0))


def test_a_feature_that_hardly_varies_has_no_inverse_covariance() -> None:
    X, y = np.random.default_rng(0).standard_normal((6, 20)), np.arange(6) % 2
    X[:, 7] *= 1e-160
    with pytest.raises(ValueError, match="vary too little"):
        RPDML(prior="covariance").fit(X, y)


@pytest.mark.parametrize("prior", ["identity", "covariance"])
def test_a_metric_of_many_features_is_symmetric_to_the_last_bit(prior: str) -> None:
    rng = np.random.default_rng(0)
    space = choose_space(prior, rng.standard_normal((40, 300)))
    A = SPD(space.X.shape[1]).random_point(rng)
    W = space.lift(A)
    np.testing.assert_array_equal(W, W.T)
    change = space.basis @ (A - np.diag(space.inside)) @ space.basis.T
    np.testing.assert_allclose(W, np.diag(space.outside) + change, atol=1e-12 * np.abs(W).max())
