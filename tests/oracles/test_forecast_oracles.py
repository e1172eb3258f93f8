"""Diagnostics of forecasts against alphalens."""

import warnings

import numpy as np
import pandas as pd
import pytest

with warnings.catch_warnings():  # alphalens sets up its plots when it is imported
    warnings.simplefilter("ignore")
    from alphalens import performance as alphalens
    from alphalens.utils import quantize_factor

from geodual.funds.evaluation import forecast_diagnostics as diagnostics

DAYS = pd.to_datetime(["2013-03-29", "2013-06-28", "2013-09-30", "2013-12-31", "2014-03-31"])
FUNDS = [f"F{i:02}" for i in range(45)]
TYPES = pd.Series(np.resize(["stock", "bond", "mixed"], 45), index=FUNDS)
CLOSE = {"rtol": 0, "atol": 1e-12}


@pytest.fixture(scope="module")
def predictions():
    rng = np.random.default_rng(7)
    forecast = rng.standard_normal((2, len(DAYS), len(FUNDS)))
    realized = 0.05 * rng.standard_normal((len(DAYS), len(FUNDS))) + 0.02 * forecast[0]
    index = pd.MultiIndex.from_product([["a", "b"], DAYS, FUNDS], names=["forecaster", "date", "fund"])
    table = pd.DataFrame(
        {"forecast": forecast.ravel(), "realized": np.tile(realized.ravel(), 2)}, index=index
    )
    return table.reset_index()[["date", "forecaster", "fund", "forecast", "realized"]]


def factor_data(predictions, metric):
    """The table that alphalens works with, for one metric."""
    own = predictions[predictions["forecaster"] == metric].rename(
        columns={"fund": "asset", "forecast": "factor"}
    )
    table = own.set_index(["date", "asset"])[["factor", "realized"]].rename(columns={"realized": "90D"})
    table["group"] = table.index.get_level_values("asset").map(TYPES)
    table["factor_quantile"] = quantize_factor(table, quantiles=5)
    return table


@pytest.mark.parametrize("metric", ["a", "b"])
def test_spreads_are_twice_those_of_alphalens(predictions, metric):
    data = factor_data(predictions, metric)
    by_day, _ = alphalens.mean_return_by_quantile(data, by_date=True, demeaned=False)
    half, _ = alphalens.compute_mean_returns_spread(by_day, 5, 1)
    np.testing.assert_allclose(diagnostics.measure_spreads(predictions)[metric], 2.0 * half["90D"], **CLOSE)


@pytest.mark.parametrize("metric", ["a", "b"])
def test_rank_autocorrelation(predictions, metric):
    expected = alphalens.factor_rank_autocorrelation(factor_data(predictions, metric))
    np.testing.assert_allclose(diagnostics.correlate_ranks(predictions)[metric], expected, **CLOSE)


@pytest.mark.parametrize("metric", ["a", "b"])
def test_ic_by_type(predictions, metric):
    data = factor_data(predictions, metric)
    expected = alphalens.factor_information_coefficient(data, by_group=True)["90D"]
    found = diagnostics.ic_by_day_and_type(predictions, TYPES)
    own = found[found["forecaster"] == metric].set_index(["date", "type"])["ic"]
    np.testing.assert_allclose(own, expected.loc[own.index], **CLOSE)
    means = diagnostics.summarize_types(found, ["a", "b"]).loc[metric, "ic_mean"]
    expected = alphalens.mean_information_coefficient(data, by_group=True)["90D"]
    np.testing.assert_allclose(means, expected.loc[means.index], **CLOSE)


@pytest.mark.parametrize("metric", ["a", "b"])
def test_ic_after_some_months(predictions, metric):
    """The realized returns of the predictions are what happens in the next three months."""
    expected = alphalens.factor_information_coefficient(factor_data(predictions, metric))["90D"]
    realized = predictions.pivot_table(index="date", columns="fund", values="realized")
    for day in DAYS:
        later = day + pd.DateOffset(months=3)
        nav = pd.DataFrame([np.ones(45), 1.0 + realized.loc[day].to_numpy()], [day, later], FUNDS)
        found = diagnostics.ic_decay(predictions[predictions["date"] == day], nav, [3])
        assert found.loc[3, metric] == pytest.approx(expected[day], abs=1e-12)
