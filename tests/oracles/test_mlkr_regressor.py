"""The MLKR regressor of the benchmarks: weighted nearest neighbors in the metric of metric-learn."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from benchmarks.accuracy.mlkr import MLKRRegressor
from testing.metric_learn_shim import working_metric_learn


def test_it_is_the_mean_of_neighbors_by_inverse_distance_whatever_the_unit_of_the_target() -> None:
    X, y = make_friedman1(60, random_state=0)
    with working_metric_learn() as metric_learn:
        L = metric_learn.MLKR(max_iter=5, random_state=0).fit(X, (y - y.mean()) / y.std()).components_
    model = MLKRRegressor(n_neighbors=3, max_iter=5).fit(X, 1e3 * y)
    new = make_friedman1(5, random_state=1)[0]
    for x, predicted in zip(new, model.predict(new), strict=True):
        distance = np.linalg.norm((X - x) @ L.T, axis=1)
        nearest = np.argsort(distance)[:3]
        expected = np.average(1e3 * y[nearest], weights=1.0 / distance[nearest])
        assert predicted == pytest.approx(expected, rel=1e-6)
