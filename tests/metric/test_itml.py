"""ITML where its loss has no finite value: samples of different classes that are equal, or nearly."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from geodual.metric import ITML
from geodual.metric.losses import OneSidedBurg


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def test_copies_in_another_class_are_given_up_with_a_warning(iris) -> None:
    X, y = iris
    with pytest.warns(UserWarning, match="1 sample.* a copy in another class") as caught:
        copied = ITML().fit(np.vstack([X, X[:1]]), np.append(y, 1))
    assert caught[0].filename == __file__
    assert copied.duality_gap_ <= 1e-6
    near = ITML().fit(np.vstack([X, X[:1] + 1e-9]), np.append(y, 1))
    assert near.duality_gap_ <= 1e-6
    np.testing.assert_allclose(near.W_, copied.W_, rtol=1e-3, atol=1e-3)


def test_one_huge_feature(iris) -> None:
    X, y = iris
    assert ITML().fit(X * [1e9, 1.0, 1.0, 1.0], y).duality_gap_ <= 1e-6


def test_the_loss_goes_on_as_a_tangent() -> None:
    loss, end = OneSidedBurg(1.5, 4.0, 0.8), 4e-9
    d = np.array([0.0, 0.5 * end, end * (1.0 + 1e-9)])
    value, slope = loss.value(d, False), loss.slope(d, False)
    np.testing.assert_allclose(slope, 0.8 / 4.0 * (1.0 - 1e9), rtol=1e-8)
    np.testing.assert_allclose(value, 0.8 * (1e-9 - np.log(1e-9) - 1.0) + slope * (d - end), rtol=1e-8)
    np.testing.assert_array_equal(loss.curvature(d, False)[:2], 0.0)
    np.testing.assert_allclose(loss.conjugate(slope, False), slope * d - value, rtol=1e-6)
