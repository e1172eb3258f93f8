"""Learners fitted to dask arrays, without a cluster: the same result as for arrays of numpy."""

import warnings

import dask
import dask.array as da
import numpy as np
import pytest

from geodual.metric import GMML, ITML, RPDML, NeighborRPDML
from geodual.metric.base.scatter import pair_scatters, standing_for
from geodual.metric.geometry import sample_blocks
from geodual.metric.geometry.all_pairs import AllPairs
from geodual.metric.geometry.cluster_pairs import ClusterPairs
from geodual.metric.geometry.pair_set import thinned_rows
from geodual.metric.geometry.sample_blocks import SampleBlocks
from geodual.metric.losses import OneSidedBurg, SquaredHinge
from tests.metric.test_bounds import percentage_below


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of at most 60 samples, so that few samples make several; tasks one after the other."""
    monkeypatch.setattr(sample_blocks, "_LEAST_ROWS", 60)
    monkeypatch.setattr(sample_blocks, "_ROWS", 0.0)
    with dask.config.set(scheduler="synchronous"):
        yield


def make_samples(n=150, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, n_features)) + rng.normal(size=(3, n_features))[y]
    return X * [1.0, 5.0, 0.2, 1.0][:n_features] + 10.0, y


def weights(kind, n=150):
    rng = np.random.default_rng(1)
    return {"none": None, "whole": rng.integers(0, 4, n), "small": rng.uniform(0.0, 0.5, n)}[kind]


def blocks_of(X, y, weight=None):
    return SampleBlocks.of(da.from_array(X, chunks=(40, 3)), y, weight)


PRIOR = np.diag([1.0, 0.1, 5.0, 1.0])
# A tight tolerance: a bound may be a distance, up to its last bit, and then two fits start differently.
LEARNERS = {
    "RPDML": RPDML(pairs="all", tol=1e-14),
    "RPDML, covariance": RPDML(pairs="all", prior="covariance", tol=1e-14, n_components=2),
    "ITML, given prior": ITML(gamma=1e-3, pairs="all", prior=PRIOR, tol=1e-14),
    "GMML": GMML(),
    "GMML, covariance": GMML(t=0.3, reg=5.0, prior="covariance"),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("RPDML", "none"),
        ("RPDML", "whole"),
        ("RPDML, covariance", "small"),
        ("ITML, given prior", "whole"),
        ("GMML", "none"),
        ("GMML, covariance", "whole"),
        ("GMML, covariance", "small"),
    ],
)
def test_same_metric_as_from_an_array(name, kind):
    X, y = make_samples()
    learner, weight = LEARNERS[name], weights(kind)
    expected = learner.fit(X, y, sample_weight=weight)
    W, importances = expected.get_mahalanobis_matrix(), expected.feature_importances_
    found = learner.fit(da.from_array(X, chunks=(40, 3)), y, sample_weight=weight)
    np.testing.assert_allclose(found.get_mahalanobis_matrix(), W, rtol=0, atol=1e-10 * np.abs(W).max())
    np.testing.assert_allclose(found.feature_importances_, importances, rtol=0, atol=1e-10)
    assert found.n_features_in_ == 4


def test_certificate_and_bounds_are_those_of_the_local_fit():
    X, y = make_samples()
    expected, found = (RPDML(pairs="all").fit(samples, y) for samples in (X, da.from_array(X, chunks=50)))
    np.testing.assert_allclose(found.bounds_, expected.bounds_, rtol=1e-12)
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-10)
    np.testing.assert_allclose(found.dual_objective_, expected.dual_objective_, rtol=1e-10)
    assert found.duality_gap_ <= 1e-6
    assert (found.n_pairs_, found.n_iter_) == (expected.n_pairs_, expected.n_iter_)
    assert found.bounds_are_exact_


@pytest.mark.parametrize("kind", ["none", "whole"])
def test_bounds_of_more_than_2000_samples_are_near_the_exact_percentiles(kind, monkeypatch):
    """They are percentiles of 200,000 random pairs: a share of 5 % has a standard error of 0.05 points."""
    monkeypatch.setattr(sample_blocks, "_LEAST_ROWS", 1500)
    (X, y), weight = make_samples(2900, 2), weights(kind, 2900)
    found = RPDML(pairs="all", tol=0.5).fit(da.from_array(X, chunks=1000), y, sample_weight=weight)
    assert not found.bounds_are_exact_
    counts = np.ones(2900) if weight is None else weight.astype(float)
    shares = [percentage_below(bound, X, counts) for bound in found.bounds_]
    np.testing.assert_allclose(shares, [5.0, 95.0], rtol=0.0, atol=0.2)


@pytest.mark.parametrize("learner", [RPDML(pairs="all", tol=1e-12), GMML(reg=1.0, prior="covariance")])
def test_samples_without_label_count_for_prior_and_bounds(learner):
    X, y = make_samples()
    y[::5] = -1
    with pytest.warns(UserWarning, match="30 of 150 samples have the label −1"):
        W = learner.fit(X, y).get_mahalanobis_matrix()
    with pytest.warns(UserWarning, match="30 of 150 samples have the label −1") as caught:
        found = learner.fit(da.from_array(X, chunks=50), y).get_mahalanobis_matrix()
    assert caught[0].filename == __file__
    np.testing.assert_allclose(found, W, rtol=0, atol=1e-10 * np.abs(W).max())


def test_labels_and_weights_may_be_dask_arrays_of_any_type():
    X, y = make_samples()
    names, weight = np.array(["a", "b", "c"])[y], weights("whole").astype(float)
    expected = GMML().fit(X, names, weight).components_
    parts = (da.from_array(values, chunks=70) for values in (X.astype(np.float32), names, weight))
    np.testing.assert_allclose(GMML().fit(*parts).components_, expected, rtol=1e-5)


def test_thinned_pairs_lead_to_the_same_metric(monkeypatch):
    monkeypatch.setattr("geodual.metric.geometry.pair_set._FEW", 1000)
    monkeypatch.setattr(sample_blocks, "_LEAST_ROWS", 150)
    X, y = make_samples(400, 2)
    assert thinned_rows(np.sort(y), 2) is not None
    expected, found = (
        RPDML(pairs="all", bounds=(2.0, 60.0)).fit(samples, y) for samples in (X, da.from_array(X, chunks=90))
    )
    assert [row.passes for row in found.history_] == [row.passes for row in expected.history_]
    np.testing.assert_allclose(found.W_, expected.W_, rtol=1e-10)


@pytest.mark.parametrize("loss", [SquaredHinge(2.0, 40.0, 3.0, 5.0), OneSidedBurg(2.0, 40.0, 0.1)])
@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("kind", ["none", "small"])
def test_sums_are_those_of_all_pairs(loss, kept, kind):
    X, y = make_samples()
    order, weight = np.argsort(y, kind="stable"), weights(kind)
    here = AllPairs(y[order], None if weight is None else weight[order])
    there = ClusterPairs(blocks_of(X, y, weight))
    if not kept:
        here.n_pairs = there.n_pairs = 10**10  # second derivatives of so many pairs are not kept
    L = np.linalg.cholesky(PRIOR + 0.1)
    Z, S = X[order] @ L, np.cov(X.T)
    expected, found = here.evaluate(Z, loss), there.evaluate(L, loss)
    assert (found.curvatures is not None) == kept
    for name in ("value", "conjugate", "slope_sum", "curvature_total"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-10, err_msg=name)
    one, other = (
        pairs.curvature_product(where, S, loss, sums.curvatures)
        for pairs, where, sums in ((here, Z, expected), (there, L, found))
    )
    # Products over so many pairs are in single precision.
    np.testing.assert_allclose(one, other, rtol=0.0, atol=(1e-10 if kept else 1e-5) * np.abs(one).max())
    moments = here.curvature_moment(Z, loss, expected), there.curvature_moment(L, loss, found)
    np.testing.assert_allclose(*moments, rtol=1e-9)
    assert there.total_weight == here.total_weight


def test_scatters_and_standing_samples_keep_small_features():
    X, y = make_samples()
    X = X * [1e8, 1.0, 1e-8, 1.0]
    blocks = blocks_of(X, y)
    scales = np.outer(X.std(axis=0), X.std(axis=0))
    for found, expected in zip(blocks.pair_scatters(), pair_scatters(X, y, np.ones(150)), strict=True):
        np.testing.assert_allclose(found / scales, expected / scales, rtol=1e-10, atol=1e-6)
    few = blocks.standing_for_all()
    assert few.shape == (8, 4)
    np.testing.assert_allclose(np.cov(few.T) / scales, np.cov(X.T) / scales, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.cov(standing_for(np.eye(3)).T), np.eye(3), atol=1e-14)


def test_a_constant_feature_stays_so_in_samples_that_stand_for_all() -> None:
    """A rounding error there would be a variance that `prior="covariance"` inverts."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        A = rng.standard_normal((9, 5)) * [1.0, 0.0, 1.0, 1.0, 0.0]
        assert not standing_for(A.T @ A)[:, [1, 4]].any()


