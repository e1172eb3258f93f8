"""`backtest` and `select` describe the same strategy: its forecaster, its picks, its costs and its record."""

import re
import shutil
from dataclasses import replace
from itertools import pairwise
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest

from geodual.funds import DataError, FactorSeries, Forecast, Panel, backtest, read_facts, read_study, select
from geodual.funds.forecasters.registry import forecaster_label
from geodual.funds.report.headline import write_headline

DEAR = {"cost": 0.02, "execution_lag": 5}
SETTINGS = {"top": 5, "keep_rank": 12, "min_holding": 100, "test_start": "2014-01-01", **DEAR}
METRICS = ("euclidean", "gmml", "rpdml")


@pytest.fixture(scope="module")
def until(universe):
    """The table up to the end of the third quarter of 2014."""
    return universe.panel.until(pd.Timestamp("2014-09-30"))


@pytest.fixture(scope="module")
def early(until, universe):
    return backtest(until, universe.index, METRICS, **SETTINGS)


@pytest.fixture(scope="module")
def later(universe):
    return backtest(universe.panel, universe.index, METRICS, **SETTINGS)


@pytest.fixture(scope="module")
def folder(early, tmp_path_factory):
    return early.save(tmp_path_factory.mktemp("runs") / "mine")


def intervals(study, nav):
    """Return the first and the last day of each holding interval that is over, by day of decision."""
    days = list(study.ic.index[study.ic.notna().all(axis=1)])
    ends = pd.DatetimeIndex(nav.index.to_series().groupby(nav.index.to_period("Q")).max())
    lag = study.config.execution_lag
    rows = {day: nav.index.get_loc(day) + lag for day in ends if day <= nav.index[-1]}
    following = dict(pairwise(ends))
    last = len(nav) - 1
    return {day: (nav.index[rows[day]], nav.index[min(rows[following[day]], last)]) for day in days}


def test_costs_and_lags_change_the_record(until):
    free = select(until, metric="euclidean", top=5).record
    dear = select(until, metric="euclidean", top=5, **DEAR).record
    assert dear.ic == free.ic
    # At 2 % per side, a purchase and perhaps a sale per quarter cost 2 to 4 points.
    assert free.excess - 0.055 < dear.excess < free.excess - 0.01
    assert dear.beat_median != free.beat_median


def test_the_record_is_what_the_portfolio_of_the_study_earned_after_costs(universe, until, early):
    name = write_headline(early).best
    found = select(until, forecasters=METRICS, index=universe.index, **SETTINGS)
    assert found.forecaster == name
    picks, over_all, over_index = early.equity[name], [], []
    everyone = early.baseline_equity["universe"]
    spans = intervals(early, until.nav)
    for start, end in spans.values():
        earned = picks[end] / picks[start] - 1.0
        over_all.append(earned - (everyone[end] / everyone[start] - 1.0))
        over_index.append(earned - (universe.index[end] / universe.index[start] - 1.0))
    assert found.record.n == len(spans)
    assert found.record.excess == pytest.approx(np.mean(over_all), abs=1e-12)
    assert found.record.over_index == pytest.approx(np.mean(over_index), abs=1e-12)
    assert found.record.ic == pytest.approx(early.ic[name].mean(), abs=1e-12)
    assert found.record.p == pytest.approx(early.skill["p"]["both", name])


def test_what_past_picks_earned_is_counted_from_their_purchase(until, early):
    """Fund by fund, at the values at which orders were filled."""
    name = write_headline(early).best
    nav = until.nav.ffill()
    own = early.holdings[early.holdings["forecaster"] == name]
    beaten = []
    for day, (start, end) in intervals(early, until.nav).items():
        returns = nav.loc[end] / nav.loc[start] - 1.0
        funds = early.predictions.query("date == @day and forecaster == @name")["fund"]
        picks = own[own["date"] == day]["fund"]
        beaten += (returns[picks] > returns[funds].median()).tolist()
    found = select(until, forecasters=METRICS, **SETTINGS)
    assert found.record.beat_median == pytest.approx(np.mean(beaten))


@pytest.mark.parametrize("name", [None, *METRICS])
def test_picks_of_a_run_are_those_that_a_longer_study_holds(universe, folder, until, later, name):
    """Also with what was held before, costs and lags."""
    found = select(until, run=folder, forecaster=name, index=universe.index)
    used = found.forecaster
    assert name in (None, used)
    held = later.holdings[later.holdings["forecaster"] == used]
    held = held[held["date"] == "2014-09-30"]
    assert found.picks["fund"].tolist() == held["fund"].tolist()
    assert found.picks["weight"].to_numpy() == pytest.approx(held["weight"].to_numpy())
    assert found.picks["forecast"].to_numpy() == pytest.approx(held["forecast"].to_numpy())


