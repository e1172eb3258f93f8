"""The track record of past decisions: its numbers and its words."""

import numpy as np
import pandas as pd
import pytest

from geodual.funds.evaluation.statistics import stationary_bootstrap_interval
from geodual.funds.evaluation.track_record import TrackRecord, measure_record


def test_a_track_record_day_by_day() -> None:
    rng, days = np.random.default_rng(0), pd.bdate_range("2020-01-01", periods=12)
    ics, picks, universe, index = rng.standard_normal((4, 12))
    index[3] = np.nan
    returns = pd.DataFrame({"picks": picks, "universe": universe, "index": index}, days)
    record = measure_record(pd.Series(ics, days), returns, pd.Series([True] * 15 + [False] * 5))
    excess, over = picks - universe, np.delete(picks - index, 3)
    assert (record.n, record.beat_median) == (12, 0.75)
    assert (record.ic, record.excess) == (pytest.approx(np.mean(ics)), pytest.approx(np.mean(excess)))
    assert (record.over_index, record.n_over_index) == (pytest.approx(np.mean(over)), 11)
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