def test_transform_of_a_dask_array_is_lazy():
    X, y = make_samples()
    learner = GMML(n_components=2).fit(X, y)
    found = learner.transform(da.from_array(X, chunks=(40, 3)))
    assert isinstance(found, da.Array)
    assert found.chunks == ((40, 40, 40, 30), (2,))
    np.testing.assert_allclose(found.compute(), learner.transform(X), rtol=1e-12)
    single = learner.transform(da.from_array(X.astype(np.float32), chunks=(40, 3)))
    assert single.dtype == single.compute().dtype == np.float32
    with pytest.raises(ValueError, match="2 features"):
        learner.transform(da.ones((5, 2)))


def test_transform_of_a_dask_array_is_checked_like_that_of_an_array():
    X, y = make_samples()
    learner = GMML().fit(X, y)
    for wrong in (X.astype(complex), X.astype(object), X.astype(str)):
        with pytest.raises(ValueError, match="must hold real numbers, got dtype"):
            learner.transform(da.from_array(wrong, chunks=40))
    for value in (np.nan, np.inf):
        X[77, 2] = value
        found = learner.transform(da.from_array(X, chunks=40))
        with pytest.raises(ValueError, match="`X` contains NaN or infinity"):
            found.compute()
    whole = learner.transform(da.ones((5, 4), dtype=int, chunks=2)).compute()
    np.testing.assert_allclose(whole, learner.transform(np.ones((5, 4))), rtol=1e-14)
    assert whole.dtype == float