def test_a_run_and_its_settings_give_the_same_selection(universe, folder, until):
    of_run = select(until, run=folder, index=universe.index)
    anew = select(until, forecasters=METRICS, index=universe.index, **SETTINGS)
    for name in ("picks", "neighbors", "reasons", "left_out", "candidates"):
        pd.testing.assert_frame_equal(getattr(of_run, name), getattr(anew, name))
    assert of_run.record_text == anew.record_text
    assert of_run.record == pytest.approx(anew.record) or of_run.record_text == anew.record_text
    assert (of_run.run, anew.run) == (str(folder), "")


def test_a_longer_table_continues_the_run(universe, folder, later):
    """What was decided after the run is decided now, and counts in the record."""
    found = select(universe.panel, run=folder, index=universe.index)
    assert found.forecaster == write_headline(read_study(folder)).best
    own = later.ic[found.forecaster].dropna()
    assert found.as_of == universe.panel.nav.index[-1]
    assert (found.record.n, found.record.ic) == (len(own), pytest.approx(own.mean()))


def test_without_the_index_the_levels_of_the_run_serve(universe, folder, until):
    given = select(until, run=folder, index=universe.index).record
    assert select(until, run=folder).record.over_index == pytest.approx(given.over_index)


def test_settings_that_were_tuned_are_those_of_the_run(universe, until, tmp_path):
    settings = {"metrics": ("gmml", "rpdml"), "tune": True, "test_start": "2014-01-01", "top": 4}
    study = backtest(until, **settings)
    found = select(until, run=study.save(tmp_path))
    grown = backtest(universe.panel, **settings)
    assert grown.chosen == study.chosen
    held = grown.holdings[grown.holdings["forecaster"] == found.forecaster]
    held = held[held["date"] == "2014-09-30"]
    assert found.picks["fund"].tolist() == held["fund"].tolist()
    # Where settings were tuned on the validation period, only the decisions after it are evidence.
    assert found.record.n == len(study.ic.loc["2013-12-31":].dropna())


def test_a_table_whose_past_differs_is_refused(folder, until):
    nav = until.nav.copy()
    fund = nav.columns[nav.notna().all()][0]
    nav.loc["2014-02-03":, fund] *= 1.01
    with pytest.raises(DataError, match=rf"{fund}.*2013-12-31.*run the study again"):
        select(Panel(nav), run=folder)
    with pytest.raises(DataError, match="run the study again"):
        select(Panel(until.nav.drop(columns=fund)), run=folder)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": 5}, "`k`"),
        ({"top": 3}, "`top`"),
        ({"metric": "gmml"}, "`metric`"),
        ({"forecasters": ["gmml"]}, "`forecasters`"),
        ({"forecaster": "ridge"}, "euclidean, gmml, rpdml"),
        ({"as_of": "2014-06-30"}, "2014-09-30"),
        ({"run": "nowhere"}, "not a finished run"),
    ],
)
def test_what_a_run_has_settled_is_not_given_again(folder, until, given, message):
    with pytest.raises(DataError, match=message):
        select(until, **{"run": folder, **given})


@pytest.fixture(scope="module")
def facts(until):
    codes = until.nav.columns
    return read_facts(
        pd.DataFrame(
            {
                "code": codes,
                "type": [code[0] for code in codes],
                "share_group": [f"pair {i // 2}" for i in range(len(codes))],
                "purchase_fee": np.arange(len(codes)) % 3 * 0.001,
                "redemption_fee": ["30:0.01"] + [None] * (len(codes) - 1),
            }
        )
    )


@pytest.fixture(scope="module")
def with_facts(until, facts, tmp_path_factory):
    study = backtest(until, metrics="euclidean", facts=facts, types=["M", "E"])
    return study.save(tmp_path_factory.mktemp("runs") / "facts")


def test_a_run_keeps_the_facts_about_its_funds(until, facts, with_facts):
    """Types, share groups and fees decide what is picked and what it costs."""
    mine = pd.DataFrame({"code": until.nav.columns[:1], "units": [1000.0], "bought": ["2014-09-20"]})
    kept, given = (select(until, run=with_facts, facts=each, holdings=mine) for each in (None, facts))
    assert set(kept.picks["type"]) <= {"M", "E"}
    for name in ("picks", "left_out"):
        pd.testing.assert_frame_equal(getattr(kept, name), getattr(given, name))
    pd.testing.assert_frame_equal(kept.orders.table, given.orders.table)
    assert kept.orders.table["fee"].sum() > 0.0
    assert kept.notes == given.notes


