"""Which samples are equal, and which features vary."""

import numpy as np
import pytest

from geodual.metric.base.scatter import distinct_rows, varying


def test_zeros_of_both_signs_are_equal() -> None:
    first, place = distinct_rows(np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, -0.0], [2.0, 0.0]]))
    assert len(first) == 2
    assert place[0] == place[1] != place[2] == place[3]


def test_one_tiny_feature_among_others_is_no_obstacle() -> None:
    size = np.array([1.0, 1.0, 1.0])
    assert varying(np.array([1.0, 1e-12, 0.0]), size).tolist() == [True, True, False]
    assert varying(np.array([1.0, 1e-200]), np.array([1.0, 1e-199])).tolist() == [True, True]
    with pytest.raises(ValueError, match="too small or too large"):
        varying(np.array([1e-200]), np.array([1e-199]))
