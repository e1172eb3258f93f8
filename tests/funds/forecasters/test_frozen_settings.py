"""The frozen forecasters: their settings run, and the record is followed without hindsight."""

import numpy as np
import pandas as pd

from benchmarks.forecasts import SETTINGS, follow_the_record
from geodual.funds import backtest, read_config, synthetic_universe


def test_the_frozen_settings_run_on_any_table():
    universe = synthetic_universe(30, "2014-01-02", "2015-12-31")
    study = backtest(universe.panel, universe.index, **read_config(SETTINGS))
    assert list(study.ic) == ["trend", "trend_blend"]
    assert study.ic.notna().all().all()
    assert study.config.frequency == "quarterly", "the command decides on the frequency"


def test_the_blend_is_the_weighted_mean_rank_of_its_members():
    universe = synthetic_universe(30, "2014-01-02", "2015-06-30")
    settings = read_config(SETTINGS)
    members = {"momentum": "momentum", "return_12m": "return_12m"}
    forecasters = {**settings.pop("forecasters"), **members}
    study = backtest(universe.panel, **settings, forecasters=forecasters, baselines=())
    last = study.predictions[study.predictions["date"] == study.ic.index[-1]]
    forecasts = last.pivot_table(index="fund", columns="forecaster", values="forecast")
    ranks = forecasts.rank()
    mean = 0.5 * ranks["trend"] + 0.25 * ranks["momentum"] + 0.25 * ranks["return_12m"]
    n = len(ranks)
    np.testing.assert_allclose(forecasts["trend_blend"], (mean - (n + 1) / 2) / n, atol=1e-12)


def test_the_record_is_followed_without_hindsight():
    rng = np.random.default_rng(0)
    ic = pd.DataFrame(rng.standard_normal((12, 3)), columns=["a", "momentum", "b"])
    expected = []
    for day in range(12):
        best = "momentum"
        if day >= 4:
            means = {name: sum(ic[name][:day]) / day for name in ("momentum", "a", "b")}
            best = max(means, key=means.get)
        expected.append(ic.loc[day, best])
    np.testing.assert_allclose(follow_the_record(ic), expected)
    later = ic.copy()
    later.iloc[8:] = 99.0
    np.testing.assert_array_equal(follow_the_record(later)[:8], expected[:8])