def test_a_fund_held_outside_the_universe_has_no_facts_in_the_run(until, facts, with_facts):
    outside = next(code for code in until.nav.columns if code[0] not in "ME")
    mine = pd.DataFrame({"code": [outside], "units": [1000.0]})
    kept, given = (select(until, run=with_facts, facts=each, holdings=mine) for each in (None, facts))
    assert any(outside in note and "fund facts" in note for note in kept.notes)
    assert not any("fund facts" in note for note in given.notes)


class Calm:
    """Ranks funds by the first factor; no name stands for it."""

    window = 1

    def forecast(self, training, today):
        return Forecast(-np.nan_to_num(today.features[:, 0]))


def test_a_forecaster_given_as_an_object_is_continued(until, tmp_path):
    """The study has it in memory; its folder does not, and says what to give."""
    study = backtest(until, forecasters={"calm": Calm()}, top=3)
    folder = study.save(tmp_path / "run")
    found = select(until, run=study)
    assert found.forecaster == "calm"
    with pytest.raises(DataError, match=r"give it again: `forecaster="):
        select(until, run=folder)
    again = select(until, run=folder, forecaster={"calm": Calm()})
    pd.testing.assert_frame_equal(again.picks, found.picks)
    with pytest.raises(DataError, match="one of those that the run compared, calm") as caught:
        select(until, run=study, forecaster=FactorSeries(until.nav))
    assert len(str(caught.value)) < 300


def test_a_run_of_an_earlier_version_needs_the_facts_again(until, facts, with_facts, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(with_facts, folder)
    old = pd.read_csv(folder / "facts.csv", dtype=str)[["fund", "name", "type", "company"]]
    old.to_csv(folder / "facts.csv", index=False)
    with pytest.raises(DataError, match=r"`facts` \(--meta\)"):
        select(until, run=folder)
    assert set(select(until, run=folder, facts=facts).picks["type"]) <= {"M", "E"}


def test_by_default_both_commands_use_the_same_forecaster(universe):
    """Neither is told anything but the table."""
    short = universe.panel.until(pd.Timestamp("2013-12-31"))
    study = backtest(short)
    found = select(short)
    assert found.forecaster == write_headline(study).best
    assert set(found.candidates.index) == set(study.config.compared)
    assert found.record.p == pytest.approx(study.skill["p"]["both", found.forecaster])


def test_report_and_page_link_to_each_other(universe, folder, until, tmp_path):
    page = select(until, run=folder).report(folder / "picks.html").read_text("utf-8")
    assert 'href="report.html"' in page
    elsewhere = select(until, run=folder).report(tmp_path / "x.html").read_text("utf-8")
    (link,) = re.findall(r'href="([^"#]*report.html)"', elsewhere)
    assert (tmp_path / unquote(link)).resolve() == (folder / "report.html").resolve()
    assert "report.html" not in select(until, metric="gmml").report(tmp_path / "y.html").read_text("utf-8")
    study = read_study(folder)
    assert 'href="picks.html"' in study.report(folder / "report.html").read_text("utf-8")
    study.save(folder)  # a new run: these picks are not its own
    assert not (folder / "picks.html").exists()
    assert 'href="picks.html"' not in (folder / "report.html").read_text("utf-8")


def test_decisions_of_both_periods_count_where_nothing_was_tuned(early):
    headline = write_headline(early)
    assert headline.period == "both"
    assert "In the validation period" in " ".join(headline.notes)
    tuned = replace(early, config=replace(early.config, tune=True), chosen={"gmml": {"t": 0.5}})
    assert write_headline(tuned).period == "test"


def test_a_page_elsewhere_and_a_missing_report_are_no_trouble(folder, until, tmp_path):
    found = replace(select(until, run=folder), run=str(tmp_path / "gone"))
    assert (
        "href"
        not in found.report(tmp_path / "picks.html").read_text("utf-8").split("<main")[0].split("<h1")[1]
    )


def test_the_verdict_of_the_study_is_told_and_a_baseline_that_did_better(early, until):
    told = select(until, run=early).notes
    label = forecaster_label(early.strategy)
    assert told[0] == f"The verdict of the study on {label}: {write_headline(early).verdict}"
    rivals = early.best_against_baseline("both")
    better = f"{forecaster_label(rivals.baseline)}, which learns nothing, had a higher mean IC than"
    assert any(better in note for note in told) is (rivals.baseline_ic > rivals.learned_ic)
    momentum = early.baseline_predictions
    perfect = replace(early, baseline_predictions=momentum.assign(forecast=momentum["realized"]))
    assert any("which learns nothing" in note for note in select(until, run=perfect).notes)
    assert not any("which learns nothing" in note for note in select(until, metric="gmml").notes)


def test_free_trades_at_the_deciding_value_are_told(until):
    for settings, free in (({}, True), (DEAR, False)):
        notes = " ".join(select(until, metric="euclidean", **settings).notes)
        assert ("Trades cost nothing" in notes) is ("Nobody can do that" in notes) is free