def test_arrays_that_only_could_be_of_dask_are_arrays():
    class Labeled(np.ndarray):
        """Like the arrays of xarray, it has the methods of a collection of Dask, but no graph."""

        def __dask_graph__(self):
            return None

    X, y = make_samples()
    learner = RPDML(pairs="all", tol=1e-4).fit(X.view(Labeled), y)
    np.testing.assert_array_equal(learner.W_, RPDML(pairs="all", tol=1e-4).fit(X, y).W_)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (GMML(t=2.0), "`t` must lie in"),
        (GMML(n_components=5), "`n_components` must be between 1 and 4, got 5"),
        (GMML(reg=1.0, prior="wrong"), "`prior` must be"),
        (RPDML(pairs="all", bounds=(2.0, 1.0)), "bounds"),
        (RPDML(pairs="all", percentiles=(95, 5)), "percentiles"),
        (RPDML(pairs="all", prior=np.eye(3)), "`prior`"),
        (ITML(pairs="all", n_components=0), "`n_components` must be between 1 and 4, got 0"),
    ],
)
def test_wrong_parameters_are_found_before_samples_are_loaded(learner, message):
    def load(block):
        raise AssertionError("samples were loaded")

    X, y = make_samples()
    with pytest.raises(ValueError, match=message):
        learner.fit(da.from_array(X, chunks=50).map_blocks(load, dtype=float, meta=np.empty((0, 0))), y)


@pytest.mark.parametrize("learner", [RPDML(pairs="all", tol=1e-4), GMML()])
def test_samples_of_weight_zero_are_not_among_those_without_label(learner):
    X, y = make_samples()
    y[::5] = -1
    weight = np.where(np.arange(150) % 10, 1.0, 0.0)
    for samples in (X, da.from_array(X, chunks=50)):
        with pytest.warns(UserWarning, match="15 of 135 samples have the label −1"):
            learner.fit(samples, y, sample_weight=weight)


