"""The report: its numbers, its words, what it does with hostile names."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from geodual.funds import backtest, synthetic_universe
from geodual.funds.factors.registry import choose_factors
from geodual.funds.report import render_report, write_report
from geodual.funds.report.headline import write_headline
from geodual.funds.report.wording import format_number, format_p, format_percent, join_words, name_factor
from geodual.funds.sources.reading.quality import inspect_quality
from tests.browser.hostile_study import HOSTILE, QUOTED, hostile_study

LABELS = choose_factors().labels


class Page(HTMLParser):
    """What a browser sees: elements, scripts, and the cells of each table by its caption."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.tables = [], [], {}
        self._caption = self._cell = self._script = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if tag in ("script", "style"):
            self._script = ""
        if tag == "table":
            self._rows = []
        if tag == "tr":
            self._rows.append([])
        if tag in ("td", "th", "caption"):
            self._cell = [attributes.get("data-value"), ""]

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.scripts.append((tag, self.elements[-1][1], self._script))
            self._script = None
        if tag == "caption":
            self._caption, self._cell = self._cell[1], None
        if tag in ("td", "th"):
            self._rows[-1].append(tuple(self._cell))
            self._cell = None
        if tag == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, data):
        if self._cell is not None:
            self._cell[1] += data
        if self._script is not None:
            self._script += data

    @property
    def data(self):
        return next(json.loads(text) for _, kept, text in self.scripts if kept.get("id") == "report-data")


@pytest.fixture(scope="module")
def page(study):
    return Page(render_report(study))


def with_ic(study, euclidean, gmml, rpdml):
    """Return the study with other coefficients of its eight quarters, all of them in the test period."""
    ic = pd.DataFrame({"euclidean": euclidean, "gmml": gmml, "rpdml": rpdml}, index=study.ic.index)
    return replace(study, ic=ic, config=replace(study.config, test_start="2012-01-01"))


def headline_of(study):
    return write_headline(study)


@pytest.mark.parametrize("name", ["table1", "ic", "equity", "annual_returns", "holdings", "universe"])
def test_embedded_tables_are_the_files_of_the_run_folder(study, page, tmp_path_factory, name):
    folder = tmp_path_factory.getbasetemp() / "run"
    if not folder.exists():
        study.save(folder)
    assert page.data["csv"][name] == (folder / f"{name}.csv").read_text("utf-8")


def test_table1_shows_the_numbers_of_the_csv(study, page):
    shown = [rows for caption, rows in page.tables.items() if caption.startswith("Table 1")]
    assert len(shown) == 3
    for period, rows in zip(("validation", "test", "both"), shown, strict=True):
        expected = study.table().loc[period]
        for row, (_, values) in zip(rows[1:], expected.iterrows(), strict=True):
            exact = [np.nan if value == "" else float(value) for value, _ in row[1:]]
            np.testing.assert_array_equal(exact, pd.to_numeric(values).to_numpy(float, na_value=np.nan))
    ic_mean, annual_return = shown[1][1][1][1], shown[1][1][9][1]
    first = study.table().loc[("test", "euclidean")]
    assert float(ic_mean.replace("−", "-")) == round(first["ic_mean"], 3)
    assert float(annual_return.replace("−", "-").rstrip("\u202f%")) == round(100 * first["annual_return"], 1)


def test_the_same_study_gives_the_same_bytes(study, tmp_path):
    first = write_report(study, tmp_path / "a.html")
    assert first.read_bytes() == render_report(study).encode("utf-8")
    assert list(tmp_path.iterdir()) == [first]


def test_hostile_names_do_no_harm():
    text = render_report(hostile_study())
    page = Page(text)
    assert HOSTILE not in text
    assert "<img" not in text
    assert [attributes for tag, attributes in page.elements if tag == "script"][1:] == [{}] * 4
    assert page.data["names"][QUOTED] == QUOTED
    assert HOSTILE in page.data["csv"]["holdings"]
    assert {fund for fund in page.data["reasons"]["funds"] if fund == HOSTILE}


def test_the_policy_allows_the_own_scripts_and_nothing_else(page):
    policy = next(kept["content"] for tag, kept in page.elements if "http-equiv" in kept and tag == "meta")
    own = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for tag, kept, text in page.scripts
        if "id" not in kept
    ]
    assert sorted(re.findall(r"'sha256-([^']+)'", policy)) == sorted(own)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_nothing_is_asked_of_the_network(page):
    assert not [kept for _, kept in page.elements if "src" in kept]
    targets = [kept["href"] for _, kept in page.elements if "href" in kept]
    assert all(target.startswith(("#", "data:")) for target in targets)


