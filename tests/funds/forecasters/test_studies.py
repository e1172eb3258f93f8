"""Forecasters in whole studies: no look ahead, baselines beside them, checkpoints, tuning and selection."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import Ridge

from geodual.funds import (
    EnsembleForecaster,
    FactorForecaster,
    Panel,
    RegressorForecaster,
    backtest,
    check_leakage,
    compute_factors,
    read_study,
    select,
    synthetic_universe,
)
from geodual.funds.evaluation.skill import learned_names
from geodual.funds.evaluation.track_record import no_record
from geodual.funds.factors.compute import return_over_months
from geodual.funds.report.headline import write_headline
from geodual.funds.study.look_back import LookBack, compare_candidates
from geodual.funds.study.notes import note_choice

pytestmark = pytest.mark.usefixtures("blank_figures")

TEST_START = "2014-01-01"
FORECASTERS = {
    "pooled": {"metric": "euclidean", "target": "rank", "window": "all", "k": 20, "half_life": 4.0},
    "ridge": {"window": 4},
    "calm": {"factor": "stddev_90", "sign": -1},
    "mix": {"members": ["momentum", "ridge"]},
}


@pytest.fixture(scope="module")
def compared(universe):
    return backtest(universe.panel, universe.index, forecasters=FORECASTERS, top=5, test_start=TEST_START)


@pytest.mark.usefixtures("no_fresh_processes")
def test_forecasters_do_not_look_ahead(universe):
    checks = check_leakage(universe.panel, forecasters=FORECASTERS, n_days=2)
    assert len(checks) == 2 * 2 * 4
    assert checks.passed


def test_momentum_is_the_rank_of_the_raw_factor(universe, compared):
    day = compared.ic.index[3]
    factor = compute_factors(universe.panel, [day], ["stddev"]).loc[day]["stddev_90"]
    own = compared.predictions[
        (compared.predictions["date"] == day) & (compared.predictions["forecaster"] == "calm")
    ]
    raw = factor.reindex(own["fund"]).to_numpy()
    assert spearmanr(own["forecast"], -raw).statistic == pytest.approx(1.0)
    assert np.abs(own["forecast"]).max() < 0.5


def test_a_window_that_the_study_does_not_use_can_be_ranked_by(universe):
    study = backtest(universe.panel, forecasters=["factor:roc_120"], factors=["sharpe"], baselines=())
    day = study.ic.index[-1]
    nav = universe.panel.nav.loc[:day]
    own = study.predictions[study.predictions["date"] == day].set_index("fund")["forecast"]
    expected = (nav.iloc[-1] / nav.iloc[-121] - 1.0).reindex(own.index)
    known = expected.notna()
    assert spearmanr(own[known], expected[known]).statistic == pytest.approx(1.0)


def test_returns_over_months_by_hand():
    days = pd.to_datetime(["2015-01-02", "2015-06-01", "2016-01-02", "2016-01-04"])
    nav = pd.DataFrame({"A": [1.0, 1.5, 3.0, np.nan], "B": [np.nan, 2.0, 4.0, 5.0]}, index=days)
    found = return_over_months(nav, pd.DatetimeIndex(days[1:]), 12)
    assert np.isnan(found[0]).all(), "there is no row twelve months earlier"
    assert found[1:, 0].tolist() == [2.0, 2.0], "the last values up to both days"
    assert np.isnan(found[1:, 1]).all(), "it began later"
    cut = return_over_months(nav.iloc[:3], pd.DatetimeIndex(days[1:3]), 12)
    assert np.array_equal(cut, found[:2], equal_nan=True), "later rows do not matter"


def test_baselines_are_computed_in_every_study_and_change_nothing(universe, study):
    without = backtest(
        universe.panel, universe.index, study.config.metrics, top=5, test_start=TEST_START, baselines=()
    )
    for name in ("predictions", "ic", "holdings", "equity", "trades"):
        pd.testing.assert_frame_equal(getattr(study, name), getattr(without, name), check_exact=True)
    assert without.baselines.empty
    assert without.best_against_baseline("both") is None
    assert study.baselines.loc["both"].index.tolist() == ["momentum", "return_12m", "universe"]
    assert study.table().index.get_level_values("forecaster").unique().tolist() == [
        *study.config.metrics,
        "index",
    ]


def test_a_baseline_is_what_the_forecaster_of_its_name_would_be(universe, study):
    own = backtest(universe.panel, universe.index, forecasters=["momentum"], top=5, test_start=TEST_START)
    pd.testing.assert_series_equal(study.baseline_ic["momentum"], own.ic["momentum"])
    pd.testing.assert_series_equal(study.baseline_equity["momentum"], own.equity["momentum"])
    both = ("both", "momentum")
    pd.testing.assert_series_equal(study.baselines.loc[both], own.table().loc[both], check_dtype=False)


def test_the_universe_is_held_with_equal_weights(universe):
    study = backtest(universe.panel, metrics="euclidean", baselines=["universe"])
    assert np.allclose(study.baseline_equity["universe"], study.equity["index"], rtol=1e-12)
    assert study.baseline_predictions.empty
    assert study.against_baselines.empty


def test_differences_from_baselines_are_paired(study):
    row = study.against_baselines.loc[("both", "gmml", "return_12m")]
    paired = (study.ic["gmml"] - study.baseline_ic["return_12m"]).dropna()
    assert row["difference"] == pytest.approx(paired.mean())
    assert row["n"] == len(paired)
    found = study.best_against_baseline("both")
    assert found.learned == study.ic.mean().idxmax()
    assert found.baseline == study.baseline_ic.mean().idxmax()
    assert found.p == study.against_baselines["p"]["both", found.learned, found.baseline]


def test_what_ranks_by_one_factor_counts_as_not_learned(compared):
    assert learned_names(compared.config) == ("pooled", "ridge", "mix")
    named = replace(compared.config, forecasters=("momentum", "factor:roc_10", "gmml", "somebody's"))
    assert learned_names(named) == ("gmml", "somebody's")


def test_copies_and_means_of_single_factors_count_as_not_learned(compared):
    tables = {
        "calm": {"factor": "stddev_90", "sign": -1},
        "copy": {"like": "calm"},
        "turned": {"like": "momentum", "sign": -1},
        "mean": {"members": ["calm", "return_12m"]},
        "half": {"members": ["calm", "ridge"]},
        "short": {"like": "ridge", "window": 4},
        "odd": {"like": "odd"},  # refused when it is made
    }
    config = replace(compared.config, forecasters=tables)
    assert learned_names(config) == ("half", "short", "odd")


def test_a_single_factor_under_a_name_of_ones_own_is_recorded(universe):
    panel = universe.panel.until(pd.Timestamp("2013-06-28"))
    given = {"calm": FactorForecaster("stddev_90", sign=-1), "mine": "momentum", "ridge": Ridge(100.0)}
    study = backtest(panel, forecasters=given, top=3)
    recorded = {"calm": {"factor": "stddev_90", "sign": -1}, "mine": {"like": "momentum"}, "ridge": {}}
    assert study.config.forecasters == recorded
    assert study.best_against_baseline("both").learned == "ridge"
    pd.testing.assert_series_equal(study.ic["mine"], study.baseline_ic["momentum"], check_names=False)


def with_baseline(study, better):
    """The study with a momentum that forecasts perfectly, or as badly as possible."""
    predictions = study.baseline_predictions
    return replace(study, baseline_predictions=predictions.assign(forecast=better * predictions["realized"]))


def test_if_a_baseline_wins_the_headline_begins_with_it(study):
    sentence = write_headline(with_baseline(study, 1.0)).sentence
    assert sentence.startswith(
        "Over the whole study a baseline that learns nothing did best: Momentum, with a mean IC of 1.000."
    )
    assert "the best of what was learned: more than chance alone would produce" in sentence
    low, high = (
        float(text.replace("−", "-"))
        for text in re.search(r"interval (\S+) to ([^;]+); both", sentence).groups()
    )
    lead = float(re.search(r"This is (\S+) above", sentence)[1])
    assert low <= lead <= high, "the interval is of the lead that stands before it"
    sentence = write_headline(with_baseline(study, -1.0)).sentence
    assert "did best" in sentence.split(",")[0]
    assert "above the best baseline, Momentum (−1.000)" in sentence


def test_the_reasons_are_those_of_each_kind(compared):
    views = compared.reasons.groupby("forecaster")["view"].unique().map(set).to_dict()
    assert views == {"pooled": {"near", "apart"}, "ridge": {"adds"}, "calm": {"adds"}, "mix": {"adds"}}
    assert set(compared.neighbors["forecaster"]) == {"pooled"}
    assert set(compared.reasons.loc[compared.reasons["forecaster"] == "mix", "factor"]) == {
        "momentum",
        "ridge",
    }
    assert compared.units == {"pooled": "rank", "ridge": "rank", "calm": "rank", "mix": "rank"}


def test_a_study_of_forecasters_is_saved_and_read(compared, tmp_path):
    again = read_study(compared.save(tmp_path))
    assert again.config == compared.config
    assert again.units == compared.units
    for name in ("predictions", "reasons", "baseline_predictions", "baseline_equity", "baseline_trades"):
        pd.testing.assert_frame_equal(getattr(again, name), getattr(compared, name))
    pd.testing.assert_frame_equal(again.baselines, compared.baselines)
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "What adds most to a forecast" in text


def test_an_interrupted_study_of_forecasters_resumes(universe, compared, tmp_path):
    told = ([], [])
    for calls in told:
        made = backtest(
            universe.panel,
            universe.index,
            forecasters=FORECASTERS,
            top=5,
            test_start=TEST_START,
            checkpoint_folder=tmp_path,
            progress=lambda done, total, last, calls=calls: calls.append(last),
        )
        pd.testing.assert_frame_equal(made.predictions, compared.predictions, check_exact=True)
        pd.testing.assert_frame_equal(made.reasons, compared.reasons, check_exact=True)
    assert len(told[0]) == 4 * len(compared.ic)
    assert told[1] == []


def test_tuning_chooses_the_best_of_a_declared_grid_on_validation_quarters(universe):
    grid = [{}, {"parameters": {"alpha": 1.0}}, {"window": 1}]
    table = {"like": "ridge", "window": "all", "grid": grid}
    tuned = backtest(
        universe.panel, forecasters={"mine": table}, tune=True, test_start=TEST_START, baselines=()
    )
    rivals = {
        "default": RegressorForecaster(Ridge(1000.0)),
        "alpha": RegressorForecaster(Ridge(1.0)),
        "window": RegressorForecaster(Ridge(1000.0), window=1),
    }
    each = backtest(universe.panel, forecasters=rivals, test_start=TEST_START, baselines=())
    before = each.ic.loc[:"2013-09-30"].mean()  # decisions whose quarter ends before the test period
    best = before.idxmax()
    assert tuned.chosen == {"mine": {"default": {}, "alpha": {"alpha": 1.0}, "window": {"window": 1}}[best]}
    pd.testing.assert_series_equal(tuned.ic["mine"], each.ic[best], check_names=False)
    assert tuned.n_choices("validation") == 1 + 3
    assert tuned.n_choices("test") == 1


def test_select_uses_the_forecaster_with_the_best_record_and_says_why(universe):
    candidates = {"calm": FactorForecaster("stddev_90", -1), "wild": FactorForecaster("stddev_90")}
    found = select(universe.panel, forecasters=candidates, top=3)
    study = backtest(universe.panel, forecasters=candidates, baselines=())
    assert found.forecaster == study.ic.mean().idxmax()
    assert found.candidates["ic_mean"].to_dict() == pytest.approx(study.ic.mean().to_dict())
    assert found.candidates["n"].tolist() == [len(study.ic.dropna())] * 2
    (why,) = [note for note in found.notes if "is used" in note]
    assert why.startswith(f"{found.forecaster} is used, because its mean IC over")
    alone = select(universe.panel, forecaster=candidates[found.forecaster], top=3)
    assert alone.picks["fund"].tolist() == found.picks["fund"].tolist()
    assert found.record.p == pytest.approx(min(1.0, 2 * alone.record.p)), "corrected for the choice of two"
    assert alone.candidates.empty
    assert (found.unit, found.picks["neighbors"].tolist()) == ("rank", [""] * 3)
    assert found.picks["factors"].tolist() == ["stddev_90"] * 3


def test_select_with_a_short_past_uses_the_one_that_a_study_names(universe):
    until = universe.panel.until(pd.Timestamp("2013-08-15"))
    found = select(until, forecasters=["gmml", "ridge"], top=3)
    study = backtest(until, forecasters=["gmml", "ridge"], top=3)
    assert found.forecaster == study.strategy == study.ic.mean().idxmax()
    assert any("So few decisions say little about which is best" in note for note in found.notes)


def test_select_without_a_past_uses_the_first(universe):
    found = select(universe.panel, "2012-10-15", forecasters=["gmml", "ridge"], top=3)
    assert (found.forecaster, found.record.n) == ("gmml", 0)


def test_select_off_the_calendar_learns_from_as_many_intervals_as_there_are(universe):
    found = select(universe.panel, "2014-11-14", forecaster="ridge", top=3)
    cut = select(Panel(universe.panel.nav.loc[:"2014-11-14"]), forecaster="ridge", top=3)
    pd.testing.assert_frame_equal(found.picks, cut.picks)


def test_hidden_skill_is_found_by_learning_and_not_by_baselines():
    universe = synthetic_universe(80, "2012-01-04", "2016-12-31", seed=1, hidden=True)
    members = {
        "ridge": RegressorForecaster(Ridge(100.0)),
        "short": RegressorForecaster(Ridge(100.0), window=4),
    }
    study = backtest(universe.panel, forecasters={**members, "both": EnsembleForecaster(members)})
    found = study.best_against_baseline("both")
    assert found.difference > 0.0
    assert found.low > 0.0
    assert study.skill["p"]["both", found.learned] < 0.05


def test_select_does_not_choose_a_forecaster_with_an_ic_on_few_days():
    """The mean of two lucky days is no record; the note has the number of days of the one that is used."""
    rng = np.random.default_rng(0)
    ic = pd.DataFrame({"lucky": [0.9, 0.8] + [np.nan] * 10, "steady": 0.1 + 0.05 * rng.standard_normal(12)})
    table = compare_candidates(ic, 2)
    assert table.index.tolist() == ["steady", "lucky"]
    looked = LookBack(pd.DataFrame(), no_record(), {}, {}, "steady", table)
    (why,) = note_choice(looked)
    assert why.startswith("steady is used, because its mean IC over 12 past decisions was the highest of 1 ")
    few = LookBack(pd.DataFrame(), no_record(), {}, {}, "lucky", compare_candidates(ic.iloc[:7], 2))
    assert few.candidates.index.tolist() == ["lucky", "steady"], "where none can be judged, the highest"
    assert "So few decisions say little" in note_choice(few)[0]
