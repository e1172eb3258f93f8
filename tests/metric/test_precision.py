"""Samples in single precision: they stay so in `transform`, and the fit is that of double precision."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris

from geodual.metric import (
    GMML,
    ITML,
    LMNN,
    RPDML,
    EuclideanMetric,
    MahalanobisMetric,
    NeighborRPDML,
    PairGMML,
    PairITML,
    PairRPDML,
    QuadrupletRPDML,
    RPDMLRegressor,
    TripletRPDML,
)

IRIS, Y = load_iris(return_X_y=True)
IRIS, Y = IRIS[::3].astype(np.float32), Y[::3]
RNG = np.random.default_rng(0)
SIGNS = np.where(np.arange(60) % 2, 1, -1)
SINGLE = float(np.finfo(np.float32).eps)


def tuples_of(size: int) -> np.ndarray:
    return IRIS[RNG.integers(0, len(IRIS), (60, size))]


CASES = [
    (EuclideanMetric(n_components=2), IRIS, Y),
    (MahalanobisMetric(), IRIS, Y),
    (GMML(), IRIS, Y),
    (LMNN(), IRIS, Y),
    (ITML(), IRIS, Y),
    (RPDML(), IRIS, Y),
    (NeighborRPDML(), IRIS, Y),
    (RPDMLRegressor(), IRIS, Y.astype(float)),
    (PairGMML(), tuples_of(2), SIGNS),
    (PairITML(), tuples_of(2), SIGNS),
    (PairRPDML(), tuples_of(2), SIGNS),
    (TripletRPDML(), tuples_of(3), None),
    (QuadrupletRPDML(), tuples_of(4), None),
]


@pytest.mark.parametrize(("learner", "X", "y"), CASES, ids=[repr(case[0]) for case in CASES])
def test_single_precision_stays_so_and_the_fit_is_double(learner, X, y) -> None:
    single = clone(learner)
    Z = single.fit_transform(X, y)
    double = clone(learner).fit(X.astype(float), y)
    assert single.components_.dtype == np.float64
    np.testing.assert_array_equal(single.components_, double.components_)
    if hasattr(double, "duality_gap_"):
        assert single.duality_gap_ == double.duality_gap_
    expected = double.transform(X.astype(float))
    assert (Z.dtype, expected.dtype) == (np.float32, np.float64)
    # Rounded once, at the end: to half a unit of the last place, and not by cancellation.
    np.testing.assert_allclose(Z, expected, rtol=SINGLE, atol=0.0)
    samples = single.transform(IRIS)
    assert samples.dtype == np.float32
    np.testing.assert_allclose(samples, double.transform(IRIS.astype(float)), rtol=SINGLE, atol=0.0)


@pytest.mark.parametrize("kind", [np.int64, np.float16, bool])
def test_other_numbers_become_double(kind) -> None:
    assert GMML().fit(IRIS, Y).transform(IRIS.astype(kind)).dtype == np.float64


def test_sparse_samples_and_very_many_features() -> None:
    X = np.random.default_rng(1).standard_normal((12, 5_001)).astype(np.float32)
    for samples in (X, csr_array(X)):
        learner = GMML().fit(samples, np.arange(12) % 2)
        assert learner.transform(samples).dtype == np.float32
        assert learner.transform(samples.astype(float)).dtype == np.float64