def test_identifiers_are_unique(page):
    names = [kept["id"] for _, kept in page.elements if "id" in kept]
    assert len(names) == len(set(names))


def test_every_chart_has_a_table_and_a_csv(page):
    plots = {kept["data-plot"] for _, kept in page.elements if "data-plot" in kept}
    saved = {kept["data-csv"] for _, kept in page.elements if "data-csv" in kept}
    assert plots == {"equity", "drawdown", "annual", "ic", "ic_cumulated", "fifths", "cash"}
    assert saved <= set(page.data["csv"])
    assert {"equity", "rolling_drawdown", "annual_returns", "ic", "ic_cumulated", "quantile_returns"} <= saved
    filled = {kept["data-fill"] for _, kept in page.elements if "data-fill" in kept}
    captions = {"Returns of calendar years", "IC by rebalance day", "Cumulated IC by rebalance day"}
    assert filled - {"findings"} == {"equity", "rolling_drawdown", "cash"}
    assert captions < set(page.tables)


def test_reasons_are_those_of_the_study(study, page):
    reasons, row = page.data["reasons"], 7
    pick = study.holdings.iloc[row]
    key = {name: pick[name] for name in ("date", "metric", "fund")}
    own = study.neighbours[(study.neighbours[list(key)] == pd.Series(key)).all(axis=1)]
    codes, distances, earned = (reasons["neighbours"][row][i::3] for i in range(3))
    assert [reasons["funds"][code] for code in codes] == own["neighbour"].tolist()
    np.testing.assert_allclose(distances, own["distance"], rtol=1e-4)
    np.testing.assert_allclose(np.mean(earned), pick["forecast"], rtol=1e-4)
    why = study.reasons[(study.reasons[list(key)] == pd.Series(key)).all(axis=1)]
    for view in ("near", "apart"):
        chosen = why[why["view"] == view]
        assert [reasons["factors"][i] for i in reasons[view][row][::2]] == [
            name_factor(name, study.factor_labels) for name in chosen["factor"]
        ]
        np.testing.assert_allclose(reasons[view][row][1::2], chosen["share"], rtol=1e-4)


def test_ranks_are_among_all_funds_of_the_day(study, page):
    pick = study.holdings.iloc[7]
    day = study.predictions[
        (study.predictions["date"] == pick["date"]) & (study.predictions["metric"] == pick["metric"])
    ]
    better = int((day["realised"] > pick["realised"]).sum())
    assert page.data["reasons"]["ranks"][7] == [better + 1, int(day["realised"].notna().sum())]


def test_gross_returns_are_those_without_cost(universe, study):
    dear = backtest(
        universe.panel, universe.index, ("euclidean", "gmml"), top=5, test_start="2014-01-01", cost=0.01
    )
    costs = dear.costs
    free = study.table().loc["both"]["annual_return"]
    np.testing.assert_allclose(costs["gross"], free[["euclidean", "gmml"]], rtol=1e-12)
    assert (costs["net"] < costs["gross"]).all()
    np.testing.assert_allclose(costs["traded"], study.costs.loc[costs.index, "traded"], rtol=1e-3)


def test_at_the_break_even_cost_nothing_is_left_over_the_index(universe, study):
    least = study.costs["break_even"]
    name = str(least[least > 0.0].idxmin())
    at_cost = backtest(universe.panel, universe.index, name, top=5, test_start="2014-01-01", cost=least[name])
    before = study.costs.loc[name, "excess"]
    assert abs(at_cost.costs.loc[name, "excess"]) < 0.05 * before


def test_fifths_say_whether_they_rise(study):
    days = study.predictions["date"]
    rank = study.predictions.groupby(["date", "metric"])["forecast"].rank(method="first")
    good = replace(study, predictions=study.predictions.assign(realised=rank * days.notna()))
    assert good.fifths["rising"].all()
    bad = replace(study, predictions=study.predictions.assign(realised=-rank))
    fifths = bad.fifths
    assert not fifths["rising"].any()
    assert (fifths["spread"] < 0.0).all()


WAVE = np.array([0.03, -0.01, 0.02, -0.04, 0.01, -0.02, 0.04, -0.03])  # of mean zero


