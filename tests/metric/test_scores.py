"""Parts of the scores by which settings are chosen."""

import tracemalloc

import numpy as np
import pytest

from geodual.metric.logdet import scores
from geodual.metric.pairs.neighbourhoods import neighbour_widths


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize("n_samples", [1, 2, 7, 30])
def test_spaced_pairs_are_every_kth_of_all(n_samples, offset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scores, "_AUC_PAIRS", 20)
    i, j = np.triu_indices(n_samples, offset)
    step = max(len(i) // 20, 1)
    found = scores._spaced_pairs(n_samples, offset)
    np.testing.assert_array_equal(found, (i[::step], j[::step]))


def test_widths_of_neighbourhoods_take_little_memory() -> None:
    Z = np.random.default_rng(0).standard_normal((3000, 3))
    tracemalloc.start()
    try:
        neighbour_widths(Z, 5)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 30e6  # all distances would take 72 MB
