"""A sweep gives the studies of `backtest`, learns what is equal once, and counts every trial."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

from geodual.funds import DataError, backtest, read_facts, read_study, select, sweep, synthetic_universe
from geodual.funds.decisions import observations
from geodual.funds.evaluation.overfitting import overfitting_probability, sharpe_ratios
from tests.funds.same_study import assert_same

CORRECTED = ("trials",)


@pytest.fixture(scope="module")
def market():
    """Twenty-two funds of two types."""
    drawn = synthetic_universe(22, "2013-07-01", "2014-12-31", seed=1)
    codes = drawn.panel.nav.columns
    kinds = ["equity" if at % 2 else "bond" for at in range(len(codes))]
    facts = read_facts(pd.DataFrame({"code": codes, "type": kinds}))
    return SimpleNamespace(panel=drawn.panel, index=drawn.index, facts=facts)


@pytest.fixture(scope="module")
def swept(market):
    return sweep(market.panel, {"k": [3, 5], "top": [4, 8]}, market.index, ["euclidean", "gmml"], cost=0.001)


class Shrink(TransformerMixin, BaseEstimator):
    """Half of each factor; counts its fits, and warns of each."""

    fits = 0

    def fit(self, X, y=None):
        type(self).fits += 1
        warnings.warn(f"{len(X)} rows", UserWarning, stacklevel=2)
        return self

    def transform(self, X):
        return 0.5 * np.asarray(X)


GRIDS = {
    "settings of trading, and of learning": {"k": [3, 5], "top": [4, 8], "execution_lag": [1]},
    "types": {"relative_to": ["type", "all"]},
    "days": {"start": ["", "2014-09-01"]},
    "forecasters and baselines": {
        "forecasters": ["momentum", ["gmml", "factor:rsi_63"]],
        "baselines": [["universe"], ["factor:roc_63"]],
    },
    "tuned ones": {"tune": [False, True], "test_start": ["2014-09-01"], "metrics": ["gmml"]},
}


@pytest.mark.parametrize("kind", GRIDS)
def test_each_study_is_that_of_a_backtest(market, kind):
    data = {"index": market.index, "facts": market.facts}
    others = {} if {"metrics", "forecasters"} & set(GRIDS[kind]) else {"metrics": ("gmml",)}
    found = sweep(market.panel, GRIDS[kind], **data, **others)
    assert len(found) == np.prod([len(values) for values in GRIDS[kind].values()])
    for settings, study in zip(found.settings, found.studies, strict=True):
        assert_same(study, backtest(market.panel, **data, **others, **settings), without=CORRECTED)


def test_what_is_equal_is_computed_and_learned_once(market, monkeypatch):
    computed = []
    monkeypatch.setattr(
        observations,
        "compute_factors",
        lambda *given, real=observations.compute_factors: (computed.append(1), real(*given))[1],
    )
    Shrink.fits = 0
    given = {"forecasters": {"mine": Shrink()}, "baselines": ()}
    found = sweep(market.panel, {"k": [3, 5], "top": [4, 8]}, **given)
    assert (len(computed), Shrink.fits) == (1, len(found.studies[0].ic))
    one = backtest(market.panel, k=5, top=8, **given)
    assert any("rows" in note for note in one.notes)  # a warning is told in each study that rests on it
    assert found.study(k=5, top=8).notes == one.notes


@pytest.mark.usefixtures("blank_figures", "blank_report")
def test_all_trials_are_counted_in_all_corrections(swept, tmp_path):
    traded, saved = swept.studies[0].retrade(top=5), read_study(swept.studies[3].save(tmp_path / "run"))
    for study in (*swept.studies, traded, saved):
        assert study.n_choices("both") == 8
        assert set(study.overfitting["trials"]) == {8}
        assert study.overfitting_probability == swept.studies[0].overfitting_probability
    curves = [study.equity[["euclidean", "gmml"]] for study in swept.studies]
    spread = np.concatenate([sharpe_ratios(own) for own in curves]).std(ddof=1)
    assert swept.studies[0].trials.sharpe_spread == pytest.approx(spread, rel=1e-12)
    every = pd.concat(curves, axis=1)
    assert swept.studies[0].overfitting_probability == overfitting_probability(every)
    assert not every.isna().any(axis=None)


def test_corrections_are_those_of_one_study_times_the_settings(market, swept):
    one = backtest(market.panel, market.index, ("euclidean", "gmml"), k=3, top=4, cost=0.001)
    tried = swept.study(k=3, top=4)
    for table in ("skill", "spread_summary", "against_baselines"):
        own, counted = getattr(one, table)["p"], getattr(tried, table)["p"]
        assert counted.to_numpy() == pytest.approx(np.minimum(4.0 * own.to_numpy(), 1.0), nan_ok=True)
    assert (tried.overfitting["deflated_sharpe"] <= one.overfitting["deflated_sharpe"]).all()
    assert select(market.panel, run=tried).record.p == pytest.approx(
        min(1.0, 4.0 * select(market.panel, run=one).record.p), nan_ok=True
    )


def test_the_best_of_a_universe_without_skill_is_not_called_skill():
    """One of 150 seeds: the best of nine settings passes for skill unless all nine are counted."""
    panel = synthetic_universe(30, "2012-01-04", "2014-12-31", seed=1139, signal=0.0).panel
    found = sweep(panel, {"k": [1, 4, 10], "top": [3, 5, 10]}, metrics="euclidean", baselines=())
    p = found.table["p"].min()
    assert p / 9.0 < 0.05 < p
    assert "within what chance alone would produce" in found.headline
    assert "9 trials in 9 settings" in found.headline


def test_the_table_has_a_row_per_setting(swept):
    table, study = swept.table, swept.study(k=5, top=8)
    assert table[["k", "top"]].to_numpy().tolist() == [[3, 4], [3, 8], [5, 4], [5, 8]]
    row, name = table.loc[3], study.strategy
    expected = study.table().loc["both", :].loc[name]
    assert row["forecaster"] == name
    for column in ("ic_mean", "t", "annual_return", "sharpe", "n"):
        assert row[column] == expected[column]
    assert row["p"] == study.skill["p"]["both", name]
    assert row["deflated_sharpe"] == study.overfitting["deflated_sharpe"][name]
    assert table["ic_mean"].max() == table["ic_mean"][swept.best]
    assert f"k = {table['k'][swept.best]}, top = {table['top'][swept.best]}" in swept.headline
    assert "8 trials in 4 settings" in swept.headline


def test_a_grid_of_one_default_is_a_backtest(market):
    found = sweep(market.panel, {"k": [10]}, metrics="gmml")
    one = backtest(market.panel, metrics="gmml")
    (study,) = found.studies
    assert_same(study, one, without=CORRECTED)
    assert study.headline == one.headline
    pd.testing.assert_frame_equal(study.overfitting, one.overfitting)
    pd.testing.assert_frame_equal(study.skill, one.skill)


def test_progress_counts_decisions_and_studies(market):
    steps = []
    found = sweep(
        market.panel, {"k": [3, 5], "top": [4, 8]}, metrics="gmml", progress=lambda *step: steps.append(step)
    )
    total = 2 * len(found.studies[0].ic) + 4
    assert [(done, of) for done, of, _ in steps] == [(at + 1, total) for at in range(total)]
    assert steps[0][2].endswith("gmml (k = 3)")
    assert steps[-1][2] == "k = 5, top = 8"


@pytest.mark.parametrize(
    ("grid", "settings", "told"),
    [
        ({}, {}, "`grid` must map settings to values to try"),
        ([("k", [5])], {}, "`grid` must map settings to values to try"),
        ({"k": []}, {}, "`k` has no values to try"),
        ({"k": 5}, {}, "the values of `k` must be a list, got 5"),
        ({"forecasters": "ridge"}, {}, "the values of `forecasters` must be a list, got 'ridge'"),
        ({"k": [5, 5]}, {}, "`k` has the value 5 twice"),
        ({"neighbours_": [5]}, {}, "sweep: unknown setting `neighbours_`"),
        ({"k": [5]}, {"k": 10}, "`k` is both in the grid and given as a setting"),
        (
            {"metrics": [["gmml"]]},
            {"metrics": "gmml"},
            "`metrics` is both in the grid and given as a setting",
        ),
        ({"k": [5, 0]}, {}, "sweep, k = 0: `k` must be a whole number of at least 1"),
        ({"top": [4, 8], "max_weight": [0.2]}, {}, "sweep, top = 4, max_weight = 0.2: `max_weight` must be"),
        ({"k": [5, 500]}, {}, "Lower `k`"),
        ({"execution_lag": [0, 9999]}, {}, "`execution_lag` must be at most"),
    ],
)
def test_a_mistake_is_named_before_anything_is_learned(market, monkeypatch, grid, settings, told):
    monkeypatch.setattr("geodual.funds.decisions.walk_forward.decide", None)
    with pytest.raises(DataError) as caught:
        sweep(market.panel, grid, **settings)
    assert told in str(caught.value)


def test_a_study_that_was_not_tried_is_named(swept):
    with pytest.raises(DataError, match="`cost` was not tried; tried were k, top"):
        swept.study(cost=0.001)
    with pytest.raises(DataError, match="2 studies have k = 3"):
        swept.study(k=3)
    with pytest.raises(DataError, match="0 studies have k = 4, top = 4"):
        swept.study(k=4, top=4)
