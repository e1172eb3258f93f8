"""Flat space of extreme scale."""

import numpy as np
import pytest

from geodual.manifolds import Euclidean


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_scale_of_the_vectors_does_not_matter(scale):
    manifold = Euclidean(2, 3)
    x, y = scale * np.arange(6.0).reshape(2, 3), np.zeros((2, 3))
    assert manifold.dist(x, y) == pytest.approx(scale * np.sqrt(55.0), rel=1e-15)
    np.testing.assert_array_equal(manifold.exp(x, manifold.log(x, y)), y)
    np.testing.assert_array_equal(manifold.transport(x, y, x), x)