def test_headline_of_a_clear_lead(study):
    headline = headline_of(with_ic(study, euclidean=0.1 + WAVE, gmml=0.2 - WAVE, rpdml=0.3 + WAVE[::-1]))
    assert (headline.period, headline.best) == ("test", "rpdml")
    assert "RPDML did best, with a mean IC of 0.300 over 8 quarters" in headline.sentence
    assert (
        "This is 0.100 above GMML (next best) and 0.200 above Euclidean (plain distance)" in headline.sentence
    )
    assert ": more than chance alone would produce (p" in headline.sentence


def test_headline_of_a_baseline_that_wins_within_noise(study):
    headline = headline_of(with_ic(study, euclidean=0.21 + WAVE, gmml=0.1 - 9 * WAVE, rpdml=0.2 - 9 * WAVE))
    assert headline.best == "euclidean"
    assert "0.010 above RPDML (next best): within what chance alone would produce (p" in headline.sentence


def test_headline_names_the_one_lead_that_is_clear(study):
    headline = headline_of(with_ic(study, euclidean=0.1 + WAVE, gmml=0.299 - WAVE, rpdml=0.3 + 0.5 * WAVE))
    assert "only the lead over Euclidean is more than chance alone would produce" in headline.sentence


def test_headline_without_a_test_period(study):
    config = replace(study.config, test_start="2020-01-01")
    headline = headline_of(replace(study, config=config))
    assert headline.period == "both"
    assert headline.sentence.startswith("Over the whole study")
    assert "no test period" in headline.notes[0]
    text = render_report(replace(study, config=config))
    assert "Table 1, test period" not in text


def test_headline_of_two_quarters_claims_nothing(study):
    late = study.ic.copy()
    late.iloc[:-2] = np.nan
    headline = headline_of(replace(study, ic=late))
    assert "the record is too short to tell this from chance" in headline.sentence
    assert "With only 2 quarters, p-values and intervals are too optimistic." in headline.notes


def test_headline_warns_of_funds_that_all_survived(study):
    assert not any("lives to the last day" in note for note in headline_of(study).notes)
    findings = inspect_quality(synthetic_universe(5, "2012-01-04", "2012-03-30", seed=1).panel.nav)
    survived = replace(study, findings=tuple(f for f in findings if f.kind == "survivorship"))
    assert headline_of(survived).notes[-1].startswith("Every fund lives to the last day")
    assert "returns are likely too good" in render_report(survived)


def test_a_study_with_nothing_realised_is_rendered(study):
    unknown = replace(study, ic=study.ic * np.nan, predictions=study.predictions.assign(realised=np.nan))
    assert "No quarter with a forecast has ended yet" in headline_of(unknown).sentence
    assert 'id="picks"' in render_report(unknown)


def test_a_study_of_one_metric_is_rendered(universe):
    single = backtest(universe.panel, metrics="rpdml", top=5, test_start="2014-01-01")
    assert "RPDML had a mean IC of" in headline_of(single).sentence
    page = Page(render_report(single))
    assert "comparisons" not in {kept.get("id") for _, kept in page.elements}
    assert page.data["names"]["index"] == "equal-weight universe"


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (format_number(-1234.5678, 2), "−1,234.57"),
        (format_number(-0.0004), "0.000"),
        (format_number(np.nan), "–"),
        (format_number(pd.NA), "–"),
        (format_percent(0.12345), "12.3\u202f%"),
        (format_percent(-np.inf), "–"),
        (format_p(0.0004), "<\u202f0.001"),
        (format_p(np.nan), "–"),
        (name_factor("roc_10", LABELS), "rate of change, 10 days"),
        (name_factor("own", LABELS), "own"),
        (join_words(["a"]), "a"),
        (join_words(["a", "b", "c"]), "a, b and c"),
    ],
)
def test_words_and_numbers(shown, text):
    assert shown == text


def test_a_study_tuned_with_a_metric_that_is_registered_no_more_still_has_its_report(study):
    """As in `geodual report` on a run whose metric was registered in a notebook."""
    config = replace(study.config, tune=True, test_start="2030-01-01")
    notes = headline_of(replace(study, config=config, chosen={"of a notebook": {"t": 0.5}})).notes
    assert any("corrected for the choice among 4" in note for note in notes)
    notes = headline_of(replace(study, config=config, chosen={"gmml": {"t": 0.5}})).notes
    assert any("corrected for the choice among 6" in note for note in notes), (
        "three metrics, three candidates"
    )
