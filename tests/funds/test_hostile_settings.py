"""Arguments of the wrong kind: one clear error each. Found by `make fuzz` and by review."""

import warnings

import numpy as np
import pytest

from geodual.funds import DataError, Panel, StudyConfig, backtest, synthetic_universe


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("n_funds", value) for value in (None, "a", float("nan"), 1e300, 0.5, True, [1])),
        *(("seed", value) for value in (1 + 2j, "a", -1, 0.5)),
        *(("signal", value) for value in ("a", None, float("nan"), -1.0, 1j)),
        *(("start", value) for value in ("NaN", "", 3, None, "\0")),
        *(("end", value) for value in ("soon", "../..")),
    ],
)
def test_a_universe_names_the_wrong_argument(name: str, value: object) -> None:
    with pytest.raises(DataError, match=f"`{name}` must be"):
        synthetic_universe(**{"n_funds": 5, "end": "2013-01-31", name: value})


@pytest.mark.parametrize("day", ["-1", "NaN", "NaT"])
def test_a_year_before_the_first_and_a_missing_day_are_no_days(day: str) -> None:
    with pytest.raises(DataError, match=f"`test_start` must be a date, got '{day}'"):
        StudyConfig(test_start=day)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("execution_lag", 10**30, r"`execution_lag` must be at most \d+, the number of rows after the first"),
        ("execution_lag", 700, r"`execution_lag` must be at most \d+"),
        ("settlement_lag", ["mixed:²"], "`settlement_lag` must be type:days"),
        ("baselines", ["momentum", "momentum"], "`baselines` must be different names"),
    ],
)
def test_a_study_names_the_wrong_setting_before_it_decides(universe, setting, value, message) -> None:
    def fail(done, total, last):
        raise AssertionError("a decision was made")

    given = {"baselines": (), "factors": ["roc"], setting: value}
    with pytest.raises(DataError, match=message):
        backtest(universe.panel, metrics="euclidean", facts=universe.facts, progress=fail, **given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda nav: nav.set_axis(range(nav.shape[1]), axis=1), "columns of `nav` must be different texts"),
        (lambda nav: nav.set_axis(["A"] * nav.shape[1], axis=1), "columns of `nav` must be different texts"),
        (lambda nav: nav.to_numpy(), "`nav` must be a pandas DataFrame, got ndarray"),
        (lambda nav: nav.iloc[:0], "the table has no rows or no funds"),
        (lambda nav: nav.replace(nav.iat[300, 0], 0.0), "NAVs must be positive and finite"),
        (lambda nav: nav.replace(nav.iat[300, 0], np.inf), "NAVs must be positive and finite"),
    ],
)
def test_a_table_that_is_no_panel_is_told_at_once(universe, change, message) -> None:
    with pytest.raises(DataError, match=message):
        backtest(Panel(change(universe.panel.nav)), metrics="euclidean")


def test_a_study_of_a_single_day_has_no_costs_per_year(universe) -> None:
    days = universe.panel.nav.index
    last = days[days > "2012-09-30"][0]  # the first decision is executed on it
    study = backtest(
        universe.panel.until(last), metrics="euclidean", factors=["roc"], execution_lag=1, baselines=()
    )
    assert len(study.equity) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        costs = study.costs.loc["euclidean"]
    assert costs[["turnover", "traded", "cost", "break_even"]].isna().all()
