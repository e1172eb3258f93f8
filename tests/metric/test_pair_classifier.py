"""The threshold of a pair classifier: the best one, and bad ways to choose it."""

import numpy as np
import pytest

from geodual.metric.base.pair_classifier import best_threshold, check_calibration_params


@pytest.mark.parametrize("strategy", ["accuracy", "f_beta", "max_tpr", "max_tnr"])
@pytest.mark.parametrize("farthest", [False, True])
def test_no_other_threshold_scores_better(strategy: str, farthest: bool) -> None:
    rng = np.random.default_rng(3)
    distance = rng.permutation(np.arange(1.0, 31.0))
    similar = rng.uniform(0.0, 30.0, 30) > distance
    similar[np.argmax(distance)] = farthest
    rate = 0.7 if strategy.startswith("max") else None

    def score(threshold: float) -> float:
        called = distance <= threshold
        hits, tpr = (called & similar).sum(), (called & similar).sum() / similar.sum()
        tnr = (~called & ~similar).sum() / (~similar).sum()
        if strategy == "accuracy":
            return float((called == similar).mean())
        if strategy == "f_beta":
            return float(5.0 * hits / (4.0 * similar.sum() + max(called.sum(), 1)))
        wanted, other = (tpr, tnr) if strategy == "max_tpr" else (tnr, tpr)
        return float(wanted) if other >= rate else -1.0

    found = best_threshold(distance, similar, strategy, rate, 2.0)
    assert score(found) == pytest.approx(max(map(score, np.arange(0.5, 32.0))))


def test_bad_ways_to_choose_a_threshold_are_refused_before_a_fit() -> None:
    with pytest.raises(ValueError, match="strategy"):
        check_calibration_params({"strategy": "best"})
    assert check_calibration_params(None) == {}
