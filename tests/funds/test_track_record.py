"""The track record of past decisions: its numbers, and what it tells in words."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from geodual.funds.evaluation.statistics import stationary_bootstrap_interval
from geodual.funds.evaluation.track_record import TrackRecord, measure_record


def test_a_track_record_day_by_day() -> None:
    rng, days = np.random.default_rng(0), pd.bdate_range("2020-01-01", periods=12)
    rows, ics, excess, beaten = [], [], [], []
    for day in days:
        forecast, realised = rng.standard_normal((2, 6))
        rows += [(day, "m", f"F{j}", forecast[j], realised[j]) for j in range(6)]
        ics.append(spearmanr(forecast, realised)[0])
        excess.append((3.0 * realised[0] + realised[1]) / 4.0 - realised.mean())
        beaten += [realised[j] > np.median(realised) for j in (0, 1)]
    predictions = pd.DataFrame(rows, columns=["date", "forecaster", "fund", "forecast", "realised"])
    held = [(day, fund, weight) for day in days for fund, weight in (("F0", 0.6), ("F1", 0.2), ("F2", 0.0))]
    record = measure_record(predictions, pd.DataFrame(held, columns=["date", "fund", "weight"]))
    assert (record.n, record.beat_median) == (12, pytest.approx(np.mean(beaten)))
    assert (record.ic, record.excess) == (pytest.approx(np.mean(ics)), pytest.approx(np.mean(excess)))
    assert (record.ic_low, record.ic_high) == pytest.approx(stationary_bootstrap_interval(np.array(ics)))
    assert (record.excess_low, record.excess_high) == pytest.approx(
        stationary_bootstrap_interval(np.array(excess))
    )
    assert record.ic_low < record.ic < record.ic_high


@pytest.mark.parametrize(
    ("n", "told"), [(3, "too short to judge; no IC."), (9, "of 9 past decisions: no IC; ")]
)
def test_a_record_of_forecasts_that_do_not_differ_has_no_ic(n: int, told: str) -> None:
    record = TrackRecord(n, *[np.nan] * 4, excess=0.0, excess_low=0.0, excess_high=0.0, beat_median=0.5)
    assert told in record.tell("quarter")
    assert "nan" not in record.tell("quarter")


@pytest.mark.parametrize(("n", "text"), [(0, "no track record"), (3, "too short"), (40, "per quarter")])
def test_a_track_record_in_words(n: int, text: str) -> None:
    record = TrackRecord(n, 0.1, 0.05, 0.15, 0.01, 0.01, 0.0, 0.02, 0.6)
    assert text in record.tell("quarter")
    assert ("no evidence" in record.tell("quarter")) is (0 < n < 10)