def test_partial_fit_takes_dask_arrays():
    X, y = make_samples()
    learners = [RPDML(pairs="all", tol=1e-12) for _ in range(2)]
    for part in (slice(0, 80), slice(80, 150)):
        learners[0].partial_fit(X[part], y[part])
        learners[1].partial_fit(da.from_array(X, chunks=50)[part], y[part])
    np.testing.assert_allclose(learners[1].W_, learners[0].W_, rtol=1e-9)


def test_what_a_dask_array_does_not_allow_is_said():
    X, y = make_samples()
    Xd, all_pairs = da.from_array(X, chunks=50), RPDML(pairs="all")
    for pairs in ("local", 100, [[0, 1], [2, 3]]):
        with pytest.raises(ValueError, match='A dask array needs `pairs="all"`'):
            RPDML(pairs=pairs).fit(Xd, y)
    with pytest.raises(ValueError, match="NeighborRPDML does not accept dask arrays"):
        NeighborRPDML().fit(Xd, y)
    with pytest.raises(ValueError, match='needs `solver="certified"`'):
        RPDML(pairs="all", solver="paper").fit(Xd, y)
    with pytest.raises(ValueError, match="`must_link` cannot be combined with a dask array"):
        all_pairs.fit(Xd, y, must_link=[[0, 1]])
    with pytest.raises(ValueError, match="got 1 axes"):
        all_pairs.fit(Xd[:, 0], y)
    with pytest.raises(ValueError, match=r"must be a dask array, got Delayed.*to_dask_array"):
        RPDML().fit(dask.delayed(X), y)
    with pytest.raises(ValueError, match="`X` has 3 samples of 4 features"):
        all_pairs.fit(Xd[:3], y[:3])
    with pytest.raises(ValueError, match="unknown size"):
        all_pairs.fit(Xd[Xd[:, 0] > 0.0], y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        all_pairs.fit(Xd, y[:-1])
    with pytest.raises(ValueError, match="needs labels"):
        all_pairs.fit(Xd)
    with pytest.raises(ValueError, match="real numbers, got dtype complex128"):
        all_pairs.fit(Xd.astype(complex), y)
    with pytest.raises(ValueError, match="at least two classes"):
        GMML().fit(Xd, y, sample_weight=(y == 0).astype(float))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(value):
    X, y = make_samples()
    X[77, 2] = value
    with pytest.raises(ValueError, match="`X` contains NaN or infinity"):
        GMML().fit(da.from_array(X, chunks=50), y)


def test_extreme_samples_are_refused_like_those_of_an_array():
    X, y = make_samples()
    with pytest.raises(ValueError, match="All samples are equal"):
        GMML().fit(da.ones((150, 4), chunks=50), y)
    with pytest.raises(ValueError, match="too small or too large"):
        RPDML(pairs="all").fit(da.from_array(X * 1e200, chunks=50), y)


def test_constant_features_and_one_block_need_nothing_special():
    X, y = make_samples(50)
    X[:, 1] = 0.1
    W = GMML().fit(X, y).get_mahalanobis_matrix()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = GMML().fit(da.from_array(X, chunks=50), y).get_mahalanobis_matrix()
    np.testing.assert_allclose(found, W, rtol=0, atol=1e-10 * np.abs(W).max())


@pytest.mark.parametrize("learner", [GMML(), RPDML(pairs="all"), ITML(pairs="all", prior="covariance")])
def test_sums_of_squares_that_overflow_are_named(learner):
    X, y = make_samples()
    with pytest.raises(ValueError, match="`X` and `sample_weight` are too large for sums of squares"):
        learner.fit(da.from_array(1e110 * X, chunks=50), y, sample_weight=np.full(150, 1e110))


def test_features_that_are_constant_up_to_rounding_are_zero_in_blocks() -> None:
    X, y = make_samples(40, 3)
    X = np.column_stack([X, 0.1 + 0.2 + 0.0 * y, np.where(y > 0, -(0.1 + 0.2), -0.3), np.full(40, 1e-9) * y])
    found = blocks_of(X, y).here()
    assert (np.abs(found).max(axis=0) > 0.0).tolist() == [True, True, True, False, False, True]
    np.testing.assert_allclose(found[:, :3], (X - X.mean(axis=0))[np.argsort(y, kind="stable"), :3])
