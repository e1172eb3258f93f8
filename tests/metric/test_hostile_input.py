"""Samples, pairs and weights that cannot be used: one clear error each. Found by `make fuzz`."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from geodual.compat import metric_learn
from geodual.metric import (
    GMML,
    ITML,
    RPDML,
    EuclideanMetric,
    NeighborRPDML,
    PairGMML,
    PairITML,
    PairRPDML,
    RPDMLRegressor,
    TripletRPDML,
)
from geodual.metric.base.maps import factor, leading_components

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((12, 3)), np.arange(12) % 2
PAIRS, SIGNS = RNG.standard_normal((6, 2, 3)), np.array([1, -1] * 3)


@pytest.mark.parametrize("learner", [PairRPDML(), PairGMML(), PairITML()])
@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        (PAIRS.astype(complex), "its entries are complex"),
        ([[[1.0], [1.0, 2.0]]], "array of numbers"),
        (np.zeros((6, 2, 0)), "must have shape"),
        (1e200 * PAIRS, "scale the features"),
    ],
)
def test_pairs_that_are_none(learner, pairs, told: str) -> None:
    with pytest.raises(ValueError, match=f"`pairs`.*{told}"):
        learner.fit(pairs, SIGNS)


@pytest.mark.parametrize("triplets", [[[[1.0], [1.0, 2.0]]], np.zeros((2, 3, 2), dtype=complex)])
def test_triplets_that_are_none(triplets) -> None:
    with pytest.raises(ValueError, match="`triplets` must be an array of numbers"):
        TripletRPDML().fit(triplets)


@pytest.mark.parametrize("indices", [[["a", "b"]], [[0, 99]], [[0.5, 1.0]]])
def test_indices_that_are_none_name_the_preprocessor(indices) -> None:
    with pytest.raises(ValueError, match="Indices into `preprocessor`"):
        PairGMML(preprocessor=X).fit(indices, [1])


@pytest.mark.parametrize("weight", ["a", [1j] * 3, len])
def test_weights_of_pairs_that_are_none(weight) -> None:
    pairs = np.array([[0, 1], [1, 2], [2, 4]])
    with pytest.raises(ValueError, match="`pair_weight`"):
        ITML(pairs=pairs).fit(X, Y, pair_weight=weight)


def test_weights_that_leave_no_number_for_the_loss() -> None:
    with pytest.raises(ValueError, match="choose another `C`, or weights closer to 1"):
        PairRPDML(C=1e4).fit(PAIRS, SIGNS, sample_weight=np.full(6, 1e-320))


@pytest.mark.parametrize("learner", [RPDML(), EuclideanMetric(), EuclideanMetric(1), RPDMLRegressor()])
def test_samples_whose_squares_overflow(learner) -> None:
    with pytest.raises(ValueError, match=r"`X` has values up to .*; scale the features"):
        learner.fit(1e200 * X, Y)


@pytest.mark.parametrize("size", [1e-200, 1e-150, 1e149])
def test_shares_of_features_do_not_depend_on_units(size: float) -> None:
    expected = EuclideanMetric().fit(X).feature_importances_
    np.testing.assert_allclose(EuclideanMetric().fit(size / 10.0 * X).feature_importances_, expected)


def test_texts_are_no_targets() -> None:
    with pytest.raises(ValueError, match="`y` must hold numbers, got texts such as"):
        RPDMLRegressor().fit(X, np.array(["ham", "spam"] * 6))


def test_bounds_far_from_the_samples_give_no_crash_and_no_certificate() -> None:
    """At a gradient of exactly zero there is no next step, although the gap proves nothing."""
    with pytest.warns(UserWarning, match="relative duality gap"):
        learner = PairITML(gamma=0.1, bounds=(1e-90, 2e-90), max_iter=50).fit(PAIRS[..., :1], SIGNS)
    assert learner.duality_gap_ > learner.tol


def test_extreme_samples_under_the_names_of_metric_learn() -> None:
    chunks = np.arange(12) // 4
    for size in (1e-310, 1e200):
        with pytest.raises(ValueError, match="scale the features"):
            metric_learn.NCA().fit(size * X, Y)
        with pytest.raises(ValueError, match="scale the features"):
            metric_learn.RCA().fit(size * X, chunks)


@pytest.mark.parametrize(
    ("learner", "samples"),
    [
        (GMML(t=1.0), np.vstack([X[:-1], [[1e150, 0.0, 0.0]]])),
        (GMML(t=1.0), X * [1e128, 1e-108, 1e74]),
    ],
)
def test_a_metric_whose_distances_overflow_is_refused(learner, samples) -> None:
    with pytest.raises(ValueError, match="distances of the samples are too small or too large"):
        learner.fit(samples, Y)
    assert not hasattr(learner, "components_")


def test_triplets_too_far_apart_for_distances_are_refused() -> None:
    with pytest.raises(ValueError, match=r"`triplets` has values up to .*; scale the features"):
        TripletRPDML(prior="covariance").fit(1e151 * RNG.standard_normal((4, 3, 2)))


def test_weights_that_leave_no_scatter_of_pairs() -> None:
    with pytest.raises(ValueError, match="scale the features and weights"):
        PairGMML().fit(1e-149 * PAIRS, SIGNS, sample_weight=np.full(6, 1e-150))


def test_a_prior_under_which_squared_distances_vanish() -> None:
    with pytest.raises(ValueError, match=r"under the prior, too small or too large .* another `prior`"):
        NeighborRPDML(prior=1e-300 * np.eye(3)).fit(X, Y)


def test_a_weight_of_itml_whose_slopes_overflow_proves_nothing() -> None:
    pairs = np.vstack([PAIRS, np.ones((1, 2, 3))])  # equal samples that should differ
    with pytest.warns(ConvergenceWarning, match="rounding errors allow no better result"):
        learner = PairITML(1e300, bounds=(0.4, 3.0)).fit(pairs, np.append(SIGNS, -1))
    assert np.isfinite([learner.objective_, learner.dual_objective_, learner.duality_gap_]).all()


def test_the_factor_of_a_matrix_that_rounding_made_semidefinite() -> None:
    W = np.ones((2, 2))
    np.testing.assert_allclose(factor(W) @ factor(W).T, W, atol=1e-12)
    L = leading_components(W, None)
    np.testing.assert_allclose(L.T @ L, W, atol=1e-12)


def test_true_is_no_number_of_neighbors() -> None:
    with pytest.raises(ValueError, match="`n_neighbors` must be a whole number, got True"):
        RPDMLRegressor(n_neighbors=True).fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("entry", "told"), [(np.nan, "finite"), (np.inf, "finite"), (1j, "numbers"), (1e200, "scale")]
)
def test_sparse_pairs_are_checked_like_others(entry, told: str) -> None:
    learner = GMML().fit(X, Y)
    pairs = (csr_array([[entry, 1.0, 2.0]]), csr_array([[0.0, 1.0, 2.0]]))
    with pytest.raises(ValueError, match=f"`pairs`.*{told}"):
        learner.pair_distance(pairs)


@pytest.mark.parametrize("learner", [GMML(), RPDML(), metric_learn.LMNN()])
def test_labels_of_several_types_are_one_clear_error(learner) -> None:
    with pytest.raises(ValueError, match="`y` must hold labels of one type"):
        learner.fit(X, np.array(["a", 1] * 6, dtype=object))


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e148])
def test_principal_axes_do_not_depend_on_units(size: float) -> None:
    expected = EuclideanMetric(2).fit(X).components_
    np.testing.assert_allclose(EuclideanMetric(2).fit(size * X).components_, expected, atol=1e-12)


@pytest.mark.parametrize("huge", [1e200, -1e200])
def test_samples_whose_squares_overflow_are_refused(huge: float) -> None:
    with pytest.raises(ValueError, match=r"values up to 1e\+200, whose squares overflow"):
        RPDML().fit(np.array([[0.0], [1.0], [2.0], [huge]]), [0, 0, 1, 1])
